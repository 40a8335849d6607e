"""What `tadge trajectory` shows: steps, who came nearer and who went farther, and a drawing as SVG."""

from __future__ import annotations

import datetime as dt
from html import escape
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from tadge.errors import ConfigError
from tadge.report.answers import Column, answers_table, date_cell, id_column, id_text, percent_text
from tadge.storage.atomic import atomic_file
from tadge.units import date_text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 320, 56, 150, 16, 44
COLOURS = "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf"
TICKS = 5
EPOCH = dt.datetime(1970, 1, 1)


def print_trajectory(steps: pl.DataFrame, neighbours: pl.DataFrame, several: bool) -> None:
    """Print both tables; with `several` nodes each row has its id."""
    console, ids = Console(), [id_column("id")] if several else []
    columns = [
        *ids,
        Column("until", lambda row: date_cell(row["time"])),
        Column("joined", lambda row: f"{row['joinings']:,}"),
        *(_figure(name) for name in ("moved", "typical")),
        Column("surpassed", lambda row: percent_text(row["surpassed"])),
        _figure("from_start"),
    ]
    console.print("How far it moved, and others in the same time", markup=False, highlight=False, soft_wrap=True)
    console.print(answers_table(steps.iter_rows(named=True), columns))
    console.print("\nWho came nearer, and who went farther", markup=False, highlight=False, soft_wrap=True)
    columns = [*ids, id_column("neighbour"), *(_figure(name) for name in ("then", "now", "change"))]
    console.print(answers_table(neighbours.iter_rows(named=True), columns))


def _figure(name: str) -> Column:
    return Column(name.replace("_", " "), lambda row: "-" if row[name] is None else f"{row[name]:.3f}")


# -- the drawing ------------------------------------------------------------------------------------------------------


def check_plot(path: Path) -> None:
    """Refuse a file that cannot be drawn into."""
    if path.suffix.lower() != ".svg":
        cure = f"call it {path.with_suffix('.svg').name}"
        raise ConfigError("unknown kind of drawing", expected=".svg", found=path.name, cure=cure, where=str(path))


def write_plot(path: Path, steps: pl.DataFrame) -> None:
    """Draw how far each node moved in each step, and what was typical, as an SVG file."""
    with atomic_file(path, "w") as file:
        file.write(trajectory_svg(steps))


def trajectory_svg(steps: pl.DataFrame) -> str:
    """Draw a line for each node and a dashed one for what was typical; time goes right, distance up."""
    days = [_day(value) for value in steps["time"].to_list()]
    low, high = min(days), max(*days, min(days) + 1e-9)
    largest = max([0.01, *(value for name in ("moved", "typical") for value in steps[name].drop_nulls().to_list())])

    def place(day: float, value: float) -> str:
        x = LEFT + (WIDTH - LEFT - RIGHT) * (day - low) / (high - low)
        return f"{x:.1f},{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / largest:.1f}"

    parts = [_axes("unix" if steps["time"].dtype.is_temporal() else "own", low, high, largest)]
    for number, part in enumerate(steps.partition_by("id", maintain_order=True)):
        colour, name = COLOURS[number % len(COLOURS)], escape(id_text(part["id"][0]))
        moments = [_day(value) for value in part["time"].to_list()]
        for column, style in (("moved", ""), ("typical", ' stroke-dasharray="4 4" opacity="0.6"')):
            points = [
                place(day, value)
                for day, value in zip(moments, part[column].to_list(), strict=True)
                if value is not None
            ]
            parts.append(
                f'<polyline fill="none" stroke="{colour}" stroke-width="2"{style} points="{" ".join(points)}">'
                f"<title>{name}, {column}</title></polyline>"
            )
        y = TOP + 14 + 18 * number
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{y}" fill="{colour}">{name[:24]}</text>')
    note = f'<text x="{WIDTH - RIGHT + 12}" y="{HEIGHT - BOTTOM}" fill="currentColor">dashed: typical</text>'
    body = "\n".join([*parts, note])
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    style = 'font-family="sans-serif" font-size="12" color="#444" role="img"'
    title = "<title>How far nodes moved</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n{title}\n{body}\n</svg>\n'


def _axes(clock: str, low: float, high: float, largest: float) -> str:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    lines = [f'<path d="M{LEFT},{TOP}V{bottom}H{right}" fill="none" stroke="currentColor"/>']
    for tick in range(TICKS):
        part = tick / (TICKS - 1)
        x, y = LEFT + (right - LEFT) * part, bottom - (bottom - TOP) * part
        label = date_text(low + (high - low) * part, clock)
        for x_text, y_text, anchor, text in (
            (LEFT - 6, y + 4, "end", f"{largest * part:.2g}"),
            (x, bottom + 18, "middle", label[:10] if clock == "unix" else label),
        ):
            place = f'x="{x_text:.1f}" y="{y_text:.1f}" text-anchor="{anchor}"'
            lines.append(f'<text {place} fill="currentColor">{text}</text>')
    lines.append(f'<text x="{LEFT}" y="{HEIGHT - 6}" fill="currentColor">distance moved since the moment before</text>')
    return "\n".join(lines)


def _day(value: Any) -> float:
    return (value - EPOCH).total_seconds() / 86_400 if isinstance(value, dt.datetime) else float(value)
