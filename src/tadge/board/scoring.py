"""Scores of the answers to a board: how likely, in which order, after how long, and how sure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tadge.arrays import Days
from tadge.board.answers import AnswerSheet
from tadge.board.questions import QUANTILES, Board
from tadge.errors import InputError
from tadge.evaluation.figures import WANTED, Measured
from tadge.evaluation.result import Result
from tadge.evaluation.within import RISK_HORIZON
from tadge.evaluation.within_figures import concordance_figures, measure_probabilities, reliability
from tadge.evaluation.within_questions import in_words
from tadge.units import squash
from tadge.version import code_version

ORDER, WAITS = "order", "waits"
SHOWN_PROBABILITIES = ("brier", "gap", "said", "true")
SHOWN_WAITS = ("rmse", "mae days", "median days", "pinball", *WANTED)
COMPARED_WAITS = ("rmse", "median days", "mae days")
LIMITS = {"coverage 80": ("q10", "q90"), "coverage 95": ("q2.5", "q97.5")}


def score_answers(board: Board, sheets: Mapping[str, AnswerSheet], seed: int = 0) -> Result:
    """Score sheets of answers by name; the first is compared with all others, question by question.

    Three kinds of tables. `within ...`: Brier score of the probabilities at a horizon, over the questions whose history
    goes on for so long. `order`: Harrell's C of all questions, where what had not come by the end is censored. `waits`,
    over the links that came: the median's errors in days, its RMSE in the squashed unit, the mean pinball loss of all
    quantiles in that unit, and how many waits lie in the central 80% and 95%.

    Args:
        board: questions and truth.
        sheets: answers by the name of who gave them.
        seed: of the resampling.
    """
    if not sheets:
        raise InputError("nothing to score", expected="at least one sheet of answers", found="none")
    result = Result("forecast", kinds={name: "rule" if place else "model" for place, name in enumerate(sheets)})
    result.times, result.validation = {name: {} for name in sheets}, {name: {} for name in sheets}
    targets = np.unique(board.dst.astype(str), return_inverse=True)[1].astype(np.int64)
    for column, horizon in enumerate(board.about.horizons):
        task, asked, true = (
            f"within {in_words(horizon)}",
            board.horizon >= horizon,
            board.came & (board.days <= horizon),
        )
        said = {name: sheet.within[asked, column] for name, sheet in sheets.items() if sheet.within is not None}
        if not asked.any():
            result.notes.append(f"{task} is left out: the test period is shorter")
        if not asked.any() or not said:
            continue
        measured = {name: measure_probabilities(values, true[asked]) for name, values in said.items()}
        _add(result, task, measured, SHOWN_PROBABILITIES, ("brier",), targets[asked], seed)
        result.tasks[task]["reliability"] = {name: reliability(values, true[asked]) for name, values in said.items()}
        if not asked.all():
            missing = np.count_nonzero(~asked)
            result.notes.append(
                f"{task}: {missing:,} of {asked.size:,} questions are left out: the history ends before"
            )
    ordered = {name: concordance_figures(_risk(sheet), board.days, board.came) for name, sheet in sheets.items()}
    _add(result, ORDER, ordered, ("c-index",), ("c-index",), targets, seed)
    waits = {name: _measure_waits(sheet, board) for name, sheet in sheets.items() if sheet.quantiles is not None}
    if waits and board.came.any():
        _add(result, WAITS, waits, SHOWN_WAITS, COMPARED_WAITS, targets[board.came], seed)
    about = board.about
    result.notes.append(
        f"{len(board):,} questions, {np.count_nonzero(board.came):,} links came; {ORDER}: all questions, where those "
        f"whose link had not come by the end are censored; {WAITS}: of links that came, given that they come"
    )
    result.data = {"name": about.name, "fingerprint": about.fingerprint, "nodes": about.nodes, "events": about.events}
    result.config = {"board": {"seed": about.seed, "questions_sha256": about.questions_sha256}, "models": {}}
    result.seeds, result.version = [seed], code_version()
    return result


def _add(
    result: Result, task: str, measured: Mapping[str, Measured], shown: Any, compared: Any, targets: Any, seed: int
) -> None:
    result.add_measured(task, measured, seed, targets.size, shown, compared, None, targets)


def _risk(sheet: AnswerSheet) -> Days:
    """Give what orders the questions, (Q,): a risk, the probability within about a week, or how short the median is."""
    if sheet.risk is not None:
        return sheet.risk
    if sheet.within is not None:
        return sheet.within[:, min(RISK_HORIZON, sheet.within.shape[1] - 1)]
    assert sheet.median is not None  # a sheet has one of the three
    return -sheet.median


def _measure_waits(sheet: AnswerSheet, board: Board) -> Measured:
    """Measure medians and quantiles of links that came, question by question."""
    assert sheet.median is not None and sheet.quantiles is not None
    days, median = board.days[board.came], sheet.median[board.came]
    error = np.abs(median - days)
    measured: dict[str, Any] = {
        "rmse": ("root mean", (squash(median) - squash(days)) ** 2),
        "mae days": ("mean", error),
        "median days": ("median", error),
    }
    if sheet.quantiles.shape[1] == 1:
        return measured
    quantiles = sheet.quantiles[board.came]
    measured["pinball"] = ("mean", pinball(squash(quantiles), squash(days)))
    names = list(QUANTILES)
    for name, (low, high) in LIMITS.items():
        inside = (quantiles[:, names.index(low)] <= days) & (days <= quantiles[:, names.index(high)])
        measured[name] = ("mean", inside)
    return measured


def pinball(quantiles: Days, truth: Days) -> Days:
    """Compute the mean pinball loss of quantiles at the levels of QUANTILES, (n, L), against the truth, (n,).

    It is smallest, on average, for the true quantiles.
    """
    levels, above = np.array(list(QUANTILES.values())), truth[:, None] - quantiles
    return np.asarray(np.maximum(levels * above, (levels - 1) * above).mean(axis=1))
