"""Results as tables: for a terminal, as plain text, and for a notebook."""

from __future__ import annotations

from io import StringIO
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tadge.evaluation.figures import Figure, label, number

WIDE = 180  # columns of the plain text
Grid = tuple[str, list[str], list[list[str]]]  # of a table: title, head, rows
KINDS_IN_WORDS = {
    "repeat": "repeat what src had done",
    "answer": "answer dst",
    "first contact": "are first contacts",
    "unseen": "have a node not seen before",
}
MEANING = {
    "reconstruction": "Vectors of walks have seen the edges, and the ToE, that they are asked about.",
    "forecast": "Every question is answered from what happened before its moment.",
}


class Tabular(Protocol):
    """Describe what a table is made of; see `Result`."""

    protocol: str
    tasks: dict[str, dict[str, Any]]
    methods: dict[str, dict[str, dict[str, Figure]]]
    kinds: dict[str, str]
    notes: list[str]
    data: dict[str, Any]
    config: dict[str, Any]
    seeds: list[int]
    seconds: float
    peak_memory_mb: float
    version: str

    def rows(self, task: str) -> list[str]:
        """List the methods of a task, in the order of the table."""

    def figures(self, name: str, task: str) -> dict[str, Figure]:
        """Give the figures of a method on a task by metric; none where it cannot answer."""

    def best(self, task: str, metric: str) -> set[str]:
        """Name the methods with the best figure of a task."""

    def sentences(self, task: str | None = None) -> list[str]:
        """Say in plain words where the model wins and loses."""


def as_tables(result: Tabular, bold: bool = True) -> RenderableType:
    """Lay a result out: a table per task with sentences below it, then the notes.

    Args:
        result: what to show.
        bold: show the best in bold; else with a star behind it.
    """
    parts: list[RenderableType] = [Text(_head(result)), Text()]
    for task in result.tasks:
        parts += [_table(result, task, bold), *map(Text, result.sentences(task))]
        parts += [_plain_table(*grid) for grid in grids_of(result, task)] + [Text()]
    return Group(*parts, *(Text(f"note: {note}") for note in result.notes), Text(_foot(result, bold)))


def as_text(result: Tabular) -> str:
    """Write a result as plain text."""
    console = Console(file=StringIO(), width=WIDE, color_system=None, legacy_windows=False)
    console.print(as_tables(result, bold=False), highlight=False)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def as_html(result: Tabular) -> str:
    """Write a result as HTML, for notebooks."""
    console = Console(file=StringIO(), width=WIDE, record=True, force_jupyter=False, legacy_windows=False)
    console.print(as_tables(result), highlight=False)
    return console.export_html(inline_styles=True, code_format='<pre style="line-height: normal">{code}</pre>')


def _head(result: Tabular) -> str:
    data = result.data
    sizes = f"{data['nodes']:,} nodes, {data['events']:,} events; " if data else ""
    seeds = f"seed {result.seeds[0]}" if len(result.seeds) == 1 else f"{len(result.seeds)} seeds"
    seeds += f", {num_periods(result)} test periods" if num_periods(result) > 1 else ""
    head = f"{data.get('name') or 'graph'}, protocol {result.protocol}: {sizes}{seeds}"
    return f"{head}\n{MEANING[result.protocol]}"


def _foot(result: Tabular, bold: bool) -> str:
    best = "Best in bold" if bold else "Best with *"
    by_target = any("targets" in about for about in result.tasks.values())
    spread = "95% bootstrap" + (", questions about one target drawn together" if by_target else "")
    if spread_over(result):
        spread = f"one standard deviation over {spread_over(result)}"
    took = f"{result.seconds:,.0f} s, {result.peak_memory_mb:,.0f} MB at most"
    return f"{best}; in brackets: {spread}. {took}; tadge {result.version}"


def num_periods(result: Tabular) -> int:
    """Count the test periods that a figure is the mean of; the paper's protocol knows none."""
    return int(result.config.get("origins", 1)) if result.protocol == "forecast" else 1


def spread_over(result: Tabular) -> str:
    """Say over what runs a figure is the mean; nothing where it is that of one run, with a bootstrap interval."""
    runs = {"seeds": len(result.seeds), "test periods": num_periods(result)}
    return " and ".join(f"{count} {name}" for name, count in runs.items() if count > 1)


def grids_of(result: Tabular, task: str) -> list[Grid]:
    """List what else a task shows, in ten parts: title, head and rows of each table.

    Of probabilities what was said and what came true, of each model; of times the coverage along the test period.
    """
    about, grids = result.tasks[task], []
    for name, groups in about.get("reliability", {}).items():
        if result.kinds[name] == "model" and groups:
            title = f"{task}: what {name} said and what came true, in ten equal groups"
            head = ["", *(str(place) for place in range(1, len(groups) + 1))]
            rows = [[key, *(number(group[key], key) for group in groups)] for key in ("said", "true")]
            grids.append((title, head, rows))
    slices = about.get("slices", {})
    if slices:
        parts = next(iter(slices.values()))
        title = f"{task}: coverage 80 in ten equal slices of the test period; below it, how many links came in each"
        head = ["method", *(str(place) for place in range(1, len(parts) + 1))]
        rows = [[name, *(_fraction(part["coverage 80"]) for part in slices[name])] for name in slices]
        grids.append((title, head, [*rows, ["links", *(f"{part['links']:,}" for part in parts)]]))
    return grids


def _fraction(value: float | None) -> str:
    return "-" if value is None else number(value)


def asked(about: dict[str, Any]) -> str:
    """Say how many questions a task has, and of what kinds."""
    kinds = ", ".join(f"{about[kind]:,} {KINDS_IN_WORDS[kind]}" for kind in KINDS_IN_WORDS if about.get(kind))
    targets = f" about {about['targets']:,} targets" if about.get("targets") else ""
    return f"{about['questions']:,} questions{targets}" + (f" ({kinds})" if kinds else "")


def shown_metrics(result: Tabular, task: str) -> list[str]:
    """List the metrics of a task's table: those that any method has."""
    return [
        metric
        for metric in result.tasks[task]["shown"]
        if any(metric in result.figures(name, task) for name in result.methods)
    ]


def _table(result: Tabular, task: str, bold: bool) -> Table:
    about = result.tasks[task]
    table = Table(title=f"{task}: {asked(about)}", title_justify="left")
    table.add_column("method")
    shown = shown_metrics(result, task)
    for metric in shown:
        table.add_column(label(metric), justify="right")
    best = {metric: result.best(task, metric) for metric in shown}
    for name in result.rows(task):
        figures = result.figures(name, task)
        cells = [
            _cell(figures.get(metric), metric, metric == about["main"], name in best[metric], bold) for metric in shown
        ]
        table.add_row(Text(name), *cells)
    return table


def _plain_table(title: str, head: list[str], rows: list[list[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _cell(figure: Figure | None, metric: str, main: bool, best: bool, bold: bool) -> Text:
    if figure is None:
        return Text("-")
    star = "*" if best and not bold else ""
    span = f" [{number(figure['low'], metric)}, {number(figure['high'], metric)}]" if main else ""
    return Text.assemble((number(figure["value"], metric) + star, "bold" if best and bold else ""), span)
