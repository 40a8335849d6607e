"""The examples run, and leave what they say."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

import tadge

FORUM = Path(__file__).parents[1] / "examples" / "forum.py"


@pytest.fixture
def quick(monkeypatch):
    """Learn less: what is tested is that it runs."""
    monkeypatch.setattr(tadge, "ForecastConfig", lambda **_: tadge.config.ForecastConfig(steps=5, trees=5, hidden=8))
    few = {"epochs": 1, "batch_size": 100, "init": "random"}
    monkeypatch.setattr(tadge, "TrainConfig", lambda **_: tadge.config.TrainConfig(**few))
    monkeypatch.setattr(tadge, "NetworkConfig", lambda **_: tadge.config.NetworkConfig(dim=8, heads=1, blocks=1))


def test_the_forum_says_how_much_of_its_law_was_learned(tmp_path, monkeypatch, capsys, quick):
    monkeypatch.setattr(sys, "argv", ["forum.py", "--events", "600", "--out", str(tmp_path / "out")])
    runpy.run_path(str(FORUM), run_name="__main__")
    told = capsys.readouterr().out
    for words in ("above the best that the thread's past allows", "Communities:", "best with the hidden pace known"):
        assert words in told
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"forum.csv", "labels.csv", "model", "report.html"}
