from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from exact import chi_square_p

from tadge.seeding import stream
from tadge.walks.kernels import shuffled


def order(seed, size, first=0, num=None):
    out = np.empty(size if num is None else num, np.int64)
    shuffled(stream(seed, "starts"), first, size, out)
    return out


def test_it_is_an_order_of_everything():
    for size in (*range(1, 70), 1_000, 16_383, 16_384, 16_385, 70_000):
        assert sorted(order(3, size)) == list(range(size))


def test_any_part_can_be_had_alone():
    whole = order(5, 20_000)
    for first, num in ((0, 1), (7, 100), (19_999, 1), (3_000, 17_000)):
        assert order(5, 20_000, first, num).tolist() == whole[first : first + num].tolist()


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_every_order_of_a_few_is_equally_likely(size):
    orders = dict.fromkeys(itertools.permutations(range(size)), 0)
    for seed in range(12_000):
        orders[tuple(order(seed, size).tolist())] += 1
    assert chi_square_p(list(orders.values()), np.full(len(orders), 1 / math.factorial(size))) > 1e-4


@pytest.mark.parametrize("size", [257, 16_384, 50_000])
def test_neighbours_in_the_order_have_nothing_in_common(size):
    parts = np.zeros((8, 8))
    for seed in range(2_000):
        part = order(seed, size, 0, 64) * 8 // size
        np.add.at(parts, (part[0::2], part[1::2]), 1)
    share = np.bincount(np.arange(size) * 8 // size) / size
    assert chi_square_p(parts.ravel(), np.outer(share, share).ravel()) > 1e-4
