"""Sections about a known law, and about where everything comes from: settings, versions, seconds, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadge.page.content import Material
from tadge.page.parts import card, figure, grid, horizon_text, section, table
from tadge.plots.chart import Chart, responsive
from tadge.plots.markup import Markup, element
from tadge.plots.scales import nice_ceiling
from tadge.report.answers import date_cell, moment_text, wait_text
from tadge.version import __version__

SHOWN_PAIRS = 500
PARTS_OF_SETTINGS = ("forecasting", "walking", "network", "training")


def law_section(material: Material) -> Markup | None:
    """Tell how near forecasts come to the law that made the data, where that is known."""
    law = material.record.get("law")
    if not law:
        return None
    said, truth = np.array(law["said"]), np.array(law["law"])
    off = float(np.mean(np.abs(said - truth)))
    constant = float(np.mean(np.abs(truth - truth.mean())))
    wait, days = law["wait"], horizon_text(law["days"])
    lead = (
        "These data were made by a law that is known, so what is said can be set beside what no forecast can better: "
        f"the probability that a customer writes to an agent within {days}. It was off by {100 * off:.1f} percentage "
        f"points on average; one probability for all would be off by {100 * constant:.1f}. Half of the customers write "
        f"to their favourite again within {wait_text(wait['said'])} as said, {wait_text(wait['law'])} by the law."
    )
    high = min(1.0, nice_ceiling(float(max(said.max(), truth.max()))))

    def draw(width: float) -> Markup:
        chart = Chart(width, min(width, 420))
        x, y = chart.across(0, high, percent=True), chart.up(0, high, percent=True)
        chart.y_axis(y, "said")
        chart.x_axis(x, "by the law", grid=True)
        chart.stroke(x(0), y(0), x(high), y(high), kind="rule")
        for true, one in zip(truth[:SHOWN_PAIRS].tolist(), said[:SHOWN_PAIRS].tolist(), strict=True):
            chart.dot(x(true), y(one), radius=2.4, kind="one faint", tip=f"law {true:.1%}, said {one:.1%}")
        return chart.svg("probabilities as said beside those of the law")

    reading = "Each dot is a customer and an agent. On the dashed line what is said is what the law says."
    return section("law", "Beside the known law", lead, grid(figure("Said and true", responsive(draw, 520), reading)))


def about_section(material: Material) -> Markup:
    """Tell the settings, what each stage took, and where the data are from."""
    record, graph = material.record, material.graph
    lead = "What is needed to make this again, and what it took."
    facts: list[tuple[str, Any]] = [
        ("data", record.get("source") or material.name),
        ("columns", ", ".join(f"{role} = {name}" for role, name in (record.get("columns") or {}).items()) or None),
        ("fingerprint of the data", graph.fingerprint),
        (
            "history",
            f"{moment_text(float(graph.time[0]), graph.clock)} to {moment_text(float(graph.time[-1]), graph.clock)}",
        ),
        ("tadge", record.get("tadge", __version__)),
        ("Python", record.get("python")),
        ("machine", _machine(record)),
        ("begun", record.get("began")),
        ("budget", record.get("budget")),
        ("seed", _seed(material)),
    ]
    parts: list[Any] = [card("Provenance", _facts(facts))]
    stages = {name: stage for name, stage in record.get("stages", {}).items() if name != "page"}
    if stages:
        rows = [
            (
                name,
                _seconds(stage),
                f"{stage['peak_memory_mb']:,.0f} MB" if "peak_memory_mb" in stage else "-",
                stage.get("note") or ("done" if stage["done"] else "left out"),
            )
            for name, stage in stages.items()
        ]
        parts.append(card("What it took", table(("stage", "time", "memory of the process", ""), rows, numbers=(1, 2))))
    settings = _settings(material)
    if settings:
        listed = element("details", element("summary", "All settings"), _facts(settings), class_="card")
        return section("about", "Settings and provenance", lead, grid(*parts), listed)
    return section("about", "Settings and provenance", lead, grid(*parts))


def _seconds(stage: dict[str, Any]) -> str:
    return wait_text(stage["seconds"] / 86_400) if stage["seconds"] else "-"


def _machine(record: dict[str, Any]) -> str | None:
    machine = record.get("machine")
    return None if not machine else f"{machine['system']}, {machine['cores']} cores"


def _seed(material: Material) -> int:
    model = material.forecaster if material.forecaster is not None else material.vectors
    assert model is not None
    return model.seed


def _settings(material: Material) -> list[tuple[str, Any]]:
    """List the options of both models by name."""
    models = [model for model in (material.forecaster, material.vectors) if model is not None]
    return [
        (f"{part}: {name}", value)
        for model in models
        for part, values in model.about().items()
        if isinstance(values, dict)
        for name, value in values.items()
    ]


def _facts(facts: list[tuple[str, Any]]) -> Markup:
    rows = [
        element(
            "div", element("dt", name), element("dd", date_cell(value) if hasattr(value, "strftime") else str(value))
        )
        for name, value in facts
        if value not in (None, "")
    ]
    return element("dl", *rows, class_="facts")
