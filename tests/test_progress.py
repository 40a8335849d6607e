"""Bars that fit into 80 columns, and a log that is never silent for long."""

from __future__ import annotations

import io
import logging
import re
import time

import pytest
from rich.console import Console

from tadge.embedding.progress import TrainingBars
from tadge.network.training_model import LOSSES
from tadge.progress import Bars, Work, duration, watched


def seen_bars(monkeypatch, width, make=Bars):
    """Bars on a terminal of so many columns, and what it was sent."""
    sent = io.StringIO()
    monkeypatch.setattr(
        "tadge.progress._console", lambda: Console(file=sent, force_terminal=True, width=width, color_system=None)
    )
    return make(None), sent


def last_line(sent):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sent.getvalue()).replace("\r", "\n").strip().split("\n")[-1].rstrip()


@pytest.mark.parametrize("title", ["vectors", "TADGE (vectors), times shuffled: answers of the last period of all"])
@pytest.mark.parametrize("width", [80, 120])
def test_bar_elapsed_and_time_left_are_seen_whatever_the_title(monkeypatch, title, width):
    bars, sent = seen_bars(monkeypatch, width)
    with bars.part(title) as report:
        report(1, 10_000_000)
        time.sleep(0.02)
        report(300_000, 10_000_000)
        bars.bars.refresh()
        line = last_line(sent)
    assert re.search(r" [━╸╺ ]{16} 0:00:00 \d:\d\d:\d\d left +300000/10000000$", line), line
    assert len(line) <= width


class Trainer:
    """What bars ask of a trainer."""

    precision = "float32"

    def __init__(self, position):
        self.position = position
        self.config = type("Config", (), {"epochs": 20})
        self.source = type("Source", (), {"held_out": []})
        self.sequences, self.batches = [], [type("Batch", (), {"size": 200})] * 50

    def joint_loss(self, figures):
        return sum(figures.values())


@pytest.mark.parametrize(("width", "losses"), [(80, 0), (92, 1), (200, 1 + len(LOSSES))])
def test_losses_give_way_on_narrow_terminals(monkeypatch, width, losses):
    from tadge.embedding.loop import Position

    bars, sent = seen_bars(monkeypatch, width, TrainingBars)
    position = Position(epoch=11, step=20, total=570, seconds=2.0)
    with bars, bars.training(Trainer(position)):
        monkeypatch.setattr(position.metrics, "figures", lambda: {f"{name}_loss": 1.0 for name in LOSSES})
        bars.step(Trainer(position))
        bars.bars.refresh()
        line = last_line(sent)
    assert line.startswith("epoch 12/20 ━")
    assert " left " in line
    assert "2,000 walks/s" in line
    assert len(line) <= width
    assert len(re.findall(r"[a-z]+ [16]\.000", line)) == losses


def test_the_log_tells_how_far_it_is_now_and_then(monkeypatch, caplog):
    monkeypatch.setattr(Bars, "log_every", 0.05)
    with caplog.at_level(logging.INFO, "tadge"), Bars(False).part("slow work") as report:
        report(1, 4)
        time.sleep(0.18)
    lines = [record.getMessage() for record in caplog.records]
    assert 2 <= len(lines) <= 4
    assert all(re.fullmatch(r"slow work: 25%, 0:00:00 so far, about 0:00:0\d left", line) for line in lines)
    assert {record.name for record in caplog.records} == {"tadge.progress"}


def test_the_log_speaks_of_the_innermost_work_and_stops_with_it(monkeypatch, caplog):
    monkeypatch.setattr(Bars, "log_every", 0.05)
    log = logging.getLogger("tadge.progress")
    with caplog.at_level(logging.INFO, "tadge"):
        with watched(Work("outer", log)):
            with watched(Work("inner", log)):
                time.sleep(0.08)
            time.sleep(0.08)
        told = len(caplog.records)
        time.sleep(0.12)
    titles = [record.getMessage().partition(":")[0] for record in caplog.records]
    assert set(titles) == {"inner", "outer"}
    assert titles == sorted(titles)
    assert len(caplog.records) == told


def test_nobody_who_has_not_asked_hears_anything(capfd, monkeypatch):
    monkeypatch.setattr(Bars, "log_every", 0.01)
    with Bars(None).part("work"):
        time.sleep(0.05)
    Bars(None).say("a line")
    assert capfd.readouterr() == ("", "")
    Bars(True).say("a line")
    assert capfd.readouterr().err == "a line\n"


def test_time_left_is_at_the_pace_since_it_went_on():
    work = Work("epoch 3/4", logging.getLogger("tadge"), done=90)
    work.began, work.done, work.total = time.monotonic() - 60, 95, 100
    assert work.line() == "epoch 3/4: 95%, 0:01:00 so far, about 0:01:00 left"
    work.done = 100
    assert work.line() == "epoch 3/4: 100%, 0:01:00 so far"
    assert [duration(seconds) for seconds in (0.4, 61, 3_600 * 30 + 5)] == ["0:00:00", "0:01:01", "30:00:05"]
