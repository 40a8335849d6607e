"""Ids to ask about, from a file: one row per question, a column for each end; and what files of few columns share."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from tadge.errors import InputError, listing
from tadge.graph import TemporalGraph
from tadge.io.roles import INTEGER_CELL
from tadge.io.sniff import SAMPLE_ROWS, choose_delimiter
from tadge.io.source import Source, check_utf8, open_source
from tadge.io.table import parquet_frame
from tadge.io.words import ROLE_NAMES, plain

ID_NAMES = {
    "src": [*ROLE_NAMES["src"], *"who id ids node nodeid nodes name".split()],
    "dst": [*ROLE_NAMES["dst"], "whom"],
}
COMMENTS = ("#", "%")
NUMBER_WORDS = {1: "one cell", 2: "two cells"}

Row = tuple[int, list[Any]]  # its number in the file, from 1, and its cells


def read_ids(path: str | Path, roles: Sequence[str], graph: TemporalGraph) -> list[list[Any]]:
    """Read ids from a file: a list for each role, such as "src" and "dst", of ids of the graph's type.

    CSV, TSV and the like, JSON lines and Parquet are read, also packed (.gz, .zst). A header is not needed; where there
    is one, its names say which column is which. Ids that the graph does not have are taken as they are.
    """
    cure = f"write one row for each: {','.join(roles)}"
    try:
        source = open_source(path)
    except InputError as error:
        if error.expected != "at least one event":
            raise
        raise InputError(error.what, expected="at least one row", cure=cure, where=str(path)) from None
    rows = {"text": _text_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[source.kind](source, roles, graph)
    columns: list[list[Any]] = [[] for _ in roles]
    for number, cells in rows:
        for column, cell in zip(columns, cells, strict=True):
            column.append(_checked_id(graph, cell, f"{path}, row {number}", cure))
    if not columns[0]:
        raise InputError("there is nothing in it to ask about", expected="at least one row", cure=cure, where=str(path))
    return columns


def as_id(graph: TemporalGraph, given: Any) -> Any:
    """Take what was written as an id of the graph: an integer where its ids are integers and this is one."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    name = "" if given is None else str(given).strip()
    if graph.ids.dtype == object or not INTEGER_CELL.fullmatch(name):
        return name
    limits = np.iinfo(np.int64)
    return int(name) if limits.min <= int(name) <= limits.max else name


def _checked_id(graph: TemporalGraph, given: Any, where: str, cure: str) -> Any:
    node = as_id(graph, given)
    if node == "":
        raise InputError("an id is missing", expected="an id in every cell", cure=cure, where=where)
    if graph.ids.dtype != object and isinstance(node, str):
        expected = "ids that are integers, as in the graph"
        raise InputError("an id of another type", expected=expected, found=repr(node), where=where)
    return node


# -- files to rows ----------------------------------------------------------------------------------------------------


def lines_of(source: Source, fewest: int) -> tuple[list[str], str]:
    """Give the lines of a text, and the character between its cells; refuse what is not UTF-8."""
    check_utf8(source)
    lines = list(StringIO(source.data.tobytes().decode("utf-8"), newline="\n"))
    sample = [line.rstrip("\r\n") for line in lines if line.strip()][:SAMPLE_ROWS]
    return lines, choose_delimiter(sample, fewest)


def cells_of(lines: list[str], start: int, delimiter: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Cut lines from one on into cells; give the number, from 1, of the line that each row ends on."""
    if delimiter == " ":
        yield from ((at, line.split()) for at, line in enumerate(lines[start:], start + 1) if line.strip())
        return
    reader = csv.reader(lines[start:], delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield start + reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"cannot be read ({error})", where=f"{where}, row {start + reader.line_num}") from None


def json_objects(source: Source, example: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the objects of JSON lines, with the number, from 1, of the line of each."""
    check_utf8(source)
    for number, line in enumerate(source.data.tobytes().decode("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            where = f"{source.where}, row {number}"
            raise InputError("not a JSON object", expected=example, found=line[:40], where=where)
        yield number, record


# -- which column is which --------------------------------------------------------------------------------------------


def _places(names: Sequence[str], roles: Sequence[str], where: str) -> list[int]:
    """Find the columns of the roles by their names; where there are no others, their order says it too."""
    simple, places = [plain(name) for name in names], []
    for role in roles:
        place = next((simple.index(name) for name in ID_NAMES[role] if name in simple), None)
        if place is None:
            if len(names) == len(roles):
                return list(range(len(roles)))
            expected, found = f"columns {' and '.join(roles)}", listing(names)
            cure = f"call {'them' if len(roles) > 1 else 'it'} {' and '.join(roles)}"
            raise InputError(f"there is no column of {role}", expected=expected, found=found, cure=cure, where=where)
        places.append(place)
    return places


def _text_rows(source: Source, roles: Sequence[str], graph: TemporalGraph) -> Iterator[Row]:
    where, known = source.where, set(graph.ids.tolist())
    lines, delimiter = lines_of(source, len(roles))
    start = 0
    while start < len(lines) and (not lines[start].strip() or _is_comment(lines[start], delimiter, graph, known)):
        start += 1
    places, width, rows = list(range(len(roles))), len(roles), cells_of(lines, start, delimiter, where)
    for row, (number, cells) in enumerate(rows):
        if row == 0 and _is_header(cells, roles, graph, known):
            places, width = _places(cells, roles, where), len(cells)
            continue
        if len(cells) != width:
            named = width != len(roles) or places != list(range(width))
            expected = f"{width} cells" if named else f"{NUMBER_WORDS[width]}, {' and '.join(roles)}"
            cure = f"name the columns in a header: {' and '.join(roles)}" if len(cells) > width else None
            raise InputError(
                "not a row of ids", expected=expected, found=f"{len(cells)}", cure=cure, where=f"{where}, row {number}"
            )
        yield number, [cells[place] for place in places]


def _is_comment(line: str, delimiter: str, graph: TemporalGraph, known: set[Any]) -> bool:
    return line.startswith(COMMENTS) and as_id(graph, line.split(delimiter, maxsplit=1)[0]) not in known


def _is_header(cells: list[str], roles: Sequence[str], graph: TemporalGraph, known: set[Any]) -> bool:
    """Tell names from ids: all roles are named, and not all names are ids too; or ids are integers, but no cell is."""
    named = [cell for cell in cells if any(plain(cell) in ID_NAMES[role] for role in roles)]
    if all(any(plain(cell) in ID_NAMES[role] for cell in named) for role in roles):
        return not all(as_id(graph, cell) in known for cell in named)
    return graph.ids.dtype != object and not any(isinstance(as_id(graph, cell), int) for cell in cells)


def _json_rows(source: Source, roles: Sequence[str], graph: TemporalGraph) -> Iterator[Row]:
    example = "{" + ", ".join(f'"{role}": ...' for role in roles) + "}"
    for number, record in json_objects(source, example):
        names = list(record)
        yield number, [record[names[place]] for place in _places(names, roles, f"{source.where}, row {number}")]


def _parquet_rows(source: Source, roles: Sequence[str], graph: TemporalGraph) -> Iterator[Row]:
    frame = parquet_frame(source)
    columns = [frame.to_series(place).to_list() for place in _places(frame.columns, roles, source.where)]
    yield from ((number, list(cells)) for number, cells in enumerate(zip(*columns, strict=True), 1))
