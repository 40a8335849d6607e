"""Dates as people write them: find the one format that fits a column; numbers with decimal commas; Excel's days."""

from __future__ import annotations

import re
from typing import cast

import polars as pl

from tadge.errors import ConfigError

EXCEL_EPOCH = 25_569.0  # Excel's number of 1970-01-01
EXCEL_DAYS = 20_000.0, 73_050.0  # 1954 to 2099: numbers that are taken for Excel's days where the name says date
FIRST_YEAR = 1000  # what is earlier was a year of two digits

WRITTEN = re.compile(
    r"\[?(?P<date>(?:[A-Za-z]{3}, )?\w+(?P<sign>[./\- ])\w+,?[./\- ]\d{1,4})"
    r"(?P<gap>[T :,]{0,2})"
    r"(?P<clock>\d{1,2}:\d{2}(?P<seconds>:\d{2}(?P<fraction>\.\d+)?)?)?"
    r"(?P<half> ?[AaPp][Mm])?"
    r"(?P<zone> ?(?:[+-]\d{2}:?\d{2}|Z))?\]?"
)
NAMED_MONTHS = ("%d{0}%b{0}%Y", "%b{0}%d,{0}%Y", "%b{0}%d{0}%Y", "%a, %d{0}%b{0}%Y", "%d{0}%B{0}%Y", "%B{0}%d,{0}%Y")
COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+$"
THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"


def formats_of(cell: str) -> list[str]:
    """Give the formats that a written date may have, day first, then month first; empty where it is no date."""
    match = WRITTEN.fullmatch(cell)
    if match is None:
        return []
    sign, date = match["sign"], match["date"]
    if re.search("[A-Za-z]", date):
        days = [form.format(sign) for form in NAMED_MONTHS]
    else:
        parts = re.split(r"[./-]", date)
        year = "%Y" if len(parts[-1]) == 4 else "%y"
        days = [f"%d{sign}%m{sign}{year}", f"%m{sign}%d{sign}{year}"]
        if len(parts) != 3:
            days = []
        elif len(parts[0]) == 4:
            days = [f"%Y{sign}%m{sign}%d"]
        elif sign == ".":
            days = days[:1]  # nobody writes the month first with points
    return [day + _clock_format(match) for day in days]


def _clock_format(match: re.Match[str]) -> str:
    if match["clock"] is None:
        return ""
    hour = "%I" if match["half"] else "%H"
    seconds = ("" if match["seconds"] is None else ":%S") + ("" if match["fraction"] is None else "%.f")
    half = "" if match["half"] is None else match["half"].lower().replace("am", "%p").replace("pm", "%p")
    zone = "" if match["zone"] is None else " %z" if match["zone"].startswith(" ") else "%z"
    return f"{match['gap']}{hour}:%M{seconds}{half}{zone}"


def parse_dates(column: pl.Series, form: str) -> pl.Series:
    """Read strings, (E,), by a format of strftime's, as date-times in UTC; null where one does not fit."""
    try:
        if any(sign in form for sign in ("%H", "%I", "%s", "%T")):
            dates = column.str.to_datetime(form, strict=False, time_unit="us")
        else:
            dates = column.str.to_date(form, strict=False)
        dates = dates.cast(pl.Datetime("us"))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        what = f"the time format cannot be used ({str(error).splitlines()[0]})"
        raise ConfigError(what, found=repr(form), where="time_format") from None
    return dates.set((dates.dt.year() < FIRST_YEAR).fill_null(False), None)


def find_formats(column: pl.Series, cell: str) -> list[str]:
    """Give the formats that read most of a column of written dates, (E,); several only where they read it differently.

    Args:
        column: strings without blanks around them.
        cell: a typical one.
    """
    column = column.str.strip_chars("[]")
    read = [(form, parse_dates(column, form)) for form in formats_of(cell)]
    read = [(form, dates) for form, dates in read if dates.null_count() < dates.len()]
    if not read:
        return []
    fewest = min(dates.null_count() for _, dates in read)
    best = [(form, dates) for form, dates in read if dates.null_count() == fewest]
    different = [form for form, dates in best[1:] if not dates.equals(best[0][1])]
    return [best[0][0], *different]


def as_numbers(column: pl.Series) -> pl.Series:
    """Read numbers that are written as strings, (E,), with points or commas; null where one is none.

    A comma is a decimal comma where some number has another count of digits than three behind it, or points before it;
    it parts thousands where some number has a decimal point as well. 1,234 alone could be either, and is no number.
    """
    bare = column.str.replace_all(r"[€$£\s\u{00a0}]", "")
    numbers = bare.cast(pl.Float64, strict=False)
    commas = bare.filter(numbers.is_null() & bare.is_not_null())
    if not commas.len():
        return numbers
    decimal, thousands = commas.str.contains(COMMA), commas.str.contains(THOUSANDS)
    surely_decimal = (decimal & ~thousands).any()
    surely_thousands = (thousands & commas.str.contains(".", literal=True)).any() or (thousands & ~decimal).any()
    if surely_decimal == surely_thousands:
        return numbers
    if surely_decimal:
        points = bare.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
        read = points.set(~bare.str.contains(COMMA).fill_null(False), None).cast(pl.Float64, strict=False)
        whole = numbers.set(bare.str.contains(".", literal=True).fill_null(False), None)  # 1.234 among 1,5 is 1234
        grouped = bare.set(~bare.str.contains(r"^[+-]?\d{1,3}(\.\d{3})+$").fill_null(False), None)
        grouped_numbers = grouped.str.replace_all(".", "", literal=True).cast(pl.Float64, strict=False)
        return read.fill_null(whole).fill_null(grouped_numbers)
    grouped = bare.set(~bare.str.contains(THOUSANDS).fill_null(False), None)
    return numbers.fill_null(grouped.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False))


def looks_like_excel(sample: pl.Series) -> bool:
    """Tell whether numbers, a sample without nulls, lie where Excel's days of our time lie."""
    low, high = cast(float, sample.min()), cast(float, sample.max())
    return sample.len() > 1 and EXCEL_DAYS[0] <= low < high < EXCEL_DAYS[1]
