"""Commands that help to understand a Forecaster: why a forecast is as it is, and what has changed of late."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tadge.cli.answering import (
    answering,
    as_of,
    checked_to,
    days_text,
    give,
    load_forecaster,
    pairs_asked,
    week_or_less,
)
from tadge.cli.ask import At, Before, Events, Model, One, Other, Out, Pairs
from tadge.cli.frame import AsJson, Quiet, command, flag, print_json, takes
from tadge.config import FALSE_DISCOVERIES, Option
from tadge.io.options import ReadOptions

REASONS = 3  # that people see of a forecast
LISTED = Option("top", int, 5, "how many rows of each table are shown; JSON and files have all", low=1)


@command()
@takes(reading=ReadOptions)
def explain(
    model: Model,
    reading: ReadOptions,
    source: One = None,
    target: Other = None,
    days: Annotated[float | None, typer.Option(help="Horizon in days; 7, as far as the model can tell.")] = None,
    pairs: Pairs = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say why SRC is, or is not, likely to link to DST: three reasons, and how much each moved the forecast.

    The parts of all causes add up to the probability within so many days less that of a typical pair, in points of
    percent. JSON and files have all causes, and also their parts in the ranking of targets, in log odds.

    Example: tadge explain model/ user3 user8
    """
    with answering(out):
        from tadge.report.answers import Column, as_polars, id_column, id_text, percent_text, points_text

        forecaster, graph = load_forecaster(model, events, reading, quiet)
        src, dst = pairs_asked(graph, source, target, pairs)
        horizon = week_or_less(forecaster, days)
        moment = {"at": at, "before": before}
        table = as_polars(forecaster.explain(src, dst, horizon, **moment, graph=graph))
        causes = len(table) // len(src)
        rows = [row for place, row in enumerate(table.iter_rows(named=True)) if place % causes < REASONS]
        columns = [
            *([id_column("src"), id_column("dst")] if len(src) > 1 else []),
            Column("moved by", lambda row: points_text(row["moved"])),
            Column("because", lambda row: id_text(row["reason"]), is_id=True),
        ]
        title = f"Why src is, or is not, likely to link to dst within {days_text(horizon)}, {as_of(graph, **moment)}"
        title += checked_to(forecaster, horizon)
        if len(src) == 1:
            likely, usual = (percent_text(rows[0][name]) for name in ("probability", "typical"))
            pair = f"{id_text(src[0])} links to {id_text(dst[0])} within {days_text(horizon)}"
            title = f"{pair}: {likely}; a typical pair: {usual}; {as_of(graph, **moment)}"
            title += checked_to(forecaster, horizon)
        give(table, columns, title, out, as_json, rows=rows)


@command()
@takes(reading=ReadOptions)
def changes(
    model: Model,
    reading: ReadOptions,
    since: Annotated[str, typer.Option(help="Since when: a date, or days on the graph's clock.")],
    until: Annotated[str | None, typer.Option(help="Until when, included; the end by default.")] = None,
    level: Annotated[float, flag(FALSE_DISCOVERIES)] = FALSE_DISCOVERIES.default,
    top: Annotated[int, flag(LISTED)] = LISTED.default,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell what is new since a moment: nodes, pairs, paces, pairs that fell silent, and the drift of the whole.

    The time since then is set beside the time before, at most four times as long. Changes of pace are tested, so that
    chance is not listed. With --out changes.csv each table is a file of its own: changes-nodes.csv, -pairs, -paces,
    -silent and -drift.

    Example: tadge changes model/ --since 2016-01-01
    """
    with answering(out):
        from tadge.io.spreadsheets import write_answers
        from tadge.report.answers import as_polars, records
        from tadge.report.changes import print_changes

        shown = LISTED.check(top)
        forecaster, graph = load_forecaster(model, events, reading, quiet)
        found = forecaster.changes(since, until, level=level, graph=graph)
        tables = {name: as_polars(table) for name, table in found.tables.items()}
        if out is not None:
            files = {name: out.with_name(f"{out.stem}-{name}{out.suffix}") for name in tables}
            for name, file in files.items():
                write_answers(tables[name], file)
            written: dict[str, Any] = {name: {"written": str(files[name]), "rows": len(tables[name])} for name in files}
            if as_json:
                print_json(written)
            else:
                print("\n".join(f"{one['written']}: {one['rows']:,} rows" for one in written.values()))
        elif as_json:
            periods = dict(zip(("before_from", "since", "until"), found.periods, strict=True))
            rows = {name: records(table) for name, table in tables.items()}
            print_json({"days": periods, "learned_from_the_period": found.learned, **rows})
        else:
            print_changes(found, tables, shown)
