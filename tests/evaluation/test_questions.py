"""Questions, against a plain loop over the events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small import forum
from tadge.arrays import NodeNumbers
from tadge.errors import ConfigError, InputError
from tadge.evaluation import questions as ask
from tadge.evaluation.config import EvaluationConfig
from tadge.graph import TemporalGraph


@st.composite
def graphs(draw):
    """Small graphs with ties, repeats, self-links, and nodes without an event."""
    nodes, events = draw(st.integers(3, 12)), draw(st.integers(5, 40))
    bipartite = draw(st.booleans())
    numbers = st.integers(0, nodes - 1)
    src, dst = (np.array(draw(st.lists(numbers, min_size=events, max_size=events))) for _ in range(2))
    time = np.array(draw(st.lists(st.integers(0, 15), min_size=events, max_size=events)), float)
    if bipartite:
        dst[0], dst[1] = 0, 1  # at least two targets
        return TemporalGraph.from_arrays(src, dst, time, unit="days", clock="own", bipartite=True)
    directed = draw(st.booleans())
    ids = np.arange(nodes)
    return TemporalGraph.from_arrays(src, dst, time, unit="days", clock="own", ids=ids, directed=directed)


def former_targets(graph, src, t):
    """Whom a node linked to strictly before t, by a loop."""
    found = set()
    for u, v, when in zip(graph.src, graph.dst, graph.time, strict=True):
        if when < t:
            found |= {int(v)} if u == src else set()
            found |= {int(u)} if v == src and not graph.directed else set()
    return found


def seen_before(graph, node, t):
    return any(when < t and node in (u, v) for u, v, when in zip(graph.src, graph.dst, graph.time, strict=True))


@settings(max_examples=60)
@given(graphs(), st.sampled_from([1, 2, 4, 100]), st.integers(0, 3))
def test_questions_are_those_of_a_plain_loop(graph, wrong, seed):
    start, end = float(graph.time[graph.num_events // 3]), float(graph.time[-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ask, "NEGATIVES_PER_LINK", wrong)
        asked = ask.link_questions(graph, start, end, seed)
        events = [k for k in range(graph.num_events) if start <= graph.time[k] < end]
        assert asked.event.tolist() == events
        targets = set(range(graph.num_sources, graph.num_nodes))
        shares = []
        for kind in ("random", "historical", "all"):
            answers = asked.candidates(kind)
            wide = len(targets) - 1 if kind == "all" else min(wrong, len(targets) - 1)
            assert answers.shape == (len(events), 1 + wide)
            for row, event in zip(answers.tolist(), events, strict=True):
                src, true, t = int(graph.src[event]), int(graph.dst[event]), graph.time[event]
                assert row[0] == true
                assert true not in row[1:]
                assert len(set(row)) == len(row)
                assert set(row) <= targets
                if kind == "historical":
                    former = former_targets(graph, src, t) - {true}
                    assert len(former & set(row)) >= min(len(former), wide)
                    shares.append(min(len(former), wide) / wide)
        if events:
            assert asked.historical_fraction == pytest.approx(np.mean(shares))
        for q, event in enumerate(events):
            src, dst, t = int(graph.src[event]), int(graph.dst[event]), graph.time[event]
            assert (asked.src[q], asked.dst[q], asked.at[q]) == (src, dst, np.nextafter(t, -np.inf))
            assert asked.at[q] < t
            assert np.nextafter(asked.at[q], np.inf) == t
            assert asked.unseen[q] == (not (seen_before(graph, src, t) and seen_before(graph, dst, t)))


@settings(max_examples=60)
@given(graphs())
def test_toe_questions_are_those_of_a_plain_loop(graph):
    start, end = float(graph.time[graph.num_events // 3]), float(graph.time[-1])
    asked = ask.toe_questions(graph, start, end, 0)
    events = [k for k in range(graph.num_events) if start <= graph.time[k] < end and not np.isnan(graph.toe[k])]
    assert asked.event.tolist() == events
    assert asked.asked_of == len(events)
    for q, event in enumerate(events):
        src, dst, t = int(graph.src[event]), int(graph.dst[event]), graph.time[event]
        joined = max(each for each in graph.tov(NodeNumbers(dst)) if each < t)
        assert asked.at[q] == joined
        assert asked.toe[q] == t - joined
        assert asked.unseen[q] == (not seen_before(graph, src, np.nextafter(joined, np.inf)))


@settings(max_examples=60)
@given(graphs(), st.integers(2, 50), st.sampled_from([0, 5]))
def test_what_is_known_of_a_batch_is_what_is_before_its_first_event(graph, refresh, most):
    """Against a loop over the events of the period, of which only some may be asked about."""
    start = float(graph.time[graph.num_events // 3])
    asked = ask.link_questions(graph, start, np.inf, 0, most, refresh)
    period = [k for k in range(graph.num_events) if graph.time[k] >= start]
    firsts = {k: period[place // refresh * refresh] for place, k in enumerate(period)}
    seen = []
    for cut, known in asked.batches():
        for q in range(cut.start, cut.stop):
            first = firsts[int(asked.event[q])]
            assert known.num_events == np.count_nonzero(graph.time < graph.time[first])
            assert known.fingerprint == graph.before(graph.time[first]).fingerprint
            assert asked.at[q] == np.nextafter(graph.time[asked.event[q]], -np.inf)
            seen.append(q)
    assert seen == list(range(len(asked)))
    whole = ask.link_questions(graph, start, np.inf, 0, most)
    for kind in ask.KINDS_OF_NEGATIVES:  # what is asked does not depend on what is known
        assert np.array_equal(asked.candidates(kind), whole.candidates(kind))
        parts = [part for _, part, _ in asked.blocks(kind, 7)]
        assert not parts or np.array_equal(np.concatenate(parts), whole.candidates(kind))


@settings(max_examples=100)
@given(graphs(), st.sampled_from([1, 2, 5, 9, 1000]), st.integers(0, 3))
def test_negatives_of_tgb_keep_its_rule(graph, wide, seed):
    """By sets, for each question: what must be there, what can be, and what must not."""
    trained, start = (float(graph.time[graph.num_events * part // 5]) for part in (2, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ask, "TGB_NEGATIVES", wide)
        asked = ask.link_questions(graph, start, np.inf, seed, 0, train_end=trained)
        answers, width = asked.candidates("tgb"), asked.width("tgb")
    span = set(range(graph.dst.min(), graph.dst.max() + 1))
    assert answers.shape == (len(asked), 1 + width)
    assert width == min(wide, len(span) - 1)
    for (true, *others), event in zip(answers.tolist(), asked.event.tolist(), strict=True):
        src, t = int(graph.src[event]), graph.time[event]
        former = former_targets(graph, src, trained)
        now = former_targets(graph, src, np.nextafter(t, np.inf)) & {
            int(end)
            for u, v, when in zip(graph.src, graph.dst, graph.time, strict=True)
            for end in (u, v)
            if when == t and src in (u, v) and (end != src or u == v) and (u == src or not graph.directed)
        }
        assert true == graph.dst[event] and true in now
        can, free = former - now, span - former - now
        drawn = [node for node in others if node in former]
        if free or not width:
            assert not set(others) & now
            assert len(drawn) == len(set(drawn)) == min(width // 2, len(can))
            assert set(others) <= can | free
            if len(free) >= width - len(drawn):
                assert len(set(others)) == width
        else:  # everybody was linked to: anybody else
            assert true not in others


def test_negatives_of_tgb_are_uniform(monkeypatch):
    """A node with 60 former targets in training and 140 other nodes: 20 of the former, 20 of the others, all alike."""
    src, dst = np.zeros(1060, int), np.concatenate([np.arange(1, 61), np.full(1000, 200)])
    graph = TemporalGraph.from_arrays(src, dst, np.arange(1060.0), unit="days", clock="own", ids=np.arange(300))
    monkeypatch.setattr(ask, "TGB_NEGATIVES", 40)
    asked = ask.link_questions(graph, 60.0, np.inf, 0)
    counts = np.bincount(asked.candidates("tgb")[:, 1:].reshape(-1), minlength=300)
    assert counts[[0, *range(200, 300)]].sum() == 0  # never a target, beyond the range, or the true one
    for part in (counts[1:61], counts[61:200]):
        expected = 20_000 / part.size
        assert np.all(np.abs(part - expected) < 6 * np.sqrt(expected))


# -- draws ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked():
    graph = forum(2000)
    return ask.link_questions(graph, float(graph.time[1000]), np.inf, 3)


@pytest.mark.parametrize("kind", ask.KINDS_OF_NEGATIVES)
def test_candidates_are_the_same_in_blocks_of_any_size(asked, kind):
    whole = asked.candidates(kind)
    for pairs in (1, 777, 20_000):
        cuts, parts, known = zip(*asked.blocks(kind, pairs), strict=True)
        assert all(graph is asked.graph for graph in known)
        assert np.array_equal(np.concatenate(parts), whole)
        assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts)][:-1]
        assert max(part.size for part in parts) <= max(pairs, whole.shape[1])


def test_candidates_depend_on_the_seed_and_the_event_alone(asked):
    graph = asked.graph
    again = ask.link_questions(graph, float(graph.time[1000]), np.inf, 3)
    later = ask.link_questions(graph, float(graph.time[1500]), np.inf, 3)
    other = ask.link_questions(graph, float(graph.time[1000]), np.inf, 4)
    for kind in ("random", "historical", "tgb"):
        assert np.array_equal(again.candidates(kind), asked.candidates(kind))
        if kind == "tgb":
            later = replace(later, train_end=asked.train_end)
        assert np.array_equal(later.candidates(kind), asked.candidates(kind)[asked.event >= later.event[0]])
        assert not np.array_equal(other.candidates(kind), asked.candidates(kind))


def test_random_negatives_are_uniform(asked):
    """Every node but the true target is as likely: within six standard deviations."""
    answers = asked.candidates("random")
    nodes, (many, wide) = asked.graph.num_nodes, answers[:, 1:].shape
    counts = np.bincount(answers[:, 1:].reshape(-1), minlength=nodes)
    could = many - np.bincount(asked.dst, minlength=nodes)
    share = wide / (nodes - 1)
    assert np.all(np.abs(counts - could * share) < 6 * np.sqrt(could * share * (1 - share)))


def test_historical_negatives_are_uniform_among_many(monkeypatch):
    """A node with 60 former targets, 10 drawn: each is as likely, the true one never."""
    src, dst = np.zeros(1060, int), np.concatenate([np.arange(1, 61), np.arange(1000) % 60 + 1])
    graph = TemporalGraph.from_arrays(src, dst, np.arange(1060.0), unit="days", clock="own", ids=np.arange(300))
    monkeypatch.setattr(ask, "NEGATIVES_PER_LINK", 10)
    asked = ask.link_questions(graph, 60.0, np.inf, 0)
    answers = asked.candidates("historical")
    assert asked.historical_fraction == 1.0
    assert answers[:, 1:].max() <= 60
    counts = np.bincount(answers[:, 1:].reshape(-1), minlength=61)[1:]
    expected = 10_000 / 60
    assert np.all(np.abs(counts - expected) < 6 * np.sqrt(expected))


def test_samples_are_nested_and_said():
    graph = forum(2000)
    start = float(graph.time[1000])
    few, more = (ask.link_questions(graph, start, np.inf, 1, most) for most in (50, 200))
    timed = ask.toe_questions(graph, start, np.inf, 1, 200)
    assert (len(few), few.asked_of) == (50, 1000)
    assert set(few.event) < set(more.event)
    assert set(timed.event) <= set(more.event)
    assert {event for event in few.event if not np.isnan(graph.toe[event])} <= set(timed.event)
    assert np.all(np.diff(more.event) > 0)
    assert len(ask.link_questions(graph, start, np.inf, 1, 0)) == 1000
    assert not np.array_equal(ask.link_questions(graph, start, np.inf, 2, 50).event, few.event)


def test_bad_questions_are_one_sentence():
    with pytest.raises(ConfigError, match="against: unknown kind of negatives; expected some of random, historical"):
        EvaluationConfig(against=("random", "hard"))
    with pytest.raises(ConfigError, match="unknown kind"):
        EvaluationConfig(against=())
    assert EvaluationConfig(against="all").against == ("all",)
    assert EvaluationConfig(against=["all", "random", "all"]).against == ("all", "random")
    lonely = TemporalGraph.from_arrays([1, 2, 3], [9, 9, 9], [1.0, 2, 3], unit="days", clock="own", bipartite=True)
    with pytest.raises(InputError, match="nothing to choose from"):
        ask.link_questions(lonely, 0.0, 9.0, 0)


@given(graphs(), st.integers(0, 2**32))
def test_kinds_are_those_of_a_plain_loop(graph, seed):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, graph.num_nodes, (2, 12))
    at = rng.choice(graph.time, 12) if graph.num_events else np.zeros(12)
    unseen = rng.random(12) < 0.3
    found = ask.kinds_of(graph, src, dst, at, unseen)
    for q in range(12):
        had = {(int(u), int(v)) for u, v, t in zip(graph.src, graph.dst, graph.time, strict=True) if t <= at[q]}
        had |= set() if graph.directed else {(v, u) for u, v in had}
        kind = "first contact"
        if unseen[q]:
            kind = "unseen"
        elif (src[q], dst[q]) in had:
            kind = "repeat"
        elif (dst[q], src[q]) in had:
            kind = "answer"
        assert [name for name in ("unseen", "repeat", "answer", "first contact") if found[name][q]] == [kind]
        assert found["seen"][q] == (kind != "unseen")
