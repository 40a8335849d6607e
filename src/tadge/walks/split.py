"""The paper's split (section 5.1): test walks first, their events leave the graph, training walks from what remains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tadge.arrays import PAD, Flags, Ints
from tadge.config import Option, WalkConfig
from tadge.errors import InputError, TadgeError
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks.build import match_times
from tadge.walks.kernels import shuffled
from tadge.walks.sampler import Walks, walks_from

_TEST_FRACTION = Option("test_fraction", float, 0.2, "fraction of starts and walks for test", low=0.0, high=1.0)


@dataclass(frozen=True, eq=False)
class WalkSplit:
    """Hold the paper's split.

    Attributes:
        test: walks on the whole graph; their events are indices into it.
        train: walks on `train_graph`; their events are indices into that one.
        train_graph: the graph without the events of the test walks, nodes and ids the same. ToV and ToE are those of
            the events that remain.
        train_events: (E',) int64, index in the whole graph of every event of `train_graph`.
        test_events: (T,) int64, ascending: the events of the whole graph that the test walks step over.
    """

    test: Walks
    train: Walks
    train_graph: TemporalGraph
    train_events: Ints
    test_events: Ints

    def original_events(self) -> Ints:
        """Return the events of the training walks as indices into the whole graph, (W, L), padded with PAD."""
        events = self.train.events
        return np.where(events == PAD, PAD, self.train_events[events])


def split_by_walks(
    graph: TemporalGraph,
    config: WalkConfig | None = None,
    seed: int = 0,
    *,
    test_fraction: float = 0.2,
    threads: int | None = None,
) -> WalkSplit:
    """Split a graph as the paper does: no event of a test walk is in the training graph or its walks.

    The occurrences are put in random order. The first `test_fraction` of them are the test starts, the others the
    training starts, so that no start serves both. Test walks are sampled on the whole graph, until they are
    `test_fraction` of `config.num_walks` or their starts are used up; then their events leave the graph, and the
    training walks are sampled in the same way from the training starts that still are occurrences of what remains.

    Args:
        graph: the events to split.
        config: how to walk, and how many walks both parts have together.
        seed: an integer from 0 up.
        test_fraction: between 0 and 1, both excluded.
        threads: threads to walk with; one per core by default.
    """
    config = config or WalkConfig()
    fraction = _TEST_FRACTION.check(test_fraction)
    num_test = round(config.num_walks * fraction)
    cut = round(graph.num_occurrences * fraction)
    if not (0 < num_test < config.num_walks and 0 < cut < graph.num_occurrences):
        expected = "walks and starts for both parts"
        found = f"{num_test:,} of {config.num_walks:,} walks from {cut:,} of {graph.num_occurrences:,} starts for test"
        raise InputError("the split leaves a part empty", expected=expected, found=found, cure="change test_fraction")
    order = np.empty(graph.num_occurrences, np.int64)
    shuffled(stream(seed, "split"), 0, order.size, order)

    test_config = replace(config, num_walks=num_test)
    test = walks_from(graph, test_config, seed, order[:cut], threads, "test walks")
    test_events = np.unique(test.events[test.events != PAD])
    remain = np.ones(graph.num_events, np.bool_)
    remain[test_events] = False
    train_graph, train_events = without_events(graph, remain)
    place = match_times(graph.tov_start, graph.tov_times, train_graph.tov_start, train_graph.tov_times)[order[cut:]]
    train_config = replace(config, num_walks=config.num_walks - num_test)
    train = walks_from(train_graph, train_config, seed, place[place >= 0], threads, "train walks")
    split = WalkSplit(test, train, train_graph, train_events, test_events)
    _check(split)
    return split


def without_events(graph: TemporalGraph, remain: Flags) -> tuple[TemporalGraph, Ints]:
    """Build the graph of the events that remain, (E,) True, and return their indices too; the nodes stay the same."""
    kept = np.flatnonzero(remain)
    weight = None if graph.weight is None else graph.weight[kept]
    rest = TemporalGraph.from_numbers(
        *(graph.src[kept], graph.dst[kept], graph.ids, graph.num_sources, graph.time[kept], weight),
        clock=graph.clock,
        directed=graph.directed,
        tov=graph.tov_rule,
        types=graph.types.take(kept),
    )
    return rest, kept


def _check(split: WalkSplit) -> None:
    """Check what the split promises."""
    leaked = np.intersect1d(split.original_events(), split.test_events).size
    if leaked or np.isin(split.train_events, split.test_events, assume_unique=True).any():
        raise TadgeError("the split leaks", expected="no test event in training", found=f"{leaked} events")
