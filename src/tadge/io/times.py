"""A column of times, written in whatever way, to float64 days; rows that make no sense are reported."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tadge.arrays import Days, Flags
from tadge.errors import InputError
from tadge.graph.ids import chunks
from tadge.io.dates import EXCEL_EPOCH, as_numbers, find_formats, looks_like_excel, parse_dates
from tadge.io.options import EXCEL
from tadge.io.words import is_date_name
from tadge.units import ABSURD_DAY, PER_DAY, UNIX_TO_DAY, days_of_dates, is_unix, typical, unit_name, unix_unit

WRITTEN = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2})(?P<seconds>:\d{2}(?:\.\d+)?)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
BROKEN = r"[-:]\s"
YEAR_MONTH = re.compile(r"\d{4}-\d{2}")
MOST = 0.6  # fraction of numbers that must lie where dates like 20150630 do; the others are faulty
SOME = 0.25  # fraction of these that must be dates: of other numbers 1 in 27 would be one


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
        unit: of numbers that were read as such.
        time_format: of dates whose format was found.
    """

    days: Days
    bad: Flags | None
    expected: str
    clock: str
    description: str
    assumed: bool = False
    unit: str | None = None
    time_format: str | None = None


def read_times(
    column: pl.Series,
    name: str,
    unit: str | None = None,
    time_format: str | None = None,
    clock: str | None = None,
    *,
    where: str = "the table",
    yes: bool = False,
) -> Times:
    """Convert a column of numbers, strings or dates, (E,), to days.

    Args:
        column: what the file holds.
        name: the column's name; numbers in one called "year" are calendar years.
        unit: unit of numbers; found where it is Unix time, else seconds.
        time_format: format of written dates, for those that are not ISO.
        clock: "unix" where numbers are known to count from 1970.
        where: the file, for messages.
        yes: take the day first where written dates can be read in two ways; else that is an error.
    """
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String)
    if column.dtype in (pl.Datetime, pl.Date):
        return _dates(column, "a date", "dates")
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        if time_format is not None:
            return _read_format(column, time_format)
        first = _typical_cell(column)
        if _as_number(first) is None:
            return _read_written(column, first, where, yes)
        column = as_numbers(column)
    elif isinstance(column.dtype, pl.Decimal) or column.dtype in (pl.Int128, pl.UInt128, pl.Null):
        column = column.cast(pl.Float64)
    elif not column.dtype.is_numeric():
        found = f"{column.dtype} in column {name!r}"
        raise InputError("this is not a column of times", expected="numbers or dates", found=found, where=where)
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
        return float(cell.replace(",", ".", 1))
    except ValueError:
        return None


def _read_numbers(column: pl.Series, name: str, unit: str | None, clock: str | None) -> Times:
    sample = column.gather_every(max(1, column.len() // 10_000)).drop_nulls().cast(pl.Float64)
    sample = sample.filter(sample.is_finite())
    middle = typical(sample.to_numpy())
    if unit == EXCEL or (unit is None and clock is None and is_date_name(name) and looks_like_excel(sample)):
        days = column.cast(pl.Float64).fill_null(np.nan).to_numpy() - EXCEL_EPOCH
        return replace(_checked(days, "days as Excel counts them", "unix", "days as Excel counts them"), unit=EXCEL)
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
    return replace(_numbers_as_days(days, middle, known, clock, sample), unit=known or "s")


def _numbers_as_days(days: Days, middle: float, known: str | None, clock: str | None, sample: pl.Series) -> Times:
    """Say what numbers are that were turned into days: Unix time, numbers in a known unit, or in seconds by default."""
    if clock == "unix":
        return _checked(days, "numbers", "unix", f"Unix time in {known}", negative_ok=True)
    if is_unix(middle, known):
        return _checked(days, f"Unix time in {known}", "unix", f"Unix time in {known}")
    if known is not None:
        return _checked(days, "numbers", "own", f"numbers in {known}")
    description = "plain numbers, taken as seconds; if they are not, say unit='days' or the like"
    if 1800 <= middle <= 2100 and (sample == sample.floor()).all():
        description = "plain numbers, taken as seconds, though they look like years: say unit='years', "
        description += "or name the column 'year'"
    return _checked(days, "numbers", "own", description, assumed=True)


def _calendar_numbers(column: pl.Series, sample: pl.Series, name: str) -> Times | None:
    """Read 1995 (in a column called year) and 20150630 as dates; None where most numbers are neither."""
    whole = sample.filter(sample == sample.floor())
    years = name.lower() == "year" and whole.is_between(1, 9999).sum() >= MOST * sample.len() > 0
    days = whole.is_between(19_000_101, 21_001_231).sum() >= MOST * sample.len() > 0
    if not (years or (days and whole.n_unique() > 1)):
        return None
    numbers = column.cast(pl.Float64)
    written = (
        column.cast(pl.Int64, strict=False).cast(pl.String).set((numbers != numbers.floor()).fill_null(True), None)
    )
    if years:
        return _from_iso(written.str.zfill(4) + "-01-01", "calendar years")
    dates = written.str.to_date("%Y%m%d", strict=False)
    if dates.drop_nulls().len() < SOME * dates.len():
        return None
    return _dates(dates, "a date like 20150630", "dates like 20150630")


def _read_format(column: pl.Series, time_format: str) -> Times:
    """Read written dates in a format of the user's."""
    return _dates(parse_dates(column, time_format), f"times written as {time_format}", f"dates as {time_format}")


def _read_written(column: pl.Series, first: str, where: str, yes: bool) -> Times:
    """Read ISO dates and date-times, all of the form that the first one has; others by the format that fits them."""
    if first.endswith((" UTC", " GMT")):  # BigQuery's
        column, first = column.str.replace(" (UTC|GMT)$", "Z"), first[:-4] + "Z"
    dates = column.str.replace_all("/", "-", literal=True)
    iso = first.replace("/", "-")
    if YEAR_MONTH.fullmatch(iso):
        return _from_iso(dates + "-01", f"months like {iso}")
    match = WRITTEN.fullmatch(iso)
    if match is None:
        return _by_format(column, first, where, yes)
    if match["clock"] is None:
        return _from_iso(dates, f"dates like {iso}")
    dates = dates.str.replace("T", " ", literal=True).str.replace("Z$", "+00:00")
    form = "%Y-%m-%d %H:%M" + ("" if match["seconds"] is None else ":%S%.f") + ("" if match["zone"] is None else "%z")
    zone = "with zones" if match["zone"] else "without a zone, taken as UTC"
    return _from_iso(dates, f"date-times like {iso} {zone}", form)


def _by_format(column: pl.Series, first: str, where: str, yes: bool) -> Times:
    """Read dates that are not ISO, where their values leave one format; else ask."""
    formats = find_formats(column, first)
    if not formats:
        expected = "a number or an ISO date, or a time_format like %d/%m/%Y"
        return Times(np.full(column.len(), np.nan), np.ones(column.len(), np.bool_), expected, "own", "unknown")
    if len(formats) > 1 and not yes:
        calls = "".join(f"\n  read_events({where!r}, time_format={form!r})" for form in formats)
        cure = f"say which, or yes=True for the first of:{calls}"
        raise InputError("day and month can be read in two ways", found=repr(first), cure=cure, where=where)
    form = formats[0]
    dates = parse_dates(column.str.strip_chars("[]"), form)
    return replace(_dates(dates, f"times written as {form}", f"dates as {form}, like {first}"), time_format=form)


def _from_iso(written: pl.Series, description: str, form: str | None = None) -> Times:
    """Read date-times of a form; without one, dates of ten characters."""
    if form is None:
        written, form = written.set(written.str.len_bytes() != 10, None) + " 00:00", "%Y-%m-%d %H:%M"
    else:  # the parser would pass over blanks between the parts of a date or a clock
        written = written.set(written.str.contains(BROKEN).fill_null(False), None)
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
    if clock != "unix" and np.nanmin(days, initial=0.0) < 0:
        limits += " (add a number to all, so that they begin at 0; a date before 1970 is best written as a date)"
    bad = ~((days >= low) & (days <= high))
    return Times(days, bad, f"{expected}, {limits}", clock, description, assumed)
