"""Ask methods, check what they answer, and measure it question by question.

Every question comes with its moment `at`, and what happened later must not be looked at; see `tadge.protocols`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, Ints, NodeNumbers, Report
from tadge.errors import InputError
from tadge.evaluation.figures import Measured
from tadge.evaluation.questions import SCORES_AT_ONCE, LinkQuestions, ToeQuestions
from tadge.graph.graph import TemporalGraph
from tadge.protocols import EmbedsNodes, PredictsToe, ScoresLinks, accepts, name_of
from tadge.units import squash
from tadge.validation import mean_ranks

FIRST_RANKS = 10  # who-and-when: how far up the target must be ranked
EPSILONS = tuple(round(0.05 * k, 2) for k in range(1, 11))  # who-and-when: how far off the squashed ToE may be
FORMER_ONLY = "links (former targets only)"  # the historical negatives without those that are random
STILL_OPEN = "toe, still open"  # ToE as of the beginning of the period, where the target had joined before it
SHOWN_KINDS = ("repeat", "answer", "first contact", "unseen")  # of questions, that tables show
MAIN = {"toe": "rmse", "links": "mrr", "who-and-when": "within 0.25", "classes": "macro-f1"}
COMPARED = {"toe": ("rmse", "median days", "mae days")}  # metrics of the verdicts, where the main one is not enough
SHOWN = {
    "toe": ("rmse", "mae", "rmse days", "mae days", "median days", *(f"rmse {kind}" for kind in SHOWN_KINDS)),
    "links": ("mrr", "hits@1", "hits@3", "hits@10", *(f"mrr {kind}" for kind in SHOWN_KINDS)),
    "who-and-when": ("within 0.05", "within 0.10", "within 0.25", "within 0.50"),
    "classes": ("micro-f1", "macro-f1"),
}


class ToeQuestion(TypedDict):
    """Say which prediction of a ToE is asked for."""

    unit: Literal["days", "squashed"]
    statistic: Literal["median", "mean"]


SQUASHED_MEAN: ToeQuestion = {"unit": "squashed", "statistic": "mean"}
DAYS_MEDIAN: ToeQuestion = {"unit": "days", "statistic": "median"}


# -- asking -----------------------------------------------------------------------------------------------------------


def rank_links(
    method: ScoresLinks, questions: LinkQuestions, kind: str, report: Report, pairs: int = SCORES_AT_ONCE
) -> Days:
    """Rank the true target of each question among its candidates, (Q,); memory does not grow with the questions."""
    ranks = np.empty(len(questions))
    for cut, scores in _score_links(method, questions, kind, report, pairs):
        ranks[cut] = mean_ranks(scores)
    return ranks


def rank_historical(
    method: ScoresLinks, questions: LinkQuestions, report: Report, pairs: int = SCORES_AT_ONCE
) -> tuple[Days, Days]:
    """Rank the true target of each question among its historical negatives, and among former targets alone, (Q,) each.

    Where the source has no former target but the true one, the second rank is 1 and says nothing.
    """
    ranks, among_former = np.empty(len(questions)), np.empty(len(questions))
    for cut, scores in _score_links(method, questions, "historical", report, pairs):
        ranks[cut] = mean_ranks(scores)
        former = np.arange(scores.shape[1]) <= questions.num_former[cut, None]  # the random ones come after them
        among_former[cut] = mean_ranks(scores, former)
    return ranks, among_former


def _score_links(
    method: ScoresLinks, questions: LinkQuestions, kind: str, report: Report, pairs: int
) -> Iterator[tuple[slice, Days]]:
    """Let a method score the candidates of some questions after the others: which they are, and (q, 1 + K) scores."""
    for cut, candidates, known in questions.blocks(kind, pairs):
        width = candidates.shape[1]
        src, at = np.repeat(questions.src[cut], width), np.repeat(questions.at[cut], width)
        scores = method.score_links(NodeNumbers(src), NodeNumbers(candidates.reshape(-1)), at, graph=known)
        scores = checked(scores, (src.size,), f"the link scores of {name_of(method)}", np.isnan)
        yield cut, scores.reshape(candidates.shape)
        report(cut.stop, len(questions))


def predict_toe(
    method: PredictsToe,
    questions: ToeQuestions,
    graph: TemporalGraph,
    asked: tuple[ToeQuestion, ...],
    report: Report,
    pairs: int = SCORES_AT_ONCE,
) -> Days:
    """Predict the ToE of each question in each way that is asked for, (A, Q).

    The ways of one block of questions follow each other, so that a method can use what it knows of these pairs again.
    """
    predictions = np.empty((len(asked), len(questions)))
    for first in range(0, len(questions), pairs):
        cut = slice(first, min(first + pairs, len(questions)))
        block = NodeNumbers(questions.src[cut]), NodeNumbers(questions.dst[cut]), questions.at[cut]
        for row, way in zip(predictions, asked, strict=True):
            row[cut] = checked_toe(method, method.predict_toe(*block, graph=graph, **way), block[0].shape)
        report(cut.stop, len(questions))
    return predictions


def vectors_of(method: EmbedsNodes, nodes: Ints, at: float, graph: TemporalGraph, report: Report) -> Days:
    """Let a method embed nodes, (n,), as of a moment, (n, D)."""
    parts, step = [], SCORES_AT_ONCE // 8
    quiet: dict[str, Any] = {"progress": False} if accepts(method.embed, "progress") else {}
    for first in range(0, nodes.size, step):
        block = NodeNumbers(nodes[first : first + step])
        vectors = np.asarray(method.embed(block, np.full(block.size, at), graph=graph, **quiet))
        shape = (block.size, vectors.shape[1] if vectors.ndim == 2 else 1)
        parts.append(checked(vectors, shape, f"the vectors of {name_of(method)}", not_finite))
        report(first + block.size, nodes.size)
    return np.concatenate(parts)


def checked_toe(method: object, answer: Any, shape: tuple[int, ...], mask: Flags | None = None) -> Days:
    """Return the ToEs that a method predicted, or complain; where the mask is False nothing was asked."""
    what = f"the predicted ToEs of {name_of(method)}"
    return checked(answer, shape, what, lambda toe: not_finite(toe) if mask is None else not_finite(toe) & mask)


def checked(answer: Any, shape: tuple[int, ...], what: str, wrong: Callable[[npt.NDArray[Any]], Flags]) -> Days:
    """Return what a method answered as numbers of the right shape, or complain."""
    try:
        array = np.asarray(answer, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} are not numbers", expected=f"shape {shape}", found=repr(answer)[:80]) from None
    if array.shape != shape:
        raise InputError(f"{what} have the wrong shape", expected=str(shape), found=str(array.shape))
    bad = wrong(array)
    if bad.any():
        found = f"{array[bad][0]} ({np.count_nonzero(bad):,} of {array.size:,} are like that)"
        raise InputError(f"{what} cannot be used", expected="numbers", found=found)
    return array


def not_finite(array: npt.NDArray[Any]) -> Flags:
    """Flag NaN and infinities."""
    return ~np.isfinite(array)  # type: ignore[no-any-return]


# -- measuring --------------------------------------------------------------------------------------------------------


def measure_links(ranks: Days) -> Measured:
    """Measure ranks, (Q,)."""
    return {"mrr": ("mean", 1 / ranks)} | {f"hits@{k}": ("mean", ranks <= k) for k in (1, 3, 10)}


def measure_toe(squashed: Days, days: Days, toe: Days) -> Measured:
    """Measure predictions in the squashed unit and in days against the true ToE in days, (Q,) each."""
    error, error_days = np.abs(squashed - squash(toe)), np.abs(days - toe)
    return {
        "rmse": ("root mean", error**2),
        "mae": ("mean", error),
        "rmse days": ("root mean", error_days**2),
        "mae days": ("mean", error_days),
        "median days": ("median", error_days),
    }


def measure_who_and_when(ranks: Days, squashed: Days, toe: Days) -> Measured:
    """Measure both at once: the target among the first, and its ToE less than epsilon off, (Q,) each."""
    ranked, error = ranks <= FIRST_RANKS, np.abs(squashed - squash(toe))
    return {f"within {eps:.2f}": ("mean", ranked & (error < eps)) for eps in EPSILONS}
