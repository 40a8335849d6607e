"""Waits, probabilities, dates and ids as people read them; records as programs do."""

from __future__ import annotations

import datetime as dt
import json
import math
import random

import numpy as np
import polars as pl
import pytest

from tadge.report.answers import as_polars, date_cell, id_text, moment_text, percent_text, records, wait_text


@pytest.mark.parametrize(
    ("days", "text"),
    [
        *((0.0, "0 s"), (45 / 86_400, "45 s"), (59.7 / 86_400, "1 min"), (12 / 1440, "12 min"), (59.8 / 1440, "1.0 h")),
        *(
            (3.2 / 24, "3.2 h"),
            (23.97 / 24, "1.0 days"),
            (15.8, "15.8 days"),
            (729.0, "729.0 days"),
            (840.0, "2.3 years"),
        ),
        *((400_000.0, "1,095.2 years"), (None, "-")),
    ],
)
def test_waits(days, text):
    assert wait_text(days) == text


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        *((0.0, "0%"), (1.0, "100%"), (0.5, "50.0%"), (0.123, "12.3%"), (0.0049, "0.49%"), (0.00042, "0.042%")),
        *((1.2e-7, "0.000012%"), (1.2e-20, "1.2e-18%"), (0.9996, "99.960%"), (1 - 1e-12, ">99.999999%"), (None, "-")),
    ],
)
def test_probabilities(probability, text):
    assert percent_text(probability) == text


def test_no_probability_reads_as_certain():
    draw = random.Random(0)
    for _ in range(2_000):
        probability = draw.choice([1.0, -1.0]) * 10 ** draw.uniform(-15, math.log10(0.5)) % 1.0
        text = percent_text(probability)
        assert text not in ("0.0%", "100.0%")
        if text[0] != ">":
            assert float(text[:-1]) / 100 == pytest.approx(probability, rel=0.06, abs=1e-3)
            assert 0 < float(text[:-1]) < 100


def test_dates_are_to_the_minute():
    assert date_cell(dt.datetime(2015, 6, 30, 12, 34, 56)) == "2015-06-30 12:34"
    assert date_cell(12.5) == "day 12.5" and date_cell(None) == "-"
    assert moment_text(16_616.5, "unix") == "2015-06-30 12:00"
    assert moment_text(12.5, "own") == "day 12.5"


def test_ids_are_printed_as_they_are():
    assert id_text("[bold]x[/bold]") == "[bold]x[/bold]"
    assert id_text("\x1b[31mred") == "\\x1b[31mred"
    assert id_text("a\nb\u202ec") == "a\\nb\\u202ec"
    assert id_text("é 木") == "é 木" and id_text(17) == "17" and id_text(None) == "someone new"


def test_records_are_json():
    columns = {
        "src": np.array(["a", "b"], object),
        "target": np.array([3, None], object),
        "wait": np.array([0.5, np.nan]),
        "far": np.array([math.inf, 1.0]),
        "when": np.array(["2015-06-30T12:34:56", "NaT"], "datetime64[us]"),
        "known": np.array([True, False]),
    }
    wanted = [
        {"src": "a", "target": 3, "wait": 0.5, "far": None, "when": "2015-06-30T12:34:56", "known": True},
        {"src": "b", "target": None, "wait": None, "far": 1.0, "when": None, "known": False},
    ]
    frames = [columns, pl.DataFrame({**columns, "target": [3, None]})]
    pandas = pytest.importorskip("pandas")
    for frame in [*frames, pandas.DataFrame(columns)]:
        rows = records(as_polars(frame))
        assert rows == wanted
        assert json.loads(json.dumps(rows, allow_nan=False)) == wanted


def test_someone_new_among_strings():
    """In some versions of pandas None among strings is NaN."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"target": np.array(["a", None], object)})
    assert records(as_polars(frame)) == [{"target": "a"}, {"target": None}]
    assert as_polars({"target": np.empty(0, object)}).schema == {"target": pl.String}
