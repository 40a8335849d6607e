"""Commands that ask a Forecaster: within how long, when, who next, what was surprising, who is overdue."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tadge.cli.answering import (
    answering,
    as_of,
    checked_to,
    days_text,
    give,
    horizons_asked,
    ids_given,
    known_column,
    known_pairs,
    load_forecaster,
    pairs_asked,
    read_history,
    week_or_less,
)
from tadge.cli.frame import AsJson, Quiet, command, flag, takes
from tadge.config import LEAST, LEVEL, TOP, Option
from tadge.errors import ConfigError
from tadge.io.options import ReadOptions

SURPRISES = ("surprise", "who", "when", "lately")
SHOWN = Option("top", int, 20, "how many are shown; with --out all are written", low=1)

Model = Annotated[Path, typer.Argument(help="Folder that tadge fit made.")]
One = Annotated[str | None, typer.Argument(metavar="SRC", help="Id of who acts.")]
Other = Annotated[str | None, typer.Argument(metavar="DST", help="Id of whom it links to.")]
Sources = Annotated[list[str] | None, typer.Argument(metavar="SRC...", help="Ids of those who act.")]
NodesFile = Annotated[Path | None, typer.Option("--nodes", help="File of ids to ask about, one a row.")]
Pairs = Annotated[Path | None, typer.Option(help="File of pairs to ask about, src,dst: CSV, TSV, JSON lines, Parquet.")]
At = Annotated[
    str | None,
    typer.Option(
        help="As of this moment, included: a date (2015-06-30, 2015, yesterday), or days; the end by default."
    ),
]
Before = Annotated[str | None, typer.Option(help="As of the instant before this moment, instead of --at.")]
Events = Annotated[
    str | None, typer.Option(help="File of the whole history until now, where the model has learned from less.")
]
Out = Annotated[Path | None, typer.Option(help="File to write: .csv, .tsv, .jsonl or .parquet.")]
Many = Annotated[int, typer.Option("--k", "-k", help="How many targets.")]
New = Annotated[bool, typer.Option("--new", help="Also how likely it is someone who has never been seen.")]


# -- pairs ------------------------------------------------------------------------------------------------------------


@command()
@takes(reading=ReadOptions)
def within(
    model: Model,
    reading: ReadOptions,
    source: One = None,
    target: Other = None,
    days: Annotated[
        str | None, typer.Option(help="Horizons in days, with commas; 1,7,30, as far as the model can tell.")
    ] = None,
    pairs: Pairs = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell how likely it is that SRC links to DST within so many days.

    JSON and files have a record for each pair and horizon: src, dst, days, probability, known, checked. What is not
    checked reaches further than late events could show, and may be less likely than is said.

    Example: tadge within model/ user3 user8 --days 1,7
    """
    with answering(out):
        import numpy as np

        from tadge.report.answers import Column, id_column, percent_text

        forecaster, graph = load_forecaster(model, events, reading, quiet)
        src, dst = pairs_asked(graph, source, target, pairs)
        horizons = horizons_asked(forecaster, days)
        moment = {"at": at, "before": before}
        probability = forecaster.within(src, dst, horizons, **moment, graph=graph)
        ends = {
            "src": np.repeat(np.array(src, object), len(horizons)),
            "dst": np.repeat(np.array(dst, object), len(horizons)),
        }
        known = known_pairs(graph, src, dst)
        table = ends | {"days": np.tile(horizons, len(src)), "probability": probability.reshape(-1)}
        table["known"] = np.repeat(known, len(horizons))
        wide = [
            {"src": u, "dst": v, "probability": row, "known": seen}
            for u, v, row, seen in zip(src, dst, probability.tolist(), known.tolist(), strict=True)
        ]
        columns = [id_column("src"), id_column("dst")] + [
            Column(days_text(horizon), lambda row, place=place: percent_text(row["probability"][place]))  # type: ignore[misc]
            for place, horizon in enumerate(horizons)
        ]
        columns += known_column(known)
        table["checked"] = np.tile(np.array(horizons) <= forecaster.trusted_, len(src))
        title = f"How likely src links to dst within so many days, {as_of(graph, **moment)}"
        title += checked_to(forecaster, max(horizons))
        give(table, columns, title, out, as_json, rows=wide)


@command()
@takes(reading=ReadOptions)
def when(
    model: Model,
    reading: ReadOptions,
    source: One = None,
    target: Other = None,
    pairs: Pairs = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell how long it takes until SRC links to DST.

    The median wait and the intervals that hold 80% and 95% of waits are of links that come within the model's horizon,
    half of the history that it has learned from; "never" is the probability that this one does not.

    Example: tadge when model/ user3 user8
    """
    with answering(out):
        from tadge.report.answers import Column, date_cell, id_column, percent_text, range_text, wait_text

        forecaster, graph = load_forecaster(model, events, reading, quiet)
        src, dst = pairs_asked(graph, source, target, pairs)
        moment = {"at": at, "before": before}
        table = forecaster.when(src, dst, **moment, graph=graph)
        columns = [
            id_column("src"),
            id_column("dst"),
            Column("median wait", lambda row: wait_text(row["median_wait"])),
            Column("80%, 95% of waits", lambda row: f"{range_text(row, 80)}\n{range_text(row, 95)}"),
            Column("never", lambda row: percent_text(row["never"])),
        ]
        if graph.clock == "unix":
            columns.append(Column("median date", lambda row: date_cell(row["median_date"])))
        columns += known_column(table["known"])
        horizon = wait_text(forecaster.horizon_)
        title = f"Wait until src links to dst, {as_of(graph, **moment)}; never: not in {horizon}"
        title += checked_to(forecaster)
        give(table, columns, title, out, as_json)


# -- targets ----------------------------------------------------------------------------------------------------------


@command(name="next")
@takes(reading=ReadOptions)
def who_next(
    model: Model,
    reading: ReadOptions,
    sources: Sources = None,
    days: Annotated[float | None, typer.Option(help="Horizon in days; 7, as far as the model can tell.")] = None,
    k: Many = TOP.default,
    new: New = False,
    nodes: NodesFile = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List whom each SRC is likeliest to link to within so many days, and after how long.

    Waits are those of links that come at all, within half of the history that was learned from; "never" is the
    probability that this one does not.

    Example: tadge next model/ user3 user8 --days 7 -k 5 --new
    """
    with answering(out):
        from tadge.report.answers import Column, id_column, percent_text, range_text, wait_text

        forecaster, graph = load_forecaster(model, events, reading, quiet)
        src = ids_given(graph, sources, nodes)
        horizon = week_or_less(forecaster, days)
        moment = {"at": at, "before": before}
        table = forecaster.next(src, k, horizon, **moment, new=new, graph=graph)
        columns = [
            *([id_column("src")] if len(src) > 1 else []),
            id_column("target"),
            Column(f"in {days_text(horizon)}", lambda row: percent_text(row["probability"])),
            Column("median wait", lambda row: wait_text(row["median_wait"])),
            Column("80% of waits", lambda row: range_text(row, 80)),
            Column("never", lambda row: percent_text(row["never"])),
            *known_column(table["known"]),
        ]
        title = f"Who is next, {as_of(graph, **moment)}; never: not in {wait_text(forecaster.horizon_)}"
        title += checked_to(forecaster)
        give(table, columns, title, out, as_json)


@command()
@takes(reading=ReadOptions)
def rank(
    model: Model,
    reading: ReadOptions,
    sources: Sources = None,
    k: Many = TOP.default,
    new: New = False,
    nodes: NodesFile = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List whom each SRC is likeliest to link to, supposed that it acts now.

    For how likely a link is within some time, see tadge next.

    Example: tadge rank model/ user3 -k 5
    """
    with answering(out):
        from tadge.report.answers import Column, id_column, percent_text

        forecaster, graph = load_forecaster(model, events, reading, quiet)
        src = ids_given(graph, sources, nodes)
        moment = {"at": at, "before": before}
        table = forecaster.rank(src, k=k, **moment, new=new, graph=graph)
        columns = [
            *([id_column("src")] if len(src) > 1 else []),
            id_column("target"),
            Column("probability", lambda row: percent_text(row["probability"])),
            *known_column(table["known"]),
        ]
        give(table, columns, f"Whom it links to if it acts now, {as_of(graph, **moment)}", out, as_json)


# -- what stands out --------------------------------------------------------------------------------------------------


@command()
@takes(reading=ReadOptions)
def surprises(
    model: Model,
    reading: ReadOptions,
    events: Annotated[
        str | None, typer.Option(help="File of events to look at, of the history or later; by default all of it.")
    ] = None,
    top: Annotated[int, flag(SHOWN)] = SHOWN.default,
    by: Annotated[
        str, typer.Option(help="What to sort by: surprise, who, when, or lately, which shows incidents.")
    ] = "surprise",
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List events that were least expected the instant before they came, most surprising first.

    The surprise is -log10 of an event's probability: 3 is one in a thousand. It is the sum of "when", that SRC acts so
    soon, or so late, after it last did, and "who", that it then acts on DST. "lately" adds up what exceeds the usual
    along the acts of SRC in the last hours. Later events than the model's are learned of one after the other.

    Example: tadge surprises model/ --top 10
    """
    with answering(out):
        from tadge.report.answers import Column, as_polars, date_cell, id_column, percent_text

        shown = SHOWN.check(top)
        forecaster, graph = load_forecaster(model, None, reading, quiet)
        asked = None if events is None else read_history(events, reading, graph, quiet)
        if by not in SURPRISES:
            raise ConfigError("unknown order", expected=" or ".join(SURPRISES), found=repr(by), where="by")
        table = as_polars(forecaster.surprise(asked)).sort(by, descending=True, maintain_order=True)
        columns = [
            id_column("src"),
            id_column("dst"),
            Column("time", lambda row: date_cell(row["time"])),
            Column("probability", lambda row: percent_text(row["probability"])),
            *(Column(name, lambda row, name=name: f"{row[name]:.2f}") for name in SURPRISES),  # type: ignore[misc]
        ]
        give(table, columns, f"Most surprising of {len(table):,} events", out, as_json, shown=shown)


@command()
@takes(reading=ReadOptions)
def overdue(
    model: Model,
    reading: ReadOptions,
    at: At = None,
    before: Before = None,
    level: Annotated[float, flag(LEVEL)] = LEVEL.default,
    least: Annotated[float, flag(LEAST)] = LEAST.default,
    top: Annotated[int, flag(SHOWN)] = SHOWN.default,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List pairs that are past their usual time, longest first.

    Counted from when the two last had to do with each other ("since"): so long after ("due") most such links have come,
    but src has not linked to dst, neither as an answer nor again. "comes" is the probability, as of then, that it would
    come at all; "still" is that as of now.

    Example: tadge overdue model/ --level 0.95 --top 10
    """
    with answering(out):
        from tadge.report.answers import Column, as_polars, date_cell, id_column, percent_text, wait_text

        shown = SHOWN.check(top)
        forecaster, graph = load_forecaster(model, events, reading, quiet)
        moment = {"at": at, "before": before}
        table = as_polars(forecaster.overdue(level=level, least=least, **moment, graph=graph))
        columns = [
            id_column("src"),
            id_column("dst"),
            Column("for", lambda row: row["waits_for"]),
            Column("since", lambda row: date_cell(row["since"])),
            *(Column(name, lambda row, name=name: wait_text(row[name])) for name in ("due", "late")),  # type: ignore[misc]
            *(Column(name, lambda row, name=name: percent_text(row[name])) for name in ("comes", "still")),  # type: ignore[misc]
        ]
        count = f"Longest of {len(table):,} pairs that are overdue" if len(table) else "No pair is overdue"
        title = f"{count}, {as_of(graph, **moment)}" + (checked_to(forecaster) if len(table) else "")
        give(table, columns, title, out, as_json, shown=shown)
