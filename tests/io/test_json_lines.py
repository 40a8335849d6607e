"""JSON lines: integers stay what they are, keys count once, half characters are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from tadge.io.options import ReadOptions
from tadge.io.readers import read_with_report

T = 1_400_000_000


def read(path, lines, **options):
    path.write_text("\n".join(lines) + "\n")
    told = {"src": "src", "dst": "dst", "time": "time"}
    return read_with_report(path, ReadOptions.of(told | options))


@given(ids=st.lists(st.integers(-(2**70), 2**70) | st.integers(2**53, 2**53 + 9), min_size=2, max_size=8))
def test_integers_are_never_merged(tmp_path_factory, ids):
    path = tmp_path_factory.getbasetemp() / "large.jsonl"
    lines = [f'{{"src": {node}, "dst": 1, "time": {T + k}}}' for k, node in enumerate(ids)]
    lines.append(f'{{"src": 2.0, "dst": 1.0, "time": {T + 99}.5}}')
    graph, _ = read(path, lines)
    assert sorted(map(int, graph.ids)) == sorted({*ids, 1, 2})


def test_floats_that_are_no_ids(tmp_path):
    for value, words in ((2.5, "found 2.5"), (2.0**60, r"no floats above 2\*\*53")):
        with pytest.raises(tadge.InputError, match=rf"row 2: src is not a column of ids; .*{words}"):
            read(tmp_path / "e.jsonl", [f'{{"src":1,"dst":2,"time":{T}}}', f'{{"src":{value},"dst":2,"time":{T}}}'])


def test_keys_given_twice(tmp_path):
    rows = [
        f'{{"src":"a","src":"b","dst":"c","time":{T}}}',
        *(f'{{"src":"a","dst":"b","time":{T + k}}}' for k in (1, 2)),
    ]
    with pytest.raises(tadge.InputError, match=r"row 1: expected every key once, found 'src' twice"):
        read(tmp_path / "e.jsonl", rows)
    graph, report = read(tmp_path / "e.jsonl", rows, bad_rows="report")
    assert (graph.num_events, report.rejected, report.rows) == (2, 1, 3)
    rows[0] = f'{{"src":"a","dst":"c","time":{T},"note":1,"note":2}}'
    graph, report = read(tmp_path / "e.jsonl", rows)
    assert graph.num_events == 3
    assert any("in 1 rows a key that does not matter is given twice" in one for one in report.warnings)


def test_half_characters(tmp_path):
    rows = [
        json.dumps({"src": node, "dst": "b", "time": T + k}) for k, node in enumerate(["\ud800", "a", "\U0001f600"])
    ]
    with pytest.raises(
        tadge.InputError, match=r"row 1: 'src': expected text, found half a character: '\\ud800'"
    ) as caught:
        read(tmp_path / "e.jsonl", rows)
    str(caught.value).encode()
    graph, _ = read(tmp_path / "e.jsonl", rows, bad_rows="report")
    assert graph.ids.tolist() == ["a", "b", "\U0001f600"]  # two halves are a whole


def test_ids_are_stripped_as_in_csv(tmp_path):
    rows = [json.dumps({"src": node, "dst": " b", "time": T + k}) for k, node in enumerate([" a", "a", "a\t", "a b"])]
    assert read(tmp_path / "e.jsonl", rows)[0].ids.tolist() == ["a", "a b", "b"]
    rows[1] = rows[1].replace('"a"', '"  "')
    with pytest.raises(tadge.InputError, match=r"row 2: src .* an empty cell"):
        read(tmp_path / "e.jsonl", rows)
