"""Which column is which: who acts, on whom, when, how much, by what names and values say; ask where they do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations

from tadge.errors import InputError, listing
from tadge.io.options import ReadOptions
from tadge.io.words import (
    MEASURE_WORDS,
    OTHER_WORDS,
    ROW_WORDS,
    THING,
    TIME_UNIT,
    has_word,
    plain,
    side_of,
    time_words,
    two_kinds,
    weight_words,
    words_of,
)
from tadge.units import unix_unit

ROLES = ("src", "dst", "time", "weight", "type")
LOOKED_AT = 200  # cells of a column whose form is looked at; all that are at hand are compared with each other
MOST_CELLS = 0.6  # fraction of a column that must look like times; the others may be faulty
CLEAR = 0.75  # a choice is clear where its score is so much better than the next one's
LEAST = 0.0  # and not below this
SO_MANY = 12  # columns that are tried as ends
ENOUGH_ROWS = 8  # from which on it says something that all values of a column are different
COUNTED = 3  # from which on 0, 1, 2 are row numbers
MANY_ROWS = 20  # and that two columns always go together
SHOWN, OFFERED = 3, 4.0  # readings that are offered where none is clear: how many, and how much worse than the best

NUMBER_CELL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
COMMA_CELL = re.compile(r"\s*[+-]?\d{1,3}(\.\d{3})*,\d+\s*|\s*[+-]?\d+,\d+\s*")
INTEGER_CELL = re.compile(r"\s*(0|-?[1-9]\d{0,18})\s*")
DATE_CELL = re.compile(
    r"\s*\d{4}[-/]\d{1,2}([-/]\d{1,2})?([T ]\d{1,2}:\d{2}.*)?\s*|\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*"
    r"|\s*\[?\d{1,2}[/ -][A-Za-z]{3}[/ -]\d{4}.*|\s*[A-Za-z]{3}, \d{1,2} [A-Za-z]{3} \d{4} .*"
)
NO_NAME = re.compile(r"\d*|column_?\d+")  # what programs call columns that have no name
CLOCK_CELL = re.compile(r"\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([AaPp][Mm])?\s*")


class NoSuchColumnError(InputError):
    """A column that is asked for and not there."""


@dataclass(frozen=True)
class ColumnRoles:
    """Hold the column, counted from 0, of each role, and what the names of the columns state."""

    src: int
    dst: int
    time: int
    weight: int | None
    unit: str | None  # said by the name of the time column, as in time_ms
    clock: str | None  # likewise: "unix" for unix_days
    two_kinds: bool  # the names of the id columns say that they are of two kinds, like customer and agent
    apart: bool  # so much so that the same id on both sides is no accident: user 7 is not item 7
    day_time: int | None = None  # the column of the time of day, where it stands beside the date
    type: int | None = None  # only where it is asked for
    notes: tuple[str, ...] = ()

    def used(self) -> dict[str, int]:
        """Return the columns that are read, by role."""
        places = {"src": self.src, "dst": self.dst, "time": self.time}
        extra = {"weight": self.weight, "day_time": self.day_time, "type": self.type}
        return places | {role: at for role, at in extra.items() if at is not None}


@dataclass(frozen=True)
class Column:
    """Hold a sample of one column.

    Attributes:
        place: counted from 0.
        name: empty without a header.
        cells: of all rows of the sample that have it, stripped.
        names: of all columns.
    """

    place: int
    name: str
    cells: tuple[str, ...]
    names: tuple[str, ...]

    @cached_property
    def filled(self) -> list[str]:
        """Give the first cells that are not empty."""
        return [cell for cell in self.cells if cell][:LOOKED_AT]

    @cached_property
    def values(self) -> frozenset[str]:
        """Give the values that are not empty."""
        return frozenset(self.cells) - {""}

    @cached_property
    def all_different(self) -> bool:
        """Tell whether no value comes twice, in enough rows for that to mean something, or the rows are counted."""
        counted = len(self.cells) >= COUNTED and self.integers and _counts(self.filled)
        return counted or len(self.values) == len(self.cells) - self.cells.count("") >= ENOUGH_ROWS

    @cached_property
    def mostly_empty(self) -> bool:
        """Tell whether less than half of the cells hold something."""
        return self.cells.count("") > len(self.cells) / 2

    @cached_property
    def side(self) -> float:
        """Tell the side that the name is on."""
        return side_of(self.name, self.names) if self.name else 0.0

    def looks(self, form: re.Pattern[str]) -> bool:
        """Tell whether most of the cells have a form."""
        return bool(self.filled) and sum(bool(form.fullmatch(cell)) for cell in self.filled) >= MOST_CELLS * len(
            self.filled
        )

    @cached_property
    def integers(self) -> bool:
        """Tell whether all cells are integers."""
        return bool(self.filled) and all(INTEGER_CELL.fullmatch(cell) for cell in self.filled)

    @cached_property
    def numbers(self) -> bool:
        """Tell whether most cells are numbers, with decimal points or commas."""
        return self.looks(NUMBER_CELL) or self.looks(COMMA_CELL)

    @cached_property
    def fractions(self) -> bool:
        """Tell whether the cells are numbers that are not whole."""
        return self.numbers and not all(
            INTEGER_CELL.fullmatch(cell) or cell.isdigit() or cell.endswith(".0") for cell in self.filled
        )

    @cached_property
    def time_look(self) -> float:
        """Score the values as times: 4 dates, 3 Unix time, 1 rising numbers, 0.5 numbers, 0 neither."""
        if self.looks(DATE_CELL):
            return 4.0
        if not self.looks(NUMBER_CELL):
            return 0.0
        numbers = [float(cell) for cell in self.filled if NUMBER_CELL.fullmatch(cell)]
        if unix_unit(sorted(numbers)[len(numbers) // 2]) is not None:
            return 3.0
        return 1.0 if all(a <= b for a, b in pairwise(numbers)) and numbers[0] < numbers[-1] else 0.5


def _counts(cells: list[str]) -> bool:
    return all(int(b) - int(a) == 1 for a, b in pairwise(cells))


def find_columns(
    names: tuple[str, ...], sample: tuple[tuple[str, ...], ...], fields: int, options: ReadOptions, where: str
) -> ColumnRoles:
    """Give every role its column: as the options say, else by names and values; complain where it is not clear.

    Args:
        names: of the columns; empty without a header.
        sample: rows, cut into cells; the more, the better can values be compared.
        fields: cells of a row.
        options: the columns that are given; `yes` takes the likeliest where it is not clear.
        where: the file or table, for messages.
    """
    given: dict[str, int] = {}  # the column of each role
    for role in ROLES:
        column = getattr(options, role)
        if column is not None and (role != "weight" or column.lower() != "none"):
            given[role] = _place_of(column, names, fields, role, where)
    _check_twice(given, where)
    missing = [role for role in ("src", "dst", "time") if role not in given]
    if fields - len(set(given.values()) - {given.get("weight")}) < len(missing):
        expected = "at least three columns: who, with whom, when"
        cure = "say src='...', dst='...' and time='...', or delimiter='...'"
        raise InputError("a column is missing", expected=expected, found=f"{fields} per row", cure=cure, where=where)
    cells = [tuple(row[at].strip() for row in sample if len(row) > at) for at in range(fields)]
    named = not all(NO_NAME.fullmatch(name) for name in names)
    known = names if named else ()
    columns = [Column(at, known[at] if at < len(known) else "", cells[at], known) for at in range(fields)]
    times = _times(columns, given, named)
    readings = _readings(columns, given, times, named)
    readings = _distinct(readings, columns)
    best = readings[0]
    if not options.yes and not _is_clear(readings):
        raise _unclear(readings, names, given, where)
    place = given | best.places
    clock = _day_time(columns, place)
    weight, notes = _weight(columns, place, options, named, clock)
    src_name, dst_name, time_name = (columns[place[role]].name for role in ("src", "dst", "time"))
    unit = TIME_UNIT.fullmatch(plain(time_name))
    return ColumnRoles(
        *(place["src"], place["dst"], place["time"], weight),
        unit=unit.group(2) if unit else None,
        clock="unix" if unit and unit.group(1) == "unix" else None,
        two_kinds=two_kinds(src_name, dst_name),
        apart=two_kinds(src_name, dst_name)
        and (side_of(dst_name) == -THING or all(columns[place[end]].integers for end in ("src", "dst"))),
        day_time=clock,
        type=given.get("type"),
        notes=notes,
    )


def _place_of(column: str, names: tuple[str, ...], fields: int, role: str, where: str) -> int:
    """Find the column that the user gives by name or number."""
    if column in names:
        return names.index(column)
    number = int(column) if column.isdecimal() else -1
    if 0 <= number < fields:
        return number
    expected = listing(names) if names else f"a number from 0 to {fields - 1}"
    raise NoSuchColumnError(f"there is no such column for {role}", expected=expected, found=repr(column), where=where)


def _check_twice(given: dict[str, int], where: str) -> None:
    twice = {at for at, count in Counter(given.values()).items() if count > 1}
    if twice:
        both = " and ".join(role for role, at in given.items() if at in twice)
        raise InputError("one column for two roles", found=f"column {twice.pop()} as {both}", where=where)


# -- when --------------------------------------------------------------------------------------------------------------


def _times(columns: list[Column], given: dict[str, int], named: bool) -> list[tuple[float, Column]]:
    """Score the columns that may be the time, best first; columns that say the same in two ways count once."""
    if "time" in given:
        return [(0.0, columns[given["time"]])]
    free = [column for column in columns if column.place not in given.values()]
    if named:
        likely = [column for column in free if _may_be_time(column)]
        likely = [column for column in likely if column.time_look >= 3 or time_words(column.name) > 0]
        scores = [(column.time_look + time_words(column.name) - 4 * column.mostly_empty, column) for column in likely]
    else:
        scores = [(column.time_look, column) for column in free]
        late = [(score, column) for score, column in scores if column.place >= 2]
        scores = late if max((score for score, _ in late), default=0.0) >= 3 or len(free) < 3 else scores
        clear = [score for score in scores if score[0] >= 3]
        scores = clear or [score for score in late if score[0] > 0] or late or scores
        return [(9.0 * (k == 0), column) for k, (_, column) in enumerate(sorted(scores, key=lambda one: -one[0]))]
    if not scores:
        numeric = [(column.time_look, column) for column in free if column.time_look > 0 and not column.side]
        scores = numeric if numeric else [(0.0, column) for column in free]
    scores.sort(key=lambda one: -one[0])
    best = scores[0][1]
    return [scores[0], *(one for one in scores[1:] if not _same_in_two_ways(best, one[1], both_times=True))]


def _may_be_time(column: Column) -> bool:
    """Rule out ends that look like Unix time, such as phone numbers, unless their name says time as well."""
    return column.time_look >= 4 or not column.side or time_words(column.name) > 0


def _same_in_two_ways(one: Column, other: Column, both_times: bool = False) -> bool:
    """Tell whether two columns always go together, like a name and its number."""
    rows = min(len(one.cells), len(other.cells))
    if rows < MANY_ROWS or len(one.values) != len(other.values) or len(one.values) < 2:
        return False
    if both_times and not (one.time_look >= 3 and other.time_look >= 3 and {one.time_look, other.time_look} != {4.0}):
        return False  # two columns of dates are two moments, though no two rows share one
    if not both_times and (one.all_different or one.side * other.side < 0):
        return False
    return len(set(zip(one.cells, other.cells, strict=False))) <= len(one.values) + 1


def _day_time(columns: list[Column], place: dict[str, int]) -> int | None:
    """Find the time of day, where the time is a date alone and one column holds clock times."""
    time = columns[place["time"]]
    if time.time_look < 4 or any(":" in cell for cell in time.filled):
        return None
    clocks = [column.place for column in columns if column.looks(CLOCK_CELL) and column.place not in place.values()]
    beside = [at for at in clocks if at == time.place + 1]
    return clocks[0] if len(clocks) == 1 else beside[0] if beside else None


# -- who, with whom ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reading:
    """Hold one way to read the table: the roles that were not given, and how likely it is."""

    score: float
    ends: float  # the part of the score that is about the ends
    places: dict[str, int]


def _readings(
    columns: list[Column], given: dict[str, int], times: list[tuple[float, Column]], named: bool
) -> list[_Reading]:
    """Give the ways to read the table, likeliest first."""
    readings = []
    for score, time in times[:SHOWN]:
        taken = {time.place, *(at for role, at in given.items() if role != "weight")}
        pairs = _pairs(columns, given, taken, named)
        extra = {} if "time" in given else {"time": time.place}
        readings += [_Reading(score + one.score, one.score, one.places | extra) for one in pairs]
    return sorted(readings, key=lambda one: -one.score)


def _pairs(columns: list[Column], given: dict[str, int], taken: set[int], named: bool) -> list[_Reading]:
    """Score the pairs of columns that may be the ends."""
    if "src" in given and "dst" in given:
        return [_Reading(0.0, 0.0, {})]
    free = [column for column in columns if column.place not in taken]
    rows = [column for column in free if column.all_different and not column.fractions]
    merit = {column.place: _merit(column, rows, named) for column in columns}
    likely = sorted((column for column in free), key=lambda one: -merit[one.place])[:SO_MANY]
    fixed = [columns[given[role]] for role in ("src", "dst") if role in given]
    readings = []
    for a, b in _ordered(likely, given, columns):
        if a.side == b.side == 0 and a.place > b.place and not fixed:
            continue  # nothing tells them apart but their order
        score = (merit[a.place] + merit[b.place]) + a.side - b.side + _shared(a, b)
        if not named:
            score += 1.5 * ([column.place for column in free[:2]] == [a.place, b.place])
        elif _bare(a) == _bare(b) and _bare(a):
            score += 1.0
        if not named or len(free) == 2 - len(fixed):
            score = max(score, LEAST)  # there is nothing else
        places = {role: column.place for role, column in (("src", a), ("dst", b)) if role not in given}
        readings.append(_Reading(score, score, places))
    return readings


def _ordered(likely: list[Column], given: dict[str, int], columns: list[Column]) -> Iterable[tuple[Column, Column]]:
    if "src" in given:
        return [(columns[given["src"]], column) for column in likely]
    if "dst" in given:
        return [(column, columns[given["dst"]]) for column in likely]
    return permutations(sorted(likely, key=lambda one: one.place), 2)


def _bare(column: Column) -> set[str]:
    """Give the words of a name that say nothing about sides."""
    return {word for word in words_of(column.name) if not side_of(word)}


def _merit(column: Column, rows: list[Column], named: bool) -> float:
    """Score a column as an end, whichever of the two."""
    name, merit = column.name, 0.0
    if column.all_different:
        merit -= 1.5 if column.side else 3.0
    if len(column.values) < 2 and len(column.cells) >= ENOUGH_ROWS:
        merit -= 3.0
    if column.mostly_empty:
        merit -= 2.0
    if column.fractions or column.time_look >= 4:
        merit -= 6.0
    elif column.time_look == 3 and not column.side and not named:
        merit -= 2.0
    if column.filled and sum(map(len, column.filled)) > 30 * len(column.filled) and _has_blanks(column):
        merit -= 4.0
    if any(column is not row and _refers(column, row) for row in rows):
        merit -= 5.0
    if len(column.values) <= (6 if not column.side else 4) and len(column.cells) >= MANY_ROWS:
        merit -= 1.0
    if not named:
        return merit
    if has_word(name, MEASURE_WORDS) and column.numbers:
        merit -= 4.0
    if has_word(name, OTHER_WORDS):
        merit -= 1.0 if column.side else 3.0
    if not column.side and (has_word(name, ROW_WORDS) or words_of(name) == ("id",)):
        merit -= 1.5
    return merit - (0.5 if column.integers and not column.side else 0.0)


def _has_blanks(column: Column) -> bool:
    return sum(" " in cell for cell in column.filled) > len(column.filled) / 2


def _refers(column: Column, rows: Column) -> bool:
    """Tell whether a column names rows of the same table: most of its values are values of a row id."""
    if len(column.values) < 3 or len(column.values & rows.values) <= len(column.values) / 2:
        return False
    return not rows.integers or bool(_bare(column) & _bare(rows) - {"id"})  # numbers are alike by chance


def _shared(a: Column, b: Column) -> float:
    """Score what two columns share: ends that are of one kind have values in common."""
    common, most = len(a.values & b.values), max(len(a.values), len(b.values), 1)
    if a.integers and b.integers:
        return 1.0 if common > 0.2 * most and most >= 5 else 0.0  # small numbers are alike by chance
    return 2.0 if common > 0.1 * most else 0.5 if common else 0.0


def _distinct(readings: list[_Reading], columns: list[Column]) -> list[_Reading]:
    """Leave out readings that differ from a better one only in how the same ends are spelled, by name or by number."""
    kept: list[_Reading] = []
    for reading in readings[: SO_MANY * SHOWN]:
        if not any(_same_ends(reading.places, other.places, columns) for other in kept):
            kept.append(reading)
    return kept


def _same_ends(one: dict[str, int], other: dict[str, int], columns: list[Column]) -> bool:
    return all(one[role] == other[role] or _same_in_two_ways(columns[one[role]], columns[other[role]]) for role in one)


def _is_clear(readings: list[_Reading]) -> bool:
    """Tell whether the best reading is the only one, or good and so much better than all others."""
    if len(readings) < 2:
        return True
    best = readings[0]
    return best.score - readings[1].score >= CLEAR and best.ends >= LEAST


# -- to ask ------------------------------------------------------------------------------------------------------------


def _unclear(readings: list[_Reading], names: tuple[str, ...], given: dict[str, int], where: str) -> InputError:
    """Say that it is not clear which column is which, with calls that are ready to paste."""

    def word(at: int) -> str:
        return repr(names[at] if at < len(names) and names[at] else at)

    calls = []
    likely = [one for one in readings if one.score >= readings[0].score - OFFERED]
    for reading in likely[:SHOWN]:
        place = given | reading.places
        said = ", ".join(f"{role}={word(place[role])}" for role in ("src", "dst", "time"))
        calls.append(f"\n  read_events({where!r}, {said})")
    cure = "say which, or yes=True for the first of:" + "".join(calls)
    return InputError("it is not clear which column is which", cure=cure, where=where)


# -- how much ----------------------------------------------------------------------------------------------------------


def _weight(
    columns: list[Column], place: dict[str, int], options: ReadOptions, named: bool, clock: int | None
) -> tuple[int | None, tuple[str, ...]]:
    """Find the weight, and say where a column might be one; ids and codes are no weights."""
    if options.weight is not None:
        return place.get("weight"), ()
    free = [column for column in columns if column.place not in (*place.values(), clock)]
    if not named:
        return _unnamed_weight(free)
    ranked = sorted((weight_words(column.name), column.place) for column in free if column.numbers)
    ranked = [(rank, at) for rank, at in ranked if rank and not _is_code(columns[at])]
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        several = " or ".join(repr(columns[at].name) for _, at in ranked[:SHOWN])
        name = columns[ranked[0][1]].name
        return None, (f"the weight might be {several}: none was taken; say weight={name!r} for it",)
    return (ranked[0][1] if ranked else None), ()


def _unnamed_weight(free: list[Column]) -> tuple[int | None, tuple[str, ...]]:
    if len(free) != 1 or not free[0].looks(NUMBER_CELL):
        return None, ()
    at = free[0].place
    if _is_code(free[0]):
        return None, (f"column {at} holds numbers that look like ids: no weight; weight={at} takes it",)
    return at, ()


def _is_code(column: Column) -> bool:
    """Tell numbers that name something, like zip codes and row numbers, from numbers that count."""
    cells = column.filled
    if any(len(cell) > 1 and cell[0] == "0" and cell.isdigit() for cell in cells):
        return True
    if not column.integers:
        return False
    five = len(column.values) > 5 and all(len(cell) == 5 for cell in cells)
    return five or (column.all_different and column.time_look == 1.0)
