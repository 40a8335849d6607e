"""Draws of negatives: compiled loops that fill rows of candidates, (q, 1 + K), beside the true ones in column 0.

A draw is a hash of (seed, event, count), so that every method is given the same, in blocks of any size.
"""

# mypy: allow-untyped-decorators

from __future__ import annotations

import numba
import numpy as np

from tadge.arrays import Ints, Nodes
from tadge.seeding import draw, unit, walk_key


@numba.njit(cache=True)
def holds(row: Ints, count: int, node: int) -> bool:
    """Tell whether a node is among the first `count` of a row."""
    for k in range(count):  # noqa: SIM110
        if row[k] == node:
            return True
    return False


@numba.njit(cache=True)
def draw_random(answers: Ints, have: Ints, event: Ints, begin: int, size: int, key: np.uint64) -> None:
    """Fill rows, (q, 1 + K), from column have[q] on with nodes of begin .. begin + size - 1 that are not in them."""
    for q in range(answers.shape[0]):
        own, count, column = walk_key(key, event[q]), 0, have[q]
        while column < answers.shape[1]:
            node = begin + int(unit(draw(own, count)) * size)
            count += 1
            if not holds(answers[q], column, node):
                answers[q, column] = node
                column += 1


@numba.njit(cache=True)
def draw_former(answers: Ints, event: Ints, target: Ints, start: Ints, known: Ints, own: Ints, key: np.uint64) -> None:
    """Fill rows, (q, 1 + K), from column 1 on with different ones of target[start[q]:start[q] + known[q]].

    The true answer, which stands at own[q] of them where it is among them, is left out. Where they are fewer than the
    columns, all are taken.
    """
    width = answers.shape[1] - 1
    for q in range(answers.shape[0]):
        column, known_others = 1, known[q] - (own[q] < known[q])
        if known_others <= width:
            for k in range(known[q]):
                if k != own[q]:
                    answers[q, column] = target[start[q] + k]
                    column += 1
            continue
        row, count = walk_key(key, event[q]), 0
        while column <= width:
            node = target[start[q] + int(unit(draw(row, count)) * known[q])]
            count += 1
            if not holds(answers[q], column, node):
                answers[q, column] = node
                column += 1


@numba.njit(cache=True)
def draw_as_tgb(
    answers: Ints,
    event: Ints,
    former: Nodes,
    former_ends: Ints,
    now: Nodes,
    now_ends: Ints,
    span: tuple[int, int, int],
    key: np.uint64,
) -> None:
    """Fill rows from column 1 on by the rule of the Temporal Graph Benchmark (its strategy `hist_rnd`).

    Never among them are those whom src links to at the same instant. Up to half are former targets of src in training,
    all different. The others are of a range of nodes, none of them a former target; all different, unless there are
    too few; where there is none at all, any node of the range but the true one.

    Args:
        answers: (q, 1 + K) the true targets, to be filled.
        event: (q,) the events asked about.
        former: whom each source linked to in training, each once.
        former_ends: (q, 2) where those of each question begin and end in it.
        now: whom each source linked to, in order of time.
        now_ends: (q, 2) where those of the same instant begin and end in it.
        span: the first node of the range, its size, and the number of all nodes.
        key: of the draws.
    """
    begin, size, num_nodes = span
    width = answers.shape[1] - 1
    mark = np.full(num_nodes, -1)  # of question q: 2 q is shut, 2 q + 1 a former target that can be drawn
    for q in range(answers.shape[0]):
        row, count, free, can = walk_key(key, event[q]), 0, size, 0
        for k in range(now_ends[q, 0], now_ends[q, 1]):
            node = now[k]
            free -= mark[node] < 2 * q and begin <= node < begin + size
            mark[node] = 2 * q
        first, last = former_ends[q]
        for k in range(first, last):
            node = former[k]
            if mark[node] < 2 * q:
                free -= begin <= node < begin + size
                mark[node] = 2 * q + 1
                can += 1
        column, num_former = 1, min(width // 2, can)
        for k in range(first, last if num_former == can else first):
            if mark[former[k]] == 2 * q + 1:
                answers[q, column] = former[k]
                column += 1
        while column <= num_former:
            node = former[first + int(unit(draw(row, count)) * (last - first))]
            count += 1
            if mark[node] == 2 * q + 1:
                answers[q, column], mark[node] = node, 2 * q
                column += 1
        has_enough = free >= width - num_former
        while column <= width:
            node = begin + int(unit(draw(row, count)) * size)
            count += 1
            if mark[node] < 2 * q or (free == 0 and node != answers[q, 0]):
                answers[q, column] = node
                column += 1
                mark[node] = 2 * q if has_enough else mark[node]
