"""What is learned of a graph whose law is known, beside a constant, the best possible and shuffled times."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import tadge
from tadge.features.pairs import timed_pairs

SHAPE, TRAINING = tadge.NetworkConfig(dim=64, heads=2, blocks=2), tadge.TrainConfig(epochs=10, lr=2e-3, batch_size=100)


@pytest.fixture(scope="module")
def known():
    return tadge.synthetic.forum(10_000, seed=0)


@pytest.fixture(scope="module")
def past(known):
    return known.graph.before(float(known.graph.time[8_500]))


@pytest.fixture(scope="module")
def model(past):
    return learn(past)


def learn(graph):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return tadge.TADGE(network_config=SHAPE, train_config=TRAINING, seed=0).fit(graph, progress=False)
    finally:
        torch.set_num_threads(threads)


def forecast_error(model, known):
    """Of the last 15%: asked when the target has joined, with all that happened until then."""
    graph = known.graph
    pairs, event = timed_pairs(graph, graph.num_events, 0), np.flatnonzero(~np.isnan(graph.toe))
    np.testing.assert_allclose(np.tan(pairs.toe * np.pi / 2), graph.toe[event], rtol=1e-6)
    later = event >= 8_500
    ends = (tadge.NodeNumbers(nodes[later]) for nodes in (pairs.src, pairs.dst))
    guess = model.predict_toe(*ends, pairs.at[later], graph=graph, unit="squashed")
    truth = pairs.toe[later]
    constant = np.sqrt(np.mean((pairs.toe[~later].mean() - truth) ** 2))
    best = tadge.synthetic.best_toe_rmse(known, event[later]).history
    return np.sqrt(np.mean((guess - truth) ** 2)), constant, best


def test_forecasts_come_near_the_best_possible_and_need_the_times(known, past, model):
    error, constant, best = forecast_error(model, known)
    assert best < error < 1.5 * best
    assert error < 0.85 * constant
    when = np.random.default_rng(0).permutation(past.time)
    shuffled = tadge.TemporalGraph.from_arrays(past.src, past.dst, when, unit="days", ids=past.ids, clock="unix")
    control, _, _ = forecast_error(learn(shuffled), known)
    assert control > 1.2 * error


def test_nodes_of_one_community_are_nearer(known, past, model):
    there = past.degree > 0
    vectors, labels = model.embed()[there], known.labels[there]
    vectors -= vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    one, other = np.triu_indices(len(vectors), 1)
    cosine = np.einsum("nd,nd->n", vectors[one], vectors[other])
    assert roc_auc_score(labels[one] == labels[other], cosine) > 0.8


def test_every_task_is_learned(model):
    first, last = model.history_[0]["held_out"], model.history_[-1]["held_out"]
    for name in ("self_f1", "edge_f1", "who_f1"):
        assert last[name] > first[name]
    assert last["self_f1"] > 0.6
    assert last["edge_f1"] > 0.7
    assert last["toe_rmse"] < 0.85 * last["toe_constant_rmse"]
    assert last["when_rmse"] < 0.9 * last["toe_constant_rmse"]
