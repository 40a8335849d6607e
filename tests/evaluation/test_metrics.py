"""Figures of merit, against scikit-learn and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from tadge.errors import InputError
from tadge.evaluation import metrics

FEW = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, 3.0])  # many ties


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=FEW), st.data())
def test_ranks_are_the_mean_of_all_orders_of_ties(scores, data):
    there = data.draw(hnp.arrays(np.bool_, scores.shape))
    for mask in (None, there):
        ranks = metrics.mean_ranks(scores, mask)
        for q, row in enumerate(scores):
            others = [row[k] for k in range(1, row.size) if mask is None or mask[q, k]]
            best = 1 + sum(other > row[0] for other in others)
            worst = 1 + sum(other >= row[0] for other in others)
            assert ranks[q] == (best + worst) / 2


def test_ranks_refuse_what_is_not_a_number():
    with pytest.raises(InputError, match="NaN"):
        metrics.mean_ranks(np.array([[1.0, np.nan]]))


def test_a_constant_has_the_middle_rank():
    ranks = metrics.mean_ranks(np.zeros((3, 101)))
    assert ranks.tolist() == [51.0] * 3
    assert metrics.mrr(ranks) == 1 / 51
    assert [metrics.hits(ranks, k) for k in (50, 51)] == [0, 1]


def test_errors():
    guess, truth = np.array([0.0, 1.0, 4.0, 8.0]), np.array([0.0, 2.0, 2.0, 2.0])
    assert metrics.rmse(guess, truth) == pytest.approx(np.sqrt((0 + 1 + 4 + 36) / 4))
    assert metrics.mae(guess, truth) == (0 + 1 + 2 + 6) / 4
    assert metrics.median_error(guess, truth) == 1.5
    assert metrics.within(guess - truth, 2.0) == 0.5  # less than, not equal
    assert metrics.within(guess - truth, 2.1) == 0.75


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_f1_scores_are_those_of_scikit_learn(pairs):
    labels, guesses = np.array(pairs).T
    counts = metrics.decisions(labels, guesses, 5)
    assert counts.shape == (len(pairs), 3, 5)
    total = counts.sum(axis=0)
    assert metrics.micro_f1(total) == pytest.approx(f1_score(labels, guesses, average="micro", zero_division=0))
    assert metrics.macro_f1(total) == pytest.approx(f1_score(labels, guesses, average="macro", zero_division=0))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_ranking_scores_are_those_of_scikit_learn(pairs):
    labels, scores = (np.array(column) for column in zip(*pairs, strict=True))
    if labels.all() or not labels.any():
        with pytest.raises(InputError, match="one kind of label"):
            metrics.auc(labels, scores)
        return
    assert metrics.average_precision(labels, scores) == pytest.approx(average_precision_score(labels, scores))
    assert metrics.auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores))


def test_ranking_scores_refuse_what_is_not_a_number():
    with pytest.raises(InputError, match="NaN"):
        metrics.auc(np.array([0, 1]), np.array([np.nan, 1.0]))


# -- how sure ---------------------------------------------------------------------------------------------------------


def plain_resamples(values, seed, count):
    """Draw as the module says it does, one resample after the other."""
    rng = np.random.default_rng(int(metrics.stream(seed, "bootstrap")))
    return [values[rng.integers(len(values), size=len(values))] for _ in range(count)]


@pytest.mark.parametrize("block", [1, 64, 1 << 21])
@pytest.mark.parametrize("size", [1, 10, 11])
def test_resampled_statistics_are_those_of_plain_draws(block, size, monkeypatch):
    monkeypatch.setattr(metrics, "BLOCK", block)
    values = np.random.default_rng(size).exponential(size=size)
    draws = plain_resamples(values, 5, 40)
    for statistic, plain in (
        ("mean", np.mean),
        ("root mean", lambda some: np.sqrt(some.mean())),
        ("median", np.median),
        (lambda means: means[:, 0] ** 3, lambda some: some.mean() ** 3),
    ):
        found = metrics.resampled(values, statistic, 5, 40)
        assert np.allclose(found, [plain(draw) for draw in draws])
        low, high = metrics.interval(values, statistic, 5, 40, 0.8)
        assert np.allclose([low, high], np.quantile([plain(draw) for draw in draws], [0.1, 0.9]))


def test_statistics_of_several_columns():
    values = np.random.default_rng(0).random((30, 2))
    draws = plain_resamples(values, 1, 25)
    ratio = metrics.resampled(values, lambda means: means[:, 0] / means[:, 1], 1, 25)
    assert np.allclose(ratio, [draw[:, 0].sum() / draw[:, 1].sum() for draw in draws])


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(200):
        low, high = metrics.interval(rng.normal(2.0, 1.0, size=60), "mean", seed, 400, 0.9)
        inside += low <= 2.0 <= high
    assert 0.82 <= inside / 200 <= 0.96


def test_paired_intervals_see_what_two_alone_do_not():
    """Two methods that differ a little on every question, where questions differ a lot."""
    rng = np.random.default_rng(0)
    one = rng.exponential(10.0, size=200)
    other = one + 0.1
    low, high = metrics.paired_interval(one, other, "mean", 0)
    assert low == pytest.approx(-0.1)
    assert high == pytest.approx(-0.1)
    first, second = metrics.interval(one, "mean", 0), metrics.interval(other, "mean", 0)
    assert first[1] > second[0]  # alone, they overlap
    with pytest.raises(InputError, match="not the same questions"):
        metrics.paired_interval(one, other[1:], "mean", 0)


def test_nothing_to_resample():
    with pytest.raises(InputError, match="nothing to resample"):
        metrics.interval(np.empty(0), "mean", 0)
