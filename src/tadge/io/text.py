"""Read delimited text: a compiled scan first, to see that all rows are whole, then a typed parser for speed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from tadge.arrays import Ints
from tadge.errors import InputError, bounded
from tadge.io.options import ReadOptions
from tadge.io.packed import Bytes
from tadge.io.roles import DATE_CELL, INTEGER_CELL, NUMBER_CELL, ColumnRoles, find_columns
from tadge.io.scan import NO_BYTE, RowPlaces, Scan, collapse_blanks, copy_rows, drop_marks, find_rows, scan
from tadge.io.sniff import DELIMITER_NAMES, SAMPLE_ROWS, Dialect, sniff, split
from tadge.io.source import Source, check_utf8
from tadge.io.table import LONGEST_ID, REASONS_SHOWN, EventTable, Reason, column_names, with_day_time
from tadge.units import unix_unit

QUOTE = ord('"')
BLANKS = " \t"  # around a cell they mean nothing, inside quotes as well


@dataclass(frozen=True)
class _Body:
    """Hold the rows of a text after its header, with the way they were cut."""

    data: Bytes
    delimiter: str
    quote: int
    seen: Scan
    on_disk: Path | None  # the file itself, where its rows can be read from it directly
    comments: tuple[int, int]

    def rows(self) -> RowPlaces:
        return find_rows(self.data, ord(self.delimiter), self.quote, self.comments, self.seen.rows)


def read_text(source: Source, options: ReadOptions) -> EventTable:
    """Read CSV, TSV, SNAP text and the like."""
    where = source.where
    dialect = sniff(source, options)
    columns = find_columns(dialect.names, dialect.sample, dialect.fields, options, where)
    notes = [*columns.notes, *_doubtful_comments(dialect, columns, where)]
    body = _look(source, dialect, columns)
    if body.seen.marked:
        notes.append(f"{body.seen.marked:,} rows begin with a byte order mark, as where files were joined: left out")
        plain = replace(source, data=drop_marks(source.data[dialect.offset :]), file=None)
        body = _look(plain, replace(dialect, offset=0), columns)
    _refuse(body.seen, dialect, options, where)
    whole_body, kept_lines, reasons, dropped = _whole_rows(body, dialect, where)
    integers = _are_integers(dialect.sample, columns) and not body.seen.zero_led
    frame = _parse(whole_body, dialect, columns, source, integers)

    @cache
    def lines() -> Ints:
        return body.rows().line if kept_lines is None else kept_lines

    if (
        _are_integers(dialect.sample[:SAMPLE_ROWS], columns)
        and not body.seen.zero_led
        and frame["src"].dtype != pl.Int64
    ):
        notes.append("the first ids are integers, later ones are not: all were taken as strings")
    packing = f", {source.packing}" if source.packing else ""
    header = "header" if dialect.names else "no header"
    return EventTable(
        frame["src"],
        frame["dst"],
        with_day_time(frame["time"], frame["day_time"] if "day_time" in frame.columns else None),
        frame["weight"] if "weight" in frame.columns else None,
        column_names(columns, dialect.names),
        where,
        f"text with {DELIMITER_NAMES.get(dialect.delimiter, repr(dialect.delimiter))}, {header}{packing}",
        lambda row: (where, int(lines()[row]) + dialect.lines_before),
        unit=columns.unit,
        clock=columns.clock,
        two_kinds=columns.two_kinds,
        apart=columns.apart,
        dropped=dropped,
        dropped_reasons=reasons,
        comments=dialect.comments_before + body.seen.comments,
        blank=body.seen.blank,
        notes=tuple(notes),
        type=frame["type"] if "type" in frame.columns else None,
        named=bool(dialect.names),
        width=dialect.fields,
    )


def _whole_rows(body: _Body, dialect: Dialect, where: str) -> tuple[_Body, Ints | None, tuple[Reason, ...], int]:
    """Leave out what the parser must not see: rows with too few or too many cells, comments and blanks among the rows.

    Returns:
        What is left; the lines its rows stand on (None where nothing was left out); why the first rows were left out,
        and how many were.
    """
    if not body.seen.bad and not body.seen.late_skips:
        return body, None, (), 0
    rows = body.rows()
    whole = rows.fields == dialect.fields
    reasons = tuple(
        Reason(where, line + dialect.lines_before, f"expected {dialect.fields} cells, found {fields}")
        for line, fields in zip(
            rows.line[~whole][:REASONS_SHOWN].tolist(), rows.fields[~whole][:REASONS_SHOWN].tolist(), strict=True
        )
    )
    data = copy_rows(body.data, rows.start[whole], rows.stop[whole])
    return replace(body, data=data, on_disk=None), rows.line[whole], reasons, int((~whole).sum())


def _look(source: Source, dialect: Dialect, columns: ColumnRoles) -> _Body:
    """Scan the rows; where blanks separate cells and a row is ragged, collapse the blanks and scan again."""
    data = source.data[dialect.offset :] if dialect.offset else source.data
    marks = [ord(mark) for mark in dialect.comments] + [NO_BYTE, NO_BYTE]
    comments = (marks[0], marks[1])
    id_columns = (columns.src, columns.dst)
    used = np.zeros(dialect.fields, np.bool_)
    used[list(columns.used().values())] = True
    on_disk = source.file
    if dialect.delimiter != " ":
        quote = QUOTE
        seen = scan(data, ord(dialect.delimiter), quote, dialect.fields, comments, id_columns, used)
        if seen.stray_quote_line and not seen.quoted:  # 5" is an inch sign, not a quotation
            quote = NO_BYTE
            seen = seen._replace(stray_quote_line=0)
        return _Body(data, dialect.delimiter, quote, seen, on_disk, comments)
    first = "\t" if b"\t" in data[:1000].tobytes() else " "
    seen = scan(data, ord(first), NO_BYTE, dialect.fields, comments, id_columns, used)
    if not seen.bad and not seen.lone_return_line and not (seen.padded and first == "\t"):
        return _Body(data, first, NO_BYTE, seen, on_disk, comments)
    data = collapse_blanks(data)
    seen = scan(data, ord("\t"), NO_BYTE, dialect.fields, comments, id_columns, used)
    return _Body(data, "\t", NO_BYTE, seen, None, comments)


def _refuse(seen: Scan, dialect: Dialect, options: ReadOptions, where: str) -> None:
    """Complain about what makes rows ambiguous."""

    def at(line: int) -> str:
        return f"{where}, row {line + dialect.lines_before}"

    if seen.open_quote_line:
        raise InputError("a quote is opened and never closed", cure="close it", where=at(seen.open_quote_line))
    if seen.stray_quote_line:
        cure = 'write it as "" inside a quoted cell'
        raise InputError("a quote inside a cell that is not quoted", cure=cure, where=at(seen.stray_quote_line))
    if seen.nul_line:
        raise InputError("a NUL byte", expected="text", cure="mend or convert the file", where=at(seen.nul_line))
    if seen.lone_return_line:
        what, expected = "a carriage return inside a cell", "one only at the end of a line"
        cure = "mend the line ends, or put the cell between quotes"
        raise InputError(what, expected=expected, cure=cure, where=at(seen.lone_return_line))
    if seen.longest_id > LONGEST_ID:
        expected, found = f"at most {LONGEST_ID:,} bytes", f"{seen.longest_id:,}"
        raise InputError("an id is too long", expected=expected, found=found, where=at(seen.longest_id_line))
    if seen.comment_row_line and options.comments is None:
        cure = "say comments='#' (or '%') if it is one, comments='none' if it is data"
        what = "a comment among the rows that has all the cells of a row"
        raise InputError(what, cure=cure, where=at(seen.comment_row_line))


def _doubtful_comments(dialect: Dialect, columns: ColumnRoles, where: str) -> list[str]:
    """Complain about a first row that begins with # or %; warn of one that may have been made a comment on purpose."""
    times = [row[columns.time] for row in dialect.sample if row[columns.time].strip()]
    disabled = 0
    for remark in dialect.remarks if times else ():
        cells = split(remark.text, dialect.delimiter)
        if len(cells) != dialect.fields or not _look_alike(cells[columns.time], times[0]):
            continue
        if not remark.text[1:2].strip():  # "# a,b,5" was made a comment; in "% 3 4 5" the mark is no cell
            disabled += dialect.delimiter != " "
            continue
        cure = f"say comments='none' if it is data, comments={dialect.comments!r} if it is a comment"
        what = f"a first row that begins with {remark.text[0]} and has all the cells of a row"
        raise InputError(what, cure=cure, where=f"{where}, row {remark.line}")
    words = "have all the cells of a row, and were taken as comments; say comments='none' if they are data"
    return [f"{disabled:,} lines at the top that begin with # or % {words}"] if disabled else []


def _look_alike(cell: str, other: str) -> bool:
    """Tell whether two cells are times of the same kind: dates, Unix time of one unit, or other numbers."""
    if NUMBER_CELL.fullmatch(cell) and NUMBER_CELL.fullmatch(other):
        return unix_unit(float(cell)) == unix_unit(float(other))
    return bool(DATE_CELL.fullmatch(cell) and DATE_CELL.fullmatch(other))


def _are_integers(sample: tuple[tuple[str, ...], ...], columns: ColumnRoles) -> bool:
    return all(INTEGER_CELL.fullmatch(row[at]) for row in sample for at in (columns.src, columns.dst))


# -- typed parsing ----------------------------------------------------------------------------------------------------


def _scan_csv(body: _Body, dialect: Dialect, columns: ColumnRoles, types: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
    """Plan the parse of the columns that matter, one name per role."""
    used = columns.used()
    schema: dict[str, type[pl.DataType]] = {f"column {at}": pl.String for at in range(dialect.fields)}
    schema |= {f"column {at}": types[role] for role, at in used.items()}
    copied = body.seen.late_skips or body.seen.bad  # then only whole rows are left; else what is skipped stands first
    skip = 0 if copied else body.seen.comments + body.seen.blank + (dialect.lines_before if body.on_disk else 0)
    frame = pl.scan_csv(
        body.on_disk or body.data.tobytes(),
        has_header=False,
        separator=body.delimiter,
        quote_char='"' if body.quote == QUOTE else None,
        skip_lines=skip,
        schema=schema,
        infer_schema=False,
        glob=False,
    )
    return frame.select(pl.col(f"column {at}").alias(role) for role, at in used.items())


def _parse(body: _Body, dialect: Dialect, columns: ColumnRoles, source: Source, integers: bool) -> pl.DataFrame:
    """Parse with the types that the sample suggests; where a cell does not fit, as strings, to see which."""
    times = [row[columns.time] for row in dialect.sample]
    types: dict[str, type[pl.DataType]] = {"time": pl.String, "weight": pl.Float64}
    types |= {"day_time": pl.String, "type": pl.String}
    if columns.day_time is None and all(_is_float(cell) for cell in times):
        types["time"] = pl.Int64 if all(INTEGER_CELL.fullmatch(cell) for cell in times) else pl.Float64
    types |= {"src": pl.Int64, "dst": pl.Int64} if integers else {"src": pl.String, "dst": pl.String}
    try:
        frame = _collect(_scan_csv(body, dialect, columns, types), integers, bool(body.seen.padded))
        if sum(frame.drop("type", strict=False).null_count().row(0)) == 0:
            return frame
    except pl.exceptions.PolarsError:
        check_utf8(source)
    strings = _scan_csv(body, dialect, columns, dict.fromkeys(columns.used(), pl.String))
    try:
        frame = strings.collect()
    except pl.exceptions.PolarsError as error:
        what = f"the rows cannot be read ({bounded(str(error).splitlines()[0], 200)})"
        raise InputError(what, where=source.where) from None
    return _from_strings(frame, bool(body.seen.zero_led))


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _collect(plan: pl.LazyFrame, integers: bool, padded: bool) -> pl.DataFrame:
    if integers:
        return plan.collect(engine="streaming")
    ids = pl.col("src", "dst")
    if padded:
        ids = ids.str.strip_chars(BLANKS)
    ids = pl.when(ids != "").then(ids)  # an empty pair of quotes is an empty cell too
    return plan.with_columns(ids.cast(pl.Categorical(pl.Categories.random()))).collect(engine="streaming")


def _from_strings(frame: pl.DataFrame, zero_led: bool) -> pl.DataFrame:
    """Strip every cell; ids become integers where all of them are and each is written in one way."""
    frame = frame.with_columns(pl.all().str.strip_chars(BLANKS))
    frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    ids = frame.select("src", "dst")
    numbers = ids.select(pl.all().cast(pl.Int64, strict=False))
    if not zero_led and numbers.null_count().equals(ids.null_count()):
        frame = frame.with_columns(numbers["src"], numbers["dst"])
    return frame
