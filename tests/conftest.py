"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

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
