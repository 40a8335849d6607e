"""The columns for ToE alone, against a plain loop over the events at or before the moment."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from futures import all_kinds, other_futures
from small import forum
from tadge.arrays import NodeNumbers
from tadge.features.columns import TIMING_COLUMNS, TOE_COLUMNS
from tadge.features.link_columns import LINK_WIDTH, link_columns
from tadge.features.tables import Scales, make_tables, marks_of, tables_of
from tadge.features.toe_columns import TOE_WIDTH, toe_columns
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of

SCALES = Scales(0.01, (0.3, 1.0, 5.0, 40.0))


def weighted(graph, seed=0):
    """Give events weights, some of them negative."""
    return replace(graph, weight=np.random.default_rng(seed).integers(-3, 8, graph.num_events).astype(float))


def rows_of(graph):
    """Events (src, dst, time, weight, squashed ToE, when the target had joined), in both directions where there are."""
    rows = []
    weight = np.zeros(graph.num_events) if graph.weight is None else graph.weight
    for u, v, t, w in zip(*(each.tolist() for each in (graph.src, graph.dst, graph.time, weight)), strict=True):
        for src, dst in [(u, v)] if graph.directed or u == v else [(u, v), (v, u)]:
            joined = max((each for each in graph.tov(NodeNumbers(dst)).tolist() if each < t), default=None)
            toe = None if joined is None else 2 * math.atan(t - joined) / math.pi
            rows.append((src, dst, t, w, toe, joined))
    return rows


class Plain:
    """What is known of pairs as of a moment, by name, from the list of events."""

    def __init__(self, graph, scales, now):
        self.scales, self.now = scales, now
        self.rows = [row for row in rows_of(graph) if row[2] <= now]

    def kind(self, u, v, at):
        met = {row[:2] for row in self.rows if row[2] <= at}
        seen = any(u in pair for pair in met)
        return 0 if (u, v) in met else 1 if (v, u) in met else 2 if seen else 3

    def acts(self, node):
        return [row for row in self.rows if row[0] == node]

    def links(self, node):
        return [row for row in self.rows if row[1] == node]

    def mean(self, rows, kind):
        toe = [row[4] for row in rows if row[4] is not None and self.kind(row[0], row[1], row[5]) == kind]
        return (sum(toe) + 1) / (len(toe) + 2)

    def gaps(self, rows):
        times = [row[2] for row in rows][-11:]
        gaps = sorted(b - a for a, b in itertools.pairwise(times))
        if not gaps:
            return 20.0, 0.5
        squashed = sum(2 * math.atan(gap) / math.pi for gap in gaps)
        return math.log(1 + gaps[3 * len(gaps) // 4] / self.scales.log_unit_days), (squashed + 1) / (len(gaps) + 2)

    def targets(self, u, v):
        """Who v acted on, the latest first; each once."""
        latest, first_seen = list(reversed(self.acts(v)))[:64], {}
        for place, row in enumerate(latest):
            first_seen.setdefault(row[1], (place, row[2]))
        day = self.scales.decay_days[1]
        answered = {w: max((t for a, b, t, *_ in self.rows if (a, b) == (w, v)), default=-math.inf) for w in first_seen}
        return {
            "dst acted on src within a day": any(row[1] == u and self.now - row[2] <= day for row in latest),
            "targets of dst within a day": sum(self.now - t <= day for _, t in first_seen.values()),
            "place of src among the targets of dst": list(first_seen).index(u) if u in first_seen else 99,
            "targets of dst that have not answered": sum(
                place < 16 and answered[w] <= t for w, (place, t) in first_seen.items()
            ),
        }

    def last_target(self, v):
        acts = self.acts(v)
        found = {}
        for name, role in (("acts of", self.acts), ("links to", self.links)):
            rows = role(acts[-1][1]) if acts else []
            toe = [row[4] for row in rows if row[4] is not None]
            found |= {
                f"{name} dst's last target": math.log(1 + len(rows)),
                f"mean ToE of {name} dst's last target": (sum(toe) + 1.5) / (len(toe) + 3),
            }
        return found

    def columns(self, u, v):
        kind, sides = self.kind(u, v, self.now), {"gave": self.acts, "got": self.links}
        found = {"weight of dst's last act": self.acts(v)[-1][3] if self.acts(v) else 0.0, "kind of edge": kind}
        for name, ends in (("dst to src", (v, u)), ("src to dst", (u, v))):
            weights = [row[3] for row in self.rows if row[:2] == ends]
            found[f"weight of the last {name}"] = weights[-1] if weights else 0.0
        for end, node in (("src", u), ("dst", v)):
            for name, role in sides.items():
                found[f"negative weights {end} {name}"] = sum(row[3] < 0 for row in role(node)) / (len(role(node)) + 2)
        found["long gaps of dst's acts"], found["mean gap of dst's acts"] = self.gaps(self.acts(v))
        found["long gaps of links to dst"], found["mean gap of links to dst"] = self.gaps(self.links(v))
        found["mean ToE of links to dst of this kind"] = self.mean(self.links(v), kind)
        found["mean ToE of acts of src of this kind"] = self.mean(self.acts(u), kind)
        found["mean ToE of answers to dst"] = self.mean(self.links(v), 1)
        found["mean ToE of answers of src"] = self.mean(self.acts(u), 1)
        return found | self.targets(u, v) | self.last_target(v)


def assert_plain(graph, src, dst, at, scales=SCALES):
    found = toe_columns(tables_of(graph, scales), src, dst, at)
    assert found.shape == (src.size, TOE_WIDTH)
    assert found[:, :LINK_WIDTH].tobytes() == link_columns(tables_of(graph, scales), src, dst, at).tobytes()
    for row, u, v, now in zip(found[:, LINK_WIDTH:], src.tolist(), dst.tolist(), at.tolist(), strict=True):
        expected = Plain(graph, scales, now).columns(u, v)
        assert sorted(expected) == sorted(TIMING_COLUMNS)
        for name, value in zip(TIMING_COLUMNS, row.tolist(), strict=True):
            assert value == pytest.approx(float(expected[name]), rel=1e-5, abs=1e-6), (name, u, v, now)


@st.composite
def questions(draw):
    """A graph, with weights or without, and pairs of any nodes at events, between them and beyond them."""
    graph = draw(all_kinds())
    if draw(st.booleans()):
        graph = weighted(graph, draw(st.integers(0, 9)))
    times = [-1.0, 0.5, 4.25, 13.0, 1000.0, *graph.time.tolist(), *np.nextafter(graph.time, -np.inf).tolist()]
    node = st.integers(0, graph.num_nodes - 1)
    asked = draw(st.lists(st.tuples(node, node, st.sampled_from(times)), min_size=1, max_size=8))
    src, dst = (np.array([one[k] for one in asked], np.int64) for k in (0, 1))
    return graph, src, dst, np.array([one[2] for one in asked])


@settings(max_examples=150)
@given(questions())
def test_every_column_is_that_of_a_plain_loop(asked):
    assert_plain(*asked)


@pytest.mark.parametrize("directed", [True, False])
def test_a_busy_target_is_looked_through_in_part(directed):
    """More acts than are looked through, more gaps and more targets than are asked about."""
    rng = np.random.default_rng(3)
    src, dst = np.where(rng.random(300) < 0.5, 0, rng.integers(1, 9, 300)), rng.integers(0, 90, 300)
    time = np.round(np.sort(rng.uniform(0, 30, 300)), 2)
    weight = rng.integers(-5, 5, 300)
    graph = TemporalGraph.from_arrays(src, dst, time, weight, unit="days", directed=directed, ids=range(90))
    asked = np.arange(40) % 90, np.where(np.arange(40) % 3, 0, np.arange(40) % 9), rng.choice(graph.time, 40)
    assert_plain(graph, *asked)


def test_names_are_of_their_own():
    assert len(set(TOE_COLUMNS)) == TOE_WIDTH


@settings(deadline=None)
@given(questions(), st.integers(0, 1000))
def test_what_is_later_changes_no_bit(asked, seed):
    graph, src, dst, at = asked
    for now in np.unique(at):
        moments, known = np.full(src.size, now), int(np.searchsorted(graph.time, now, side="right"))
        expected = toe_columns(tables_of(graph, SCALES), src, dst, moments).tobytes()
        for other in other_futures(graph, now, np.random.default_rng(seed)):
            if graph.weight is not None:
                later = np.random.default_rng(seed).normal(size=other.num_events - known)
                other = replace(other, weight=np.append(graph.weight[:known], later))  # noqa: PLW2901
            assert toe_columns(tables_of(other, SCALES), src, dst, moments).tobytes() == expected


def test_threads_change_nothing():
    graph, rng = weighted(forum()), np.random.default_rng(1)
    count = 20_000  # more than one piece of work
    asked = (
        rng.integers(0, graph.num_nodes, count),
        rng.integers(0, graph.num_nodes, count),
        rng.choice(graph.time, count),
    )
    tables = tables_of(graph, SCALES)
    assert toe_columns(tables, *asked, 3).tobytes() == toe_columns(tables, *asked).tobytes()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("factor", [0.25, 0.5, 2.0, 4.0])
def test_rescaled_columns_have_the_bits_of_a_rescaled_graph(directed, factor):
    """Times that are multiplied by a power of two lose no bit, so neither does what is made from them."""
    graph, rng, scales = weighted(forum(directed=directed)), np.random.default_rng(2), SCALES
    src, dst = rng.integers(0, graph.num_nodes, (2, 500))
    at = rng.choice(graph.time, 500)
    times = {"time": factor * graph.time, "toe": factor * graph.toe, "tov_times": factor * graph.tov_times}
    expected = toe_columns(tables_of(replace(graph, **times), scales), src, dst, factor * at)
    assert toe_columns(make_tables(graph, scales.rescaled(factor)), src, dst, at).tobytes() == expected.tobytes()
    assert toe_columns(tables_of(graph, scales), src, dst, at).tobytes() != expected.tobytes()


def test_kinds_of_a_part_whose_targets_joined_before_it():
    """A part keeps the ToE of its events although it has lost when their targets joined: their sources count as new."""
    part = forum().between(float(forum().time[400]), np.inf)
    joined = marks_of(part)[~np.isnan(part.toe)] & 7
    assert set(joined.tolist()) == {0, 1, 2, 3}
    assert (marks_of(part)[np.isnan(part.toe)] & 7 == 4).all()
    rng = np.random.default_rng(5)
    src, dst, at = rng.integers(0, part.num_nodes, 20), rng.integers(0, part.num_nodes, 20), rng.choice(part.time, 20)
    assert np.isfinite(toe_columns(tables_of(part, SCALES), src, dst, at)).all()


@given(all_kinds())
def test_values_of_readings_stand_where_the_past_looks_for_them(graph):
    past = past_of(graph)
    forth, back = np.arange(graph.num_events) + 0.25, np.arange(graph.num_events) + 0.75
    rows = []
    for k, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        rows.append((u, v, forth[k]))
        if not graph.directed and u != v:
            rows.append((v, u, back[k]))
    values = past.by_reading(forth, back)
    assert values[past.outgoing.reading].tolist() == [row[2] for row in sorted(rows, key=lambda row: row[0])]
    assert values[past.incoming.reading].tolist() == [row[2] for row in sorted(rows, key=lambda row: row[1])]
    assert values[past.pairs.reading].tolist() == [row[2] for row in sorted(rows, key=lambda row: row[:2])]
