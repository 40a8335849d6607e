"""What several tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch: tests run side by side, one core each

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "tadge", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("tadge")


def real_data() -> Path | None:
    """Find the folder of real data sets: the one TADGE_DATA names, else `shared/data` beside the checkout."""
    named = os.environ.get("TADGE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = real_data()
    if folder is None:
        pytest.skip("no real data here: name their folder in TADGE_DATA")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, folder):
    """Call the command line in the test's folder: exit code, stdout, stderr; never a traceback."""
    from tadge.cli import main

    monkeypatch.chdir(folder)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tadge", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return done.value.code or 0, out, err

    return call
