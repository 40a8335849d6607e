"""The columns that matter, as every reader hands them on; and the readers of Parquet and DataFrames."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from tadge.errors import EmptyFileError, InputError, bounded
from tadge.io.options import ReadOptions
from tadge.io.panics import without_panics
from tadge.io.roles import ColumnRoles, find_columns
from tadge.io.sniff import LONG_SAMPLE
from tadge.io.source import Source
from tadge.machine import available_memory

REASONS_SHOWN = 5  # rejected rows that are quoted in full
LONGEST_ID = 4096  # bytes: the longest URLs in use are half of that
EXACT = 1 << 53  # from here on float64 does not hold every integer
CELL_BYTES = 8  # of a column in memory, at least
WHOLE = r"^-?\d+(\.0*)?$"


class Reason(NamedTuple):
    """Say why a row cannot become an event: its file, its line, from 1, and the reason."""

    where: str
    line: int
    text: str


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
        line_of: from a row's index to its file and the line it stands on.
        unit: the time unit that the column's name states.
        clock: the clock that it states.
        two_kinds: whether the columns' names say that the ends are of two kinds, like customer and agent.
        apart: whether they say it so clearly that the same id on both sides is two nodes, like user 7 and item 7.
        dropped: rows that have the wrong number of cells, with reasons.
        notes: what looks odd, in plain words.
        type: strings or integers, null where the cell is empty; or None.
        named: whether columns have names.
        width: how many columns there are.
        files: all files that were read, in their order.
    """

    src: pl.Series
    dst: pl.Series
    time: pl.Series
    weight: pl.Series | None
    names: dict[str, str]
    where: str
    form: str
    line_of: Callable[[int], tuple[str, int]]
    unit: str | None = None
    clock: str | None = None
    two_kinds: bool = False
    apart: bool = False
    dropped: int = 0
    dropped_reasons: tuple[Reason, ...] = ()
    comments: int = 0
    blank: int = 0
    notes: tuple[str, ...] = ()
    type: pl.Series | None = None
    named: bool = True
    width: int = 0
    files: tuple[str, ...] = ()

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
    columns = columns_of(frame, options, where)
    used = {role: frame.to_series(at) for role, at in columns.used().items()}
    return make_table(used, columns, tuple(frame.columns), where, "table", lambda row: (where, row + 1))


def columns_of(frame: pl.DataFrame, options: ReadOptions, where: str) -> ColumnRoles:
    """Find the columns that matter by their names and first values."""
    if frame.height == 0:
        raise EmptyFileError("there is no event in it", expected="at least one row", where=where)
    rows = frame.head(LONG_SAMPLE).iter_rows()
    sample = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
    return find_columns(tuple(frame.columns), sample, frame.width, options, where)


def make_table(
    used: dict[str, pl.Series],
    columns: ColumnRoles,
    names: tuple[str, ...],
    where: str,
    form: str,
    line_of: Callable[[int], tuple[str, int]],
    **more: Any,
) -> EventTable:
    """Put a table together from the columns in use."""
    notes = [*columns.notes, *more.pop("notes", ())]
    if any(used[end].dtype.is_float() and (used[end].abs() > EXACT).any() for end in ("src", "dst")):
        notes.append("ids are floats above 2**53, which do not hold every integer: some may have become equal before")
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
        notes=tuple(notes),
        type=used.get("type"),
        width=len(names),
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
    """Take a column of integers or strings as ids; others only where they mean the same."""
    dtype = column.dtype
    if dtype == pl.Int64:
        return column
    if dtype.is_integer():
        return _integers_or_strings(column)
    if isinstance(dtype, pl.Decimal):
        written = column.cast(pl.String)
        if written.str.contains(WHOLE).all():
            return _integers_or_strings(written.str.replace(r"\.0*$", ""))
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        return column.cast(pl.String)
    if dtype == pl.Binary:
        column = as_strings(column, role, where)
    if column.dtype == pl.String:
        size = column.str.len_bytes()
        at = size.arg_max()
        if at is not None and size[at] > LONGEST_ID:
            expected, found = f"at most {LONGEST_ID:,} bytes", f"{size[at]:,}"
            raise InputError("an id is too long", expected=expected, found=found, where=f"{where}, row {at + 1}")
        empty = column.str.strip_chars() == ""
        return column.set(empty.fill_null(False), None) if empty.any() else column
    if dtype.is_float():
        integers = column.cast(pl.Int64, strict=False)
        if (integers.cast(pl.Float64) == column).fill_null(True).all() and not column.is_nan().any():
            return integers  # they became floats because some are missing
    raise InputError(f"{role} is not a column of ids", expected="integers or strings", found=str(dtype), where=where)


def _integers_or_strings(column: pl.Series) -> pl.Series:
    """Take integers of any size, or strings of them, as Int64 where all fit, else as strings."""
    integers = column.cast(pl.Int64, strict=False)
    return integers if integers.null_count() == column.null_count() else column.cast(pl.String)


def as_strings(column: pl.Series, role: str, where: str) -> pl.Series:
    """Take a column of bytes as UTF-8, as some programs write strings to Parquet."""
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        what = f"{role} is a column of bytes"
        raise InputError(what, expected="UTF-8", found="other bytes", where=where) from None


def read_parquet(source: Source, options: ReadOptions) -> EventTable:
    """Read the columns that matter of a Parquet file."""
    where = source.where
    try:
        with without_panics():
            lazy = pl.scan_parquet(source.file or io.BytesIO(source.data.tobytes()), glob=False)
            head = lazy.head(LONG_SAMPLE).collect()
            columns = columns_of(head, options, where)
            _check_rows(lazy.select(pl.len()).collect().item(), len(columns.used()), where)
            frame = lazy.select(pl.nth(at).alias(role) for role, at in columns.used().items()).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise damaged_parquet(error, where) from None
    form = "Parquet" + (f", {source.packing}" if source.packing else "")
    return make_table(frame.to_dict(), columns, tuple(head.columns), where, form, lambda row: (where, row + 1))


def _check_rows(rows: int, columns: int, where: str) -> None:
    """Refuse a Parquet file whose rows, which may be packed very tightly, cannot be held."""
    needed, free = rows * columns * CELL_BYTES, available_memory()
    if needed > free:
        what = f"{rows:,} rows need more than {needed / 1e9:,.3g} GB"
        raise InputError(what, expected=f"what fits into {free / 1e9:,.3g} GB of free memory", where=where)


def parquet_frame(source: Source) -> pl.DataFrame:
    """Read a small Parquet file whole."""
    try:
        with without_panics():
            return pl.read_parquet(source.file or io.BytesIO(source.data.tobytes()), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise damaged_parquet(error, source.where) from None


def damaged_parquet(error: BaseException, where: str) -> InputError:
    """Make the error about a Parquet file that polars cannot read."""
    what = f"the Parquet file is damaged ({bounded((str(error).splitlines() or ['?'])[0], 200)})"
    return InputError(what, cure="write or fetch it again", where=where)
