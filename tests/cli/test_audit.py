"""The audit on the command line: exit code 0 where nothing looks ahead, 1 where something does, 2 for bad input."""

from __future__ import annotations

import json
import sys

import pytest

from small import forum, network, training, walking
from tadge import TADGE, write_events
from tadge.cli import main
from tadge.cli.score import CALL_NAMES
from tadge.protocols import CALLS

OWN = """
from dataclasses import dataclass
import numpy as np
import helping

@dataclass
class Popular:
    fitted: int = 0
    name = "popular"
    late = 0.0

    def fit(self, graph):
        self.fitted = graph.num_events
        if graph.num_events > 500:
            raise RuntimeError("this is more than the first 70%")

    def score_links(self, src, dst, at, *, graph):
        if not self.fitted:
            raise RuntimeError("not fitted")
        return helping.count(graph, dst, at + self.late)

class Ahead(Popular):
    late = 5.0

class Parts:
    ready = Popular(fitted=1)

def make():
    return Popular()

def trouble():
    raise OSError("no luck")

def leave():
    raise SystemExit(0)

nothing = 3
"""

HELPING = """
import numpy as np

def count(graph, dst, at):
    return np.array([float(np.sum((graph.dst == v) & (graph.time <= t))) for v, t in zip(dst, at)])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("audit")
    write_events(forum(), place / "edges.csv")
    (place / "own.py").write_text(OWN)
    (place / "helping.py").write_text(HELPING)
    (place / "empty").mkdir()
    graph = forum()
    model = TADGE(walking(num_walks=50), network(), training(epochs=1))
    model.fit(graph.before(float(graph.time[500])), progress=False).save(place / "model")
    return place


@pytest.fixture
def run(monkeypatch, capsys, folder):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name in ("own", "helping", "own_own"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def call(*arguments, cuts=5):
        monkeypatch.setattr(
            sys, "argv", ["tadge", "audit", *map(str, arguments), "--cuts", str(cuts), "--queries", "32"]
        )
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        return done.value.code or 0, out, err

    return call


@pytest.mark.parametrize(
    "what", ["own.py:Popular", "own.py:make", "own:Popular", "./own.py:Parts.ready", "own:Parts.ready"]
)
def test_a_method_of_ones_own_passes(run, what):
    code, out, err = run(what, "edges.csv")
    assert code == 0, out + err
    assert out.startswith("passed: nothing that comes later changes an answer of popular")
    assert "test events in training" in out  # it was fitted here, so it is known to what


def test_one_that_looks_ahead_fails(run):
    code, out, _ = run("own.py:Ahead", "edges.csv")
    assert code == 1
    assert out.startswith("FAILED: popular does not keep to the past")
    code, out, err = run("own.py:Ahead", "edges.csv", "--json", "--quiet")
    assert code == 1
    found = json.loads(out)
    assert found["passed"] is False and (found["cuts"], found["queries"]) == (5, 32)
    assert err == "FAILED: popular does not keep to the past: 5 of 8 checks failed\n"


def test_it_is_fitted_unless_told_not_to(run):
    code, _, err = run("own.py:Popular", "edges.csv", "--no-fit")
    assert code == 2 and "error: popular.score_links: cannot answer; found RuntimeError: not fitted" in err
    code, out, _ = run("own.py:Parts.ready", "edges.csv", "--no-fit")
    assert code == 0
    assert "not checked: whether it was fitted to test events" in out


def test_a_model(run):
    begin, end = forum().time[500], forum().time[400]
    code, out, err = run("model", "edges.csv", "--test-from", repr(float(begin)))
    assert code == 0, out + err
    assert out.startswith("passed: nothing that comes later changes an answer of TADGE")
    code, out, _ = run("model", "edges.csv", "--test-from", repr(float(end)), cuts=1)
    assert code == 1
    assert "it was fitted to 100 events at or after" in out and "100 of them events of the test period" in out


def test_a_baseline(run):
    code, out, err = run("Last Act", "edges.csv", "--json")
    assert code == 0, out + err
    found = json.loads(out)
    assert found["method"] == "last act"
    assert found["findings"][-1]["check"] == "test events in training" and found["findings"][-1]["passed"]
    code, out, err = run("last act", "edges.csv", "--test-from", "1970-01-01")
    assert code == 2 and "nothing to fit to; expected events; found none of 700 before 1970-01-01" in err


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("nobody", "no such method; expected a model's folder, file.py:name, package.module:name, or a baseline: mean"),
        ("nowhere.py:Popular", "nowhere.py: there is no such file"),
        ("own.py:Unpopular", "own.py: there is no such name; expected one of"),
        ("own.py:trouble", "own.py:trouble: this code fails; found OSError: no luck"),
        ("own.py:leave", "own.py:leave: this code fails; found SystemExit: 0"),
        (
            "own.py:nothing",
            "method: nothing to ask it; expected a method with embed, score_links, predict_toe, within, when, rank, "
            "next, surprise or overdue; found int",
        ),
        ("no_such_module:x", "no_such_module: this code fails; found ModuleNotFoundError"),
        ("http://x/y:z", "not a name of Python code; expected file.py:name or package.module:name"),
        ("empty", "error: "),
    ],
)
def test_bad_input_is_one_sentence(run, what, sentence):
    code, out, err = run(what, "edges.csv", "--quiet")
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_help_teaches(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tadge", "audit", "--help"])
    with pytest.raises(SystemExit) as done:
        main()
    assert not done.value.code
    flat = " ".join(capsys.readouterr().out.split())
    assert "Example: tadge audit my_method.py:MyMethod edges.csv" in flat
    for option in ("--cuts", "--queries", "--seed", "--test-from", "--json", "--no-fit", "--tolerance", "--calls"):
        assert option in flat
    assert set(CALL_NAMES.replace(" and ", ", ").split(", ")) == set(CALLS)


def test_only_some_calls(run):
    code, _, err = run("own.py:Ahead", "edges.csv", "--calls", "within,when")
    assert code == 2 and "nothing to ask it; expected within, when; found Ahead" in err
    code, _, err = run("own.py:Popular", "edges.csv", "--calls", "score_links,guess")
    assert code == 2 and "--calls: unknown call; expected some of embed, score_links, predict_toe, within" in err
