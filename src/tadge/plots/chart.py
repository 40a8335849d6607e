"""A chart: a frame with two axes, and marks in it; drawn in the colours of the page that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tadge.plots.markup import Markup, element, join
from tadge.plots.scales import LinearScale, Scale

MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, MARGIN_BOTTOM = 58, 22, 12, 44  # margins around the frame
LETTER = 7.2  # width of a letter of a label, about
ROW_HEIGHT = 28  # the height of a row of a chart of rows


class Chart:
    """Draw in a frame with axes.

    Args:
        width: of the whole drawing.
        height: alike.
        left: room for the labels of the y-axis.
        bottom: room for those of the x-axis and its title.
        right: room at the right.
    """

    def __init__(
        self,
        width: float,
        height: float,
        *,
        left: float = MARGIN_LEFT,
        bottom: float = MARGIN_BOTTOM,
        right: float = MARGIN_RIGHT,
    ) -> None:
        self.width, self.height = width, height
        self.left, self.right, self.top, self.bottom = left, width - right, MARGIN_TOP, height - bottom
        self.parts: list[Markup] = []

    def across(self, low: float, high: float, *, percent: bool = False) -> LinearScale:
        """Give a scale for the x-axis."""
        return LinearScale(low, high, self.left, self.right, percent)

    def up(self, low: float, high: float, *, percent: bool = False) -> LinearScale:
        """Give a scale for the y-axis, whose low end is at the bottom."""
        return LinearScale(low, high, self.bottom, self.top, percent)

    # -- axes ---------------------------------------------------------------------------------------------------------

    def x_axis(self, scale: Scale, title: str, *, grid: bool = False) -> None:
        """Draw the x-axis with ticks, and its title below."""
        shown = 0.0
        parts = [element("line", x1=self.left, x2=self.right, y1=self.bottom, y2=self.bottom, class_="axis")]
        for tick in scale.ticks(max(2, int((self.right - self.left) / 85))):
            place = scale(tick.value)
            half = len(tick.label) * LETTER / 2
            if grid:
                parts.append(element("line", x1=place, x2=place, y1=self.top, y2=self.bottom, class_="grid"))
            parts.append(element("line", x1=place, x2=place, y1=self.bottom, y2=self.bottom + 4, class_="axis"))
            if place - half < shown + 4 and shown:
                continue
            middle = min(max(place, half), self.width - half)
            parts.append(_label(middle, self.bottom + 17, tick.label, "middle"))
            shown = middle + half
        parts.append(_label((self.left + self.right) / 2, self.bottom + 36, title, "middle", "title"))
        self.parts += parts

    def y_axis(self, scale: Scale, title: str, *, count: int | None = None) -> None:
        """Draw the y-axis with lines across, and its title above it."""
        for tick in scale.ticks(count or max(2, int((self.bottom - self.top) / 45))):
            place = scale(tick.value)
            self.parts.append(element("line", x1=self.left, x2=self.right, y1=place, y2=place, class_="grid"))
            self.parts.append(_label(self.left - 8, place + 4, tick.label, "end"))
        middle = (self.top + self.bottom) / 2
        turned = f"translate(12 {middle:.1f}) rotate(-90)"
        self.parts.append(element("text", title, transform=turned, text_anchor="middle", class_="title"))

    # -- marks --------------------------------------------------------------------------------------------------------

    def bar(self, x0: float, x1: float, y0: float, y1: float, *, tip: str | None = None, kind: str = "one") -> None:
        """Draw a bar between places; `tip` is shown where it is pointed at."""
        box = {"x": min(x0, x1), "y": min(y0, y1), "width": abs(x1 - x0), "height": abs(y1 - y0)}
        self.parts.append(element("rect", _tip(tip), **box, class_=f"bar {kind}"))

    def line(self, points: Iterable[tuple[float, float]], *, kind: str = "one") -> None:
        """Draw a line through places."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        if path:
            self.parts.append(element("polyline", points=path, class_=f"line {kind}"))

    def dot(self, x: float, y: float, *, radius: float = 4.0, tip: str | None = None, kind: str = "one") -> None:
        """Draw a dot."""
        self.parts.append(element("circle", _tip(tip), cx=x, cy=y, r=radius, class_=f"dot {kind}"))

    def stroke(self, x1: float, y1: float, x2: float, y2: float, *, kind: str = "rule") -> None:
        """Draw a straight line between two places."""
        self.parts.append(element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind))

    def words(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "label") -> None:
        """Write at a place."""
        self.parts.append(_label(x, y, text, anchor, kind))

    def svg(self, name: str) -> Markup:
        """Give the drawing; its name is read out to those who do not see it."""
        box = f"0 0 {self.width:g} {self.height:g}"
        attributes = {"viewBox": box, "role": "img", "aria_label": name, "class_": "chart"}
        return element("svg", *self.parts, **attributes, style=f"max-width:{self.width * 1.25:g}px")


def _label(x: float, y: float, text: str, anchor: str, kind: str = "label") -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


def _tip(text: str | None) -> Markup | None:
    return None if text is None else element("title", text)


def clipped(text: str, width: float) -> str:
    """Cut a text to so many letters, with a sign that it was cut."""
    most = max(4, int(width / LETTER))
    return text if len(text) <= most else text[: most - 1] + "…"


def row_chart(
    width: float,
    rows: Sequence[tuple[str, Any]],
    name: str,
    draw: Any,
    scale: Any,
    title: str,
    *,
    labels: float = 0.36,
) -> Markup:
    """Draw a row per name, below each other, on one x-axis.

    Args:
        width: of the drawing.
        rows: a name and what `draw` is given for it.
        name: of the whole, for those who do not see it.
        draw: called with the chart, the scale, the middle of the row and what was given.
        scale: makes the x-scale from its first and last place.
        title: of the x-axis.
        labels: the fraction of the width that names may take.
    """
    left = min(width * labels, max((len(label) for label, _ in rows), default=0) * LETTER + 16)
    chart = Chart(width, ROW_HEIGHT * max(len(rows), 1) + MARGIN_TOP + MARGIN_BOTTOM, left=left, right=40)
    axis: Scale = scale(chart.left, chart.right)
    chart.x_axis(axis, title, grid=True)
    for place, (label, given) in enumerate(rows):
        middle = chart.top + ROW_HEIGHT * (place + 0.5)
        chart.words(left - 8, middle + 4, clipped(label, left - 8), "end")
        draw(chart, axis, middle, given)
    return chart.svg(name)


def responsive(draw: Any, wide: float, narrow: float = 380) -> Markup:
    """Draw for wide screens and for phones; the page shows the one that fits."""
    if wide <= narrow:
        return element("div", draw(narrow))
    return join(element("div", draw(wide), class_="wide"), element("div", draw(narrow), class_="narrow"))
