"""Commands that ask a Forecaster: within how long, when, who next, what was surprising, who is overdue."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tadge.cli.frame import AsJson, Quiet, command, flag, moment_of, names_of, print_json, read_graph, takes
from tadge.config import LEAST, LEVEL, TOP, Option
from tadge.errors import ConfigError, InputError, TadgeError, TadgeWarning
from tadge.io.options import ReadOptions

if TYPE_CHECKING:
    from tadge.forecasting.estimator import Forecaster
    from tadge.graph import TemporalGraph
    from tadge.report.answers import Column

HORIZONS = 1.0, 7.0, 30.0  # days, of which those are asked about that a model can be trusted for
WEEK = 7.0
SHOWN = Option("top", int, 20, "how many are shown; with --out all are written", low=1)
ARGUMENTS = {"src": "SRC", "dst": "DST", "graph": "--events"}  # what Python calls src is no flag here

Model = Annotated[Path, typer.Argument(help="Folder that tadge fit made.")]
One = Annotated[str | None, typer.Argument(metavar="SRC", help="Id of who acts.")]
Other = Annotated[str | None, typer.Argument(metavar="DST", help="Id of whom it links to.")]
Pairs = Annotated[Path | None, typer.Option(help="File of pairs to ask about, src,dst: CSV, TSV, JSON lines, Parquet.")]
At = Annotated[
    str | None, typer.Option(help="As of this moment, included: a date, or days on the graph's clock; the end of it.")
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

    JSON and files have a record for each pair and horizon: src, dst, days, probability.

    Example: tadge within model/ user3 user8 --days 1,7
    """
    with _answering(out):
        import numpy as np

        from tadge.report.answers import Column, id_column, percent_text

        forecaster, graph = _load(model, events, reading, quiet)
        src, dst = _pairs(graph, source, target, pairs)
        horizons = _horizons(forecaster, days)
        moment = {"at": moment_of(at), "before": moment_of(before)}
        probability = forecaster.within(src, dst, horizons, **moment, graph=graph)
        ends = {
            "src": np.repeat(np.array(src, object), len(horizons)),
            "dst": np.repeat(np.array(dst, object), len(horizons)),
        }
        table = ends | {"days": np.tile(horizons, len(src)), "probability": probability.reshape(-1)}
        wide = [
            {"src": u, "dst": v, "probability": row} for u, v, row in zip(src, dst, probability.tolist(), strict=True)
        ]
        columns = [id_column("src"), id_column("dst")] + [
            Column(_days_text(horizon), lambda row, place=place: percent_text(row["probability"][place]))  # type: ignore[misc]
            for place, horizon in enumerate(horizons)
        ]
        title = f"How likely src links to dst within so many days, {_as_of(graph, **moment)}"
        _give(table, columns, title, out, as_json, rows=wide)


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
    with _answering(out):
        from tadge.report.answers import Column, date_cell, id_column, percent_text, range_text, wait_text

        forecaster, graph = _load(model, events, reading, quiet)
        src, dst = _pairs(graph, source, target, pairs)
        moment = {"at": moment_of(at), "before": moment_of(before)}
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
        horizon = wait_text(forecaster.horizon_)
        title = f"Wait until src links to dst, {_as_of(graph, **moment)}; never: not in {horizon}"
        _give(table, columns, title, out, as_json)


# -- targets ----------------------------------------------------------------------------------------------------------


@command(name="next")
@takes(reading=ReadOptions)
def who_next(
    model: Model,
    reading: ReadOptions,
    sources: Annotated[list[str] | None, typer.Argument(metavar="SRC...", help="Ids of those who act.")] = None,
    days: Annotated[float | None, typer.Option(help="Horizon in days; 7, as far as the model can tell.")] = None,
    k: Many = TOP.default,
    new: New = False,
    nodes: Annotated[Path | None, typer.Option(help="File of ids to ask about, one a row.")] = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List whom each SRC is likeliest to link to within so many days, and after how long.

    Example: tadge next model/ user3 user8 --days 7 -k 5 --new
    """
    with _answering(out):
        from tadge.report.answers import Column, id_column, percent_text, range_text, wait_text

        forecaster, graph = _load(model, events, reading, quiet)
        src = _sources(graph, sources, nodes)
        horizon = min(WEEK, forecaster.horizon_) if days is None else days
        moment = {"at": moment_of(at), "before": moment_of(before)}
        table = forecaster.next(src, k, horizon, **moment, new=new, graph=graph)
        columns = [
            *([id_column("src")] if len(src) > 1 else []),
            id_column("target"),
            Column(f"in {_days_text(horizon)}", lambda row: percent_text(row["probability"])),
            Column("median wait", lambda row: wait_text(row["median_wait"])),
            Column("80% of waits", lambda row: range_text(row, 80)),
        ]
        _give(table, columns, f"Who is next, {_as_of(graph, **moment)}", out, as_json)


@command()
@takes(reading=ReadOptions)
def rank(
    model: Model,
    reading: ReadOptions,
    source: Annotated[str, typer.Argument(metavar="SRC", help="Id of who acts.")],
    k: Many = TOP.default,
    new: New = False,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List whom SRC is likeliest to link to, supposed that it acts now.

    For how likely a link is within some time, see tadge next.

    Example: tadge rank model/ user3 -k 5
    """
    with _answering(out):
        from tadge.io.id_rows import as_id
        from tadge.report.answers import Column, id_column, percent_text

        forecaster, graph = _load(model, events, reading, quiet)
        node = as_id(graph, source)
        moment = {"at": moment_of(at), "before": moment_of(before)}
        ranked = forecaster.rank(node, k=k, **moment, new=new, graph=graph)
        table = {
            "src": _objects([node] * len(ranked)),
            "target": _objects([target for target, _ in ranked]),
            "probability": [probability for _, probability in ranked],
        }
        columns = [id_column("target"), Column("probability", lambda row: percent_text(row["probability"]))]
        _give(table, columns, f"Whom it links to if it acts now, {_as_of(graph, **moment)}", out, as_json)


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
    days: Annotated[
        float | None, typer.Option(help="Within how many days of its coming an event is foreseen; about a day.")
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List events that were least expected the instant before they came, most surprising first.

    The surprise is -log10 of an event's probability: 3 is one in a thousand. It is the sum of "when", that SRC acts at
    all, and "who", that it then acts on DST. Later events than the model's are learned of one after the other.

    Example: tadge surprises model/ --top 10
    """
    with _answering(out):
        from tadge.report.answers import Column, as_polars, date_cell, id_column, percent_text

        shown = SHOWN.check(top)
        forecaster, graph = _load(model, None, reading, quiet)
        asked = None if events is None else _history(events, reading, graph, quiet)
        table = as_polars(forecaster.surprise(asked, days=days))
        table = table.sort("surprise", descending=True, maintain_order=True)
        columns = [
            id_column("src"),
            id_column("dst"),
            Column("time", lambda row: date_cell(row["time"])),
            Column("probability", lambda row: percent_text(row["probability"])),
            *(Column(name, lambda row, name=name: f"{row[name]:.2f}") for name in ("surprise", "who", "when")),  # type: ignore[misc]
        ]
        _give(table, columns, f"Most surprising of {len(table):,} events", out, as_json, shown=shown)


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
    with _answering(out):
        from tadge.report.answers import Column, as_polars, date_cell, id_column, percent_text, wait_text

        shown = SHOWN.check(top)
        forecaster, graph = _load(model, events, reading, quiet)
        moment = {"at": moment_of(at), "before": moment_of(before)}
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
        title = f"{count}, {_as_of(graph, **moment)}"
        _give(table, columns, title, out, as_json, shown=shown)


# -- what is asked ----------------------------------------------------------------------------------------------------


@contextmanager
def _answering(out: Path | None) -> Iterator[None]:
    """Check the file to write before any work; print warnings as lines; name SRC and DST where Python has arguments."""
    if out is not None:
        from tadge.io.export import form_of

        form_of(out)
    with warnings.catch_warnings():
        show = warnings.showwarning

        def as_line(message: Any, category: Any, *place: Any) -> None:
            if issubclass(category, TadgeWarning):
                print(f"warning: {message}", file=sys.stderr)
            else:
                show(message, category, *place)

        warnings.simplefilter("always", TadgeWarning)
        warnings.showwarning = as_line  # type: ignore[assignment]
        try:
            yield
        except TadgeError as error:
            where = ARGUMENTS.get(error.where or "", error.where)
            cure = None if "graph=" in (error.cure or "") else error.cure  # there is no such flag
            details = {"expected": error.expected, "found": error.found, "cure": cure, "where": where}
            raise TadgeError(error.what, **details) from error


def _load(model: Path, events: str | None, reading: ReadOptions, quiet: bool) -> tuple[Forecaster, TemporalGraph]:
    """Load the Forecaster, and the history that it is asked about: its own, or a longer one from a file."""
    from tadge.forecasting.estimator import Forecaster

    forecaster = Forecaster.load(model)
    learned = forecaster.graph_
    if events is None:
        return forecaster, learned
    graph = _history(events, reading, learned, quiet)
    if graph.num_events and learned.num_events and graph.time[0] > learned.time[-1]:
        words = (
            f"{events}: begins after all that the model has learned from; give the whole history, from its beginning"
        )
        warnings.warn(words, TadgeWarning, stacklevel=2)
    return forecaster, graph


def _history(events: str, reading: ReadOptions, learned: TemporalGraph, quiet: bool) -> TemporalGraph:
    """Read events of the same kind as those that were learned from."""
    graph: TemporalGraph = read_graph(events, reading, quiet)[0]
    kinds = [
        ("ids", learned.ids.dtype == object, graph.ids.dtype == object, "strings", "integers"),
        ("clock", learned.clock == "unix", graph.clock == "unix", "a calendar", "its own clock"),
        ("directed", learned.directed, graph.directed, "directed", "undirected"),
        ("bipartite", learned.bipartite, graph.bipartite, "bipartite", "not bipartite"),
    ]
    for name, ours, theirs, yes, no in kinds:
        if ours != theirs:
            cure = f"say {name}={ours}" if name in ("directed", "bipartite") else "read it as the model's was read"
            what = "another kind of events than the model has learned from"
            expected, found = (yes, no) if ours else (no, yes)
            raise InputError(what, expected=expected, found=found, cure=cure, where=events)
    return graph


def _pairs(
    graph: TemporalGraph, source: str | None, target: str | None, pairs: Path | None
) -> tuple[list[Any], list[Any]]:
    """Give the ids of both ends, from the command line or from a file."""
    from tadge.io.id_rows import as_id, read_ids

    given = source is not None and target is not None
    if given == (pairs is not None) or (source is not None) != (target is not None):
        found = "both" if given else "one id" if source is not None else "neither"
        raise ConfigError("no pair to ask about", expected="SRC and DST, or --pairs FILE", found=found)
    if pairs is not None:
        src, dst = read_ids(pairs, ("src", "dst"), graph)
        return src, dst
    return [as_id(graph, source)], [as_id(graph, target)]


def _sources(graph: TemporalGraph, sources: Sequence[str] | None, nodes: Path | None) -> list[Any]:
    from tadge.io.id_rows import as_id, read_ids

    if bool(sources) == (nodes is not None):
        found = "both" if sources else "neither"
        raise ConfigError("nobody to ask about", expected="SRC, or --nodes FILE", found=found)
    ids = read_ids(nodes, ("src",), graph)[0] if nodes is not None else [as_id(graph, one) for one in sources or ()]
    return list(dict.fromkeys(ids))


def _horizons(forecaster: Forecaster, days: str | None) -> list[float]:
    """Give the horizons that were asked for, or the usual ones that the model can be trusted for."""
    longest = forecaster.horizon_
    if days is None:
        return [horizon for horizon in HORIZONS if horizon <= longest] or [longest]
    try:
        horizons = [float(name) for name in names_of(days)]
    except ValueError:
        horizons = []
    if not horizons:
        raise ConfigError("not horizons", expected="numbers of days, with commas", found=repr(days), where="days")
    return horizons


# -- what is answered -------------------------------------------------------------------------------------------------


def _give(
    table: Any,
    columns: Sequence[Column],
    title: str,
    out: Path | None,
    as_json: bool,
    *,
    shown: int | None = None,
    rows: list[dict[str, Any]] | None = None,
) -> None:
    """Write a table to a file, or print it for programs or for people.

    Args:
        table: a DataFrame, or a dict of columns.
        columns: what people see.
        title: a line above it.
        out: the file.
        as_json: whether to print JSON.
        shown: how many rows are printed; all by default.
        rows: what people see, where that is not the rows of the table.
    """
    from tadge.io.export import write_frame
    from tadge.report.answers import answers_table, as_polars, records

    frame = as_polars(table)
    if out is not None:
        write_frame(frame, out)
        if as_json:
            print_json({"written": str(out), "rows": len(frame)})
        else:
            print(f"{out}: {len(frame):,} rows")
        return
    printed = frame if shown is None else frame.head(shown)
    if as_json:
        print_json(records(printed))
        return
    from rich.console import Console

    if rows is None:
        rows = list(printed.iter_rows(named=True))
    console = Console()
    console.print(title, markup=False, highlight=False, soft_wrap=True)
    if rows:
        console.print(answers_table(rows, columns))


def _objects(values: list[Any]) -> Any:
    import numpy as np

    return np.array([*values, None], object)[:-1]


def _as_of(graph: TemporalGraph, at: Any, before: Any) -> str:
    from tadge.graph.inputs import moments_of
    from tadge.report.answers import moment_text

    words = "as of" if before is None else "right before"
    return f"{words} {moment_text(float(moments_of(graph, at, 1, before)[0]), graph.clock)}"


def _days_text(days: float) -> str:
    return f"{days:.4g} day{'s' * (days != 1)}"
