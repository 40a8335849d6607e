"""How long uncut walks get: the paper's "over 98% do not exceed the maximum"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tadge.arrays import Ints
from tadge.config import Option, WalkConfig
from tadge.graph import TemporalGraph
from tadge.walks.sampler import task_lengths

MOST_STARTS = 1_000_000

_STARTS = Option("num_starts", int, None, "starts to try; None: all, at most a million", low=1, optional=True)


@dataclass(frozen=True, eq=False)
class LengthReport:
    """Hold the lengths of uncut walks, the short ones included.

    Attributes:
        counts: (longest + 1,) int64, walks of each number of nodes.
        config: how they were walked; its lengths and number of walks were ignored.
        seed: with what seed.
    """

    counts: Ints
    config: WalkConfig
    seed: int

    @property
    def num_starts(self) -> int:
        """Count the walks, one from each start."""
        return int(self.counts.sum())

    @property
    def longest(self) -> int:
        """Return the length of the longest walk, in nodes."""
        return self.counts.size - 1

    def at_most(self, length: int) -> float:
        """Return the fraction of walks with at most this many nodes."""
        return float(self.counts[: length + 1].sum() / self.num_starts)

    def at_least(self, length: int) -> float:
        """Return the fraction of walks with at least this many nodes: of the starts that give such a walk."""
        return float(self.counts[length:].sum() / self.num_starts)

    def mean(self, min_length: int = 1, max_length: int | None = None) -> float:
        """Return the mean length of walks with at least `min_length` nodes, counted as `max_length` where longer."""
        counts = self.counts[min_length:]
        lengths = np.minimum(np.arange(min_length, self.counts.size), max_length or self.longest)
        return float((counts * lengths).sum() / counts.sum()) if counts.sum() else float("nan")

    def __str__(self) -> str:
        lines = [f"uncut walks from {self.num_starts:,} starts ({self.config.reach}, {self.config.direction})"]
        shown = [n for n in (1, 2, 3, 4, 5, 7, 10, 20, 50, 100, 1_000) if n < self.longest] + [self.longest]
        lines += [f"  at most {n:>6,} nodes  {self.at_most(n):8.3%}" for n in shown]
        least, cut = self.config.min_length, self.config.max_length
        line = f"  {self.at_least(least):.1%} have at least {least}"
        if self.counts[least:].any():
            line += f", on average {self.mean(least, cut):.2f} when cut at {cut}"
        lines.append(line)
        return "\n".join(lines)


def uncut_length_distribution(
    graph: TemporalGraph,
    config: WalkConfig | None = None,
    seed: int = 0,
    *,
    num_starts: int | None = None,
    threads: int | None = None,
) -> LengthReport:
    """Walk from many starts until every walk ends by itself, and report the lengths.

    Args:
        graph: the events to walk on.
        config: how to walk; lengths and number of walks are ignored, except to be shown in the report.
        seed: as in `sample_walks`: the same starts and steps.
        num_starts: starts to try, without replacement; all of them by default, at most a million.
        threads: threads to walk with; one per core by default.
    """
    config = config or WalkConfig()
    most = min(_STARTS.check(num_starts) or MOST_STARTS, graph.num_occurrences)
    counts = np.zeros(1, np.int64)
    for lengths in task_lengths(graph, config, seed, most, threads):
        more = np.bincount(lengths)
        if more.size > counts.size:
            counts, more = more.astype(np.int64), counts
        counts[: more.size] += more
    return LengthReport(counts, config, seed)
