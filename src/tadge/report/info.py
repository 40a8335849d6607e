"""What `tadge info` shows of a graph: Table 1's row and what stands behind it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from tadge.errors import visible
from tadge.graph import TemporalGraph
from tadge.io.readers import ReadReport
from tadge.units import date_text

if TYPE_CHECKING:
    from rich.console import Group

TOE_BINS = (  # upper ends in days
    ("under a minute", 1 / 1440),
    ("under an hour", 1 / 24),
    ("under a day", 1.0),
    ("under a week", 7.0),
    ("under 30 days", 30.0),
    ("under a year", 365.25),
    ("a year or more", np.inf),
)

SHOWN_TYPES = 10

PASSIVE = (
    "Targets never act in a two-sided graph: a ToE here is the age of its target, the time since it was first seen, "
    "and no response time. For how long links take, fit and ask tadge when."
)


def graph_summary(graph: TemporalGraph, report: ReadReport | None = None, classes: int | None = None) -> dict[str, Any]:
    """Collect everything that is shown, ready for JSON.

    Args:
        graph: the graph.
        report: of its reader, where it came from a file.
        classes: number of classes of its labels, where it has some.
    """
    figures: dict[str, Any] = {"classes": classes, **graph.describe(), "toe_histogram": toe_histogram(graph)}
    figures["fraction_without_toe"] = 1 - figures["events_with_toe"] / graph.num_events if graph.num_events else None
    figures["first"] = date_text(float(graph.time[0]), graph.clock) if graph.num_events else None
    figures["last"] = date_text(float(graph.time[-1]), graph.clock) if graph.num_events else None
    if graph.bipartite and graph.directed and graph.tov_rule == "source":
        figures["note"] = PASSIVE
    if report is not None:
        figures["read"] = dataclasses.asdict(report)
        figures["warnings"] = list(report.warnings)
    return figures


def toe_histogram(graph: TemporalGraph) -> dict[str, int]:
    """Count ToEs on a scale that people use."""
    edges = [-np.inf, *(end for _, end in TOE_BINS)]
    counts = np.histogram(graph.toe_values(), np.nextafter(edges, -np.inf))[0]
    return dict(zip((name for name, _ in TOE_BINS), counts.tolist(), strict=True))


def graph_tables(figures: dict[str, Any]) -> Group:
    """Lay out the summary for a terminal; the reader's warnings are printed where the file is read."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table_1 = Table(title="Table 1 of the paper, for this graph", title_justify="left")
    for name in ("|V|", "|E|", "mean degree", "mean ToE (days)", "std ToE (days)", "classes"):
        table_1.add_column(name, justify="right")
    numbers = (_float(figures[key]) for key in ("mean_degree", "mean_toe_days", "std_toe_days"))
    table_1.add_row(f"{figures['nodes']:,}", f"{figures['events']:,}", *numbers, str(figures["classes"] or "-"))

    rows = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _facts(figures):
        rows.add_row(name, Text(value))
    histogram = Table(title="ToE: how long until an edge forms", title_justify="left", show_header=False, box=None)
    most = max(figures["toe_histogram"].values()) or 1
    for name, count in figures["toe_histogram"].items():
        histogram.add_row(name, f"{count:,}", "█" * round(40 * count / most) or ("▏" if count else ""))
    note = [Text(), Text(figures["note"])] if "note" in figures else []
    return Group(table_1, Text(), rows, Text(), histogram, *note)


def _float(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


def _facts(figures: dict[str, Any]) -> list[tuple[str, str]]:
    events = figures["events"] or 1

    def counted(key: str) -> str:
        return f"{figures[key]:,} ({100 * figures[key] / events:.1f}%)"

    kind = ("directed" if figures["directed"] else "undirected") + (", two-sided" if figures["bipartite"] else "")
    quantiles, types = figures["toe_quantiles_days"], figures["types"]
    more = f" and {len(types) - SHOWN_TYPES:,} more" if len(types) > SHOWN_TYPES else ""
    return [
        ("kind", kind + (", weighted" if figures["weighted"] else "")),
        *([("types of events", visible(", ".join(types[:SHOWN_TYPES])) + more)] if types else []),
        ("from", str(figures["first"])),
        ("to", f"{figures['last']} ({_float(figures['span_days'])} days)"),
        ("events with a ToE", counted("events_with_toe")),
        ("squashed ToE", f"mean {_float(figures['squashed_toe_mean'])}, std {figures['squashed_toe_std'] or 0:.4f}"),
        ("ToE quantiles (days)", ", ".join(f"{name} {value or 0:.4g}" for name, value in quantiles.items())),
        ("occurrences (node, ToV)", f"{figures['occurrences']:,}"),
        ("distinct pairs", f"{figures['distinct_pairs']:,} ({figures['distinct_ordered_pairs']:,} ordered)"),
        ("repeated events", counted("repeated_events")),
        ("self-links", counted("self_links")),
        ("events that share their time", counted("tied_events")),
        ("largest degree", f"{figures['max_degree']:,}"),
        ("nodes without events", f"{figures['isolated_nodes']:,}"),
    ]
