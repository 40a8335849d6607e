"""Scores of a board against brute force, closed forms and another library."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from small import forum
from tadge.board import AnswerSheet, make_board, score_answers
from tadge.board.questions import QUANTILES
from tadge.board.scoring import pinball
from tadge.units import squash

LEVELS = np.array(list(QUANTILES.values()))


@pytest.fixture(scope="module")
def board():
    return make_board(forum(), "forum", moments=60)


@pytest.fixture(scope="module")
def sheet(board):
    rng = np.random.default_rng(3)
    within = np.sort(rng.uniform(0, 1, (len(board), 4)), axis=1).round(2)  # with ties
    return AnswerSheet(within, np.sort(rng.uniform(0, 30, (len(board), len(QUANTILES))), axis=1))


def value(result, task, metric, name="mine"):
    return result.figures(name, task)[metric]["value"]


def test_figures_are_what_slow_sums_give(board, sheet):
    result = score_answers(board, {"mine": sheet})
    for column, (task, horizon) in enumerate(
        {"within 1 hour": 1 / 24, "within 1 day": 1.0, "within 7 days": 7.0, "within 30 days": 30.0}.items()
    ):
        rows = [k for k in range(len(board)) if board.horizon[k] >= horizon]
        errors = [(sheet.within[k, column] - (board.came[k] and board.days[k] <= horizon)) ** 2 for k in rows]
        if rows:
            assert value(result, task, "brier") == pytest.approx(np.mean(errors))
            assert result.tasks[task]["questions"] == len(rows)
    came = np.flatnonzero(board.came)
    errors = np.abs(sheet.quantiles[came, 2] - board.days[came])
    assert value(result, "waits", "mae days") == pytest.approx(errors.mean())
    assert value(result, "waits", "median days") == pytest.approx(np.median(errors))
    squashed = squash(sheet.quantiles[came, 2]) - squash(board.days[came])
    assert value(result, "waits", "rmse") == pytest.approx(np.sqrt(np.mean(squashed**2)))
    for metric, low, high in (("coverage 80", 1, 3), ("coverage 95", 0, 4)):
        inside = [sheet.quantiles[k, low] <= board.days[k] <= sheet.quantiles[k, high] for k in came]
        assert value(result, "waits", metric) == pytest.approx(np.mean(inside))
    losses = [
        max(level * (y - q), (level - 1) * (y - q))
        for k in came
        for level, q, y in zip(LEVELS, squash(sheet.quantiles[k]), [squash(board.days[k])] * 5, strict=True)
    ]
    assert value(result, "waits", "pinball") == pytest.approx(np.mean(losses))


def test_the_order_is_that_of_another_library(board, sheet):
    lifelines = pytest.importorskip("lifelines.utils")
    for given_sheet, risk in (
        (sheet, sheet.within[:, 2]),
        (AnswerSheet(quantiles=sheet.quantiles[:, 2:3]), -sheet.quantiles[:, 2]),
        (AnswerSheet(risk=-sheet.within[:, 0]), -sheet.within[:, 0]),
    ):
        expected = lifelines.concordance_index(board.days, -risk, board.came)
        assert value(score_answers(board, {"mine": given_sheet}), "order", "c-index") == pytest.approx(expected)


def test_who_knows_the_truth_is_perfect_and_a_constant_is_not(board):
    perfect = AnswerSheet(
        np.stack([board.came & (board.days <= days) for days in board.about.horizons], axis=1).astype(float),
        np.repeat(board.days[:, None], len(QUANTILES), axis=1),
        -board.days - 1e6 * ~board.came,
    )
    constant = AnswerSheet(np.full((len(board), 4), 0.5), np.tile([1.0, 2.0, 3.0, 4.0, 5.0], (len(board), 1)))
    result = score_answers(board, {"perfect": perfect, "constant": constant})
    assert value(result, "order", "c-index", "perfect") == 1.0
    assert value(result, "order", "c-index", "constant") == 0.5
    for metric in ("rmse", "mae days", "median days", "pinball"):
        assert value(result, "waits", metric, "perfect") == 0.0
    assert value(result, "waits", "coverage 95", "perfect") == 1.0
    assert value(result, "within 1 day", "brier", "perfect") == 0.0
    assert value(result, "within 1 day", "brier", "constant") == 0.25
    assert "perfect wins against constant on waits" in " ".join(result.sentences())
    assert result.data["name"] == "forum"
    assert result.config["board"]["questions_sha256"] == board.about.questions_sha256


def test_what_was_not_answered_has_no_figure(board, sheet):
    result = score_answers(board, {"mine": sheet, "median": AnswerSheet(quantiles=sheet.quantiles[:, 2:3])})
    assert "within 1 day" not in result.methods["median"]
    assert "pinball" not in result.figures("median", "waits")
    assert value(result, "waits", "rmse", "median") == value(result, "waits", "rmse")
    assert "median" in str(result)
    with pytest.raises(tadge.InputError, match="nothing to score"):
        score_answers(board, {})


@given(st.integers(0, 2**32))
def test_the_pinball_loss_is_least_for_true_quantiles(seed):
    rng = np.random.default_rng(seed)
    truth = rng.exponential(size=4001)
    best = pinball(np.tile(np.quantile(truth, LEVELS), (truth.size, 1)), truth).mean()
    other = np.quantile(truth, LEVELS) * rng.uniform(0.2, 3.0, LEVELS.size)
    assert best <= pinball(np.tile(other, (truth.size, 1)), truth).mean() + 1e-12
