"""Initial vectors: what the methods learn, and that the same seed gives the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tadge import datasets
from tadge.deepwalk import initialise
from tadge.deepwalk.initialise import METHODS, initial_vectors, static_links, walk_blocks
from tadge.deepwalk.static import neighbour_lists
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.io.vectors import write_vectors

LEARNED = METHODS[:3]


def two_cliques(size=12, alone=3):
    """Two cliques with one link between them, repeated events, self-links, and nodes without an event."""
    ends = [(a + u, a + v) for a in (0, size) for u, v in itertools.combinations(range(size), 2)]
    ends += [(0, size), (1, 0), (0, 1), (2, 2)]
    src, dst = np.array(ends).T
    return TemporalGraph.from_arrays(src, dst, np.arange(len(ends)), unit="days", ids=range(2 * size + alone))


def no_links():
    return TemporalGraph.from_arrays([0, 1], [0, 1], [0, 1], ids=range(4))


def cosines(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("method", LEARNED)
def test_cliques_come_apart(method):
    graph = two_cliques()
    cosine = cosines(initial_vectors(graph, method, 16, 0)[:24])
    side = np.arange(24) < 12
    together = (side[:, None] == side) & ~np.eye(24, dtype=bool)
    assert cosine[together].mean() > cosine[~together & ~np.eye(24, dtype=bool)].mean() + 0.5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [1, 2, 7, 16, 50])
def test_every_width_is_whole_and_finite(method, dim):
    graph = two_cliques(4)
    vectors = initial_vectors(graph, method, dim, 3)
    assert vectors.shape == (graph.num_nodes, dim)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert (np.abs(vectors).sum(1) > 0).all()
    assert vectors.flags.writeable
    assert vectors.flags.c_contiguous


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides(method):
    graph = two_cliques(6)
    one, again, other = (initial_vectors(graph, method, 20, seed) for seed in (5, 5, 6))
    assert one.tobytes() == again.tobytes()
    assert not np.isclose(one, other, rtol=1e-3, atol=1e-6).all(axis=1).any()


@pytest.mark.parametrize("method", LEARNED)
def test_nodes_without_a_link_keep_their_start(method):
    graph = two_cliques(alone=40)
    vectors = initial_vectors(graph, method, 16, 0)
    alone = vectors[24:]
    limit = 0.5 / 8 if method == "line" else 0.5 / 16
    assert np.abs(alone).max() <= limit
    assert alone.std() == pytest.approx(limit / 3**0.5, rel=0.1)
    assert np.linalg.norm(vectors[:24], axis=1).min() > 3 * np.linalg.norm(alone, axis=1).max()
    for graph in (no_links(), TemporalGraph.from_arrays([], [], [], ids=["a", "b"])):
        assert 0 < np.abs(initial_vectors(graph, method, 16, 0)).max() <= limit


@pytest.mark.parametrize("method", METHODS)
def test_a_graph_without_nodes(method):
    assert initial_vectors(TemporalGraph.from_arrays([], [], []), method, 4, 0).shape == (0, 4)


def test_random_vectors_are_of_unit_length_on_average():
    graph = TemporalGraph.from_arrays([0], [1], [0], ids=range(2_000))
    vectors = initial_vectors(graph, "random", 64, 0)
    assert abs(vectors.mean()) < 0.002
    assert np.square(vectors).sum(1).mean() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("graph", [two_cliques(30), no_links()], ids=["links", "no links"])
def test_progress_is_told(method, graph):
    told = []
    initial_vectors(graph, method, 4, 0, lambda done, total: told.append((done, total)))
    done = [each for each, _ in told]
    assert done == sorted(done)
    assert told[-1][0] == told[-1][1] > 0
    assert len({total for _, total in told}) == 1


def test_line_puts_two_orders_side_by_side():
    graph = two_cliques(5)
    assert initial_vectors(graph, "line", 1, 0).shape == (13, 1)  # only the second order
    narrow, wide = initial_vectors(graph, "line", 15, 0), initial_vectors(graph, "line", 14, 0)
    assert np.array_equal(narrow[:, :7], wide[:, :7])  # the smaller half is of first order
    products = narrow[:10, :7] @ narrow[:10, :7].T
    linked = np.zeros((10, 10), bool)
    for link in static_links(graph).tolist():
        linked[link >> 32, link & 0xFFFFFFFF] = linked[link & 0xFFFFFFFF, link >> 32] = True
    apart = ~linked & ~np.eye(10, dtype=bool)
    assert products[linked].min() > products[apart].max()  # first order: the links themselves


def test_line_of_second_order_knows_common_neighbours():
    u, v = (each.ravel() for each in np.mgrid[:8, 8:16])  # every one of 8 is linked with every one of 8 others
    graph = TemporalGraph.from_arrays(u, v, np.arange(64), unit="days")
    cosine = cosines(initial_vectors(graph, "line", 32, 0)[:, 16:])
    side = np.arange(16) < 8
    together = (side[:, None] == side) & ~np.eye(16, dtype=bool)
    assert cosine[together].mean() > cosine[side[:, None] != side].mean() + 0.5


def test_the_static_graph_has_every_pair_once():
    graph = two_cliques(4)
    pairs = {(min(u, v), max(u, v)) for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True) if u != v}
    assert static_links(graph).tolist() == sorted(u << 32 | v for u, v in pairs)
    assert static_links(no_links()).size == 0


@pytest.mark.parametrize("method", ["deepwalk", "node2vec"])
def test_rounds_walk_from_every_node_that_has_a_neighbour(method, monkeypatch):
    monkeypatch.setattr(initialise, "WALKS_PER_BLOCK", 10)
    graph = two_cliques()
    start, neighbours = neighbour_lists(static_links(graph), graph.num_nodes)
    blocks = list(walk_blocks(start, neighbours, method, 0, range(3)))
    assert [number for number, _ in blocks] == [0, 10, 20, 24, 34, 44, 48, 58, 68]
    walks = np.concatenate([walks for _, walks in blocks])
    assert walks.shape == (72, initialise.LENGTH)
    orders = [part.tolist() for part in np.split(walks[:, 0], 3)]
    assert all(sorted(order) == list(range(24)) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    monkeypatch.setattr(initialise, "WALKS_PER_BLOCK", 1_000)
    assert np.array_equal(
        walks, np.concatenate([each for _, each in walk_blocks(start, neighbours, method, 0, range(3))])
    )


def test_a_plan_says_how_far_walks_go(monkeypatch):
    graph, seen = two_cliques(5), []
    train = initialise.train_walks

    def record(table, context, walks, noise, key, number, total, window):
        seen.append((*walks.shape, total, window))
        train(table, context, walks, noise, key, number, total, window)

    monkeypatch.setattr(initialise, "train_walks", record)
    default = initial_vectors(graph, "deepwalk", 8, 0)
    assert set(seen) == {(10, initialise.LENGTH, 100, initialise.WINDOW)}
    assert len(seen) == initialise.WALKS_PER_NODE
    seen.clear()
    vectors = initial_vectors(graph, "deepwalk", 8, 0, plan=initialise.SkipGramPlan(3, 7, 2))
    assert seen == [(10, 7, 30, 2)] * 3
    assert not np.array_equal(vectors, default)
    assert (initialise.DEEPWALK.per_node, initialise.DEEPWALK.length, initialise.DEEPWALK.window) == (80, 40, 10)


def test_only_the_links_matter():
    graph = two_cliques(5)
    turned = TemporalGraph.from_arrays(graph.dst[::-1], graph.src[::-1], graph.time, unit="days", ids=graph.ids)
    assert np.array_equal(initial_vectors(graph, "deepwalk", 8, 0), initial_vectors(turned, "deepwalk", 8, 0))


@pytest.mark.parametrize("form", [".parquet", ".npz", ".txt"])
def test_a_file_is_taken_as_it_is(tmp_path, form):
    graph = two_cliques(4)
    vectors = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
    order = np.arange(8)[::-1]
    path = write_vectors(tmp_path / f"mine{form}", graph.ids[order], vectors[order])
    found = initial_vectors(graph, str(path), 6, 0)
    assert np.array_equal(found[:8], vectors)
    assert 0 < np.abs(found[8:]).max() <= 0.5 / 6  # no event, no vector: small and random
    with pytest.raises(InputError, match="wrong width; expected vectors of 5 numbers; found 6"):
        initial_vectors(graph, str(path), 5, 0)
    write_vectors(path, graph.ids[3:], vectors[:1].repeat(8, axis=0))
    with pytest.raises(
        InputError, match="ids do not fit; expected a vector for each of the graph's 8 ids; found 3 mis"
    ):
        initial_vectors(graph, str(path), 6, 0)


@pytest.mark.parametrize(
    "method, dim, seed, complaint",
    [
        (
            "deepwlak",
            8,
            0,
            "init: unknown kind of initial vectors; expected deepwalk, node2vec, line, random, or a file",
        ),
        ("DeepWalk", 8, 0, "found 'DeepWalk'; check the spelling"),
        ("", 8, 0, "unknown kind of initial vectors"),
        ("vectors.pkl", 8, 0, r"\(.parquet, .npz, .csv, .tsv, .txt, .vec, .w2v\); found 'vectors.pkl'"),
        ("deepwalk", 0, 0, "dim: value too small"),
        ("random", 2.5, 0, "dim: wrong kind of value"),
        ("line", 8, -1, "seed: not a seed"),
    ],
)
def test_what_cannot_be_asked(method, dim, seed, complaint):
    with pytest.raises(ConfigError, match=complaint):
        initial_vectors(two_cliques(3), method, dim, seed)


def test_files_that_are_no_vectors(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        initial_vectors(two_cliques(3), str(tmp_path / "none.npz"), 8, 0)
    (tmp_path / "table.csv").write_text("id,x\n1,2\n")
    with pytest.raises(InputError, match="wrong width; expected vectors of 8 numbers; found 1"):
        initial_vectors(two_cliques(3), str(tmp_path / "table.csv"), 8, 0)
    with pytest.raises(ConfigError, match="unknown kind of initial vectors"):
        initial_vectors(two_cliques(3), str(tmp_path / "table.xlsx"), 8, 0)


def test_real_data(data_dir, monkeypatch):
    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    graph = datasets.load("bitcoin-otc", quiet=True)
    vectors = initial_vectors(graph, "deepwalk", 32, 0)
    vectors = vectors - vectors.mean(0)
    cosine = cosines(vectors)
    links = static_links(graph)
    rng = np.random.default_rng(0)
    others = rng.integers(0, graph.num_nodes, (2, links.size))
    near = cosine[(links >> np.uint64(32)).astype(int), (links & np.uint64(0xFFFFFFFF)).astype(int)]
    assert np.mean(near > cosine[others[0], others[1]]) > 0.8
