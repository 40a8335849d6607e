"""The threads behind a call: they walk task after task and copy out what is kept; who does what never shows."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

import numpy as np

from tadge.arrays import Ints
from tadge.config import Option, WalkConfig
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks import kernels
from tadge.walks.index import Rows, WalkIndex, walk_index
from tadge.walks.starts import given_starts

TASK_CELLS = 1 << 16  # places in the rows of one task: a megabyte, worth a thread's while and yet near its core
TASK_ROWS = 1 << 14

_THREADS = Option("threads", int, None, "threads to walk with; None: one per core", low=1, high=1024, optional=True)


@dataclass(frozen=True)
class Job:
    """Hold what all tasks of one call share.

    Attributes:
        index: what the walkers read.
        config: how to walk.
        seed: the user's.
        key: of the random stream of the steps.
        max_length: where walks are cut.
        starts: (K,) occurrences to begin at, or None for all occurrences in random order.
        wanted: walks asked for.
        available: starts there are.
        threads: how many.
        cure: what to do where no walk is long enough.
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
        count = _THREADS.check(threads) or _cores()
        index = walk_index(graph, config.reach, config.direction, config.centrality)
        places = None if starts is None else given_starts(graph, starts)
        available = graph.num_occurrences if places is None else places.size
        wanted = config.num_walks if places is None else max(available, 1)
        cure = "lower min_length"
        if graph.bipartite and graph.directed:
            cure += ", or say directed=False: its targets never act, so walks end with the first step"
        return cls(index, config, int(seed), key, config.max_length, places, wanted, available, count, cure)

    def run(self, first: int, num: int, rows: Rows) -> tuple[Ints, Ints]:
        """Walk from starts first .. first + num - 1.

        Returns:
            The occurrences they were begun at, (num,), and which of the rows are long enough, ascending.
        """
        if self.starts is None:
            occurrences = np.empty(num, np.int64)
            kernels.shuffled(stream(self.seed, "starts"), first, self.available, occurrences)
        else:
            occurrences = self.starts[first : first + num]
        self.index.walk(occurrences, self.key, first, self.max_length, rows)
        return occurrences, np.flatnonzero(rows.length[:num] >= self.config.min_length)

    def check_some(self, made: int) -> None:
        """Complain where not a single walk can be had."""
        if made == 0 and (self.starts is None or self.available):
            expected = f"walks of at least {self.config.min_length} vertices"
            found = f"none from {self.available:,} starts"
            raise InputError("no walk is long enough", expected=expected, found=found, cure=self.cure)

    def note(self, made: int) -> str:
        """Say in plain words that there are fewer walks than were asked for."""
        asked = f" instead of {self.wanted:,}" if self.wanted != self.available else ""
        return (
            f"{made:,} walks{asked}: all {self.available:,} starts are used up, "
            f"{made / max(self.available, 1):.1%} of them give {self.config.min_length} vertices or more"
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(eq=False)
class _Task:
    """Hold one task: its number in order, its first start and how many, its rows, their starts and those to keep."""

    number: int
    first: int
    size: int
    rows: Rows
    starts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    hits: Ints = field(default_factory=lambda: np.empty(0, np.int64))


class Team:
    """Walk from starts first .. end - 1 and hand out, in order, the walks that are long enough.

    Every thread takes the next task, walks it, waits until it is known where its walks go, and copies them there itself
    while they are still near its core. Where they go is known as soon as all earlier tasks are walked.

    Args:
        job: what all tasks share.
        first: number of the first start.
        end: number of the first start that is left out.
        width: places of a walk to record.
    """

    def __init__(self, job: Job, first: int, end: int, width: int) -> None:
        self.job, self.end, self.width = job, end, width
        self.size = max(kernels.LANES, min(TASK_ROWS, TASK_CELLS // width))
        self.next_start = first
        self.used = first  # starts up to and including that of the last walk handed out
        self.pool = ThreadPoolExecutor(job.threads)
        self.spare: list[Rows] = []
        self.left: deque[_Task] = deque()  # walked, with walks that are not handed out yet
        self.turns = Condition()  # guards all that follows
        self.taken = self.placed = 0  # tasks
        self.arrays: tuple[Any, ...] = ()
        self.done = self.room = 0  # walks handed out into the arrays, and how many these can take
        self.look_on = self.closed = False

    def close(self) -> None:
        """Let the threads go, each after its task."""
        with self.turns:
            self.closed = True
            self.turns.notify_all()
        self.pool.shutdown()

    def fill(self, arrays: tuple[Any, ...], look_on: bool) -> int:
        """Fill arrays, in the order of the fields of `Walks`, as far as the walks go; return how many there were.

        Where `look_on` is set, the work goes on until it is known whether there are more: see `more`.
        """
        self.arrays, self.done, self.room, self.look_on = arrays, 0, arrays[0].shape[0], look_on
        for task in [self.left.popleft() for _ in range(len(self.left))]:
            self._copy(task, *self._share(task))
        work = [self.pool.submit(self._work) for _ in range(self.job.threads)]
        for each in work:
            each.result()
        return self.done

    def more(self) -> bool:
        """Tell whether a further walk is known."""
        return bool(self.left)

    def _work(self) -> None:
        """Do task after task, as long as there is something to do."""
        try:
            while (task := self._take()) is not None:
                task.starts, task.hits = self.job.run(task.first, task.size, task.rows)
                with self.turns:
                    while self.placed != task.number and not self.closed:
                        self.turns.wait()
                    share = self._share(task)
                    self.placed += 1
                    self.turns.notify_all()
                self._copy(task, *share)
        except BaseException:
            with self.turns:  # those who wait for this task's turn wait in vain
                self.closed = True
                self.turns.notify_all()
            raise

    def _take(self) -> _Task | None:
        """Take the next task; None where there is none, or nothing is to be done."""
        with self.turns:
            full = self.done == self.room and (bool(self.left) or not self.look_on)
            if self.closed or full or self.next_start >= self.end:
                return None
            rows = self.spare.pop() if self.spare else Rows.empty(self.size, self.width)
            task = _Task(self.taken, self.next_start, min(self.size, self.end - self.next_start), rows)
            self.taken += 1
            self.next_start += task.size
            return task

    def _share(self, task: _Task) -> tuple[int, Ints]:
        """Give a task its place in the arrays: where it begins, and which of its walks go there; the rest is left."""
        first, hits = self.done, task.hits[: self.room - self.done]
        task.hits = task.hits[hits.size :]
        self.done += hits.size
        if hits.size:
            self.used = task.first + int(hits[-1]) + 1
        if task.hits.size:
            self.left.append(task)
        return first, hits

    def _copy(self, task: _Task, first: int, hits: Ints) -> None:
        """Copy walks to where they go; what nothing is left of is free again."""
        backward = self.job.config.direction == "backward"
        kernels.keep_rows(task.rows.cells, task.rows.length, task.starts, hits, backward, first, *self.arrays)
        if not task.hits.size:
            with self.turns:
                self.spare.append(task.rows)


def lengths_of(job: Job, end: int) -> Iterator[Ints]:
    """Walk from starts 0 .. end - 1 and yield the lengths, task by task, (T,) each; nothing else is recorded."""

    def run(first: int) -> Ints:
        rows = Rows.empty(TASK_ROWS, 1)
        starts, _ = job.run(first, min(TASK_ROWS, end - first), rows)
        return rows.length[: starts.size]

    with ThreadPoolExecutor(job.threads) as pool:
        ahead: deque[Future[Ints]] = deque()
        for first in range(0, end, TASK_ROWS):
            ahead.append(pool.submit(run, first))
            if len(ahead) > 2 * job.threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
