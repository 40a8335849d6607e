"""The audit passes what keeps to the past, catches what does not, and says where."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small import forum, network, rebuilt, training, walking
from tadge import TADGE, ForecastConfig, Forecaster
from tadge.auditing import worlds
from tadge.auditing.audit import audit as audit_fresh
from tadge.auditing.loading import find_methods
from tadge.auditing.processes import IN_THIS_PROCESS
from tadge.errors import ConfigError, InputError, NotFittedError
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of

CALLS = ("embed", "score_links", "predict_toe")  # of the methods below


def audit(*method_and_graph, **options):
    """Audit in this process: the methods here are known to no other. See test_processes for fresh ones."""
    return audit_fresh(*method_and_graph, **{"fresh": False} | options)


@cache
def ties() -> TemporalGraph:
    """A forum whose time stamps are whole days: many events share one."""
    graph = forum()
    return rebuilt(graph, time=np.floor(graph.time))


@cache
def shop(weighted: bool = False) -> TemporalGraph:
    """A bipartite graph with texts as ids, on a clock of its own."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 30, 400).astype(str), rng.integers(0, 40, 400).astype(str)
    weight = rng.random(400) if weighted else None
    return TemporalGraph.from_arrays(src, dst, rng.integers(0, 150, 400), weight, unit="days", bipartite=True)


class Counts:
    """Honest, by plain loops: what had happened by `at`, and nothing else. What is later comes in by `slack` only."""

    name = "counts"
    slack = 0.0

    def known(self, graph, at):
        return graph.time <= at + self.slack

    def embed(self, nodes, at, *, graph):
        rows = []
        for node, moment in zip(nodes, at, strict=True):
            known = self.known(graph, moment)
            acts, got = known & (graph.src == node), known & (graph.dst == node)
            rows.append([acts.sum(), got.sum(), moment - graph.time[acts].max(initial=-1e9), 1.0])
        return np.array(rows)

    def score_links(self, src, dst, at, *, graph):
        pairs = zip(src, dst, at, strict=True)
        return np.array(
            [float(np.sum(self.known(graph, t) & (graph.src == u) & (graph.dst == v))) for u, v, t in pairs]
        )

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        found = []
        for v, t in zip(dst, at, strict=True):
            toe = graph.toe[self.known(graph, t) & (graph.dst == v)]
            toe = toe[~np.isnan(toe)]
            days = toe.mean() if toe.size else 1.0
            found.append(2 * math.atan(days) / math.pi if unit == "squashed" else days)
        return np.array(found)


class CountsAll(Counts):
    """Counts events of the pair in the whole graph."""

    slack = math.inf


class OneMore(Counts):
    """Takes `at` to include the event after it."""

    def known(self, graph, at):
        return np.arange(graph.num_events) <= np.searchsorted(graph.time, at, side="right")


class ByTheEnd(Counts):
    """Divides by the last time of the graph."""

    def score_links(self, src, dst, at, *, graph):
        return super().score_links(src, dst, at, graph=graph) + at / graph.time[-1]


class SameInstant(Counts):
    """Takes a moment for the same as another a second later."""

    slack = 1 / 86_400


class SinglePrecision(Counts):
    """Rounds times, and with them the moment right before an event to that event."""

    def known(self, graph, at):
        return graph.time.astype(np.float32) <= np.float32(at)


class OnlyToe(Counts):
    """Is honest but for ToE: looks the coming event up."""

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        answers = super().predict_toe(src, dst, at, graph=graph, unit=unit, statistic=statistic)
        for row, (u, v, t) in enumerate(zip(src, dst, at, strict=True)):
            coming = graph.time[(graph.src == u) & (graph.dst == v) & (graph.time > t)]
            if coming.size:
                answers[row] = 2 * math.atan(coming[0] - t) / math.pi
        return answers


class DegreeOfAll(Counts):
    """Is honest but for vectors: has the degree of the whole graph among their numbers."""

    def embed(self, nodes, at, *, graph):
        return np.column_stack([super().embed(nodes, at, graph=graph), graph.degree[nodes]])


class Remembers(CountsAll):
    """Leaks, and answers again what it has answered for a pair before, whatever graph it is given then."""

    def __init__(self):
        self.memory = {}

    def score_links(self, src, dst, at, *, graph):
        fresh = super().score_links(src, dst, at, graph=graph)
        return np.array([self.memory.setdefault(key, value) for key, value in zip(zip(src, dst), fresh)])  # noqa: B905

    embed = predict_toe = None


class RemembersForAll(Remembers):
    """The same, with one memory for all copies."""

    shared: ClassVar[dict] = {}

    def __init__(self):
        self.shared.clear()

    @property
    def memory(self):
        return self.shared


class RemembersNodes(Counts):
    """Asked for a moment, it answers as of the latest moment it has been asked for before."""

    def __init__(self):
        self.latest = -math.inf

    def known(self, graph, at):
        self.latest = max(self.latest, at)
        return graph.time <= self.latest


class NeedsTheFuture(Counts):
    """Breaks where there is no next event."""

    def score_links(self, src, dst, at, *, graph):
        return graph.dst[np.searchsorted(graph.time, at, side="right")].astype(float)


def failed(report):
    return {(one.check, one.call) for one in report.findings if not one.passed}


GRAPHS = {"forum": forum, "ties": ties, "shop": shop, "undirected": lambda: forum(directed=False)}


@pytest.mark.parametrize("graph", GRAPHS)
def test_what_keeps_to_the_past_passes(graph):
    report = audit(Counts(), GRAPHS[graph](), cuts=8, queries=24)
    assert report.passed, str(report)
    assert failed(report) == set()
    assert len(report.findings) == 6 * 3 + 1
    assert all(one.largest == 0 for one in report.findings if one.check not in ("canary", "unseen ids preferred"))
    assert {one.call for one in report.findings} == set(CALLS)
    compared = {one.check: one.comparisons for one in report.findings}
    twice = 2 * 8 * 24
    assert compared["future deleted"] == compared["future scrambled"] == twice
    assert compared["another order"] == compared["equal time stamps"] == compared["canary"] == twice // 2


LEAKS = {
    CountsAll: {
        (check, call) for check in ("future deleted", "future scrambled", "equal time stamps") for call in CALLS
    },
    OneMore: {("future deleted", "embed"), ("future scrambled", "embed"), ("equal time stamps", "embed")},
    ByTheEnd: {("future deleted", "score_links"), ("future scrambled", "score_links")},
    SameInstant: {("equal time stamps", "embed"), ("equal time stamps", "score_links")},
    SinglePrecision: {("equal time stamps", "embed"), ("equal time stamps", "score_links")},
    OnlyToe: {("future deleted", "predict_toe"), ("future scrambled", "predict_toe"), ("canary", "predict_toe")},
    DegreeOfAll: {("future deleted", "embed"), ("future scrambled", "embed"), ("canary", "embed")},
    Remembers: {("future deleted", "score_links"), ("future scrambled", "score_links"), ("canary", "score_links")},
    RemembersForAll: {("canary", "score_links")},
    RemembersNodes: {("another order", "embed")},
    NeedsTheFuture: {("future deleted", "score_links")},
}


@pytest.mark.parametrize("kind", LEAKS, ids=lambda kind: kind.__name__)
def test_what_looks_ahead_is_caught(kind):
    report = audit(kind(), forum(), cuts=10, queries=32)
    assert not report.passed
    assert failed(report) >= LEAKS[kind], str(report)
    if kind in (OnlyToe, DegreeOfAll, ByTheEnd):  # and nothing else is accused
        assert len({call for _, call in failed(report)}) == 1
    if kind is SameInstant:
        assert {check for check, _ in failed(report) if check != "future scrambled"} == {"equal time stamps"}


def test_the_planted_future_is_found_where_comparing_is_in_vain():
    report = audit(RemembersForAll(), forum(), cuts=10, queries=32)
    assert failed(report) == {("canary", "score_links")}
    said = next(one.message for one in report.findings if not one.passed)
    assert "what was planted after the cut is ahead in" in said and "which chance cannot do" in said


@pytest.mark.parametrize("kind", [CountsAll, OneMore])
@pytest.mark.parametrize("graph", ["ties", "shop", "undirected"])
def test_leaks_are_caught_in_every_kind_of_graph(kind, graph):
    report = audit(kind(), GRAPHS[graph](), cuts=10, queries=32)
    assert {check for check, _ in failed(report)} >= {"future deleted", "future scrambled", "equal time stamps"}


def test_the_report_tells_the_first_case():
    report = audit(CountsAll(), forum(), cuts=5, queries=16, seed=3)
    text, told = str(report), report.to_dict()
    assert text.startswith("FAILED: counts does not keep to the past: ")
    assert "5 cuts, 16 questions at each, seed 3" in text
    found = next(one for one in report.findings if (one.check, one.call) == ("future deleted", "score_links"))
    assert found.message in text
    # the sentence is true: cut, question and both answers
    words = found.message.split()
    cut, src, dst = words[1], int(words[6]), int(words[8])
    assert cut.startswith("20")
    graph = forum()
    total = float(np.sum((graph.src == src) & (graph.dst == dst)))
    assert f"is {total:g} with all events there, but" in found.message
    assert json.loads(json.dumps(told)) == told
    assert told["passed"] is False and told["graph"] == graph.fingerprint and told["seconds"] > 0
    assert len(told["findings"]) == len(report.findings)
    assert str(audit(Counts(), forum(), cuts=2, queries=8)).startswith("passed: nothing that comes later changes")


def test_a_break_without_the_future_is_a_finding():
    report = audit(NeedsTheFuture(), forum(), cuts=4, queries=16)
    found = next(one for one in report.findings if (one.check, one.call) == ("future deleted", "score_links"))
    assert "it answers with all events there, but once the later ones are deleted" in found.message
    assert "IndexError" in found.message
    assert found.largest == math.inf
    assert report.to_dict()["findings"][report.findings.index(found)]["largest"] is None


def test_the_same_seed_gives_the_same_report():
    one, other, third = (audit(OneMore(), forum(), cuts=4, queries=16, seed=seed) for seed in (1, 1, 2))
    assert one.findings == other.findings
    assert one.findings != third.findings


def test_tolerance():
    class Trembles(Counts):
        def score_links(self, src, dst, at, *, graph):
            return super().score_links(src, dst, at, graph=graph) + 1e-9 * graph.num_events

    assert not audit(Trembles(), forum(), cuts=4, queries=16).passed
    report = audit(Trembles(), forum(), cuts=4, queries=16, tolerance=1e-5)
    assert report.passed
    largest = {(one.check, one.call): one.largest for one in report.findings}
    assert 0 < largest["future deleted", "score_links"] < 1e-5


def test_only_what_is_wanted_is_asked():
    """A leak in vectors does not fail an audit of links."""

    class Leaks(Counts):
        def embed(self, nodes, at, *, graph):
            return super().embed(nodes, at, graph=graph) + graph.num_events

    assert not audit(Leaks(), forum(), cuts=2, queries=8).passed
    report = audit(Leaks(), forum(), cuts=2, queries=8, calls=("score_links", "predict_toe"))
    assert report.passed
    assert {one.call for one in report.findings} == {"score_links", "predict_toe"}
    assert "not asked: embed" in report.notes
    with pytest.raises(ConfigError, match="calls: unknown call; expected some of embed, score_links, predict_toe"):
        audit(Leaks(), forum(), calls=("embed", "guess"))
    with pytest.raises(InputError, match="nothing to ask it; expected embed"):
        audit(Remembers(), forum(), calls="embed")


def test_a_toe_in_days_is_asked_for_too():
    class Late(Counts):
        def predict_toe(self, src, dst, at, *, graph, unit, statistic):
            found = super().predict_toe(src, dst, at, graph=graph, unit=unit, statistic=statistic)
            return found if unit == "squashed" else found + graph.num_events

    report = audit(Late(), forum(), cuts=2, queries=8, calls="predict_toe")
    assert not report.passed


def test_a_method_is_not_asked_for_what_it_lacks():
    report = audit(Remembers(), forum(), cuts=2, queries=8)
    assert {one.call for one in report.findings} == {"score_links"}
    assert "not asked: embed, which counts does not have" in report.notes
    assert "not asked: predict_toe, which counts does not have" in str(report)


def test_a_method_that_answers_by_chance_is_told_so():
    class Chance:
        def score_links(self, src, dst, at, *, graph):
            return np.random.default_rng().random(src.size)

    report = audit(Chance(), forum(), cuts=20, queries=64)
    assert ("another order", "score_links") in failed(report)
    assert ("canary", "score_links") not in failed(report)
    assert any("answers that are random" in note for note in report.notes)


def test_a_method_that_cannot_be_copied_is_asked_all_the_same():
    class Locked(Counts):
        def __init__(self):
            self.lock = threading.Lock()

    report = audit(Locked(), forum(), cuts=2, queries=8)
    assert report.passed
    assert sum("cannot be copied" in note for note in report.notes) == 1


def test_tensors_are_answers_too():
    class Torch(Counts):
        def score_links(self, src, dst, at, *, graph):
            return torch.from_numpy(super().score_links(src, dst, at, graph=graph)).requires_grad_()

    assert audit(Torch(), forum(), cuts=2, queries=8).passed


def test_infinite_scores_are_answers_too():
    class Rules(Counts):
        def score_links(self, src, dst, at, *, graph):
            with np.errstate(divide="ignore"):
                return np.log(super().score_links(src, dst, at, graph=graph))

    assert audit(Rules(), forum(), cuts=2, queries=8).passed


# -- what it was fitted to --------------------------------------------------------------------------------------------


def test_events_of_the_test_period_in_training_are_found():
    graph = forum()
    begin = float(graph.time[500])
    late = int(np.count_nonzero(graph.time >= begin))
    fair = audit(Counts(), graph, cuts=2, queries=8, train=graph.before(begin), test_from=begin)
    assert fair.passed
    assert fair.findings[-1].check == "test events in training" and fair.findings[-1].call == "fit"
    unfair = audit(Counts(), graph, cuts=2, queries=8, train=graph, test_from=begin)
    assert failed(unfair) == {("test events in training", "fit")}
    said = unfair.findings[-1].message
    assert f"it was fitted to {late:,} events at or after" in said and f"{late:,} of them events of the test" in said
    moved = rebuilt(graph, time=np.where(graph.time >= begin, graph.time + 1, graph.time))
    said = audit(Counts(), graph, cuts=2, queries=8, train=moved, test_from=begin).findings[-1].message
    assert "0 of them events of the test period" in said

    class Fitted(Counts):
        graph_ = graph

    assert failed(audit(Fitted(), graph, cuts=2, queries=8, test_from=begin)) == {("test events in training", "fit")}
    assert "test_from" in audit(Fitted(), graph, cuts=2, queries=8).notes[-1]
    assert "train" in audit(Counts(), graph, cuts=2, queries=8, test_from=begin).notes[-1]


# -- our own ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queries", ["self", "next"])
def test_tadge_passes(queries):
    graph = forum()
    model = TADGE(walking(), network(queries=queries), training(epochs=1))
    train = graph.before(float(graph.time[500]))
    report = audit(model.fit(train, progress=False), graph, cuts=8, queries=32, test_from=float(graph.time[500]))
    assert report.passed, str(report)
    assert report.method == "TADGE (vectors)"
    assert len(report.findings) == 6 * 3 + 2
    assert report.notes == [IN_THIS_PROCESS]


@pytest.mark.parametrize("graph", ["ties", "shop", "undirected"])
def test_the_forecaster_passes(graph, tmp_path):
    graph = GRAPHS[graph]()
    begin = float(graph.time[300])
    model = Forecaster(ForecastConfig(steps=20, trees=5, leaf_samples=5)).fit(graph.before(begin), progress=False)
    report = audit(model, graph, cuts=6, queries=32, test_from=begin)
    assert report.passed, str(report)
    assert report.method == "Forecaster"
    assert report.notes == [IN_THIS_PROCESS, "not asked: embed, which Forecaster does not have"]
    model.save(tmp_path)
    ((method, train),) = find_methods(str(tmp_path), graph)
    assert (method.name, train) == ("Forecaster", None)


@pytest.mark.parametrize("graph", ["ties", "shop", "undirected"])
def test_every_baseline_passes(graph):
    from tadge.baselines import BASELINES, make

    graph = GRAPHS[graph]()
    end = float(graph.time[round(0.7 * graph.num_events)])
    train = graph.before(end)
    for name in BASELINES:
        report = audit(make(name, 0).fit(train), graph, cuts=4, queries=32, train=train, test_from=end)
        assert report.passed, str(report)
        assert report.method == name


# -- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input_is_one_sentence():
    class Wrong(Counts):
        def __init__(self, answer):
            self.answer = answer

        def score_links(self, src, dst, at, *, graph):
            return self.answer(src.size)

    graph = forum()
    with pytest.raises(InputError, match="method: nothing to ask it; expected a method with embed, score_links, pre"):
        audit(object(), graph)
    with pytest.raises(InputError, match=r"this is a class; .* make one and fit it: Counts\(\)\.fit\(train\)"):
        audit(Counts, graph)
    with pytest.raises(InputError, match=r"counts.score_links: answers of the wrong shape; expected \(128,\) numbers"):
        audit(Wrong(lambda n: np.zeros((n, 1))), graph)
    with pytest.raises(InputError, match=r"counts.score_links: answers of the wrong shape; .* found \(128,\) of <U1"):
        audit(Wrong(lambda n: np.array(["x"] * n)), graph)
    with pytest.raises(InputError, match="answers that are not numbers; expected numbers; found NaN for 1 of 128, the"):
        audit(Wrong(lambda n: np.where(np.arange(n) == 3, np.nan, 1.0)), graph)
    with pytest.raises(InputError, match=r"counts.score_links: cannot answer; found ZeroDivisionError: division by"):
        audit(Wrong(lambda n: 1 / 0), graph)
    with pytest.raises(InputError, match="graph: wrong kind of value; expected a TemporalGraph"):
        audit(Counts(), "edges.csv")
    with pytest.raises(InputError, match="train: wrong kind of value"):
        audit(Counts(), graph, train=[1])
    with pytest.raises(InputError, match="nothing comes later in this graph; expected events at two times or more"):
        audit(Counts(), graph.before(graph.time[1]))
    with pytest.raises(NotFittedError, match="the TADGE is not fitted"):
        audit(TADGE(), graph)
    for wrong in ({"cuts": 0}, {"queries": 0}, {"tolerance": -1.0}, {"seed": -1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            audit(Counts(), graph, **wrong)
    with pytest.raises(InputError, match="not a date"):
        audit(Counts(), graph, test_from="soon")


# -- worlds, cuts, coins ----------------------------------------------------------------------------------------------


rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 12)), min_size=2, max_size=40)


@given(rows, st.booleans(), st.integers(0, 99))
@settings(max_examples=60)
def test_worlds_are_the_same_until_the_cut(events, directed, seed):
    src, dst, time = (np.array(column) for column in zip(*events, strict=True))
    graph = TemporalGraph.from_arrays(src, dst, time, unit="days", ids=range(6), directed=directed)
    if graph.num_moments < 2:
        return
    rng = np.random.default_rng(seed)
    for cut in worlds.choose_times(graph, 5, rng, 0.5, slice(0, -1)).tolist():
        past = graph.time <= cut
        assert past.any() and not past.all()
        planted = (worlds.plant_links(graph, cut, 4, rng).graph, worlds.plant_toe(graph, cut, 4, rng).graph)
        ways = (
            worlds.unchanged,
            worlds.future_removed_view,
            worlds.future_removed_rebuilt,
            worlds.scrambled,
            worlds.doubled,
        )
        for other in (*(way(graph, cut, rng) for way in ways), *planted):
            assert other is not graph
            known = other.time <= cut
            for name in ("src", "dst", "time", "toe"):
                assert np.array_equal(getattr(other, name)[known], getattr(graph, name)[past], equal_nan=True)
            for node in range(6):
                mine, theirs = graph.tov(node), other.tov(node)
                assert np.array_equal(mine[mine <= cut], theirs[theirs <= cut])
        seen = past_of(graph).first
        asked = worlds.make_questions(graph, seen, cut, 16, rng)
        assert (asked.at <= cut).all() and (asked.at >= graph.time[0]).all()


def test_questions_are_of_all_kinds():
    graph = forum()
    cut = float(graph.time[300])
    seen, rng = past_of(graph).first, np.random.default_rng(0)
    asked = worlds.make_questions(graph, seen, cut, 64, rng)
    pairs = set(zip(asked.src.tolist(), asked.dst.tolist(), strict=True))
    known = int(np.searchsorted(graph.time, cut, side="right"))
    assert set(zip(graph.src[known : known + 8].tolist(), graph.dst[known : known + 8].tolist(), strict=True)) <= pairs
    assert (seen[asked.src] > cut).sum() >= 8 and (seen[asked.dst] > cut).sum() >= 8
    assert 0 < np.count_nonzero(asked.at < cut) < 32
    first = [min(graph.time[(graph.src == v) | (graph.dst == v)], default=math.inf) for v in range(graph.num_nodes)]
    assert np.array_equal(seen, first)


def test_cuts_are_distinct_and_many_share_their_time_stamp():
    graph, rng = ties(), np.random.default_rng(0)
    times, counts = np.unique(graph.time, return_counts=True)
    cuts = worlds.choose_times(graph, 20, rng, 0.25, slice(0, -1))
    assert np.all(np.diff(cuts) > 0) and cuts.size == 20 and cuts[-1] < times[-1]
    assert np.isin(cuts, times[counts > 1]).sum() >= 5
    assert np.array_equal(worlds.choose_times(graph, 10**4, rng, 0.25, slice(1, None)), times[1:])


def test_a_bipartite_world_stays_bipartite():
    graph, rng = shop(weighted=True), np.random.default_rng(0)
    cut = float(graph.time[200])
    for other in (worlds.scrambled(graph, cut, rng), worlds.doubled(graph, cut, rng)):
        assert other.num_sources == graph.num_sources
        assert other.src.max() < graph.num_sources <= other.dst.min()
        assert other.weight.size == other.num_events
    assert audit(Counts(), graph, cuts=3, queries=8).passed


def test_a_part_of_a_graph_can_be_audited():
    graph = forum()
    assert audit(Counts(), graph.between(graph.time[200], graph.time[600]), cuts=4, queries=16).passed


def test_a_graph_with_one_target_has_no_canary():
    graph = TemporalGraph.from_arrays(["a", "b", "c"], ["x", "x", "x"], [1, 2, 3], unit="days", bipartite=True)
    report = audit(Counts(), graph, cuts=4, queries=8)
    assert report.passed and "canary" not in {one.check for one in report.findings}
    assert any("no canary" in note for note in report.notes)


@pytest.mark.parametrize("graph", GRAPHS)
def test_planted_toe_are_far_apart(graph):
    graph, rng = GRAPHS[graph](), np.random.default_rng(0)
    cut = float(graph.time[350])
    canary = worlds.plant_toe(graph, cut, 4, rng)
    made, span = canary.graph, graph.time[-1] - graph.time[0]

    def toe(v):
        return made.toe[(made.time > cut) & np.isin(made.src, canary.src) & (made.dst == v)]

    for ahead, behind in zip(canary.ahead, canary.behind, strict=True):
        assert np.nanmedian(toe(ahead)) > 9 * span
        assert np.nanmedian(toe(behind)) < graph.time[-1] - graph.time[0]


def test_a_false_alarm_is_rare():
    """A hundred honest audits: none fails."""

    class Noise:
        """Scores that depend on the question alone."""

        def score_links(self, src, dst, at, *, graph):
            return np.sin(src * 12.9898 + dst * 78.233 + at)

    graph = replace(forum())
    assert all(audit(Noise(), graph, cuts=2, queries=32, seed=seed).passed for seed in range(100))
