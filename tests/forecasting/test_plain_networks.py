"""Networks as plain arrays answer as torch's do, and every row for itself."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

import tadge
from small import forum
from tadge.forecasting.hazard_network import HazardNetwork
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.plain_networks import PlainHazards, PlainScorer, arrays_of, check_state, gelu

WIDTH, HIDDEN, RATES = 7, 12, [(0, 3), (5, 1)]


def learned(network, seed=0):
    """Fill a network with weights as large as learned ones."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.7)
        network.normalise.mean.normal_()
        network.normalise.spread.uniform_(0.2, 3.0)
        network.normalise.spread[2] = torch.inf
    return network.eval()


def rows(count, width=WIDTH, seed=1):
    return np.random.default_rng(seed).normal(0, 4, (count, width)).astype(np.float32)


def by_torch(network, columns):
    with torch.inference_mode():
        return network(torch.from_numpy(columns)).numpy()


@pytest.mark.parametrize("threads", [1, 3])
def test_scores_are_those_of_torch(threads):
    network, columns = learned(LinkScorer(WIDTH, HIDDEN)), rows(20_001)
    scores = PlainScorer(arrays_of(network))(columns, threads)
    assert scores.shape == (20_001,)
    np.testing.assert_allclose(scores, by_torch(network, columns), rtol=1e-5, atol=2e-5)
    assert scores.std() > 1


@pytest.mark.parametrize("offsets", [0, 5])
def test_hazards_are_those_of_torch(offsets):
    """With rates as further columns, the level of a curve, hours of the week, and the largest hazard."""
    network = learned(HazardNetwork(WIDTH, HIDDEN, 10, RATES, offsets))
    columns = rows(300, WIDTH + offsets)
    said, plain = by_torch(network, columns), PlainHazards(arrays_of(network), RATES, offsets)(columns)
    np.testing.assert_allclose(plain, said, rtol=1e-5, atol=3e-5)
    assert said.max() == plain.max() == 6.0
    assert said.std() > 1


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100])
def test_a_row_is_answered_alike_beside_any_others(count):
    network, columns = PlainScorer(arrays_of(learned(LinkScorer(WIDTH, HIDDEN)))), rows(400)
    assert np.array_equal(network(columns[123 : 123 + count]), network(columns)[123 : 123 + count])


def test_the_bend_is_that_of_torch():
    values = np.concatenate([np.linspace(-12, 12, 4_001), [-1e30, 1e30, 0.0]]).astype(np.float32)
    said = np.array([gelu(value) for value in values])
    expected = torch.nn.functional.gelu(torch.from_numpy(values).double()).numpy()
    np.testing.assert_allclose(said, expected, rtol=1e-6, atol=2e-6)


def test_arrays_that_do_not_fit_are_refused():
    known = arrays_of(learned(LinkScorer(WIDTH, HIDDEN)))
    last = {"layers.4.weight": (1, HIDDEN), "layers.4.bias": (1,)}
    check_state(known, WIDTH, HIDDEN, last, "links")
    for change, words in (
        ({"layers.0.bias": np.zeros(3, np.float32)}, "does not fit the options"),
        ({"layers.0.bias": np.zeros(HIDDEN)}, "does not fit the options"),
        ({"layers.0.bias": np.full(HIDDEN, np.nan, np.float32)}, "NaN or infinity"),
        ({"normalise.spread": np.zeros(WIDTH, np.float32)}, "cannot be divided by"),
        ({"more": np.zeros(1, np.float32)}, "other arrays than the options say; found 'more'"),
    ):
        with pytest.raises(tadge.InputError, match=words):
            check_state(known | change, WIDTH, HIDDEN, last, "links")


def test_answers_come_without_torch(tmp_path):
    """To import it takes longer than to answer."""
    config = tadge.ForecastConfig(steps=3, trees=3)
    graph = forum(300)
    tadge.Forecaster(config).fit(graph, progress=False).save(tmp_path)
    code = f"""
import sys, tadge
model = tadge.Forecaster.load({str(tmp_path)!r})
one, two = model.graph_.ids[:2].tolist()
model.next(one), model.when(one, two), model.within(one, two, 1.0), model.rank(one), model.overdue(), model.surprise()
model.explain(one, two, 1.0), model.score_links(one, two), model.predict_toe(one, two)
print(*({{"torch", "sklearn"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
