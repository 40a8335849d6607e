"""What `tadge info` shows of a graph: Table 1's row and what stands behind it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from tadge.graph import TemporalGraph
from tadge.io.readers import ReadReport
from tadge.units import date_text

if TYPE_CHECKING:
    from rich.console import Group

BINS = (  # upper ends in days
    ("under a minute", 1 / 1440),
    ("under an hour", 1 / 24),
    ("under a day", 1.0),
    ("under a week", 7.0),
    ("under 30 days", 30.0),
    ("under a year", 365.25),
    ("a year or more", np.inf),
)


def summary(graph: TemporalGraph, report: ReadReport | None = None, classes: int | None = None) -> dict[str, Any]:
    """Collect everything that is shown, ready for JSON.

    Args:
        graph: the graph.
        report: what its reader found, where it came from a file.
        classes: number of classes of its labels, where it has some.
    """
    found: dict[str, Any] = {"classes": classes, **graph.describe(), "toe_histogram": toe_histogram(graph)}
    found["share_without_toe"] = 1 - found["events_with_toe"] / graph.num_events if graph.num_events else None
    found["first"] = date_text(float(graph.time[0]), graph.clock) if graph.num_events else None
    found["last"] = date_text(float(graph.time[-1]), graph.clock) if graph.num_events else None
    if report is not None:
        found["read"] = dataclasses.asdict(report)
        found["warnings"] = list(report.warnings)
    return found


def toe_histogram(graph: TemporalGraph) -> dict[str, int]:
    """Count ToEs on a scale that people use."""
    edges = [-np.inf, *(end for _, end in BINS)]
    counts = np.histogram(graph.toe_values(), np.nextafter(edges, -np.inf))[0]
    return dict(zip((name for name, _ in BINS), counts.tolist(), strict=True))


def render(found: dict[str, Any]) -> Group:
    """Lay the summary out for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table_1 = Table(title="Table 1 of the paper, for this graph", title_justify="left")
    for name in ("|V|", "|E|", "mean degree", "mean ToE (days)", "std ToE (days)", "classes"):
        table_1.add_column(name, justify="right")
    numbers = (_float(found[key]) for key in ("mean_degree", "mean_toe_days", "std_toe_days"))
    table_1.add_row(f"{found['nodes']:,}", f"{found['events']:,}", *numbers, str(found["classes"] or "-"))

    rows = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _facts(found):
        rows.add_row(name, value)
    histogram = Table(title="ToE: how long until an edge forms", title_justify="left", show_header=False, box=None)
    most = max(found["toe_histogram"].values()) or 1
    for name, count in found["toe_histogram"].items():
        histogram.add_row(name, f"{count:,}", "█" * round(40 * count / most) or ("▏" if count else ""))
    warnings = [Text(f"warning: {one}", style="yellow") for one in found.get("warnings", ())]
    return Group(table_1, Text(), rows, Text(), histogram, *([Text()] if warnings else []), *warnings)


def _float(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    events = found["events"] or 1

    def share(key: str) -> str:
        return f"{found[key]:,} ({100 * found[key] / events:.1f}%)"

    kind = ("directed" if found["directed"] else "undirected") + (", bipartite" if found["bipartite"] else "")
    quantiles = found["toe_quantiles_days"]
    return [
        ("kind", kind + (", weighted" if found["weighted"] else "")),
        ("from", str(found["first"])),
        ("to", f"{found['last']} ({_float(found['span_days'])} days)"),
        ("events with a ToE", share("events_with_toe")),
        ("squashed ToE", f"mean {_float(found['squashed_toe_mean'])}, std {found['squashed_toe_std'] or 0:.4f}"),
        ("ToE quantiles (days)", ", ".join(f"{name} {value or 0:.4g}" for name, value in quantiles.items())),
        ("occurrences (node, ToV)", f"{found['occurrences']:,}"),
        ("distinct pairs", f"{found['distinct_pairs']:,} ({found['distinct_ordered_pairs']:,} ordered)"),
        ("repeated events", share("repeated_events")),
        ("self-links", share("self_links")),
        ("events that share their time", share("tied_events")),
        ("largest degree", f"{found['max_degree']:,}"),
        ("nodes without events", f"{found['isolated_nodes']:,}"),
    ]
