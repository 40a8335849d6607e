"""Plant anomalies into a graph, so that it is known which events a detector should find.

The laws of the incidents are in `tadge.synthetic.incidents`. Nothing gives them away by how they are written: their
nodes are nodes of the graph, active in the period; their times lie on its grid (only moments that other events have,
where moments are shared by most); among events of one moment they stand anywhere; their weights are weights of the
graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
import numpy.typing as npt

from tadge.arrays import PAD, Flags, Ints, Nodes
from tadge.config import check_options, option
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.graph.inputs import check_kind
from tadge.seeding import check_seed
from tadge.synthetic.incidents import Incident, Scene, make_burst, make_chain, make_take_over

KINDS = ("chain", "take-over", "burst")
MOST_FRACTION = 0.02  # of the events of the graph: no more are planted
SPREAD = 0.3  # sizes of incidents are up to this fraction smaller or larger
TRIES = 100  # nodes that are tried for one incident
_MAKERS: tuple[Callable[[Scene, int, int], Incident | None], ...] = (make_chain, make_take_over, make_burst)


@dataclass(frozen=True)
class AnomalyConfig:
    """Set how many anomalies are planted, and where."""

    chains: int = option(20, "number of chains: in to a node, out to strangers within hours, and on", low=0)
    take_overs: int = option(20, "number of nodes that act like another for a while", low=0)
    bursts: int = option(20, "number of nodes that link many times within an hour to strangers", low=0)
    size: int = option(10, "events of an incident, on average", low=7, high=10_000)
    last_fraction: float = option(
        0.15, "fraction of the events, the last ones, among which they are planted", low=1e-3, high=0.9
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.chains + self.take_overs + self.bursts:
            raise ConfigError("nothing to plant", expected="chains, take_overs or bursts above 0", found="none")


@dataclass(frozen=True, eq=False, repr=False)
class Planted:
    """Hold a graph with planted anomalies, and which of its events they are.

    Attributes:
        graph: all events; without the planted ones they are those of the former graph, in their order. ToV and ToE
            are those that follow from all of them.
        mask: (E,) bool, whether an event was planted.
        kind: (E,) int8, the place of its kind in `KINDS`; -1 where it was not planted.
        incident: (E,) int32, the number of its incident; -1 where it was not planted.
        config: the options.
        seed: the seed they were drawn from.
    """

    graph: TemporalGraph
    mask: Flags
    kind: npt.NDArray[np.int8]
    incident: Nodes
    config: AnomalyConfig
    seed: int

    def __post_init__(self) -> None:
        for array in (self.mask, self.kind, self.incident):
            array.flags.writeable = False

    @property
    def num_incidents(self) -> int:
        """Count the incidents."""
        return int(self.incident.max(initial=PAD)) + 1

    def __repr__(self) -> str:
        planted = f"{np.count_nonzero(self.mask):,} events of {self.num_incidents:,} incidents planted"
        return f"Planted({self.graph!r}, {planted}, seed {self.seed})"


def plant_anomalies(
    graph: TemporalGraph,
    *,
    chains: int = AnomalyConfig.chains,
    take_overs: int = AnomalyConfig.take_overs,
    bursts: int = AnomalyConfig.bursts,
    size: int = AnomalyConfig.size,
    last_fraction: float = AnomalyConfig.last_fraction,
    seed: int = 0,
) -> Planted:
    """Plant anomalies into the last part of a graph; see `tadge.synthetic.incidents` for their laws.

    At most 2% as many events are planted as the graph has: where more are asked for, there are fewer incidents of each
    kind. Nodes of chains are drawn from those that act and are linked to, those of take-overs and bursts from those
    that had acted at least 3 times before the period and do so in it, each as likely, one after the other.

    Args:
        graph: a directed graph; a bipartite one can have no chains.
        chains: how many nodes pass on what comes in, within hours, to several nodes that they never link to, and these
            to others.
        take_overs: how many nodes act like another for a while, while their own acts go on.
        bursts: how many nodes link many times, within minutes or an hour, to 1 to 3 targets they hardly ever link to.
        size: events of an incident, on average.
        last_fraction: of the events, the last ones: the period.
        seed: the same seed plants the same events.
    """
    config = AnomalyConfig(chains, take_overs, bursts, size, last_fraction)
    check_kind(graph, TemporalGraph, "graph")
    if not graph.directed:
        cure = "build it with directed=True"
        raise InputError("who acts is not known", expected="a directed graph", found="an undirected one", cure=cure)
    first = min(round(graph.num_events * (1 - config.last_fraction)), graph.num_events - 1)
    scene = Scene(graph, first, np.random.default_rng(check_seed(seed)))
    kinds, incidents = _draw_incidents(scene, config)
    order, planted = _weave(graph, incidents, scene.rng)
    sizes = [incident.src.size for incident in incidents]
    is_planted = order >= graph.num_events
    number = np.where(is_planted, order - graph.num_events, 0)
    weight = None if graph.weight is None else np.concatenate([graph.weight, planted.weight])[order]
    types = graph.types.followed_by(graph.types.drawn(planted.src.size, scene.rng)).take(order)
    return Planted(
        graph=TemporalGraph.from_numbers(
            np.concatenate([graph.src, planted.src.astype(np.int32)])[order],
            np.concatenate([graph.dst, planted.dst.astype(np.int32)])[order],
            graph.ids,
            graph.num_sources,
            np.concatenate([graph.time, planted.time])[order],
            weight,
            clock=graph.clock,
            tov=graph.tov_rule,
            types=types,
        ),
        mask=is_planted,
        kind=np.where(is_planted, np.repeat(kinds, sizes)[number], PAD).astype(np.int8),
        incident=np.where(is_planted, np.repeat(np.arange(len(sizes)), sizes)[number], PAD).astype(np.int32),
        config=config,
        seed=seed,
    )


def _draw_incidents(scene: Scene, config: AnomalyConfig) -> tuple[list[int], list[Incident]]:
    """Draw incidents, one of each kind after the other, until all are drawn or there is no room for more."""
    counts = (config.chains, config.take_overs, config.bursts)
    room = int(MOST_FRACTION * scene.graph.num_events)
    largest = math.floor(config.size * (1 + SPREAD)) + 1
    needed = math.ceil(largest * sum(count > 0 for count in counts) / MOST_FRACTION)
    if scene.graph.num_events < needed:
        expected, found = f"at least {needed:,} for one incident of each kind", f"{scene.graph.num_events:,}"
        raise InputError("too few events to hide anomalies in", expected=expected, found=found, cure="lower size")
    nodes = [_nodes(scene, kind) if count else cycle(()) for kind, count in enumerate(counts)]
    wanted = [kind for turn in range(max(counts)) for kind, count in enumerate(counts) if turn < count]
    pairs: set[tuple[int, int]] = set()
    kinds: list[int] = []
    incidents: list[Incident] = []
    for kind in wanted:
        if room < largest:
            break
        incidents.append(_draw_incident(scene, kind, nodes[kind], config.size, pairs))
        kinds.append(kind)
        room -= incidents[-1].src.size
    return kinds, incidents


def _nodes(scene: Scene, kind: int) -> Iterator[int]:
    """Put the nodes that may have an incident of a kind in random order, again and again."""
    nodes: Ints = scene.relays if KINDS[kind] == "chain" else scene.actors
    if not nodes.size:
        raise _no_node(scene.graph, kind)
    return cycle(scene.rng.permutation(nodes).tolist())


def _draw_incident(scene: Scene, kind: int, nodes: Iterator[int], size: int, pairs: set[tuple[int, int]]) -> Incident:
    """Draw one incident for the first node that can have it; its pairs join those of the incidents before.

    Where nobody in the graph links to the same node twice, no two incidents share a pair.
    """
    low, high = math.ceil(size * (1 - SPREAD)), math.floor(size * (1 + SPREAD))
    for node in islice(nodes, TRIES):
        incident = _MAKERS[kind](scene, node, int(scene.rng.integers(low, high + 1)))
        if incident is None:
            continue
        ends = set(zip(incident.src.tolist(), incident.dst.tolist(), strict=True))
        if scene.repeats or not ends & pairs:
            pairs |= ends
            return incident
    raise _no_node(scene.graph, kind)


def _no_node(graph: TemporalGraph, kind: int) -> InputError:
    option_name = ("chains", "take_overs", "bursts")[kind]
    expected = (
        "nodes that act and are linked to, and others that they never link to",
        "nodes that act before the period and in it, and others that do so often",
        "nodes that act before the period and in it",
    )[kind]
    found = "none in a bipartite graph" if graph.bipartite and KINDS[kind] == "chain" else "none"
    cure = f"say {option_name}=0"
    return InputError(f"no node for a {KINDS[kind]}", expected=expected, found=found, cure=cure, where=option_name)


def _weave(graph: TemporalGraph, incidents: list[Incident], rng: np.random.Generator) -> tuple[Ints, Incident]:
    """Put planted events among those of a graph; among events of one moment anywhere, each incident's in its order.

    Returns:
        The order: numbers of the graph's events, and of the planted ones counted on from there; the planted events.
    """
    planted = Incident(*(np.concatenate(column) for column in zip(*incidents, strict=True)))
    owner = np.repeat(np.arange(len(incidents)), [incident.src.size for incident in incidents])
    low, high = (np.searchsorted(graph.time, planted.time, side=side) for side in ("left", "right"))
    place = rng.integers(low, high + 1)  # the event of the graph that a planted one comes right before
    place = place[np.lexsort((place, planted.time, owner))]  # each incident is in order of time
    places = np.concatenate([np.arange(graph.num_events), place])
    time = np.concatenate([graph.time, planted.time])
    original = np.arange(places.size) < graph.num_events
    return np.lexsort((time, original, places)), planted
