"""Compiled look at the bytes of a delimited text: are all rows whole? Where are those that are not?

The typed parser that comes afterwards fills short rows and skips blank ones in silence; these loops do not.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Flags, Ints
from tadge.io.packed import Bytes
from tadge.io.source import NEWLINE, RETURN

SPACE, TAB, ZERO, NINE, PLUS, MINUS = 32, 9, 48, 57, 43, 45
TWO_THREADS = 1 << 24  # bytes from which a second thread pays
NO_BYTE = 256  # stands for "no such character": no quotes, no comments
_ROW, _BLANK_LINE, _COMMENT_LINE = range(3)  # kinds of lines
_QUOTED, _STRAY_QUOTE, _OPEN_QUOTE, _PADDED, _ZERO_LED, _LONGEST_ID, _NUL, _LONE_RETURN = range(8)  # places in `seen`
_NUM_SEEN = 8
_BOM = (0xEF, 0xBB, 0xBF)


class Scan(NamedTuple):
    """Say what the rows of a text look like; `..._line` are line numbers from 1, 0 where there is none.

    Attributes:
        rows: rows that are neither blank nor comments; a header counts.
        blank: blank lines.
        comments: comment lines.
        comment_row_line: first comment after data that has as many fields as a row.
        bad: rows with another number of fields than expected.
        quoted: some field starts with a quote.
        stray_quote_line: first row with a quote inside an unquoted field, or with something behind a closing quote.
        open_quote_line: row whose quote never closes.
        padded: some field, within its quotes if it has some, starts or ends with a blank.
        zero_led: some id is a number written in a second way (007, +7, -0).
        longest_id: bytes of the longest id.
        longest_id_line: its row.
        nul_line: first row with a NUL byte.
        late_skips: blank lines or comments stand after the first row.
        lone_return_line: first row with a carriage return inside a field that is used, outside of quotes.
        marked: lines that begin with a byte order mark.
    """

    rows: int
    blank: int
    comments: int
    comment_row_line: int
    bad: int
    quoted: int
    stray_quote_line: int
    open_quote_line: int
    padded: int
    zero_led: int
    longest_id: int
    longest_id_line: int
    nul_line: int
    late_skips: int
    lone_return_line: int
    marked: int


@numba.njit(cache=True, nogil=True)
def _line_kind(data: Bytes, i: int, delimiter: int, comment_a: int, comment_b: int) -> int:
    """Tell rows, blank lines and comments apart by the line that starts at i."""
    byte = data[i]
    if byte == comment_a or byte == comment_b:
        return _COMMENT_LINE
    while i < data.size and (data[i] == SPACE or data[i] == TAB or data[i] == RETURN) and data[i] != delimiter:
        i += 1
    return _BLANK_LINE if i >= data.size or data[i] == NEWLINE else _ROW


@numba.njit(cache=True, nogil=True)
def _ordinary_bytes(delimiter: int, quote: int) -> Flags:
    """Mark the bytes, (256,), that mean nothing but themselves."""
    ordinary = np.ones(NO_BYTE + 1, np.bool_)
    for byte in (0, NEWLINE, RETURN, delimiter, quote):
        ordinary[byte] = False
    return ordinary


@numba.njit(cache=True, nogil=True)
def _note_field(data: Bytes, start: int, end: int, quote: int, is_id: bool, seen: Ints) -> None:
    """Note in `seen` whether a field is padded and, of an id, its length and whether it is a number written oddly."""
    if data[start] == quote and end - start > 2:
        head, tail = data[start + 1], data[end - 2]
    else:
        head, tail = data[start], data[end - 1]
    if head == SPACE or head == TAB or tail == SPACE or tail == TAB:
        seen[_PADDED] = 1
    if not is_id:
        return
    seen[_LONGEST_ID] = max(seen[_LONGEST_ID], end - start)
    if data[start] > ZERO:
        return  # most ids: quotes, blanks and signs come before the digits
    if data[start] == quote and end - start > 2:
        start, end = start + 1, end - 1
    while start < end and (data[start] == SPACE or data[start] == TAB):
        start += 1
    more = end - start > 1
    first, second = data[start] if start < end else 0, data[start + 1] if more else 0
    if (first == ZERO and ZERO <= second <= NINE) or first == PLUS or (first == MINUS and second == ZERO):
        seen[_ZERO_LED] = 1


@numba.njit(cache=True, nogil=True)
def _lone_return(data: Bytes, i: int) -> int:
    """Tell a carriage return at i that ends a line (0), or is one of several that do (1), from one in a row (2)."""
    after = i + 1
    while after < data.size and data[after] == RETURN:
        after += 1
    if after < data.size and data[after] != NEWLINE:
        return 2
    return 1 if after > i + 1 else 0


@numba.njit(cache=True, nogil=True)
def _is_marked(data: Bytes, i: int) -> bool:
    """Tell whether a byte order mark stands at i."""
    return i + 2 < data.size and data[i] == _BOM[0] and data[i + 1] == _BOM[1] and data[i + 2] == _BOM[2]


@numba.njit(cache=True, nogil=True)
def _walk_row(
    data: Bytes, i: int, delimiter: int, quote: int, id_a: int, id_b: int, used: Flags, ordinary: Flags, seen: Ints
) -> tuple[int, int, int]:
    """Pass over one row from i; note what it holds in `seen`; return its end (at its newline), fields and newlines."""
    n = data.size
    fields, newlines, start, returns = 1, 0, i, 0
    in_quotes = False
    while True:
        if not in_quotes:
            while i < n and ordinary[data[i]]:
                i += 1
        byte = data[i] if i < n else NEWLINE
        if in_quotes and i < n:
            if byte == quote:
                if i + 1 < n and data[i + 1] == quote:
                    i += 1
                else:
                    in_quotes = False
                    after = data[i + 1] if i + 1 < n else NEWLINE
                    if after != delimiter and after != NEWLINE and after != RETURN:
                        seen[_STRAY_QUOTE] = 1
            elif byte == NEWLINE:
                newlines += 1
            i += 1
            continue
        if byte == delimiter or byte == NEWLINE:
            end = i
            if byte == NEWLINE and end > start and data[end - 1] == RETURN:
                end -= 1
            is_id = fields - 1 == id_a or fields - 1 == id_b
            if end > start:
                _note_field(data, start, end, quote, is_id, seen)
            if returns and (is_id or (returns > 1 and fields <= used.size and used[fields - 1])):
                seen[_LONE_RETURN] = 1
            returns = 0
            if byte == NEWLINE:
                if in_quotes:
                    seen[_OPEN_QUOTE] = 1
                return i, fields, newlines
            fields += 1
            start = i + 1
        elif byte == quote:
            if i == start:
                in_quotes = True
                seen[_QUOTED] = 1
            else:
                seen[_STRAY_QUOTE] = 1
        elif byte == 0:
            seen[_NUL] = 1
        elif byte == RETURN:
            returns = max(returns, _lone_return(data, i))
        i += 1


@numba.njit(cache=True, nogil=True)
def _scan(
    data: Bytes,
    delimiter: int,
    quote: int,
    expected: int,
    comment_a: int,
    comment_b: int,
    id_a: int,
    id_b: int,
    used: Flags,
) -> Scan:
    """Find what `Scan` names in one pass."""
    rows, blank, comments, bad, late_skips, marked = 0, 0, 0, 0, 0, 0
    comment_row_line, stray_quote_line, open_quote_line, longest_id_line, nul_line = 0, 0, 0, 0, 0
    lone_return_line = 0
    ordinary = _ordinary_bytes(delimiter, quote)
    seen = np.zeros(_NUM_SEEN, np.int64)
    i, line = 0, 0
    while i < data.size:
        line += 1
        marked += _is_marked(data, i)
        kind = _line_kind(data, i, delimiter, comment_a, comment_b)
        if kind != _ROW:
            nothing = np.zeros(_NUM_SEEN, np.int64)
            end, fields, _ = _walk_row(data, i, delimiter, NO_BYTE, -1, -1, used, ordinary, nothing)
            blank += kind == _BLANK_LINE
            comments += kind == _COMMENT_LINE
            if rows > 0:
                late_skips = 1
                if kind == _COMMENT_LINE and fields == expected and comment_row_line == 0:
                    comment_row_line = line
            i = end + 1
            continue
        longest = seen[_LONGEST_ID]
        seen[_STRAY_QUOTE], seen[_OPEN_QUOTE], seen[_NUL], seen[_LONE_RETURN] = 0, 0, 0, 0
        end, fields, newlines = _walk_row(data, i, delimiter, quote, id_a, id_b, used, ordinary, seen)
        rows += 1
        bad += fields != expected
        if seen[_STRAY_QUOTE] and stray_quote_line == 0:
            stray_quote_line = line
        if seen[_OPEN_QUOTE]:
            open_quote_line = line
        if seen[_LONGEST_ID] > longest:
            longest_id_line = line
        if seen[_NUL] and nul_line == 0:
            nul_line = line
        if seen[_LONE_RETURN] and lone_return_line == 0:
            lone_return_line = line
        line += newlines
        i = end + 1
    quoted, padded, zero_led, longest_id = seen[_QUOTED], seen[_PADDED], seen[_ZERO_LED], seen[_LONGEST_ID]
    return Scan(
        *(rows, blank, comments, comment_row_line, bad, quoted, stray_quote_line, open_quote_line, padded, zero_led),
        *(longest_id, longest_id_line, nul_line, late_skips, lone_return_line, marked),
    )


def scan(
    data: Bytes,
    delimiter: int,
    quote: int,
    fields: int,
    comments: tuple[int, int],
    id_columns: tuple[int, int],
    used: Flags,
) -> Scan:
    """Look at every byte of a text once; large texts without quotes on two threads."""

    def part(piece: Bytes) -> Scan:
        return _scan(piece, delimiter, quote, fields, *comments, *id_columns, used)  # type: ignore[no-any-return]

    if data.size < TWO_THREADS:
        return part(data)
    middle = data.size // 2
    newline = np.flatnonzero(data[middle : middle + (1 << 20)] == NEWLINE)
    if not newline.size:
        return part(data)
    cut = middle + int(newline[0]) + 1
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(part, (data[:cut], data[cut:]))
    if first.quoted or second.quoted:  # the cut may lie inside a quotation
        return part(data)
    return _joined(first, second)


def _joined(first: Scan, second: Scan) -> Scan:
    """Put the scans of two pieces of a text together."""
    lines = first.rows + first.blank + first.comments
    sums = {
        name: getattr(first, name) + getattr(second, name) for name in ("rows", "blank", "comments", "bad", "marked")
    }
    flags = {name: getattr(first, name) | getattr(second, name) for name in ("padded", "zero_led", "late_skips")}
    where = {
        name: getattr(first, name) or (getattr(second, name) and getattr(second, name) + lines)
        for name in ("comment_row_line", "stray_quote_line", "open_quote_line", "nul_line", "lone_return_line")
    }
    longer = second.longest_id > first.longest_id
    return first._replace(
        **sums,
        **{**flags, "late_skips": flags["late_skips"] or int(first.rows > 0 and second.blank + second.comments > 0)},
        **where,
        longest_id=max(first.longest_id, second.longest_id),
        longest_id_line=second.longest_id_line + lines if longer else first.longest_id_line,
    )


@numba.njit(cache=True, nogil=True)
def _row_lines(
    data: Bytes, delimiter: int, quote: int, comment_a: int, comment_b: int, num_rows: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the line number, the number of fields, the first byte and the end of every row, (num_rows,) each."""
    lines = np.empty(num_rows, np.int64)
    fields = np.empty(num_rows, np.int64)
    start = np.empty(num_rows, np.int64)
    stop = np.empty(num_rows, np.int64)
    ordinary = _ordinary_bytes(delimiter, quote)
    seen, used = np.zeros(_NUM_SEEN, np.int64), np.zeros(0, np.bool_)
    i, line, row = 0, 0, 0
    while i < data.size:
        line += 1
        kind = _line_kind(data, i, delimiter, comment_a, comment_b)
        if kind != _ROW:
            end, _, newlines = _walk_row(data, i, delimiter, NO_BYTE, -1, -1, used, ordinary, seen)
        else:
            end, count, newlines = _walk_row(data, i, delimiter, quote, -1, -1, used, ordinary, seen)
            lines[row], fields[row], start[row], stop[row] = line, count, i, end
            row += 1
            line += newlines
        i = end + 1
    return lines, fields, start, stop


class RowPlaces(NamedTuple):
    """Say where each row of a text stands, (R,) each; a header counts."""

    line: Ints
    fields: Ints
    start: Ints
    stop: Ints


def find_rows(data: Bytes, delimiter: int, quote: int, comments: tuple[int, int], num_rows: int) -> RowPlaces:
    """Find every row of a text that was scanned before."""
    return RowPlaces(*_row_lines(data, delimiter, quote, *comments, num_rows))


@numba.njit(cache=True, nogil=True)
def copy_rows(data: Bytes, start: Ints, stop: Ints) -> Bytes:
    """Copy rows, given by their first byte and end, into a text of their own."""
    size = 0
    for r in range(start.size):
        size += stop[r] - start[r] + 1
    out = np.empty(size, np.uint8)
    at = 0
    for r in range(start.size):
        n = stop[r] - start[r]
        out[at : at + n] = data[start[r] : stop[r]]
        out[at + n] = NEWLINE
        at += n + 1
    return out


@numba.njit(cache=True, nogil=True)
def collapse_blanks(data: Bytes) -> Bytes:
    """Turn every run of spaces and tabs into one tab and drop those at both ends of a line; lines stay lines."""
    out = np.empty(data.size, np.uint8)
    at = 0
    gap, filled = False, False
    for byte in data:
        if byte == SPACE or byte == TAB or byte == RETURN:
            gap = True
        elif byte == NEWLINE:
            out[at] = byte
            at += 1
            gap, filled = False, False
        else:
            if gap and filled:
                out[at] = TAB
                at += 1
            out[at] = byte
            at += 1
            gap, filled = False, True
    return out[:at]


@numba.njit(cache=True, nogil=True)
def drop_marks(data: Bytes) -> Bytes:
    """Copy a text without the byte order marks at the starts of its lines."""
    out = np.empty(data.size, np.uint8)
    i, at, starts = 0, 0, True
    while i < data.size:
        if starts and _is_marked(data, i):
            i += 3
            continue
        out[at] = data[i]
        at += 1
        starts = data[i] == NEWLINE
        i += 1
    return out[:at]
