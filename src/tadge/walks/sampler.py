"""Sample time-centrality-biased temporal walks (section 3 of the paper), at once or in a stream of bounded memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints, Nodes
from tadge.config import Option, WalkConfig
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks.kernels import WalkArrays
from tadge.walks.pool import Job, WalkPool, lengths_of

WALKS_PER_CHUNK = 100_000
NO_LIMIT = 1 << 62  # a length no walk reaches
SHOWN = 6  # walks that a notebook shows

_CHUNK = Option("chunk", int, WALKS_PER_CHUNK, "walks per chunk", low=1)
_SKIP_WALKS = Option("skip_walks", int, 0, "walks made before", low=0)
_SKIP_STARTS = Option("skip_starts", int, 0, "starts used for them", low=0)


@dataclass(frozen=True, eq=False)
class Walks:
    """Hold walks, one per row, times ascending, padded at the end.

    A backward walk is stored in the order of time too: it ends in its start.

    Attributes:
        nodes: (W, L) int32, PAD at the end.
        tov: (W, L) float64 days, when each was reached; NaN at the end.
        events: (W, L) int64, index of the event stepped over to get here from the previous node; PAD at the first
            node and at the end.
        lengths: (W,) int64, nodes in each walk.
        starts: (W,) int64, the occurrence (index in `graph.tov_times`) each walk began at.
        config: how they were walked.
        seed: with what seed.
        starts_used: starts tried up to and including that of the last walk, or all there were.
        complete: as many walks as were asked for.
        note: a sentence about the count; empty where there is nothing to say.
        given_toe: (W, L) float64 days, ToEs to take instead of the days since the previous node; None: none.
    """

    nodes: Nodes
    tov: Days
    events: Ints
    lengths: Ints
    starts: Ints
    config: WalkConfig
    seed: int
    starts_used: int
    complete: bool
    note: str = ""
    given_toe: Days | None = None

    def __len__(self) -> int:
        return int(self.lengths.size)

    @cached_property
    def toe(self) -> Days:
        """Give the days since the previous node, or those given, (W, L) float64; NaN at the first and at the end."""
        return np.diff(self.tov, axis=1, prepend=np.nan) if self.given_toe is None else self.given_toe

    def take(self, rows: Ints) -> Walks:
        """Keep some of the walks, by their indices."""
        arrays = {name: getattr(self, name)[rows] for name in ("nodes", "tov", "events", "lengths", "starts")}
        given = None if self.given_toe is None else self.given_toe[rows]
        return replace(self, **arrays, given_toe=given)

    def __repr__(self) -> str:
        length = f", {self.lengths.mean():.2f} nodes on average" if len(self) else ""
        return f"Walks({len(self):,} walks from {self.starts_used:,} starts{length})"

    def _repr_html_(self) -> str:
        """Show the first walks in a notebook: node numbers, and the days from each to the next."""
        rows = []
        for nodes, toe, length in zip(self.nodes[:SHOWN], self.toe[:SHOWN], self.lengths[:SHOWN], strict=True):
            steps = [
                str(nodes[0]),
                *(f"{days:,.4g} days &rarr; {node}" for node, days in zip(nodes[1:], toe[1:], strict=True)),
            ]
            rows.append(f"<tr><td>{' &rarr; '.join(steps[:length])}</td></tr>")
        return f"<p>{escape(repr(self))}</p><table><tbody>{''.join(rows)}</tbody></table>"


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
        seed: an integer from 0 up.
        starts: begin here instead, in this order: (K,) places in `graph.tov_times`, or a pair of (K,) node numbers and
            (K,) ToVs. Every start is used once, whatever `num_walks` says.
        threads: threads to walk with; one per core by default.
    """
    job = Job.prepare(graph, config or WalkConfig(), seed, starts, threads)
    return _all(job)


def iter_walks(
    graph: TemporalGraph,
    config: WalkConfig | None = None,
    seed: int = 0,
    *,
    starts: Any = None,
    threads: int | None = None,
    chunk: int = WALKS_PER_CHUNK,
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
    job = Job.prepare(graph, config or WalkConfig(), seed, starts, threads)
    return _filled(job, _CHUNK.check(chunk), _SKIP_WALKS.check(skip_walks), _SKIP_STARTS.check(skip_starts))


def walks_from(
    graph: TemporalGraph, config: WalkConfig, seed: int, starts: Ints, threads: int | None, name: str
) -> Walks:
    """Sample walks as `sample_walks` does, from these starts in this order, with a random stream of its own name."""
    job = Job.prepare(graph, config, seed, starts, threads)
    job = replace(job, wanted=config.num_walks, key=stream(seed, name))
    return _all(job)


def task_lengths(
    graph: TemporalGraph, config: WalkConfig, seed: int, num_starts: int, threads: int | None
) -> Iterator[Ints]:
    """Yield the lengths of uncut walks from the first `num_starts` starts, task by task, (T,) each; no row is kept."""
    return lengths_of(replace(Job.prepare(graph, config, seed, None, threads), max_length=NO_LIMIT), num_starts)


# -- the work ---------------------------------------------------------------------------------------------------------


def _all(job: Job) -> Walks:
    """Return the walks of a job in one piece; an error where there are none."""
    chunks = _chunks(job, job.wanted, 0, 0)
    walks = next(chunks)
    chunks.close()
    job.check_some(len(walks))
    return walks


def _filled(job: Job, chunk: int, made: int, first: int) -> Iterator[Walks]:
    """Yield chunks that hold walks; an error where there are none at all."""
    if made >= job.wanted:
        return
    for walks in _chunks(job, chunk, made, first):
        made += len(walks)
        job.check_some(made)
        if len(walks):
            yield walks


def _chunks(job: Job, chunk: int, made: int, first: int) -> Generator[Walks]:
    """Yield chunks of the walks that are long enough, at least one; the last may be short or empty."""
    pool = WalkPool(job, first, job.available, job.config.max_length)
    more = True
    try:
        while more:
            size = max(0, min(chunk, job.wanted - made, job.available - pool.used))
            arrays = _empty_arrays(size, job.config.max_length)
            done = pool.fill(arrays, peek_for_more=made + size < job.wanted)  # the last chunk knows that it is the last
            made += done
            complete = made >= job.wanted
            more = not complete and pool.more()
            used = pool.used if more or complete else job.available
            if done < size:
                arrays = WalkArrays._make(array[:done].copy() for array in arrays)
            yield Walks(*arrays, job.config, job.seed, used, complete, "" if more or complete else job.note(made))
    finally:
        pool.close()


def _empty_arrays(size: int, width: int) -> WalkArrays:
    """Make uninitialised arrays for walks."""
    shape = (size, width)
    rows = np.empty(shape, np.int32), np.empty(shape), np.empty(shape, np.int64)
    return WalkArrays(*rows, np.empty(size, np.int64), np.empty(size, np.int64))
