"""Several files as one history: all are read as the first one is, and their rows are put together."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import polars as pl

from tadge.errors import EmptyFileError, InputError, listing
from tadge.io.options import ReadOptions
from tadge.io.reading import filled_in, settled
from tadge.io.roles import NoSuchColumnError
from tadge.io.source import Source
from tadge.io.table import REASONS_SHOWN, EventTable

Read = EventTable | EmptyFileError


def read_alike(
    files: Sequence[Source | InputError], read: Callable[[Source, ReadOptions], EventTable], options: ReadOptions
) -> list[Read]:
    """Read files as the first that has events is read; refuse one whose columns differ; keep errors of empty ones."""
    tables: list[Read] = []
    first: EventTable | None = None
    for file in files:
        if isinstance(file, InputError):
            tables.append(file)  # type: ignore[arg-type]
            continue
        try:
            alike = options if first is None else filled_in(options, settled(options, first.names, first.named, {}))
            table = read(file, alike)
            if first is not None:
                _check_columns(table, first)
            first = first or table
            tables.append(table)
        except EmptyFileError as error:
            tables.append(error)
        except NoSuchColumnError as error:
            if first is None:
                raise
            raise _differ(error.expected or "", first, file.where) from None
    if first is None:
        empty = next(one for one in tables if isinstance(one, EmptyFileError))
        raise InputError(f"none of {len(tables):,} files holds an event", found=f"the first: {empty.what}")
    return tables


def _check_columns(table: EventTable, first: EventTable) -> None:
    """Refuse a file whose columns cannot mean the same as those of the first."""
    if table.named != first.named:
        found = "a header" if table.named else "no header"
        raise _differ(found, first, table.where)
    if table.names != first.names or (not table.named and table.width != first.width):
        roles = ", ".join(f"{role} = {name}" for role, name in table.names.items())
        raise _differ(f"{roles} of {table.width:,} columns", first, table.where)


def _differ(found: str, first: EventTable, where: str) -> InputError:
    expected = listing(list(first.names.values())) + ("" if first.named else f" of {first.width:,}, without a header")
    cure = "read it on its own, or give it the same columns"
    what = f"its columns differ from those of {first.where}"
    return InputError(what, expected=expected, found=found, cure=cure, where=where)


def joined(tables: Sequence[Read], name: str) -> EventTable:
    """Put the rows of tables that were read alike together, in the order of the files."""
    full = [table for table in tables if isinstance(table, EventTable)]
    first = full[0]
    starts = [0, *accumulate(table.num_rows for table in full)]

    def line_of(row: int) -> tuple[str, int]:
        at = bisect_right(starts, row) - 1
        return full[at].line_of(row - starts[at])

    forms = Counter(table.form for table in full).most_common()
    others = f" and {len(forms) - 1} other forms" if len(forms) > 1 else ""
    return replace(
        first,
        src=_stacked(table.src for table in full),
        dst=_stacked(table.dst for table in full),
        time=_stacked(table.time for table in full),
        weight=None if first.weight is None else _stacked(table.weight for table in full if table.weight is not None),
        type=None if first.type is None else _stacked(table.type for table in full if table.type is not None),
        where=name,
        form=f"{len(tables):,} files as one history, {forms[0][0]}{others}",
        line_of=line_of,
        dropped=sum(table.dropped for table in full),
        dropped_reasons=tuple(reason for table in full for reason in table.dropped_reasons)[:REASONS_SHOWN],
        comments=sum(table.comments for table in full),
        blank=sum(table.blank for table in full),
        notes=_notes(tables, full),
        files=tuple(table.where for table in full),
    )


def _stacked(columns: Iterable[pl.Series]) -> pl.Series:
    """Put columns on top of each other: of one type, or as numbers, or as strings."""
    pieces = [
        column.cast(pl.String) if isinstance(column.dtype, (pl.Categorical, pl.Enum)) else column for column in columns
    ]
    kinds = {piece.dtype for piece in pieces if piece.dtype != pl.Null}
    if len(kinds) == 1:
        kind = kinds.pop()
    elif kinds and all(one.is_numeric() for one in kinds):
        kind = pl.Int64() if all(one.is_integer() for one in kinds) else pl.Float64()
    elif kinds and all(one.is_temporal() for one in kinds):
        kind = pl.Datetime("us")
    else:
        kind = pl.String()
    return pl.concat([_cast(piece, kind) for piece in pieces])


def _cast(piece: pl.Series, kind: pl.DataType) -> pl.Series:
    try:
        return piece.cast(kind)
    except pl.exceptions.PolarsError:
        what = f"the files hold values of different types in column {piece.name!r}"
        raise InputError(what, expected=str(kind), found=str(piece.dtype)) from None


def _notes(tables: Sequence[Read], full: Sequence[EventTable]) -> tuple[str, ...]:
    """Give the notes of all files, each once, and say which files are empty."""
    counts = Counter(note for table in full for note in table.notes)
    notes = [note if count == 1 else f"{note} (in {count:,} files)" for note, count in counts.items()]
    if len({table.src.dtype == pl.Int64 and table.dst.dtype == pl.Int64 for table in full}) > 1:
        notes.append("ids are integers in some files and strings in others: all were taken as strings")
    empty = [table.where or "" for table in tables if isinstance(table, EmptyFileError)]
    if empty:
        notes.append(f"{len(empty):,} of {len(tables):,} files hold no event: {listing(empty)}")
    return tuple(notes)
