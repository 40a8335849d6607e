"""Sections about what comes, what was surprising, and what has not come: from the Forecaster."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl

from tadge.errors import TadgeWarning
from tadge.page.content import Material
from tadge.page.parts import figure, horizon_text, meter, node_id, note, plural, section, table
from tadge.plots.chart import Chart, responsive, row_chart
from tadge.plots.markup import Markup, element, join
from tadge.plots.scales import LengthScale, MomentScale, nice_ceiling
from tadge.report.answers import as_polars, date_cell, id_text, moment_text, percent_text, range_text, wait_text

SHOWN_NODES = 12
LONGEST_REASON = 150  # letters
SHOWN_SURPRISES = 12
SHOWN_OVERDUE = 12
LATE_PART, LEAST_EVENTS, MOST_EVENTS = 0.05, 200, 5_000  # of late: so much of the time, within these limits
MOST_PAIRS = 500_000  # that are looked at for who is overdue
SHORTEST, LONGEST = 1 / 1_440, 36_525.0  # days, on scales of waits


# -- next -------------------------------------------------------------------------------------------------------------


def next_section(material: Material) -> Markup:
    """Tell whom the most active nodes link to next, how likely and when."""
    title, days = "What will happen", horizon_text(material.days)
    table_of = material.forecasts
    if table_of is None or not len(table_of):
        why = "nobody has acted of late" if material.forecaster is not None else "no Forecaster was learned"
        return section("next", title, f"There are no forecasts: {why}.")
    busiest = table_of["src"].unique(maintain_order=True).head(SHOWN_NODES)
    shown = table_of.filter(pl.col("src").is_in(busiest.implode()))
    firsts = [(src[0], rows) for src, rows in shown.group_by("src", maintain_order=True)]
    graph = material.graph
    end = moment_text(float(graph.time[-1]), graph.clock)
    lead = (
        f"Whom the {len(firsts)} most active nodes are likeliest to link to within {days} of {end}, and when. "
        "All others are in forecasts.csv."
    )
    rows, reasons = [], main_reasons(material, firsts)
    for (src, targets), reason in zip(firsts, reasons, strict=True):
        best = targets.row(0, named=True)
        others = [
            join(node_id(row["target"]), f" {percent_text(row['probability'])}")
            for row in targets[1:3].iter_rows(named=True)
        ]
        then = [join(" · " if place else "", other) for place, other in enumerate(others)]
        when = date_cell(best["median_date"]) if "median_date" in best else "-"
        rows.append(
            (
                node_id(src),
                join(
                    node_id(best["target"]),
                    element("small", reason) if reason else None,
                    element("small", "then ", *then) if then else None,
                ),
                meter(best["probability"], percent_text(best["probability"])),
                join(wait_text(best["median_wait"]), element("small", when) if when != "-" else None),
                range_text(best, 80),
            )
        )
    headings = ("who", "links to", f"within {days}", "half come within", "80% come after")
    parts = [table(headings, rows), waits_card(firsts)]
    about = material.record.get("about_forecasts")
    if about and not about["all_targets"]:
        found = "" if about["found"] is None else f"; in a sample, {about['found']:.0%} of the first targets of all"
        parts.append(
            note(f"Asked were targets met lately and those linked to most these days{found}.", kind="small note")
        )
    return section("next", title, lead, *parts)


def main_reasons(material: Material, firsts: list[tuple[Any, pl.DataFrame]]) -> list[str | None]:
    """Say of the likeliest link of each source what speaks for it most; None where nothing does."""
    if material.forecaster is None:
        return [None] * len(firsts)
    graph, best = material.graph, [rows.row(0, named=True) for _, rows in firsts]
    src = graph.numbers([row["src"] for row in best], side="source")
    dst = graph.numbers([row["target"] for row in best], side="target")
    with warnings.catch_warnings(action="ignore", category=TadgeWarning):
        causes = as_polars(material.forecaster.explain(src, dst, material.days))
    per_pair = len(causes) // len(best)
    reasons: list[str | None] = []
    for pair in range(len(best)):
        parts = causes.slice(pair * per_pair, per_pair).filter(pl.col("moved") > 0)
        reasons.append(_short(str(parts["reason"][0])) if len(parts) else None)
    return reasons


def _short(reason: str) -> str:
    text = "because " + "".join(one if one.isprintable() else " " for one in reason)
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def waits_card(firsts: list[tuple[Any, pl.DataFrame]]) -> Markup:
    """Draw when the likeliest link of each comes: the median, and the interval that holds 80%."""
    best = [rows.row(0, named=True) for _, rows in firsts]
    low = min(max(min(row["low_80"] for row in best), SHORTEST), LONGEST)
    high = min(max(*(row["high_80"] for row in best), 10 * low), LONGEST)

    def draw(width: float) -> Markup:
        def interval(chart: Chart, x: LengthScale, middle: float, row: dict[str, Any]) -> None:
            chart.stroke(x(row["low_80"]), middle, x(row["high_80"]), middle, kind="span one")
            tip = f"half within {wait_text(row['median_wait'])}; 80%: {range_text(row, 80)}"
            chart.dot(x(row["median_wait"]), middle, radius=5, tip=tip)

        rows = [(f"{id_text(row['src'])} → {id_text(row['target'])}", row) for row in best]
        name = "when the likeliest links come"
        return row_chart(width, rows, name, interval, lambda a, b: LengthScale(low, high, a, b), "wait from now")

    reading = (
        "If the link comes at all: half of such links come before the dot, 80% of them within the line. "
        "The scale is logarithmic."
    )
    return figure("When", responsive(draw, 1080), reading, kind="whole")


# -- surprises --------------------------------------------------------------------------------------------------------


def late_surprises(material: Material) -> pl.DataFrame | None:
    """Ask how surprising the events of late were, in order of time; None without a Forecaster."""
    if material.forecaster is None:
        return None
    graph = material.graph
    since = float(graph.time[-1] - LATE_PART * (graph.time[-1] - graph.time[0]))
    count = int(np.count_nonzero(graph.time >= since))
    count = min(max(count, LEAST_EVENTS), MOST_EVENTS, graph.num_events)
    begin = float(graph.time[graph.num_events - count])
    late = graph.between(begin, float(np.nextafter(graph.time[-1], np.inf)))
    with warnings.catch_warnings(action="ignore", category=TadgeWarning):
        table_of = as_polars(material.forecaster.surprise(late))
    return table_of.tail(count)


def surprises_section(surprises: pl.DataFrame | None, material: Material) -> Markup:
    """Tell which events of late were least expected."""
    title, graph = "Surprises of late", material.graph
    if surprises is None or not len(surprises):
        return section("surprises", title, "There is no Forecaster to tell what was surprising.")
    since = date_cell(surprises["time"][0])
    lead = (
        f"Of the latest {plural(len(surprises), 'event')}, since {since}: those least expected the instant before they "
        "came. A surprise of 3 is one in a thousand; it is the sum of who (the target) and when (so soon, or so late)."
    )
    ordered = surprises.sort("surprise", descending=True, maintain_order=True).head(SHOWN_SURPRISES)
    rows = [
        (
            date_cell(row["time"]),
            join(node_id(row["src"]), " → ", node_id(row["dst"])),
            f"{row['surprise']:.1f}",
            "the target" if row["who"] >= row["when"] else "the time",
            f"{row['who']:.1f} + {row['when']:.1f}",
        )
        for row in ordered.iter_rows(named=True)
    ]
    listed = table(
        ("time (UTC)" if graph.clock == "unix" else "time", "event", "surprise", "mostly", "who + when"), rows
    )
    return section("surprises", title, lead, surprise_card(surprises, graph.clock), listed)


def surprise_card(surprises: pl.DataFrame, clock: str) -> Markup:
    """Draw the surprise of events over time."""
    times = surprises["time"]
    days = times.dt.epoch("us").to_numpy() / 86_400e6 if clock == "unix" else times.to_numpy()
    values = np.nan_to_num(surprises["surprise"].to_numpy())
    order = np.argsort(-values, kind="stable")
    shown = np.sort(np.unique(np.concatenate([order[:60], order[:: max(1, order.size // 600)]])))
    low, high = float(days.min()), float(days.max())
    high = high if high > low else low + 1e-3
    marked = set(order[:SHOWN_SURPRISES].tolist())

    def draw(width: float) -> Markup:
        chart = Chart(width, 240)
        x = MomentScale(low, high, chart.left, chart.right, clock)
        y = chart.up(0, nice_ceiling(float(values.max())))
        chart.y_axis(y, "surprise")
        chart.x_axis(x, "time" if clock == "unix" else "day on the file's own clock")
        for place in shown.tolist():
            row = surprises.row(place, named=True)
            is_marked = place in marked
            tip = f"{id_text(row['src'])} → {id_text(row['dst'])}, {date_cell(row['time'])}: {row['surprise']:.1f}"
            radius, kind = (4.5, "two") if is_marked else (2.2, "one faint")
            chart.dot(x(float(days[place])), y(float(values[place])), radius=radius, tip=tip, kind=kind)
        return chart.svg("surprise of the latest events")

    reading = "Each dot is an event (of many, a sample); those in the table are marked."
    return figure("How surprising the latest events were", responsive(draw, 1080), reading, kind="whole")


# -- overdue ----------------------------------------------------------------------------------------------------------


def overdue_pairs_of(material: Material) -> pl.DataFrame | None:
    """Ask which pairs are overdue; None where there are too many pairs to look at, or no Forecaster."""
    if material.forecaster is None or material.graph.num_events > MOST_PAIRS:
        return None
    with warnings.catch_warnings(action="ignore", category=TadgeWarning):
        return as_polars(material.forecaster.overdue())


def overdue_section(late: pl.DataFrame | None, material: Material) -> Markup:
    """Tell who is past the usual time."""
    title = "Who is overdue"
    if late is None:
        why = (
            "There are too many pairs to look at here: ask tadge overdue." if material.forecaster else "No Forecaster."
        )
        return section("overdue", title, why)
    if not len(late):
        return section("overdue", title, "No pair is past the time by which nine of ten such links have come.")
    recent = late.filter(pl.col("still") >= 0.2)
    shown = (recent if len(recent) >= SHOWN_OVERDUE else late).sort("still", descending=True, maintain_order=True)
    lead = (
        f"{plural(len(late), 'pair')} {'is' if len(late) == 1 else 'are'} past the time by which nine of ten such "
        "links have come. Shown are those that are still likeliest to come."
    )
    rows = [
        (
            join(node_id(row["src"]), " → ", node_id(row["dst"])),
            "an answer" if row["waits_for"] == "answer" else "the next link",
            date_cell(row["since"]),
            wait_text(row["due"]),
            wait_text(row["late"]),
            meter(row["still"] or 0.0, percent_text(row["still"])),
        )
        for row in shown.head(SHOWN_OVERDUE).iter_rows(named=True)
    ]
    headings = ("pair", "waits for", "since", "usually within", "late by", "still comes")
    return section("overdue", title, lead, table(headings, rows))
