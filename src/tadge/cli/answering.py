"""What the commands that ask a Forecaster share: the model and its history, questions as they are given, answers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tadge.cli.frame import names_of, print_json, read_graph
from tadge.cli.manners import warn
from tadge.config import AHEAD
from tadge.errors import ConfigError, InputError, TadgeError, TadgeWarning
from tadge.io.options import ReadOptions

if TYPE_CHECKING:
    from tadge.arrays import Flags
    from tadge.embedding.estimator import TADGE
    from tadge.forecasting.estimator import Forecaster
    from tadge.graph import TemporalGraph
    from tadge.report.answers import Column

HORIZONS = 1.0, 7.0, 30.0  # days, of which those are asked about that a model can be trusted for
ARGUMENTS = {"src": "SRC", "dst": "DST", "nodes": "ID", "graph": "--events"}  # what Python calls src is no flag here


# -- what is asked ----------------------------------------------------------------------------------------------------


@contextmanager
def answering(out: Path | None) -> Iterator[None]:
    """Check the file to write before any work; name SRC and DST where Python has arguments."""
    if out is not None:
        from tadge.io.export import form_of

        form_of(out)
    from tadge.io.frames import polars_frames

    try:
        with polars_frames():
            yield
    except TadgeError as error:
        where = ARGUMENTS.get(error.where or "", error.where)
        cure = None if "graph=" in (error.cure or "") else error.cure  # there is no such flag
        details = {"expected": error.expected, "found": error.found, "cure": cure, "where": where}
        raise TadgeError(error.what, **details) from error


def load_forecaster(
    model: Path, events: str | None, reading: ReadOptions, quiet: bool
) -> tuple[Forecaster, TemporalGraph]:
    """Load the Forecaster, and the history that it is asked about: its own, or a longer one from a file."""
    from tadge.forecasting.estimator import Forecaster

    forecaster = Forecaster.load(model)
    return forecaster, history_asked(forecaster.graph_, events, reading, quiet)


def load_vectors(model: Path, events: str | None, reading: ReadOptions, quiet: bool) -> tuple[TADGE, TemporalGraph]:
    """Load the TADGE, and the history that it is asked about, alike."""
    from tadge.embedding.estimator import TADGE

    tadge = TADGE.load(model)
    return tadge, history_asked(tadge.graph_, events, reading, quiet)


def history_asked(learned: TemporalGraph, events: str | None, reading: ReadOptions, quiet: bool) -> TemporalGraph:
    """Give the history that a model is asked about: the one it has learned from, or a longer one from a file."""
    if events is None:
        return learned
    graph = read_history(events, reading, learned, quiet)
    if graph.num_events and learned.num_events and graph.time[0] > learned.time[-1]:
        words = (
            f"{events}: begins after all that the model has learned from; give the whole history, from its beginning"
        )
        warnings.warn(words, TadgeWarning, stacklevel=2)
    return graph


def read_history(events: str, reading: ReadOptions, learned: TemporalGraph, quiet: bool) -> TemporalGraph:
    """Read events of the same kind as those that were learned from, in the same way as those were read."""
    from tadge.graph.inputs import check_known

    graph: TemporalGraph = read_graph(events, reading, quiet, learned)[0]
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
    few_known = check_known(graph, learned, events)
    if few_known:
        warn(few_known)
    return graph


def pairs_asked(
    graph: TemporalGraph, source: str | None, target: str | None, pairs: Path | None
) -> tuple[list[Any], list[Any]]:
    """Give the ids of both ends, from the command line or from a file."""
    from tadge.io.id_rows import as_id, read_ids

    given = source is not None and target is not None
    if given == (pairs is not None) or (source is not None) != (target is not None):
        found = "both" if given else "one id" if source is not None else "neither"
        raise ConfigError(
            "it is not clear which pairs are asked about", expected="SRC and DST, or --pairs FILE", found=found
        )
    if pairs is not None:
        src, dst = read_ids(pairs, ("src", "dst"), graph)
        return src, dst
    return [as_id(graph, source)], [as_id(graph, target)]


def ids_given(graph: TemporalGraph, sources: Sequence[str] | None, nodes: Path | None, name: str = "SRC") -> list[Any]:
    """Give the ids that are asked about, each once, from the command line or from a file."""
    from tadge.io.id_rows import as_id, read_ids

    if bool(sources) == (nodes is not None):
        found = "both" if sources else "neither"
        raise ConfigError("it is not clear who is asked about", expected=f"{name}, or --nodes FILE", found=found)
    ids = read_ids(nodes, ("src",), graph)[0] if nodes is not None else [as_id(graph, one) for one in sources or ()]
    return list(dict.fromkeys(ids))


def horizons_asked(forecaster: Forecaster, days: str | None) -> list[float]:
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


def week_or_less(forecaster: Forecaster, days: float | None) -> float:
    """Give the horizon that was asked for; a week by default, as far as the model can be trusted."""
    return min(AHEAD.default, forecaster.horizon_) if days is None else days


def known_pairs(graph: TemporalGraph, src: Sequence[Any], dst: Sequence[Any]) -> Flags:
    """Tell which pairs are of nodes that were seen, (n,)."""
    from tadge.graph.inputs import node_numbers

    sources = node_numbers(graph, src, "src", "source", unknown=True)
    return (sources >= 0) & (node_numbers(graph, dst, "dst", "target", unknown=True) >= 0)


def known_column(known: Any) -> list[Column]:
    """Describe the column that marks answers for nodes that were never seen, where there are any."""
    from tadge.report.answers import Column

    return [] if all(known) else [Column("known", lambda row: "yes" if row["known"] else "no")]


# -- what is answered -------------------------------------------------------------------------------------------------


def give(
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
    from tadge.io.spreadsheets import apostrophes_note, write_answers
    from tadge.report.answers import answers_table, as_polars, records

    frame = as_polars(table)
    if out is not None:
        formulas = write_answers(frame, out)
        if formulas:
            print(apostrophes_note(out, formulas), file=sys.stderr)
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


def as_of(graph: TemporalGraph, at: Any, before: Any) -> str:
    """Say as of when the answers are."""
    from tadge.graph.inputs import moments_of
    from tadge.report.answers import moment_text

    words = "as of" if before is None else "right before"
    return f"{words} {moment_text(float(moments_of(graph, at, 1, before)[0]), graph.clock)}"


def checked_to(forecaster: Forecaster, days: float | None = None) -> str:
    """Say on a line of its own how far answers could be checked, where they reach further: so many days, or all."""
    from tadge.report.answers import wait_text

    trusted = forecaster.trusted_
    if (forecaster.horizon_ if days is None else days) <= trusted:
        return ""
    if not trusted:
        return "\nThere was too little to check it: links may be less likely than is said."
    return f"\nChecked up to {wait_text(trusted)}; beyond, links may be less likely than is said."


def days_text(days: float) -> str:
    """Write a number of days."""
    return f"{days:.4g} day{'s' * (days != 1)}"
