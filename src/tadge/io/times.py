"""A column of times, written in whatever way, to float64 days; rows that make no sense are reported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from tadge.arrays import Days, Flags
from tadge.errors import ConfigError
from tadge.graph.ids import chunks
from tadge.units import ABSURD_DAY, PER_DAY, UNIX_TO_DAY, days_of_dates, is_unix, typical, unit_name, unix_unit

WRITTEN = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2})(?P<seconds>:\d{2}(?:\.\d+)?)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
YEAR_MONTH = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True)
class Times:
    """Hold a column of times.

    Attributes:
        days: (E,), NaN where the cell could not be read.
        bad: (E,) rows that cannot be used, or None where all can.
        expected: what a cell should have looked like.
        clock: "unix" or "own".
        description: the unit or format, in words.
        assumed: nothing in the file settles the unit; it was assumed.
    """

    days: Days
    bad: Flags | None
    expected: str
    clock: str
    description: str
    assumed: bool = False


def read_times(
    column: pl.Series, name: str, unit: str | None = None, time_format: str | None = None, clock: str | None = None
) -> Times:
    """Convert a column of numbers, strings or dates, (E,), to days.

    Args:
        column: what the file holds.
        name: the column's name; numbers in one called "year" are calendar years.
        unit: unit of numbers; found where it is Unix time, else seconds.
        time_format: format of written dates, for those that are not ISO.
        clock: "unix" where numbers are known to count from 1970.
    """
    if column.dtype in (pl.Datetime, pl.Date):
        return _dates(column, "a date", "dates")
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        if time_format is not None:
            return _read_format(column, time_format)
        first = _typical_cell(column)
        if _as_number(first) is None:
            return _read_written(column, first)
        column = column.cast(pl.Float64, strict=False)
    elif not column.dtype.is_numeric():
        return _checked(np.full(column.len(), np.nan), "numbers or dates", "own", str(column.dtype))
    elif time_format is not None:
        return _read_format(column.cast(pl.String), time_format)
    return _read_numbers(column, name, unit, clock)


def _typical_cell(column: pl.Series) -> str:
    """Return the first cell of the kind that most cells among the first are: numbers, ISO dates or others."""
    cells = column.head(1000).drop_nulls().to_list()
    kinds = [(_as_number(cell) is not None, bool(WRITTEN.fullmatch(cell.replace("/", "-")))) for cell in cells]
    if not cells:
        return ""
    return str(cells[kinds.index(max(set(kinds), key=kinds.count))])


def _as_number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _read_numbers(column: pl.Series, name: str, unit: str | None, clock: str | None) -> Times:
    sample = column.gather_every(max(1, column.len() // 10_000)).drop_nulls().cast(pl.Float64)
    sample = sample.filter(sample.is_finite())
    middle = typical(sample.to_numpy())
    calendar = _calendar_numbers(column, sample, name) if unit is None else None
    if calendar is not None:
        return calendar
    known = unit_name(unit) if unit else unix_unit(middle)
    if column.null_count():
        column = column.cast(pl.Float64).fill_null(np.nan)
    days, at = np.empty(column.len()), 0
    for chunk in chunks(column):
        np.divide(chunk, PER_DAY[known or "s"], out=days[at : at + chunk.size])
        at += chunk.size
    if clock == "unix":
        return _checked(days, "numbers", "unix", f"Unix time in {known}", negative_ok=True)
    if is_unix(middle, known):
        return _checked(days, f"Unix time in {known}", "unix", f"Unix time in {known}")
    if known is not None:
        return _checked(days, "numbers", "own", f"numbers in {known}")
    description = "plain numbers, taken as seconds; if they are not, say unit='days' (--unit days) or the like"
    if 1800 <= middle <= 2100 and (sample == sample.floor()).all():
        description = "plain numbers, taken as seconds, though they look like years: say unit='years' (--unit years), "
        description += "or name the column 'year'"
    return _checked(days, "numbers", "own", description, assumed=True)


def _calendar_numbers(column: pl.Series, sample: pl.Series, name: str) -> Times | None:
    """Read 1995 (in a column called year) and 20150630 as dates; None where the numbers are neither."""
    if not sample.len() or not (sample == sample.floor()).all():
        return None
    low, high = cast(float, sample.min()), cast(float, sample.max())
    if name.lower() == "year" and low >= 1 and high <= 9999:
        dates = column.cast(pl.Int64, strict=False).cast(pl.String).str.zfill(4) + "-01-01"
        return _from_iso(dates, "calendar years")
    if 19_000_101 <= low < high <= 21_001_231:
        dates = column.cast(pl.Int64, strict=False).cast(pl.String).str.to_date("%Y%m%d", strict=False)
        if dates.null_count() == 0:
            return _dates(dates, "a date like 20150630", "dates like 20150630")
    return None


def _read_format(column: pl.Series, time_format: str) -> Times:
    """Read written dates in a format of the user's."""
    try:
        if "%H" in time_format or "%I" in time_format or "%s" in time_format or "%T" in time_format:
            dates = column.str.to_datetime(time_format, strict=False, time_unit="us")
        else:
            dates = column.str.to_date(time_format, strict=False).cast(pl.Datetime("us"))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        what = f"the time format cannot be used ({str(error).splitlines()[0]})"
        raise ConfigError(what, found=repr(time_format), where="time_format") from None
    return _dates(dates, f"times written as {time_format}", f"dates as {time_format}")


def _read_written(column: pl.Series, first: str) -> Times:
    """Read ISO dates and date-times, all of the form that the first one has."""
    dates = column.str.replace_all("/", "-", literal=True)
    first = first.replace("/", "-")
    if YEAR_MONTH.fullmatch(first):
        return _from_iso(dates + "-01", f"months like {first}")
    match = WRITTEN.fullmatch(first)
    if match is None:
        expected = "a number or an ISO date, or a time_format like %d/%m/%Y"
        return Times(np.full(column.len(), np.nan), np.ones(column.len(), np.bool_), expected, "own", "unknown")
    if match["clock"] is None:
        return _from_iso(dates, f"dates like {first}")
    dates = dates.str.replace("T", " ", literal=True).str.replace("Z$", "+00:00")
    form = "%Y-%m-%d %H:%M" + ("" if match["seconds"] is None else ":%S%.f") + ("" if match["zone"] is None else "%z")
    zone = "with zones" if match["zone"] else "without a zone, taken as UTC"
    return _from_iso(dates, f"date-times like {first} {zone}", form)


def _from_iso(written: pl.Series, description: str, form: str | None = None) -> Times:
    """Read date-times of a form; without one, dates of ten characters."""
    if form is None:
        written, form = written.set(written.str.len_bytes() != 10, None) + " 00:00", "%Y-%m-%d %H:%M"
    return _dates(written.str.to_datetime(form, strict=False, time_unit="us"), description, description)


def _dates(dates: pl.Series, expected: str, description: str) -> Times:
    """Turn dates or date-times, (E,), into days since 1970."""
    return _checked(
        days_of_dates(dates.cast(pl.Datetime("us")).to_numpy()), expected, "unix", description, negative_ok=True
    )


def _checked(
    days: Days,
    expected: str,
    clock: str,
    description: str,
    negative_ok: bool = False,
    assumed: bool = False,
) -> Times:
    """Flag what is no time at all: unread cells, infinities, negative and absurd numbers."""
    low = -UNIX_TO_DAY * 10 if negative_ok else 0.0
    high = UNIX_TO_DAY if clock == "unix" else ABSURD_DAY
    if not days.size or (days.min() >= low and days.max() <= high):  # a NaN makes both false
        return Times(days, None, expected, clock, description, assumed)
    limits = "up to the year 3000" if clock == "unix" else "from 0 up"
    bad = ~((days >= low) & (days <= high))
    return Times(days, bad, f"{expected}, {limits}", clock, description, assumed)
