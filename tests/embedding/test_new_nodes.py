"""The paper's split: nodes that stand in test walks only, as one unknown node or as nodes of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small import forum, network, training, walking
from tadge import TADGE
from tadge.walks.parts import walk_parts


@pytest.fixture(scope="module")
def parts():
    return walk_parts(forum(), walking(num_walks=120), 0)


def fitted(parts, **train):
    model = TADGE(walking(), network(queries="next", skip=True), training(epochs=1, **train), 3)
    return model.fit(parts["learn"].graph, walks=parts["learn"].walks, progress=False)


@pytest.mark.parametrize("new_nodes", ["unknown", "own"])
def test_nodes_that_training_has_not_seen(parts, new_nodes):
    model = fitted(parts, new_nodes=new_nodes)
    walks = parts["test"].walks
    rows = model.embed_walks(walks)
    present = walks.nodes >= 0
    assert np.isfinite(rows[present]).all()
    assert np.isnan(rows[~present]).all()
    new = np.flatnonzero(parts["learn"].graph.degree == 0)
    assert new.size >= 2
    one, other = (
        replace(walks, nodes=np.where(walks.nodes == walks.nodes[0, 0], node, walks.nodes)) for node in new[:2]
    )
    same = np.array_equal(model.embed_walks(one), model.embed_walks(other), equal_nan=True)
    assert same == (new_nodes == "unknown")
    assert np.array_equal(model.embed_walks(one), model.embed_walks(one), equal_nan=True)


def test_own_vectors_are_there_after_loading_and_as_of_a_moment(parts, tmp_path):
    model = fitted(parts, new_nodes="own", edges="both")
    model.save(tmp_path / "model")
    again, walks = TADGE.load(tmp_path / "model"), parts["test"].walks
    np.testing.assert_array_equal(again.embed_walks(walks), model.embed_walks(walks))
    vectors = again.embed(graph=forum())  # a longer history, in which those nodes act
    np.testing.assert_array_equal(vectors, model.embed(graph=forum()))
    new = np.flatnonzero((parts["learn"].graph.degree == 0) & (forum().degree > 0))
    assert len(np.unique(vectors[new], axis=0)) == new.size
