"""The threads behind a call: they walk task after task and copy out what is kept; who does what never shows."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tadge.config import Option, WalkConfig
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.kernels import Ints
from tadge.seeding import stream
from tadge.walks import kernels
from tadge.walks.index import Rows, WalkIndex, walk_index
from tadge.walks.starts import given_starts

TASK_CELLS = 1 << 17  # places in the rows of one task: two megabytes, worth a thread's while and yet near its core
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
            cure += ", or take the graph as undirected: its targets never act, so walks end with the first step"
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
    """Hold one task: the number of its first start, its rows, what it found, and the copies made of it."""

    first: int
    rows: Rows
    walked: Future[tuple[Ints, Ints]]
    copies: list[Future[None]] = field(default_factory=list)


class Team:
    """Walk from starts first .. end - 1 and hand out, in order, the walks that are long enough.

    Args:
        job: what all tasks share.
        first: number of the first start.
        end: number of the first start that is left out.
        width: places of a walk to record.
    """

    def __init__(self, job: Job, first: int, end: int, width: int) -> None:
        self.job, self.end = job, end
        self.size = max(kernels.LANES, min(TASK_ROWS, TASK_CELLS // width))
        self.next_start = first
        self.used = first  # starts up to and including that of the last walk handed out
        self.wanted = job.wanted  # walks still to hand out
        self.looked = self.found = 1  # rows of finished tasks, and those of them that were long enough
        self.pool = ThreadPoolExecutor(job.threads)
        rows = min(2 * job.threads + 1, -(-max(end - first, 1) // self.size))
        self.spare = [Rows.empty(self.size, width) for _ in range(rows)]
        self.ahead: deque[_Task] = deque()
        self.behind: deque[_Task] = deque()
        self.task: _Task | None = None
        self.starts = self.hits = np.empty(0, np.int64)
        self.taken = 0  # of the hits

    def close(self) -> None:
        """Let the threads go; what is under way is finished, what is not is dropped."""
        self.pool.shutdown(cancel_futures=True)

    def next_task(self) -> bool:
        """Go on to the next task, and tell whether there is one."""
        if self.task is not None:
            self.behind.append(self.task)
            self.task = None
        self._launch()
        if not self.ahead:
            return False
        self.task = self.ahead.popleft()
        (self.starts, self.hits), self.taken = self.task.walked.result(), 0
        self.looked += self.starts.size
        self.found += self.hits.size
        return True

    def lengths(self) -> Ints:
        """Return the lengths of all walks of the task, (T,)."""
        assert self.task is not None
        return self.task.rows.length[: self.starts.size]

    def more(self) -> bool:
        """Tell whether there is a further walk that is long enough."""
        while self.taken == self.hits.size:
            if not self.next_task():
                return False
        return True

    def fill(self, arrays: tuple[Any, ...]) -> int:
        """Fill arrays, in the order of the fields of `Walks`, as far as the walks go; return how many there were."""
        done, room, copies = 0, arrays[0].shape[0], []
        backward = self.job.config.direction == "backward"
        while done < room and self.more():
            assert self.task is not None
            hits = self.hits[self.taken : self.taken + room - done]
            rows = self.task.rows
            copy = self.pool.submit(
                kernels.keep_rows, rows.cells, rows.length, self.starts, hits, backward, done, *arrays
            )
            self.task.copies.append(copy)
            copies.append(copy)
            self.taken += hits.size
            self.used = self.task.first + int(hits[-1]) + 1
            done += hits.size
            self.wanted -= hits.size
        for each in copies:
            each.result()
        return done

    def _launch(self) -> None:
        """Give the threads as many tasks as there are rows to write on, unless those ahead are likely to be enough."""
        while self.next_start < self.end:
            likely = len(self.ahead) * self.size * self.found / self.looked
            if self.ahead and likely > self.wanted:
                return
            oldest = self.behind[0].copies if self.behind else []
            if self.behind and (all(copy.done() for copy in oldest) or not (self.spare or self.ahead)):
                wait(oldest)
                self.spare.append(self.behind.popleft().rows)
            if not self.spare:
                return
            rows, first = self.spare.pop(), self.next_start
            num = min(self.size, self.end - first)
            self.ahead.append(_Task(first, rows, self.pool.submit(self.job.run, first, num, rows)))
            self.next_start += num
