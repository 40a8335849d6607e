"""Read a file of timed links, whatever its form, into a TemporalGraph; never lose a row in silence."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.graph.ids import as_id_column, encode
from tadge.io.options import ReadOptions
from tadge.io.source import open_source
from tadge.io.table import SHOWN, Table, from_frame, read_jsonl, read_parquet
from tadge.io.text import read_text
from tadge.io.times import Flags, Times, read_times
from tadge.units import PER_DAY, date_text

LOOKS_MISSING = ("nan", "null", "none", "na", "n/a", "\\n", "-", "?")


@dataclass(frozen=True)
class ReadReport:
    """Account for every row: rows = events + rejected.

    Attributes:
        source: the file.
        rows: rows of data in it.
        events: rows that became events.
        rejected: rows that could not be read, with the reason of the first few in `reasons`.
        comments: comment lines.
        blank: blank lines.
        columns: the column of each role, by name or number.
        form: format, delimiter and packing, in words.
        time: unit or format of the times, in words.
        ids: "whole numbers" or "texts".
        unsorted: rows earlier than the row before.
        warnings: what looks odd, in plain words.
    """

    source: str
    rows: int
    events: int
    rejected: int
    reasons: tuple[str, ...]
    comments: int
    blank: int
    columns: dict[str, str]
    form: str
    time: str
    ids: str
    unsorted: int
    warnings: tuple[str, ...] = field(default=())

    def line(self) -> str:
        """Say in one line what was found."""
        columns = ", ".join(f"{role} = {name}" for role, name in self.columns.items())
        parts = [self.form, columns, f"time: {self.time}", f"ids: {self.ids}", _count(self.events, "event")]
        if self.rejected:
            parts.append(f"{self.rejected:,} of {self.rows:,} rows REJECTED, the first: {self.reasons[0]}")
        if self.comments:
            parts.append(_count(self.comments, "comment line"))
        return f"{self.source}: " + "; ".join(parts)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def read_events(source: str | Path | pl.DataFrame, *, quiet: bool = False, **options: Any) -> TemporalGraph:
    """Read timed links from a file (CSV, TSV, SNAP text, JSON lines, Parquet; .gz and .zst) or a table.

    Columns, header, delimiter, ids and time unit are found; what was found is told in one line on stderr.

    Args:
        source: a path, or a pandas or polars DataFrame.
        quiet: say nothing on stderr.
        **options: fields of `tadge.ReadOptions`, to tell what would otherwise be found: src, dst, time, weight (a name,
            or a number counted from 0), unit, time_format, header, delimiter, comments, encoding, directed, bipartite,
            tov, bad_rows.
    """
    graph, report = read_with_report(source, ReadOptions.of(options))
    if not quiet:
        print("\n".join([report.line(), *(f"warning: {one}" for one in report.warnings)]), file=sys.stderr)
    return graph


def read_with_report(source: str | Path | pl.DataFrame, options: ReadOptions) -> tuple[TemporalGraph, ReadReport]:
    """Read timed links and account for every row."""
    if not isinstance(source, (str, Path)):
        return build(from_frame(source, options), options)
    opened = open_source(source, options.encoding)
    reader = {"text": read_text, "jsonl": read_jsonl, "parquet": read_parquet}[opened.kind]
    return build(reader(opened, options), options)


def build(table: Table, options: ReadOptions) -> tuple[TemporalGraph, ReadReport]:
    """Turn the columns of a table into a graph; complain about, or report, the rows that cannot be used."""
    times = read_times(
        table.time, table.names["time"], options.unit or table.unit, options.time_format, clock=table.clock
    )
    bad, reasons = _bad_rows(table, times)
    total_bad = table.dropped + (0 if bad is None else int(bad.sum()))
    if total_bad and options.bad_rows == "error":
        raise _first_bad(table, reasons, total_bad)
    keep = None if bad is None else ~bad
    left = table.num_rows - (0 if bad is None else int(bad.sum()))
    if left < 2:
        raise _too_few(table, reasons, left, total_bad)

    src, dst, weight, days = table.src, table.dst, table.weight, times.days
    if keep is not None:
        mask = pl.Series(keep)
        src, dst, days = src.filter(mask), dst.filter(mask), days[keep]
        weight = None if weight is None else weight.filter(mask)
    days = np.ascontiguousarray(days)
    unsorted = int(np.count_nonzero(days[1:] < days[:-1]))
    values = None if weight is None else weight.cast(pl.Float64).to_numpy().copy()
    bipartite = table.bipartite if options.bipartite is None else options.bipartite
    numbers = encode(as_id_column(src, "src"), as_id_column(dst, "dst"), bipartite)
    fine = times.clock == "unix" and keep is None and times.told.endswith((" us", " ns"))
    raw = table.time if fine and table.time.dtype == pl.Int64 else None  # held only where stamps may become equal
    form, where, rows = table.form, table.where, table.num_rows + table.dropped
    comments, blank, notes, names = table.comments, table.blank, table.notes, table.names
    shown = tuple(reasons[:SHOWN])
    del table, src, dst, weight, keep  # the graph needs none of it, and memory is dear
    graph = TemporalGraph.from_numbers(
        *numbers, days, values, clock=times.clock, directed=options.directed, tov=options.tov
    )
    warnings = [*notes, *_warnings(graph, times, unsorted, raw)]
    kind = "texts" if graph.ids.dtype == object else "whole numbers"
    kind += ", sources and targets apart" if bipartite else ""
    report = ReadReport(
        source=where,
        rows=rows,
        events=graph.num_events,
        rejected=total_bad,
        reasons=shown,
        comments=comments,
        blank=blank,
        columns=names,
        form=form,
        time=times.told,
        ids=kind,
        unsorted=unsorted,
        warnings=tuple(warnings),
    )
    return graph, report


def _bad_rows(table: Table, times: Times) -> tuple[Flags | None, list[str]]:
    """Flag the rows that cannot become events, and say why of the first of them."""
    flags: list[tuple[str, str, pl.Series, Flags]] = []
    for role, column in (("src", table.src), ("dst", table.dst)):
        if column.null_count():
            flags.append((role, "an id", column, column.is_null().to_numpy()))
    if times.bad is not None:
        flags.append(("time", times.expected, table.time, times.bad))
    if table.weight is not None:
        weight = table.weight.cast(pl.Float64, strict=False)
        odd = weight.is_null() | ~weight.is_finite().fill_null(False)
        if odd.any():
            flags.append(("weight", "a number", table.weight, odd.to_numpy()))
    if not flags:
        return None, list(table.dropped_reasons)
    bad = np.logical_or.reduce([flag for *_, flag in flags])
    reasons = list(table.dropped_reasons)
    for row in np.flatnonzero(bad)[:SHOWN].tolist():
        role, expected, column, _ = next(entry for entry in flags if entry[3][row])
        value = column[row]
        found = "an empty cell" if value is None or value == "" else repr(_short(value))
        name = table.names[role]
        reasons.append(f"row {table.line_of(row)}: {role} ({name}): expected {expected}, found {found}")
    return bad, sorted(reasons, key=_row_number)


def _row_number(reason: str) -> int:
    return int(reason.split(":", 1)[0].removeprefix("row "))


def _short(value: object) -> object:
    text = str(value)
    return text[:40] + "..." if len(text) > 43 else value


def _first_bad(table: Table, reasons: list[str], total: int) -> InputError:
    row, reason = reasons[0].split(": ", 1)
    rows = table.num_rows + table.dropped
    if total == rows > 1:
        cure = f"all {rows:,} rows are like that: say how the file is to be read"
    else:
        cure = "mend the row" if total == 1 else f"{total:,} of {rows:,} rows are like that: mend them"
        cure += ", or say bad_rows='report' to go on without"
    return InputError(reason, cure=cure, where=f"{table.where}, {row}")


def _too_few(table: Table, reasons: list[str], left: int, total_bad: int) -> InputError:
    """Complain where nothing can follow anything."""
    if left == 0 and total_bad:
        return _first_bad(table, reasons, total_bad)
    where = table.where if left == 0 else f"{table.where}, row {table.line_of(0)}"
    what = "there is no event in it" if left == 0 else "there is only one event in it"
    found = f"{left}" + (f", and {total_bad:,} rows that cannot be read" if total_bad else "")
    return InputError(what, expected="at least two, so that one can follow the other", found=found, where=where)


def _warnings(graph: TemporalGraph, times: Times, unsorted: int, raw: pl.Series | None) -> list[str]:
    """Say in plain words what looks odd."""
    import time as clock

    found = []
    first, last = float(graph.time[0]), float(graph.time[-1])
    if times.assumed:
        found.append(
            f"nothing says the unit of the times: {times.told.removeprefix('plain numbers, ')}; "
            f"so they span {last - first:,.6g} days"
        )
    if unsorted:
        found.append(f"{unsorted:,} rows are earlier than the row before them; events were sorted by time")
    if graph.clock == "unix":
        now = clock.time() / PER_DAY["s"]
        later = int(np.count_nonzero(graph.time > now))
        if later:
            found.append(
                f"{later:,} events lie in the future, the last at {date_text(last, 'unix')}: is the unit right?"
            )
        middle = float(graph.time[graph.num_events // 2])
        if middle - first > 20 * 365.25 and first < 366:
            found.append(f"the first event is at {date_text(first, 'unix')}, far from the rest: a missing time?")
    span = last - first
    if "date" not in times.told and not 1e-3 <= span <= 365_250:
        found.append(f"all events lie within {span:,.3g} days: is the unit right?")
    if raw is not None:
        stamps, moments = raw.n_unique(), graph.num_moments
        if stamps > moments:
            found.append(
                f"{stamps - moments:,} of the times differ by less than float64 days can hold and became equal"
            )
    if graph.ids.dtype == object:
        odd = [one for one in graph.ids if len(one) <= 4 and one.lower() in LOOKS_MISSING]
        if odd:
            found.append(f"a node is called {odd[0]!r}: a missing value?")
    return found
