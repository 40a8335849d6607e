"""Worlds in processes of their own: nothing is carried from one to another, whatever a method tries."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

import leaks
from small import forum, network, training, walking
from tadge import TADGE, ForecastConfig, Forecaster
from tadge.auditing import worlds
from tadge.auditing.asking import Asker
from tadge.auditing.audit import audit
from tadge.auditing.processes import FreshProcesses
from tadge.auditing.serving import Task
from tadge.baselines import make
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of


@cache
def shuffled() -> TemporalGraph:
    """A forum whose ids are in no order of time."""
    graph = forum()
    number = np.random.default_rng(0).permutation(graph.num_nodes)
    return TemporalGraph.from_arrays(number[graph.src], number[graph.dst], graph.time, unit="days", clock="unix")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TADGE_LEAKS", str(tmp_path))  # processes that are started now look for files here
    monkeypatch.setattr(leaks, "PLACE", tmp_path)
    leaks.MEMO.clear()
    leaks.cached_degree.cache_clear()


def failed(report):
    return {one.check for one in report.findings if not one.passed}


@pytest.mark.parametrize("kind", leaks.LEAKS, ids=lambda kind: kind.__name__)
def test_what_looks_ahead_is_caught(kind):
    report = audit(kind(), shuffled(), cuts=8, queries=64)
    assert not report.passed, str(report)
    expected = {
        "EqualTimes": {"equal time stamps"},
        "NumNodes": {"unseen ids deleted"},
        "IdOrder": {"unseen ids deleted"},
        "UnseenExists": {"unseen ids preferred"},
        "UnseenCount": {"unseen ids deleted"},
        "Database": {"files"},
        "Renamed": {"files"},
    }
    if kind.__name__ in expected:
        assert failed(report) >= expected[kind.__name__], str(report)


@pytest.mark.parametrize("kind", leaks.HONEST, ids=lambda kind: kind.__name__)
def test_what_keeps_to_the_past_passes(kind):
    graph, method = forum(), kind()
    if hasattr(method, "fit"):
        method.fit(graph.before(float(graph.time[450])))
    report = audit(method, graph, cuts=8, queries=32)
    assert report.passed, str(report)
    rounded = {one.check for one in report.findings if one.state == "rounding"}
    if kind is leaks.MaskedSum:
        assert "future deleted" in rounded and "future scrambled" not in failed(report)
        assert "beyond rounding" in report.headline() and "units in the last place" in str(report)
    else:
        assert not rounded and all(one.largest == 0 for one in report.findings if one.check == "future deleted")


def test_in_this_process_what_a_module_keeps_is_not_caught_and_the_report_says_so():
    report = audit(leaks.GlobalFirst(), forum(), cuts=4, queries=16, fresh=False)
    assert any("what it keeps in a module, in the cache of a function or in a file can hide" in n for n in report.notes)
    assert failed(report) <= {"unseen ids deleted", "canary"}


def test_a_world_that_does_not_answer_is_a_finding():
    report = audit(leaks.Dies(), forum(), cuts=1, queries=8)
    messages = {one.check: one.message for one in report.findings if not one.passed}
    assert "its process died" in messages["future deleted"] and "another order" not in messages


def test_a_world_has_only_so_much_time():
    graph = forum()
    early = graph.before(float(graph.time[300]))
    questions = worlds.make_questions(graph, past_of(graph).first, float(early.time[-1]), 8, np.random.default_rng(0))
    processes = FreshProcesses(leaks.Hangs(), Asker(leaks.Hangs(), graph), 1.0, 1)
    try:
        with processes.world() as ask:
            for _ in range(2):  # a new process takes the place of the one that was stopped
                answer = ask(Task(["score_links"], early, questions))["score_links"]
                assert "found no answer within 1 s; raise time_limit" in str(answer)
    finally:
        processes.close()


def test_a_method_may_print(capfd):
    assert audit(leaks.Talks(), forum(), cuts=2, queries=8).passed
    out, err = capfd.readouterr()
    assert out == "" and "an answer" in err


def test_a_method_that_cannot_be_sent_is_one_sentence():
    class Local(leaks.Honest):
        """Is known to no other process."""

    for method, found in ((Local(), "Local"), (leaks.Fragile(), "lambda"), (leaks.Unpackable(), "no such thing here")):
        with pytest.raises(InputError, match=r"cannot be sent to a fresh process; found .*say fresh=False") as error:
            audit(method, forum(), cuts=2, queries=8)
        assert found in str(error.value) and "\n" not in str(error.value)
    assert audit(Local(), forum(), cuts=2, queries=8, fresh=False).passed
    with pytest.raises(ConfigError, match="time_limit"):
        audit(leaks.Honest(), forum(), time_limit=0)


def test_no_process_is_left_behind():
    audit(leaks.Honest(), forum(), cuts=1, queries=4)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_tadge_passes():
    graph = forum()
    end = float(graph.time[450])
    model = TADGE(walking(num_walks=60), network(), training(epochs=1)).fit(graph.before(end), progress=False)
    report = audit(model, graph, cuts=4, queries=32, test_from=end)
    assert report.passed, str(report)
    assert not report.notes


def test_the_forecaster_passes():
    graph = forum()
    end = float(graph.time[450])
    config = ForecastConfig(steps=5, batch_events=64, trees=3, leaf_samples=5)
    model = Forecaster(config).fit(graph.before(end), progress=False)
    report = audit(model, graph, cuts=4, queries=32, test_from=end)
    assert report.passed, str(report)
    assert all(one.largest == 0 for one in report.findings if one.check not in ("canary", "unseen ids preferred"))


def test_a_baseline_passes():
    graph = forum()
    end = float(graph.time[450])
    for name in ("additive", "DeepWalk"):  # which find nodes by their ids
        report = audit(make(name, 0).fit(graph.before(end)), graph, cuts=4, queries=32)
        assert report.passed, str(report)
