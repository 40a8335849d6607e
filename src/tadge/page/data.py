"""Section "the data": when events happened, how long edges took to form, who is busiest."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadge.arrays import Days, Ints
from tadge.graph.graph import TemporalGraph
from tadge.page.content import Material
from tadge.page.parts import figure, grid, plural, room_for, section
from tadge.plots.chart import Chart, responsive, row_chart
from tadge.plots.markup import Markup
from tadge.plots.scales import LengthScale, LinearScale, MomentScale, nice_ceiling
from tadge.report.answers import id_text, moment_text, wait_text

BINS = 80  # of the timeline
TOE_BINS = 32
BUSIEST = 10
SECOND = 1 / 86_400
PERIODS = (1 / 24, 1.0, 7.0, 30.4375, 91.3125, 365.25)  # days, of bins that people know
PERIOD_NAMES = ("hour", "day", "week", "month", "quarter", "year")


def data_section(material: Material) -> Markup:
    """Tell what the data are."""
    graph = material.graph
    first, last = (moment_text(float(graph.time[place]), graph.clock) for place in (0, -1))
    span = wait_text(float(graph.time[-1] - graph.time[0]))
    kind = "two-sided" if graph.bipartite else "directed" if graph.directed else "undirected"
    lead = (
        f"{plural(graph.num_events, 'event')} of {plural(graph.num_nodes, 'node')} ({kind}), from {first} to {last}: "
        f"{span}. An event is one timed link, from a source to a target."
    )
    cards = [timeline_card(graph)]
    if graph.toe_values().size:
        cards.append(toe_card(graph))
    cards += [busiest_card(graph, "src"), busiest_card(graph, "dst")]
    return section("data", "What the data are", lead, grid(*cards))


def period_of(span: float) -> tuple[float, str]:
    """Choose bins of a timeline: the shortest period that people know which gives at most BINS of them."""
    for days, name in zip(PERIODS, PERIOD_NAMES, strict=True):
        if span / days <= BINS:
            return (days, name) if span / days >= 4 else (max(span, SECOND) / 24, wait_text(max(span, SECOND) / 24))
    return span / BINS, wait_text(span / BINS)


def timeline_card(graph: TemporalGraph) -> Markup:
    """Draw the number of events per period."""
    low, high = float(graph.time[0]), float(graph.time[-1])
    days, name = period_of(high - low)
    edges = low + days * np.arange(max(1, int(np.ceil((high - low) / days + 1e-9))) + 1)
    counts = np.histogram(graph.time, edges)[0]

    def draw(width: float) -> Markup:
        chart = Chart(width, 250, left=room_for(float(counts.max())))
        x = MomentScale(low, float(edges[-1]), chart.left, chart.right, graph.clock)
        y = chart.up(0, nice_ceiling(float(counts.max())))
        chart.y_axis(y, f"events per {name}")
        chart.x_axis(x, "time" if graph.clock == "unix" else "day on the file's own clock")
        for begin, end, count in zip(edges[:-1], edges[1:], counts.tolist(), strict=True):
            gap = 0.5 if x(end) - x(begin) > 3 else 0.0
            tip = f"{moment_text(float(begin), graph.clock)}: {plural(count, 'event')}"
            chart.bar(x(begin) + gap, x(end) - gap, y(0), y(count), tip=tip)
        return chart.svg("events over time")

    reading = f"Each bar counts the events of one {name}; the last one may not be over yet."
    return figure("When it happened", responsive(draw, 1080), reading, kind="whole")


def toe_card(graph: TemporalGraph) -> Markup:
    """Draw how long edges took to form, on a scale of lengths of time."""
    toe = graph.toe_values()
    low, high = max(float(toe.min()), SECOND), max(float(toe.max()), 10 * SECOND)
    low, high = min(low, high / 10), high * 1.05
    edges = np.geomspace(low, high, TOE_BINS + 1)
    counts = np.histogram(np.clip(toe, low, high), edges)[0]
    half = float(np.median(toe))

    def draw(width: float) -> Markup:
        chart = Chart(width, 240, left=room_for(float(counts.max())))
        x, y = LengthScale(low, high, chart.left, chart.right), chart.up(0, nice_ceiling(float(counts.max())))
        chart.y_axis(y, "events")
        chart.x_axis(x, "time since the target last joined")
        for begin, end, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True):
            tip = f"{wait_text(begin)} to {wait_text(end)}: {plural(count, 'event')}"
            chart.bar(x(begin) + 0.5, x(end) - 0.5, y(0), y(count), tip=tip)
        chart.stroke(x(half), chart.top, x(half), chart.bottom)
        near_end = x(half) > (chart.left + chart.right) / 2
        words = f"half within {wait_text(half)}"
        chart.words(x(half) + (-6 if near_end else 6), chart.top + 10, words, "end" if near_end else "start")
        return chart.svg("how long edges took to form")

    reading = "How long an edge takes (ToE): from when its target was first seen or last acted until the event."
    if graph.bipartite:
        reading += " Targets never act here: this is their age, not a time to answer."
    return figure("How long edges take to form", responsive(draw, 1080), reading, kind="whole")


def busiest_card(graph: TemporalGraph, role: str) -> Markup:
    """Draw the nodes that acted most, or were linked to most."""
    ends = graph.src if role == "src" else graph.dst
    counts = np.bincount(ends, minlength=graph.num_nodes)
    order = np.argsort(-counts, kind="stable")[:BUSIEST]
    order = order[counts[order] > 0]
    most = nice_ceiling(float(counts.max()))

    def draw(width: float) -> Markup:
        def bar(chart: Chart, x: Any, middle: float, count: int) -> None:
            chart.bar(x(0), x(count), middle - 8, middle + 8, tip=plural(count, "event"))
            chart.words(x(count) + 5, middle + 4, f"{count:,}")

        rows = [(id_text(graph.ids[node]), int(counts[node])) for node in order.tolist()]
        return row_chart(width, rows, title, bar, lambda a, b: LinearScale(0, most, a, b - 24), "events")

    title = "Who acts most" if role == "src" else "Who is linked to most"
    share = _share(counts, order)
    reading = f"These {order.size} have {share:.0%} of all events as {'sources' if role == 'src' else 'targets'}."
    return figure(title, responsive(draw, 520), reading)


def _share(counts: Ints | Days, order: Ints) -> float:
    return float(counts[order].sum() / max(counts.sum(), 1))
