from __future__ import annotations

import numpy as np
import pytest
from graphs import random_graph
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestNeighbors

from tadge.config import WalkConfig
from tadge.evaluation.nearest import choose_among_nodes, choose_among_rows, choose_the_same
from tadge.walks.parts import walk_parts


@pytest.fixture(scope="module")
def part():
    return walk_parts(random_graph(60, 5_000, span=4_000), WalkConfig(num_walks=300), 1)["test"]


def edges(part):
    """All ends of edges, by a plain loop: earlier ends, then later ones, as (walk, step)."""
    places = [(w, s) for w in range(len(part.walks)) for s in range(part.walks.lengths[w] - 1)]
    return places, [(w, s + 1) for w, s in places]


def linked(part):
    return {frozenset(pair) for pair in zip(part.graph.src.tolist(), part.graph.dst.tolist(), strict=True)}


def test_the_nearest_node_is_that_of_scikit_learn(part):
    vectors = np.random.default_rng(0).normal(size=(part.graph.num_nodes, 8)).astype(np.float32)
    found = choose_among_nodes(part, vectors)
    search = NearestNeighbors(n_neighbors=2, metric="cosine").fit(vectors[part.nodes])
    second = search.kneighbors(vectors[part.nodes])[1][:, 1]
    nearest = dict(zip(part.nodes.tolist(), part.nodes[second].tolist(), strict=True))
    earlier, later = edges(part)
    asking = [part.walks.nodes[place] for place in (*earlier, *later)]
    assert found.asking.tolist() == asking
    assert found.chosen.tolist() == [nearest[node] for node in asking]
    pairs = linked(part)
    hits = [frozenset((node, nearest[node])) in pairs for node in asking]
    assert found.hit.tolist() == hits
    assert found.micro_f1 == pytest.approx(np.mean(hits))
    by_node = {node: np.mean([hit for one, hit in zip(asking, hits, strict=True) if one == node]) for node in asking}
    assert found.macro_f1 == pytest.approx(np.mean(list(by_node.values())))


def test_micro_f1_is_that_of_a_choice_among_classes(part):
    vectors = np.random.default_rng(1).normal(size=(part.graph.num_nodes, 8)).astype(np.float32)
    found = choose_among_nodes(part, vectors)
    true = np.where(found.hit, found.chosen, -1)
    assert found.micro_f1 == pytest.approx(f1_score(true, found.chosen, average="micro"))


@pytest.mark.parametrize("batch", [7, 10_000])
def test_rows_choose_within_their_batch_by_products(part, batch):
    walks = part.walks
    rows = np.random.default_rng(2).normal(size=(*walks.nodes.shape, 6)).astype(np.float32)
    found = choose_among_rows(part, rows, batch)
    order = np.argsort(walks.tov[:, 0], kind="stable")
    earlier, later = edges(part)
    expected = {}
    for first in range(0, order.size, batch):
        places = [(w, s) for w in order[first : first + batch] for s in range(walks.lengths[w])]
        for place in places:
            others = [other for other in places if other != place]
            expected[place] = walks.nodes[max(others, key=lambda other: float(rows[place] @ rows[other]))]
    assert found.chosen.tolist() == [expected[place] for place in (*earlier, *later)]


def test_vectors_that_know_the_edges_find_them(part):
    nodes = part.nodes
    vectors = np.zeros((part.graph.num_nodes, part.graph.num_nodes), np.float32)
    for one, other in zip(part.graph.src, part.graph.dst, strict=True):
        if not vectors[one].any() and not vectors[other].any():
            vectors[one, one] = vectors[other, one] = 1.0  # a pair of its own
    paired = [node for node in nodes if vectors[node].any()]
    found = choose_among_nodes(part, vectors)
    assert found.hit[np.isin(found.asking, paired)].all()


def test_the_busiest_is_chosen_by_all_but_itself(part):
    busiest = part.nodes[np.argsort(-part.graph.degree[part.nodes], kind="stable")]
    found = choose_the_same(part, busiest)
    assert set(found.chosen[found.asking != busiest[0]]) == {busiest[0]}
    assert set(found.chosen[found.asking == busiest[0]]) <= {busiest[1]}
