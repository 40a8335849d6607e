"""Read JSON lines: one object a row; integers stay integers, keys are given once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import polars as pl

from tadge.errors import EmptyFileError, InputError, bounded
from tadge.io.options import ReadOptions
from tadge.io.roles import find_columns
from tadge.io.sniff import LONG_SAMPLE
from tadge.io.source import Source, check_utf8
from tadge.io.table import EXACT, REASONS_SHOWN, EventTable, Reason, make_table

LONGEST_REASON = 100  # characters
IDS = ("src", "dst")
HALF = b"\\ud"  # so begins what may be half a character


class _Twice(dict[str, Any]):
    """An object some of whose keys were given twice; the last value counts."""

    keys_twice: frozenset[str] = frozenset()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    twice = _Twice(record)
    names = [name for name, _ in pairs]
    twice.keys_twice = frozenset(name for name in record if names.count(name) > 1)
    return twice


_decoder = json.JSONDecoder(object_pairs_hook=_object)


def read_jsonl(source: Source, options: ReadOptions) -> EventTable:
    """Read JSON lines: one object a row, the same keys throughout."""
    where = source.where
    check_utf8(source)
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    dropped: list[Reason] = []
    bad = blank = 0
    halves: set[int] = set()  # rows that may hold half a character
    for number, line in enumerate(source.data.tobytes().split(b"\n"), start=1):
        if not line.strip():
            blank += 1
            continue
        record = _decoded(line)
        if isinstance(record, dict):
            if HALF in line.lower():
                halves.add(len(records))
            records.append(record)
            lines.append(number)
        else:
            bad += 1
            if len(dropped) < REASONS_SHOWN:
                dropped.append(Reason(where, number, f"expected a JSON object, {record}"))
    if not records:
        if not dropped:
            raise EmptyFileError("there is no event in it", expected="one JSON object a line", where=where)
        raise InputError(dropped[0].text, expected="one object a line", where=f"{where}, row {dropped[0].line}")
    names = tuple(dict.fromkeys(key for record in records[:LONG_SAMPLE] for key in record))
    sample = tuple(tuple(str(record.get(name, "")) for name in names) for record in records[:LONG_SAMPLE])
    columns = find_columns(names, sample, len(names), options, where)
    wanted = [names[at] for at in columns.used().values()]
    faults, notes = _faults(records, wanted, halves)
    if faults:
        dropped += [Reason(where, lines[row], text) for row, text in list(faults.items())[:REASONS_SHOWN]]
        records = [record for row, record in enumerate(records) if row not in faults]
        lines = [line for row, line in enumerate(lines) if row not in faults]
    used = {role: _column(records, lines, names[at], role, where) for role, at in columns.used().items()}
    return make_table(
        *(used, columns, names, where, "JSON lines" + (f", {source.packing}" if source.packing else "")),
        lambda row: (where, lines[row]),
        dropped=bad + len(faults),
        dropped_reasons=tuple(sorted(dropped)[:REASONS_SHOWN]),
        blank=max(0, blank - 1),  # what follows the last newline is no line
        notes=notes,
    )


def _decoded(line: bytes) -> Any:
    """Decode a line; give a string that says why where it is no object."""
    try:
        record = _decoder.decode(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return bounded(str(error), LONGEST_REASON)
    return record if isinstance(record, dict) else f"found {type(record).__name__}"


def _faults(
    records: list[dict[str, Any]], wanted: Iterable[str], halves: Iterable[int]
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Find rows that give a wanted key twice, or half a character for one; and note other keys given twice."""
    faults, others = {}, 0
    for row in sorted(halves):
        for name in wanted:
            if _is_half(records[row].get(name)):
                faults[row] = f"{name!r}: expected text, found half a character: {ascii(records[row][name])[:60]}"
    for row, record in enumerate(records):
        if isinstance(record, _Twice):
            twice = [name for name in wanted if name in record.keys_twice]
            if twice:
                faults[row] = f"expected every key once, found {twice[0]!r} twice"
            else:
                others += 1
    note = f"in {others:,} rows a key that does not matter is given twice"
    return dict(sorted(faults.items())), (note,) if others else ()


def _is_half(value: Any) -> bool:
    """Tell a string that holds half a character: a surrogate without its other half."""
    return isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value)


def _column(records: list[dict[str, Any]], lines: list[int], name: str, role: str, where: str) -> pl.Series:
    """Collect one key of all records; ids keep their type, so a number and a string in one column are a mistake."""
    values = [record.get(name) for record in records]
    kinds = {type(value) for value in values} - {type(None)}
    if role in IDS and kinds == {str}:
        return pl.Series(values, dtype=pl.String).str.strip_chars(" \t")
    if role in IDS and float in kinds and kinds <= {int, float}:
        values = [_whole(value, lines[row], role, where) for row, value in enumerate(values)]
        kinds = {int}
    if kinds <= {int} or kinds <= {int, float}:
        if any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values):
            return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
        return pl.Series(values, dtype=pl.Int64 if kinds <= {int} else pl.Float64)
    if kinds <= {str} or (role not in IDS and kinds <= {str, int, float}):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    first = next(type(value) for value in values if value is not None)
    row, value = next(
        (i, v) for i, v in enumerate(values) if v is not None and (type(v) is not first or first not in (int, str))
    )
    found = f"{type(value).__name__} {str(value)[:40]!r}"
    expected = f"{first.__name__}, as in the rows before" if first in (int, str) else "integers or strings"
    raise InputError(f"{role} has mixed types", expected=expected, found=found, where=f"{where}, row {lines[row]}")


def _whole(value: Any, line: int, role: str, where: str) -> Any:
    """Take 2.0 among integers as 2; refuse what is no integer, or too large for a float to tell from its neighbours."""
    if not isinstance(value, float):
        return value
    if not value.is_integer() or abs(value) > EXACT:
        expected = "integers or strings" + (", no floats above 2**53" if abs(value) > EXACT else "")
        what = f"{role} is not a column of ids"
        raise InputError(what, expected=expected, found=repr(value), where=f"{where}, row {line}")
    return int(value)
