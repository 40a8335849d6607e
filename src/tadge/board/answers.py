"""Answers to the questions of a board: as a table that anybody can write, checked row by row; and those of a method.

A sheet has a row per question and some of: `within_...` columns, the probability of a link within each horizon;
`q2.5` to `q97.5`, quantiles of the days until the link, given that it comes within `horizon_days` (`q50` alone is the
median); and `risk`, the higher the sooner. What a column is called, the board says.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tadge.arrays import Days, Flags, Ints, NodeNumbers, Report
from tadge.board.questions import QUANTILES, QUESTION, Board
from tadge.errors import InputError, TadgeWarning
from tadge.evaluation.questions import SCORES_AT_ONCE
from tadge.evaluation.within import longest_horizon
from tadge.graph.graph import TemporalGraph
from tadge.io.export import form_of, write_frame
from tadge.io.string_columns import numbers_in, read_strings
from tadge.protocols import Fitted, PredictsWithin, name_of
from tadge.units import date_text

RISK = "risk"
MEDIAN = "q50"
GRID = 96  # times at which a curve is read to find its quantiles
SMALLEST_PART = 1e-7  # of the longest time: where the grid begins


@dataclass(frozen=True, eq=False)
class AnswerSheet:
    """Hold the answers to all questions of a board; None where they were not given.

    Attributes:
        within: (Q, H) probabilities.
        quantiles: (Q, L) days, in the order of QUANTILES; or (Q, 1), the median alone.
        risk: (Q,) the higher, the sooner the link is said to come.
    """

    within: Days | None = None
    quantiles: Days | None = None
    risk: Days | None = None

    @property
    def median(self) -> Days | None:
        """Give the median of the days, (Q,)."""
        if self.quantiles is None:
            return None
        return self.quantiles[:, list(QUANTILES).index(MEDIAN) if self.quantiles.shape[1] > 1 else 0]

    def frame(self, board: Board) -> pl.DataFrame:
        """Give the answers as a table."""
        columns: dict[str, Any] = {QUESTION: board.questions}
        if self.within is not None:
            columns |= dict(zip(board.about.probability_columns, self.within.T, strict=True))
        if self.quantiles is not None:
            names = list(QUANTILES) if self.quantiles.shape[1] > 1 else [MEDIAN]
            columns |= dict(zip(names, self.quantiles.T, strict=True))
        return pl.DataFrame(columns if self.risk is None else columns | {RISK: self.risk})

    def write(self, board: Board, path: str | PathLike[str]) -> None:
        """Write the answers to .csv, .tsv, .jsonl or .parquet."""
        place = Path(path)
        form_of(place)
        write_frame(self.frame(board), place)


def read_answers(path: str | PathLike[str], board: Board) -> AnswerSheet:
    """Read a sheet of answers; every question once, in any order, every cell checked."""
    where = str(path)
    probabilities = list(board.about.probability_columns)
    frame = read_strings(Path(path), (QUESTION,), (*probabilities, *QUANTILES, RISK))
    order = _order(numbers_in(frame, QUESTION, where), board, where)
    have = {name: numbers_in(frame, name, where)[order] for name in frame.columns if name != QUESTION}
    if not have:
        expected = f"{', '.join(probabilities)}; {', '.join(QUANTILES)}; or {RISK}"
        raise InputError("there are no answers", expected=f"columns such as {expected}", where=where)
    within = _columns(have, probabilities, where)
    quantiles = have[MEDIAN][:, None] if _is_median_alone(have) else _columns(have, list(QUANTILES), where)
    if within is not None:
        _refuse(~((within >= 0) & (within <= 1)), probabilities, within, "not a probability", "from 0 to 1", where)
        falls = np.diff(within, axis=1, prepend=0.0) < 0
        _refuse(falls, probabilities, within, "a longer time is less likely", "probabilities that never fall", where)
    if quantiles is not None:
        names = list(QUANTILES) if quantiles.shape[1] > 1 else [MEDIAN]
        _refuse(quantiles < 0, names, quantiles, "a wait below 0", "days from the moment on", where)
        falls = np.diff(quantiles, axis=1, prepend=0.0) < 0
        _refuse(falls, names, quantiles, "quantiles fall", "quantiles that never fall", where)
    return AnswerSheet(within, quantiles, have.get(RISK))


def _order(given: Days, board: Board, where: str) -> Ints:
    """Find the row of every question, (Q,); complain about one that is missing, unknown or there twice."""
    size = len(board)
    unknown = (given != np.floor(given)) | (given < 1) | (given > size)
    if unknown.any():
        expected, found = f"numbers from 1 to {size:,}", f"{given[np.argmax(unknown)]:g}"
        row = f"{where}, row {np.argmax(unknown) + 2}"
        raise InputError("there is no such question", expected=expected, found=found, where=row)
    numbers = given.astype(np.int64)
    times = np.bincount(numbers, minlength=size + 1)[1:]
    for what, wrong in (("answered twice", times > 1), ("not answered", times == 0)):
        if wrong.any():
            found = f"question {np.argmax(wrong) + 1} ({np.count_nonzero(wrong):,} are like that)"
            raise InputError(f"a question is {what}", expected="one row for each", found=found, where=where)
    return np.argsort(numbers, kind="stable")


def _is_median_alone(have: dict[str, Days]) -> bool:
    return MEDIAN in have and not (QUANTILES.keys() - {MEDIAN}) & have.keys()


def _columns(have: dict[str, Days], names: list[str], where: str) -> Days | None:
    """Put columns side by side, (Q, c); None where there is none, and all or nothing else."""
    some = [name for name in names if name in have]
    if some and len(some) < len(names):
        missing = next(name for name in names if name not in have)
        expected = f"all of {', '.join(names)}, or none"
        raise InputError(f"there is no column {missing!r}", expected=expected, found=", ".join(some), where=where)
    return np.stack([have[name] for name in names], axis=1) if some else None


def _refuse(wrong: Flags, names: list[str], values: Days, what: str, expected: str, where: str) -> None:
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        count = np.count_nonzero(wrong.any(axis=1))
        found = f"{values[row, column]:g} ({count:,} questions are like that)"
        place = f"{where}, question {row + 1}, column {names[column]}"
        raise InputError(what, expected=expected, found=found, where=place)


# -- answers of a method ----------------------------------------------------------------------------------------------


def answers_of(
    method: PredictsWithin, board: Board, graph: TemporalGraph, report: Report = lambda done, total: None
) -> AnswerSheet:
    """Ask a fitted method that has `within` all questions of a board.

    Quantiles are those of its curve up to the end of the history, or as far as it can be asked about: it is told that
    the link comes by then. Probabilities beyond that are those of the longest time.

    Args:
        method: what is asked; an estimator that was fitted to anything of the test period is refused.
        board: the questions.
        graph: the data of the board.
        report: is told how far it is.
    """
    if not isinstance(method, PredictsWithin):
        expected = "a method with within(src, dst, days, at, *, graph)"
        raise InputError("this method cannot answer", expected=expected, found=name_of(method), where="method")
    _check_unseen(method, board, graph)
    (src, dst), horizons = board.pairs(graph), np.array(board.about.horizons)
    longest = longest_horizon(method)
    grid = np.geomspace(SMALLEST_PART, 1.0, GRID) * min(longest, float(board.horizon.max()))
    asked = np.unique(np.concatenate([grid, np.minimum(horizons, longest)]))
    within, quantiles = np.empty((len(board), horizons.size)), np.empty((len(board), len(QUANTILES)))
    step = max(1, SCORES_AT_ONCE // 8)
    for first in range(0, len(board), step):
        cut = slice(first, min(first + step, len(board)))
        nodes = NodeNumbers(src[cut]), NodeNumbers(dst[cut])
        with warnings.catch_warnings(action="ignore", category=TadgeWarning):  # of age: here it is so for all
            said = np.asarray(method.within(*nodes, asked, board.at[cut], graph=graph), np.float64)
        said = np.maximum.accumulate(np.clip(said, 0.0, 1.0), axis=1)
        within[cut] = said[:, np.searchsorted(asked, np.minimum(horizons, longest))]
        quantiles[cut] = quantiles_of(asked, said, np.minimum(board.horizon[cut], longest))
        report(cut.stop, len(board))
    return AnswerSheet(within, quantiles)


def _check_unseen(method: object, board: Board, graph: TemporalGraph) -> None:
    """Refuse an estimator that was fitted to events of the test period."""
    begin = board.about.test_from
    if isinstance(method, Fitted) and method.graph_.num_events and method.graph_.time[-1] >= begin:
        expected = f"fitted to events before {date_text(begin, graph.clock)}"
        found, cure = f"one at {date_text(float(method.graph_.time[-1]), graph.clock)}", "fit it to what is before"
        what = f"{name_of(method)} has seen the test period"
        raise InputError(what, expected=expected, found=found, cure=cure, where="method")


def quantiles_of(times: Days, said: Days, until: Days) -> Days:
    """Find the quantiles of waits from probabilities within times, given that the link comes by a time, (n, L) days.

    Between two times probabilities are linear in the logarithm of time, before the first one in time.

    Args:
        times: (T,) days, ascending.
        said: (n, T) probabilities, which never fall.
        until: (n,) days.
    """
    times, rows = np.concatenate([[0.0], times]), np.arange(len(said))
    said = np.concatenate([np.zeros((len(said), 1)), said], axis=1)
    quantiles = np.empty((len(said), len(QUANTILES)))
    place = np.clip(np.searchsorted(times, until, side="right"), 1, times.size - 1)
    part = _between(times[place - 1], times[place], np.minimum(until, times[-1]))
    in_all = said[rows, place - 1] + part * (said[rows, place] - said[rows, place - 1])
    for column, level in enumerate(QUANTILES.values()):
        wanted = level * in_all
        place = np.clip((said < wanted[:, None]).sum(axis=1), 1, times.size - 1)
        low, high = said[rows, place - 1], said[rows, place]
        part = np.divide(wanted - low, high - low, out=np.ones(len(said)), where=high > low)
        start, end = times[place - 1], times[place]
        log_start = np.log(np.where(start > 0, start, 1.0))
        curved = np.exp(log_start + part * (np.log(end) - log_start))
        quantiles[:, column] = np.where(start > 0, curved, part * end)
    quantiles[in_all <= 0] = np.array(list(QUANTILES.values())) * until[in_all <= 0, None]  # nothing is known
    return np.minimum(np.maximum.accumulate(quantiles, axis=1), until[:, None])


def _between(start: Days, end: Days, time: Days) -> Days:
    """Tell how far a time is from the start to the end of its interval, (n,), by the logarithm where it can be."""
    safe = np.where(start > 0, start, 1.0)
    curved = np.log(np.maximum(time, safe) / safe) / np.log(end / safe)
    return np.where(start > 0, curved, time / end)
