"""The methods of the paper's tables behind one interface: shapes, absent nodes, seeds, and what they are made of."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tadge
from small import forum, network, training, walking
from tadge.baselines.classes import DegreeAge
from tadge.baselines.ctdne import CTDNE
from tadge.baselines.of_parts import DegreeAgeVectors, NeighbourSums, OfWalks, PartMethod, RandomVectors, StaticDeepWalk
from tadge.deepwalk.initialise import SkipGramPlan, initial_vectors
from tadge.errors import NotFittedError
from tadge.walks.parts import PART_NAMES, mean_rows, walk_parts

PLAN = SkipGramPlan(5, 10, 3)
SIMPLE = {
    "DeepWalk": lambda seed: StaticDeepWalk(seed, 8, PLAN),
    "CTDNE": lambda seed: CTDNE(seed, 8, epochs=3),
    "random vectors": lambda seed: RandomVectors(seed, 8),
    "degree + age": DegreeAgeVectors,
}


@cache
def parts(seed=0):
    return walk_parts(forum(), walking(), seed)


@pytest.mark.parametrize("name", SIMPLE)
def test_every_present_node_has_a_vector_and_no_other(name):
    method = SIMPLE[name](0).fit(parts())
    assert isinstance(method, PartMethod)
    assert method.name == name
    for part in PART_NAMES:
        vectors, present = method.nodes(part), parts()[part].nodes
        assert vectors.shape == (forum().num_nodes, 4 if name == "degree + age" else 8)
        assert vectors.dtype == np.float32
        assert np.isfinite(vectors).all()
        assert np.array_equal(np.flatnonzero(np.abs(vectors).sum(1)), present)
        assert method.nodes(part) is vectors  # made once
        assert method.rows(part) is None
        assert method.toe(part) is None
    assert parts()["test"].nodes.size < forum().num_nodes


@pytest.mark.parametrize("name", SIMPLE)
def test_the_seed_decides(name):
    one, again, other = (SIMPLE[name](seed).fit(parts()).nodes("test") for seed in (3, 3, 4))
    assert one.tobytes() == again.tobytes()
    assert np.array_equal(one, other) == (name == "degree + age")


def test_parts_are_embedded_apart():
    """A node is not like itself in another part only because both vectors began alike."""
    for make in (SIMPLE["DeepWalk"], SIMPLE["CTDNE"]):
        method = make(0).fit(parts())
        both = np.intersect1d(parts()["learn"].nodes, parts()["test"].nodes)
        one, other = (method.nodes(part)[both] for part in ("learn", "test"))
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        assert np.abs((one * other).sum(1) / lengths).max() < 0.999
    method = StaticDeepWalk(0, 8, PLAN).fit(parts())
    expected = initial_vectors(parts()["test"].graph, "deepwalk", 8, method._seed_of("test"), plan=PLAN)
    present = parts()["test"].nodes
    np.testing.assert_array_equal(method.nodes("test")[present], expected[present])
    common = RandomVectors(0, 8).fit(parts())
    np.testing.assert_array_equal(common.nodes("test")[both], common.nodes("learn")[both])


def test_degrees_are_those_of_the_part():
    graph = parts()["test"].graph
    vectors = DegreeAgeVectors().fit(parts()).nodes("test")
    for node in parts()["test"].nodes:
        acts, links = np.count_nonzero(graph.src == node), np.count_nonzero(graph.dst == node)
        assert vectors[node, :2] == pytest.approx(np.log1p([acts, links]), abs=1e-6)
    at = np.full(graph.num_nodes, graph.time[-1])
    whole = DegreeAge().embed(np.arange(graph.num_nodes), at, graph=graph)
    np.testing.assert_allclose(vectors[parts()["test"].nodes], whole[parts()["test"].nodes], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("encoder", ["time-aware", "gat"])
def test_what_reads_walks(encoder, tmp_path):
    if encoder == "gat":
        pytest.importorskip("torch_geometric", reason="the extra gnn is not installed")
    how = network(encoder=encoder, queries="next")
    made = [
        OfWalks("it", tadge.TADGE(walking(), how, training(epochs=1), 2), progress=False).fit(parts()) for _ in range(2)
    ]
    method, twin = made
    assert isinstance(method, PartMethod)
    assert method.estimator.graph_ is parts()["learn"].graph
    method.estimator.save(tmp_path / "model")
    loaded = tadge.TADGE.load(tmp_path / "model")
    assert loaded.network_config == how
    for part in PART_NAMES:
        walks, rows, vectors = parts()[part].walks, method.rows(part), method.nodes(part)
        assert rows.shape == (*walks.nodes.shape, 8)
        np.testing.assert_array_equal(rows, twin.rows(part))
        np.testing.assert_array_equal(rows, loaded.embed_walks(walks))
        assert np.array_equal(np.isnan(rows[:, :, 0]), walks.nodes < 0)
        assert np.array_equal(np.flatnonzero(np.abs(vectors).sum(1)), parts()[part].nodes)
        node = parts()[part].nodes[0]
        np.testing.assert_allclose(vectors[node], rows[walks.nodes == node].mean(0), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(vectors, mean_rows(parts()[part], rows))
        toe = method.toe(part)
        assert toe.shape == (len(walks), walks.nodes.shape[1] - 1)
        assert np.array_equal(np.isnan(toe), walks.nodes[:, 1:] < 0)
        weight = method.estimator.tasks_.toe_weight.detach().numpy()
        np.testing.assert_allclose(toe, (rows[:, :-1] + rows[:, 1:]) @ weight, rtol=1e-3, atol=1e-5)
    assert np.isfinite(method.estimator.embed()).all()  # nodes as of a moment, for whoever asks


def test_who_was_not_fitted_says_so():
    for method in (CTDNE(), OfWalks("it", tadge.TADGE())):
        with pytest.raises(NotFittedError, match=f"{method.name} is not fitted; call fit with the parts"):
            method.nodes("test")


def test_sums_of_neighbours_are_those_of_a_loop():
    given = parts()
    method = NeighbourSums(3, 5).fit(given)
    vectors, part = RandomVectors(3, 5).fit(given), given["test"]
    alone = vectors.nodes("test")
    rows, walks = method.rows("test"), part.walks
    for walk, length in enumerate(walks.lengths):
        for step in range(walks.nodes.shape[1]):
            if step >= length:
                assert np.isnan(rows[walk, step]).all()
                continue
            near = walks.nodes[walk, max(step - 1, 0) : min(step + 2, length)]
            np.testing.assert_allclose(rows[walk, step], alone[near].sum(axis=0), rtol=1e-5)
    node = part.nodes[0]
    np.testing.assert_allclose(method.nodes("test")[node], rows[walks.nodes == node].mean(axis=0), rtol=1e-4, atol=1e-6)
