"""tadge board: from a file to questions, answers and scores."""

from __future__ import annotations

import json

import pytest

from small import forum
from tadge.evaluation.result import Result

TINY = "--steps 5 --trees 5 --hidden 8 --leaf-samples 5".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("board")
    graph = forum()
    rows = zip(graph.src, graph.dst, graph.time, strict=True)
    (place / "events.csv").write_text("".join(f"u{u},u{v},{t * 86400:.3f}\n" for u, v, t in rows))
    (place / "mine.py").write_text(
        "import numpy as np\n"
        "class Mine:\n"
        "    name = 'mine'\n"
        "    def fit(self, graph):\n"
        "        self.last = graph.time[-1]\n"
        "    def within(self, src, dst, days, at, *, graph):\n"
        "        assert at.min() > self.last\n"
        "        return np.repeat(1 - np.exp(-days)[None, :], len(src), axis=0)\n"
    )
    return place


def test_from_a_file_to_scores(run, folder):
    code, out, err = run("board", "write", "events.csv", "--out", "b", "--moments", 50, "--form", ".csv.gz")
    assert code == 0, err
    assert "questions, " in out
    for name, method in (("table", "recency table"), ("mine", "mine.py:Mine")):
        code, out, err = run("board", "answer", "b", "events.csv", "--method", method, "--out", f"{name}.csv")
        assert code == 0, err
        assert f"{name}.csv: " in out
    code, out, err = run("board", "score", "b", "recency table=table.csv", "mine.csv", "--record", "r.json")
    assert code == 0, err
    assert "recency table" in out
    assert "C-index" in out
    assert list(Result.from_json(folder / "r.json").kinds) == ["recency table", "mine"]
    code, out, err = run("board", "score", "b", "mine.csv", "--json")
    assert json.loads(out)["tasks"]["order"]["main"] == "c-index"
    code, out, err = run("board", "sequences", "b", "events.csv", "--out", "s", "--latest-events", 8)
    assert code == 0, err
    assert (folder / "s" / "test.json").exists()


def test_a_forecaster_learns_from_what_is_before(run, folder):
    run("board", "write", "events.csv", "--out", "small", "--moments", 5, "--horizons", "1,7", "--json")
    code, out, err = run("board", "answer", "small", "events.csv", "--out", "f.parquet", "--json", "-q", *TINY)
    assert code == 0, err
    assert json.loads(out)["written"] == "f.parquet"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["write", "events.csv", "--out", "x", "--horizons", "soon"], "--horizons: not horizons"),
        (["write", "events.csv", "--out", "x", "--moments", "0"], "--moments: value too small"),
        (["write", "events.csv", "--out", "x", "--form", ".xlsx"], "--form: unknown kind of file"),
        (["write", "events.csv", "--out", "events.csv"], "this is not a folder"),
        (["answer", "nowhere", "events.csv", "--out", "a.csv"], "cannot be read"),
        (["answer", "b", "events.csv", "--out", "a.xlsx"], "unknown kind of file"),
        (["answer", "b", "events.csv", "--out", "a.csv", "--method", "oracle"], "no such method"),
        (["answer", "b", "events.csv", "--out", "a.csv", "--method", "last act"], "this method cannot answer"),
        (["score", "b", "nothing.csv"], "nothing.csv"),
        (["score", "b", "mine.csv", "mine=table.csv"], "two files have one name"),
        (["score", "b", "events.csv"], "there is no column 'question'"),
    ],
)
def test_bad_input_is_one_sentence(run, folder, arguments, words):
    if not (folder / "b").exists():
        test_from_a_file_to_scores(run, folder)
    code, _, err = run("board", *arguments)
    assert code == 2
    assert words in err
    assert len([line for line in err.splitlines() if line.startswith("error:")]) == 1
