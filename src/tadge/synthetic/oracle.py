"""Compute the best scores that are possible on a synthetic graph, from the law it was made by.

ToE. Given the thread, log delay ~ N(pace, sigma^2), whoever replies and whatever happened before: this is exact. The
law speaks of replies at the moment t' when they are called for. That a reply is on a record that ends (or in a window
of it) says a little more about its delay, which no forecast made at t' can know: what was called for near the end is on
the record only if it came quickly.

Links. Who will reply to whom is drawn at t' and hidden until t. The oracle sees every event before t with its thread,
the number of replies each act calls for, all paces, communities and activities, how much activity was free in a
community whenever replies were called for, and that u now replies to somebody. What it does not see is which reader
belongs to which writer.

Axes: E events, N nodes, T threads, Q queries, K candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.config import Option
from tadge.errors import InputError
from tadge.synthetic.graphs import Synthetic
from tadge.synthetic.simulator import Law
from tadge.units import squash
from tadge.validation import mean_reciprocal_rank

POINTS = 64  # of the quadrature
QUADRATURE_ROWS = 65_536
LAST_FRACTION = 0.15  # queries are by default drawn from this last fraction of the events
MOST_QUERIES = 1_000
_NEGATIVES = Option("negatives", int, 100, "other candidates per event", low=1)
FREE_NOW, DRAWN_NOW = 0, 1  # places in _Known.now


@dataclass(frozen=True)
class ToeFloor:
    """Hold root mean squared errors of the squashed ToE.

    Attributes:
        floor: of the conditional mean given the thread's pace, as the law has it: sqrt(mean of the variances).
        oracle: of the same predictor, as it came out on these events.
        history: of a predictor that knows the law and the community, and learns the thread's pace from the delays seen
            in the thread up to and including t'. It does not learn from replies that are still to come, though their
            silence says something: a perfect one would be a little better.
        community: of the mean over these events in the thread's community.
        constant: of the mean over these events.
        events: how many events were counted.
    """

    floor: float
    oracle: float
    history: float
    community: float
    constant: float
    events: int


def best_toe(synthetic: Synthetic) -> Days:
    """Return the best possible prediction of every event's squashed ToE, (E,), given the pace of its thread.

    It is the conditional mean of squash(delay); NaN at the start of a thread, where there is no ToE.
    """
    mean, _ = _squashed_moments(synthetic.thread_pace, np.float64(synthetic.sigma))
    return np.where(np.isnan(synthetic.delay), np.nan, mean[synthetic.thread])


def best_toe_rmse(synthetic: Synthetic, events: Any = None) -> ToeFloor:
    """Return the smallest possible error of the squashed ToE, and those of predictors that know less.

    Args:
        synthetic: a graph of known law.
        events: (Q,) event numbers, or (E,) booleans; by default all. Events without a ToE are left out.
    """
    chosen = _replies(synthetic, events)
    truth = squash(synthetic.graph.toe[chosen])
    mean, variance = _squashed_moments(synthetic.thread_pace, np.float64(synthetic.sigma))
    thread = synthetic.thread[chosen]
    group = synthetic.thread_community[thread]
    group_mean = np.bincount(group, truth) / np.maximum(np.bincount(group), 1)
    return ToeFloor(
        floor=math.sqrt(variance[thread].mean()),
        oracle=_rmse(truth, mean[thread]),
        history=_rmse(truth, _history_toe(synthetic)[chosen]),
        community=_rmse(truth, group_mean[group]),
        constant=float(truth.std()),
        events=chosen.size,
    )


def link_intensity(synthetic: Synthetic, events: Any, candidates: Any) -> Days:
    """Return how likely each candidate is the target of an event, given its source and time, (Q, K).

    The value for v is the intensity of `src` replying to v at that moment, up to a factor common to the candidates of
    one event: the replies to v still to come, times the log-normal hazard of each, times the probability that one of
    them is `src`'s. It is 0 where `src` was not free at t' or has acted since, else the law's at t' times the
    probability that no earlier act had found `src` as its reader. Two small things are left out: that the other
    possible readers of v grow fewer as they act elsewhere, and that newcomers stand in where a community has next to
    nobody free.

    Args:
        synthetic: a graph of known law.
        events: (Q,) event numbers; what is not a reply is an error, as nothing can be known of a newcomer.
        candidates: (Q, K) node numbers.
    """
    queries = np.asarray(events)
    chosen = _replies(synthetic, queries)
    nodes = np.asarray(candidates)
    if chosen.size != queries.size or nodes.ndim != 2 or len(nodes) != queries.size:
        expected = "replies, and one row of candidates for each"
        found = f"{queries.size:,} events with {chosen.size:,} replies, candidates {nodes.shape}"
        raise InputError("queries that cannot be answered", expected=expected, found=found)
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < synthetic.graph.num_nodes:
        expected, found = f"node numbers from 0 to {synthetic.graph.num_nodes - 1}", f"{nodes.min()} to {nodes.max()}"
        raise InputError("not a node number", expected=expected, found=found, where="candidates")
    facts = _facts(synthetic)
    label = synthetic.labels[synthetic.graph.src[queries]]
    out = np.empty(nodes.shape)
    for community in np.unique(label):
        rows = np.flatnonzero(label == community)
        rows = rows[np.argsort(queries[rows], kind="stable")]
        query, candidate = queries[rows].astype(np.int64), nodes[rows].astype(np.int64)
        out[rows] = _replay(facts, synthetic.law, community, query, candidate)
    return out


def best_link_mrr(synthetic: Synthetic, events: Any = None, *, negatives: int = 100, seed: int = 0) -> float:
    """Return the mean reciprocal rank of the true target, ranked by `link_intensity`; ties get the mean rank.

    Args:
        synthetic: a graph of known law.
        events: (Q,) event numbers, or (E,) booleans, of which the replies are asked about; by default up to 1,000 drawn
            from the last 15% of the record.
        negatives: other candidates per event, drawn uniformly from the nodes seen before it.
        seed: for the draw of negatives (and of events).
    """
    negatives = _NEGATIVES.check(negatives)
    rng = np.random.default_rng(seed)
    graph = synthetic.graph
    if events is None:
        chosen = _replies(synthetic, np.arange(graph.num_events) >= (1 - LAST_FRACTION) * graph.num_events)
        chosen = np.sort(rng.permutation(chosen)[:MOST_QUERIES])
    else:
        chosen = _replies(synthetic, events)
    target = graph.dst[chosen].astype(np.int64)
    seen = np.maximum.accumulate(np.maximum(graph.src, graph.dst))[chosen - 1] + 1  # numbered in order of joining
    others = (rng.random((chosen.size, negatives)) * (seen - 1)[:, None]).astype(np.int64)
    others += others >= target[:, None]
    scores = link_intensity(synthetic, chosen, np.column_stack([target, others]))
    return mean_reciprocal_rank(scores)


# -- ToE --------------------------------------------------------------------------------------------------------------


def _replies(synthetic: Synthetic, events: Any) -> Ints:
    """Return the numbers of the chosen events that have a ToE."""
    has_toe = ~np.isnan(synthetic.delay)
    if events is None:
        chosen = np.flatnonzero(has_toe)
    else:
        numbers = np.asarray(events)
        if numbers.dtype == np.bool_ and numbers.shape == has_toe.shape:
            numbers = np.flatnonzero(numbers)
        inside = numbers.ndim == 1 and numbers.dtype.kind in "iu"
        if not inside or (numbers.size and not 0 <= numbers.min() <= numbers.max() < has_toe.size):
            expected = f"event numbers from 0 to {has_toe.size - 1}, or as many booleans"
            raise InputError("not a choice of events", expected=expected, found=f"{numbers.dtype} {numbers.shape}")
        chosen = numbers[has_toe[numbers]]
    if not chosen.size:
        raise InputError("no reply among the events", expected="an event with a ToE", found="none", where="events")
    return chosen


def _rmse(truth: Days, prediction: Days) -> float:
    return math.sqrt(np.mean((truth - prediction) ** 2))


def _squashed_moments(mean: Days, spread: Days | np.float64) -> tuple[Days, Days]:
    """Return mean and variance of squash(exp(x)), x ~ N(mean, spread^2), each (n,), by Gauss-Hermite quadrature."""
    point, weight = np.polynomial.hermite.hermgauss(POINTS)
    weight /= weight.sum()
    spreads = np.broadcast_to(spread, mean.shape)
    first, second = np.empty_like(mean), np.empty_like(mean)
    for begin in range(0, mean.size, QUADRATURE_ROWS):
        part = slice(begin, begin + QUADRATURE_ROWS)
        value = squash(np.exp(mean[part, None] + math.sqrt(2) * spreads[part, None] * point))
        first[part] = (value * weight).sum(axis=1)
        second[part] = ((value - first[part, None]) ** 2 * weight).sum(axis=1)
    return first, second


def _history_toe(synthetic: Synthetic) -> Days:
    """Predict the squashed ToE of every reply, (E,), from the delays seen in its thread up to and including t'."""
    law, graph = synthetic.law, synthetic.graph
    prior = law.pace[synthetic.thread_community]
    order = np.argsort(synthetic.thread, kind="stable")  # threads one after the other, each in order of time
    surplus = np.where(np.isnan(graph.toe), 0.0, np.log(graph.toe) - prior[synthetic.thread])[order]
    first = np.searchsorted(synthetic.thread[order], synthetic.thread)  # where the event's thread begins
    born, _, _ = _births(graph.src, graph.dst, graph.num_nodes)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    sums = np.concatenate([[0.0], np.cumsum(surplus)])
    reply = born >= 0
    total = np.where(reply, sums[place[born] + 1] - sums[first], 0.0)
    seen = np.where(reply, place[born] - first, 0)  # those up to and including t', less the thread's first event
    variance = law.tau**2 * law.sigma**2 / (law.sigma**2 + seen * law.tau**2)  # of the thread's pace, given the delays
    mean = prior[synthetic.thread] + variance * total / law.sigma**2
    return _squashed_moments(mean, np.sqrt(variance + law.sigma**2))[0]


@numba.njit(cache=True)
def _births(src: Nodes, dst: Nodes, num_nodes: int) -> tuple[Ints, Ints, Ints]:
    """Find the event at which each event's target got its latest ToV, (E,), -1 without one.

    Also return the events at which each node got its latest and its first ToV, each (N,).
    """
    born, latest, joined = np.full(src.size, -1), np.full(num_nodes, -1), np.full(num_nodes, -1)
    for i in range(src.size):
        u, v = src[i], dst[i]
        born[i] = latest[v]
        if latest[v] < 0:
            latest[v] = joined[v] = i
        if latest[u] < 0:
            joined[u] = i
        latest[u] = i
    return born, latest, joined


# -- links ------------------------------------------------------------------------------------------------------------


class _Facts(NamedTuple):
    src: Nodes  # (E,)
    dst: Nodes  # (E,)
    time: Days  # (E,)
    thread: Nodes  # (E,)
    readers: Nodes  # (E,)
    first_readers: Nodes  # (T,)
    home: Nodes  # (T,)
    pace: Days  # (T,)
    label: Nodes  # (N,)
    activity: Ints  # (N,)
    reader: Ints  # (R,) nodes that became readers, in order of the event whose act they read
    first_reader: Ints  # (E+1,) the readers bound at event i are reader[first_reader[i]:first_reader[i+1]]


class _Known(NamedTuple):
    """What is known of each node, (N,), as of the present event, looking at readers of one community."""

    born: Ints  # the event of its latest ToV; -1: not seen yet
    num_replies: Ints  # replies its latest act calls for
    waiting: Ints  # those still to come
    partner: Ints  # the node its latest act went to, if that was free to reply; else -1
    free_activity: Days  # the activity that was free to reply to that act
    drawn: Days  # expected number of draws as a reader, per unit of activity, before that act
    free_from: Ints  # the first event whose writers may have it as reader; counts only where waiting is 0
    drawn_when_free: Days  # as `drawn`, before that
    now: Days  # (2,) the community's free activity, and `drawn` so far


def _facts(synthetic: Synthetic) -> _Facts:
    graph = synthetic.graph
    born, latest, joined = _births(graph.src, graph.dst, graph.num_nodes)
    writer, reader = synthetic.unanswered.T
    bound = np.concatenate([np.where(joined[graph.src] <= born, born, -1), np.where(reader < 0, -1, latest[writer])])
    order = np.argsort(bound, kind="stable")[np.count_nonzero(bound < 0) :]
    return _Facts(
        src=graph.src,
        dst=graph.dst,
        time=graph.time,
        thread=synthetic.thread,
        readers=synthetic.readers,
        first_readers=synthetic.first_readers,
        home=synthetic.thread_community,
        pace=synthetic.thread_pace,
        label=synthetic.labels,
        activity=synthetic.activity,
        reader=np.concatenate([graph.src, reader]).astype(np.int64)[order],
        first_reader=np.searchsorted(bound[order], np.arange(graph.num_events + 1)),
    )


@numba.njit(cache=True)
def _p_reciprocal(known: _Known, law: Law, v: int) -> float:
    """Return the probability that a given reply to v still to come is the partner's."""
    p = known.partner[v]
    if p < 0 or known.waiting[v] == 0 or known.waiting[p] > 0 or known.free_from[p] > known.born[v]:
        return 0.0
    fraction = (1.0 - (1.0 - law.reciprocal) ** known.num_replies[v]) / known.num_replies[v]
    return fraction / (1.0 - fraction * (known.num_replies[v] - known.waiting[v]))  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _call(known: _Known, law: Law, x: int, readers: int, fraction: float) -> None:
    """Let x call for replies, of which a fraction (the partner's aside) goes to the community looked at."""
    known.num_replies[x] = known.waiting[x] = readers
    known.free_activity[x], known.drawn[x] = known.now[FREE_NOW], known.now[DRAWN_NOW]
    if known.now[FREE_NOW] > 0:
        known.now[DRAWN_NOW] += readers * (1.0 - _p_reciprocal(known, law, x)) * fraction / known.now[FREE_NOW]


@numba.njit(cache=True)
def _observe(facts: _Facts, known: _Known, law: Law, i: int, label: int) -> None:
    """Take down event i, looking at the community of a label."""
    u, v, th = facts.src[i], facts.dst[i], facts.thread[i]
    fraction = (1.0 - law.newcomer) * _p_community(law, label, facts.home[th])
    if known.born[v] < 0:
        if known.born[u] >= 0 and facts.label[u] == label:
            known.now[FREE_NOW] -= facts.activity[u]  # the author was free
        known.born[v] = i
        _call(known, law, v, facts.first_readers[th], fraction)
    else:
        known.waiting[v] -= 1
    if known.waiting[v] == 0:
        known.free_from[v], known.drawn_when_free[v] = i, known.now[DRAWN_NOW]
        known.now[FREE_NOW] += facts.activity[v] if facts.label[v] == label else 0
    known.born[u] = i
    known.partner[u] = v if known.waiting[v] == 0 else -1
    _call(known, law, u, facts.readers[i], fraction)
    for k in range(facts.first_reader[i], facts.first_reader[i + 1]):
        x = facts.reader[k]
        known.now[FREE_NOW] -= facts.activity[x] if facts.label[x] == label else 0
    if known.waiting[u] == 0:
        known.free_from[u], known.drawn_when_free[u] = i + 1, known.now[DRAWN_NOW]
        known.now[FREE_NOW] += facts.activity[u] if facts.label[u] == label else 0


@numba.njit(cache=True)
def _hazard(age: float, pace: float, sigma: float) -> float:
    """Return the log-normal hazard: density over survival."""
    z = (math.log(age) - pace) / sigma
    survival = 0.5 * math.erfc(z / math.sqrt(2.0))
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    ratio = density / survival if z < 25.0 else z  # far out the ratio tends to z
    return ratio / (sigma * age)


@numba.njit(cache=True)
def _p_community(law: Law, label: int, home: int) -> float:
    """Return the probability that a reader is sought in a community."""
    return (1.0 - law.inside) * law.size[label] + (law.inside if label == home else 0.0)  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _intensity(facts: _Facts, known: _Known, law: Law, i: int, v: int) -> float:
    """Return the intensity of src[i] replying to v at time[i]."""
    u, born = facts.src[i], known.born[v]
    newcomer = known.born[u] < 0
    if born < 0 or known.waiting[v] == 0 or (not newcomer and known.free_from[u] > born):
        return 0.0
    th = facts.thread[born]
    probability = _p_community(law, facts.label[u], facts.home[th])
    back = _p_reciprocal(known, law, v)
    if newcomer:
        probability *= (1.0 - back) * law.newcomer
    else:
        activity = facts.activity[u]
        free = (
            math.exp(-activity * (known.drawn[v] - known.drawn_when_free[u]))
            if activity <= known.free_activity[v]
            else 0.0
        )
        probability *= (1.0 - back) * (1.0 - law.newcomer) * free * activity / max(known.free_activity[v], activity)
        w = facts.src[min(known.free_from[u], i - 1)]
        if known.partner[v] == u:
            probability += back
        elif known.partner[w] == u:
            probability *= 1.0 - known.waiting[w] * _p_reciprocal(known, law, w)  # or else u would be w's reader
    age = facts.time[i] - facts.time[born]
    return known.waiting[v] * _hazard(age, facts.pace[th], law.sigma) * probability  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _replay(facts: _Facts, law: Law, label: int, query: Ints, candidate: Ints) -> Days:
    """Go through the record and answer the queries of one community's nodes, in order of time; (Q, K)."""
    n = facts.label.size
    born, partner = np.full((2, n), -1)
    num_replies, waiting, free_from = np.zeros((3, n), np.int64)
    free_activity, drawn, drawn_when_free = np.zeros((3, n))
    known = _Known(born, num_replies, waiting, partner, free_activity, drawn, free_from, drawn_when_free, np.zeros(2))
    out = np.empty(candidate.shape)
    q = 0
    for i in range(facts.src.size):
        while q < query.size and query[q] == i:
            for k in range(candidate.shape[1]):
                out[q, k] = _intensity(facts, known, law, i, candidate[q, k])
            q += 1
        if q == query.size:
            break
        _observe(facts, known, law, i, label)
    return out
