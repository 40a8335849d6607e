"""Answers of every call in one form, so that two of them can be compared bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tadge.arrays import Ints
from tadge.errors import InputError
from tadge.protocols import ranking_of
from tadge.units import days_of_dates


class Gap(NamedTuple):
    """Hold the largest difference between two answers: its size, its place, and both numbers."""

    size: float
    row: int
    column: int
    known: float
    other: float


@dataclass(frozen=True, eq=False)
class Answer:
    """Hold what a method has answered to some questions.

    Attributes:
        numbers: (n, ...) numbers, which may differ by a tolerance.
        labels: (n,) what a row of a table is about, which must be the same; empty where the answer is an array.
        columns: what the numbers of a table are called; empty where the answer is an array.
        epsilon: how finely the coarsest of the numbers could be told apart, relative to its size; 0 for integers.
    """

    numbers: npt.NDArray[Any]
    labels: list[tuple[Any, ...]]
    columns: tuple[str, ...] = ()
    epsilon: float = 0.0

    def take(self, rows: Ints) -> Answer:
        """Keep some rows, in this order."""
        labels = [self.labels[row] for row in rows.tolist()] if self.labels else []
        return Answer(self.numbers[rows], labels, self.columns, self.epsilon)

    def mismatch(self, other: Answer) -> str:
        """Say how another answer differs in form; empty where its numbers can be compared with these."""
        if not self.columns and not other.columns:
            same = self.numbers.shape == other.numbers.shape
            return "" if same else f"an answer of shape {other.numbers.shape}, not {self.numbers.shape}"
        if self.columns != other.columns:
            return f"a table of {', '.join(other.columns)}, not of {', '.join(self.columns)}"
        if self.labels != other.labels:
            pairs = enumerate(zip(self.labels, other.labels, strict=False), 1)
            row, ours, theirs = next(((row, a, b) for row, (a, b) in pairs if a != b), (0, (), ()))
            if row:
                return f"row {row} is of {_shown(theirs)}, not of {_shown(ours)}"
        if len(self.numbers) != len(other.numbers):
            return f"a table of {len(other.numbers):,} rows, not {len(self.numbers):,}"
        return ""

    def gap(self, other: Answer) -> Gap | None:
        """Find the largest difference to an answer of the same form; None where all is the same, NaN too."""
        known, answer = self.numbers, other.numbers
        same = (known == answer) | (np.isnan(known) & np.isnan(answer))
        if same.all():
            return None
        rows = len(known)
        with np.errstate(invalid="ignore"):
            gap = np.where(same, 0.0, np.abs(known.astype(np.float64) - answer.astype(np.float64))).reshape(rows, -1)
        gap = np.where(np.isnan(gap), np.inf, gap)  # a number here, none there
        row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
        both = (float(numbers.reshape(gap.shape)[row, column]) for numbers in (known, answer))
        return Gap(float(gap[row, column]), int(row), int(column), *both)

    def rounding(self, other: Answer) -> float:
        """Give the largest difference to an answer of the same form in units of rounding: its size times epsilon."""
        known, answer = (numbers.astype(np.float64) for numbers in (self.numbers, other.numbers))
        with np.errstate(invalid="ignore", divide="ignore"):
            units = np.abs(known - answer) / (max(self.epsilon, other.epsilon) * np.maximum(abs(known), abs(answer)))
        same = (known == answer) | (np.isnan(known) & np.isnan(answer))
        return float(np.where(same, 0.0, np.where(np.isnan(units), np.inf, units)).max(initial=0.0))

    def about(self, gap: Gap) -> str:
        """Say which number of a table differs."""
        return f"{self.columns[gap.column]} of {_shown(self.labels[gap.row])}"


def array_answer(answer: Any, where: str, shape: tuple[int | None, ...]) -> Answer:
    """Take an array of numbers, none of them NaN, of a shape in which None stands for any width."""
    array = np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer)
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in "fiub":
        sizes = ", ".join("D" if size is None else str(size) for size in shape)
        expected = f"({sizes}{',' * (len(shape) == 1)}) numbers"
        found = f"{array.shape} of {array.dtype}"
        raise InputError("answers of the wrong shape", expected=expected, found=found, where=where)
    missing = np.isnan(array.astype(np.float64)).reshape(len(array), -1).any(axis=1)
    if missing.any():
        found = f"NaN for {np.count_nonzero(missing):,} of {missing.size:,}, the first in row {np.argmax(missing)}"
        raise InputError("answers that are not numbers", expected="numbers", found=found, where=where)
    return Answer(array, [], epsilon=_epsilon(array))


def _epsilon(*arrays: npt.NDArray[Any]) -> float:
    return max((float(np.finfo(array.dtype).eps) for array in arrays if array.dtype.kind == "f"), default=0.0)


def table_answer(answer: Any, where: str, rows: int | None = None) -> Answer:
    """Take a DataFrame or a dict of columns: ids, words and integers are labels, other numbers and dates numbers."""
    columns = _columns(answer, where)
    sizes = {column.shape for column in columns.values()}
    wanted = {(rows,)} if rows is not None else sizes
    if len(sizes) != 1 or len(next(iter(sizes))) != 1 or sizes != wanted:
        expected = "columns of equal length" if rows is None else f"a row for each of {rows:,} questions"
        found = ", ".join(sorted(map(str, sizes))) or "no column"
        raise InputError("answers of the wrong shape", expected=expected, found=found, where=where)
    numbers = {name: column for name, column in columns.items() if column.dtype.kind == "f"}
    labels = [column.tolist() for name, column in columns.items() if name not in numbers]
    size = next(iter(sizes))[0]
    table = np.column_stack([np.empty((size, 0)), *(column.astype(np.float64) for column in numbers.values())])
    about = list(zip(*labels, strict=True)) if labels else [()] * size
    return Answer(table, about, tuple(numbers), _epsilon(*numbers.values()))


def ranking_answer(rankings: Sequence[tuple[Any, Any]], where: str) -> Answer:
    """Take what `rank` gives, each with the source that it is of."""
    try:
        rows = [
            (source, node, float(probability))
            for source, ranked in rankings
            for node, probability in ranking_of(ranked)
        ]
    except (TypeError, ValueError):
        found = repr(rankings[0][1])[:80]
        raise InputError(
            "answers of the wrong kind", expected="a list of (id, probability)", found=found, where=where
        ) from None
    labels = [(source, node) for source, node, _ in rows]
    numbers = np.array([row[2] for row in rows], np.float64).reshape(-1, 1)
    return Answer(numbers, labels, ("probability",), _epsilon(numbers))


def _columns(answer: Any, where: str) -> dict[str, npt.NDArray[Any]]:
    if hasattr(answer, "columns"):
        answer = {str(name): answer[name].to_numpy() for name in answer.columns}
    if not isinstance(answer, Mapping):
        expected = "a table: a DataFrame, or a dict of columns"
        raise InputError("answers of the wrong kind", expected=expected, found=repr(answer)[:80], where=where)
    return {name: _plain(np.asarray(column)) for name, column in answer.items()}


def _plain(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn dates into days, and floats among which some are None into floats."""
    if column.dtype.kind == "M":
        return days_of_dates(column)
    kinds = {type(value) for value in column.tolist()} if column.dtype == object and column.ndim == 1 else set()
    return column.astype(np.float64) if float in kinds and kinds <= {float, type(None)} else column


def _shown(labels: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, labels)) or "nothing"
