"""Sections "drift" and "training": how the data changed over time, and how the vectors were learned."""

from __future__ import annotations

import numpy as np

from tadge.arrays import Days, Ints
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import ANSWER, FIRST_CONTACT, REPEAT, UNSEEN, past_of
from tadge.page.content import Material
from tadge.page.parts import figure, grid, room_for, section
from tadge.plots.chart import Chart, responsive
from tadge.plots.markup import Markup
from tadge.plots.scales import MomentScale, nice_ceiling
from tadge.report.answers import wait_text

PARTS = 20  # equal parts of the time
MOST_KINDS = 2_000_000  # events whose kinds are found
KINDS_IN_WORDS = {
    REPEAT: ("repeats", "Links of a pair that had linked before, in the same direction."),
    ANSWER: ("answers", "First links back to someone who had linked to the source."),
    FIRST_CONTACT: ("first contacts", "Links between two nodes that had not met, of a source that was known."),
    UNSEEN: ("newcomers", "Links by a source that had never been seen."),
}


def drift_section(material: Material) -> Markup:
    """Tell how the data changed: how many events, and of which kinds."""
    graph, title = material.graph, "Drift"
    if graph.num_events < 2 * PARTS or graph.time[-1] <= graph.time[0]:
        return section("drift", title, "There are too few events, or all at once, to see a change over time.")
    if graph.num_events > MOST_KINDS:
        graph = graph.between(float(graph.time[-MOST_KINDS]), float(np.nextafter(graph.time[-1], np.inf)))
    low, high = float(graph.time[0]), float(graph.time[-1])
    edges = np.linspace(low, high, PARTS + 1)
    part = np.clip(np.searchsorted(edges, graph.time, side="right") - 1, 0, PARTS - 1)
    counts = np.bincount(part, minlength=PARTS)
    kinds = kinds_over_time(graph)
    lead = (
        f"What changes in the data changes how well a model of the past fits. The time is cut into {PARTS} equal parts "
        f"of {wait_text((high - low) / PARTS)}."
    )
    pace = counts / ((high - low) / PARTS)
    cards = [_line_card(graph, edges, pace, "Events per day", "events per day", "The pace of the whole.")]
    for kind, (name, words) in KINDS_IN_WORDS.items():
        share = np.bincount(part[kinds == kind], minlength=PARTS) / np.maximum(counts, 1)
        share[counts == 0] = np.nan
        if np.nanmax(share) > 0.005:
            cards.append(_line_card(graph, edges, share, name.capitalize(), "of events", words, percent=True))
    return section("drift", title, lead, grid(*cards))


def kinds_over_time(graph: TemporalGraph) -> Ints:
    """Tell what kind of edge every event was the instant before it, (E,)."""
    before = np.nextafter(graph.time, -np.inf)
    return past_of(graph).kinds(graph.src.astype(np.int64), graph.dst.astype(np.int64), before)


def _line_card(
    graph: TemporalGraph, edges: Days, values: Days, title: str, axis: str, reading: str, *, percent: bool = False
) -> Markup:
    middles = (edges[:-1] + edges[1:]) / 2

    def draw(width: float) -> Markup:
        most = float(np.nanmax(values))
        chart = Chart(width, 190, left=room_for(most, percent=percent))
        x = MomentScale(float(edges[0]), float(edges[-1]), chart.left, chart.right, graph.clock)
        y = chart.up(0, min(1.0, nice_ceiling(most)) if percent else nice_ceiling(most), percent=percent)
        chart.y_axis(y, axis, count=3)
        chart.x_axis(x, "time" if graph.clock == "unix" else "day on the file's own clock")
        known = [
            (middle, value)
            for middle, value in zip(middles.tolist(), values.tolist(), strict=True)
            if not np.isnan(value)
        ]
        chart.line([(x(middle), y(value)) for middle, value in known])
        for middle, value in known:
            tip = f"{value:.1%}" if percent else f"{value:,.3g} a day"
            chart.dot(x(middle), y(value), radius=2.6, tip=tip)
        return chart.svg(title)

    return figure(title, responsive(draw, 520), reading)


def training_section(material: Material) -> Markup:
    """Tell how TADGE was trained."""
    title = "How vectors were learned"
    model = material.vectors
    if model is None:
        why = material.note("vectors") or "only forecasts were asked for"
        return section("training", title, f"There are no vectors: {why}. Forecasts do not need them.")
    history = model.history_
    why = {
        "done": "all epochs are done",
        "early": "the loss on held-out walks had stopped falling",
        "budget": "the budget was over",
        "interrupted": "it was interrupted",
    }.get(model.stopped_, model.stopped_)
    count = len(history)
    lead = (
        f"TADGE learned from {model.walk_config.num_walks:,} walks for {count} epoch{'s' * (count != 1)} of at most "
        f"{model.train_config.epochs}; it stopped because {why}. The best state is kept."
    )
    if not count:
        return section("training", title, lead + " No epoch was finished: the vectors are near those it began with.")
    trained = [epoch["loss"] for epoch in history]
    held_out = [epoch["held_out"]["loss"] for epoch in history if "held_out" in epoch]

    def draw(width: float) -> Markup:
        chart = Chart(width, 260)
        values = [*trained, *held_out]
        low, high = min(values), max(values)
        room = (high - low) * 0.1 or abs(high) * 0.1 or 1.0
        x, y = chart.across(0.5, count + 0.5), chart.up(low - room, high + room)
        chart.y_axis(y, "loss")
        chart.x_axis(x, "epoch")
        for place, (name, listed) in enumerate((("training walks", trained), ("held-out walks", held_out))):
            kind = ("one", "two")[place]
            chart.line([(x(k + 1), y(value)) for k, value in enumerate(listed)], kind=kind)
            for k, value in enumerate(listed):
                chart.dot(x(k + 1), y(value), radius=3, tip=f"epoch {k + 1}, {name}: {value:.3f}", kind=kind)
            if listed:
                chart.dot(chart.right - 130, chart.top + 10 + 17 * place, kind=kind)
                chart.words(chart.right - 120, chart.top + 14 + 17 * place, name)
        return chart.svg("loss by epoch")

    reading = (
        "The joint loss of all tasks; lower is better. Where the held-out line rises, the network learns by heart."
    )
    return section("training", title, lead, grid(figure("Loss by epoch", responsive(draw, 520), reading)))
