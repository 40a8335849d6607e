"""Rules for links, against a literal replay of the events, one instant after the other."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given
from hypothesis import strategies as st

from tadge.baselines import BASELINES, make
from tadge.baselines.links import SPANS, LinkRule
from tadge.graph import TemporalGraph
from tadge.validation import mean_reciprocal_rank

NEVER = -math.inf
DAYS = 2.5
SUMS = ("own recency + decayed popularity", "co-visitation")


class Replay:
    """What a watcher of the events knows, and how each rule orders targets by it: larger tuples first."""

    def __init__(self, directed):
        self.directed = directed
        self.link = defaultdict(lambda: NEVER)
        self.target = defaultdict(lambda: NEVER)
        self.seen = defaultdict(lambda: NEVER)
        self.received = defaultdict(list)
        self.targets, self.sources = defaultdict(list), defaultdict(list)

    def happen(self, u, v, t):
        for one, other in [(u, v)] if self.directed or u == v else [(u, v), (v, u)]:
            self.link[one, other] = self.target[other] = t
            self.received[other].append(t)
            self.targets[one].append(other)
            self.sources[other].append(one)
        self.seen[u] = self.seen[v] = t

    def shared(self, u, v):
        """Count who chose the same, with the latest of a list as 1, the one before as 1/2, and so on."""
        found = 0.0
        for i, item in enumerate(self.targets[u][:-17:-1], 1):
            for j, person in enumerate(self.sources[item][:-17:-1], 1):
                for k, other in enumerate(self.targets[person][:-17:-1], 1):
                    found += (other == v) / (i * j * k)
        return found

    def key(self, name, u, v, now):
        own, back, popular = self.link[u, v], self.link[v, u], len(self.received[v])
        if name in ("last act", "last act + last seen"):
            if back > own:
                return (2, back)
            return (1, own) if own > NEVER else (0, self.target[v] if name == "last act" else self.seen[v])
        if name == "own recency + decayed popularity":
            faded = sum(math.exp((t - now) / DAYS) for t in self.received[v])
            return (1, own) if own > NEVER else (0, faded)
        return {
            "EdgeBank": (own > NEVER,),
            "popularity": (popular,),
            "own recency": (own,),
            "global recency": (self.target[v],),
            "last seen": (self.seen[v],),
            "last seen (former targets last)": (own == NEVER, self.seen[v]),
            "reverse recency": (back,),
            "own + reverse recency": (max(own, back),),
            "co-visitation": (self.shared(u, v),),
            "reverse + popularity": (back > NEVER, popular),
        }[name]


RULES = [name for name, each in BASELINES.items() if issubclass(each, LinkRule)]


def test_all_rules_are_replayed():
    assert len(RULES) == 13
    for name in RULES:
        Replay(True).key(name, 0, 1, 2.0)


@pytest.mark.parametrize("name", RULES)
@given(graph=graphs(max_events=25))
def test_a_rule_orders_targets_as_the_replay_does(name, graph):
    rule, replay = make(name).fit(graph), Replay(graph.directed)
    if hasattr(rule, "days_"):
        rule.days_ = DAYS
    if hasattr(rule, "former_last_"):
        rule.former_last_ = True
    nodes = np.arange(graph.num_nodes)
    rows = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
    for t in sorted(set(graph.time.tolist())):
        now = float(np.nextafter(t, -np.inf))
        for u in range(graph.num_nodes):
            scores = rule.score_links(np.full(nodes.size, u), nodes, np.full(nodes.size, now), graph=graph)
            keys = [replay.key(name, u, v, now) for v in range(graph.num_nodes)]
            for a in nodes:
                for b in nodes:
                    if name in SUMS and abs(scores[a] - scores[b]) < 1e-8:
                        continue  # sums of another order may differ in their last digits
                    assert (scores[a] > scores[b]) == (keys[a] > keys[b])
            assert np.isfinite(scores).all()
        for row in rows:
            if row[2] == t:
                replay.happen(*row)


@given(graphs(max_events=25), st.sampled_from([0.3, 2.5, 40.0]))
def test_faded_popularity_is_a_plain_sum(graph, days):
    rule = make("own recency + decayed popularity").fit(graph)
    rule.days_ = days
    at = float(graph.time[-1])
    for u in range(6):
        scores = rule.score_links(np.full(6, u), np.arange(6), np.full(6, at), graph=graph)
        for v in range(6):
            both = [(u, v)] if graph.directed else [(u, v), (v, u)]
            rows = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True))
            own = [t for a, b, t in rows if (a, b) in both]
            received = [t for a, b, t in rows if b == v or (not graph.directed and a == v)]
            faded = sum(math.exp((t - at) / days) for t in received)
            expected = 1 + 1 / (1 + at - max(own)) if own else faded / (1 + faded)
            assert scores[v] == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_the_decay_is_chosen_on_what_fit_is_given():
    """Targets come in fashion for a day: what fades fast is best, and the choice is the best of all by brute force."""
    rng = np.random.default_rng(0)
    day = np.sort(rng.uniform(0, 300, 6_000))
    dst = np.where(rng.random(day.size) < 0.8, (day.astype(np.int64) * 7) % 40, rng.integers(0, 40, day.size))
    graph = TemporalGraph.from_arrays(np.arange(day.size) + 40, dst, day, unit="days", ids=range(day.size + 40))
    rule = make("own recency + decayed popularity", 3).fit(graph)
    assert rule.days_ < 3
    assert rule.days_ in [(graph.time[-1] - graph.time[0]) / part for part in SPANS]
    assert make("own recency + decayed popularity", 3).fit(graph).days_ == rule.days_
    late = graph.time[-1] + 100  # what comes later is not looked at
    longer = TemporalGraph.from_arrays(
        *(np.append(graph.src, 0), np.append(graph.dst, 1), np.append(graph.time, late)),
        **{"unit": "days", "ids": graph.ids},
    )
    assert make("own recency + decayed popularity", 3).fit(longer.before(late)).days_ == rule.days_


def test_too_little_to_choose_from():
    graph = random_graph()
    empty = make("own recency + decayed popularity").fit(graph.before(graph.time[0]))
    assert empty.days_ == 1.0
    nodes = np.arange(4)
    assert (empty.score_links(nodes, nodes, np.zeros(4), graph=graph.before(graph.time[0])) == 0).all()


def test_ties_share_the_mean_rank():
    scores = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    assert mean_reciprocal_rank(scores) == pytest.approx((1 / 2 + 1 + 1 / 2.5) / 3)


# -- former targets ---------------------------------------------------------------------------------------------------


def choosing(repeats, seed=0):
    """Sources choose among forty targets: hardly ever one they had, or nearly always."""
    rng = np.random.default_rng(seed)
    src = rng.integers(40, 140, 3_000)
    dst, had = np.empty(src.size, np.int64), defaultdict(list)
    for k, u in enumerate(src.tolist()):
        new = [v for v in range(40) if v not in had[u]]
        dst[k] = rng.choice(had[u]) if had[u] and (rng.random() < repeats or not new) else rng.choice(new)
        had[u].append(dst[k])
    return TemporalGraph.from_arrays(src, dst, np.arange(src.size, dtype=float), unit="days", ids=range(140))


@pytest.mark.parametrize("repeats", [0.0, 0.9])
def test_former_targets_are_last_where_hardly_any_pair_repeats(repeats):
    graph = choosing(repeats)
    rule = make("last seen (former targets last)", 1).fit(graph.before(graph.time[2_000]))
    assert rule.former_last_ == (repeats == 0.0)
    nodes, at = np.arange(40), np.full(40, graph.time[-1])
    scores = rule.score_links(np.full(40, 50), nodes, at, graph=graph)
    plain = make("last seen").score_links(np.full(40, 50), nodes, at, graph=graph)
    former = np.isin(nodes, graph.dst[graph.src == 50])
    assert 0 < former.sum() < 40
    if repeats:
        assert (scores == plain).all()
    else:
        assert scores[former].max() < scores[~former].min()
        assert (scores[~former] == plain[~former]).all()


def test_nothing_to_choose_from_leaves_former_targets_where_they_are():
    graph = random_graph()
    assert not make("last seen (former targets last)").fit(graph.before(graph.time[0])).former_last_


# -- who chose the same -----------------------------------------------------------------------------------------------


def test_co_visitation_is_the_same_in_any_order_of_questions_and_bounded():
    """Questions of one source share a count; each is answered as if it stood alone."""
    rng = np.random.default_rng(0)
    graph = random_graph(num_nodes=20, num_events=900)
    replay, rule = Replay(True), make("co-visitation")
    src, dst = rng.integers(0, 20, (2, 300))
    at = rng.choice(graph.time[400:402], 300)
    together = rule.score_links(src, dst, at, graph=graph)
    order = np.lexsort((at, src))
    assert np.array_equal(rule.score_links(src[order], dst[order], at[order], graph=graph), together[order])
    alone = [rule.score_links(src[k : k + 1], dst[k : k + 1], at[k : k + 1], graph=graph)[0] for k in range(300)]
    assert np.array_equal(alone, together)
    last = float(graph.time[-1])
    for row in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        replay.happen(*row)
    assert max(len(some) for some in replay.targets.values()) > 300  # far more than are looked at
    nodes = np.arange(20)
    scores = rule.score_links(np.ones(20, int), nodes, np.full(20, last), graph=graph)
    counts = np.array([replay.shared(1, v) for v in nodes])
    assert np.allclose(scores, counts / (1 + counts))
