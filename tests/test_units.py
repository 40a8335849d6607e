from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from tadge import units


@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2900, 1, 1)), st.integers(-14, 14))
def test_dates_are_days_since_the_epoch(moment, hours):
    zoned = moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))
    expected = zoned.timestamp() / 86400
    assert units.days_of_date(zoned) == pytest.approx(expected, abs=1e-9)
    assert units.days_of_date(zoned.isoformat()) == units.days_of_date(zoned)
    naive = moment.replace(tzinfo=dt.UTC).timestamp() / 86400
    assert units.days_of_date(moment) == pytest.approx(naive, abs=1e-9)
    assert units.days_of_date(np.datetime64(moment)) == pytest.approx(naive, abs=1e-9)


def test_units_agree_with_each_other():
    one_week = {"ns": 6048e11, "us": 6048e8, "ms": 6048e5, "s": 604800, "min": 10080, "h": 168, "days": 7, "weeks": 1}
    for unit, value in one_week.items():
        assert units.to_days(np.array([value]), unit)[0] == pytest.approx(7)
    assert units.to_days(np.array([4]), "years")[0] == pytest.approx(1460.97)
    assert units.unit_name("seconds") == "s"


def test_squash_is_the_papers():
    assert units.squash(np.array([0.0, 1.0, np.inf])).tolist() == [0.0, 0.5, 1.0]


def test_moments():
    assert units.moment(5, "own") == 5.0
    assert units.moment(np.float32(2.5), "own") == 2.5
    assert units.moment("1970-01-02", "unix") == 1.0
    for wrong in (None, [1], True):
        with pytest.raises(tadge.InputError, match="not a moment"):
            units.moment(wrong, "unix")
    with pytest.raises(tadge.InputError, match="not a moment"):
        units.moment(float("nan"), "own")
    with pytest.raises(tadge.InputError, match="not a date"):
        units.moment("the other day", "unix")


def test_dates_for_people():
    assert units.date_text(16436.5, "unix") == "2015-01-01 12:00:00"
    assert units.date_text(16436.5, "own") == "day 16,436.5"
    assert units.date_text(1e12, "unix").startswith("day")


def test_years_months_and_days_of_this_week():
    assert (
        units.moment("2015", "unix") == units.moment("2015-01", "unix") == units.moment("2015-01-01", "unix") == 16436.0
    )
    assert units.moment("2015-06", "unix") == units.moment("2015-06-01", "unix")
    assert units.moment("18628.5", "unix") == 18628.5
    assert units.moment("2015", "own") == 2015.0
    today = (dt.datetime.now(dt.UTC).date() - dt.date(1970, 1, 1)).days
    assert today - 1 <= units.moment("yesterday", "unix") + 1 <= today + 1
    assert units.moment("Today", "unix") - units.moment("yesterday", "unix") in (1.0, 2.0)  # midnight may pass
    with pytest.raises(tadge.InputError, match="no calendar"):
        units.moment("today", "own")
