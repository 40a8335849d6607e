"""Metrics, against scikit-learn and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import f1_score

from tadge.errors import InputError
from tadge.evaluation import metrics
from tadge.validation import mean_ranks

FEW = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, 3.0])  # many ties


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=FEW))
def test_ranks_are_the_mean_of_all_orders_of_ties(scores):
    for rank, row in zip(mean_ranks(scores), scores, strict=True):
        best = 1 + sum(other > row[0] for other in row[1:])
        worst = 1 + sum(other >= row[0] for other in row[1:])
        assert rank == (best + worst) / 2


def test_ranks_refuse_what_is_not_a_number():
    with pytest.raises(InputError, match="NaN"):
        mean_ranks(np.array([[1.0, np.nan]]))


def test_a_constant_has_the_middle_rank():
    ranks = mean_ranks(np.zeros((3, 101)))
    assert ranks.tolist() == [51.0] * 3
    assert metrics.mrr(ranks) == 1 / 51


def test_errors():
    predicted, truth = np.array([0.0, 1.0, 4.0, 8.0]), np.array([0.0, 2.0, 2.0, 2.0])
    assert metrics.rmse(predicted, truth) == pytest.approx(np.sqrt((0 + 1 + 4 + 36) / 4))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_f1_scores_are_those_of_scikit_learn(pairs):
    labels, predicted = np.array(pairs).T
    counts = metrics.decisions(labels, predicted, 5)
    assert counts.shape == (len(pairs), 3, 5)
    total = counts.sum(axis=0)
    assert metrics.micro_f1(total) == pytest.approx(f1_score(labels, predicted, average="micro", zero_division=0))
    assert metrics.macro_f1(total) == pytest.approx(f1_score(labels, predicted, average="macro", zero_division=0))


# -- paired bootstrap -------------------------------------------------------------------------------------------------


def plain_resamples(values, seed, count):
    """Draw as the module says it does, one resample after the other."""
    rng = np.random.default_rng(int(metrics.stream(seed, "bootstrap")))
    return [values[rng.integers(len(values), size=len(values))] for _ in range(count)]


@pytest.mark.parametrize("block", [1, 64, 1 << 21])
@pytest.mark.parametrize("size", [1, 10, 11])
def test_resampled_statistics_are_those_of_plain_draws(block, size, monkeypatch):
    monkeypatch.setattr(metrics, "WEIGHTS_AT_ONCE", block)
    values = np.random.default_rng(size).exponential(size=size)
    draws = plain_resamples(values, 5, 40)
    means, medians = metrics.resampled(values[:, None], np.stack([values, -values], axis=1), 5, 40)
    for statistic, plain in (
        ("mean", np.mean),
        ("root mean", lambda some: np.sqrt(some.mean())),
        (lambda means: means[:, 0] ** 3, lambda some: some.mean() ** 3),
    ):
        assert np.allclose(metrics.apply_statistic(statistic, means), [plain(draw) for draw in draws])
    expected = np.array([np.median(draw) for draw in draws])
    assert np.allclose(medians, np.stack([expected, -expected], axis=1))
    assert np.allclose(metrics.percentile_interval(expected, 0.8), np.quantile(expected, [0.1, 0.9]))


def test_statistics_of_several_columns():
    values = np.random.default_rng(0).random((30, 2))
    means, _ = metrics.resampled(values, np.empty((30, 0)), 1, 25)
    ratio = metrics.apply_statistic(lambda means: means[:, 0] / means[:, 1], means)
    assert np.allclose(ratio, [draw[:, 0].sum() / draw[:, 1].sum() for draw in plain_resamples(values, 1, 25)])


def plain_clusters(values, clusters, seed, count):
    """Draw whole clusters, as many as there are, one resample after the other."""
    rng = np.random.default_rng(int(metrics.stream(seed, "bootstrap")))
    names = sorted(set(clusters.tolist()))
    for _ in range(count):
        drawn = rng.integers(len(names), size=len(names))
        yield np.concatenate([values[clusters == names[k]] for k in drawn])


@pytest.mark.parametrize("block", [1, 64, 1 << 21])
@pytest.mark.parametrize("size", [7, 30])
def test_clusters_are_drawn_whole(block, size, monkeypatch):
    monkeypatch.setattr(metrics, "WEIGHTS_AT_ONCE", block)
    rng = np.random.default_rng(size)
    values, clusters = rng.exponential(size=size), rng.choice([3, 8, 90, 91], size)
    draws = list(plain_clusters(values, clusters, 5, 40))
    assert len({len(draw) for draw in draws}) > 1  # of different sizes
    means, medians = metrics.resampled(values[:, None], values[:, None], 5, 40, clusters)
    assert np.allclose(means[:, 0], [draw.mean() for draw in draws])
    assert np.allclose(medians[:, 0], [np.median(draw) for draw in draws])


def test_one_cluster_is_drawn_question_by_question():
    """Else there would be no spread at all, and anything would seem sure."""
    values = np.random.default_rng(0).random((30, 1))
    alone, together = (metrics.resampled(values, values, 1, 25, clusters) for clusters in (None, np.full(30, 4)))
    assert np.array_equal(alone[0], together[0])
    assert np.array_equal(alone[1], together[1])


def test_clusters_widen_intervals_to_what_they_say():
    """Questions of one target have half of their error in common: only whole clusters cover the truth often enough."""
    rng = np.random.default_rng(3)
    clusters, inside = np.repeat(np.arange(40), 15), {"by question": 0, "by cluster": 0}
    for seed in range(150):
        values = (rng.normal(2.0, 1.0, 40)[clusters] + rng.normal(0.0, 1.0, 600))[:, None]
        for name, drawn in (("by question", None), ("by cluster", clusters)):
            draws, _ = metrics.resampled(values, np.empty((600, 0)), seed, 300, drawn)
            low, high = metrics.percentile_interval(draws, 0.9)
            inside[name] += low <= 2.0 <= high
    assert inside["by question"] / 150 < 0.6
    assert 0.8 <= inside["by cluster"] / 150 <= 0.97


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(200):
        draws, _ = metrics.resampled(rng.normal(2.0, 1.0, size=(60, 1)), np.empty((60, 0)), seed, 400)
        low, high = metrics.percentile_interval(draws, 0.9)
        inside += low <= 2.0 <= high
    assert 0.82 <= inside / 200 <= 0.96


def test_paired_intervals_see_what_two_alone_do_not():
    """Two methods that differ a little on every question, where questions differ a lot."""
    rng = np.random.default_rng(0)
    errors = rng.exponential(10.0, size=200)
    first, second = metrics.resampled(np.stack([errors, errors + 0.1], axis=1), np.empty((200, 0)), 0)[0].T
    assert metrics.percentile_interval(first - second) == (pytest.approx(-0.1), pytest.approx(-0.1))
    assert metrics.percentile_interval(first)[1] > metrics.percentile_interval(second)[0]  # alone, they overlap


def test_nothing_to_resample():
    with pytest.raises(InputError, match="nothing to resample"):
        metrics.resampled(np.empty((0, 1)), np.empty((0, 0)), 0)
