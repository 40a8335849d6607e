"""GraphSAGE: a graph network that is trained on one static graph and applied to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.arrays import Ints, Nodes, Vectors
from tadge.baselines.of_parts import DIM, NodeVectors
from tadge.deepwalk.initialise import DEEPWALK, initial_vectors, static_links
from tadge.deepwalk.static import neighbour_lists, uniform_walks
from tadge.errors import ConfigError
from tadge.graph import TemporalGraph
from tadge.graph.views import only_seen, seen_nodes
from tadge.network.graph_attention import geometric_layers
from tadge.seeding import seeded, stream
from tadge.walks.parts import Part, PartName, WalkParts

Aggregator = Literal["gcn", "mean", "pool", "lstm"]
AGGREGATORS: tuple[Aggregator, ...] = get_args(Aggregator)
Features = Literal["random", "degree", "deepwalk"]

SAMPLES = (25, 10)  # most neighbours that a node hears, in the first and in the second layer
WALK_STEPS = 5  # a node is to be like those that a walk of so many steps from it meets
NEGATIVES = 20  # weight of the negatives beside each of these
DRAWN = 512  # negatives drawn per step, in proportion to the degree to the power of NOISE
NOISE = 0.75
STEPS = 50  # gradient steps, each with one walk from every node
RATE = 0.001  # of 0.0001, 0.001 and 0.01 the best on the part to choose on, on the paper's smallest data set
GRAD_LIMIT = 1.0


@dataclass(frozen=True)
class SageConfig:
    """Hold how GraphSAGE learns; samples, walks and negatives are its own paper's.

    Attributes:
        aggregators: those that are tried; kept is the one by which most nodes of the part "choose" have a neighbour as
            the node nearest to them.
        features: of the nodes, which have none of their own: "random", a fixed random vector per node; "degree", how
            many neighbours it has in the part; "deepwalk", its DeepWalk vector in the static graph of the part.
        steps: gradient steps.
        rate: learning rate of Adam.
    """

    aggregators: tuple[Aggregator, ...] = AGGREGATORS
    features: Features = "random"
    steps: int = STEPS
    rate: float = RATE

    def __post_init__(self) -> None:
        known = (("aggregators", self.aggregators, AGGREGATORS), ("features", (self.features,), get_args(Features)))
        for name, given, choices in known:
            if not given or not set(given) <= set(choices):
                expected = f"some of {', '.join(choices)}"
                raise ConfigError("unknown choice", expected=expected, found=repr(given), where=name)


class StaticGraph(NamedTuple):
    """Hold the neighbours of nodes that have an event, and their features.

    Attributes:
        nodes: (n,) their numbers in the whole graph.
        start: (n + 1,) where the neighbours of each begin.
        neighbours: (2M,) their neighbours, as places in `nodes`.
        features: (n, F).
    """

    nodes: Ints
    start: Ints
    neighbours: Nodes
    features: Tensor


class GraphSAGE(NodeVectors):
    """Train two layers on the static graph of "learn"; embed other parts by the same weights (Hamilton et al., 2017).

    The loss needs no labels: nodes that meet on short random walks are to be alike, and unlike nodes drawn at random.
    It needs PyTorch Geometric (`pip install 'tadge[gnn]'`).

    Args:
        seed: the same seed gives the same vectors.
        dim: their width.
        config: how it learns.

    Attributes:
        hits_: by aggregator, the fraction of nodes of the part "choose" to which a neighbour is nearest by cosine.
        aggregator_: the one with the most.
        model_: its layers.
    """

    name = "GraphSAGE"

    def __init__(self, seed: int = 0, dim: int = DIM, config: SageConfig | None = None) -> None:
        super().__init__(seed, dim)
        self.config = config or SageConfig()

    def _learn(self, parts: WalkParts) -> None:
        geometric_layers(self.name)
        learn, choose = (self._static(parts[name], name) for name in ("learn", "choose"))
        models = {kind: self._train(kind, learn) for kind in self.config.aggregators}
        self.hits_ = {
            kind: nearest_hits(self._apply(model, choose, "choose"), choose) for kind, model in models.items()
        }
        self.aggregator_ = max(self.hits_, key=lambda kind: self.hits_[kind])
        self.model_ = models[self.aggregator_]

    def _train(self, kind: Aggregator, graph: StaticGraph) -> SampledLayers:
        width = graph.features.shape[1]
        model = seeded(lambda: SampledLayers(kind, width, self.dim), self.seed, f"GraphSAGE/{kind}")
        optimiser = torch.optim.Adam(model.parameters(), lr=self.config.rate)
        key = int(stream(self.seed, "GraphSAGE/steps"))  # the same walks and negatives for all aggregators
        for step in range(self.config.steps):
            loss = walk_loss(model, graph, np.random.default_rng([key, step]))
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), GRAD_LIMIT)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return model.eval()

    @torch.no_grad()
    def _apply(self, model: SampledLayers, graph: StaticGraph, name: PartName) -> Vectors:
        rng = np.random.default_rng(int(stream(self.seed, f"GraphSAGE/{name}")))
        return model(graph, rng).numpy()  # type: ignore[no-any-return]

    def _embed(self, part: Part, name: PartName) -> Vectors:
        graph = self._static(part, name)
        vectors = np.zeros((part.graph.num_nodes, self.dim), np.float32)
        vectors[graph.nodes] = self._apply(self.model_, graph, name)
        return vectors

    def _static(self, part: Part, name: PartName) -> StaticGraph:
        """Give the static graph of a part, with features."""
        nodes, small = seen_nodes(part.graph), only_seen(part.graph)
        start, neighbours = neighbour_lists(static_links(small), small.num_nodes)
        return StaticGraph(nodes, start, neighbours, torch.from_numpy(self._features(part.graph, name)[nodes]))

    def _features(self, graph: TemporalGraph, name: PartName) -> Vectors:
        if self.config.features == "random":
            return initial_vectors(graph.before(-np.inf), "random", self.dim, self.seed)
        if self.config.features == "deepwalk":
            return initial_vectors(graph, "deepwalk", self.dim, self._seed_of(name), plan=DEEPWALK)
        return np.log1p(graph.degree[:, None]).astype(np.float32)


class SampledLayers(nn.Module):
    """Combine every node with a sample of its neighbours, twice; the results have length 1.

    Args:
        kind: "gcn": the mean of neighbours and the node itself; "mean": the mean of neighbours, beside the node;
            "pool": the largest of each column of their images; "lstm": the last state after neighbours in random order.
        inner: width of the features.
        dim: width of both results.
    """

    def __init__(self, kind: Aggregator, inner: int, dim: int) -> None:
        super().__init__()
        self.kind = kind
        layer = geometric_layers("GraphSAGE").SAGEConv
        ways: dict[Aggregator, dict[str, Any]] = {
            "gcn": {"aggr": "mean", "root_weight": False},
            "mean": {"aggr": "mean"},
            "pool": {"aggr": "max", "project": True},
            "lstm": {"aggr": "lstm"},
        }
        self.layers = nn.ModuleList(layer(width, dim, **ways[kind]) for width in (inner, dim))

    def forward(self, graph: StaticGraph, rng: np.random.Generator) -> Tensor:
        """Embed all nodes of a graph, (n, dim); the generator draws which neighbours they hear."""
        x = graph.features
        for number, (layer, most) in enumerate(zip(self.layers, SAMPLES, strict=True)):
            links = sampled_links(graph.start, graph.neighbours, most, rng, itself=self.kind == "gcn")
            x = self._layer(layer, functional.relu(x) if number else x, links)
        return functional.normalize(x)

    def _layer(self, layer: nn.Module, x: Tensor, links: Ints) -> Tensor:
        """Apply a layer; an LSTM to nodes with as many links at a time: it would take padding for neighbours."""
        if self.kind != "lstm":
            return layer(x, torch.from_numpy(links))  # type: ignore[no-any-return]
        count = np.bincount(links[1], minlength=len(x))
        group, parts, order = np.maximum(count, 1), [], []
        for number in np.unique(group):
            nodes = np.flatnonzero(group == number)
            place = np.full(len(x), -1)
            place[nodes] = np.arange(nodes.size)
            taken = links[:, place[links[1]] >= 0]
            local = torch.from_numpy(np.stack([taken[0], place[taken[1]]]))
            parts.append(layer((x, x[torch.from_numpy(nodes)]), local))
            order.append(nodes)
        return torch.cat(parts)[torch.from_numpy(np.argsort(np.concatenate(order)))]


def sampled_links(start: Ints, neighbours: Nodes, most: int, rng: np.random.Generator, *, itself: bool) -> Ints:
    """Draw at most so many neighbours of every node, (2, m): neighbour, node; ordered by node, else at random.

    Args:
        start: (n + 1,) where the neighbours of each node begin.
        neighbours: (2M,).
        most: neighbours per node.
        rng: draws them.
        itself: a node is among its neighbours, beyond these.
    """
    count = np.diff(start)
    node = np.repeat(np.arange(count.size), count)
    order = np.lexsort((rng.random(node.size), node))
    links = np.stack([neighbours[order].astype(np.int64), node])
    links = links[:, np.arange(node.size) - start[node] < most]
    if not itself:
        return links
    links = np.concatenate([links, np.tile(np.arange(count.size), (2, 1))], axis=1)
    return links[:, np.argsort(links[1], kind="stable")]


def walk_loss(model: SampledLayers, graph: StaticGraph, rng: np.random.Generator) -> Tensor:
    """Compute the loss of GraphSAGE for one walk from every node: its Eq. 1, averaged over pairs."""
    vectors = model(graph, rng)
    degree = np.diff(graph.start)
    begin = np.flatnonzero(degree).astype(np.int32)
    walks = np.empty((begin.size, WALK_STEPS + 1), np.int32)
    uniform_walks(graph.start, graph.neighbours, begin, np.uint64(rng.integers(1 << 63)), 0, walks)
    apart = walks[:, 1:] != begin[:, None]  # (n, WALK_STEPS)
    weight = degree**NOISE
    drawn = torch.from_numpy(rng.choice(degree.size, DRAWN, p=weight / weight.sum()))
    anchor = vectors.index_select(0, torch.from_numpy(begin).long())
    met = vectors.index_select(0, torch.from_numpy(walks[:, 1:][apart]).long())
    of = torch.from_numpy(np.nonzero(apart)[0])
    near = functional.logsigmoid((anchor.index_select(0, of) * met).sum(1)).mean()
    far = functional.logsigmoid(-(anchor @ vectors.index_select(0, drawn).T)).mean(1)  # (n,)
    share = torch.from_numpy(apart.sum(1) / max(1, apart.sum())).float()
    return -near - NEGATIVES * (far * share).sum()


def nearest_hits(vectors: Vectors, graph: StaticGraph) -> float:
    """Give the fraction of nodes to which, by the product of vectors of length 1, (n, D), a neighbour is nearest."""
    hits = 0
    for node, vector in enumerate(vectors):
        cosine = vectors @ vector
        cosine[node] = -np.inf
        hits += int(cosine.argmax()) in graph.neighbours[graph.start[node] : graph.start[node + 1]]
    return hits / max(1, len(vectors))
