"""tadge run and tadge report, from a file to a page."""

from __future__ import annotations

import json
import shlex

import pytest

from small import forum
from tadge.forecasting.estimator import Forecaster

SMALL = [
    *"--num-walks 200 --min-length 2 --max-length 4 --dim 8 --heads 2 --blocks 1 --epochs 1 --batch-size 80".split(),
    *"--window 5 --window-step 4 --init random --precision float32 --threads 1".split(),
    *"--steps 5 --hidden 8 --trees 5 --leaf-samples 10".split(),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, graph = tmp_path_factory.mktemp("files"), forum(300)
    rows = zip(graph.src, graph.dst, graph.time, strict=True)
    lines = "".join(f"user {u},user {v},{t * 86400:.3f}\n" for u, v, t in rows)
    (place / "events.csv").write_text("who,whom,when\n" + lines)
    return place


def test_from_a_file_to_answers(run, folder):
    code, out, err = run("run", "events.csv", "--budget", "1s", *SMALL)
    assert code == 0, err
    assert "an event: who links to whom, at when" in out
    assert (folder / "run" / "report.html").exists()
    ready = [line.strip() for line in out.splitlines() if line.startswith("  tadge ")]
    assert len(ready) == 3
    for line in ready:
        code, answer, err = run(*shlex.split(line)[1:])
        assert code == 0, err
        assert answer
    code, out, err = run("run", "events.csv", *SMALL)
    assert code == 2
    assert "there is a run in this folder" in err
    assert "--force" in err
    code, out, err = run("report", "run", "--out", "again.html", "--quiet")
    assert code == 0, err
    assert (folder / "again.html").read_text() == (folder / "run" / "report.html").read_text()


def test_a_plan_as_json(run, folder):
    code, out, err = run("run", "events.csv", "--out", "planned", "--dry-run", "--json")
    assert code == 0
    assert "plan:" in err
    assert set(json.loads(out)["plan"]) == {"seconds", "epochs", "memory_mb"}
    assert not (folder / "planned").exists()


def test_ctrl_c_says_what_is_finished(run, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Forecaster, "within", stop)
    code, out, err = run("run", "events.csv", "--out", "stopped", "--quiet", *SMALL)
    assert code == 130
    assert out == ""
    assert "(finished: forecaster)" in err
    assert "--resume" in err


def test_wrong_calls_are_one_sentence(run):
    for arguments, words in (
        (["run", "nothing.csv"], "nothing.csv"),
        (["run", "events.csv", "--budget", "soon"], "--budget: not a length of time"),
        (["run", "events.csv", "--out", "events.csv"], "this is not a folder"),
        (["report", "nowhere"], "there is no such folder"),
    ):
        code, _, err = run(*arguments)
        assert code == 2, err
        assert words in err
