"""Tables 1 to 6: what the paper prints beside what came out here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from tadge.reproduction import printed
from tadge.reproduction.cells import CONTROLS, DATA, METHODS, PRINTED, RULES, SLOWER, TADGE, Cell, changed
from tadge.reproduction.records import Record
from tadge.reproduction.sizes import Size

RULE_NAMES = {"table3": "the mean ToE", "table4": "the most connected node", "table5": "the commonest class"}
INITS = {"random": "random", "deepwalk": "DeepWalk", "node2vec": "node2vec", "line": "LINE"}
DASH, SEPARATOR = "-", " / "


@dataclass(frozen=True)
class Grid:
    """Hold a table as words.

    Attributes:
        name: "table3" and the like.
        title: what it is called.
        lead: one sentence about how to read it.
        headings: of the columns; the first is that of the names of rows.
        rows: as many cells each.
        notes: what has to be said below it.
    """

    name: str
    title: str
    lead: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Found:
    """Hold all records that there are, to look figures up.

    Attributes:
        records: by cell.
        size: all settings.
        seeds: how many were asked for.
        name: of the data; `paper_name` what the paper calls them, or None.
    """

    records: Mapping[Cell, Record]
    size: Size
    seeds: int
    name: str
    paper_name: str | None

    def values(self, method: str, *keys: str) -> list[float]:
        """Give a figure of a method with every seed that it has been run with."""
        found = (self.figure(Cell(method, seed), *keys) for seed in range(self.seeds))
        return [value for value in found if value is not None]

    def figure(self, cell: Cell, *keys: str) -> Any:
        """Look a figure up; None where there is no such run, or it has no such figure."""
        value: Any = self.records.get(cell, {}).get("figures")
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value


def tables_of(subject: str, found: Found) -> Grid:
    """Make a table from the records that there are."""
    return TABLES[subject](found)


def _table1(found: Found) -> Grid:
    figures = found.records.get(Cell(DATA), {}).get("figures")
    headings = ["", "nodes", "events", "mean degree", "mean ToE, days", "std of ToE, days", "classes"]
    rows = []
    theirs = printed.STATISTICS.get(found.paper_name or "")
    if theirs is not None:
        rows.append([f"{found.paper_name}, paper", *(_plain(value) for value in theirs)])
    if figures is not None:
        keys = ("nodes", "events", "mean_degree", "mean_toe_days", "std_toe_days", "classes")
        rows.append([found.name, *(_plain(figures[key]) for key in keys)])
    return Grid("table1", "Table 1. Statistics of the data", "One row as printed, one as read here.", headings, rows)


def _table2(found: Found) -> Grid:
    figures, walks = found.records.get(Cell(DATA), {}).get("figures"), found.size.walks
    headings = ["", "walks m", "most nodes", "fewest nodes"]
    rows = []
    if found.paper_name in printed.WALKS:
        rows.append([f"{found.paper_name}, paper", *(f"{value:,}" for value in printed.WALKS[found.paper_name])])
    rows.append([found.name, f"{walks.num_walks:,}", str(walks.max_length), str(walks.min_length)])
    notes = []
    if figures is not None:
        counts = figures["walks"]
        notes.append(
            f"{counts['learn']:,} walks to learn from, {counts['choose']:,} to choose on, {counts['test']:,} to test"
            + (f"; {figures['shortfall']}" if figures["shortfall"] else "")
            + f". {figures['within longest']:.1%} of the walks that nothing cuts have at most {walks.max_length} nodes "
            'and at least the fewest (the paper: "over 98%").'
        )
    return Grid("table2", "Table 2. Walks", "How the graph was walked.", headings, rows, notes)


def _table3(found: Found) -> Grid:
    theirs = {name: (value,) for name, value in printed.TOE.get(found.paper_name or "", {}).items()}
    columns = [_Column("RMSE", (("toe", "rmse"),), theirs, smaller=True)]
    columns.append(_Column("with a constant", (("toe with a constant", "rmse"),), smaller=True))
    columns.append(_Column("median error, days", (("toe", "median error, days"),), smaller=True))
    lead = "Error of the squashed ToE, 2 arctan(days) / pi, of the edges of the test walks (Eq. 40); smaller is better."
    note = (
        "A network on walks is shown the ToE that it is then asked for: what is measured is how well it keeps it. The "
        "other vectors know no ToE; an elastic net learns it from the training part's vectors, without a constant as "
        "Eq. 36 is printed, and with one, which is fairer."
    )
    headings, rows = _compared(found, "table3", columns)
    return Grid("table3", "Table 3. ToE prediction", lead, headings, rows, [note])


def _table4(found: Found) -> Grid:
    columns = [
        _Column("among nodes, Micro / Macro-F1", _f1("edges among nodes"), printed.EDGES.get(found.paper_name or "")),
        _Column("among rows, Micro / Macro-F1", _f1("edges among rows")),
    ]
    lead = (
        "Every end of every test edge chooses its other end. Among nodes: the nearest of all test nodes by one vector "
        "each. Among rows: the likeliest row of a batch of test walks, which is what a network on walks puts out."
    )
    note = (
        "All methods embed the test part. A choice is right where the two nodes share a test edge; Micro is the "
        "fraction of right choices, Macro its mean over asking nodes."
    )
    headings, rows = _compared(found, "table4", columns)
    return Grid("table4", "Table 4. Static edge prediction", lead, headings, rows, [note])


def _table5(found: Found) -> Grid:
    columns = [
        _Column("as printed, Micro / Macro-F1", _f1("classes as printed"), printed.CLASSES.get(found.paper_name or "")),
        _Column("other nodes, Micro / Macro-F1", _f1("classes of other nodes")),
    ]
    lead = (
        "A support vector machine learns from vectors of the training part, and is asked about those of the test part."
    )
    shares = found.values(TADGE, "classes as printed", "in training too")
    notes = [
        "As printed: a test node may be in training too, with its label"
        + (f" ({mean(shares):.0%} of them are)" if shares else "")
        + "; random vectors show what that is worth. Other nodes: no node is in both, in five folds."
    ]
    headings, rows = _compared(found, "table5", columns)
    return Grid("table5", "Table 5. Classes of nodes", lead, headings, rows, notes)


def _table6(found: Found) -> Grid:
    tasks = [("edges among rows, Micro / Macro-F1", _f1("edges among rows"))]
    tasks += [("classes, Micro / Macro-F1", _f1("classes as printed")), ("ToE, RMSE", (("toe", "rmse"),))]
    headings = ["", *(f"{whose}{name}" for name, _ in tasks for whose in ("paper: ", ""))]
    rows = []
    for init, label in INITS.items():
        cell, row = changed(found.size, init=init), [label]
        theirs = iter(printed.INITIALISATION[init])
        for _, keys in tasks:
            row.append(SEPARATOR.join(f"{next(theirs):.4f}" for _ in keys))
            row.append(SEPARATOR.join(_number(found.figure(cell, *key)) for key in keys))
        rows.append(row)
    lead = f"TADGE after {found.size.study_epochs} epochs from other initial vectors; one seed."
    note = "The paper prints this table for Hyperlink alone."
    return Grid("table6", "Table 6. Initial vectors", lead, headings, rows, [note])


TABLES: dict[str, Callable[[Found], Grid]] = {
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "table4": _table4,
    "table5": _table5,
    "table6": _table6,
}


@dataclass(frozen=True)
class _Column:
    """Describe a column, which holds one figure or two.

    Attributes:
        heading: above it.
        keys: where the figures are in a record.
        theirs: what the paper prints, by method; None: the paper has no such column.
        smaller: whether less is better.
    """

    heading: str
    keys: tuple[tuple[str, ...], ...]
    theirs: Mapping[str, tuple[float, ...]] | None = None
    smaller: bool = False


def _f1(task: str) -> tuple[tuple[str, str], ...]:
    return (task, "micro-f1"), (task, "macro-f1")


def _compared(found: Found, subject: str, columns: Sequence[_Column]) -> tuple[list[str], list[list[str]]]:
    """Lay out all methods: for every column what the paper prints, where it has it, and what came out; best in bold."""
    names = [RULES, *CONTROLS, *METHODS]
    headings, rows = [""], {name: [RULE_NAMES[subject] if name == RULES else name] for name in names}
    measured = set()
    for column in columns:
        if column.theirs:
            headings.append(f"paper: {column.heading.rpartition(', ')[2]}")
            for name in names:
                printed_here = column.theirs.get(TADGE if name in (PRINTED, SLOWER) else name, ())
                rows[name].append(SEPARATOR.join(f"{value:.4f}" for value in printed_here) or DASH)
        headings.append(column.heading)
        values = {name: [found.values(name, *key) for key in column.keys] for name in names}
        measured |= {name for name in names if any(values[name])}
        best = [_best([values[name][place] for name in names], column.smaller) for place in range(len(column.keys))]
        for name in names:
            texts = [
                f"**{_spread(ours)}**" if ours and f"{mean(ours):.3f}" == top else _spread(ours)
                for ours, top in zip(values[name], best, strict=True)
            ]
            rows[name].append(SEPARATOR.join(texts) if any(values[name]) else DASH)
    for name in measured:
        runs = sum(Cell(name, seed) in found.records for seed in range(found.seeds))
        rows[name][0] += f" ({runs} of {found.seeds} seeds)" if runs < found.seeds else ""
    return headings, [rows[name] for name in names if name in measured]


def _best(values: Sequence[Sequence[float]], smaller: bool) -> str | None:
    means = [mean(given) for given in values if given]
    return f"{(min if smaller else max)(means):.3f}" if means else None


def _spread(values: Sequence[float], digits: int = 3) -> str:
    """Write a mean and, of several, the standard deviation."""
    if not values:
        return DASH
    text = f"{mean(values):.{digits}f}"
    return f"{text} ± {stdev(values):.{digits}f}" if len(values) > 1 else text


def _number(value: float | None, digits: int = 3) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def _plain(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
