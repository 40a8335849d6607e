"""What pages are put together from: sections, figures, tables, ids that may be anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tadge.plots.chart import LETTER, MARGIN_LEFT
from tadge.plots.markup import Markup, element, join
from tadge.report.answers import id_text, wait_text

UNLIKELY = 0.01  # a probability that is not called likely, though it be the largest
LONGEST_ID = 36  # letters of an id that are shown; the whole is shown where it is pointed at


def section(name: str, title: str, lead: str, *children: Any) -> Markup:
    """Make a section: its anchor, its title, and a sentence that says what it is about."""
    return element("section", element("h2", title), element("p", lead, class_="lead"), *children, id=name)


def figure(title: str, drawing: Markup, reading: str, *, kind: str = "") -> Markup:
    """Frame a drawing with its title, and a sentence that says how to read it."""
    parts = element("figcaption", element("h3", title)), drawing, element("p", reading, class_="reading")
    return element("figure", *parts, class_=f"card {kind}".strip())


def grid(*cards: Any) -> Markup:
    """Put cards side by side, where there is room."""
    return element("div", *cards, class_="cards")


def card(title: str, *children: Any) -> Markup:
    """Frame anything with a title."""
    return element("div", element("h3", title), *children, class_="card")


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers: Sequence[int] = ()) -> Markup:
    """Lay out rows; the columns whose places are in `numbers` are set to the right."""
    kinds = ["number" if place in numbers else None for place in range(len(headings))]
    head = [element("th", name, scope="col", class_=kind) for name, kind in zip(headings, kinds, strict=True)]
    body = [
        element(
            "tr",
            *(
                element("td", element("div", cell), class_=kind, data_label=name)
                for cell, kind, name in zip(row, kinds, headings, strict=True)
            ),
        )
        for row in rows
    ]
    laid_out = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", laid_out, class_="scroll")


def node_id(node: Any) -> Markup:
    """Show an id as it is: never as markup, cut where it is long, whichever way it is written."""
    whole = id_text(node)
    shown = whole if len(whole) <= LONGEST_ID else whole[: LONGEST_ID - 1] + "…"
    return element("bdi", shown, class_="id", title=whole if shown != whole else None)


def meter(value: float, text: str) -> Markup:
    """Show a probability as a bar with its number."""
    bar = element("span", class_="fill", style=f"width:{100 * min(max(value, 0.0), 1.0):.1f}%")
    return join(element("span", bar, class_="meter"), element("span", text, class_="said"))


def note(*children: Any, kind: str = "note") -> Markup:
    """Set a remark apart."""
    return element("p", *children, class_=kind)


def tiles(*pairs: tuple[str, str]) -> Markup:
    """Show some figures large, each with what it is."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", value)) for value, name in pairs), class_="tiles"
    )


def horizon_text(days: float) -> str:
    """Write a length of time without decimals that say nothing: 7 days, 1 day, 3.5 h."""
    if days < 1 or round(days, 6) != round(days):
        return wait_text(days)
    return plural(round(days), "day")


def room_for(most: float, *, percent: bool = False) -> float:
    """Give the room that labels of a y-axis up to so much take."""
    return max(MARGIN_LEFT, 34 + LETTER * (4 if percent else len(f"{most:,.0f}")))


def plural(count: int, thing: str) -> str:
    """Write a count with its thing."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
