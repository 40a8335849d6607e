"""Time units: everything inside tadge is float64 days; this is where other units and dates come in."""

from __future__ import annotations

import datetime as dt
import math
import re

import numpy as np
import numpy.typing as npt

from tadge.errors import ConfigError, InputError

Moment = float | int | str | dt.date | dt.datetime | np.datetime64

PER_DAY: dict[str, float] = {
    "ns": 86_400e9,
    "us": 86_400e6,
    "ms": 86_400e3,
    "s": 86_400.0,
    "min": 1_440.0,
    "h": 24.0,
    "days": 1.0,
    "weeks": 1 / 7,
    "years": 1 / 365.2425,
}
ALIASES = {
    "nanoseconds": "ns",
    "microseconds": "us",
    "milliseconds": "ms",
    "sec": "s",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "d": "days",
    "day": "days",
    "week": "weeks",
    "year": "years",
}
UNIX_FROM_DAY = 1_157  # numbers that are to be read as Unix time start in March 1973 (1e8 s)
UNIX_TO_DAY = 376_200  # and end about the year 3000
LIKELY_TO_DAY = UNIX_TO_DAY / 5  # or in 2176, where nothing but the numbers says that they are
ABSURD_DAY = 3.65e9  # ten million years: no clock we know of
UNIX_UNITS = ("s", "ms", "us", "ns")
YEAR = 365.2425  # days
SPANS = ("s", 1 / 86_400, 60, 0), ("min", 1 / 1_440, 60, 0), ("h", 1 / 24, 24, 1), ("days", 1.0, 2 * YEAR, 1)
YEAR_OR_MONTH = re.compile(r"\d{4}(-\d{2})?")
DAYS_AGO = {"today": 0, "yesterday": 1}


def unit_name(unit: str) -> str:
    """Return the short name of a unit, or complain."""
    name = ALIASES.get(unit, unit)
    if name not in PER_DAY:
        raise ConfigError("unknown time unit", expected="one of " + ", ".join(PER_DAY), found=repr(unit), where="unit")
    return name


def to_days(values: npt.NDArray[np.generic], unit: str) -> npt.NDArray[np.float64]:
    """Convert numbers in a unit, (E,), to float64 days."""
    per_day = PER_DAY[unit_name(unit)]
    if per_day == 1.0:
        return np.array(values, dtype=np.float64)
    return np.divide(values, per_day, dtype=np.float64)  # type: ignore[no-any-return]


def is_unix(value: float, unit: str | None, last_day: float = UNIX_TO_DAY) -> bool:
    """Tell whether a typical number in this unit is Unix time rather than a clock of its own."""
    return unit in UNIX_UNITS and UNIX_FROM_DAY <= value / PER_DAY[unit] <= last_day


def unix_unit(value: float) -> str | None:
    """Return the unit in which a typical number looks like Unix time, or None."""
    return next((unit for unit in UNIX_UNITS if is_unix(value, unit, LIKELY_TO_DAY)), None)


def typical(values: npt.NDArray[np.generic]) -> float:
    """Return the median of at most some 10,000 values spread evenly over a column; 0 where there is none."""
    return float(np.median(values[:: max(1, values.size // 10_000)])) if values.size else 0.0  # type: ignore[type-var]


def days_of_dates(dates: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Convert datetime64, any shape, to days since the Unix epoch, exact to the microsecond; NaN for NaT."""
    return np.where(np.isnat(dates), np.nan, dates.astype("datetime64[us]").astype(np.int64) / PER_DAY["us"])


def dates_of_days(days: npt.NDArray[np.float64]) -> npt.NDArray[np.datetime64]:
    """Convert days since the Unix epoch, any shape, to datetime64, rounded to the microsecond."""
    return np.round(days * PER_DAY["us"]).astype(np.int64).astype("datetime64[us]")


def days_of_date(when: str | dt.date | dt.datetime | np.datetime64) -> float:
    """Convert one date or date-time to days since the Unix epoch; without a zone it is taken as UTC.

    A string may also be a year or a month, of which the beginning is meant, or "today" or "yesterday" (0:00 UTC).
    """
    if isinstance(when, str):
        written = when.strip()
        if written.lower() in DAYS_AGO:
            when = dt.datetime.now(dt.UTC).date() - dt.timedelta(days=DAYS_AGO[written.lower()])
            return float(days_of_dates(np.array(when, "datetime64")))
        if YEAR_OR_MONTH.fullmatch(written):
            written = f"{written}-01-01"[:10]
        try:
            when = dt.datetime.fromisoformat(written.removesuffix(" UTC"))
        except ValueError:
            cure = "write 2015-06-30 or 2015-06-30T12:00:00"
            raise InputError("not a date", expected="an ISO date", found=repr(when), cure=cure) from None
    if isinstance(when, dt.datetime) and when.tzinfo is not None:
        when = when.astimezone(dt.UTC).replace(tzinfo=None)
    return float(days_of_dates(np.array(when, "datetime64")))


def moment(when: Moment, clock: str) -> float:
    """Convert a moment (a number of days on the graph's clock, or a date) to days on that clock.

    A string of four digits is a year where the clock has a calendar; other numbers in strings are days.
    """
    if isinstance(when, str):
        when = _written_number(when, clock)
    if isinstance(when, bool) or not isinstance(when, (int, float, np.integer, np.floating)):
        if not isinstance(when, (str, dt.date, np.datetime64)):
            raise InputError("not a moment", expected="a number of days or a date", found=repr(when))
        if clock != "unix":
            cure = "give a number of days on the graph's own clock"
            raise InputError("this graph has no calendar", expected="a number", found=repr(when), cure=cure)
        when = days_of_date(when)
    days = float(when)
    if math.isnan(days):
        raise InputError("not a moment", expected="a number of days or a date", found="NaN")
    return days


def _written_number(when: str, clock: str) -> str | float:
    if clock == "unix" and YEAR_OR_MONTH.fullmatch(when.strip()):
        return when
    try:
        return float(when)
    except ValueError:
        return when


def date_text(days: float, clock: str) -> str:
    """Write a moment for people: a UTC date-time on the Unix clock, else the number of days."""
    if clock != "unix" or not math.isfinite(days) or abs(days) > UNIX_TO_DAY:
        return f"day {days:,.6g}"
    date = dt.datetime(1970, 1, 1) + dt.timedelta(days=days)
    return date.isoformat(sep=" ", timespec="seconds")


def span_text(days: float) -> str:
    """Write a time in the unit that people would use: 45 s, 12 min, 3.2 h, 15.8 days, 2.3 years."""
    for unit, size, limit, decimals in SPANS:
        number = days / size
        if round(abs(number), decimals) < limit:
            return f"{number:,.{decimals}f} {unit}"
    return f"{days / YEAR:,.1f} years"


def squash(toe: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Map ToE in days, any shape, into [0, 1): 2 arctan(delta) / pi, the form that enters the model."""
    return np.arctan(toe) * (2 / np.pi)


def unsquash(squashed: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Map squashed values, any shape, back to days; what is not in [0, 1) is brought to its edge first."""
    return np.tan(np.clip(squashed, 0.0, np.nextafter(1.0, 0.0)) * (np.pi / 2))


def duration_text(seconds: float) -> str:
    """Write a length of time as people do: 8 s, 3 min, 1 h 20 min."""
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
