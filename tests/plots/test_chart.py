"""Drawings are whole SVG, and nothing that is drawn can break out of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from tadge.plots.chart import Chart, clipped, responsive, row_chart
from tadge.plots.markup import Markup, element, join
from tadge.plots.scales import LinearScale

PRINTABLE = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=40)


@given(PRINTABLE, PRINTABLE)
def test_text_and_attributes_come_back_as_they_were(text, title):
    parsed = ET.fromstring(element("p", text, title=title))
    assert (parsed.text or "") == text
    assert parsed.get("title") == " ".join(title.split()) or parsed.get("title") == title


def test_markup_is_kept_and_nothing_else():
    assert element("p", Markup("<b></b>"), "<b>") == "<p><b></b>&lt;b&gt;</p>"
    assert element("input", type="search", hidden=True, title=None) == '<input type="search" hidden>'
    assert join("a<", [Markup("<i></i>"), None]) == "a&lt;<i></i>"
    assert element("a", class_="x", data_n=3, r=1.5) == '<a class="x" data-n="3" r="1.5"></a>'


def drawn(width=520.0):
    chart = Chart(width, 200)
    x, y = chart.across(0, 10), chart.up(0, 100)
    chart.x_axis(x, "days", grid=True)
    chart.y_axis(y, "events")
    chart.bar(x(1), x(2), y(0), y(50), tip='<script>"&')
    chart.line([(x(1), y(2)), (x(3), y(4))])
    chart.dot(x(5), y(50), tip="a dot")
    return chart.svg("a <chart>")


def test_a_chart_is_whole_and_its_marks_are_inside():
    tree = ET.fromstring(drawn())
    assert tree.get("aria-label") == "a <chart>"
    bar = next(one for one in tree.iter("rect"))
    assert bar[0].text == '<script>"&'
    assert 0 < float(bar.get("x")) < 520
    labels = [one.text for one in tree.iter("text")]
    assert {"days", "events", "0", "100"} <= set(labels)
    for circle in tree.iter("circle"):
        assert 0 < float(circle.get("cx")) < 520
        assert 0 < float(circle.get("cy")) < 200


def test_rows_stand_below_each_other_with_their_names():
    rows = [("one", 1), ("two" * 40, 2)]
    middles = []
    svg = row_chart(
        400,
        rows,
        "rows",
        lambda chart, x, middle, given: middles.append(middle),
        lambda a, b: LinearScale(0, 2, a, b),
        "n",
    )
    assert middles == sorted(middles)
    texts = [one.text for one in ET.fromstring(svg).iter("text")]
    assert "one" in texts
    assert any(text.endswith("…") for text in texts)
    assert clipped("short", 100) == "short"


def test_wide_and_narrow_are_drawn():
    tree = ET.fromstring(element("div", responsive(drawn, 900, 300)))
    assert [one.get("class") for one in tree] == ["wide", "narrow"]
    assert [one[0].get("viewBox").split()[2] for one in tree] == ["900", "300"]
