"""Dates as people write them, decimal commas, Excel's days: checked against Python's own strptime."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from tadge.io.dates import as_numbers, find_formats, formats_of, parse_dates
from tadge.io.options import ReadOptions
from tadge.io.readers import read_with_report

FORMATS = [
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%m/%d/%y %H:%M"),
    *("%d-%m-%Y %H:%M", "%d.%m.%y", "%Y.%m.%d %H:%M", "%d %b %Y", "%d/%b/%Y:%H:%M:%S", "%b %d, %Y", "%d %B %Y %H:%M"),
]


def read(tmp_path, cells, name="time", delimiter=";", **options):
    path = tmp_path / "e.csv"
    rows = (f"u{k % 3}{delimiter}u{k % 2 + 1}{delimiter}{cell}\n" for k, cell in enumerate(cells))
    path.write_text(f"from{delimiter}to{delimiter}{name}\n" + "".join(rows))
    return read_with_report(path, ReadOptions.of(options))


def days(moment):
    return (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)


@given(
    form=st.sampled_from(FORMATS),
    moments=st.lists(st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2039, 1, 1)), min_size=2, max_size=20),
)
def test_a_format_is_found_or_asked_for_and_never_wrong(form, moments):
    cells = [moment.strftime(form) for moment in moments]
    wanted = [dt.datetime.strptime(cell, form) for cell in cells]
    found = find_formats(pl.Series(cells), cells[0])
    readings = [parse_dates(pl.Series(cells), one).to_list() for one in found]
    assert wanted in readings
    swapped = form.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m")
    if len(found) > 1:  # then both are possible indeed
        assert [dt.datetime.strptime(cell, swapped) for cell in cells] in readings
    elif "%d/%m" in form or "%m/%d" in form:
        assert all(m.day == m.month for m in moments) or any(m.day > 12 for m in moments)


def test_dates_in_files(tmp_path):
    graph, report = read(tmp_path, ["13/02/2024", "01/02/2024", "05/03/2024"])
    assert graph.time.tolist() == [days(dt.datetime(2024, month, day)) for month, day in ((2, 1), (2, 13), (3, 5))]
    assert "dates as %d/%m/%Y, like 13/02/2024" in report.line()
    assert graph.reading["time_format"] == "%d/%m/%Y"
    graph, _ = read(tmp_path, ["1/2/2024 3:15 PM", "1/25/2024 12:05 AM"])
    assert graph.time.tolist() == [days(dt.datetime(2024, 1, 2, 15, 15)), days(dt.datetime(2024, 1, 25, 0, 5))]
    graph, _ = read(tmp_path, ["2024-01-01 10:00:00 UTC", "2024-01-01 10:00:01.5 UTC"])
    assert graph.time.tolist() == pytest.approx([days(dt.datetime(2024, 1, 1, 10)), 19723 + 36001.5 / 86400])
    graph, _ = read(tmp_path, ["[10/Oct/2000:13:55:36 -0700]", "[10/Oct/2000:20:55:37 +0000]"])
    assert (graph.time[1] - graph.time[0]) * 86_400 == pytest.approx(1)
    with pytest.raises(tadge.InputError, match=r"row 3: time .* written as %d/%m/%Y.* found '31/02/2024'"):
        read(tmp_path, ["13/02/2024", "31/02/2024", "05/03/2024"])
    with pytest.raises(tadge.InputError, match=r"row 3: time .* found '5/3/24'"):  # not the year 24
        read(tmp_path, ["13/02/2024", "5/3/24", "05/03/2024"])


def test_days_and_months_that_may_be_either_are_asked_for(tmp_path):
    cells = ["01/02/2024", "03/04/2024"]
    with pytest.raises(tadge.InputError, match="day and month can be read in two ways") as caught:
        read(tmp_path, cells)
    calls = str(caught.value).splitlines()[1:]
    assert [call.split("time_format=")[1] for call in calls] == ["'%d/%m/%Y')", "'%m/%d/%Y')"]
    assert read(tmp_path, cells, yes=True)[0].time[0] == days(dt.datetime(2024, 2, 1))
    assert read(tmp_path, cells, time_format="%m/%d/%Y")[0].time[0] == days(dt.datetime(2024, 1, 2))
    assert read(tmp_path, ["01.02.2024", "03.04.2024"])[0].time[0] == days(dt.datetime(2024, 2, 1))


def test_one_bad_date_does_not_turn_a_column_into_seconds(tmp_path):
    with pytest.raises(tadge.InputError, match=r"row 4: time .* like 20150630.* found 20159999"):
        read(tmp_path, ["20150630", "20150701", "20159999"])
    with pytest.raises(tadge.InputError, match=r"row 4: time .*calendar years.* found 2016.5"):
        read(tmp_path, ["2014", "2015", "2016.5"], name="year")


def test_excel_counts_days(tmp_path):
    graph, report = read(tmp_path, ["45292.5", "45293", "45300.25"], name="Date")
    assert graph.time[0] == days(dt.datetime(2024, 1, 1, 12)) and graph.clock == "unix"
    assert "days as Excel counts them" in report.line()
    assert graph.reading["unit"] == "excel"
    assert read(tmp_path, ["45292.5", "45293"], name="time")[0].clock == "own"  # nothing says that it is a date
    assert read(tmp_path, ["45292.5", "45293"], name="time", unit="excel")[0].time[1] == days(dt.datetime(2024, 1, 2))


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12,50", "3,00", "1.234,56", "7"], [12.5, 3.0, 1234.56, 7.0]),
        (["1,5", "1.234"], [1.5, 1234.0]),
        (["1,234.50", "2.5", "-1,000"], [1234.5, 2.5, -1000.0]),
        (["1,234,567", "12"], [1234567.0, 12.0]),
        (["12,50 €", "-3,1"], [12.5, -3.1]),
        (["1,234", "5,678"], [None, None]),
        (["1.5", "x", None], [1.5, None, None]),
    ],
)
def test_decimal_commas(cells, numbers):
    assert as_numbers(pl.Series(cells)).to_list() == numbers


def test_decimal_commas_in_files(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("from;to;time;amount\na;b;1400000000,5;12,50\nb;c;1400000100,25;1.000,00\nc;a;1400000200,75;3,1\n")
    graph, _ = read_with_report(path, ReadOptions())
    assert graph.weight.tolist() == [12.5, 1000.0, 3.1]
    assert (graph.time * 86_400).tolist() == pytest.approx([1400000000.5, 1400000100.25, 1400000200.75], abs=1e-4)


def test_what_is_no_date():
    for cell in ("soon", "1.2.3.4", "10:00", "hello world", ""):
        assert find_formats(pl.Series([cell, cell]), cell) == []
    assert formats_of("13.02.2024") == ["%d.%m.%Y"]
