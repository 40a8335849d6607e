"""Ticks are round, inside the scale, in order, and not too many."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tadge.plots.scales import LengthScale, LinearScale, MomentScale, nice_ceiling, nice_step

REAL = st.floats(-1e6, 1e6)
SPAN = st.floats(1e-3, 1e6)


@example(524288.0, 0.001, 5)
@given(REAL, SPAN, st.integers(1, 12))
def test_linear_ticks_are_round_and_inside(low, span, count):
    span = (low + span) - low  # as far as the numbers can tell
    scale = LinearScale(low, low + span, 0.0, 100.0)
    values = [tick.value for tick in scale.ticks(count)]
    assert values == sorted(values)
    assert len(values) <= count + 2
    step = nice_step(span / count)
    for value in values:
        assert low - 1e-6 * span <= value <= low + span * (1 + 1e-6)
        assert value / step == pytest.approx(round(value / step), abs=1e-6)
        assert -1e-3 <= scale(value) <= 100.001


@given(st.floats(1e-6, 1e9))
def test_a_ceiling_is_above_and_not_far(value):
    assert value * (1 - 1e-9) <= nice_ceiling(value) <= value * 1.5 + 1e-12


def test_labels_are_as_people_write():
    assert [tick.label for tick in LinearScale(0, 1, 0, 1, percent=True).ticks(5)] == "0% 20% 40% 60% 80% 100%".split()
    assert [tick.label for tick in LinearScale(0, 2000, 0, 1).ticks(4)] == ["0", "500", "1,000", "1,500", "2,000"]
    assert [tick.label for tick in LinearScale(0, 0.02, 0, 1).ticks(2)] == ["0.00", "0.01", "0.02"]


@given(st.floats(-7_000, 40_000), st.floats(0.01, 20_000), st.integers(2, 12))
def test_moments_have_dates_at_the_beginnings_of_periods(low, span, count):
    scale = MomentScale(low, low + span, 0.0, 100.0)
    ticks = scale.ticks(count)
    assert len(ticks) <= 3 * count + 2
    for tick in ticks:
        assert low - 1e-6 <= tick.value <= low + span + 1e-6
        date = dt.datetime(1970, 1, 1) + dt.timedelta(days=tick.value)
        assert date.second == 0 or abs(date.microsecond - 1e6) < 2000 or date.microsecond < 2000
        if tick.label.isdigit():
            assert (date.month, date.day, date.hour) == (1, 1, 0)


def test_a_clock_of_its_own_counts_days():
    assert [tick.label for tick in MomentScale(0, 10, 0, 1, "own").ticks(2)] == ["day 0", "day 5", "day 10"]
    assert [tick.label for tick in MomentScale(18262, 18993, 0, 1).ticks(3)] == ["2020", "2021", "2022"]


@given(st.floats(1e-6, 1e3), st.floats(1.5, 1e6), st.integers(2, 10))
def test_lengths_of_time_are_spread_by_their_logarithm(low, ratio, count):
    scale = LengthScale(low, low * ratio, 10.0, 500.0)
    places = [scale(tick.value) for tick in scale.ticks(count)]
    assert places == sorted(places)
    assert all(10.0 - 1e-6 <= place <= 500.0 + 1e-6 for place in places)
    assert scale(low * ratio**0.5) == pytest.approx(255.0, abs=1e-3)
    assert scale(0.0) == scale(low)  # what is out of the scale stands at its edge
