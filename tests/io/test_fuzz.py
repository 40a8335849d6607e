"""A short form of benchmarks/fuzz.py: spoilt files are read rightly, or refused in one sentence."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", FUZZ)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["fuzz"]


def test_spoilt_files_are_read_rightly_or_refused(fuzz, tmp_path):
    seen = {"accepted": 0, "refused": 0}
    checked = 0
    for number in range(400):
        made = fuzz.make_file(20_261, number)
        what, why, events = fuzz.outcome(made, tmp_path / made.name)
        assert what in seen, f"file {number} ({made.name}): {what}: {why}"
        assert bool(events) == (what == "accepted")
        seen[what] += 1
        checked += why == "checked"
    assert min(*seen.values(), checked) > 80


def test_files_follow_from_their_numbers(fuzz):
    assert fuzz.make_file(1, 2) == fuzz.make_file(1, 2) != fuzz.make_file(1, 3)


def test_the_comparison_sees_what_differs(fuzz):
    rows = [("a", "b", 1.0), ("b", "c", 2.0)]
    assert fuzz.same_events(rows, rows[::-1])
    assert not fuzz.same_events(rows, rows[:1])
    assert not fuzz.same_events(rows, [("a", "b", 1.0), ("b", "c", 2.001)])
    assert not fuzz.same_events(rows, [("a", "b", 1.0), ("b", "d", 2.0)])
    unknown = [(u, v, math.nan) for u, v, _ in rows]
    assert fuzz.same_events(unknown, rows)
    assert not fuzz.same_events(unknown, [("a", "b", 1.0), ("b", "d", 2.0)])
