"""No cell of an answer runs as a formula; every other id is written as it is."""

from __future__ import annotations

import csv
import json
from datetime import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tadge.io.spreadsheets import apostrophes_note, write_answers
from tadge.report.answers import records

PLAIN = ["alice", "+4917012345", "-5", "-0.5", "a=b", "", "'quoted", "１", "7-8"]
RISKY = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", "\r=1", "=", "+", "--1"]


@pytest.mark.parametrize("form", [".csv", ".tsv"])
def test_formulas_have_an_apostrophe(tmp_path, form):
    path = tmp_path / f"answers{form}"
    frame = pl.DataFrame({"src": PLAIN + RISKY, "probability": 0.5})
    assert write_answers(frame, path) == len(RISKY)
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t" if form == ".tsv" else ","))
    assert [row[0] for row in rows[1:]] == PLAIN + ["'" + value for value in RISKY]
    assert rows[0] == ["src", "probability"]


def test_other_forms_keep_ids_as_they_are(tmp_path):
    frame = pl.DataFrame({"src": PLAIN + RISKY})
    assert write_answers(frame, tmp_path / "a.parquet") == 0
    assert pl.read_parquet(tmp_path / "a.parquet").equals(frame)
    assert write_answers(pl.DataFrame({"src": [3, -4]}), tmp_path / "numbers.csv") == 0
    assert (tmp_path / "numbers.csv").read_text() == "src\n3\n-4\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=6))
def test_no_cell_begins_like_a_formula(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("t") / "a.csv"
    write_answers(pl.DataFrame({"src": pl.Series(values, dtype=pl.String)}), path)
    with path.open(newline="", encoding="utf-8") as file:
        cells = [row[0] if row else "" for row in csv.reader(file)][1:]
    for cell in cells:
        assert not cell.startswith(("=", "@", "\t"))
        if cell.startswith(("+", "-")):
            float(cell.replace(",", "."))


def test_the_note_counts(tmp_path):
    assert apostrophes_note(tmp_path / "a.csv", 1).startswith("a.csv: 1 id has an apostrophe in front")
    assert "2 ids have" in apostrophes_note(tmp_path / "a.csv", 2)


def test_dates_look_alike_in_every_form(tmp_path):
    moments = [datetime(2020, 12, 30, 23, 43), None, datetime(2021, 1, 2, 3, 4, 5, 678000)]
    frame = pl.DataFrame({"id": ["a", "b", "c"], "when": moments})
    expected = [None if one is None else one.isoformat() for one in moments]
    for name in ("t.csv", "t.tsv", "t.jsonl"):
        write_answers(frame, tmp_path / name)
    assert pl.read_csv(tmp_path / "t.csv", try_parse_dates=False)["when"].to_list() == expected
    assert pl.read_csv(tmp_path / "t.tsv", separator="\t", try_parse_dates=False)["when"].to_list() == expected
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [row["when"] for row in rows] == expected == [row["when"] for row in records(frame)]
    write_answers(frame, tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet")["when"].to_list() == moments
