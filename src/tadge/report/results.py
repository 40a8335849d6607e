"""The page of results, made from kept records: `python -m tadge.report.results FOLDER` prints it as Markdown."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tadge.config import ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.evaluation.figures import Figure, label, number, smaller_is_better
from tadge.evaluation.result import Result
from tadge.evaluation.table import MEANING, asked, grids_of, num_periods, shown_metrics, spread_over

HEAD = """# Results

This page is made from the records in `docs/results/` by `make results`; no figure in it is typed by hand. A record
says with which options, seeds, version and data it was made. The best figures are bold. After +-: one standard
deviation over the seeds; in brackets: the 95% bootstrap interval of a single seed. Errors of ToE are in the squashed
unit, 2 arctan(days) / pi, unless days are named.
"""


FORECASTER_ROW = "Forecaster"  # the row that aims are about
DEFAULT_CONFIGS: dict[str, Any] = {
    "forecast": ForecastConfig(),
    "walks": WalkConfig(),
    "network": NetworkConfig(),
    "train": TrainConfig(),
}


def results_page(folder: Path) -> str:
    """Write all records of a folder as one page.

    Its parts: what was aimed at, `aims/aims.json`; what it all means, `words.md`; the records; and those of studies,
    where many ways to learn are compared, in the folder `studies`.
    """
    names = sorted(place.stem for place in folder.glob("*.json"))
    records = {name: Result.from_json(folder / f"{name}.json") for name in names}
    parts, words, aims = [HEAD], folder / "words.md", folder / "aims" / "aims.json"
    if aims.exists():
        parts += _aims(records, json.loads(aims.read_text(encoding="utf-8")))
    if words.exists():
        parts.append(words.read_text(encoding="utf-8"))
    for result in records.values():
        parts += _section(result)
    for place in sorted((folder / "studies").glob("*.json")):
        parts += _study(place.stem, Result.from_json(place))
    return "\n".join(parts)


def _aims(records: dict[str, Result], aims: list[dict[str, Any]]) -> Iterator[str]:
    """Say which aims were met; an aim is a figure, or that of a baseline and a fraction `by` more."""
    lines = [f"| forecast | best baseline | {FORECASTER_ROW} | aim | |", "|---|---|---|---|---|"]
    for aim in aims:
        if aim["record"] not in records or FORECASTER_ROW not in records[aim["record"]].methods:
            lines.append(f"| {aim['what']} | - | - | {aim.get('aim', '-')} | not measured |")
            continue
        result, task, metric = records[aim["record"]], aim["task"], aim["metric"]
        rule = aim.get("over") or next(name for name in result.rows(task) if result.kinds[name] == "rule")
        value, of_rule = (result.figures(name, task)[metric]["value"] for name in (FORECASTER_ROW, rule))
        wanted = aim.get("aim") or of_rule * (1 + aim["by"])
        met = value <= wanted if smaller_is_better(metric) else value >= wanted
        cells = f"{rule} {number(of_rule)}", number(value), number(wanted), "met" if met else "**missed**"
        lines.append(f"| {aim['what']} | " + " | ".join(cells) + " |")
    yield "## What was aimed at\n"
    yield "\n".join(lines) + "\n"


def _study(name: str, result: Result) -> Iterator[str]:
    """Put all ways of a study into one table: validation, test, seconds."""
    rows: dict[str, list[str]] = {method: [] for method in result.methods}
    heads: list[str] = []
    seen: set[str] = set()

    def add(head: str, column: dict[str, float | None]) -> None:
        if any(value is not None for value in column.values()):
            heads.append(head)
            for method, value in column.items():
                rows[method].append("-" if value is None else number(value))

    for task, about in result.tasks.items():
        main, kind = about["main"], task.partition(" ")[0]
        if kind not in seen:
            early = {one: result.validation[one].get(f"{kind} {main}") for one in rows}
            add(f"{'links (random)' if kind == 'links' else kind}: {label(main)}, validation", early)
            seen.add(kind)
        figures = {one: result.methods[one].get(task, {}).get(main) for one in rows}
        add(
            f"{task}: {label(main)}, test",
            {one: figure["value"] if figure else None for one, figure in figures.items()},
        )
    seconds = {one: result.times[one].get("fit", 0.0) for one in rows}
    add("learning, s", {one: value if value >= 0.01 else None for one, value in seconds.items()})
    about_data, seeds = result.data["name"], len(result.seeds)
    yield f"## {about_data}, study: {name.removeprefix(about_data).strip('-')}\n"
    plural = "s" if seeds > 1 else ""
    yield f"{result.notes[0]} {seeds} seed{plural}; {result.seconds:,.0f} s in all; {_code(result)}.\n"
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| {method} | " + " | ".join(cells) + " |" for method, cells in rows.items()]
    yield "\n".join(lines) + "\n"
    if result.notes[1:]:
        yield "\n".join(f"- {note}" for note in result.notes[1:]) + "\n"


def _section(result: Result) -> Iterator[str]:
    data, seeds = result.data, len(result.seeds)
    title, learned = f"## {data['name']}, protocol {result.protocol}", ""
    if result.config.get("refresh", 1) > 1:
        title += f", refreshed every {result.config['refresh']} events"
    if num_periods(result) > 1:
        title += f", {num_periods(result)} test periods"
    if result.config.get("refit"):
        title, learned = f"{title}, learned from 85%", " Learned from the first 85% of the events."
    yield f"{title}\n"
    yield (
        f"{MEANING[result.protocol]}{learned} {data['nodes']:,} nodes, {data['events']:,} events; "
        f"{seeds} seed{'s' if seeds > 1 else ''}; {result.seconds:,.0f} s in all, {result.peak_memory_mb:,.0f} MB at "
        f"most; {_code(result)}, data {data['fingerprint']}.\n"
    )
    changed = _changed(result)
    if changed:
        yield f"Options that are not the default: {', '.join(changed)}.\n"
    for task in result.tasks:
        yield from _table(result, task)
    if result.notes:
        yield "Notes:\n"
        yield "\n".join(f"- {note}" for note in result.notes) + "\n"


def _code(result: Result) -> str:
    """Say which code made a record: version and commit, or that it is of before records named their commit."""
    earlier = "" if "(" in result.version else ", earlier code, of before records named their commit"
    return f"tadge {result.version}{earlier}"


def _changed(result: Result) -> list[str]:
    """List the options of the models that differ from the default."""
    changed = []
    for about in result.config.get("models", {}).values():
        for part, config in DEFAULT_CONFIGS.items():
            default, given = json.loads(json.dumps(asdict(config))), (about or {}).get(part, {})
            changed += [f"{key} {value}" for key, value in given.items() if default.get(key) != value]
    return changed


def _table(result: Result, task: str) -> Iterator[str]:
    about = result.tasks[task]
    shown = shown_metrics(result, task)
    best = {metric: result.best(task, metric) for metric in shown}
    yield f"### {task}\n"
    yield f"{asked(about)}\n"
    lines = ["| method | " + " | ".join(label(metric) for metric in shown) + " |", "|---" * (len(shown) + 1) + "|"]
    for name in result.rows(task):
        figures = result.figures(name, task)
        cells = [
            _cell(result, figures.get(metric), metric, metric == about["main"], name in best[metric])
            for metric in shown
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    yield "\n".join(lines) + "\n"
    for sentence in result.sentences(task):
        yield sentence + "\n"
    for title, head, rows in grids_of(result, task):
        grid = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        yield f"{title[:1].upper()}{title[1:]}:\n"
        yield "\n".join(grid) + "\n"


def _cell(result: Result, figure: Figure | None, metric: str, main: bool, best: bool) -> str:
    if figure is None:
        return "-"
    text = f"**{number(figure['value'], metric)}**" if best else number(figure["value"], metric)
    if not main:
        return text
    if spread_over(result):
        return f"{text} +- {number((figure['high'] - figure['low']) / 2, metric)}"
    return f"{text} [{number(figure['low'], metric)}, {number(figure['high'], metric)}]"


if __name__ == "__main__":
    print(results_page(Path(sys.argv[1])), end="")
