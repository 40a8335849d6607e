"""Infer the form of a delimited text from its first rows: delimiter, header, width."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass

from tadge.errors import InputError
from tadge.io.options import ReadOptions
from tadge.io.roles import DATE_CELL, NUMBER_CELL
from tadge.io.source import Source
from tadge.io.words import is_role, plain

SAMPLE_BYTES = 1 << 22
SAMPLE_ROWS, LONG_SAMPLE = 200, 10_000  # rows whose form is looked at; rows whose values are compared
SAMPLE_CELLS = 400_000  # at most: wide tables have shorter samples
DELIMITERS = (",", "\t", ";", "|")
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}


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
    """

    delimiter: str
    fields: int
    names: tuple[str, ...]
    sample: tuple[tuple[str, ...], ...]
    offset: int
    lines_before: int
    comments_before: int
    comments: str


def sniff(source: Source, options: ReadOptions) -> Dialect:
    """Find delimiter, header and width of a text from its head."""
    comments = "#%" if options.comments is None else "" if options.comments == "none" else options.comments
    head = source.data[:SAMPLE_BYTES].tobytes()
    lines = head.decode("utf-8", errors="replace").split("\n")
    if source.data.size > SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # cut in the middle
    rows: list[str] = []
    numbers: list[int] = []
    comments_before = 0
    for number, line in enumerate(lines):
        row = line.rstrip("\r")
        if comments and row.startswith(tuple(comments)):
            comments_before += not rows
        elif row.strip():
            rows.append(row)
            numbers.append(number)
        if len(rows) > LONG_SAMPLE:
            break
    if not rows:
        what = "only comments and blank lines" if comments_before else "only blank lines"
        cure = "say comments='none' if rows may start with # or %" if comments_before else None
        raise InputError(what, expected="at least one event", cure=cure, where=str(source.path))

    delimiter = {None: None, "space": " ", "tab": "\t"}.get(options.delimiter, options.delimiter)
    delimiter = delimiter or choose_delimiter(rows[:SAMPLE_ROWS], 3)
    first = [split(row, delimiter) for row in rows[:SAMPLE_ROWS]]
    length = max(SAMPLE_ROWS, SAMPLE_CELLS // max(map(len, first)))
    table = first + [split(row, delimiter) for row in rows[SAMPLE_ROWS:length]]
    header = options.header if options.header is not None else _has_header(first)
    names = tuple(name.strip() for name in table[0]) if header else ()
    body = table[1:] if header else table
    if not body:
        found = "a header: " + ", ".join(names)
        raise InputError(
            "there is no event in it", expected="rows after the header", found=found, where=str(source.path)
        )
    fields = _width(body, names)
    lines_before = numbers[0] + 1 if header else 0
    offset = 0
    for _ in range(lines_before):
        offset = head.find(b"\n", offset) + 1
    before = comments_before if header else 0
    _check_names(names, fields, source)
    sample = tuple(tuple(row) for row in body if len(row) == fields)
    return Dialect(delimiter, fields, names, sample, offset, lines_before, before, comments)


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


def _check_names(names: tuple[str, ...], fields: int, source: Source) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        cure = "rename one of them"
        raise InputError("a column is named twice", found=repr(twice[0]), cure=cure, where=f"{source.path}, header")
    tail = plain(names[-1]) if names else ""
    if names and len(names) != fields and not (fields > len(names) and ("features" in tail or "list" in tail)):
        expected, found = f"{fields} names, as the rows have {fields} cells", f"{len(names)} names"
        raise InputError("the header does not fit the rows", expected=expected, found=found, where=str(source.path))
