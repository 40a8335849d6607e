"""What looks odd is told: rows that repeat each other, ids that look alike."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from tadge import InputError, ReadOptions
from tadge.io.oddities import look_alikes, num_repeated, odd_rows
from tadge.io.readers import read_events, read_with_report

few = st.integers(0, 2)


@given(rows=st.lists(st.tuples(few, few, few, few), min_size=1, max_size=40), weighted=st.booleans())
def test_repeated_rows_are_counted(rows, weighted):
    src, dst, time, weight = zip(*rows, strict=True)
    graph = tadge.TemporalGraph.from_arrays(src, dst, time, weight if weighted else None)
    counts = Counter(rows if weighted else [row[:3] for row in rows])
    assert num_repeated(graph) == sum(count - 1 for count in counts.values())


def test_few_repeated_rows_are_no_matter():
    time = np.arange(500.0)
    for copies, told in ((1, False), (30, True)):
        again = np.r_[time, time[:copies]]
        graph = tadge.TemporalGraph.from_arrays(again.astype(int), again.astype(int) + 1, again)
        messages = odd_rows(graph, None)
        assert bool(messages) is told
    assert messages == ["30 of 530 rows repeat another row (src, dst, time); all were kept: is that what happened?"]


def test_repeated_rows_of_a_file_are_kept_and_told(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("src,dst,time,weight\n" + "a,b,2015-01-02,1\n" * 3 + "a,b,2015-01-02,2\nb,c,2015-01-03,1\n")
    with pytest.warns(tadge.TadgeWarning, match=r"2 of 5 rows repeat another row \(src, dst, time, weight\)"):
        assert read_events(path).num_events == 5


def test_ids_that_look_alike():
    assert look_alikes(["a", "b", "é", "ü"]) == []
    assert look_alikes(["b", "b\u200b", "c"]) == [["b", "b\u200b"]]
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert look_alikes([composed, decomposed]) == [sorted([composed, decomposed])]
    assert look_alikes(["x y", "x\u00a0y", "xy"]) == [["x y", "x\u00a0y"]]


@given(names=st.lists(st.text(st.characters(codec="utf-8", categories=["L", "M", "Nd"]), min_size=1), unique=True))
def test_letters_alone_look_alike_only_where_they_are_normalised_alike(names):
    normal = Counter(unicodedata.normalize("NFC", name) for name in names)
    assert len(look_alikes(names)) == sum(count > 1 for count in normal.values())


def test_look_alikes_of_a_file_are_told(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("src,dst,time\nb,c,2015-01-02\nb\u200b,c,2015-01-03\n")
    with pytest.warns(tadge.TadgeWarning, match=r"'b' and 'b\\u200b' look the same and are two nodes") as caught:
        read_events(path)
    assert all(str(warning.message).isprintable() for warning in caught)


def test_all_names_that_look_missing_are_named(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("a,b,1300000000\nnan,c,1300000100\nnull,none,1300000300\n")
    _, report = read_with_report(path, ReadOptions())
    assert "nodes are called 'nan' and 'none' and 'null': missing values?" in report.warnings
    path.write_text("a,b,1300000000\nnan,c,1300000100\n")
    assert "a node is called 'nan': a missing value?" in read_with_report(path, ReadOptions())[1].warnings


def test_negative_times_say_what_helps(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("a,b,-3\nb,c,2\n")
    with pytest.raises(InputError, match=r"from 0 up \(add a number to all, so that they begin at 0"):
        read_with_report(path, ReadOptions())
    path.write_text("a,b,0\nb,c,5\n")
    assert read_with_report(path, ReadOptions())[0].num_events == 2
