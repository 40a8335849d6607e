"""The task `within`: with the law of a support desk, with one who always says a half, and against plain loops."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tadge
from answering import Broken, Constant
from small import forum, rebuilt
from tadge.errors import InputError
from tadge.evaluation.within import ask_first_targets, ask_times, ask_within
from tadge.evaluation.within_figures import concordance, coverage_by_slice, deciles, measure_times, reliability
from tadge.evaluation.within_questions import in_words, within_questions
from tadge.graph import TemporalGraph

HORIZONS = ("within 1 hour", "within 1 day", "within 7 days", "within 30 days")


class Law:
    """Answer by the law that made a support desk: the wait of a customer for an agent is exponential."""

    name = "law"

    def __init__(self, desk):
        place = {name: k for names in (desk.customers, desk.agents) for k, name in enumerate(names.tolist())}
        self.place = np.array([place[name] for name in desk.graph.ids.tolist()])
        self.customer = np.array([name.startswith("customer") for name in desk.graph.ids.tolist()])
        self.desk = desk

    def within(self, src, dst, days, at, *, graph):
        who, whom = self.place[src], self.place[dst]
        written = self.customer[src] & ~self.customer[dst]  # agents write to nobody
        who, whom = np.where(written, who, 0), np.where(written, whom, 0)
        share = 0.7 * (self.desk.favourite[who] == whom) + 0.3 / self.desk.agents.size
        pace = np.where(written, self.desk.rate[who] * share, 0.0)
        return -np.expm1(-pace[:, None] * np.asarray(days))


class Half:
    """Say a half, whatever is asked."""

    name = "half"

    def within(self, src, dst, days, at, *, graph):
        return np.full((src.size, len(days)), 0.5)


def value(result, name, task, metric):
    return result.methods[name][task][metric]["value"]


@pytest.fixture(scope="module")
def desk():
    return tadge.synthetic.desk(1_200, 10, days=250, seed=3)


@pytest.fixture(scope="module")
def result(desk):
    return tadge.evaluate([Law(desk), Half()], desk.graph, tasks="within", methods=["pair rates", "recency table"])


# -- what is known in advance -----------------------------------------------------------------------------------------


def test_who_knows_the_law_is_right(result):
    assert tuple(result.tasks) == (*HORIZONS, "when")
    for task in HORIZONS[1:]:
        about = result.methods["law"][task]
        assert about["skill"]["value"] > 0
        assert about["gap"]["value"] < 0.05
        assert about["said"]["value"] == pytest.approx(about["true"]["value"], abs=0.01)
        size = result.tasks[task]["questions"]
        assert about["links said"]["value"] == pytest.approx(about["said"]["value"] * size)
        assert about["links true"]["value"] == pytest.approx(about["true"]["value"] * size)
        others = [value(result, name, task, "brier") for name in result.methods if name != "law"]
        assert about["brier"]["value"] < min(others)
    assert value(result, "law", "when", "coverage 80") == pytest.approx(0.8, abs=0.04)
    assert value(result, "law", "when", "coverage 95") == pytest.approx(0.95, abs=0.02)
    assert value(result, "law", "when", "c-index") > 0.7
    assert "law wins against pair rates on when, C-index" in str(result)


def test_who_always_says_a_half_is_caught(result):
    for task in HORIZONS:
        about = result.methods["half"][task]
        assert about["brier"]["value"] == pytest.approx(0.25)
        assert about["skill"]["value"] < 0
        assert about["gap"]["value"] > 0.2
        assert about["said"]["value"] == 0.5
        assert f"half loses to pair rates on {task}, Brier 0.250 against" in str(result)
    assert value(result, "half", "when", "c-index") == 0.5
    assert value(result, "half", "when", "coverage 80") == 0.0  # no link can come as it said


def test_skill_is_over_pair_rates_whoever_takes_part(result, desk):
    alone = tadge.evaluate(Law(desk), desk.graph, tasks="within", methods=[])
    for task in HORIZONS:
        for metric in ("brier", "skill", "gap"):
            assert value(alone, "law", task, metric) == value(result, "law", task, metric)
        assert value(result, "pair rates", task, "skill") == 0.0


def test_tables_are_compact_and_the_json_has_it_all(result, tmp_path):
    text = str(result)
    assert "Brier" in text and "C-index" in text and "Coverage 95" in text
    assert "reliability" not in text
    for task in HORIZONS:
        table = text[text.index(f"{task}:") :]
        row = next(line for line in table.splitlines() if "half" in line)
        assert "0.500*" not in row  # what was said is neither good nor bad
    result.to_json(tmp_path / "result.json")
    record = json.loads((tmp_path / "result.json").read_text())
    groups = record["tasks"]["within 7 days"]["reliability"]["law"]
    assert len(groups) == 10
    assert sum(group["questions"] for group in groups) == record["tasks"]["within 7 days"]["questions"]
    gap = max(abs(group["said"] - group["true"]) for group in groups)
    assert gap == pytest.approx(value(result, "law", "within 7 days", "gap"))
    slices = record["tasks"]["when"]["slices"]["law"]
    assert len(slices) == 10
    assert tadge.Result.from_json(tmp_path / "result.json").tasks == record["tasks"]


def test_the_forecaster_is_asked_for_all_three():
    graph = tadge.synthetic.desk(60, 5, days=300, seed=0).graph
    model = tadge.Forecaster(tadge.ForecastConfig(steps=30, trees=5, hidden=8), seed=1)
    result = tadge.evaluate(model, graph, tasks="within", methods=[], control=False, progress=False)
    assert set(result.methods["Forecaster"]) == {*HORIZONS, "when", "ranking probabilities"}
    assert {"within", "when", "ranking probabilities"} <= set(result.times["Forecaster"])
    assert any(note.startswith("ranking probabilities: of the first 10 targets of") for note in result.notes)


# -- questions --------------------------------------------------------------------------------------------------------


def small(kind):
    if kind == "self-links":
        graph = forum()
        return rebuilt(graph, dst=np.where(np.arange(graph.num_events) % 11 == 0, graph.src, graph.dst))
    if kind == "bipartite":
        graph = forum()
        columns = graph.src % 40, graph.dst % 30, graph.time
        return TemporalGraph.from_arrays(*columns, unit="days", clock="own", bipartite=True)
    return forum(directed=kind == "directed")


@pytest.mark.parametrize("kind", ["directed", "undirected", "bipartite", "self-links"])
def test_pairs_are_chosen_by_the_past_and_waits_are_those_of_a_loop(kind):
    graph = small(kind)
    split = tadge.split_by_time(graph)
    asked = within_questions(graph, split, 0)
    events = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
    if not graph.directed:
        events += [(v, u, t) for u, v, t in events]
    first = {}
    for u, v, t in sorted(events, key=lambda event: event[2]):
        first.setdefault(u, t)
        first.setdefault(v, t)
    pairs, end = asked.pairs, graph.time[-1]
    assert (np.diff(pairs.at) >= 0).all()
    assert pairs.at.min() >= split.test_from
    seen = set()
    for u, v, at, wait, left in zip(*(column.tolist() for column in pairs), strict=True):
        later = [t for a, b, t in events if (a, b) == (u, v) and t > at]
        assert wait == (min(later) - at if later else np.inf)
        assert left == end - at
        assert max(first[u], first[v]) <= at
        assert v >= graph.num_sources
        if u == v:
            assert kind == "self-links"
        seen.add((u, v, at))
    assert len(seen) > len(asked) / 3
    assert np.array_equal(within_questions(graph, split, 0).pairs.dst, pairs.dst)
    assert not np.array_equal(within_questions(graph, split, 1).pairs.dst[:50], pairs.dst[:50])


def test_what_comes_later_chooses_no_pair():
    """Of the same moments: cut everything after the middle of the test period off, and ask again."""
    from tadge.baselines.drawn_pairs import fill_pairs
    from tadge.forecasting.waits import candidates_of
    from tadge.graph.past import past_of

    graph = forum()
    src, at = graph.src[600:640].astype(np.int64), np.full(40, float(graph.time[640]))
    drawn = []
    for view in (graph, graph.before(np.nextafter(graph.time[640], np.inf))):
        past, candidates = past_of(view), candidates_of(view)
        known, joined = np.searchsorted(view.time, at, side="right"), candidates.joined(at)
        row, dst = np.empty(40 * 14, np.int64), np.empty(40 * 14, np.int64)
        lists = past.outgoing, past.incoming, view.dst, candidates
        size = fill_pairs(*lists, src, at, known, joined, candidates.with_self(at), np.uint64(5), row, dst)
        drawn.append((row[:size].tolist(), dst[:size].tolist()))
        for k in range(40):
            own = dst[:size][row[:size] == k]
            assert np.unique(own).size == own.size <= 14
    assert drawn[0] == drawn[1]


def test_a_horizon_is_asked_only_where_it_can_be_seen():
    """A history of 40 days: the test period is shorter than a month, and so is half of what was learned from."""
    graph = tadge.synthetic.desk(100, 5, days=40, rate=1.0, seed=0).graph

    class Short(Half):
        name, horizon_ = "short", 0.5

    result = tadge.evaluate([Half(), Short()], graph, tasks="within", methods=[])
    assert "within 30 days" not in result.tasks
    assert any("within 30 days is left out: the test period is shorter" in note for note in result.notes)
    assert set(result.methods["short"]) == {"within 1 hour", "when"}
    assert "within 1 day" in result.methods["half"]
    words = "within 1 day: not asked, as the history learned from is too short for it: short"
    assert words in result.notes
    asked = within_questions(graph, tadge.split_by_time(graph), 0)
    assert result.tasks["within 1 day"]["questions"] == np.count_nonzero(asked.pairs.at + 1.0 <= graph.time[-1])
    assert any(note.startswith("within 1 day: ") and "the history ends before" in note for note in result.notes)


def test_nobody_who_can_answer():
    result = tadge.evaluate(Constant(), forum(), tasks="within", methods=[])
    assert not result.tasks
    assert "within is left out: no method here can answer it" in result.notes


BAD = {
    "NaN": (
        lambda n: np.full((n, 4), np.nan),
        "the probabilities of broken cannot be used; expected numbers; found nan",
    ),
    "above 1": (lambda n: np.full((n, 4), 1.5), "the probabilities of broken cannot be used"),
    "shape": (np.zeros, "the probabilities of broken have the wrong shape"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_answers_are_one_sentence(case):
    answer, words = BAD[case]
    with pytest.raises(InputError, match=words):
        tadge.evaluate(Broken(within=answer), forum(), tasks="within", methods=[])


def test_horizons_have_names():
    assert [in_words(days) for days in (1 / 24, 1.0, 7.0, 30.0, 0.004)] == [
        *("1 hour", "1 day", "7 days", "30 days", "0.004 days")
    ]


# -- figures, against plain loops -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 60, 150])
def test_concordance_is_that_of_a_loop(size):
    rng = np.random.default_rng(size)
    risk, passed, came = rng.integers(0, 8, size) / 8, rng.integers(1, 12, size) * 1.0, rng.random(size) < 0.5
    expected = np.zeros((2, size))
    for i in range(size):
        for j in range(size):
            if came[i] and (passed[i] < passed[j] or (passed[i] == passed[j] and not came[j])):
                for k in (i, j):
                    expected[0, k] += 1.0 if risk[i] > risk[j] else 0.5 * (risk[i] == risk[j])
                    expected[1, k] += 1
    assert np.array_equal(concordance(risk, passed, came), expected)


def test_the_interval_of_concordance_is_that_of_resampled_pairs():
    """Against resampling the questions and counting all pairs again."""
    rng = np.random.default_rng(0)
    n = 150
    passed = rng.exponential(size=n)
    risk, came = -passed + rng.normal(size=n), rng.random(n) < 0.6
    statistic, columns = measure_times(risk, passed, came, np.full(n, np.nan))["c-index"]
    fast, slow = [], []
    for _ in range(300):
        chosen = rng.integers(0, n, n)
        fast.append(float(statistic(columns[chosen].mean(axis=0, keepdims=True))[0]))
        right, counted = concordance(risk[chosen], passed[chosen], came[chosen])
        slow.append(right.sum() / counted.sum())
    assert np.std(fast) == pytest.approx(np.std(slow), rel=0.15)
    assert np.mean(fast) == pytest.approx(np.mean(slow), abs=0.01)


def test_deciles_are_equal_groups_in_order():
    said = np.random.default_rng(0).random(95)
    group, true = deciles(said), np.arange(95) % 3 == 0
    assert np.bincount(group).tolist() == [10, 9, 10, 9, 10, 9, 10, 9, 10, 9]
    assert all(said[group == k].max() <= said[group == k + 1].min() for k in range(9))
    for k, about in enumerate(reliability(said, true)):
        here = group == k
        assert about == {"said": said[here].mean(), "true": true[here].mean(), "questions": here.sum()}
    assert len(reliability(said[:3], true[:3])) == 3


def test_coverage_by_slices():
    reached, at = np.array([0.5, 0.05, 0.99, np.nan, 0.5]), np.array([0.0, 0.5, 9.99, 5.0, 10.0])
    slices = coverage_by_slice(reached, at, 0.0, 10.0)
    assert slices[0] == {"links": 2, "coverage 80": 0.5, "coverage 95": 1.0}
    assert slices[5] == {"links": 0, "coverage 80": None, "coverage 95": None}
    assert slices[9] == {"links": 2, "coverage 80": 0.5, "coverage 95": 0.5}


def test_times_are_asked_for_one_by_one(desk):
    """What is asked in blocks is what a loop over links would ask."""
    graph = desk.graph
    asked, law = within_questions(graph, tadge.split_by_time(graph), 0), Law(desk)
    reached = ask_times(law, asked, graph, lambda *_: None)
    pairs = asked.pairs
    assert np.array_equal(np.flatnonzero(~np.isnan(reached)), asked.timed)
    for k in asked.timed[::97].tolist():
        who = graph.ids[pairs.src[[k]]], graph.ids[pairs.dst[[k]]]
        by_then, by_end = (
            desk.probability_within(*who, float(days[k]), at=pairs.at[[k]])[0] for days in (pairs.wait, pairs.left)
        )
        assert reached[k] == pytest.approx(by_then / by_end)
    said = ask_within(law, asked, graph, lambda *_: None)
    assert said.shape == (len(asked), 4)


def test_first_targets_are_asked_for_right_before():
    graph = forum()
    moments = []

    class Ranker:
        name = "ranker"

        def rank(self, src, *, k, before, graph):
            moments.append((int(src), before))
            return [(graph.ids[0], 0.5), (graph.ids[1], 0.25)]

    asked = within_questions(graph, tadge.split_by_time(graph), 0)
    said, true = ask_first_targets(Ranker(), asked, graph, lambda *_: None)
    assert moments == [(int(graph.src[event]), float(graph.time[event])) for event in asked.ranked]
    assert np.array_equal(said[:, :2], np.tile([0.5, 0.25], (asked.ranked.size, 1)))
    assert np.isnan(said[:, 2:]).all()
    assert np.array_equal(true[:, 0], graph.dst[asked.ranked] == 0)
    first = {}
    for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        first.setdefault(u, t)
        first.setdefault(v, t)
    assert all(first[int(graph.dst[event])] < graph.time[event] for event in asked.ranked)
