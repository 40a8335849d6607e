"""A short form of benchmarks/kills.py: commands that are killed for good, in processes of their own, then go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[2] / "benchmarks" / "kills.py"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "POLARS_ALLOW_FORKING_THREAD": "1"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
def test_fit_and_walk_that_are_killed_go_on_to_the_same_bytes():
    command = [sys.executable, KILLS, "--kills", "8", "--only", "fit,walk"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    _, *rows, verdict = done.stdout.splitlines()
    assert verdict == "wrong in all: 0 (expected: 0)"
    assert [row.split()[0] for row in rows] == ["fit", "walk"]
    for row in rows:
        kills, at_a_call, begun, runs, *faults = map(int, row.split()[1:])
        assert kills >= 4
        assert at_a_call > 0
        assert begun > 0  # what was done before a kill was there to go on from
        assert runs > 0
        assert faults == [0, 0, 0]
