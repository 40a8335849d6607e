"""Learn to answer for pairs, from the events of a graph one by one, each as of its own moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.arrays import Days, Ints
from tadge.features.memory import COLUMNS, WIDTH, Columns, Memory, Scales, memory_of, pair_columns
from tadge.features.pairs import Pairs, timed_pairs
from tadge.features.timing import TOE_WIDTH, toe_columns
from tadge.forecasting.link_scorer import LinkHead
from tadge.forecasting.trees import Trees
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.units import squash, unsquash

Report = Callable[[int, int], None]
Head = TypeVar("Head", bound=nn.Module)

EVENTS = 128  # links learned from in a step
RANDOM, FORMER = 32, 16  # wrong targets of each: any node, and such that src has linked to before
MOST_PAIRS = 1 << 16  # ToEs learned from
EARLY = 0.1  # of the events: while there is hardly any past, nothing is asked
RATE, DECAY = 2e-3, 0.01
RECENT = 0.5  # later events count more: by a factor of e within this share of all
PACES = {0.25: 1 / 6, 0.5: 1 / 3, 2.0: 1 / 3, 4.0: 1 / 6}  # how many times as long all takes, and how often
FEW_MOMENTS = 256  # a clock that tells no more apart is told in steps, like years: these cannot go faster or slower
BEFORE = COLUMNS.index("src to dst")
PASSES = 10  # at most over all events, where there are few


def learn_links(graph: TemporalGraph, scales: Scales, steps: int, seed: int, report: Report) -> LinkHead:
    """Learn to rank the target of every event above others, from what happened before it.

    Two questions are asked: which of some random nodes it is; and, of an event that repeats a link, which of the former
    targets of its source. The same score, that of the likelier target, is the best answer to both. Of a first contact
    the second must not be asked: it would teach that what has been will not be again.
    """
    memory, rng = memory_of(graph, scales), np.random.default_rng(int(stream(seed, "links")))
    head = seeded(lambda: LinkHead(WIDTH), seed, "link head")

    def batch() -> tuple[Tensor, Tensor]:
        event = _later_more_often(rng, graph.num_events, EVENTS, EARLY)
        src, dst = graph.src[event].astype(np.int64), graph.dst[event].astype(np.int64)
        if not graph.directed and not graph.bipartite:
            turn = rng.random(EVENTS) < 0.5
            src, dst = np.where(turn, dst, src), np.where(turn, src, dst)
        at = np.nextafter(graph.time[event], -np.inf)
        anyone = rng.integers(graph.num_sources, graph.num_nodes, (EVENTS, RANDOM))
        former = former_targets(memory, src, at, rng.random((EVENTS, FORMER, 4)))
        asked = np.concatenate([dst[:, None], anyone, former], axis=1)  # (B, C)
        wrong = (asked == dst[:, None]) | (asked < 0)
        wrong[:, 0] = False
        each = asked.shape[1]
        pairs = np.repeat(src, each), np.maximum(asked, 0).reshape(-1), np.repeat(at, each)
        columns = pair_columns(memory, *pairs).reshape(*asked.shape, -1)
        return torch.from_numpy(columns), torch.from_numpy(wrong)

    head.standard.learn(torch.cat([batch()[0].flatten(0, 1) for _ in range(8)]))
    for _ in descend(head, RATE, _enough(steps, graph.num_events, EVENTS), report):
        columns, wrong = batch()
        scores = head(columns).masked_fill(wrong, -torch.inf)  # (B, C)
        one_of_any = functional.log_softmax(scores[:, : 1 + RANDOM], dim=1)[:, 0]
        one_of_former = functional.log_softmax(torch.cat([scores[:, :1], scores[:, 1 + RANDOM :]], 1), dim=1)[:, 0]
        repeat = columns[:, 0, BEFORE] > 0
        (-(one_of_any + one_of_former * repeat).mean()).backward()  # type: ignore[no-untyped-call]
    return head.eval()


def learn_toe(graph: TemporalGraph, scales: Scales, seed: int) -> tuple[Trees, Trees]:
    """Learn how long edges take, each from what was known when its target joined: in the mean, and by the median."""
    pairs = timed_pairs(graph, MOST_PAIRS, seed)
    if not pairs.toe.size:
        return Trees.none(), Trees.none()
    columns = toe_columns(graph, scales, pairs.src, pairs.dst, pairs.at)
    weight = np.exp(np.arange(1 - pairs.toe.size, 1) / (RECENT * pairs.toe.size))
    rows = columns, pairs.toe, weight
    if graph.num_moments > FEW_MOMENTS:
        other = at_other_paces(graph, scales, pairs, seed)
        rows = np.concatenate([columns, other[0]]), np.concatenate([pairs.toe, other[1]]), np.tile(weight, 2)
    mean, median = Trees.learn_each(
        *rows, int(stream(seed, "trees") >> np.uint64(32)), ("squared_error", "absolute_error")
    )
    return mean, median


def at_other_paces(graph: TemporalGraph, scales: Scales, pairs: Pairs, seed: int) -> tuple[Columns, Days]:
    """See each edge again as if all had gone faster or slower: columns, (n, TOE_WIDTH), and squashed ToEs, (n,).

    So what is learned is how long edges take beside other spans, which holds where all slows down, rather than how
    long they took in those days.
    """
    rng, columns = np.random.default_rng(int(stream(seed, "paces"))), np.empty((pairs.toe.size, TOE_WIDTH), np.float32)
    pace = rng.choice(list(PACES), pairs.toe.size, p=list(PACES.values()))
    for factor in PACES:
        own = np.flatnonzero(pace == factor)
        asked = pairs.src[own], pairs.dst[own], factor * pairs.at[own]
        columns[own] = toe_columns(at_pace(graph, factor), scales, *asked)
    return columns, squash(pace * unsquash(pairs.toe))


def at_pace(graph: TemporalGraph, factor: float) -> TemporalGraph:
    """Let everything take so many times as long."""
    return replace(graph, time=factor * graph.time, toe=factor * graph.toe, tov_times=factor * graph.tov_times)


def _enough(steps: int, count: int, batch: int) -> int:
    """Take fewer steps where there is little to learn from."""
    return min(steps, -(-PASSES * count // batch))


def seeded(make: Callable[[], Head], seed: int, name: str) -> Head:
    """Make a network with weights of its own random stream."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, name) >> np.uint64(1)))
        return make()


def descend(head: nn.Module, rate: float, steps: int, report: Report) -> Iterator[int]:
    """Yield before every step, which is then taken with the gradients that are there: a warm-up, then a cosine."""
    optimiser = torch.optim.AdamW(head.parameters(), rate, weight_decay=DECAY)
    warm = max(1, steps // 20)
    head.train()
    for step in range(steps):
        falling = (1 + math.cos(math.pi * step / steps)) / 2
        optimiser.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / warm) * falling
        optimiser.zero_grad()
        yield step
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimiser.step()
        report(step + 1, steps)


def _later_more_often(rng: np.random.Generator, size: int, count: int, early: float = 0.0) -> Ints:
    """Draw places among `size` in order of time, (count,), later ones more often; none of the first share `early`."""
    back = rng.exponential(RECENT, count) % (1.0 - early)
    return np.minimum(((1.0 - back) * size).astype(np.int64), size - 1)


@numba.njit(cache=True)
def former_targets(memory: Memory, src: Ints, at: Days, draws: Days) -> Ints:
    """Draw former targets of src as of moments, (n, K), with equal chances; -1 where no draw of (n, K, T) hits one."""
    found = np.full(draws.shape[:2], -1, np.int64)
    for q in range(src.size):
        first, end = memory.pairs_start[src[q]], memory.pairs_start[src[q] + 1]
        for k in range(draws.shape[1]):
            for t in range(draws.shape[2]):
                pair = first + int(draws[q, k, t] * (end - first))
                if pair < end and memory.pair_time[memory.pair_start[pair]] <= at[q]:
                    found[q, k] = memory.pair_other[pair]
                    break
    return found
