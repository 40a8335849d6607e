"""Learn to answer for pairs, from the events of a graph one by one, each as of its own moment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.arrays import Days, Ints, Report, Vectors
from tadge.config import ForecastConfig
from tadge.features.columns import LINK_COLUMNS, TOE_COLUMNS, columns_left_out
from tadge.features.pairs import Pairs, timed_pairs
from tadge.features.tables import Scales, make_tables, tables_of
from tadge.features.toe_columns import TOE_WIDTH, toe_columns
from tadge.features.type_columns import pair_columns, pair_width
from tadge.forecasting.curve_models import FORTH
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.rules import hardly_any_repeats
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.tree_size import choose_leaves
from tadge.forecasting.trees import Trees
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import PairLists, past_of
from tadge.graph.views import seen_targets
from tadge.seeding import seeded, stream
from tadge.units import squash, unsquash

RESCALED = {0.25: 1 / 6, 0.5: 1 / 3, 2.0: 1 / 3, 4.0: 1 / 6}  # factors on all times, powers of two: probability
FEW_MOMENTS = 256  # a clock with no more distinct times counts in steps, like years: those cannot be rescaled
DRAWS = 4  # tries to draw a former target that was one by then


def learn_links(graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int, report: Report) -> LinkScorer:
    """Learn to rank the target of every event above others, from what happened before it.

    Two questions are asked: which of some random nodes it is; and, of an event that repeats a link, which of the former
    targets of its source. The same score, that of the likelier target, is the best answer to both. The second is
    skipped for first contacts: the network would learn that former targets never recur. Where hardly any do, that is
    right, and every event is asked.

    One thread learns: several are no faster with a network that small, and wait for each other.
    """
    with one_thread():
        return _learn_links(graph, scales, config, seed, report)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread for a while."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _learn_links(graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int, report: Report) -> LinkScorer:
    tables, rng = tables_of(graph, scales), np.random.default_rng(int(stream(seed, "links")))
    left_out, pairs = columns_left_out(config.without, LINK_COLUMNS), past_of(graph).pairs
    count, num_random, hardly_any = config.batch_events, config.random_negatives, hardly_any_repeats(graph)
    head = seeded(lambda: LinkScorer(pair_width(tables.num_types), config.hidden), seed, "link head")
    targets = seen_targets(graph)  # not those that a view knows only because they come later

    def batch() -> tuple[Tensor, Tensor]:
        event = _later_more_often(rng, graph.num_events, count, config)
        src, dst = graph.src[event].astype(np.int64), graph.dst[event].astype(np.int64)
        if not graph.directed and not graph.bipartite:
            turn = rng.random(count) < 0.5
            src, dst = np.where(turn, dst, src), np.where(turn, src, dst)
        at = np.nextafter(graph.time[event], -np.inf)
        anyone = targets[rng.integers(targets.size, size=(count, num_random))]
        former = draw_former_targets(pairs, src, at, rng.random((count, config.former_negatives, DRAWS)))
        candidates = np.concatenate([dst[:, None], anyone, former], axis=1)  # (B, C)
        candidates = np.where(candidates < 0, dst[:, None], candidates)
        wrong = candidates == dst[:, None]
        wrong[:, 0] = False
        width = candidates.shape[1]
        questions = np.repeat(src, width), candidates.reshape(-1), np.repeat(at, width)
        columns = pair_columns(tables, *questions, left_out=left_out).reshape(*candidates.shape, -1)
        return torch.from_numpy(columns), torch.from_numpy(wrong)

    head.normalise.learn(torch.cat([batch()[0].flatten(0, 1) for _ in range(8)]))
    for _ in adamw_steps(head, config, enough_steps(config, graph.num_events), report):
        columns, wrong = batch()
        scores = head(columns).masked_fill(wrong, -torch.inf)  # (B, C)
        one_of_any = functional.log_softmax(scores[:, : 1 + num_random], dim=1)[:, 0]
        one_of_former = functional.log_softmax(torch.cat([scores[:, :1], scores[:, 1 + num_random :]], 1), dim=1)[:, 0]
        asked = (columns[:, 0, FORTH] > 0) | hardly_any
        (-(one_of_any + one_of_former * asked).mean()).backward()  # type: ignore[no-untyped-call]
    return head.eval()


def learn_toe(graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int) -> tuple[Trees, Trees]:
    """Learn how long edges take, each from what was known when its target joined: in the mean, and by the median."""
    pairs = timed_pairs(graph, config.max_pairs, seed)
    if not pairs.toe.size:
        return Trees.none(), Trees.none()
    left_out = columns_left_out(config.without, TOE_COLUMNS)
    columns = toe_columns(tables_of(graph, scales), pairs.src, pairs.dst, pairs.at, left_out=left_out)
    weight = later_weigh_more(pairs.toe.size, config)
    rows = columns, pairs.toe, weight
    if config.rescale and graph.num_moments > FEW_MOMENTS:
        rescaled, toe = rescaled_columns(graph, scales, pairs, seed)
        rescaled[:, left_out] = 0.0
        rows = np.concatenate([columns, rescaled]), np.concatenate([pairs.toe, toe]), np.tile(weight, 2)
    tree_seed = int(stream(seed, "trees") >> np.uint64(32))
    sized = replace(config, leaves=choose_leaves(*rows, pairs.toe.size, config, tree_seed))
    mean, median = Trees.learn(*rows, sized, tree_seed, ("squared_error", "absolute_error"))
    return mean, median


def learn_laws(
    graph: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int, trees: tuple[Trees, Trees]
) -> tuple[ToeLaws, ToeLaws]:
    """Learn how ToEs are spread for which trees predict about the same, in the mean, and by the median."""
    pairs = timed_pairs(graph, config.max_pairs, seed)
    left_out = columns_left_out(config.without, TOE_COLUMNS)
    columns = toe_columns(tables_of(graph, scales), pairs.src, pairs.dst, pairs.at, left_out=left_out)
    weight, (mean, median) = later_weigh_more(pairs.toe.size, config), trees
    return (
        ToeLaws.learn(mean.predict(columns), pairs.toe, weight, "mean"),
        ToeLaws.learn(median.predict(columns), pairs.toe, weight, "median"),
    )


def rescaled_columns(graph: TemporalGraph, scales: Scales, pairs: Pairs, seed: int) -> tuple[Vectors, Days]:
    """See each edge again as if all had gone faster or slower: columns, (n, TOE_WIDTH), and squashed ToEs, (n,).

    So what is learned is how long edges take beside other spans, which holds where all slows down, rather than how
    long they took in those days. The past is the same; only the scales that its times are seen in change.
    """
    rng, columns = np.random.default_rng(int(stream(seed, "paces"))), np.empty((pairs.toe.size, TOE_WIDTH), np.float32)
    factors = rng.choice(list(RESCALED), pairs.toe.size, p=list(RESCALED.values()))
    for factor in RESCALED:
        chosen = np.flatnonzero(factors == factor)
        tables = make_tables(graph, scales.rescaled(factor))
        columns[chosen] = toe_columns(tables, pairs.src[chosen], pairs.dst[chosen], pairs.at[chosen])
    return columns, squash(factors * unsquash(pairs.toe))


def enough_steps(config: ForecastConfig, num_events: int) -> int:
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


def later_weigh_more(size: int, config: ForecastConfig) -> Days:
    """Weigh ToEs in order of time, (size,): the last has weight 1."""
    return np.exp(np.arange(1 - size, 1) / (config.recency * max(size, 1)))


def _later_more_often(rng: np.random.Generator, size: int, count: int, config: ForecastConfig) -> Ints:
    """Draw events among `size` in order of time, (count,), later ones more often; none of the burn-in."""
    back = rng.exponential(config.recency, count) % (1.0 - config.burn_in)
    return np.minimum(((1.0 - back) * size).astype(np.int64), size - 1)


@numba.njit(cache=True)
def draw_former_targets(pairs: PairLists, src: Ints, at: Days, draws: Days) -> Ints:
    """Draw former targets of src as of moments, (n, K), each as likely; -1 where no draw of (n, K, T) hits one."""
    first, target, start, _, time = pairs
    drawn = np.full(draws.shape[:2], -1, np.int64)
    for q in range(src.size):
        begin, end = first[src[q]], first[src[q] + 1]
        for k in range(draws.shape[1]):
            for t in range(draws.shape[2]):
                pair = begin + int(draws[q, k, t] * (end - begin))
                if pair < end and time[start[pair]] <= at[q]:
                    drawn[q, k] = target[pair]
                    break
    return drawn
