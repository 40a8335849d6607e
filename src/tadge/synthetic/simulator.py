"""The compiled forum process behind `tadge.synthetic`: readers, replies, threads and newcomers.

The process, in the order in which it is drawn:

- Threads start at random moments (a Poisson process), in a community drawn by size. The author, mostly a returning
  node, links to a newcomer: that first event has no ToE. A thread has a pace of its own, normal around that of its
  community: log delay ~ N(pace, sigma^2).
- Whoever acts at t' (and the newcomer of a first event) finds at once its readers: Poisson many, in proportion to the
  appeal of the act, which is Pareto. Each reader will reply once, after a delay of its own, and acts nowhere else until
  then. The writer acts no more until all of them have replied. So a reply is always to the writer's latest act, its
  ToE is the delay drawn, and who replies says nothing about when.
- A reader is the node that the writer's act went to (if it is free), or a newcomer who joins by replying, or a free
  node of the thread's community or of another, drawn in proportion to its activity, which is Pareto too. Where next to
  nobody of a community is free, a newcomer comes instead.

Axes: E events, N nodes in order of joining, T threads in order of their start, C communities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, Nodes

FREE, READING, WRITING = 0, 1, 2  # may be chosen; will reply to somebody; is being replied to
NOBODY = -1
MOST_READERS = 255  # of one act: their mean is 40 at the most, so this is never reached
ACTIVITY = 1.2, 1_000.0  # Pareto: shape, and the cut as a multiple of the least
APPEAL = 1.6, 100.0
ACTIVITY_GRAIN = 16  # activity is kept as integers, whose sums are exact
THIN = 20  # where less than 1/20 of a community's activity is free, a newcomer comes instead

NUM_NODES, THREADS, QUEUED, POOLED, WIDEST, EVENTS = range(6)  # places in State.used
COMMUNITY, ACTIVE, STATUS, WAITING, PARTNER = range(5)  # columns of State.people
OFFSET, ROOM, MEMBERS, TOTAL, IDLE = range(5)  # columns of State.groups
REACH, MEMBER = range(2)  # columns of State.pool
WRITER, READER, THREAD = range(3)  # columns of State.pending
HOME, FIRST_READERS = range(2)  # columns of State.threads
SRC, DST, TOPIC, READERS = range(4)  # rows of Record.event


class Law(NamedTuple):
    """Hold the parameters of the process."""

    size: Days  # (C,) fractions of the threads, adding up to 1
    pace: Days  # (C,) mean of the log delay in days
    tau: float  # spread of a thread's pace around its community's
    sigma: float  # spread of the log delay around the thread's pace
    branching: float  # mean number of readers of an act
    newcomer: float  # probability that a reader is a newcomer
    inside: float  # probability that a reader is of the thread's community
    reciprocal: float  # probability that a reader is the node the act went to, if that is free
    starts: float  # threads started in a day


class State(NamedTuple):
    """Hold the forum as it stands; arrays have room to spare, and `used` says how much of it is in use.

    A community's members stand in `pool` in order of joining, from its OFFSET on; REACH is the activity of the members
    up to this one, TOTAL that of all and IDLE that of the free ones. Replies to come are a binary heap by `when`; slot
    numbers out of use stand behind the heap.
    """

    people: Ints  # (N, 5) COMMUNITY, ACTIVE (activity), STATUS, WAITING (readers yet to reply), PARTNER
    groups: Ints  # (C, 5) OFFSET, ROOM, MEMBERS, TOTAL, IDLE
    pool: Ints  # (P, 2) REACH, MEMBER
    when: Days  # (Q,) by place in the heap
    slot: Ints  # (Q,) by place in the heap
    pending: Ints  # (Q, 3) by slot number: WRITER, READER, THREAD
    delay: Days  # (Q,) by slot number
    threads: Ints  # (T, 2) HOME, FIRST_READERS: the community, and the readers of the newcomer in the first event
    pace: Days  # (T,) mean of the log delay in days
    clock: Days  # (2,) now, and when the next thread starts
    used: Ints  # (6,) how many NUM_NODES, THREADS ... there are; WIDEST is the largest ROOM of a community


class Record(NamedTuple):
    """Hold what happened."""

    event: Nodes  # (4, E) SRC, DST, TOPIC (thread), READERS (of the act of src)
    time: Days  # (E,)
    delay: Days  # (E,) as drawn; NaN at the start of a thread


@numba.njit(cache=True)
def _pareto(probability: float, shape: float, cut: float) -> float:
    """Return the quantile of a Pareto law on [1, cut]."""
    return (1 - probability * (1 - cut**-shape)) ** (-1 / shape)  # type: ignore[no-any-return]


def _pareto_mean(shape: float, cut: float) -> float:
    return float(shape / (shape - 1) * (1 - cut ** (1 - shape)) / (1 - cut**-shape))


APPEAL_MEAN = _pareto_mean(*APPEAL)


@numba.njit(cache=True)
def _poisson(mean: float, rng: np.random.Generator) -> int:
    """Draw a number of readers by Knuth's method; `rng.poisson` would make other graphs of the same seeds."""
    number, product, least = 0, rng.random(), np.exp(-mean)
    while product > least:
        product *= rng.random()
        number += 1
    return number


@numba.njit(cache=True)
def _push(s: State, writer: int, reader: int, thread: int, delay: float) -> None:
    """Put a reply, after a delay from now, into the queue."""
    due = s.clock[0] + delay
    at = s.used[QUEUED]
    s.used[QUEUED] += 1
    slot = s.slot[at]
    s.pending[slot, WRITER], s.pending[slot, READER], s.pending[slot, THREAD] = writer, reader, thread
    s.delay[slot] = delay
    while at > 0:
        above = (at - 1) // 2
        if s.when[above] <= due:
            break
        s.when[at], s.slot[at] = s.when[above], s.slot[above]
        at = above
    s.when[at], s.slot[at] = due, slot


@numba.njit(cache=True)
def _pop(s: State) -> int:
    """Take the earliest reply out of the queue and return its slot number, good until the next push."""
    s.used[QUEUED] -= 1
    end = s.used[QUEUED]
    slot = s.slot[0]
    due, last = s.when[end], s.slot[end]
    at = 0
    while 2 * at + 1 < end:
        below = 2 * at + 1
        if below + 1 < end and s.when[below + 1] < s.when[below]:
            below += 1
        if due <= s.when[below]:
            break
        s.when[at], s.slot[at] = s.when[below], s.slot[below]
        at = below
    s.when[at], s.slot[at] = due, last
    s.slot[end] = slot
    return slot  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _join(s: State, community: int, rng: np.random.Generator) -> int:
    """Let a newcomer join, not free yet, and return its number; a full list of members moves to the pool's end."""
    node = s.used[NUM_NODES]
    s.used[NUM_NODES] += 1
    activity = np.int64(ACTIVITY_GRAIN * _pareto(rng.random(), ACTIVITY[0], ACTIVITY[1]))
    s.people[node, COMMUNITY], s.people[node, ACTIVE] = community, activity
    s.people[node, STATUS], s.people[node, WAITING], s.people[node, PARTNER] = WRITING, 0, NOBODY
    group = s.groups[community]
    if group[MEMBERS] == group[ROOM]:
        group[ROOM] = max(16, 2 * group[ROOM])
        for i in range(group[MEMBERS]):
            s.pool[s.used[POOLED] + i, REACH] = s.pool[group[OFFSET] + i, REACH]
            s.pool[s.used[POOLED] + i, MEMBER] = s.pool[group[OFFSET] + i, MEMBER]
        group[OFFSET] = s.used[POOLED]
        s.used[POOLED] += group[ROOM]
        s.used[WIDEST] = max(s.used[WIDEST], group[ROOM])
    at = group[OFFSET] + group[MEMBERS]
    group[MEMBERS] += 1
    group[TOTAL] += activity
    s.pool[at, REACH], s.pool[at, MEMBER] = group[TOTAL], node
    return node  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _take(s: State, node: int, state: int) -> None:
    """Make a free node busy."""
    s.people[node, STATUS] = state
    s.groups[s.people[node, COMMUNITY], IDLE] -= s.people[node, ACTIVE]


@numba.njit(cache=True)
def _release(s: State, node: int) -> None:
    """Make a busy node free."""
    s.people[node, STATUS] = FREE
    s.groups[s.people[node, COMMUNITY], IDLE] += s.people[node, ACTIVE]


@numba.njit(cache=True)
def _any_community(law: Law, rng: np.random.Generator) -> int:
    """Draw a community by size."""
    draw = rng.random()
    for community in range(law.size.size - 1):
        draw -= law.size[community]
        if draw < 0:
            return community
    return law.size.size - 1


@numba.njit(cache=True)
def _pick_community(law: Law, home: int, rng: np.random.Generator) -> int:
    """Draw the thread's community, or one by size."""
    return home if rng.random() < law.inside else _any_community(law, rng)


@numba.njit(cache=True)
def _pick(s: State, law: Law, home: int, partner: int, rng: np.random.Generator) -> int:
    """Draw who will read: the partner, NOBODY for a newcomer, or a free node in proportion to its activity."""
    if partner != NOBODY and s.people[partner, STATUS] == FREE and rng.random() < law.reciprocal:
        return partner
    if rng.random() < law.newcomer:
        return NOBODY
    group = s.groups[_pick_community(law, home, rng)]
    if group[IDLE] * THIN <= group[TOTAL]:
        return NOBODY
    while True:
        ticket = np.int64(rng.random() * group[TOTAL])
        low, high = group[OFFSET], group[OFFSET] + group[MEMBERS]
        while low < high:
            middle = (low + high) // 2
            if s.pool[middle, REACH] <= ticket:
                low = middle + 1
            else:
                high = middle
        node = s.pool[low, MEMBER]
        if s.people[node, STATUS] == FREE:
            return node  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _write(s: State, law: Law, writer: int, thread: int, rng: np.random.Generator) -> int:
    """Find the readers of an act, queue their replies, and return how many they are."""
    appeal = _pareto(rng.random(), APPEAL[0], APPEAL[1]) / APPEAL_MEAN
    readers = min(_poisson(law.branching * appeal, rng), MOST_READERS)
    s.people[writer, WAITING] = readers
    s.people[writer, STATUS] = WRITING
    for _ in range(readers):
        reader = _pick(s, law, s.threads[thread, HOME], s.people[writer, PARTNER], rng)
        if reader != NOBODY:
            _take(s, reader, READING)
        delay = np.exp(s.pace[thread] + law.sigma * rng.standard_normal())
        _push(s, writer, reader, thread, delay)
    if readers == 0:
        _release(s, writer)
    return readers  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _start_thread(s: State, law: Law, rng: np.random.Generator) -> tuple[int, int, int]:
    """Open a thread: an author, free or new, links to a newcomer; return author, newcomer and thread."""
    thread = s.used[THREADS]
    s.used[THREADS] += 1
    home = np.int64(_any_community(law, rng))
    s.threads[thread, HOME] = home
    s.pace[thread] = law.pace[home] + law.tau * rng.standard_normal()
    s.clock[1] += rng.exponential(1 / law.starts)
    author = _pick(s, law, home, np.int64(NOBODY), rng)
    if author == NOBODY:
        author = _join(s, _pick_community(law, home, rng), rng)
    else:
        _take(s, author, WRITING)
    newcomer = _join(s, _pick_community(law, home, rng), rng)
    s.threads[thread, FIRST_READERS] = _write(s, law, newcomer, thread, rng)
    return author, newcomer, thread


@numba.njit(cache=True)
def _reply(s: State, law: Law, rng: np.random.Generator) -> tuple[int, int, int, float]:
    """Let the earliest reply happen; return who replies, to whom, the thread and the delay."""
    slot = _pop(s)
    reader, writer, thread = s.pending[slot, READER], s.pending[slot, WRITER], s.pending[slot, THREAD]
    if reader == NOBODY:
        reader = _join(s, _pick_community(law, s.threads[thread, HOME], rng), rng)
    s.people[writer, WAITING] -= 1
    if s.people[writer, WAITING] == 0:
        _release(s, writer)
    return reader, writer, thread, s.delay[slot]


@numba.njit(cache=True)
def _advance(s: State, law: Law, record: Record, rng: np.random.Generator) -> None:
    """Take down events until the record is full or some array of the state has no room for one more event."""
    while s.used[EVENTS] < record.time.size:
        if s.used[POOLED] + 4 * s.used[WIDEST] + 64 > len(s.pool) or s.used[NUM_NODES] + 2 > len(s.people):
            return
        if s.used[THREADS] == s.pace.size or s.used[QUEUED] + 2 * MOST_READERS > s.when.size:
            return
        i = s.used[EVENTS]
        s.used[EVENTS] += 1
        starts = s.used[QUEUED] == 0 or s.clock[1] < s.when[0]
        due = s.clock[1] if starts else s.when[0]
        s.clock[0] = max(due, np.nextafter(s.clock[0], np.inf))  # no two events at one instant
        if starts:
            src, dst, thread = _start_thread(s, law, rng)
            delay = np.nan
        else:
            src, dst, thread, delay = _reply(s, law, rng)
        s.people[src, PARTNER] = dst
        record.event[SRC, i], record.event[DST, i], record.event[TOPIC, i] = src, dst, thread
        record.time[i], record.delay[i] = s.clock[0], delay
        record.event[READERS, i] = _write(s, law, src, thread, rng)


def _with_room(s: State) -> State:
    """Double the arrays that may be too short for one more event."""
    longer: dict[str, npt.NDArray[Any]] = {}
    if s.used[POOLED] + 4 * s.used[WIDEST] + 64 > len(s.pool):
        longer["pool"] = _doubled(s.pool)
    if s.used[NUM_NODES] + 2 > len(s.people):
        longer["people"] = _doubled(s.people)
    if s.used[THREADS] == s.pace.size:
        longer |= {"threads": _doubled(s.threads), "pace": _doubled(s.pace)}
    if s.used[QUEUED] + 2 * MOST_READERS > s.when.size:
        longer |= {"when": _doubled(s.when), "pending": _doubled(s.pending), "delay": _doubled(s.delay)}
        longer["slot"] = np.concatenate([s.slot, np.arange(s.slot.size, 2 * s.slot.size)])
    return s._replace(**longer)


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.concatenate([array, np.zeros_like(array)])


def simulate(num_events: int, law: Law, first_day: float, rng: np.random.Generator) -> tuple[Record, State]:
    """Run the process from an empty forum until it has had its number of events.

    Args:
        num_events: E.
        law: the parameters.
        first_day: when the clock starts; the first thread starts after it.
        rng: the only source of randomness.

    Returns:
        record: the events.
        state: the forum after the last event.
    """
    record = Record(np.empty((4, num_events), np.int32), np.empty(num_events), np.empty(num_events))
    room = 1_024
    state = State(
        people=np.zeros((room, 5), np.int64),
        groups=np.zeros((law.size.size, 5), np.int64),
        pool=np.zeros((room, 2), np.int64),
        when=np.zeros(room),
        slot=np.arange(room),
        pending=np.zeros((room, 3), np.int64),
        delay=np.zeros(room),
        threads=np.zeros((room, 2), np.int64),
        pace=np.zeros(room),
        clock=first_day + np.array([0.0, rng.exponential(1 / law.starts)]),
        used=np.zeros(6, np.int64),
    )
    while state.used[EVENTS] < num_events:
        state = _with_room(state)
        _advance(state, law, record, rng)
    return record, state
