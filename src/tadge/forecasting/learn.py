"""Learn to answer for pairs, from the events of a graph one by one, each as of its own moment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.arrays import Days, Ints, Report
from tadge.config import ForecastConfig
from tadge.features.memory import COLUMNS, WIDTH, Columns, Memory, Scales, memory_of, pair_columns
from tadge.features.pairs import Pairs, timed_pairs
from tadge.features.timing import TOE_WIDTH, toe_columns
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.trees import Trees
from tadge.graph import TemporalGraph
from tadge.seeding import seeded, stream
from tadge.units import squash, unsquash

RESCALED = {0.25: 1 / 6, 0.5: 1 / 3, 2.0: 1 / 3, 4.0: 1 / 6}  # factors on all times: probability of each
FEW_MOMENTS = 256  # a clock with no more distinct times counts in steps, like years: those cannot be rescaled
FORTH = COLUMNS.index("src to dst")
DRAWS = 4  # tries to draw a former target that was one by then


def learn_links(graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int, report: Report) -> LinkScorer:
    """Learn to rank the target of every event above others, from what happened before it.

    Two questions are asked: which of some random nodes it is; and, of an event that repeats a link, which of the former
    targets of its source. The same score, that of the likelier target, is the best answer to both. Of a first contact
    the second must not be asked: it would teach that what has been will not be again.
    """
    memory, rng = memory_of(graph, scales), np.random.default_rng(int(stream(seed, "links")))
    count, num_random = config.batch_events, config.random_negatives
    head = seeded(lambda: LinkScorer(WIDTH, config.hidden), seed, "link head")

    def batch() -> tuple[Tensor, Tensor]:
        event = _later_more_often(rng, graph.num_events, count, config)
        src, dst = graph.src[event].astype(np.int64), graph.dst[event].astype(np.int64)
        if not graph.directed and not graph.bipartite:
            turn = rng.random(count) < 0.5
            src, dst = np.where(turn, dst, src), np.where(turn, src, dst)
        at = np.nextafter(graph.time[event], -np.inf)
        anyone = rng.integers(graph.num_sources, graph.num_nodes, (count, num_random))
        former = former_targets(memory, src, at, rng.random((count, config.former_negatives, DRAWS)))
        asked = np.concatenate([dst[:, None], anyone, former], axis=1)  # (B, C)
        wrong = (asked == dst[:, None]) | (asked < 0)
        wrong[:, 0] = False
        each = asked.shape[1]
        pairs = np.repeat(src, each), np.maximum(asked, 0).reshape(-1), np.repeat(at, each)
        columns = pair_columns(memory, *pairs).reshape(*asked.shape, -1)
        return torch.from_numpy(columns), torch.from_numpy(wrong)

    head.normalise.learn(torch.cat([batch()[0].flatten(0, 1) for _ in range(8)]))
    for _ in adamw_steps(head, config, _enough(config, graph.num_events), report):
        columns, wrong = batch()
        scores = head(columns).masked_fill(wrong, -torch.inf)  # (B, C)
        one_of_any = functional.log_softmax(scores[:, : 1 + num_random], dim=1)[:, 0]
        one_of_former = functional.log_softmax(torch.cat([scores[:, :1], scores[:, 1 + num_random :]], 1), dim=1)[:, 0]
        repeat = columns[:, 0, FORTH] > 0
        (-(one_of_any + one_of_former * repeat).mean()).backward()  # type: ignore[no-untyped-call]
    return head.eval()


def learn_toe(graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int) -> tuple[Trees, Trees]:
    """Learn how long edges take, each from what was known when its target joined: in the mean, and by the median."""
    pairs = timed_pairs(graph, config.max_pairs, seed)
    if not pairs.toe.size:
        return Trees.none(), Trees.none()
    columns = toe_columns(graph, scales, pairs.src, pairs.dst, pairs.at)
    weight = np.exp(np.arange(1 - pairs.toe.size, 1) / (config.recency * pairs.toe.size))
    rows = columns, pairs.toe, weight
    if config.rescale and graph.num_moments > FEW_MOMENTS:
        other = rescaled_copies(graph, scales, pairs, seed)
        rows = np.concatenate([columns, other[0]]), np.concatenate([pairs.toe, other[1]]), np.tile(weight, 2)
    tree_seed = int(stream(seed, "trees") >> np.uint64(32))
    mean, median = Trees.learn(*rows, config, tree_seed, ("squared_error", "absolute_error"))
    return mean, median


def rescaled_copies(graph: TemporalGraph, scales: Scales, pairs: Pairs, seed: int) -> tuple[Columns, Days]:
    """See each edge again as if all had gone faster or slower: columns, (n, TOE_WIDTH), and squashed ToEs, (n,).

    So what is learned is how long edges take beside other spans, which holds where all slows down, rather than how
    long they took in those days.
    """
    rng, columns = np.random.default_rng(int(stream(seed, "paces"))), np.empty((pairs.toe.size, TOE_WIDTH), np.float32)
    pace = rng.choice(list(RESCALED), pairs.toe.size, p=list(RESCALED.values()))
    for factor in RESCALED:
        own = np.flatnonzero(pace == factor)
        asked = pairs.src[own], pairs.dst[own], factor * pairs.at[own]
        columns[own] = toe_columns(rescaled(graph, factor), scales, *asked)
    return columns, squash(pace * unsquash(pairs.toe))


def rescaled(graph: TemporalGraph, factor: float) -> TemporalGraph:
    """Let everything take so many times as long."""
    return replace(graph, time=factor * graph.time, toe=factor * graph.toe, tov_times=factor * graph.tov_times)


def _enough(config: ForecastConfig, num_events: int) -> int:
    """Count the steps to take: fewer where there is little to learn from."""
    return min(config.steps, -(-config.passes * num_events // config.batch_events))


def adamw_steps(head: nn.Module, config: ForecastConfig, steps: int, report: Report) -> Iterator[int]:
    """Yield before every step, which is then taken with the gradients that are there: a warm-up, then a cosine."""
    optimiser = torch.optim.AdamW(head.parameters(), config.forecast_lr, weight_decay=config.weight_decay)
    warm = max(1, steps // 20)
    head.train()
    for step in range(steps):
        falling = (1 + math.cos(math.pi * step / steps)) / 2
        optimiser.param_groups[0]["lr"] = config.forecast_lr * min(1.0, (step + 1) / warm) * falling
        optimiser.zero_grad()
        yield step
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimiser.step()
        report(step + 1, steps)


def _later_more_often(rng: np.random.Generator, size: int, count: int, config: ForecastConfig) -> Ints:
    """Draw events among `size` in order of time, (count,), later ones more often; none of the burn-in."""
    back = rng.exponential(config.recency, count) % (1.0 - config.burn_in)
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
