"""What `tadge changes` shows: the whole first, then what is sure, then what is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich.console import Console

from tadge.forecasting.changes import Changes
from tadge.report.answers import Column, answers_table, date_cell, id_column, moment_text

PER_DAY_DIGITS = 3


def print_changes(changes: Changes, tables: Mapping[str, pl.DataFrame], shown: int) -> None:
    """Print all tables, the first rows of each.

    Args:
        changes: what was found.
        tables: the same tables as polars has them.
        shown: how many rows of each.
    """
    console = Console()
    begin, since, until = (moment_text(day, changes.clock) for day in changes.periods)

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    say(f"What changed from {since} to {until}, beside the time from {begin} on")
    console.print(answers_table(tables["drift"].iter_rows(named=True), DRIFT))
    if changes.learned:
        say("  what was said is no forecast: the model has learned from this time too")
    for name, title, columns, order in LISTS:
        table = tables[name] if order is None else tables[name].sort(order, descending=True, maintain_order=True)
        say(f"\n{len(table):,} {title if len(table) != 1 else title.replace('s ', ' ', 1)}")
        if len(table):
            console.print(answers_table(table.head(shown).iter_rows(named=True), columns))
        if len(table) > shown:
            say(f"  and {len(table) - shown:,} more: --top, --json or --out")


def _figure(name: str) -> Column:
    def cell(row: dict[str, Any]) -> str:
        return "-" if row[name] is None else f"{row[name]:,.{PER_DAY_DIGITS}g}"

    return Column(name, cell)


def _date(name: str) -> Column:
    return Column(name, lambda row: date_cell(row[name]))


def _count(name: str) -> Column:
    return Column(name, lambda row: f"{row[name]:,}")


def _word(name: str) -> Column:
    return Column(name, lambda row: str(row[name]))


DRIFT = [Column("the whole", lambda row: str(row["measure"]), is_id=True), _figure("before"), _figure("since")]
ENDS = id_column("src"), id_column("dst")
LISTS: list[tuple[str, str, list[Column], str | None]] = [
    (
        "paces",
        "nodes whose pace changed, in links per day",
        [id_column("node"), _word("role"), _figure("before"), _figure("since"), _word("change"), _figure("p_value")],
        None,
    ),
    (
        "silent",
        "pairs that fell silent",
        [*ENDS, _date("last"), _count("events"), _figure("expected"), _figure("p_value")],
        None,
    ),
    ("nodes", "new nodes, busiest first", [id_column("node"), _date("first"), _count("events")], "events"),
    (
        "pairs",
        "new pairs, busiest first",
        [
            *ENDS,
            _date("first"),
            _count("events"),
            Column("both known", lambda row: "yes" if row["known"] else "no"),
        ],
        "events",
    ),
]
