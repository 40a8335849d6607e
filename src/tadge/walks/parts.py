"""Walks to learn from, to choose on and to test, with the static graph of each: what the paper gives all methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.config import WalkConfig
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks.sampler import Walks
from tadge.walks.split import WalkSplit, split_by_walks, without_events

PartName = Literal["learn", "choose", "test"]
PART_NAMES: tuple[PartName, ...] = ("learn", "choose", "test")
CHOOSE_FRACTION = 0.1  # of the training walks: nobody learns from them, whatever has to be chosen is chosen on them
FEWEST = 10  # walks with an edge in a part


@dataclass(frozen=True, eq=False)
class Part:
    """Hold one part of the paper's split.

    Attributes:
        walks: its walks; `walks.events` are indices into the whole graph.
        graph: the events that the walks step over, with the nodes and ids of the whole graph: its static graph.
    """

    walks: Walks
    graph: TemporalGraph

    @cached_property
    def nodes(self) -> Ints:
        """Give the nodes that stand in the walks, ascending."""
        return np.unique(self.walks.nodes[self.walks.nodes >= 0]).astype(np.int64)

    @cached_property
    def steps(self) -> tuple[Ints, Ints]:
        """Give the edges of the walks, (M,) each: the walk, and the step of the earlier end."""
        walk, step = np.nonzero(np.arange(self.walks.nodes.shape[1] - 1) < self.walks.lengths[:, None] - 1)
        return walk, step


@dataclass(frozen=True, eq=False)
class WalkParts:
    """Hold the paper's split of a graph into walks (section 5.1).

    Attributes:
        graph: the whole graph.
        split: test walks, and the training graph without their events.
        parts: "learn", "choose" and "test".
        seed: with what seed it was split.
    """

    graph: TemporalGraph
    split: WalkSplit
    parts: Mapping[PartName, Part]
    seed: int

    def __getitem__(self, name: PartName) -> Part:
        return self.parts[name]

    @property
    def shortfall(self) -> str:
        """Say how many walks there are where fewer were found than asked for; empty otherwise."""
        found = (("test", self.split.test), ("training", self.split.train))
        short = [
            f"{len(walks):,} {name} walks of {walks.config.num_walks:,}" for name, walks in found if not walks.complete
        ]
        return f"starts ran out: {' and '.join(short)} asked for" if short else ""


def walk_parts(graph: TemporalGraph, config: WalkConfig | None = None, seed: int = 0) -> WalkParts:
    """Split a graph into walks as the paper does; a tenth of the training walks are to choose on.

    A ToE belongs to its edge (Definition 1): the walks keep those of the whole graph, also where the event that the
    target had joined by has left with the test.
    """
    split = split_by_walks(graph, config, seed)
    order = np.random.default_rng(int(stream(seed, "parts"))).permutation(len(split.train))
    chosen = np.sort(order[: round(CHOOSE_FRACTION * order.size)])
    train = replace(split.train, events=split.original_events())
    walks: dict[PartName, Walks] = {
        "learn": train.take(np.delete(np.arange(order.size), chosen)),
        "choose": train.take(chosen),
        "test": split.test,
    }
    parts: dict[PartName, Part] = {}
    for name, given in walks.items():
        count = int(np.count_nonzero(given.lengths > 1))
        if count < FEWEST:
            expected, found = f"at least {FEWEST}", f"{count}"
            cure = "ask for more or shorter walks (num_walks, min_length), or use a longer history"
            raise InputError(f"too few walks with an edge to {name}", expected=expected, found=found, cure=cure)
        remain = np.zeros(graph.num_events, np.bool_)
        remain[given.events[given.events >= 0]] = True
        parts[name] = Part(replace(given, given_toe=_own_toe(graph, given)), without_events(graph, remain)[0])
    return WalkParts(graph, split, parts, seed)


def mean_rows(part: Part, rows: Vectors) -> Vectors:
    """Average the rows of each node over the walks of a part, (W, L, D), as (N, D); 0 where it has none."""
    present = part.walks.nodes >= 0
    nodes, vectors = part.walks.nodes[present], rows[present]
    order = np.argsort(nodes, kind="stable")
    first = np.searchsorted(nodes[order], part.nodes)
    means = np.zeros((part.graph.num_nodes, rows.shape[-1]), np.float32)
    means[part.nodes] = np.add.reduceat(vectors[order], first, axis=0) / np.bincount(nodes)[part.nodes, None]
    return means


def _own_toe(graph: TemporalGraph, walks: Walks) -> Days:
    """Look the ToE of every edge up in the whole graph, (W, L) days; NaN at the first node and at the end."""
    events = np.maximum(walks.events, 0)
    toe = graph.toe[events]
    if graph.toe_reverse is not None:  # the node stepped to is the one that acts
        toe = np.where(graph.src[events] == walks.nodes, toe, graph.toe_reverse[events])
    return np.where(walks.events >= 0, toe, np.nan)
