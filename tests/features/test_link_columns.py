"""The columns of pairs, against a plain loop over the events at or before the moment."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest
from graphs import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from futures import all_kinds, other_futures, random_ends, with_events
from small import forum
from tadge.errors import ConfigError
from tadge.features import link_columns as kernels
from tadge.features.columns import LINK_COLUMNS, PAIR_COLUMNS, TOE_COLUMNS, columns_left_out
from tadge.features.link_columns import LINK_WIDTH, NODE_WIDTH, link_columns
from tadge.features.tables import Scales, tables_of
from tadge.graph import TemporalGraph

SCALES = Scales(0.01, (0.3, 1.0, 5.0, 40.0))


def rows_of(graph):
    """Events (src, dst, time, squashed ToE or None), in both directions where the graph has none."""
    rows = []
    back = graph.toe if graph.directed else graph.toe_reverse
    columns = (graph.src, graph.dst, graph.time, graph.toe, back)
    for u, v, t, forth, reverse in zip(*(each.tolist() for each in columns), strict=True):
        rows.append((u, v, t, None if math.isnan(forth) else 2 * math.atan(forth) / math.pi))
        if not graph.directed and u != v:
            rows.append((v, u, t, None if math.isnan(reverse) else 2 * math.atan(reverse) / math.pi))
    return rows


def distinct(values):
    return list(dict.fromkeys(values))


class Plain:
    """All that is known of pairs as of a moment, by name, from the list of events."""

    def __init__(self, graph, scales, now):
        self.bipartite, self.scales, self.now = graph.num_sources > 0, scales, now
        self.rows = [row for row in rows_of(graph) if row[2] <= now]
        self.times = [t for t in graph.time.tolist() if t <= now]

    def ago(self, times):
        """Give the time since the last of them on the log scale."""
        return math.log(1 + (self.now - max(times)) / self.scales.log_unit_days) if times else 20.0

    def role(self, node, act):
        """What a node did, or what was done to it: (other, time, ToE, whether the pair had an earlier event)."""
        found = []
        for u, v, t, toe in self.rows:
            own, other = (u, v) if act else (v, u)
            if own == node:
                again = any((u, v) == (a, b) and before < t for a, b, before, _ in self.rows)
                found.append((other, t, toe, again))
        return found

    def side(self, node, act):
        mine = self.role(node, act)
        times, toe = [row[1] for row in mine], [row[2] for row in mine if row[2] is not None]
        gap = math.log(1 + (times[-1] - times[-2]) / self.scales.log_unit_days) if len(times) > 1 else 20.0
        since = [t for t in self.times if t > times[-1]] if times else []
        lately = [sum(math.exp(-(self.now - t) / days) for t in times) for days in self.scales.decay_days]
        return {
            "since": self.ago(times),
            "count": math.log(1 + len(mine)),
            "gap": gap,
            "mean": (sum(toe) + 1.5) / (len(toe) + 3),
            "last": mine[-1][2] if mine and mine[-1][2] is not None else 0.5,
            "again": (sum(row[3] for row in mine) + 0.5) / (len(mine) + 1),
            "events": math.log(1 + len(since)) if times else 20.0,
            "lately": [math.log(1 + 100 * each) for each in lately],
        }

    def node(self, node):
        acts, links = self.side(node, True), self.side(node, False)
        seen = [t for u, v, t, _ in self.rows if node in (u, v)]
        acted = max((t for u, _, t, _ in self.rows if u == node), default=-math.inf)
        found = {"age": math.log(1 + (self.now - min(seen)) / self.scales.log_unit_days) if seen else -1.0}
        found["links to it since it acted"] = math.log(1 + sum(v == node and t > acted for _, v, t, _ in self.rows))
        names = {"since": ("since it acted", "since it was linked to"), "count": ("acts", "links to it")}
        names |= {name: (f"{text} of acts", f"{text} of links to it") for name, text in TEXTS.items()}
        names |= {"again": ("repeated acts", "repeated links to it")}
        names |= {"events": ("events since it acted", "events since it was linked to")}
        for name, (of_acts, of_links) in names.items():
            found |= {of_acts: acts[name], of_links: links[name]}
        for k in range(4):
            found |= {f"acts lately ({k})": acts["lately"][k], f"links to it lately ({k})": links["lately"][k]}
        return found

    def pair(self, u, v):
        forth, back = ([t for a, b, t, _ in self.rows if (a, b) == pair] for pair in ((u, v), (v, u)))
        u_acts, u_links, v_acts, v_links = (
            [row[0] for row in reversed(self.role(node, act))][:16] for node in (u, v) for act in (True, False)
        )

        def place(node, others):
            return others.index(node) if node in others else 16

        def in_common(others):
            count = sum((each in v_acts) + (each in v_links) for each in others)
            return math.log(1 + count)

        common = self.three_steps(u, v) if self.bipartite else (in_common(u_acts), in_common(u_links))
        return {
            "since src to dst": self.ago(forth),
            "since dst to src": self.ago(back),
            "unanswered": max(back, default=-math.inf) > max(forth, default=-math.inf),
            "src to dst": math.log(1 + len(forth)),
            "dst to src": math.log(1 + len(back)),
            "dst last acted on src": v_acts[:1] == [u],
            "src last acted on dst": u_acts[:1] == [v],
            "dst last linked to by src": v_links[:1] == [u],
            "src last linked to by dst": u_links[:1] == [v],
            "dst in the acts of src": place(v, u_acts),
            "dst in the links to src": place(v, u_links),
            "src in the acts of dst": place(u, v_acts),
            "src in the links to dst": place(u, v_links),
            "others in common with the acts of src": common[0],
            "others in common with the links to src": common[1],
            **self.chosen_together(u, v),
        }

    def chosen_together(self, u, v):
        """How many sources chose v and a latest target of u: a first link counts, with the 8 targets before it."""
        pairs = []
        for source in {row[0] for row in self.rows}:
            targets = [row[0] for row in self.role(source, True)]
            for k, target in enumerate(targets):
                if target not in targets[:k]:
                    pairs += [{target, other} for other in distinct(reversed(targets[:k]))[:8]]
        sums = {"": 0.0, " beside popularity": 0.0, " likeliest": 0.0, " beyond chance": 0.0}
        latest = distinct([row[0] for row in reversed(self.role(u, True))][:32])[:16]
        to_v = len(self.role(v, False))
        for k, target in enumerate(latest):
            both, to_it = pairs.count({target, v}) if target != v else 0, len(self.role(target, False))
            sums[""] += both / (1 + k)
            sums[" beside popularity"] += both / math.sqrt((to_it + 3) * (to_v + 3))
            sums[" likeliest"] = max(sums[" likeliest"], both / (to_it + 5))
            sums[" beyond chance"] += math.log(1 + both * len(self.times) / (8 * (to_it + 1) * (to_v + 1)))
        compared = max(sum(target != v for target in latest), 1)
        found = {name: math.log(1 + factor * sums[name]) for name, factor in zip(sums, (1, 30, 100), strict=False)}
        found[" beyond chance"] = sums[" beyond chance"] / compared
        return {f"chosen together{name}": value for name, value in found.items()}

    def three_steps(self, u, v):
        """Ways u -> shared <- like -> v: how much they weigh, and how long the latest of them have taken."""
        ways = []
        for i, (shared, one, _, _) in enumerate(reversed(self.role(u, True)[-16:])):
            for j, (like, two, _, _) in enumerate(reversed(self.role(shared, False)[-16:])):
                for k, (target, three, _, _) in enumerate(reversed(self.role(like, True)[-16:])):
                    if like != u and target == v != shared:
                        ways.append((1 / ((1 + i) * (1 + j) * (1 + k)), min(one, two, three)))
        return math.log(1 + 10 * sum(weight for weight, _ in ways)), self.ago([oldest for _, oldest in ways])

    def columns(self, u, v):
        found = {f"src: {name}": value for name, value in self.node(u).items()}
        found |= {f"dst: {name}": value for name, value in self.node(v).items()}
        return found | self.pair(u, v)


TEXTS = {"gap": "last gap", "mean": "mean ToE", "last": "last ToE"}


def assert_plain(graph, src, dst, at, scales=SCALES):
    found = link_columns(tables_of(graph, scales), src, dst, at)
    assert found.shape == (src.size, LINK_WIDTH)
    assert found.dtype == np.float32
    for row, u, v, now in zip(found, src.tolist(), dst.tolist(), at.tolist(), strict=True):
        expected = Plain(graph, scales, now).columns(u, v)
        assert sorted(expected) == sorted(LINK_COLUMNS)
        for name, value in zip(LINK_COLUMNS, row.tolist(), strict=True):
            assert value == pytest.approx(float(expected[name]), rel=1e-6, abs=1e-6), (name, u, v, now)


@st.composite
def questions(draw, max_events=40):
    """A graph with pairs of any nodes, in either direction, at events, between them and beyond them."""
    graph = draw(all_kinds(max_events))
    times = [-1.0, 0.5, 4.25, 12.0, 13.0, 1000.0, *graph.time.tolist(), *np.nextafter(graph.time, -np.inf).tolist()]
    node = st.integers(0, graph.num_nodes - 1)
    asked = draw(st.lists(st.tuples(node, node, st.sampled_from(times)), min_size=1, max_size=8))
    src, dst = (np.array([one[k] for one in asked], np.int64) for k in (0, 1))
    return graph, src, dst, np.array([one[2] for one in asked])


@settings(max_examples=150)
@given(questions())
def test_every_column_is_that_of_a_plain_loop(asked):
    assert_plain(*asked)


@pytest.mark.parametrize("kind", ["directed", "undirected", "bipartite"])
def test_a_larger_graph(kind):
    """With a hub, so that only its latest events are looked through."""
    graph = random_graph(num_nodes=12, num_events=250, span=80, directed=kind != "undirected")
    if kind == "bipartite":
        columns = graph.src, graph.dst, graph.time
        graph = TemporalGraph.from_arrays(*columns, unit="days", bipartite=True, clock="unix")
    rng = np.random.default_rng(1)
    src, dst = random_ends(graph, 30, rng)
    src[:10] = graph.src[100]
    at = np.append(rng.choice(graph.time, 20), rng.uniform(graph.time[0], graph.time[-1] + 9, 10))
    assert_plain(graph, src, dst, at, Scales.of(graph))


def test_three_steps_lead_to_hundreds_of_targets():
    """So many that they meet in the table."""
    rng = np.random.default_rng(0)
    src, dst, time = rng.integers(0, 60, 3_000), rng.integers(100, 700, 3_000), np.sort(rng.uniform(0, 50, 3_000))
    graph = TemporalGraph.from_arrays(src, dst, time, unit="days", bipartite=True, clock="unix")
    targets, now, seen = np.arange(graph.num_sources, graph.num_nodes), 40.0, 0
    acts, links = {}, {}  # the latest first
    for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        if t <= now:
            acts.setdefault(u, []).insert(0, (v, t))
            links.setdefault(v, []).insert(0, (u, t))
    for u in range(3):
        weight, latest = {}, {}
        for i, (shared, one) in enumerate(acts[u][:16]):
            for j, (like, two) in enumerate(links[shared][:16]):
                for k, (target, three) in enumerate(acts[like][:16]):
                    if like != u and target != shared:
                        weight[target] = weight.get(target, 0) + 1 / ((1 + i) * (1 + j) * (1 + k))
                        latest[target] = max(latest.get(target, -math.inf), min(one, two, three))
        found = link_columns(tables_of(graph, SCALES), np.full(targets.size, u), targets, np.full(targets.size, now))
        expected = [(math.log(1 + 10 * weight.get(v, 0)), latest.get(v)) for v in targets.tolist()]
        expected = [(one, math.log(1 + (now - two) / SCALES.log_unit_days) if two else 20.0) for one, two in expected]
        common = [place for place, name in enumerate(LINK_COLUMNS) if name.startswith("others in common")]
        np.testing.assert_allclose(found[:, common], expected, rtol=1e-6)
        seen += len(weight)
    assert seen > 600


def test_columns_have_names_of_their_own():
    assert len(set(LINK_COLUMNS)) == LINK_WIDTH == 2 * NODE_WIDTH + len(PAIR_COLUMNS)


def test_columns_are_left_out_by_name():
    graph, rng = forum(), np.random.default_rng(4)
    asked = *random_ends(graph, 50, rng), rng.choice(graph.time, 50)
    names = "src: age, unanswered ,kind of edge"
    left_out = columns_left_out(names, LINK_COLUMNS)
    assert [LINK_COLUMNS[place] for place in left_out] == ["src: age", "unanswered"]
    assert columns_left_out(names, TOE_COLUMNS).size == 3
    assert columns_left_out("", TOE_COLUMNS).size == 0
    known = link_columns(tables_of(graph, SCALES), *asked)
    found = link_columns(tables_of(graph, SCALES), *asked, left_out=left_out)
    assert (found[:, left_out] == 0).all()
    rest = np.setdiff1d(np.arange(LINK_WIDTH), left_out)
    assert found[:, rest].tobytes() == known[:, rest].tobytes()
    with pytest.raises(ConfigError, match=r"unknown column.*did you mean 'src: age'"):
        columns_left_out("src: agee", LINK_COLUMNS)


# -- nothing of the future -------------------------------------------------------------------------------------------


@given(questions(), st.integers(0, 1000))
def test_what_is_later_changes_no_bit(asked, seed):
    graph, src, dst, at = asked
    rng = np.random.default_rng(seed)
    for now in np.unique(at):
        moments = np.full(src.size, now)
        expected = link_columns(tables_of(graph, SCALES), src, dst, moments)
        for other in other_futures(graph, now, rng):
            assert link_columns(tables_of(other, SCALES), src, dst, moments).tobytes() == expected.tobytes()


# -- the same in any way it is asked ---------------------------------------------------------------------------------


def many_questions(graph, count, rng):
    """Some with the same src and moment in a row, some with the same src or the same moment alone."""
    src, dst = random_ends(graph, count, rng)
    at = rng.choice(graph.time, count)
    again = rng.random((2, count)) < 0.7
    for k in range(1, count):
        src[k] = src[k - 1] if again[0, k] else src[k]
        at[k] = at[k - 1] if again[1, k] else at[k]
    return src, dst, at


@pytest.mark.parametrize("directed", [True, False])
def test_pairs_of_one_src_and_moment_are_as_each_alone(directed):
    graph, rng = forum(directed=directed), np.random.default_rng(0)
    known, asked = tables_of(graph, SCALES), many_questions(graph, 300, rng)
    together = link_columns(known, *asked)
    alone = [link_columns(known, *(each[k : k + 1] for each in asked)) for k in range(300)]
    assert together.tobytes() == np.concatenate(alone).tobytes()
    order = rng.permutation(300)
    assert link_columns(known, *(each[order] for each in asked)).tobytes() == together[order].tobytes()


def test_threads_and_pieces_change_nothing(monkeypatch):
    graph = forum()
    known, asked = tables_of(graph, SCALES), many_questions(graph, 500, np.random.default_rng(1))
    expected = link_columns(known, *asked).tobytes()
    for at_once in (1, 7, 499, 500):
        monkeypatch.setattr(kernels, "PIECE", at_once)
        for threads in (1, 2, 5):
            assert link_columns(known, *asked, threads).tobytes() == expected
    none = np.zeros(0, np.int64)
    for threads in (1, 3):
        assert link_columns(known, none, none, np.zeros(0), threads).shape == (0, LINK_WIDTH)


def test_a_graph_without_events_and_one_event():
    graph = TemporalGraph.from_arrays([0], [1], [5.0], unit="days", ids=range(3))
    nodes, other = np.array([0, 1, 2, 0]), np.array([1, 0, 1, 0])
    for each in (graph, graph.before(5.0), graph.before(0.0)):
        for at in (4.0, 5.0, 7.5):
            assert_plain(each, nodes, other, np.full(4, at))


def test_tables_are_made_once_and_go_with_their_graph():
    graph = with_events(forum(), forum().src, forum().dst, forum().time)
    assert tables_of(graph, SCALES) is tables_of(graph, SCALES)
    assert tables_of(graph, SCALES) is not tables_of(graph, Scales.of(graph))
    assert tables_of(graph, SCALES).pairs is tables_of(graph, Scales.of(graph)).pairs
    gone = weakref.ref(tables_of(graph, SCALES).toe)
    del graph
    gc.collect()
    assert gone() is None


# -- scales ------------------------------------------------------------------------------------------------------------


def spanning(days, first=100.0):
    return TemporalGraph.from_arrays([0, 1], [1, 0], [first, first + days], unit="days")


@pytest.mark.parametrize("days", [0.0, 10.0, 365.0, 10_000.0])
def test_ordinary_spans_have_an_hour_a_day_a_week_and_a_month(days):
    found = Scales.of(spanning(days))
    assert found.decay_days == pytest.approx((1 / 24, 1.0, 7.0, 30.0))
    assert found.log_unit_days == pytest.approx(8.64 / 86_400)  # some seconds


@pytest.mark.parametrize("days", [9.99, 1.0, 1e-5, 1e-9, 10_001.0, 1e6, 3e9])
def test_other_spans_have_parts_of_themselves(days):
    graph = spanning(days, first=0.0)
    found = Scales.of(graph)
    assert found.decay_days[1] == pytest.approx(days / 1000)
    ratios = np.array([found.log_unit_days, *found.decay_days]) / days
    assert ratios == pytest.approx(np.array([1e-4, 1 / 24, 1, 7, 30]) / 1000)
    columns = link_columns(tables_of(graph, found), np.array([0, 1]), np.array([1, 0]), np.full(2, days))
    assert np.isfinite(columns).all()
    assert columns.max() <= 20.0  # never is longest ago


@pytest.mark.parametrize("days", [1e-14, 1e-16, 1e-300, 1e-320, 5e-324])
def test_spans_of_next_to_nothing_have_scales(days):
    graph = spanning(days, first=0.0)
    found = Scales.of(graph)
    assert min(found.log_unit_days, *found.decay_days) > 0
    columns = link_columns(tables_of(graph, found), np.array([0, 1]), np.array([1, 0]), np.full(2, 1e9))
    assert np.isfinite(columns).all()


def test_an_empty_graph_has_scales():
    empty = TemporalGraph.from_arrays([], [], [], unit="days")
    assert Scales.of(empty) == Scales.of(spanning(100.0))
