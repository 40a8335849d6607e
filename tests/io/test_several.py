"""Several files are one history, read as the first one is."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from tadge.io.options import ReadOptions
from tadge.io.paths import files_name
from tadge.io.readers import read_events, read_with_report

S = 1_300_000_000
ROWS = [(f"u{k % 7}", f"u{k * 3 % 5}", S + 5000 * k) for k in range(60)]


def text(rows, header="src,dst,time\n", delimiter=","):
    return header + "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def events(graph):
    ends = graph.ids[graph.src].tolist(), graph.ids[graph.dst].tolist()
    return list(zip(*ends, graph.time.tolist(), strict=True))


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 60), max_size=4), order=st.randoms(use_true_random=False))
def test_files_together_are_the_whole(tmp_path_factory, cuts, order):
    folder = tmp_path_factory.mktemp("several")
    places = [0, *sorted(cuts), 60]
    files = []
    for at, (start, stop) in enumerate(pairwise(places)):
        files.append(folder / f"{at}.csv")
        files[-1].write_text(text(ROWS[start:stop]))
    (folder / "whole.txt").write_text(text(ROWS))
    order.shuffle(files)
    whole = read_events(folder / "whole.txt", quiet=True)
    for source in (files, str(folder / "*.csv"), [str(folder / "[0-9].csv")]):
        graph, report = read_with_report(source, ReadOptions())
        assert graph.fingerprint == whole.fingerprint
        assert report.rows == report.events == 60
        assert len(files) == 1 or f"{len(files)} files as one history" in report.line()
    assert any("hold no event" in one for one in report.warnings) == (len(set(places)) < len(places))


def test_forms_may_differ_where_columns_do_not(tmp_path):
    (tmp_path / "a.csv").write_text(text(ROWS[:20]))
    (tmp_path / "b.csv").write_text("time;dst;src;note\n" + "".join(f"{t};{v};{u};x\n" for u, v, t in ROWS[20:30]))
    (tmp_path / "c.csv").write_bytes(gzip.compress(text(ROWS[30:40]).encode()))
    (tmp_path / "d.jsonl").write_text(
        "".join(json.dumps({"src": u, "dst": v, "time": t}) + "\n" for u, v, t in ROWS[40:50])
    )
    pl.DataFrame(ROWS[50:], schema=["src", "dst", "time"], orient="row").write_parquet(tmp_path / "e.parquet")
    graph, report = read_with_report([tmp_path / name for name in ("a.csv", "*.csv")[1:]], ReadOptions())
    assert graph.num_events == 40
    graph, report = read_with_report([tmp_path / "*.csv", tmp_path / "d.jsonl", tmp_path / "e.parquet"], ReadOptions())
    assert events(graph) == [(u, v, t / 86400) for u, v, t in ROWS]
    assert "5 files as one history" in report.line()


def test_the_first_file_says_how_the_others_are_read(tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("1,2,5\n2,3,6\n")
    second.write_text("007,x,7.5\n2,3,8\n")
    graph, report = read_with_report([first, second], ReadOptions(unit="days"))
    assert events(graph) == [("1", "2", 5.0), ("2", "3", 6.0), ("007", "x", 7.5), ("2", "3", 8.0)]
    assert any("all were taken as strings" in one for one in report.warnings)
    second.write_text("1,2,soon\n2,3,8\n")
    with pytest.raises(tadge.InputError, match=r"2.csv, row 1: time .* found 'soon'"):
        read_events([first, second], unit="days")
    graph, report = read_with_report([first, second], ReadOptions(unit="days", bad_rows="report"))
    assert (report.rows, report.events, report.rejected) == (4, 3, 1)
    assert report.reasons[0].startswith(f"{second}, row 1: time")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "a,b,c\nx,y,1300000000\ny,z,1300000001\n",
            r"2.csv: its columns differ from those of .*1.csv; .*'a', 'b', 'c'",
        ),
        ("x,y,1300000000\ny,z,1300000001\n", r"2.csv: its columns differ|2.csv: there is no such column"),
        ("src,dst,time\nx,y\n" + text(ROWS[:5], ""), r"2.csv, row 2: expected 3 cells, found 2"),
    ],
)
def test_a_file_that_differs_is_named(tmp_path, content, sentence):
    (tmp_path / "1.csv").write_text(text(ROWS))
    (tmp_path / "2.csv").write_text(content)
    with pytest.raises(tadge.InputError, match=sentence):
        read_events(tmp_path / "*.csv")


def test_widths_must_agree_where_columns_have_no_names(tmp_path):
    (tmp_path / "1.csv").write_text(text(ROWS, ""))
    (tmp_path / "2.csv").write_text(text([(*row, 1) for row in ROWS], ""))
    with pytest.raises(tadge.InputError, match=r"2.csv: its columns differ"):
        read_events(tmp_path / "*.csv")


def test_lists_of_files(tmp_path):
    (tmp_path / "a[1].csv").write_text(text(ROWS))
    assert read_events(tmp_path / "a[1].csv", quiet=True).num_events == 60  # no pattern: there is such a file
    with pytest.raises(tadge.InputError, match="named twice"):
        read_events([tmp_path / "a[1].csv", tmp_path / "a*.csv"])
    with pytest.raises(FileNotFoundError, match="no file has a name like that"):
        read_events(tmp_path / "b*.csv")
    with pytest.raises(tadge.InputError, match="not a list of files"):
        read_events([tmp_path / "a[1].csv", 3])
    (tmp_path / "e1").write_text("")
    (tmp_path / "e2").write_text("src,dst,time\n")
    with pytest.raises(tadge.InputError, match="none of 2 files holds an event"):
        read_events(tmp_path / "e*")


def test_names_for_titles():
    assert files_name("some/events.csv.gz") == files_name(["some/events.csv", "b.csv"]) == "events"
    assert files_name("some/day/*.csv") == files_name("some/day/**/*.csv") == "day"
    assert files_name("*.csv") == "files"
    assert files_name("-") == "stdin"
    assert np.unique([files_name(".hidden"), ".hidden"]).size == 1
