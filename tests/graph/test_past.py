"""As-of look-ups, against plain loops over the events."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import given
from hypothesis import strategies as st

from tadge.graph.past import ANSWER, FIRST_CONTACT, REPEAT, UNSEEN, first_links_of, past_of


def rows_of(graph):
    """Events with their ToE, in both directions where the graph has none."""
    rows = []
    back = graph.toe if graph.toe_reverse is None else graph.toe_reverse
    for u, v, t, toe, other in zip(
        *(c.tolist() for c in (graph.src, graph.dst, graph.time, graph.toe, back)), strict=True
    ):
        rows.append((u, v, t, toe))
        if not graph.directed and u != v:
            rows.append((v, u, t, other))
    return rows


@st.composite
def questions(draw):
    """A graph (or a view of one), nodes and moments: at events, between them, beyond them."""
    graph = draw(graphs(max_events=30))
    times = [*graph.time.tolist(), graph.time[0] - 1, graph.time[-1] + 1, graph.time[0] + 0.5, math.inf]
    times += np.nextafter(graph.time, -np.inf).tolist()
    if draw(st.booleans()):
        graph = graph.before(draw(st.sampled_from(times)))
    asked = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from(times)), max_size=20))
    src, dst = (np.array([one[k] for one in asked], np.int64) for k in (0, 1))
    return graph, src, dst, np.array([one[2] for one in asked], np.float64)


def last(times):
    return max(times, default=-math.inf)


@given(questions())
def test_every_look_up_is_that_of_a_plain_loop(asked):
    graph, src, dst, at = asked
    found, rows = past_of(graph), rows_of(graph)
    for q, (u, v, now) in enumerate(zip(src.tolist(), dst.tolist(), at.tolist(), strict=True)):
        past = [row for row in rows if row[2] <= now]
        links = [t for a, b, t, _ in past if (a, b) == (u, v)]
        acts = [t for a, _, t, _ in past if a == u]
        received = [t for _, b, t, _ in past if b == v]
        seen = [t for a, b, t, _ in past if u in (a, b)]
        assert found.last_link(src, dst, at)[q] == last(links)
        assert found.count_links(src, dst, at)[q] == len(links)
        assert found.last_outgoing(src, at)[q] == last(acts)
        assert found.count_outgoing(src, at)[q] == len(acts)
        assert found.last_incoming(dst, at)[q] == last(received)
        assert found.count_incoming(dst, at)[q] == len(received)
        assert found.last_seen(src, at)[q] == last(seen)
        if now < math.inf:
            plain = sum(math.exp(-(now - t) / 2.5) for t in received)
            assert found.decayed_incoming(dst, at, 2.5)[q] == pytest.approx(plain, rel=1e-12, abs=1e-300)
        seen_u = any(u in row[:2] for row in past)
        kind = REPEAT if links else ANSWER if any(row[:2] == (v, u) for row in past) else None
        kind = kind if kind is not None else FIRST_CONTACT if seen_u else UNSEEN
        assert found.kinds(src, dst, at)[q] == kind
        ever = {frozenset(row[:2]) for row in rows}
        assert found.ever_linked(u, v) == (frozenset((u, v)) in ever or u == v)
    values = found.by_reading(graph.toe, graph.toe if graph.directed else graph.toe_reverse)
    for lists, mine, theirs in ((found.outgoing, 0, 1), (found.incoming, 1, 0)):
        for node in range(6):
            place = slice(lists.start[node], lists.start[node + 1])
            expected = [(row[theirs], row[2], row[3]) for row in rows if row[mine] == node]
            held = np.c_[lists.other[place], lists.time[place], values[lists.reading[place]]]
            np.testing.assert_array_equal(held, np.reshape(expected, (-1, 3)))
    first = [min((t for a, b, t, _ in rows if node in (a, b)), default=math.inf) for node in range(6)]
    assert found.first.tolist() == first


@given(questions(), st.floats(0.1, 100))
def test_what_is_later_changes_nothing(asked, days):
    """Bit for bit: the look-ups of a graph are those of the same graph cut right after the moment."""
    graph, src, dst, at = asked
    whole = past_of(graph)
    for now in set(at.tolist()):
        cut = past_of(graph.before(np.nextafter(now, np.inf)))
        for name in ("count_outgoing", "count_incoming", "last_outgoing", "last_incoming", "last_seen"):
            assert np.array_equal(getattr(whole, name)(dst, now), getattr(cut, name)(dst, now))
        for name in ("last_link", "count_links"):
            assert np.array_equal(getattr(whole, name)(src, dst, now), getattr(cut, name)(src, dst, now))
        assert whole.decayed_incoming(dst, now, days).tobytes() == cut.decayed_incoming(dst, now, days).tobytes()


@pytest.mark.parametrize("directed", [True, False])
def test_a_larger_graph(directed):
    """Counts of all pairs at once are those of a matrix that is filled event by event."""
    graph = random_graph(directed=directed)
    found = past_of(graph)
    links = np.zeros((graph.num_nodes, graph.num_nodes), np.int64)
    src, dst = np.divmod(np.arange(graph.num_nodes**2), graph.num_nodes)
    rows = rows_of(graph)
    for k, (u, v, t, _) in enumerate(rows):
        links[u, v] += 1
        if k % 97 == 0 and (k + 1 == len(rows) or rows[k + 1][2] > t):
            assert np.array_equal(found.count_links(src, dst, t), links.ravel())
            assert np.array_equal(found.count_outgoing(np.arange(graph.num_nodes), t), links.sum(1))
            assert np.array_equal(found.count_incoming(np.arange(graph.num_nodes), t), links.sum(0))
    assert found.pairs.target.size == np.count_nonzero(links)


def test_a_past_is_made_once_and_goes_with_its_graph():
    graph = random_graph()
    assert past_of(graph) is past_of(graph)
    with pytest.raises(ValueError, match="read-only"):
        past_of(graph).outgoing.time[0] = 1.0
    gone = weakref.ref(past_of(graph))
    del graph
    gc.collect()
    assert gone() is None


@given(graphs(max_events=30))
def test_first_links_stand_in_order_of_the_first_time(graph):
    found, targets, place = first_links_of(graph), {}, []
    for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        targets.setdefault(u, {}).setdefault(v, t)
        if not graph.directed:
            targets.setdefault(v, {}).setdefault(u, t)
        place.append(list(targets[u]).index(v))
    assert found.place.tolist() == place
    for node in range(graph.num_nodes):
        own = slice(found.start[node], found.start[node + 1])
        assert dict(zip(found.target[own].tolist(), found.since[own].tolist(), strict=True)) == targets.get(node, {})
        assert found.target[own].tolist() == list(targets.get(node, {}))


def test_an_empty_view():
    graph = random_graph()
    found = past_of(graph.before(graph.time[0]))
    nodes = np.arange(graph.num_nodes)
    assert (found.count_links(nodes, nodes, np.inf) == 0).all()
    assert (found.last_seen(nodes, np.inf) == -np.inf).all()
    assert (found.decayed_incoming(nodes, 0.0, 1.0) == 0).all()
    assert (found.first == np.inf).all()
