"""Read a file of timed links, whatever its form, into a TemporalGraph; never lose a row in silence."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tadge.arrays import Days, Flags, Nodes
from tadge.errors import EmptyFileError, InputError, TadgeWarning, visible
from tadge.graph import TemporalGraph
from tadge.graph.event_types import NO_TYPE, NO_TYPES, EventTypes, encode_types
from tadge.graph.ids import Ids, as_id_column, encode, split_sides
from tadge.io.dates import as_numbers
from tadge.io.json_lines import read_jsonl
from tadge.io.oddities import ENOUGH_EVENTS, odd_ids, odd_rows, odd_times
from tadge.io.options import ReadOptions
from tadge.io.paths import Given, files_of, joint_name
from tadge.io.reading import filled_in, settled
from tadge.io.several import joined, read_alike
from tadge.io.source import Source, open_source
from tadge.io.table import REASONS_SHOWN, EventTable, Reason, as_strings, from_frame, read_parquet
from tadge.io.text import read_text
from tadge.io.times import Times, read_times
from tadge.io.workbooks import read_workbook

OFTEN = 3  # events per node of the smaller side from which on two sides are no accident
READERS = {"text": read_text, "jsonl": read_jsonl, "parquet": read_parquet, "workbook": read_workbook}


@dataclass(frozen=True)
class ReadReport:
    """Account for every row: rows = events + rejected.

    Attributes:
        source: the file, or files.
        rows: rows of data in it.
        events: rows that became events.
        rejected: rows that could not be read, with the reason of the first few in `reasons`.
        comments: comment lines.
        blank: blank lines.
        columns: the column of each role, by name or number.
        form: format, delimiter and packing, in words.
        time: unit or format of the times, in words.
        ids: "integers" or "strings".
        sides: why the ends were read as two sides, in words; empty where they were not.
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
    sides: str
    unsorted: int
    warnings: tuple[str, ...] = ()

    def warn(self) -> None:
        """Warn, by Python's `warnings`, whoever called the function that called `read_aloud`."""
        for message in self.warnings:
            warnings.warn(visible(f"{self.source}: {message}"), TadgeWarning, stacklevel=4)

    def line(self) -> str:
        """Say in one line what was found."""
        columns = ", ".join(f"{role} = {name}" for role, name in self.columns.items())
        parts = [self.form, columns, f"time: {self.time}", f"ids: {self.ids}"]
        parts += [self.sides] if self.sides else []
        parts.append(_count(self.events, "event"))
        if self.rejected:
            parts.append(f"{self.rejected:,} of {self.rows:,} rows REJECTED, the first: {self.reasons[0]}")
        if self.comments:
            parts.append(_count(self.comments, "comment line"))
        return visible(f"{self.source}: " + "; ".join(parts))


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def read_events(source: Given | pl.DataFrame, *, quiet: bool = False, **options: Any) -> TemporalGraph:
    """Read timed links from a file (CSV, TSV, SNAP text, JSON lines, Parquet; .gz, .zst and .zip; Excel) or a table.

    Columns, header, delimiter, ids and time unit are found; what was found is printed in one line on stderr, and what
    looks odd is a `TadgeWarning`.

    Args:
        source: a path, "-" for stdin, a pattern like "events/*.csv", or a list of these: several files are one history,
            and all are read as the first one is; or a pandas or polars DataFrame.
        quiet: neither print nor warn.
        **options: fields of `tadge.ReadOptions`, for what would otherwise be found: src, dst, time, weight (a name, or
            a number counted from 0), unit, time_format, header, delimiter, comments, encoding, directed, bipartite,
            tov, max_unpacked, bad_rows. Types of events are read where `type` names their column.
    """
    return read_aloud(source, ReadOptions.of(options), quiet)


def read_aloud(source: Given | pl.DataFrame, options: ReadOptions, quiet: bool) -> TemporalGraph:
    """Read timed links; say on stderr what was understood, and warn the caller's caller of what looks odd."""
    graph, report = read_with_report(source, options)
    if not quiet:
        print(report.line(), file=sys.stderr)
        report.warn()
    return graph


def read_with_report(source: Given | pl.DataFrame, options: ReadOptions) -> tuple[TemporalGraph, ReadReport]:
    """Read timed links and account for every row; warnings are in the report alone."""
    return _read(_opened(source, options), options)


def _read(opened: _Opened | Any, options: ReadOptions) -> tuple[TemporalGraph, ReadReport]:
    events = _events_of(opened, options)  # the columns of the file are gone by now: memory is dear
    graph = TemporalGraph.from_numbers(
        *(*events.numbers, events.days, events.weight),
        clock=events.clock,
        directed=options.directed,
        tov=options.tov,
        types=events.types,
    )
    found = {"unit": events.unit, "time_format": events.time_format, "bipartite": graph.bipartite}
    graph = replace(graph, reading=settled(options, events.report.columns, events.named, found))
    ends_given = options.src is not None and options.dst is not None
    ends = None if ends_given else f"{events.report.columns['src']} and {events.report.columns['dst']}"
    messages = (
        *events.report.warnings,
        *odd_times(graph, events.report.time, events.unit_assumed, events.stamps),
        *odd_rows(graph, ends),
        *odd_ids(graph),
    )
    return graph, replace(events.report, warnings=tuple(map(visible, messages)))


def read_like(
    source: Given | pl.DataFrame, options: ReadOptions, reading: Mapping[str, Any] | None
) -> tuple[TemporalGraph, ReadReport]:
    """Read timed links as an earlier file was read, as far as nothing else is told.

    Where the columns of that file are not there, columns are found as in any file.

    Args:
        source: as for `read_events`.
        options: what is told.
        reading: `graph.reading` of the earlier file.
    """
    alike = filled_in(options, reading)
    opened = _opened(source, alike)  # once: stdin has nothing left to read the second time
    try:
        return _read(opened, alike)
    except InputError as error:
        try:
            return _read(opened, filled_in(options, reading, columns=False))
        except InputError:
            raise error from None


class _Events(NamedTuple):
    """Hold what a graph is made of."""

    numbers: tuple[Nodes, Nodes, Ids, int]  # src, dst, (E,) each; ids, (N,); how many of them are sources
    days: Days  # (E,)
    weight: Days | None  # (E,)
    clock: str
    unit: str | None
    time_format: str | None
    named: bool
    unit_assumed: bool
    stamps: pl.Series | None  # the times as whole numbers, where they may become equal as days
    report: ReadReport
    types: EventTypes


class _Opened(NamedTuple):
    """Hold the files that are to be read, and a name for all of them."""

    files: list[Source | InputError]
    name: str


def _opened(source: Given | pl.DataFrame, options: ReadOptions) -> _Opened | Any:
    """Open the files that are meant; a table is given back as it is."""
    files = files_of(source)
    if files is None:
        return source
    return _Opened([_open(file, options, len(files) > 1) for file in files], joint_name(source, files))


def _open(file: str | Path, options: ReadOptions, one_of_many: bool) -> Source | InputError:
    try:
        return open_source(file, options.encoding, options.max_unpacked)
    except EmptyFileError as error:
        if one_of_many:
            return error
        raise


def _events_of(opened: _Opened | Any, options: ReadOptions) -> _Events:
    if not isinstance(opened, _Opened):
        return _usable(from_frame(opened, options), options)
    if len(opened.files) == 1 and isinstance(opened.files[0], Source):
        return _usable(_table_of(opened.files[0], options), options)
    return _usable(joined(read_alike(opened.files, _table_of, options), opened.name), options)


def _table_of(source: Source, options: ReadOptions) -> EventTable:
    return READERS[source.kind](source, options)


def _usable(table: EventTable, options: ReadOptions) -> _Events:
    """Take the rows of a table that can become events; complain about, or report, the others."""
    column = as_strings(table.time, "time", table.where) if table.time.dtype == pl.Binary else table.time
    times = read_times(
        *(column, table.names["time"], options.unit or table.unit, options.time_format, table.clock),
        where=table.where,
        yes=options.yes,
    )
    weight = None if table.weight is None else _weights(table.weight, table.names["weight"], table.where)
    bad, reasons = _bad_rows(table, times, weight)
    num_bad = 0 if bad is None else int(bad.sum())
    rejected, left = table.dropped + num_bad, table.num_rows - num_bad
    if rejected and options.bad_rows == "error":
        raise _first_bad(table, reasons, rejected)
    if left < 2:
        raise _too_few(table, reasons, left, rejected)
    src, dst, days, kinds = table.src, table.dst, times.days, table.type
    if bad is not None:
        mask = pl.Series(~bad)
        src, dst, days = src.filter(mask), dst.filter(mask), days[~bad]
        weight = None if weight is None else weight.filter(mask)
        kinds = None if kinds is None else kinds.filter(mask)
    days = np.ascontiguousarray(days)
    numbers, sides = _numbered(src, dst, table, options)
    fine = times.clock == "unix" and bad is None and times.description.endswith((" us", " ns"))
    unsorted = int(np.count_nonzero(days[1:] < days[:-1]))
    notes = list(table.notes)
    types = NO_TYPES if kinds is None else encode_types(kinds)
    if types.code is not None and (untyped := int(np.count_nonzero(types.code == NO_TYPE))):
        notes.append(f"of {left:,} events {untyped:,} have no type: the cell is empty")
    if unsorted:
        notes.append(f"{unsorted:,} rows are earlier than the row before them; events were sorted by time")
    report = ReadReport(
        source=table.where,
        rows=table.num_rows + table.dropped,
        events=left,
        rejected=rejected,
        reasons=tuple(
            visible(f"{one.where}, " if table.files else "") + f"row {one.line}: {one.text}"
            for one in reasons[:REASONS_SHOWN]
        ),
        comments=table.comments,
        blank=table.blank,
        columns=table.names,
        form=table.form,
        time=times.description,
        ids="strings" if numbers[2].dtype == object else "integers",
        sides=sides,
        unsorted=unsorted,
        warnings=tuple(notes),
    )
    return _Events(
        numbers,
        days,
        None if weight is None else weight.to_numpy().copy(),
        times.clock,
        times.unit,
        options.time_format or times.time_format,
        table.named,
        times.assumed,
        table.time if fine and table.time.dtype == pl.Int64 else None,
        report,
        types,
    )


def _numbered(
    src: pl.Series, dst: pl.Series, table: EventTable, options: ReadOptions
) -> tuple[tuple[Nodes, Nodes, Ids, int], str]:
    """Number the nodes, those of two sides apart; say why there are two sides where nobody said so."""
    names = table.names["src"], table.names["dst"]
    bipartite = table.apart if options.bipartite is None else options.bipartite
    numbers = encode(as_id_column(src, "src"), as_id_column(dst, "dst"), bipartite)
    if bipartite:
        by_name = f"{names[0]} and {names[1]} are of two kinds: read as two-sided"
        return numbers, by_name if options.bipartite is None else "sources and targets apart"
    if options.bipartite is None and options.directed:
        split = split_sides(*numbers[:3])
        if split is not None and (table.two_kinds or _enough_to_tell(*split)):
            return split, f"{names[0]} and {names[1]} share no value: read as two-sided"
    return numbers, ""


def _enough_to_tell(src: Nodes, _: Nodes, ids: Ids, num_sources: int) -> bool:
    """Tell whether it can be no accident that nobody is on both sides: one side comes again and again."""
    return src.size >= ENOUGH_EVENTS and src.size >= OFTEN * min(num_sources, ids.size - num_sources)


def _weights(column: pl.Series, name: str, where: str) -> pl.Series:
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return as_numbers(column)
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64, strict=False)
    found, cure = f"{column.dtype} in column {name!r}", "say weight='none' to go without"
    raise InputError("the weight is not a number", expected="numbers", found=found, cure=cure, where=where)


def _bad_rows(table: EventTable, times: Times, weight: pl.Series | None) -> tuple[Flags | None, list[Reason]]:
    """Flag the rows that cannot become events, and say why of the first of them."""
    flags: list[tuple[str, str, pl.Series, Flags]] = []
    for role, column in (("src", table.src), ("dst", table.dst)):
        if column.null_count():
            flags.append((role, "an id", column, column.is_null().to_numpy()))
    if times.bad is not None:
        flags.append(("time", times.expected, table.time, times.bad))
    if table.weight is not None and weight is not None:
        odd = weight.is_null() | ~weight.is_finite().fill_null(False)
        if odd.any():
            flags.append(("weight", "a number", table.weight, odd.to_numpy()))
    if not flags:
        return None, list(table.dropped_reasons)
    bad = np.logical_or.reduce([flag for *_, flag in flags])
    reasons = list(table.dropped_reasons)
    for row in np.flatnonzero(bad)[:REASONS_SHOWN].tolist():
        role, expected, column, _ = next(entry for entry in flags if entry[3][row])
        value = column[row]
        found = "an empty cell" if value is None or value == "" else repr(_short(value))
        name = table.names[role]
        reasons.append(Reason(*table.line_of(row), f"{role} ({name}): expected {expected}, found {found}"))
    order = {file: at for at, file in enumerate(table.files)}
    return bad, sorted(reasons, key=lambda reason: (order.get(reason.where, 0), reason.line))


def _short(value: object) -> object:
    written = str(value)
    return written[:40] + "..." if len(written) > 43 else value


def _first_bad(table: EventTable, reasons: list[Reason], total: int) -> InputError:
    first = reasons[0]
    rows = table.num_rows + table.dropped
    if total == rows > 1:
        cure = f"all {rows:,} rows are like that: say how the file is to be read"
    else:
        cure = "mend the row" if total == 1 else f"{total:,} of {rows:,} rows are like that: mend them"
        cure += ", or say bad_rows='report' to go on without"
    return InputError(first.text, cure=cure, where=f"{first.where}, row {first.line}")


def _too_few(table: EventTable, reasons: list[Reason], left: int, total_bad: int) -> InputError:
    """Complain where nothing can follow anything."""
    if left == 0 and total_bad:
        return _first_bad(table, reasons, total_bad)
    where = table.where if left == 0 else "{}, row {}".format(*table.line_of(0))
    what = "there is no event in it" if left == 0 else "there is only one event in it"
    found = f"{left}" + (f", and {total_bad:,} rows that cannot be read" if total_bad else "")
    return InputError(what, expected="at least two, so that one can follow the other", found=found, where=where)
