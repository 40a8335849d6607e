"""Memory of the machine and of this process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import psutil
import pytest

from tadge import machine
from tadge.machine import (
    available_memory,
    container_memory,
    held_memory,
    peak_memory_mb,
    processor_flags,
    return_memory,
)


def test_what_is_available_is_less_than_all():
    assert 0 < available_memory() <= psutil.virtual_memory().total


def test_the_peak_stays_when_memory_is_given_back():
    code = "import numpy; from tadge.machine import peak_memory_mb as peak; before = peak(); held = numpy.ones(10**7)"
    code += "; del held; print(peak() - before)"
    grown = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert 60 < grown < 120  # 80 MB were held for a moment
    assert np.isfinite(peak_memory_mb())


def test_free_memory_goes_back_to_the_system():
    held = [bytearray(50_000) for _ in range(2_000)]  # 100 MB in small pieces, which the C library keeps
    before = held_memory()
    del held
    return_memory()
    assert held_memory() <= before
    if sys.platform == "linux":
        assert before - held_memory() > 50_000_000


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_a_container_of_version_2_has_what_its_groups_leave(tmp_path):
    listing = tmp_path / "cgroup"
    listing.write_text("0::/pod/task\n")
    root = tmp_path / "v2"
    assert container_memory(root, listing) is None
    group(root / "pod", memory__max=1000, memory__current=300, memory__stat="anon 250\ninactive_file 50")
    group(root / "pod/task", memory__max="max", memory__current=200)
    assert container_memory(root, listing) == 750
    group(root / "pod/task", memory__max=400, memory__current=300, memory__stat="inactive_file 20")
    assert container_memory(root, listing) == 120
    group(root / "pod/task", memory__current=5000)
    assert container_memory(root, listing) == 0
    listing.write_text("0::/../../elsewhere\n")  # as seen from within a container
    group(root, memory__max=90, memory__current=40)
    assert container_memory(root, listing) == 50


def test_a_container_of_version_1_has_what_its_groups_leave(tmp_path):
    listing = tmp_path / "cgroup"
    listing.write_text("5:cpu,cpuacct:/box\n4:memory:/box\n0::/\n")
    names = {"memory__limit_in_bytes": 2**63 - 4096, "memory__usage_in_bytes": 10}
    group(tmp_path / "memory", **names)
    assert container_memory(tmp_path, listing) is None
    group(tmp_path / "memory/box", memory__limit_in_bytes=800, memory__usage_in_bytes=600)
    group(tmp_path / "memory/box", memory__stat="inactive_file 1\ntotal_inactive_file 100")
    assert container_memory(tmp_path, listing) == 300
    assert container_memory(tmp_path, tmp_path / "nothing") is None


def test_the_limit_of_a_container_counts(monkeypatch):
    monkeypatch.setattr("tadge.machine.container_memory", lambda: 12_345)
    assert available_memory() == 12_345


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_processor_says_what_it_can_do():
    assert processor_flags() == processor_flags() and all(flag == flag.lower() for flag in processor_flags())


def test_threads_are_those_that_torch_has(monkeypatch):
    import torch

    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)
    assert machine.num_threads() == 5
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert machine.num_threads() == 3
    for nothing in ("", "many", "0"):
        monkeypatch.setenv("OMP_NUM_THREADS", nothing)
        assert machine.num_threads() == machine.num_cores() >= 1
