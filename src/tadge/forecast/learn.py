"""Learn to answer for pairs, from the events of a graph one by one, each as of its own moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

import numba
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.forecast import tokens
from tadge.forecast.heads import LinkHead, ToeHead
from tadge.forecast.linear import timed_pairs
from tadge.forecast.memory import WIDTH, Memory, Scales, memory_of, pair_columns
from tadge.graph import TemporalGraph
from tadge.kernels import Days, Ints
from tadge.seeding import stream

Report = Callable[[int, int], None]
Head = TypeVar("Head", bound=nn.Module)

EVENTS = 128  # links learned from in a step
RANDOM, FORMER = 32, 16  # wrong targets of each: any node, and such that src has linked to before
PAIRS = 256  # ToEs learned from in a step
MOST_PAIRS = 1 << 18
EARLY = 0.1  # of the events: while there is hardly any past, nothing is asked
RATE, DECAY = 2e-3, 0.01
TOE_RATE = 1e-3
RECENT = 0.7  # later events are asked about more often: by e within this share of all


def learn_links(graph: TemporalGraph, scales: Scales, steps: int, seed: int, report: Report) -> LinkHead:
    """Learn to rank the target of every event above others, from what happened before it.

    Two questions are asked of each event: which of some random nodes it is, and which of the former targets of its
    source. The same score, that of the likelier target, is the best answer to both.
    """
    memory, rng = memory_of(graph, scales), np.random.default_rng(int(stream(seed, "links")))
    head = seeded(lambda: LinkHead(WIDTH), seed, "link head")

    def batch() -> tuple[Tensor, Tensor]:
        event = _later_more_often(rng, graph.num_events, EVENTS)
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
    for _ in descend(head, RATE, steps, report):
        columns, wrong = batch()
        scores = head(columns).masked_fill(wrong, -torch.inf)  # (B, C)
        one_of_any = functional.log_softmax(scores[:, : 1 + RANDOM], dim=1)[:, 0]
        one_of_former = functional.log_softmax(torch.cat([scores[:, :1], scores[:, 1 + RANDOM :]], 1), dim=1)[:, 0]
        (-(one_of_any + one_of_former).mean()).backward()  # type: ignore[no-untyped-call]
    return head.eval()


def learn_toe(graph: TemporalGraph, scales: Scales, steps: int, seed: int, member: int, report: Report) -> ToeHead:
    """Learn how long edges take, each from what was known when its target joined."""
    memory, rng = memory_of(graph, scales), np.random.default_rng(int(stream(seed, f"toe {member}")))
    pairs = timed_pairs(graph, MOST_PAIRS, seed)
    head = seeded(lambda: ToeHead(WIDTH, tokens.WIDTH, tokens.NUM_TOKENS), seed, f"toe head {member}")
    if not pairs.toe.size:
        return head.eval()
    columns = pair_columns(memory, pairs.src, pairs.dst, pairs.at)
    head.standard.learn(torch.from_numpy(columns))
    with torch.no_grad():
        head.last.bias.fill_(float(pairs.toe.mean()))
    for _ in descend(head, TOE_RATE, steps, report):
        some = rng.integers(0, pairs.toe.size, PAIRS)
        seen = tokens.pair_tokens(memory, pairs.src[some], pairs.dst[some], pairs.at[some])
        guess = head(torch.from_numpy(columns[some]), torch.from_numpy(seen))
        functional.mse_loss(guess, torch.from_numpy(pairs.toe[some].astype(np.float32))).backward()  # type: ignore[no-untyped-call]
    return head.eval()


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


def _later_more_often(rng: np.random.Generator, num_events: int, count: int) -> Ints:
    """Draw events, (count,), none of the first ones."""
    back = np.minimum(rng.exponential(RECENT, count) % (1.0 - EARLY), 1.0 - EARLY)
    return np.minimum(((1.0 - back) * num_events).astype(np.int64), num_events - 1)


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
