"""Thread pool for sampling walks. The output does not depend on which thread ran which task."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

import numpy as np

from tadge.arrays import Ints
from tadge.config import Option, WalkConfig
from tadge.errors import TooFewWalksError
from tadge.graph import TemporalGraph
from tadge.machine import num_cores
from tadge.seeding import stream
from tadge.walks import kernels
from tadge.walks.index import WalkIndex, walk_index
from tadge.walks.kernels import Task, WalkArrays
from tadge.walks.layout import CELL, Records
from tadge.walks.starts import given_starts

TASK_CELLS = 1 << 16  # cells of one task: a megabyte, worth a thread's while and small enough for its cache
TASK_ROWS = 1 << 14

_THREADS = Option("threads", int, None, "threads to walk with; None: one per core", low=1, high=1024, optional=True)


TaskRows = tuple[Records, Ints]  # cells and lengths of a task


def empty_rows(num: int, width: int) -> TaskRows:
    """Make rows for up to `num` walks of which `width` steps are recorded, to be written over; see `Task`."""
    return np.empty((num + 1, width), CELL), np.empty(num + 1, np.int64)


@dataclass(frozen=True)
class Job:
    """Hold what all tasks of one call share.

    Attributes:
        index: what the walkers read.
        config: how to walk.
        seed: the user's.
        key: of the random stream of the steps.
        max_length: nodes at which walks are cut.
        starts: (K,) occurrences to begin at, or None for all occurrences in random order.
        wanted: walks asked for.
        available: starts there are.
        threads: how many.
        cure: of the error where no walk is long enough.
    """

    index: WalkIndex
    config: WalkConfig
    seed: int
    key: np.uint64
    max_length: int
    starts: Ints | None
    wanted: int
    available: int
    threads: int
    cure: str

    @classmethod
    def prepare(cls, graph: TemporalGraph, config: WalkConfig, seed: int, starts: Any, threads: int | None) -> Job:
        """Check the arguments of a call and build the index where there is none yet."""
        key = stream(seed, "walks")
        count = _THREADS.check(threads) or num_cores()
        index = walk_index(graph, config.reach, config.direction, config.centrality)
        places = None if starts is None else given_starts(graph, starts)
        available = graph.num_occurrences if places is None else places.size
        wanted = config.num_walks if places is None else max(available, 1)
        cure = "lower min_length"
        if graph.bipartite and graph.directed:
            cure += ", or say directed=False: its targets never act, so walks end with the first step"
        return cls(index, config, int(seed), key, config.max_length, places, wanted, available, count, cure)

    def task(self, first: int, num: int, rows: TaskRows) -> Task:
        """Make the task of starts first .. first + num - 1."""
        if self.starts is None:
            starts = np.empty(num, np.int64)
            kernels.shuffled(stream(self.seed, "starts"), first, self.available, starts)
        else:
            starts = self.starts[first : first + num]
        return Task(starts, self.key, first, self.max_length, *rows)

    def check_some(self, made: int) -> None:
        """Refuse to return no walk at all."""
        if made == 0 and (self.starts is None or self.available):
            expected = f"walks of at least {self.config.min_length} nodes"
            found = f"none from {self.available:,} starts"
            raise TooFewWalksError("no walk is long enough", expected=expected, found=found, cure=self.cure)

    def note(self, made: int) -> str:
        """Make the sentence that there are fewer walks than were asked for."""
        asked = f" instead of {self.wanted:,}" if self.wanted != self.available else ""
        return (
            f"{made:,} walks{asked}: all {self.available:,} starts are used up, "
            f"{made / max(self.available, 1):.1%} of them give {self.config.min_length} nodes or more"
        )


@dataclass(eq=False)
class _Work:
    """Hold one task of the pool: its place in the order, and which of its rows are still to be copied out."""

    order: int
    first: int
    size: int
    rows: TaskRows
    task: Task | None = None
    kept: Ints = field(default_factory=lambda: np.empty(0, np.int64))


class WalkPool:
    """Walk from starts first .. end - 1 and hand out, in order, the walks that are long enough.

    Every thread takes the next task, walks it, waits until all earlier tasks are walked, so that the place of its walks
    in the output is known, and copies them there itself while they are still in its cache. A million walks of the
    default reach take 0.09 s; with `pool.map` and a concatenation of the results they took 0.22 s.

    Args:
        job: what all tasks share.
        first: number of the first start.
        end: number of the first start that is left out.
        width: steps of a walk to record.
    """

    def __init__(self, job: Job, first: int, end: int, width: int) -> None:
        self.job, self.end, self.width = job, end, width
        self.size = max(kernels.LANES, min(TASK_ROWS, TASK_CELLS // width))
        self.next_start = first
        self.used = first  # starts up to and including that of the last walk handed out
        self.executor = ThreadPoolExecutor(job.threads)
        self.spare: list[TaskRows] = []
        self.leftover: deque[_Work] = deque()  # walked, with walks that are not handed out yet
        self.turn = Condition()  # guards all that follows
        self.next_to_take = self.next_to_place = 0  # tasks
        self.out: WalkArrays | None = None
        self.done = self.capacity = 0  # walks handed out into the arrays, and how many these can take
        self.peek_for_more = self.closed = False

    def close(self) -> None:
        """Let the threads go, each after its task."""
        with self.turn:
            self.closed = True
            self.turn.notify_all()
        self.executor.shutdown()

    def fill(self, out: WalkArrays, peek_for_more: bool) -> int:
        """Fill arrays as far as the walks go; return how many there were.

        With `peek_for_more` the work goes on until it is known whether there are more: see `more`.
        """
        self.out, self.done, self.capacity, self.peek_for_more = out, 0, out.nodes.shape[0], peek_for_more
        for work in [self.leftover.popleft() for _ in range(len(self.leftover))]:
            self._copy(work, *self._place(work))
        for future in [self.executor.submit(self._run) for _ in range(self.job.threads)]:
            future.result()
        return self.done

    def more(self) -> bool:
        """Tell whether a further walk is known."""
        return bool(self.leftover)

    def _run(self) -> None:
        """Do task after task, as long as there is something to do."""
        try:
            while (work := self._take()) is not None:
                work.task = self.job.task(work.first, work.size, work.rows)
                self.job.index.walk(work.task)
                work.kept = np.flatnonzero(work.task.length[: work.size] >= self.job.config.min_length)
                with self.turn:
                    while self.next_to_place != work.order and not self.closed:
                        self.turn.wait()
                    first, kept = self._place(work)
                    self.next_to_place += 1
                    self.turn.notify_all()
                self._copy(work, first, kept)
        except BaseException:
            with self.turn:  # threads that wait for this task would wait forever
                self.closed = True
                self.turn.notify_all()
            raise

    def _take(self) -> _Work | None:
        """Take the next task; None where there is none, or nothing is to be done."""
        with self.turn:
            full = self.done == self.capacity and (bool(self.leftover) or not self.peek_for_more)
            if self.closed or full or self.next_start >= self.end:
                return None
            rows = self.spare.pop() if self.spare else empty_rows(self.size, self.width)
            work = _Work(self.next_to_take, self.next_start, min(self.size, self.end - self.next_start), rows)
            self.next_to_take += 1
            self.next_start += work.size
            return work

    def _place(self, work: _Work) -> tuple[int, Ints]:
        """Give a task its place in the arrays: the first row, and which of its walks go there; the rest is left."""
        first, kept = self.done, work.kept[: self.capacity - self.done]
        work.kept = work.kept[kept.size :]
        self.done += kept.size
        if kept.size:
            self.used = work.first + int(kept[-1]) + 1
        if work.kept.size:
            self.leftover.append(work)
        return first, kept

    def _copy(self, work: _Work, first: int, kept: Ints) -> None:
        """Copy walks to their place; rows that nothing is left of are used again."""
        kernels.keep_rows(work.task, kept, self.job.config.direction == "backward", first, self.out)
        if not work.kept.size:
            with self.turn:
                self.spare.append(work.rows)


def lengths_of(job: Job, end: int) -> Iterator[Ints]:
    """Walk from starts 0 .. end - 1 and yield the lengths, task by task, (T,) each; nothing else is recorded."""

    def run(first: int) -> Ints:
        num = min(TASK_ROWS, end - first)
        task = job.task(first, num, empty_rows(num, 1))
        job.index.walk(task)
        return task.length[:num]

    with ThreadPoolExecutor(job.threads) as pool:
        ahead: deque[Future[Ints]] = deque()
        for first in range(0, end, TASK_ROWS):
            ahead.append(pool.submit(run, first))
            if len(ahead) > 2 * job.threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
