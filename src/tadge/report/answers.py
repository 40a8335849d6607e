"""What the commands that ask a Forecaster show: tables for people, records for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.table import Table
from rich.text import Text

from tadge.errors import visible
from tadge.units import date_text, span_text

NEW = "someone new"
MANY_COLUMNS = 6  # stand closer to each other


class Column(NamedTuple):
    """Describe a column of a table: its heading, and a cell's text from a record."""

    heading: str
    cell: Callable[[dict[str, Any]], str]
    is_id: bool = False


def as_polars(frame: Any) -> pl.DataFrame:
    """Take a DataFrame of pandas or polars, or a dict of columns, as a polars one; NaN becomes null."""
    names = frame.columns if hasattr(frame, "columns") else frame
    columns = [_series(str(name), _array(frame[name])) for name in names]
    return pl.DataFrame(columns)


def _array(column: Any) -> npt.NDArray[Any]:
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _series(name: str, column: npt.NDArray[Any]) -> pl.Series:
    if column.dtype == object:
        values = [None if isinstance(value, float) else value for value in column.tolist()]  # NaN, among ids
        return pl.Series(name, values, pl.Int64 if any(isinstance(value, int) for value in values) else pl.String)
    series = pl.Series(name, column)
    return series.fill_nan(None) if series.dtype.is_float() else series


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the rows as plain values, ready for JSON: dates in ISO form, None for what is not a finite number."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else value


def answers_table(rows: Iterable[dict[str, Any]], columns: Sequence[Column]) -> Table:
    """Lay out rows for a terminal of 80 columns; ids are printed as they are, never as markup or escape sequences."""
    gap = 2 if len(columns) < MANY_COLUMNS else 1
    table = Table(box=None, padding=(0, gap, 0, 0))
    for column in columns:
        justify, overflow = ("left", "fold") if column.is_id else ("right", "fold")
        table.add_column(Text(column.heading), justify=justify, overflow=overflow, no_wrap=not column.is_id)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(column.cell(row)) for column in columns))
    return table


# -- cells ------------------------------------------------------------------------------------------------------------


def id_text(node: Any) -> str:
    """Write an id; what a terminal would not print, or obey, is written as an escape."""
    return NEW if node is None else visible(str(node))


def id_column(name: str) -> Column:
    """Describe a column of ids."""
    return Column(name, lambda row: id_text(row[name]), is_id=True)


def wait_text(days: float | None) -> str:
    """Write a time in the unit that people would use; a dash where there is none."""
    return "-" if days is None else span_text(days)


def range_text(row: dict[str, Any], level: int) -> str:
    """Write the interval of a wait that holds so many percent."""
    return f"{wait_text(row[f'low_{level}'])} to {wait_text(row[f'high_{level}'])}"


def percent_text(probability: float | None) -> str:
    """Write a probability as percent: one decimal, and two digits of what tells it from 0 and from 100%."""
    if probability is None:
        return "-"
    if probability in (0.0, 1.0):
        return f"{probability:.0%}"
    nearest = min(probability, 1.0 - probability)
    if nearest < 1e-8:
        return f"{100 * probability:.1e}%" if probability < 0.5 else ">99.999999%"
    decimals = max(1, 1 - math.floor(math.log10(100 * nearest)))
    return f"{100 * probability:.{decimals}f}%"


def points_text(difference: float) -> str:
    """Write a difference of probabilities in points of percent, with its sign."""
    points = 100 * difference
    decimals = 1 if abs(points) >= 0.95 or points == 0 else 1 - math.floor(math.log10(max(abs(points), 1e-8)))
    return f"{points:+.{decimals}f}"


def date_cell(value: Any) -> str:
    """Write a moment to the minute: a date, or a day on a graph's own clock."""
    if value is None:
        return "-"
    return value.strftime("%Y-%m-%d %H:%M") if hasattr(value, "strftime") else f"day {value:,.6g}"


def moment_text(days: float, clock: str) -> str:
    """Write a moment of a graph to the minute."""
    text = date_text(days, clock)
    return text[:16] if clock == "unix" and text[:1].isdigit() else text
