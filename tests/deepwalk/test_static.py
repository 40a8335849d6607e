"""Walks over the static graph against exact probabilities, and random rows."""

from __future__ import annotations

import itertools

import numpy as np
from exact import chi_square_p
from hypothesis import given
from hypothesis import strategies as st

from tadge.deepwalk.static import (
    biased_walks,
    linked,
    neighbour_lists,
    normal_rows,
    shuffle,
    uniform_rows,
    uniform_walks,
)
from tadge.seeding import stream

KEY = stream(0, "test")
# a triangle, a square that shares a side with it, a tail, and a node alone
ENDS = [(0, 1), (0, 2), (1, 2), (1, 3), (3, 4), (2, 4), (4, 5), (5, 6)]
NODES = 8


def lists(ends=ENDS, num_nodes=NODES):
    return neighbour_lists(np.array(sorted(u << 32 | v for u, v in ends), np.uint64), num_nodes)


def sets(ends=ENDS):
    found = {}
    for u, v in ends:
        found.setdefault(u, set()).add(v)
        found.setdefault(v, set()).add(u)
    return found


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda ends: ends[0] < ends[1])))
def test_lists_hold_every_neighbour_in_order(ends):
    start, neighbours = lists(ends, 10)
    expected = sets(ends)
    for v in range(10):
        assert neighbours[start[v] : start[v + 1]].tolist() == sorted(expected.get(v, set()))
    for u, v in itertools.product(range(10), repeat=2):
        assert linked(start, neighbours, u, v) == (v in expected.get(u, set()))


def walk(walker, begin, length, *bias, number=0):
    walks = np.empty((begin.size, length), np.int32)
    walker(*lists(), begin.astype(np.int32), KEY, number, *bias, walks)
    return walks


def test_walks_step_over_links_only():
    begin = np.tile(np.arange(7), 30)
    for walks in (walk(uniform_walks, begin, 12), walk(biased_walks, begin, 12, 1.0, 0.5)):
        assert np.array_equal(walks[:, 0], begin)
        neighbours = sets()
        assert all(v in neighbours[u] for row in walks.tolist() for u, v in itertools.pairwise(row))


def test_walks_do_not_depend_on_their_block():
    begin = np.arange(7)
    for walker, bias in ((uniform_walks, ()), (biased_walks, (1.0, 0.5))):
        whole = walk(walker, begin, 9, *bias, number=5)
        parts = [walk(walker, begin[:3], 9, *bias, number=5), walk(walker, begin[3:], 9, *bias, number=8)]
        assert np.array_equal(whole, np.concatenate(parts))


def test_uniform_steps_are_uniform():
    walks = walk(uniform_walks, np.full(3_000, 1), 6)
    for v, neighbours in sets().items():
        to = walks[:, 1:][walks[:, :-1] == v]
        counts = [np.count_nonzero(to == u) for u in sorted(neighbours)]
        assert chi_square_p(counts, np.full(len(counts), 1 / len(counts))) > 0.001


def test_biased_steps_have_their_exact_probabilities():
    for p, q in ((1.0, 0.5), (0.25, 4.0), (4.0, 1.0), (1.0, 1.0)):
        walks = walk(biased_walks, np.tile(np.arange(7), 1_500), 8, p, q)
        neighbours = sets()
        triples = np.stack([walks[:, :-2], walks[:, 1:-1], walks[:, 2:]], axis=2).reshape(-1, 3)
        for u, v in [(0, 1), (1, 2), (2, 4), (3, 4), (4, 5), (6, 5), (2, 1)]:
            after = sorted(neighbours[v])
            weight = np.array([1 / p if x == u else 1.0 if x in neighbours[u] else 1 / q for x in after])
            to = triples[(triples[:, 0] == u) & (triples[:, 1] == v), 2]
            assert to.size > 300
            counts = [np.count_nonzero(to == x) for x in after]
            assert chi_square_p(counts, weight / weight.sum()) > 0.001, (p, q, u, v)


def test_orders_are_random_and_whole():
    seen = np.zeros((5, 5))
    for k in range(2_000):
        nodes = np.arange(5, dtype=np.int32)
        shuffle(nodes, stream(k, "order"))
        assert sorted(nodes.tolist()) == [0, 1, 2, 3, 4]
        seen[np.arange(5), nodes] += 1
    assert all(chi_square_p(row, np.full(5, 0.2)) > 0.001 for row in seen)


def test_rows_depend_on_their_number_alone():
    for fill in (lambda rows: normal_rows(KEY, 1.0, rows), lambda rows: uniform_rows(KEY, 1.0, rows)):
        few, many = np.zeros((4, 7), np.float32), np.zeros((50, 7), np.float32)
        fill(few)
        fill(many)
        assert np.array_equal(few, many[:4])


def test_normal_rows_are_normal():
    rows = np.empty((4_000, 5), np.float32)
    normal_rows(KEY, 0.5, rows)
    assert np.isfinite(rows).all()
    for column in rows.T / 0.5:
        inside = [np.count_nonzero((column > low) & (column <= low + 0.5)) for low in np.arange(-2, 2, 0.5)]
        edges = np.array([0.0227501, 0.0668072, 0.1586553, 0.3085375, 0.5, 0.6914625, 0.8413447, 0.9331928, 0.9772499])
        rest = column.size - sum(inside)
        assert chi_square_p([*inside, rest], np.append(np.diff(edges), 1 - edges[-1] + edges[0])) > 0.001
    assert np.abs(np.corrcoef(rows.T) - np.eye(5)).max() < 0.06


def test_uniform_rows_are_uniform():
    rows = np.zeros((300, 9), np.float32)
    uniform_rows(KEY, 0.25, rows)
    assert 0.24 < rows.max() <= 0.25
    assert abs(rows.mean()) < 0.01
    assert abs(rows.std() - 0.25 / 3**0.5) < 0.01
