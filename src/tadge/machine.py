"""What this machine has and what this process has taken: memory, in bytes and megabytes; what its processor can do."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache
from pathlib import Path

import psutil

CGROUPS, OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
NO_LIMIT = 1 << 60  # version 1 writes a number about as large where there is none


def available_memory() -> int:
    """Return the bytes of memory that can be had now: of the machine, and of the container where it has a limit."""
    free = int(psutil.virtual_memory().available)
    left = container_memory()
    return free if left is None else min(free, left)


def container_memory(root: Path = CGROUPS, listing: Path = OWN_CGROUP) -> int | None:
    """Return the bytes that the control groups of this process leave to it; None where none of them has a limit.

    Args:
        root: where the groups are, of version 1 or 2.
        listing: which of them this process is in.
    """
    left = []
    for limit, used, stat in _memory_files(root, listing):
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            most = int(limit.read_text())
            if most < NO_LIMIT:
                left.append(max(0, most - int(used.read_text()) + _can_be_dropped(stat)))
    return min(left, default=None)


def _memory_files(root: Path, listing: Path) -> list[tuple[Path, Path, Path]]:
    """List the files of limits, use and statistics of this process's groups and of all above them."""
    try:
        lines = listing.read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        number, _, rest = line.partition(":")
        kinds, _, place = rest.partition(":")
        if number == "0" and not kinds:
            top, names = root, ("memory.max", "memory.current", "memory.stat")
        elif "memory" in kinds.split(","):
            top, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
        else:
            continue
        parts = [part for part in place.split("/") if part not in ("", "..")]
        folders = [top.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
        files += [(folder / names[0], folder / names[1], folder / names[2]) for folder in folders]
    return files


def _can_be_dropped(stat: Path) -> int:
    """Read how much of what is used are pages of files that were not used lately, which the system takes back."""
    with contextlib.suppress(OSError, ValueError):
        rows = dict(line.split(maxsplit=1) for line in stat.read_text().splitlines())
        return int(rows.get("total_inactive_file", rows.get("inactive_file", "0")))
    return 0


def return_memory() -> None:
    """Give memory that is free, but kept by the C library for later, back to the system; where that cannot be, not."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)  # glibc's


@cache
def processor_flags() -> frozenset[str]:
    """Return what the processor says it can do, in small letters; empty where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().lower().splitlines():
            if line.startswith(("flags", "features")):
                return frozenset(line.partition(":")[2].split())
    return frozenset()


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def num_threads() -> int:
    """Return how many threads a piece of work may use: as torch was told where it is there, else a thread a core.

    Torch counts as OMP_NUM_THREADS says, and so does this.
    """
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        return int(torch.get_num_threads())
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else num_cores()


def held_memory() -> int:
    """Return the bytes of memory that this process holds now."""
    return int(psutil.Process().memory_info().rss)


def peak_memory_mb() -> float:
    """Return the most memory this process has held, in megabytes."""
    if sys.platform == "win32":
        return float(psutil.Process().memory_info().peak_wset) / 1e6
    if sys.platform == "linux":  # getrusage would count the memory of the parent as well
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
