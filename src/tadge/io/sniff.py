"""Infer the form of a delimited text from its first rows: delimiter, header, and which column is which."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from tadge.errors import InputError
from tadge.io.options import ReadOptions
from tadge.io.source import Source
from tadge.units import ALIASES, PER_DAY, unix_unit

SAMPLE_BYTES, SAMPLE_ROWS = 1 << 18, 200
DELIMITERS = (",", "\t", ";", "|")
DELIMITER_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}
ROLES = ("src", "dst", "time", "weight")
MOST_CELLS = 0.6  # fraction of a column that must look like times; the others may be faulty

NUMBER_CELL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
INTEGER_CELL = re.compile(r"\s*(0|-?[1-9]\d{0,18})\s*")
DATE_CELL = re.compile(
    r"\s*\d{4}[-/]\d{1,2}([-/]\d{1,2})?([T ]\d{1,2}:\d{2}.*)?\s*|\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*"
)
CLOCK_CELL = re.compile(r"\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*")

ROLE_NAMES = {
    "src": "src source from u i user userid sender author authorid sourceid sourcenode sourcesubreddit fromid fromnode "
    "fromnodeid rater caller follower citing node1 nodea srcid start customer customerid buyer".split(),
    "dst": "dst dest destination target to v j item itemid receiver recipient targetid targetnode targetsubreddit toid "
    "tonode tonodeid ratee callee followee cited node2 nodeb dstid end product productid seller".split(),
    "time": "time timestamp t ts date datetime unixtime unixts unixtimestamp epoch created createdat createdutc when "
    "year timestep sentat tov".split(),
    "weight": "weight w rating value amount score sentiment linksentiment count strength".split(),
}
USERS = {"user", "userid", "customer", "customerid"}
ITEMS = {"item", "itemid", "product", "productid"}
TIME_UNIT = re.compile(r"(time|timestamp|ts|t|date|epoch|unix)(" + "|".join([*PER_DAY, *ALIASES]) + ")")


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


@dataclass(frozen=True)
class ColumnRoles:
    """Hold the column, counted from 0, of each role, and what the names of the columns state."""

    src: int
    dst: int
    time: int
    weight: int | None
    unit: str | None  # said by the name of the time column, as in time_ms
    clock: str | None  # likewise: "unix" for unix_days
    bipartite: bool  # said by the names of the id columns

    def used(self) -> dict[str, int]:
        """Return the columns that are read, by role."""
        places = {"src": self.src, "dst": self.dst, "time": self.time}
        return places if self.weight is None else places | {"weight": self.weight}


def plain(name: str) -> str:
    """Reduce a column's name to lower-case letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


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
        if len(rows) > SAMPLE_ROWS:
            break
    if not rows:
        what = "only comments and blank lines" if comments_before else "only blank lines"
        cure = "say comments='none' if rows may start with # or %" if comments_before else None
        raise InputError(what, expected="at least one event", cure=cure, where=str(source.path))

    delimiter = {None: None, "space": " ", "tab": "\t"}.get(options.delimiter, options.delimiter)
    delimiter = delimiter or choose_delimiter(rows, 3)
    table = [split(row, delimiter) for row in rows]
    header = options.header if options.header is not None else _has_header(table)
    names = tuple(name.strip() for name in table[0]) if header else ()
    body = table[1:] if header else table
    if not body:
        found = "a header: " + ", ".join(names)
        raise InputError(
            "there is no event in it", expected="rows after the header", found=found, where=str(source.path)
        )
    fields = Counter(len(row) for row in body).most_common(1)[0][0]
    lines_before = numbers[0] + 1 if header else 0
    offset = 0
    for _ in range(lines_before):
        offset = head.find(b"\n", offset) + 1
    before = comments_before if header else 0
    _check_names(names, fields, source)
    return Dialect(delimiter, fields, names, tuple(tuple(row) for row in body), offset, lines_before, before, comments)


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
    known = {name for role in ROLES for name in ROLE_NAMES[role]}
    if sum(plain(cell) in known for cell in first) >= 2:
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


# -- which column is which --------------------------------------------------------------------------------------------


def find_columns(
    names: tuple[str, ...], sample: tuple[tuple[str, ...], ...], fields: int, options: ReadOptions, where: str
) -> ColumnRoles:
    """Give every role its column: as the options say, by name, or by what the values look like."""
    place: dict[str, int] = {}  # of the column of each role
    for role in ROLES:
        column = getattr(options, role)
        if column is not None and (role != "weight" or column.lower() != "none"):
            place[role] = _place_of(column, names, fields, role, where)
    simple = [plain(name) for name in names]
    for role in ROLES:
        if role in place or getattr(options, role) is not None:
            continue
        for name in ROLE_NAMES[role]:
            if name in simple and simple.index(name) not in place.values():
                place[role] = simple.index(name)
                break
    if "time" not in place:
        for at, name in enumerate(simple):
            if TIME_UNIT.fullmatch(name) and at not in place.values():
                place["time"] = at
                break
    _by_looks(place, sample, fields, bool(names), options, where)
    unit = TIME_UNIT.fullmatch(simple[place["time"]]) if place["time"] < len(simple) else None
    src_name, dst_name = (simple[place[role]] if place[role] < len(simple) else "" for role in ("src", "dst"))
    twice = {at for at, count in Counter(place.values()).items() if count > 1}
    if twice:
        both = " and ".join(role for role, at in place.items() if at in twice)
        raise InputError("one column for two roles", found=f"column {twice.pop()} as {both}", where=where)
    return ColumnRoles(
        place["src"],
        place["dst"],
        place["time"],
        place.get("weight"),
        unit.group(2) if unit else None,
        "unix" if unit and unit.group(1) == "unix" else None,
        src_name in USERS and dst_name in ITEMS,
    )


def _place_of(column: str, names: tuple[str, ...], fields: int, role: str, where: str) -> int:
    """Find the column that the user gives by name or number."""
    if column in names:
        return names.index(column)
    number = int(column) if column.isdecimal() else -1
    if 0 <= number < fields:
        return number
    expected = ", ".join(repr(name) for name in names) if names else f"a number from 0 to {fields - 1}"
    raise InputError(f"there is no such column for {role}", expected=expected, found=repr(column), where=where)


def _looks_like_time(values: list[str]) -> float:
    """Score a column: 3 dates, 2 Unix time, 1 rising numbers, 0.5 numbers, 0 neither."""
    if not values:
        return 0.0
    most = MOST_CELLS * len(values)
    if sum(bool(DATE_CELL.fullmatch(value)) for value in values) >= most:
        return 3.0
    numbers = [float(value) for value in values if NUMBER_CELL.fullmatch(value)]
    if len(numbers) < most:
        return 0.0
    middle = sorted(numbers)[len(numbers) // 2]
    if unix_unit(middle) is not None:
        return 2.0
    rising = all(a <= b for a, b in pairwise(numbers)) and numbers[0] < numbers[-1]
    return 1.0 if rising else 0.5


def _by_looks(
    place: dict[str, int],
    sample: tuple[tuple[str, ...], ...],
    fields: int,
    named: bool,
    options: ReadOptions,
    where: str,
) -> None:
    """Fill the roles that neither options nor names have settled."""
    cells = [[row[column] for row in sample if len(row) > column] for column in range(fields)]
    free = [column for column in range(fields) if column not in place.values()]
    missing = sum(role not in place for role in ("src", "dst", "time"))
    if len(free) < missing:
        expected = "at least three columns: who, with whom, when"
        cure = "say src='...', dst='...' and time='...', or delimiter='...'"
        raise InputError("a column is missing", expected=expected, found=f"{fields} per row", cure=cure, where=where)
    if "time" not in place:
        score = {column: _looks_like_time(cells[column]) for column in free}
        last = free[2:] if missing == 3 else free
        clear = [column for column in last if score[column] >= 2] or [c for c in free if score[c] >= 2]
        choice = clear or sorted((c for c in last if score[c] > 0), key=lambda c: -score[c]) or last
        place["time"] = choice[0]
        free.remove(choice[0])
    for role in ("src", "dst"):
        if role not in place:
            place[role] = free.pop(0)
    after = place["time"] + 1
    if after < fields and cells[after] and all(CLOCK_CELL.fullmatch(value) for value in cells[after]):
        cure = "join them, as in 2015-06-30T12:00:00"
        raise InputError("date and time of day are in two columns", expected="one", cure=cure, where=where)
    rest = [column for column in free if column not in place.values()]
    if "weight" not in place and options.weight is None and not named and len(rest) == 1:
        values = cells[rest[0]]
        if values and all(NUMBER_CELL.fullmatch(value) for value in values):
            place["weight"] = rest[0]
