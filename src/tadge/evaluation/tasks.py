"""Ask methods, check what they answer, and measure it question by question.

A method is anything with some of `fit`, `embed`, `score_links` and `predict_toe`; it is asked what it can answer. Every
question comes with its moment `at`, and what happened later must not be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, NodeNumbers
from tadge.embedding.estimator import TADGE
from tadge.errors import ConfigError, InputError
from tadge.evaluation.figures import Columns
from tadge.evaluation.metrics import mean_ranks
from tadge.evaluation.questions import AT_ONCE, LinkQuestions, ToeQuestions
from tadge.graph import TemporalGraph
from tadge.units import squash

Method = Any  # see the module's text
Report = Callable[[int, int], None]

CALLS = ("embed", "score_links", "predict_toe")
TASKS = ("toe", "links", "who-and-when", "classes")
ASKED = {True: {"unit": "squashed", "statistic": "mean"}, False: {"unit": "days", "statistic": "median"}}
FIRST = 10  # who-and-when: how far up the target must be ranked
EPSILONS = tuple(round(0.05 * k, 2) for k in range(1, 11))  # who-and-when: how far off the squashed ToE may be
MAIN = {"toe": "rmse", "links": "mrr", "who-and-when": "within 0.25", "classes": "macro-f1"}
KINDS = ("repeat", "answer", "first contact", "unseen")  # of questions, that tables show
SHOWN = {
    "toe": ("rmse", "mae", "rmse days", "mae days", "median days", *(f"rmse {kind}" for kind in KINDS)),
    "links": ("mrr", "hits@1", "hits@3", "hits@10", *(f"mrr {kind}" for kind in KINDS)),
    "who-and-when": ("within 0.05", "within 0.10", "within 0.25", "within 0.50"),
    "classes": ("micro-f1", "macro-f1"),
}


def check_tasks(tasks: Any) -> tuple[str, ...]:
    """Return the tasks as a tuple in the order of tables, or complain."""
    given = {tasks} if isinstance(tasks, str) else set(tasks)
    if not given or given - set(TASKS):
        expected = "some of " + ", ".join(TASKS)
        raise ConfigError("unknown task", expected=expected, found=repr(tasks), where="tasks")
    return tuple(task for task in TASKS if task in given)


def name_of(method: Method) -> str:
    """Give the name under which a method stands in tables."""
    return str(getattr(method, "name", type(method).__name__))


def can(method: Method, question: str) -> bool:
    """Tell whether a method has `embed`, `score_links` or `predict_toe`."""
    return callable(getattr(method, question, None))


# -- asking -----------------------------------------------------------------------------------------------------------


def rank_links(method: Method, questions: LinkQuestions, kind: str, report: Report, pairs: int = AT_ONCE) -> Days:
    """Rank the true target of each question among its candidates, (Q,); memory does not grow with the questions."""
    ranks = np.empty(len(questions))
    for cut, answers in questions.blocks(kind, pairs):
        src, at = (np.repeat(column[cut], answers.shape[1]) for column in (questions.src, questions.at))
        scores = method.score_links(NodeNumbers(src), NodeNumbers(answers.reshape(-1)), at, graph=questions.graph)
        scores = checked(scores, (src.size,), f"the link scores of {name_of(method)}", np.isnan)
        ranks[cut] = mean_ranks(scores.reshape(answers.shape))
        report(cut.stop, len(questions))
    return ranks


def guess_toe(
    method: Method, questions: ToeQuestions, graph: TemporalGraph, squashed: bool, report: Report, pairs: int = AT_ONCE
) -> Days:
    """Let a method guess the ToE of each question, (Q,), squashed or in days."""
    guess = np.empty(len(questions))
    for first in range(0, len(questions), pairs):
        cut = slice(first, min(first + pairs, len(questions)))
        asked = NodeNumbers(questions.src[cut]), NodeNumbers(questions.dst[cut]), questions.at[cut]
        found = method.predict_toe(*asked, graph=graph, **ASKED[squashed])
        guess[cut] = checked(found, asked[0].shape, f"the guesses of ToE of {name_of(method)}", not_finite)
        report(cut.stop, len(questions))
    return guess


def vectors_of(method: Method, nodes: Ints, at: float, graph: TemporalGraph, report: Report) -> Days:
    """Let a method embed nodes, (n,), as of a moment, (n, D)."""
    parts, step = [], AT_ONCE // 8
    quiet = {"progress": False} if isinstance(method, TADGE) else {}
    for first in range(0, nodes.size, step):
        some = nodes[first : first + step]
        found = np.asarray(method.embed(NodeNumbers(some), np.full(some.size, at), graph=graph, **quiet))
        shape = (some.size, found.shape[1] if found.ndim == 2 else 1)
        parts.append(checked(found, shape, f"the vectors of {name_of(method)}", not_finite))
        report(first + some.size, nodes.size)
    return np.concatenate(parts)


def checked(
    found: Any, shape: tuple[int, ...], what: str, wrong: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]
) -> Days:
    """Return what a method answered as numbers of the right shape, or complain."""
    try:
        array = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} are not numbers", expected=f"shape {shape}", found=repr(found)[:80]) from None
    if array.shape != shape:
        raise InputError(f"{what} have the wrong shape", expected=str(shape), found=str(array.shape))
    bad = wrong(array)
    if bad.any():
        count, first = int(np.count_nonzero(bad)), array[bad][0]
        found = f"{first} ({count:,} of {array.size:,} are like that)"
        raise InputError(f"{what} cannot be used", expected="numbers", found=found)
    return array


def not_finite(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Flag NaN and infinities."""
    return ~np.isfinite(array)  # type: ignore[no-any-return]


# -- measuring --------------------------------------------------------------------------------------------------------


def link_columns(ranks: Days) -> Columns:
    """Measure ranks, (Q,)."""
    return {"mrr": ("mean", 1 / ranks)} | {f"hits@{k}": ("mean", ranks <= k) for k in (1, 3, 10)}


def toe_columns(squashed: Days, days: Days, toe: Days) -> Columns:
    """Measure guesses in the squashed unit and in days against the true ToE in days, (Q,) each."""
    error, off = np.abs(squashed - squash(toe)), np.abs(days - toe)
    in_days: Columns = {"rmse days": ("root mean", off**2), "mae days": ("mean", off), "median days": ("median", off)}
    return {"rmse": ("root mean", error**2), "mae": ("mean", error), **in_days}


def when_columns(ranks: Days, squashed: Days, toe: Days) -> Columns:
    """Measure who and when at once: the target among the first, and its ToE less than epsilon off, (Q,) each."""
    found, error = ranks <= FIRST, np.abs(squashed - squash(toe))
    return {f"within {eps:.2f}": ("mean", found & (error < eps)) for eps in EPSILONS}
