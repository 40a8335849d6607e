"""Skip-gram against plain loops in double precision that draw the same random numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact import chi_square_p

from tadge import seeding
from tadge.deepwalk.skipgram import LAST_RATE, RATE, alias_table, draw_alias, sigmoid, train_links, train_walks
from tadge.seeding import stream

KEY = stream(0, "test")


def walk_key(key, walk):
    return np.uint64(seeding.walk_key(key, walk))


def draw(key, count):
    return np.uint64(seeding.draw(key, count))


def tables(num_nodes, dim, width, seed=0):
    """Two tables with columns of padding."""
    rng = np.random.default_rng(seed)
    pair = np.zeros((2, num_nodes, width), np.float32)
    pair[:, :, :dim] = rng.normal(0, 0.6, (2, num_nodes, dim))
    return pair[0].copy(), pair[1].copy()


def shares(table):
    """The exact probability of every node in an alias table."""
    size = table.size
    probability = np.zeros(size)
    for place, entry in enumerate(table.tolist()):
        kept = (entry >> 32) / 2**32
        probability[place] += kept / size
        probability[entry & 0xFFFFFFFF] += (1 - kept) / size
    return probability


def plain_pick(table, bits):
    bits = int(bits)
    place = ((bits >> 32) * table.size) >> 32
    entry = int(table[place])
    return place if bits & 0xFFFFFFFF < entry >> 32 else entry & 0xFFFFFFFF


def plain_pair(table, context, row, centre, negatives, rate):
    """Move along the gradient of log s(x c) + sum of log s(-x n); what comes twice counts twice."""
    x = table[row].copy()
    targets = [(centre, 1.0), *((v, 0.0) for v in negatives)]
    pulls = [rate * (label - 1 / (1 + math.exp(-float(x @ context[v])))) for v, label in targets]
    table[row] += sum(pull * context[target] for (target, _), pull in zip(targets, pulls, strict=True))
    for (target, _), pull in zip(targets, pulls, strict=True):
        context[target] += pull * x


def rate_at(done, total):
    return RATE + (LAST_RATE - RATE) * done / total


def plain_walks(table, context, walks, noise, number, total, window):
    for w, row in enumerate(walks.tolist()):
        key = walk_key(KEY, number + w)
        walk = row[: row.index(-1)] if -1 in row else row
        for i, centre in enumerate(walk):
            negatives = [plain_pick(noise, draw(key, 6 * i + k)) for k in range(1, 6)]
            negatives = [v for v in negatives if v != centre]
            reach = 1 + (((int(draw(key, 6 * i)) >> 32) * window) >> 32)
            for j in range(max(0, i - reach), min(len(walk), i + reach + 1)):
                if j != i:
                    plain_pair(table, context, walk[j], centre, negatives, rate_at(number + w, total))


@pytest.mark.parametrize("num_nodes, dim, width", [(2, 1, 16), (7, 16, 16), (40, 33, 48), (200, 128, 128)])
@pytest.mark.parametrize("window", [1, 5])
def test_walks_are_learned_as_plain_loops_do(num_nodes, dim, width, window):
    rng = np.random.default_rng(num_nodes)
    walks = rng.integers(0, num_nodes, (12, 11), dtype=np.int32)
    walks[3, 4:], walks[5, 0], walks[6, 1:] = -1, -1, -1
    noise = alias_table(rng.random(num_nodes) + 0.1)
    table, context = tables(num_nodes, dim, width)
    expected = [part[:, :dim].astype(np.float64) for part in (table, context)]
    plain_walks(*expected, walks, noise, 3, 30, window)
    train_walks(table, context, walks, noise, KEY, 3, 30, window)
    for found, right in zip((table, context), expected, strict=True):
        np.testing.assert_allclose(found[:, :dim], right, atol=2e-5)
        assert not found[:, dim:].any(), "padding stays empty"


def test_one_pair_moves_both_ends():
    table, context = tables(50, 16, 16)
    before = table.copy(), context.copy()
    noise = alias_table(np.ones(50))
    train_walks(table, context, np.array([[4, 9]], np.int32), noise, KEY, 0, 1, 3)
    assert set(np.flatnonzero((table != before[0]).any(1))) == {4, 9}
    assert {4, 9} <= set(np.flatnonzero((context != before[1]).any(1)))
    for row, centre in ((4, 9), (9, 4)):
        assert table[row] @ context[centre] > before[0][row] @ before[1][centre]


def test_blocks_of_walks_may_be_cut_anywhere():
    rng = np.random.default_rng(1)
    walks = rng.integers(0, 30, (20, 9), dtype=np.int32)
    noise = alias_table(np.ones(30))
    whole, parts = tables(30, 16, 16), tables(30, 16, 16)
    train_walks(*whole, walks, noise, KEY, 0, 20, 4)
    for first, end in ((0, 1), (1, 13), (13, 20)):
        train_walks(*parts, walks[first:end], noise, KEY, first, 20, 4)
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


@pytest.mark.parametrize("order", ["first", "second"])
@pytest.mark.parametrize("num_nodes", [3, 60])
def test_links_are_learned_as_plain_loops_do(order, num_nodes):
    rng = np.random.default_rng(2)
    ends = [(u, v) for u in range(num_nodes) for v in range(u + 1, num_nodes) if rng.random() < 0.7]
    links = np.array([u << 32 | v for u, v in ends], np.uint64)
    noise = alias_table(rng.random(num_nodes) + 0.2)
    table, context = tables(num_nodes, 16, 16)
    if order == "first":
        context = table
    expected = table.astype(np.float64)
    others = expected if order == "first" else context.astype(np.float64)
    used = set()
    for number in range(5, 155):
        key = walk_key(KEY, number)
        bits = int(draw(key, 0))
        u, v = ends[((bits >> 32) * len(ends)) >> 32][:: -1 if bits & 1 else 1]
        used.add((u, v))
        negatives = [plain_pick(noise, draw(key, k)) for k in range(1, 6)]
        barred = {v, u} if order == "first" else {v}
        plain_pair(expected, others, u, v, [n for n in negatives if n not in barred], rate_at(number, 200))
    assert {(u, v) for u, v in used if u > v} and {(u, v) for u, v in used if u < v}
    for first, count in ((5, 70), (75, 80)):
        train_links(table, context, links, noise, KEY, first, count, 200)
    np.testing.assert_allclose(table, expected, atol=2e-5)
    np.testing.assert_allclose(context, others, atol=2e-5)


@pytest.mark.parametrize("size", [1, 2, 17, 1000])
def test_alias_tables_hold_the_exact_shares(size):
    rng = np.random.default_rng(size)
    weight = rng.random(size) ** 4
    weight[: size // 3] = 0.0
    weight[-1] = 5.0
    np.testing.assert_allclose(shares(alias_table(weight)), weight / weight.sum(), atol=1e-9)


def test_draws_follow_the_shares():
    weight = np.array([0.0, 5, 1, 1, 3, 0, 2])
    table = alias_table(weight)
    drawn = [draw_alias(table, draw(KEY, k)) for k in range(20_000)]
    assert drawn[:500] == [plain_pick(table, draw(KEY, k)) for k in range(500)]
    counts = np.bincount(drawn, minlength=7)
    assert counts[weight == 0].sum() == 0
    assert chi_square_p(counts[weight > 0], weight[weight > 0] / weight.sum()) > 0.001


def test_the_sigmoid_is_close():
    x = np.concatenate([np.linspace(-30, 30, 2_001), [-10, 10, 0, -1e30, 1e30]]).astype(np.float32)
    found = np.array([sigmoid(value) for value in x])
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-np.clip(x.astype(np.float64), -50, 50))), atol=1e-4)
    assert abs(sigmoid(np.float32(0)) - 0.5) < 1e-6
