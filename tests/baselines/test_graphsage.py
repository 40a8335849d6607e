"""GraphSAGE against dense numpy; its sample, its loss, its choice."""

from __future__ import annotations

import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch

from small import forum, walking
from tadge.baselines.graphsage import (
    AGGREGATORS,
    DRAWN,
    NEGATIVES,
    NOISE,
    GraphSAGE,
    SageConfig,
    SampledLayers,
    StaticGraph,
    nearest_hits,
    sampled_links,
    walk_loss,
)
from tadge.baselines.of_parts import PartMethod
from tadge.deepwalk.static import uniform_walks
from tadge.errors import ConfigError, MissingExtraError
from tadge.graph import TemporalGraph
from tadge.walks.parts import PART_NAMES, walk_parts

pytest.importorskip("torch_geometric", reason="the extra gnn is not installed")


@cache
def parts():
    return walk_parts(forum(), walking(), 0)


def static_graph(num_nodes=12, width=5, density=0.4, seed=0):
    """A random graph in which no node has more neighbours than are sampled."""
    rng = np.random.default_rng(seed)
    linked = np.triu(rng.random((num_nodes, num_nodes)) < density, 1)
    linked = linked | linked.T
    linked[np.arange(num_nodes), (np.arange(num_nodes) + 1) % num_nodes] = True
    linked |= linked.T
    start = np.append(0, linked.sum(1).cumsum())
    neighbours = np.nonzero(linked)[1].astype(np.int32)
    features = torch.from_numpy(rng.standard_normal((num_nodes, width)).astype(np.float32))
    return StaticGraph(np.arange(num_nodes), start, neighbours, features), linked


def dense(weights, kind, number, x, linked):
    """One layer as its paper has it, with matrices of all pairs of nodes."""
    prefix = f"layers.{number}."
    heard = linked | np.eye(len(x), dtype=bool) if kind == "gcn" else linked
    if kind == "pool":
        image = np.maximum(x @ weights[f"{prefix}lin.weight"].T + weights[f"{prefix}lin.bias"], 0)
        heard_of = np.stack([image[row].max(0) for row in heard])
    else:
        heard_of = heard / heard.sum(1, keepdims=True) @ x
    result = heard_of @ weights[f"{prefix}lin_l.weight"].T + weights[f"{prefix}lin_l.bias"]
    return result if kind == "gcn" else result + x @ weights[f"{prefix}lin_r.weight"].T


@pytest.mark.parametrize("kind", ["gcn", "mean", "pool"])
def test_layers_are_those_of_dense_numpy(kind):
    graph, linked = static_graph()
    assert linked.sum(1).max() <= 10
    torch.manual_seed(1)
    model = SampledLayers(kind, 5, 4)
    weights = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    inner = np.maximum(dense(weights, kind, 0, graph.features.double().numpy(), linked), 0)
    outer = dense(weights, kind, 1, inner, linked)
    expected = outer / np.linalg.norm(outer, axis=1, keepdims=True)
    made = model(graph, np.random.default_rng(0)).detach().numpy()
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)


def test_an_lstm_hears_each_node_by_itself():
    """Nodes are padded in groups; each result is that of its own neighbours, in the order of the sample."""
    graph, _ = static_graph(30, density=0.15)
    torch.manual_seed(1)
    model = SampledLayers("lstm", 5, 4)
    links = sampled_links(graph.start, graph.neighbours, 6, np.random.default_rng(3), itself=False)
    made = model._layer(model.layers[0], graph.features, links)
    layer = model.layers[0]
    for node in range(30):
        heard = graph.features[links[0][links[1] == node]]
        last = layer.aggr_module.lstm(heard[None])[0][0, -1]
        expected = layer.lin_l(last) + layer.lin_r(graph.features[node])
        torch.testing.assert_close(made[node], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("itself", [False, True])
def test_a_sample_is_of_neighbours_each_at_most_once_and_all_alike(itself):
    graph, linked = static_graph(12, density=0.8)
    rng, heard = np.random.default_rng(0), np.zeros((12, 12))
    for _ in range(2_000):
        links = sampled_links(graph.start, graph.neighbours, 3, rng, itself=itself)
        assert (np.diff(links[1]) >= 0).all()
        heard[links[1], links[0]] += 1
    assert heard.max() <= 2_000
    assert (np.diag(heard) == 2_000 * itself).all()
    np.fill_diagonal(heard, 0)
    assert np.array_equal(heard > 0, linked)
    share = np.minimum(1, 3 / linked.sum(1))[:, None] * linked
    np.testing.assert_allclose(heard / 2_000, share, atol=0.06)


def test_the_loss_is_that_of_plain_loops():
    graph, linked = static_graph()
    vectors = torch.nn.functional.normalize(torch.randn(12, 4, generator=torch.Generator().manual_seed(0)))
    loss = walk_loss(lambda graph, rng: vectors, graph, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    walks = np.empty((12, 6), np.int32)
    uniform_walks(
        graph.start, graph.neighbours, np.arange(12, dtype=np.int32), np.uint64(rng.integers(1 << 63)), 0, walks
    )
    weight = linked.sum(1) ** NOISE
    drawn = rng.choice(12, DRAWN, p=weight / weight.sum())
    product, terms = vectors.double().numpy() @ vectors.double().numpy().T, []
    for walk in walks.tolist():
        assert all(linked[one, other] for one, other in pairwise(walk))
        for met in walk[1:]:
            if met != walk[0]:
                near = -np.log(1 / (1 + np.exp(-product[walk[0], met])))
                far = -np.mean([np.log(1 / (1 + np.exp(product[walk[0], other]))) for other in drawn])
                terms.append(near + NEGATIVES * far)
    assert float(loss) == pytest.approx(np.mean(terms), rel=1e-5)


def test_hits_are_counted():
    graph, linked = static_graph()
    angle = np.arange(12) * 0.1
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    assert nearest_hits(vectors, graph) == 1  # the ring is among the links
    graph = graph._replace(start=np.zeros(13, np.int64), neighbours=np.empty(0, np.int32))
    assert nearest_hits(vectors, graph) == 0
    assert linked.any()


def test_learning_lowers_the_loss_and_the_best_aggregator_is_kept():
    model = GraphSAGE(0, 8, SageConfig(("gcn", "mean"), steps=30, rate=0.01)).fit(parts())
    assert isinstance(model, PartMethod)
    assert set(model.hits_) == {"gcn", "mean"}
    assert model.hits_[model.aggregator_] == max(model.hits_.values())
    fresh = GraphSAGE(0, 8, SageConfig((model.aggregator_,), steps=0)).fit(parts())
    graph = model._static(parts()["test"], "test")
    with torch.no_grad():
        losses = [float(walk_loss(each.model_, graph, np.random.default_rng(0))) for each in (model, fresh)]
    assert losses[0] < losses[1]


@pytest.mark.parametrize("kind", AGGREGATORS)
def test_vectors_of_parts(kind):
    models = [GraphSAGE(seed, 8, SageConfig((kind,), steps=2)).fit(parts()) for seed in (0, 0, 1)]
    for part in PART_NAMES:
        one, again, other = (model.nodes(part) for model in models)
        assert one.shape == (forum().num_nodes, 8)
        assert one.tobytes() == again.tobytes()
        assert not np.allclose(one, other)
        lengths = np.linalg.norm(one, axis=1)
        assert np.array_equal(np.flatnonzero(lengths), parts()[part].nodes)
        np.testing.assert_allclose(lengths[parts()[part].nodes], 1, rtol=1e-5)
    assert models[0].rows("test") is None
    assert models[0].toe("test") is None


@pytest.mark.parametrize("features", ["random", "degree", "deepwalk"])
def test_features(features):
    model = GraphSAGE(0, 8, SageConfig(("mean",), features, steps=1)).fit(parts())
    learn, test = (model._static(parts()[part], part) for part in ("learn", "test"))
    both = np.intersect1d(learn.nodes, test.nodes)
    one, other = (graph.features[np.searchsorted(graph.nodes, both)] for graph in (learn, test))
    assert torch.equal(one, other) == (features == "random")
    if features == "degree":
        np.testing.assert_allclose(test.features[:, 0], np.log1p(parts()["test"].graph.degree[test.nodes]), rtol=1e-6)


def test_a_node_that_only_links_to_itself():
    graph = TemporalGraph.from_arrays([0, 1, 2], [1, 0, 2], [0, 1, 2], unit="days")
    model = GraphSAGE(0, 4)
    small = model._static(type("Part", (), {"graph": graph}), "learn")
    assert np.diff(small.start).tolist() == [1, 1, 0]
    for kind in AGGREGATORS:
        torch.manual_seed(0)
        layers = SampledLayers(kind, 4, 4)
        assert torch.isfinite(layers(small, np.random.default_rng(0))).all()
        assert torch.isfinite(walk_loss(layers, small, np.random.default_rng(0)))


def test_the_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(MissingExtraError) as caught:
        GraphSAGE().fit(parts())
    assert str(caught.value) == "GraphSAGE needs torch_geometric; expected the extra gnn; pip install 'tadge[gnn]'"


def test_what_cannot_be_asked():
    with pytest.raises(ConfigError, match="aggregators: unknown choice; expected some of gcn, mean, pool, lstm"):
        SageConfig(("max",))
    with pytest.raises(ConfigError, match="features: unknown choice"):
        SageConfig(features="age")
