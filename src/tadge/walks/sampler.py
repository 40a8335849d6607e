"""Sample time-centrality-biased temporal walks (section 3 of the paper), at once or in a stream of bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tadge.config import Option, WalkConfig
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.kernels import Days, Ints, Nodes
from tadge.seeding import stream
from tadge.walks import kernels
from tadge.walks.index import Rows, WalkIndex, walk_index
from tadge.walks.starts import given_starts

TASK_CELLS = 1 << 19  # places in the rows of one task: half a megabyte, which stays in a core's cache
TASK_ROWS = 1 << 20
CHUNK = 100_000
FREE = 1 << 62  # a length no walk reaches

_THREADS = Option("threads", int, None, "threads to walk with; None: one per core", low=1, high=1024, optional=True)
_CHUNK = Option("chunk", int, CHUNK, "walks per chunk", low=1)
_SKIP_WALKS = Option("skip_walks", int, 0, "walks made before", low=0)
_SKIP_STARTS = Option("skip_starts", int, 0, "starts used for them", low=0)


@dataclass(frozen=True, eq=False)
class Walks:
    """Hold walks, one per row, times ascending, padded at the end.

    A backward walk is stored in the order of time too: it ends in its start.

    Attributes:
        nodes: (W, L) int32, PAD at the end.
        tov: (W, L) float64 days, when each was reached; NaN at the end.
        toe: (W, L) float64 days from the place before; NaN at the first place and at the end.
        events: (W, L) int64, index of the event stepped over to get here from the place before; PAD at the first place
            and at the end.
        lengths: (W,) int64, vertices in each walk.
        starts: (W,) int64, the occurrence (place in `graph.tov_times`) each walk was begun at.
        config: how they were walked.
        seed: with what seed.
        starts_used: starts tried up to and including that of the last walk, or all there were.
        complete: as many walks as were asked for.
        note: what to know about the count, in plain words; empty where there is nothing to say.
    """

    nodes: Nodes
    tov: Days
    toe: Days
    events: Ints
    lengths: Ints
    starts: Ints
    config: WalkConfig
    seed: int
    starts_used: int
    complete: bool
    note: str = ""

    def __len__(self) -> int:
        return int(self.lengths.size)

    def __repr__(self) -> str:
        length = f", {self.lengths.mean():.2f} vertices on average" if len(self) else ""
        return f"Walks({len(self):,} walks from {self.starts_used:,} starts{length})"


def sample_walks(
    graph: TemporalGraph,
    config: WalkConfig | None = None,
    seed: int = 0,
    *,
    starts: Any = None,
    threads: int | None = None,
) -> Walks:
    """Sample walks; the same graph, config, starts and seed give the same walks at any number of threads.

    Starts are drawn uniformly from all occurrences (node, ToV), each at most once. Walks shorter than
    `config.min_length` are dropped and further starts drawn, until there are `config.num_walks` or no start is left:
    then there are fewer, and `complete` and `note` say so.

    Args:
        graph: the events to walk on; its index is built at the first call and kept with it.
        config: how to walk; `WalkConfig()` by default.
        seed: a whole number from 0 up.
        starts: begin here instead, in this order: (K,) places in `graph.tov_times`, or a pair of (K,) node numbers and
            (K,) ToVs. Every start is used once, whatever `num_walks` says.
        threads: threads to walk with; one per core by default.
    """
    job = _Job.prepare(graph, config or WalkConfig(), seed, starts, threads)
    walks = next(_chunks(job, job.wanted, 0, 0))
    job.check_some(len(walks))
    return walks


def iter_walks(
    graph: TemporalGraph,
    config: WalkConfig | None = None,
    seed: int = 0,
    *,
    starts: Any = None,
    threads: int | None = None,
    chunk: int = CHUNK,
    skip_walks: int = 0,
    skip_starts: int = 0,
) -> Iterator[Walks]:
    """Yield the walks of `sample_walks` in chunks: the same rows in the same order, in memory for one chunk.

    To go on where an earlier run stopped, give the number of walks it had made and the `starts_used` of its last chunk.

    Args:
        graph: as in `sample_walks`.
        config: as in `sample_walks`.
        seed: as in `sample_walks`.
        starts: as in `sample_walks`.
        threads: as in `sample_walks`.
        chunk: walks per chunk; the last one may have fewer.
        skip_walks: walks made before.
        skip_starts: starts used for them.
    """
    job = _Job.prepare(graph, config or WalkConfig(), seed, starts, threads)
    return _filled(job, _CHUNK.check(chunk), _SKIP_WALKS.check(skip_walks), _SKIP_STARTS.check(skip_starts))


def walks_from(
    graph: TemporalGraph, config: WalkConfig, seed: int, starts: Ints, threads: int | None, name: str
) -> Walks:
    """Sample walks as `sample_walks` does, from these starts in this order, with a random stream of its own name."""
    job = _Job.prepare(graph, config, seed, starts, threads)
    job = replace(job, wanted=config.num_walks, key=stream(seed, name))
    walks = next(_chunks(job, job.wanted, 0, 0))
    job.check_some(len(walks))
    return walks


def task_lengths(
    graph: TemporalGraph, config: WalkConfig, seed: int, num_starts: int, threads: int | None
) -> Iterator[Ints]:
    """Yield the lengths of free walks from the first `num_starts` starts, task by task, (T,) each; no row is kept."""
    job = replace(_Job.prepare(graph, config, seed, None, threads), max_length=FREE)
    for _, starts, rows in _tasks(job, 0, num_starts, 1):
        yield rows.length[: starts.size]


# -- the work ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """Hold what all tasks of one call share."""

    index: WalkIndex
    config: WalkConfig
    seed: int
    key: np.uint64
    max_length: int
    starts: Ints | None
    wanted: int
    available: int
    threads: int

    @classmethod
    def prepare(cls, graph: TemporalGraph, config: WalkConfig, seed: int, starts: Any, threads: int | None) -> _Job:
        key = stream(seed, "walks")
        count = _THREADS.check(threads) or _cores()
        index = walk_index(graph, config.reach, config.direction, config.centrality)
        places = None if starts is None else given_starts(graph, starts)
        available = graph.num_occurrences if places is None else places.size
        wanted = config.num_walks if places is None else max(available, 1)
        return cls(index, config, int(seed), key, config.max_length, places, wanted, available, count)

    def run(self, first: int, num: int, rows: Rows) -> Ints:
        """Walk from starts first .. first + num - 1; return the occurrences they were begun at, (num,)."""
        if self.starts is None:
            occurrences = np.empty(num, np.int64)
            kernels.shuffled(stream(self.seed, "starts"), first, self.available, occurrences)
        else:
            occurrences = self.starts[first : first + num]
        self.index.walk(occurrences, self.key, first, self.max_length, rows)
        return occurrences

    def check_some(self, made: int) -> None:
        """Complain where not a single walk can be had."""
        if made == 0 and (self.starts is None or self.available):
            expected = f"walks of at least {self.config.min_length} vertices"
            found = f"none from {self.available:,} starts"
            raise InputError("no walk is long enough", expected=expected, found=found, cure="lower min_length")

    def note(self, made: int) -> str:
        """Say in plain words that there are fewer walks than were asked for."""
        asked = f" instead of {self.wanted:,}" if self.wanted != self.available else ""
        return (
            f"{made:,} walks{asked}: all {self.available:,} starts are used up, "
            f"{made / max(self.available, 1):.1%} of them give {self.config.min_length} vertices or more"
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tasks(job: _Job, first: int, end: int, width: int) -> Generator[tuple[int, Ints, Rows]]:
    """Yield finished tasks in order: the number of their first start, where they were begun, and their rows."""
    size = max(kernels.LANES, min(TASK_ROWS, TASK_CELLS // width))
    ranges = ((at, min(size, end - at)) for at in range(first, end, size))
    if job.threads == 1:
        rows = Rows.empty(size, width)
        for at, num in ranges:
            yield at, job.run(at, num, rows), rows
        return
    spare = [Rows.empty(size, width) for _ in range(2 * job.threads)]
    waiting: deque[tuple[int, Rows, Future[Ints]]] = deque()
    with ThreadPoolExecutor(job.threads) as pool:
        try:
            while True:
                while spare and (task := next(ranges, None)):
                    rows = spare.pop()
                    waiting.append((task[0], rows, pool.submit(job.run, *task, rows)))
                if not waiting:
                    return
                at, rows, future = waiting.popleft()
                yield at, future.result(), rows
                spare.append(rows)
        finally:
            for _, _, future in waiting:
                future.cancel()


def _filled(job: _Job, chunk: int, made: int, first: int) -> Iterator[Walks]:
    """Yield chunks that hold something; complain where there never was anything."""
    if made >= job.wanted:
        return
    for walks in _chunks(job, chunk, made, first):
        made += len(walks)
        job.check_some(made)
        if len(walks):
            yield walks


def _chunks(job: _Job, chunk: int, made: int, first: int) -> Iterator[Walks]:
    """Yield chunks of the walks that are long enough, at least one; the last may be short or empty."""
    reader = _Reader(job, first)
    more = True
    try:
        while more:
            size = max(0, min(chunk, job.wanted - made, job.available - reader.used))
            arrays = _room(size, job.config.max_length)
            done = reader.read(arrays)
            made += done
            used = reader.used
            more = made < job.wanted and reader.find()  # so that the last chunk knows that it is the last
            if made < job.wanted and not more:
                used = job.available
            if done < size:
                arrays = tuple(array[:done].copy() for array in arrays)
            complete = made >= job.wanted
            note = "" if more or complete else job.note(made)
            nodes, tov, toe, events, lengths, starts = arrays
            yield Walks(nodes, tov, toe, events, lengths, starts, job.config, job.seed, used, complete, note)
    finally:
        reader.tasks.close()


def _room(size: int, width: int) -> tuple[Any, ...]:
    """Make uninitialised arrays for walks, in the order of the fields of `Walks`."""
    shape = (size, width)
    rows = np.empty(shape, np.int32), np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
    return *rows, np.empty(size, np.int64), np.empty(size, np.int64)


class _Reader:
    """Read the rows of consecutive tasks that are long enough."""

    def __init__(self, job: _Job, first: int) -> None:
        self.job = job
        self.tasks = _tasks(job, first, job.available, job.config.max_length)
        self.first, self.seen = first, 0  # start number of the task's first row, rows looked at
        self.starts, self.rows = np.empty(0, np.int64), Rows.empty(0, job.config.max_length)

    @property
    def used(self) -> int:
        """Count the starts looked at."""
        return self.first + self.seen

    def read(self, arrays: tuple[Any, ...]) -> int:
        """Fill the arrays as far as the walks go; return how many were had."""
        backward, done = self.job.config.direction == "backward", 0
        while done < arrays[0].shape[0] and self._refill():
            rows, seen = self.rows, self.seen
            done, looked = kernels.keep_rows(
                *(rows.cells, rows.length, self.starts, seen),
                *(self.job.config.min_length, backward, done, *arrays),
            )
            self.seen = looked
        return done

    def find(self) -> bool:
        """Go on to the next row that is long enough, and tell whether there is one."""
        while self._refill():
            hits = np.flatnonzero(self.rows.length[self.seen : self.starts.size] >= self.job.config.min_length)
            if hits.size:
                self.seen += int(hits[0])
                return True
            self.seen = self.starts.size
        return False

    def _refill(self) -> bool:
        if self.seen == self.starts.size:
            task = next(self.tasks, None)
            if task is None:
                return False
            (self.first, self.starts, self.rows), self.seen = task, 0
        return True
