"""How nodes move: vectors as of several moments, beside how far others moved in the same time.

Distances are 1 less the cosine about the mean vector of all nodes as of the last moment, the same for all moments. A
node's vector is the mean over its latest occurrences, and an occurrence's vector never changes: so a node that had no
links does not move at all, and is no measure of anything. Those that had links are.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.config import LATEST
from tadge.embedding.inference import AsOf
from tadge.embedding.likeness import SHORTEST
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import find_end, past_of
from tadge.io.frames import data_frame
from tadge.seeding import stream
from tadge.units import dates_of_days

OTHERS = 64  # that had links in a step, at the most, whose movement is measured


class Movements(NamedTuple):
    """Hold how one node moved.

    Attributes:
        time: (S,) days of the moments.
        joinings: (S,) how often it joined anew since the moment before.
        moved: (S,) how far since the moment before; NaN at the first.
        typical: (S,) how far others moved that had links then, their median; NaN where there are none.
        surpassed: (S,) the fraction of those that moved less.
        from_start: (S,) how far from where it began.
        neighbour: (m,) node numbers of the nearest, then or now.
        then: (m,) their similarity at the first moment; NaN where they had not joined.
        now: (m,) that at the last.
    """

    time: Days
    joinings: Ints
    moved: Days
    typical: Days
    surpassed: Days
    from_start: Days
    neighbour: Ints
    then: Days
    now: Days


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Hold how nodes moved: two DataFrames.

    Attributes:
        steps: `id`, `time`, `joinings` since the moment before, how far it `moved` since then, the `typical` movement
            of others that had links then, the fraction of them that it `surpassed`, and how far it is
            `from_start`. Distances are from 0 to 2.
        neighbours: `id`, `neighbour`, similarity `then` and `now`, and their `change`: who came nearer stands first.
    """

    steps: Any
    neighbours: Any

    @classmethod
    def of(cls, graph: TemporalGraph, nodes: Ints, parts: list[Movements]) -> Trajectory:
        """Put the movements of nodes, (n,), into tables."""
        steps = {name: _joined([getattr(part, name) for part in parts]) for name in Movements._fields[:6]}
        near = {name: _joined([getattr(part, name) for part in parts]) for name in Movements._fields[6:]}
        if graph.clock == "unix":
            steps["time"] = dates_of_days(steps["time"])
        ids = graph.ids[nodes]
        near["neighbour"] = graph.ids[near["neighbour"].astype(np.int64)]
        return cls(
            data_frame({"id": np.repeat(ids, [part.time.size for part in parts]), **steps}),
            data_frame(
                {"id": np.repeat(ids, [part.then.size for part in parts]), **near, "change": near["now"] - near["then"]}
            ),
        )

    def __repr__(self) -> str:
        return f"Trajectory({len(self.steps):,} steps, {len(self.neighbours):,} neighbours)"

    def _repr_html_(self) -> str:
        """Show both tables in a notebook."""
        return f"<p>{escape(repr(self))}</p>{self.steps._repr_html_()}{self.neighbours._repr_html_()}"


def _joined(columns: list[Any]) -> Any:
    return np.concatenate([np.empty(0, columns[0].dtype if columns else None), *columns])


def movements(view: AsOf, whole: Vectors, node: int, moments: Days, k: int, seed: int) -> Movements:
    """Find how a node moved between moments, (S,), beside others.

    Args:
        view: what embeds the graph's nodes.
        whole: (N, D) vectors of all nodes as of the last moment.
        node: whom.
        moments: ascending days.
        k: how many of the nearest neighbours, then and now, are looked at.
        seed: draws the others.
    """
    centre = whole.mean(axis=0)
    path = _unit(view.nodes(np.full(moments.size, node), moments, LATEST.default) - centre)
    moved = np.append(np.nan, _distance(path[1:], path[:-1]))
    typical, surpassed = _others(view, centre, node, moments, moved, seed)
    start, times = view.graph.tov_start, view.graph.tov_times
    joined = find_end(start, times, np.full(moments.size, node), moments) - start[node]
    neighbour, then, now = _neighbours(view, whole, centre, node, moments, path, k)
    changes = np.diff(joined, prepend=0)
    return Movements(moments, changes, moved, typical, surpassed, _distance(path, path[:1]), neighbour, then, now)


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SHORTEST))


def _distance(one: Vectors, other: Vectors) -> Days:
    """Give 1 less the cosine of unit vectors, (n, D), as (n,): 0 exactly where they are the same, never less."""
    return np.asarray(((one - other).astype(np.float64) ** 2).sum(axis=1) / 2)


def _others(view: AsOf, centre: Vectors, node: int, moments: Days, moved: Days, seed: int) -> tuple[Days, Days]:
    """Measure others that joined anew in each step: (S,) medians, and fractions that moved less than the node."""
    start, times, rng = view.graph.tov_start, view.graph.tov_times, np.random.default_rng(int(stream(seed, "others")))
    nodes = np.arange(view.graph.num_nodes)
    ends = np.stack([find_end(start, times, nodes, np.full(nodes.size, moment)) for moment in moments])  # (S, N)
    typical, surpassed = np.full(moments.size, np.nan), np.full(moments.size, np.nan)
    chosen = []
    for step in range(1, moments.size):
        active = np.flatnonzero((ends[step] > ends[step - 1]) & (ends[step - 1] > start[:-1]) & (nodes != node))
        some = active if active.size <= OTHERS else np.sort(rng.choice(active, OTHERS, replace=False))
        chosen.append((step, some))
    asked = np.concatenate([np.empty(0, np.int64), *(np.tile(some, 2) for _, some in chosen)])
    at = np.concatenate([np.empty(0), *(np.repeat(moments[[step - 1, step]], some.size) for step, some in chosen)])
    vectors, first = _unit(view.nodes(asked, at, LATEST.default) - centre), 0
    for step, some in chosen:
        before, after = vectors[first : first + some.size], vectors[first + some.size : first + 2 * some.size]
        first += 2 * some.size
        if some.size:
            distance = _distance(after, before)
            typical[step], surpassed[step] = np.median(distance), np.mean(distance < moved[step])
    return typical, surpassed


def _neighbours(
    view: AsOf, whole: Vectors, centre: Vectors, node: int, moments: Days, path: Vectors, k: int
) -> tuple[Ints, Days, Days]:
    """Find the nearest neighbours then and now, and how near they were and are, (m,) each; nearer ones first."""
    others = np.flatnonzero(np.arange(len(whole)) != node)
    early = others[past_of(view.graph).first[others] <= moments[0]]
    now = (_unit(whole[others] - centre) @ path[-1]).astype(np.float64)
    vectors = view.nodes(early, np.full(early.size, moments[0]), LATEST.default)
    then = np.full(others.size, np.nan)
    then[np.searchsorted(others, early)] = _unit(vectors - centre) @ path[0]
    seen = past_of(view.graph).first[others] <= moments[-1]
    ranked = [np.argsort(-np.where(seen, now, -np.inf), kind="stable")[: min(k, int(seen.sum()))]]
    ranked.append(np.argsort(-np.nan_to_num(then, nan=-np.inf), kind="stable")[: min(k, early.size)])
    chosen = np.unique(np.concatenate(ranked))
    change = np.nan_to_num(now[chosen] - then[chosen], nan=np.inf)  # who was not there came nearer
    chosen = chosen[np.lexsort((chosen, -change))]
    return others[chosen], then[chosen], now[chosen]
