"""Infer the form of a delimited text from its first rows: delimiter, header, width."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tadge.errors import EmptyFileError, InputError, listing
from tadge.io.options import ReadOptions
from tadge.io.packed import PIECE
from tadge.io.roles import DATE_CELL, NUMBER_CELL
from tadge.io.source import UTF8_BOM, Source
from tadge.io.words import is_role, plain

SAMPLE_BYTES = 1 << 22
SAMPLE_ROWS, LONG_SAMPLE = 200, 10_000  # rows whose form is looked at; rows whose values are compared
SAMPLE_CELLS = 400_000  # at most: wide tables have shorter samples
FEWEST_ROWS = 3  # that are looked at, however long they are
LONGEST_ROW, LONGEST_REMARK = 1 << 26, 1 << 13  # bytes
MOST_FIELDS = 100_000  # columns
DELIMITERS = (",", "\t", ";", "|")
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}
SMALL_NUMBER = re.compile(r"\s*[+-]?\d{0,7}(\.\d*)?\s*")  # no Unix time


@dataclass(frozen=True)
class Dialect:
    """Describe a delimited text.

    Attributes:
        delimiter: the character between cells; " " stands for runs of blanks.
        fields: cells in a row.
        names: names of the columns, empty without a header.
        sample: the first rows, cut into cells, the header not among them.
        offset: first byte after the header.
        lines_before: lines before that byte.
        comments_before: comment lines among them.
        comments: the characters that start a comment.
        remarks: comments before the first row that nobody said are comments.
    """

    delimiter: str
    fields: int
    names: tuple[str, ...]
    sample: tuple[tuple[str, ...], ...]
    offset: int
    lines_before: int
    comments_before: int
    comments: str
    remarks: tuple[Remark, ...] = ()


def sniff(source: Source, options: ReadOptions) -> Dialect:
    """Find delimiter, header and width of a text from its head."""
    comments = "#%" if options.comments is None else "" if options.comments == "none" else options.comments
    head = _look_at_head(source, comments)
    rows = head.rows
    if not rows:
        what = "only comments and blank lines" if head.remarks else "only blank lines"
        cure = "say comments='none' if rows may start with # or %" if head.remarks else None
        raise EmptyFileError(what, expected="at least one event", cure=cure, where=source.where)
    delimiter = {None: None, "space": " ", "tab": "\t"}.get(options.delimiter, options.delimiter)
    delimiter = delimiter or choose_delimiter(rows[:SAMPLE_ROWS], 3)
    first = [split(row, delimiter) for row in rows[:SAMPLE_ROWS]]
    length = max(SAMPLE_ROWS, SAMPLE_CELLS // max(map(len, first)))
    table = first + [split(row, delimiter) for row in rows[SAMPLE_ROWS:length]]
    header = options.header if options.header is not None else _has_header(first)
    names = tuple(name.strip() for name in table[0]) if header else ()
    body = table[1:] if header else table
    if not body:
        found = f"a header: {listing(names)}"
        raise EmptyFileError(
            "there is no event in it", expected="rows after the header", found=found, where=source.where
        )
    fields = _width(body, names)
    _check_names(names, fields, source)
    if fields > MOST_FIELDS:
        expected, found = f"at most {MOST_FIELDS:,}", f"{fields:,}"
        raise InputError("too many columns", expected=expected, found=found, where=source.where)
    sample = tuple(tuple(row) for row in body if len(row) == fields)
    lines_before, offset = (head.first_line, head.first_end) if header else (0, 0)
    before = head.comments if header else 0
    remarks = tuple(one for one in head.remarks if one.rows_before <= header) if options.comments is None else ()
    return Dialect(delimiter, fields, names, sample, offset, lines_before, before, comments, remarks)


class Remark(NamedTuple):
    """Hold a comment before the first rows: its line, from 1, what it says, and the rows before it."""

    line: int
    text: str
    rows_before: int


@dataclass
class _Head:
    """Hold the first rows of a text; the line that the first stands on, from 1, and its end; comments before it."""

    rows: list[str] = field(default_factory=list)
    first_line: int = 0
    first_end: int = 0
    comments: int = 0
    remarks: list[Remark] = field(default_factory=list)


def _look_at_head(source: Source, comments: str) -> _Head:
    """Cut the first lines of a text: as many as fit into a sample, and in any case some rows."""
    marks = tuple(mark.encode() for mark in comments)
    head = _Head()
    for number, end, line in _lines(source):
        if len(head.rows) > LONG_SAMPLE or (end > SAMPLE_BYTES and len(head.rows) > FEWEST_ROWS):
            break
        row = line.removesuffix(b"\n").rstrip(b"\r")
        while row.startswith(UTF8_BOM):
            row = row[len(UTF8_BOM) :]
        if marks and row.startswith(marks):
            head.comments += not head.rows
            if len(head.rows) < 2 and len(head.remarks) < LONG_SAMPLE:
                head.remarks.append(Remark(number, row[:LONGEST_REMARK].decode("utf-8", "replace"), len(head.rows)))
        elif row.strip():
            if not head.rows:
                head.first_line, head.first_end = number, end
            head.rows.append(row.decode("utf-8", errors="replace"))
    return head


def _lines(source: Source) -> Iterator[tuple[int, int, bytes]]:
    """Give line after line: its number, from 1, the first byte after it, and what it holds."""
    at, number, rest = 0, 0, b""
    while at < source.data.size:
        piece = source.data[at : at + PIECE].tobytes()
        at += len(piece)
        lines = _split_lines(rest + piece)
        rest = lines.pop() if at < source.data.size else b""
        end = at - len(rest) - sum(map(len, lines))
        for line in lines:
            number += 1
            end += len(line)
            if line:
                yield number, end, line
        if len(rest) > LONGEST_ROW:
            what = f"a row is longer than {LONGEST_ROW >> 20} MB"
            raise InputError(what, expected="one event a row", where=f"{source.where}, row {number + 1}")


def _split_lines(text: bytes) -> list[bytes]:
    """Cut a text after its newlines; what follows the last one comes last, even where it is nothing."""
    *lines, rest = text.split(b"\n")
    return [*(line + b"\n" for line in lines), rest]


def _width(body: list[list[str]], names: tuple[str, ...]) -> int:
    """Find how many cells rows have: as most of them, or as the header says where nearly as many do."""
    widths = Counter(len(row) for row in body)
    width, count = widths.most_common(1)[0]
    return len(names) if widths[len(names)] >= count / 2 else width


def split(row: str, delimiter: str) -> list[str]:
    """Cut one sample row into cells."""
    if delimiter == " ":
        return row.split()
    try:
        return next(csv.reader([row], delimiter=delimiter))
    except csv.Error:
        return row.split(delimiter)


def choose_delimiter(rows: list[str], fewest: int) -> str:
    """Choose the delimiter that cuts the most rows into the same number of cells, `fewest` or more."""

    def fit(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(split(row, delimiter)) for row in rows)
        width, count = max(widths.items(), key=lambda item: (item[0] >= fewest, item[1], item[0]))
        fraction = count / len(rows) if width >= fewest else 0.0
        return fraction * (0.5 if delimiter == " " else 1.0), width  # blanks also stand inside cells: others come first

    return max((*DELIMITERS, " "), key=fit)


def _is_value(cell: str) -> bool:
    return bool(NUMBER_CELL.fullmatch(cell) or DATE_CELL.fullmatch(cell))


def _has_header(table: list[list[str]]) -> bool:
    """Tell a row of names from a row of values: none of its cells is a number or a date, others below are."""
    first, rest = table[0], table[1:]
    if _counts_columns(first, rest):
        return True
    if any(_is_value(cell) for cell in first):
        return False
    if sum(is_role(cell) for cell in first) >= 2:
        return True
    if not any(_is_value(cell) for row in rest for cell in row):
        return not rest
    for column, name in enumerate(first):
        if any(len(row) > column and row[column] == name for row in rest):
            return False  # the cell turns up again as a value
    return len(set(first)) == len(first)


def _counts_columns(first: list[str], rest: list[list[str]]) -> bool:
    """Tell a header that only counts the columns, 0, 1, 2, as pandas writes one, from a row of values like any other.

    Below a row of values all columns hold such numbers. Here one holds words, dates or times that are far larger.
    """
    counted = first[1:] if first[0] == "" else first
    if len(counted) < 3 or counted != [str(place) for place in range(len(counted))]:
        return False
    columns = zip(*(row for row in rest if len(row) == len(first)), strict=True)
    return any(sum(not SMALL_NUMBER.fullmatch(cell) for cell in column) > len(column) / 2 for column in columns)


def _check_names(names: tuple[str, ...], fields: int, source: Source) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        cure = "rename one of them"
        raise InputError("a column is named twice", found=repr(twice[0]), cure=cure, where=f"{source.where}, header")
    tail = plain(names[-1]) if names else ""
    if names and len(names) != fields and not (fields > len(names) and ("features" in tail or "list" in tail)):
        expected, found = f"{fields} names, as the rows have {fields} cells", f"{len(names)} names"
        raise InputError("the header does not fit the rows", expected=expected, found=found, where=source.where)
