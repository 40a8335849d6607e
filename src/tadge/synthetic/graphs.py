"""Make a forum-like graph by a known law, so that the best possible ToE error and link score can be computed.

The law is described in `tadge.synthetic.simulator`, what can be known of it in `tadge.synthetic.oracle`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.config import check_options, option
from tadge.errors import ConfigError
from tadge.graph import TemporalGraph
from tadge.seeding import check_seed
from tadge.synthetic import simulator as process
from tadge.synthetic.simulator import Law
from tadge.units import days_of_date

FIRST_DAY = "2020-01-01"
PACES = 0.05, 8.0  # days: the median delay of the fastest and the slowest community
SIZE_POWER = 0.7  # the r-th largest community has a fraction of the threads in proportion to r ** -SIZE_POWER
NEWCOMER = 0.08
RECIPROCAL = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class Synthetic:
    """Hold a synthetic graph with everything that is known about it.

    Attributes:
        graph: the events; node numbers and ids are 0 .. N-1 in order of joining, the clock is Unix.
        labels: (N,) int32, the community of each node.
        activity: (N,) int64, to which a free node's probability of being chosen is proportional.
        thread: (E,) int32, the thread of each event; threads are numbered in order of their start.
        delay: (E,) float64 days, the delay that was drawn; NaN at the start of a thread. It is the ToE.
        readers: (E,) int32, how many will reply to this act of `src` (some of them after the end of the record).
        first_readers: (T,) int32, how many will reply to the newcomer of the thread's first event.
        thread_community: (T,) int32.
        thread_pace: (T,) float64, mean of the log delay (in days) in the thread.
        unanswered: (R, 2) int32, the replies to come after the end: writer, and reader or -1 for a newcomer.
        law: the parameters of the process.
        seed: the seed it was made from.
    """

    graph: TemporalGraph
    labels: Nodes
    activity: Ints
    thread: Nodes
    delay: Days
    readers: Nodes
    first_readers: Nodes
    thread_community: Nodes
    thread_pace: Days
    unanswered: Nodes
    law: Law
    seed: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def pace(self) -> Days:
        """Give the mean of the log delay of each event's thread, (E,)."""
        return self.thread_pace[self.thread]

    @property
    def sigma(self) -> float:
        """Give the standard deviation of the log delay around the thread's pace."""
        return self.law.sigma

    def __repr__(self) -> str:
        threads, communities = self.thread_pace.size, self.law.size.size
        return f"Synthetic({self.graph!r}, {threads:,} threads, {communities} communities, seed {self.seed})"


@dataclass(frozen=True)
class ForumConfig:
    """Set what a forum is like."""

    events: int = option(10_000, "number of events, exactly", low=10, high=100_000_000)
    communities: int = option(
        8, "number of communities; their median delays are spread evenly in the log from 0.05 to 8 days", low=1
    )
    days: float = option(730.0, "how long the record lasts, on average", low=1e-3, high=1e5)
    tau: float = option(0.8, "standard deviation of a thread's log pace around its community's", low=0.0, high=5.0)
    sigma: float = option(0.7, "standard deviation of the log delay around the thread's pace", low=1e-3, high=5.0)
    branching: float = option(0.85, "mean number of replies to an act", low=0.0, high=0.99)
    inside: float = option(0.85, "probability that a reader is of the thread's own community", low=0.0, high=1.0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.communities > self.events:
            expected, found = f"at most events = {self.events:,}", f"{self.communities:,}"
            raise ConfigError("value too large", expected=expected, found=found, where="communities")


def forum(
    events: int = ForumConfig.events,
    *,
    communities: int = ForumConfig.communities,
    days: float = ForumConfig.days,
    tau: float = ForumConfig.tau,
    sigma: float = ForumConfig.sigma,
    branching: float = ForumConfig.branching,
    inside: float = ForumConfig.inside,
    seed: int = 0,
) -> Synthetic:
    """Make a forum-like graph whose delays follow a known law; see `tadge.synthetic.simulator` for the process.

    Args:
        events: how many events, exactly.
        communities: how many communities; their median delays are spread evenly in the log from 0.05 to 8 days.
        days: how long the record lasts; the rate at which threads start is set so that it does on average.
        tau: standard deviation of a thread's log pace around that of its community.
        sigma: standard deviation of the log delay around the thread's pace.
        branching: mean number of replies to an act.
        inside: probability that a reader is sought in the thread's own community.
        seed: the same seed gives the same graph, bit by bit.
    """
    config = ForumConfig(events, communities, days, tau, sigma, branching, inside)
    rng = np.random.default_rng(check_seed(seed))
    size: Days = np.arange(1.0, config.communities + 1) ** -SIZE_POWER
    size /= size.sum()
    low, high = map(math.log, PACES)
    pace = rng.permutation(low + (high - low) * (np.arange(config.communities) + 0.5) / config.communities)
    law = Law(
        *(size, pace, config.tau, config.sigma, config.branching, NEWCOMER, config.inside, RECIPROCAL), starts=1.0
    )
    law = law._replace(starts=config.events / config.days / _events_per_thread(law, config.days))
    record, state = process.simulate(config.events, law, days_of_date(FIRST_DAY), rng)
    return _gather(record, state, law, seed)


def _gather(record: process.Record, state: process.State, law: Law, seed: int) -> Synthetic:
    num_nodes, num_threads = int(state.used[process.NUM_NODES]), int(state.used[process.THREADS])
    people, threads = state.people[:num_nodes], state.threads[:num_threads]
    src, dst, thread, readers = record.event
    queued = state.slot[: state.used[process.QUEUED]]
    ids = np.arange(num_nodes)
    return Synthetic(
        graph=TemporalGraph.from_numbers(src, dst, ids, 0, record.time, None, clock="unix"),
        labels=people[:, process.COMMUNITY].astype(np.int32),
        activity=people[:, process.ACTIVE].copy(),
        thread=thread,
        delay=record.delay,
        readers=readers,
        first_readers=threads[:, process.FIRST_READERS].astype(np.int32),
        thread_community=threads[:, process.HOME].astype(np.int32),
        thread_pace=state.pace[:num_threads].copy(),
        unanswered=state.pending[queued][:, [process.WRITER, process.READER]].astype(np.int32),
        law=law,
        seed=seed,
    )


def _events_per_thread(law: Law, days: float) -> float:
    """Estimate how many events a thread has had by the end of the record, on average over threads of all ages.

    A first event has two writers; generation g has 2 branching^g replies on average, each after a sum of g delays.
    """
    rng = np.random.default_rng(0)
    generations = np.arange(1, 2 + int(math.log(1e-3) / math.log(max(law.branching, 0.1))))
    samples = max(64, 200_000 // generations.size)
    pace = law.pace[rng.choice(law.pace.size, samples, p=law.size)] + law.tau * rng.standard_normal(samples)
    delays = np.exp(pace[:, None] + law.sigma * rng.standard_normal((samples, generations.size)))
    over = np.cumsum(delays, axis=1) < days * rng.random((samples, 1))
    return 1.0 + float((over * 2 * law.branching**generations).sum(axis=1).mean())
