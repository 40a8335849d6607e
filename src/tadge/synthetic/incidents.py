"""The laws of planted incidents: chains, take-overs and bursts; each gives a few events that fit into a graph.

What is common to all: an incident lies in the last part of the graph (the period). It begins at a moment between two
events of the period drawn at random, so that it is likelier where much happens, and ends before the last event; where
it would be longer than the period it is shortened in proportion. Targets are drawn as those of random events of the
period, so popular ones are as likely as they are in the graph, among nodes that had been linked to before. Weights are
drawn from what the source had done before. Times lie on the graph's grid. Where nobody in the graph links to the same
node twice, nobody does so in an incident.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tadge.arrays import Days, Ints
from tadge.graph import TemporalGraph
from tadge.graph.past import Past, past_of
from tadge.units import PER_DAY, to_days

MOST_TICKS = 2.0**53  # microseconds that float64 can count
TIED = 0.5  # where there are fewer distinct moments than this fraction of the events, only they are used
PAST_ACTS = 3  # acts before the period of a node that is taken over or has a burst
DRAWS = 64  # candidates drawn at once
PASSES_ON = 2  # targets of each node in the second layer of a chain
DELAY = 2 / 24  # days: mean delay of a chain between what comes in and what goes out
BURST_MINUTES = 5.0, 60.0
BURST_SPEED = 10.0  # a burst is at least so many times as quick as its node usually is
MODELS = 8  # random nodes of which a take-over copies the one least like its node
CHOICES = 8  # random targets of which a burst takes the one its node linked to least


class Incident(NamedTuple):
    """Hold the events of one incident, (n,) each, in order of time."""

    src: Ints
    dst: Ints
    time: Days
    weight: Days  # NaN where the graph has none


@dataclass(frozen=True, eq=False)
class Scene:
    """Hold what incidents are drawn from.

    Attributes:
        graph: the graph.
        first: the first event of the period.
        rng: the only source of randomness.
    """

    graph: TemporalGraph
    first: int
    rng: np.random.Generator

    @property
    def past(self) -> Past:
        """Give the index of the graph's events."""
        return past_of(self.graph)

    @property
    def begin(self) -> float:
        """Give the first moment of the period."""
        return float(self.graph.time[self.first])

    @property
    def end(self) -> float:
        """Give the last moment of the graph."""
        return float(self.graph.time[-1])

    @cached_property
    def acts(self) -> Ints:
        """Count the acts of each node in the period, (N,)."""
        return np.bincount(self.graph.src[self.first :], minlength=self.graph.num_nodes)

    @cached_property
    def actors(self) -> Ints:
        """List the nodes that act in the period and had done so before it."""
        before = np.bincount(self.graph.src[: self.first], minlength=self.graph.num_nodes)
        return np.flatnonzero((self.acts > 0) & (before >= PAST_ACTS))

    @cached_property
    def relays(self) -> Ints:
        """List the nodes that are active in the period, and had both acted and been linked to before it."""
        before, later = (slice(None, self.first), slice(self.first, None))
        num_nodes = self.graph.num_nodes
        acted, linked = (
            np.bincount(ends[before], minlength=num_nodes) > 0 for ends in (self.graph.src, self.graph.dst)
        )
        active = np.bincount(self.graph.dst[later], minlength=num_nodes) + self.acts > 0
        return np.flatnonzero(acted & linked & active)

    @cached_property
    def copyable(self) -> Ints:
        """List the events of the period whose targets had been seen before it."""
        return self.first + np.flatnonzero(self.past.first[self.graph.dst[self.first :]] < self.begin)

    @cached_property
    def repeats(self) -> bool:
        """Tell whether any node links to another more than once."""
        return self.past.pairs.target.size < self.graph.num_events

    @cached_property
    def step(self) -> int | None:
        """Find the coarsest step, in whole microseconds, on which all times lie; None without one."""
        time = self.graph.time
        if np.abs(time).max() * PER_DAY["us"] > MOST_TICKS:
            return None
        ticks = np.round(time * PER_DAY["us"])
        step = int(np.gcd.reduce((ticks - ticks[0]).astype(np.int64)))
        return step if step > 1 or np.array_equal(to_days(ticks, "us"), time) else None

    @cached_property
    def moments(self) -> Days | None:
        """List the distinct moments of the period where events share them; None where most have their own."""
        few = self.graph.num_moments < TIED * self.graph.num_events
        return np.unique(self.graph.time[self.first :]) if few else None

    def place(self, offsets: Days) -> Days:
        """Find times for events from their days since the incident's begin, (n,), the smallest of which is 0."""
        room, length = self.end - self.begin, float(offsets.max())
        if length > room:
            offsets, length = offsets * (room / length), room
        time = self.graph.time
        last = int(np.searchsorted(time, self.end - length, side="right"))
        event = int(self.rng.integers(self.first, max(last, self.first + 1)))
        following = float(time[min(event + 1, time.size - 1)])
        start = float(time[event]) + self.rng.random() * (following - float(time[event]))
        return self._snap(np.clip(min(start, self.end - length) + offsets, self.begin, self.end))

    def _snap(self, time: Days) -> Days:
        """Bring times onto the grid of the graph."""
        if self.moments is not None:
            after = np.searchsorted(self.moments, time).clip(1, max(self.moments.size - 1, 1))
            low, high = self.moments[after - 1], self.moments[np.minimum(after, self.moments.size - 1)]
            return np.asarray(np.where(time - low < high - time, low, high))
        if self.step:
            begin = round(self.begin * PER_DAY["us"])
            steps = np.round((time * PER_DAY["us"] - begin) / self.step)
            time = to_days(begin + steps * self.step, "us")
        return np.asarray(np.clip(time, self.begin, self.end))

    def draw_targets(self, node: int, at: float) -> Ints:
        """Draw targets of random events of the period, (n,), that had been linked to by a moment and are not `node`."""
        targets = self.graph.dst[self.rng.integers(self.first, self.graph.num_events, DRAWS)].astype(np.int64)
        return np.asarray(targets[(targets != node) & (self.past.count_incoming(targets, at) > 0)])

    def draw_strangers(self, node: int, at: float, count: int, taken: set[int], *, acting: bool) -> list[int]:
        """Draw up to `count` distinct targets that a node never links to, and that are not taken.

        Args:
            node: the source.
            at: the moment by which they had been linked to.
            count: how many.
            taken: nodes to leave out; those that are drawn join them.
            acting: whether they must have acted by that moment too.
        """
        targets = self.draw_targets(node, at)
        strange = self.past.count_links(node, targets, np.inf) == 0
        if acting:
            strange &= self.past.count_outgoing(targets, at) > 0
        chosen = [target for target in dict.fromkeys(targets[strange].tolist()) if target not in taken][:count]
        taken.update(chosen)
        return chosen

    def draw_weights(self, src: Ints, time: Days) -> Days:
        """Draw a weight for each event from what its source, which had acted, had done by then, (n,)."""
        if self.graph.weight is None:
            return np.full(src.size, np.nan)
        count = self.past.count_outgoing(src, time)
        place = self.past.outgoing.start[src] + (self.rng.random(src.size) * count).astype(np.int64)
        return np.asarray(self.graph.weight[self.past.outgoing.reading[place]])


def make_chain(scene: Scene, node: int, size: int) -> Incident | None:
    """Let something come in to a node, and go out within hours to nodes it never links to, which pass it on once more.

    The first event is an act towards the node of a random source of the period that had acted before. After an
    exponential delay each, 2 hours in the mean, the node links to (size - 1) / 3 nodes, at least 2, that act too; after
    another such delay each of them links to 2 more. No node links to one that it links to anywhere in the graph, and
    all targets differ.

    Returns:
        The incident; None where the node has fewer than 2 such targets.
    """
    width = max(2, round((size - 1) / 3))
    out = scene.rng.exponential(DELAY, width)
    further = out[:, None] + scene.rng.exponential(DELAY, (width, PASSES_ON))
    time = scene.place(np.concatenate([[0.0], out, further.ravel()]))
    payer = int(scene.graph.src[scene.rng.integers(scene.first, scene.graph.num_events)])
    taken = {node, payer}
    receivers = scene.draw_strangers(node, float(time[0]), width, taken, acting=True)
    fits = scene.repeats or scene.past.count_links(payer, node, np.inf) == 0
    fits &= (scene.past.count_outgoing(payer, time[0]) > 0) & (payer != node)
    if not fits or len(receivers) < 2:
        return None
    events = [(payer, node, time[0])]
    for place, receiver in enumerate(receivers):
        events.append((node, receiver, time[1 + place]))
        when = time[1 + width + place * PASSES_ON :][:PASSES_ON]
        strangers = scene.draw_strangers(receiver, float(time[0]), PASSES_ON, taken, acting=False)
        events += [(receiver, stranger, moment) for stranger, moment in zip(strangers, when, strict=False)]
    src, dst, moments = (np.array(column) for column in zip(*events, strict=True))
    order = np.argsort(moments, kind="stable")
    src, dst, moments = src[order], dst[order], moments[order]
    return Incident(src, dst, moments, scene.draw_weights(src, moments))


def make_take_over(scene: Scene, node: int, size: int) -> Incident | None:
    """Let a node act like another for a while: its targets, its pace, its weights; the node's own acts go on.

    Copied are `size` acts in a row of another node in the period, of those towards nodes that had been seen before it
    (all of them, at least 3, where nobody has so many), moved to another time, the source replaced. Of 8 random nodes
    it is the one whose targets the node links to least. Acts towards the node itself are left out.

    Returns:
        The incident; None where fewer than 3 acts are left.
    """
    graph, links = scene.graph, scene.past.count_links
    source = graph.src[scene.copyable]
    counts = np.bincount(source, minlength=graph.num_nodes)
    counts[node] = 0
    busy = np.flatnonzero(counts >= size)
    models = busy if busy.size > 1 else np.flatnonzero(counts >= 3)
    stretches = []
    for model in scene.rng.choice(models, min(MODELS, models.size), replace=False) if models.size else ():
        acts = scene.copyable[source == model]
        stretches.append(acts[int(scene.rng.integers(max(acts.size - size, 0) + 1)) :][:size])
    if not stretches:
        return None
    known = [np.mean(links(node, graph.dst[stretch], np.inf) > 0) for stretch in stretches]
    acts = stretches[int(np.argmin(known))]
    time = scene.place(graph.time[acts] - graph.time[acts[0]])
    dst = graph.dst[acts].astype(np.int64)
    kept = dst != node
    if not scene.repeats:
        kept &= links(node, dst, np.inf) == 0
    if np.count_nonzero(kept) < 3:
        return None
    weight = np.full(acts.size, np.nan) if graph.weight is None else graph.weight[acts]
    return Incident(np.full(acts.size, node)[kept], dst[kept], time[kept], weight[kept])


def make_burst(scene: Scene, node: int, size: int) -> Incident | None:
    """Let a node link `size` times within a short time to 1 to 3 targets that it rarely or never links to.

    It takes from 5 minutes to an hour, evenly in the log, but at most a tenth of the time in which the node acts so
    often on average; times within it are uniform. Each target is, of 8 drawn, the one the node links to least. In a
    graph where nobody links to the same node twice, every event has a target of its own.

    Returns:
        The incident; None where there are no such targets.
    """
    past, rng = scene.past, scene.rng
    own = past.outgoing.time[past.outgoing.start[node] : past.outgoing.start[node + 1]]
    usual = size * float(own[-1] - own[0]) / (own.size - 1)
    low, high = map(math.log, BURST_MINUTES)
    length = min(math.exp(rng.uniform(low, high)) / PER_DAY["min"], usual / BURST_SPEED)
    offsets = np.sort(rng.random(size)) * length
    time = scene.place(offsets - offsets[0])
    dst = _burst_targets(scene, node, float(time[0]), size)
    if dst is None:
        return None
    src = np.full(size, node)
    return Incident(src, dst, time, scene.draw_weights(src, time))


def _burst_targets(scene: Scene, node: int, at: float, size: int) -> Ints | None:
    if not scene.repeats:
        strangers = scene.draw_strangers(node, at, size, {node}, acting=False)
        return np.array(strangers) if len(strangers) == size else None
    draws = [scene.draw_targets(node, at)[:CHOICES] for _ in range(int(scene.rng.integers(1, 4)))]
    links = scene.past.count_links
    targets = [int(drawn[np.argmin(links(node, drawn, np.inf))]) for drawn in draws if drawn.size]
    return scene.rng.choice(np.array(targets), size) if targets else None
