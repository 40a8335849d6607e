"""Scales: from values to places on a drawing, with ticks at round values and labels that people read."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

_MINUTE, _HOUR, _DAY = 1 / 1_440, 1 / 24, 1.0  # days
TICK_LENGTHS = (  # of ticks on a scale of lengths of time: label, days
    ("1 ms", 1e-3 / 86_400),
    ("1 s", 1 / 86_400),
    ("10 s", 10 / 86_400),
    ("1 min", _MINUTE),
    ("10 min", 10 * _MINUTE),
    ("1 h", _HOUR),
    ("6 h", 6 * _HOUR),
    ("1 day", _DAY),
    ("1 week", 7.0),
    ("1 month", 30.44),
    ("6 months", 182.6),
    ("1 year", 365.25),
    ("3 years", 3 * 365.25),
    ("10 years", 3_652.5),
    ("100 years", 36_525.0),
)
BETWEEN = (  # ticks where there are few of those
    ("30 s", 30 / 86_400),
    ("5 min", 5 * _MINUTE),
    ("30 min", 30 * _MINUTE),
    ("3 h", 3 * _HOUR),
    ("12 h", 12 * _HOUR),
    ("2 days", 2 * _DAY),
    ("4 days", 4 * _DAY),
    ("2 weeks", 14.0),
    ("2 months", 60.88),
    ("3 months", 91.3),
    ("2 years", 730.5),
    ("5 years", 1_826.25),
)
FEW_TICKS = 4
STEPS_IN_DAYS = (_MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2.0, 7.0, 14.0)
STEPS_IN_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)
_EPOCH = dt.datetime(1970, 1, 1)
CALENDAR = -719_000.0, 2_900_000.0  # days that Python's dates can tell


class Tick(NamedTuple):
    """Hold a tick: its value and its label."""

    value: float
    label: str


class Scale(Protocol):
    """Describe what an axis is drawn from."""

    def __call__(self, value: float) -> float:
        """Give the place of a value."""

    def ticks(self, count: int) -> list[Tick]:
        """List ticks, about so many."""


@dataclass(frozen=True)
class LinearScale:
    """Map values from `low` to `high` evenly to places from `start` to `end`; `percent` writes 0.2 as 20%."""

    low: float
    high: float
    start: float
    end: float
    percent: bool = False

    def __call__(self, value: float) -> float:
        """Give the place of a value."""
        span = (self.high - self.low) or 1.0
        return self.start + (self.end - self.start) * (value - self.low) / span

    def ticks(self, count: int) -> list[Tick]:
        """List ticks at multiples of 1, 2 or 5 times a power of ten."""
        step = nice_step((self.high - self.low) / max(count, 1))
        first = math.ceil(self.low / step - 1e-9)
        values = [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [Tick(value, self._label(value, step)) for value in values]

    def _label(self, value: float, step: float) -> str:
        scaled, unit = (100 * value, 100 * step) if self.percent else (value, step)
        decimals = max(0, -math.floor(math.log10(unit) + 1e-9)) if unit < 1 else 0
        text = f"{scaled + 0.0:,.{decimals}f}"
        return f"{text}%" if self.percent else text


def nice_step(rough: float) -> float:
    """Round a step up to 1, 2 or 5 times a power of ten."""
    if not rough > 0 or not math.isfinite(rough):
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if rough <= factor * power * (1 + 1e-9))


def nice_ceiling(value: float) -> float:
    """Round a largest value up, so that an axis ends at a tick."""
    if value <= 0:
        return 1.0
    step = nice_step(value / 5)
    return step * math.ceil(value / step - 1e-9)


@dataclass(frozen=True)
class LengthScale:
    """Map lengths of time, in days, by their logarithm; ticks are seconds, minutes, hours, days and so on."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Give the place of a value."""
        low, high = math.log(self.low), math.log(self.high)
        place = math.log(min(max(value, self.low), self.high))
        return self.start + (self.end - self.start) * (place - low) / ((high - low) or 1.0)

    def ticks(self, count: int) -> list[Tick]:
        """List ticks that are not too close to each other."""
        inside = [Tick(days, label) for label, days in TICK_LENGTHS if self.low <= days <= self.high]
        if len(inside) < FEW_TICKS:
            inside += [Tick(days, label) for label, days in BETWEEN if self.low <= days <= self.high]
            inside.sort()
        least = abs(self.end - self.start) / max(count, 1) * 0.8
        kept: list[Tick] = []
        for tick in inside:
            if not kept or abs(self(tick.value) - self(kept[-1].value)) >= least:
                kept.append(tick)
        return kept


@dataclass(frozen=True)
class MomentScale:
    """Map moments, in days, evenly; on the Unix clock ticks are dates, else numbers of days."""

    low: float
    high: float
    start: float
    end: float
    clock: str = "unix"

    def __call__(self, value: float) -> float:
        """Give the place of a value."""
        return LinearScale(self.low, self.high, self.start, self.end)(value)

    def ticks(self, count: int) -> list[Tick]:
        """List ticks at the beginnings of years, months, days or hours."""
        span = self.high - self.low
        dated = self.clock == "unix" and CALENDAR[0] < self.low and self.high < CALENDAR[1]
        if not dated or span <= 0:
            plain = LinearScale(self.low, self.high, self.start, self.end).ticks(count)
            return [Tick(tick.value, f"day {tick.label}") for tick in plain]
        rough = span / max(count, 1)
        if rough <= STEPS_IN_DAYS[-1]:
            return self._days(next(step for step in STEPS_IN_DAYS if rough <= step))
        return self._months(next((step for step in STEPS_IN_MONTHS if rough <= step * 30.44), STEPS_IN_MONTHS[-1]))

    def _days(self, step: float) -> list[Tick]:
        first = math.ceil(self.low / step - 1e-9)
        values = [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        form = "%b %-d" if step >= 1 else "%H:%M" if self.high - self.low <= 1 else "%b %-d, %H:%M"
        return [Tick(value, (_EPOCH + dt.timedelta(days=value)).strftime(form)) for value in values]

    def _months(self, step: int) -> list[Tick]:
        date = _EPOCH + dt.timedelta(days=self.low)
        month, ticks = (date.year * 12 + date.month - 1) // step * step, list[Tick]()
        while True:
            value = (dt.datetime(month // 12, month % 12 + 1, 1) - _EPOCH) / dt.timedelta(days=1)
            if value > self.high:
                return ticks
            if value >= self.low:
                label = str(month // 12) if step >= 12 else f"{dt.date(2000, month % 12 + 1, 1):%b} {month // 12}"
                ticks.append(Tick(value, label))
            month += step
