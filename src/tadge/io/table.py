"""The columns that matter, as every reader hands them on; and the readers of Parquet, JSON lines and DataFrames."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from tadge.errors import InputError
from tadge.io.options import ReadOptions
from tadge.io.roles import ColumnRoles, find_columns
from tadge.io.sniff import LONG_SAMPLE
from tadge.io.source import Source, check_utf8

REASONS_SHOWN = 5  # rejected rows that are quoted in full
LONGEST_ID = 4096  # bytes: the longest URLs in use are half of that


@dataclass(frozen=True)
class EventTable:
    """Hold the columns of a file, (E,) each, and what is known of its rows.

    Attributes:
        src: ids of the acting ends: Int64, String or Categorical; null where the cell is empty.
        dst: ids of the other ends.
        time: numbers, strings or dates as they stand in the file.
        weight: numbers or strings, or None.
        names: the column of each role.
        where: the file.
        form: the file's form, in words.
        line_of: from a row's index to the line it stands on.
        unit: the time unit that the column's name states.
        clock: the clock that it states.
        two_kinds: whether the columns' names say that the ends are of two kinds, like customer and agent.
        apart: whether they say it so clearly that the same id on both sides is two nodes, like user 7 and item 7.
        dropped: rows that have the wrong number of cells, with reasons.
        notes: what looks odd, in plain words.
        type: strings or integers, null where the cell is empty; or None.
        named: whether columns have names.
    """

    src: pl.Series
    dst: pl.Series
    time: pl.Series
    weight: pl.Series | None
    names: dict[str, str]
    where: str
    form: str
    line_of: Callable[[int], int]
    unit: str | None = None
    clock: str | None = None
    two_kinds: bool = False
    apart: bool = False
    dropped: int = 0
    dropped_reasons: tuple[str, ...] = ()
    comments: int = 0
    blank: int = 0
    notes: tuple[str, ...] = ()
    type: pl.Series | None = None
    named: bool = True

    @property
    def num_rows(self) -> int:
        """Count the rows that have all their cells."""
        return self.src.len()


def column_names(columns: ColumnRoles, names: tuple[str, ...]) -> dict[str, str]:
    """Name the column of each role: by its header, else by its number."""
    return {role: names[at] if at < len(names) and names[at] else f"column {at}" for role, at in columns.used().items()}


def with_day_time(dates: pl.Series, clocks: pl.Series | None) -> pl.Series:
    """Join dates and times of day that stand in two columns, (E,) each, as strings."""
    if clocks is None:
        return dates
    return dates.cast(pl.String).str.strip_chars() + " " + clocks.cast(pl.String).str.strip_chars()


def from_frame(frame: Any, options: ReadOptions) -> EventTable:
    """Take the columns of a polars or pandas DataFrame."""
    where = "the table"
    if not isinstance(frame, pl.DataFrame):
        if not hasattr(frame, "columns") or not hasattr(frame, "to_dict"):
            raise InputError("not a table", expected="a path or a DataFrame", found=type(frame).__name__)
        headings = [str(name) for name in frame.columns]
        if len(set(headings)) < len(headings):
            raise InputError("a column is named twice", cure="rename one of them", where=where)
        frame = pl.DataFrame({name: _pandas_column(frame.iloc[:, at]) for at, name in enumerate(headings)})
    columns = _columns_of(frame, options, where)
    used = {role: frame.to_series(at) for role, at in columns.used().items()}
    return _table(used, columns, tuple(frame.columns), where, "table", lambda row: row + 1)


def _columns_of(frame: pl.DataFrame, options: ReadOptions, where: str) -> ColumnRoles:
    """Find the columns that matter by their names and first values."""
    if frame.height == 0:
        raise InputError("there is no event in it", expected="at least one row", where=where)
    rows = frame.head(LONG_SAMPLE).iter_rows()
    sample = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
    return find_columns(tuple(frame.columns), sample, frame.width, options, where)


def _table(
    used: dict[str, pl.Series],
    columns: ColumnRoles,
    names: tuple[str, ...],
    where: str,
    form: str,
    line_of: Callable[[int], int],
    **more: Any,
) -> EventTable:
    """Put a table together from the columns in use."""
    return EventTable(
        _ids(used["src"], "src", where),
        _ids(used["dst"], "dst", where),
        with_day_time(used["time"], used.get("day_time")),
        used.get("weight"),
        column_names(columns, names),
        where,
        form,
        line_of,
        unit=columns.unit,
        clock=columns.clock,
        two_kinds=columns.two_kinds,
        apart=columns.apart,
        notes=columns.notes,
        type=used.get("type"),
        **more,
    )


def _pandas_column(column: Any) -> pl.Series:
    """Take one pandas column without pyarrow: datetimes as datetimes, the rest by value."""
    dtype = str(column.dtype)
    if dtype.startswith("datetime64"):
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return pl.Series(column.to_numpy().astype("datetime64[us]"))
    if column.dtype.kind in "iufb":
        return pl.Series(column.to_numpy())
    values = [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]
    return pl.Series(values, strict=False) if len({type(v) for v in values} - {type(None)}) <= 1 else _mixed(values)


def _mixed(values: list[Any]) -> pl.Series:
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _ids(column: pl.Series, role: str, where: str) -> pl.Series:
    if column.dtype.is_integer():
        if column.dtype == pl.UInt64 and (column.max() or 0) > (1 << 63) - 1:  # type: ignore[operator]
            return column.cast(pl.String)
        return column.cast(pl.Int64)
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return column.cast(pl.String)
    if column.dtype == pl.String:
        size = column.str.len_bytes()
        at = size.arg_max()
        if at is not None and size[at] > LONGEST_ID:
            expected, found = f"at most {LONGEST_ID:,} bytes", f"{size[at]:,}"
            raise InputError("an id is too long", expected=expected, found=found, where=f"{where}, row {at + 1}")
        empty = column.str.strip_chars() == ""
        return column.set(empty.fill_null(False), None) if empty.any() else column
    if column.dtype.is_float():
        integers = column.cast(pl.Int64, strict=False)
        if (integers.cast(pl.Float64) == column).fill_null(True).all() and not column.is_nan().any():
            return integers  # they became floats because some are missing
    expected = "integers or strings"
    raise InputError(f"{role} is not a column of ids", expected=expected, found=str(column.dtype), where=where)


def read_parquet(source: Source, options: ReadOptions) -> EventTable:
    """Read the columns that matter of a Parquet file."""
    where = str(source.path)
    try:
        lazy = pl.scan_parquet(source.path, glob=False)
        head = lazy.head(LONG_SAMPLE).collect()
        columns = _columns_of(head, options, where)
        frame = lazy.select(pl.nth(at).alias(role) for role, at in columns.used().items()).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise damaged_parquet(error, where) from None
    return _table(frame.to_dict(), columns, tuple(head.columns), where, "Parquet", lambda row: row + 1)


def damaged_parquet(error: Exception, where: str) -> InputError:
    """Make the error about a Parquet file that polars cannot read."""
    what = f"the Parquet file is damaged ({str(error).splitlines()[0]})"
    return InputError(what, cure="write or fetch it again", where=where)


def read_jsonl(source: Source, options: ReadOptions) -> EventTable:
    """Read JSON lines: one object a row, the same keys throughout."""
    where = str(source.path)
    check_utf8(source)
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    dropped: list[str] = []
    bad = blank = 0
    for number, line in enumerate(source.data.tobytes().split(b"\n"), start=1):
        if not line.strip():
            blank += 1
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            record = str(error)
        if isinstance(record, dict):
            records.append(record)
            lines.append(number)
        else:
            bad += 1
            if len(dropped) < REASONS_SHOWN:
                reason = record if isinstance(record, str) else f"found {type(record).__name__}"
                dropped.append(f"row {number}: expected a JSON object, {reason}")
    if not records:
        what = dropped[0] if dropped else "there is no event in it"
        raise InputError(what, expected="one JSON object a line", where=where)
    names = tuple(dict.fromkeys(key for record in records[:LONG_SAMPLE] for key in record))
    sample = tuple(tuple(str(record.get(name, "")) for name in names) for record in records[:LONG_SAMPLE])
    columns = find_columns(names, sample, len(names), options, where)
    used = {role: _json_column(records, lines, names[at], role, where) for role, at in columns.used().items()}
    return _table(
        *(used, columns, names, where, "JSON lines" + (f", {source.packing}" if source.packing else "")),
        lambda row: lines[row],
        dropped=bad,
        dropped_reasons=tuple(dropped),
        blank=max(0, blank - 1),  # what follows the last newline is no line
    )


def _json_column(records: list[dict[str, Any]], lines: list[int], name: str, role: str, where: str) -> pl.Series:
    """Collect one key of all records; ids keep their type, so a number and a string in one column are a mistake."""
    values = [record.get(name) for record in records]
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int} or kinds <= {int, float}:
        if any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values):
            return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
        return pl.Series(values, dtype=pl.Int64 if kinds <= {int} else pl.Float64)
    if kinds <= {str} or (role not in ("src", "dst") and kinds <= {str, int, float}):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    first = next(type(value) for value in values if value is not None)
    row, value = next(
        (i, v) for i, v in enumerate(values) if v is not None and (type(v) is not first or first not in (int, str))
    )
    found = f"{type(value).__name__} {str(value)[:40]!r}"
    expected = f"{first.__name__}, as in the rows before" if first in (int, str) else "integers or strings"
    raise InputError(f"{role} has mixed types", expected=expected, found=found, where=f"{where}, row {lines[row]}")
