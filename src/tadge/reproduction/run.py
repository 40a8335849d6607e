"""`reproduce`: run what is missing, keep a record of each run, write tables, figures and the page from all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from tadge import datasets
from tadge.arrays import Ints
from tadge.datasets.node_labels import known_labels
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.progress import Bars
from tadge.reproduction.cells import DATA, RULES, SUBJECTS, Cell, all_cells
from tadge.reproduction.drawings import PANELS, drawn, need_matplotlib
from tadge.reproduction.page import write_page
from tadge.reproduction.records import About, Record, RecordFolder, differences, read_about, records_in
from tadge.reproduction.sizes import QUICK, Size, size_for
from tadge.reproduction.tables import TABLES, Found, Grid, tables_of
from tadge.reproduction.work import Workshop
from tadge.storage.atomic import atomic_file
from tadge.storage.folder import one_writer
from tadge.synthetic import forum
from tadge.units import duration_text

REPORT, TABLES_FILE, FIGURES = "report.html", "tables.md", "figures"
QUICK_NAME, QUICK_EVENTS = "synthetic forum", 3_000
DEFAULT_DATA, SEEDS = "bitcoin-otc", 3
ASKING = 2.0  # epochs that it takes to ask and to measure
EPOCHS_WORTH = {
    **{DATA: 0.1, RULES: 0.1, "random vectors": 3.0, "random vectors + neighbours": 3.0, "degree + age": 2.0},
    **{"DeepWalk": 8.0, "CTDNE": 3.0, "GraphSAGE": 10.0},
}  # runs that are no network on walks


@dataclass(frozen=True)
class Reproduction:
    """Hold what came out.

    Attributes:
        folder: where everything is.
        report: the page.
        grids: the tables.
        records: of all runs, by cell.
        seconds: that this call took.
    """

    folder: Path
    report: Path
    grids: Sequence[Grid]
    records: dict[Cell, Record]
    seconds: float


@dataclass(frozen=True)
class Material:
    """Hold what is reproduced on.

    Attributes:
        name: of the data; `paper_name` what the paper calls them, or None.
        graph: the data.
        labels: (N,) class numbers, -1 without one; None where there are none.
        size: all settings.
        quick: whether it is the short form.
    """

    name: str
    paper_name: str | None
    graph: TemporalGraph
    labels: Ints | None
    size: Size
    quick: bool

    @property
    def about(self) -> About:
        """Tell what the records are of."""
        return About.of(self.name, self.graph, self.size, self.quick)


def material_of(data: str, *, quick: bool = False) -> Material:
    """Load a known data set with its labels; for the quick form, a small synthetic graph whose nodes have labels."""
    if quick:
        made = forum(QUICK_EVENTS, seed=0)
        busy = (made.graph.degree > np.median(made.graph.degree)).astype(np.int64)
        return Material(QUICK_NAME, None, made.graph, busy, QUICK, True)
    known = datasets.find(data)
    graph = datasets.load(known, quiet=True)
    found = known_labels(known.name, graph)
    return Material(
        known.name,
        known.paper_name,
        graph,
        None if found is None else found.values,
        size_for(graph, known.paper_name),
        False,
    )


def reproduce(
    subjects: Sequence[str] = ("all",),
    data: str = DEFAULT_DATA,
    out: str | PathLike[str] = "reproduction",
    *,
    seeds: int = SEEDS,
    quick: bool = False,
    force: bool = False,
    run: bool = True,
    device: str | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the paper's tables and figures again; what has a record already is not run twice.

    Args:
        subjects: names of tables and figures, like "table3" and "fig4"; "all" for everything.
        data: a known data set's name.
        out: folder for records, tables, figures and the page.
        seeds: how many, of the methods that are compared.
        quick: a short form on a small synthetic graph, which shows that everything runs.
        force: run everything again, and replace the records that are there.
        run: run what has no record; False: write tables, figures and the page from the records that there are.
        device: where to train.
        progress: whether to show bars; by default where people can see them.
        say: is told every finished run; by default they are lines above the bars.
    """
    began = time.perf_counter()
    wanted = subjects_of(subjects)
    if any(subject in PANELS for subject in wanted):
        need_matplotlib()
    material = material_of(data, quick=quick)
    count = 1 if quick else seeds
    folder = RecordFolder(out, material.about)
    with one_writer(folder.place), Bars(progress) as bars:
        folder.begin(force=force)
        workshop = Workshop(material.graph, material.labels, material.size, device, progress)
        cells = all_cells(wanted, material.size, count)
        if not run:
            cells = [cell for cell in cells if folder.read(cell) is not None]
        records = _run_all(cells, folder, workshop, say or bars.say)
        found = Found(records, material.size, count, material.name, material.paper_name)
        grids = _write_all(folder.place, found, material.about, wanted)
    return Reproduction(folder.place, folder.place / REPORT, grids, records, time.perf_counter() - began)


def subjects_of(names: Sequence[str]) -> list[str]:
    """Take names of tables and figures apart, in the paper's order; "all" is everything."""
    asked = {name.lower() for name in names} or {"all"}
    unknown = sorted(asked - set(SUBJECTS) - {"all"})
    if unknown:
        expected = f"all, or some of {', '.join(SUBJECTS)}"
        raise InputError("unknown table or figure", expected=expected, found=", ".join(unknown))
    return [subject for subject in SUBJECTS if "all" in asked or subject in asked]


def _run_all(
    cells: Sequence[Cell], folder: RecordFolder, workshop: Workshop, say: Callable[[str], None]
) -> dict[Cell, Record]:
    """Run what has no record yet; say after each how much is left, by what the runs so far took."""
    records, left = {}, []
    for cell in cells:
        record = folder.read(cell)
        if record is None:
            left.append(cell)
        else:
            records[cell] = record
    if records and left:
        say(f"{len(records)} of {len(cells)} runs are done already")
    planned, spent, weight = sum(_weight(cell, workshop.size) for cell in left), 0.0, 0.0
    for number, cell in enumerate(left, 1):
        record = workshop.run(cell)
        records[cell] = folder.write(cell, record)
        spent += record["seconds"]
        weight += _weight(cell, workshop.size)
        remaining = spent / weight * (planned - weight)
        rest = f", about {duration_text(remaining)} left" if number < len(left) and weight >= 1 else ""
        say(f"{number} of {len(left)}: {cell}: {duration_text(record['seconds'])}{rest}")
    return {cell: records[cell] for cell in cells}


def _weight(cell: Cell, size: Size) -> float:
    """Guess how long a run takes, in epochs of the network at this size."""
    if cell.method in EPOCHS_WORTH:
        return EPOCHS_WORTH[cell.method]
    changes = dict(cell.changes)
    blocks, heads = changes.get("blocks", size.blocks), changes.get("heads", size.heads)
    shape = blocks * heads * changes.get("dim", size.dim) / (size.blocks * size.heads * size.dim)
    return float(ASKING + (cell.epochs or size.epochs) * changes.get("fraction", 1.0) * shape)


def _write_all(place: Path, found: Found, about: About, wanted: Sequence[str]) -> list[Grid]:
    """Write tables, figures and the page."""
    grids = [tables_of(subject, found) for subject in wanted if subject in TABLES]
    with atomic_file(place / TABLES_FILE, "w") as file:
        file.write("\n".join(markdown(grid) for grid in grids))
    drawings = {}
    for subject in wanted:
        made = drawn(subject, found) if subject in PANELS else None
        if made is not None:
            drawings[subject] = made
            for kind, content in made.items():
                with atomic_file(place / FIGURES / f"{subject}.{kind}") as file:
                    file.write(content)
    write_page(place / REPORT, found, about, grids, drawings)
    return grids


def markdown(grid: Grid) -> str:
    """Write a table as Markdown."""
    lines = [f"### {grid.title}\n", f"{grid.lead}\n", "| " + " | ".join(grid.headings) + " |"]
    lines.append("|---" * len(grid.headings) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in grid.rows]
    return "\n".join([*lines, "", *(f"{note}\n" for note in grid.notes)])


def check_records(
    folder: str | PathLike[str],
    name: str | None = None,
    *,
    device: str | None = None,
    progress: bool | None = None,
) -> tuple[Cell, list[str]]:
    """Run one cell of a folder again, and compare with its record; nothing is written.

    Args:
        folder: that `reproduce` made.
        name: of a record, without .json; by default the one that took the least time of those that learn.
        device: where to train.
        progress: whether to show bars.

    Returns:
        The cell, and a line for every figure that differs by more than rounding; none: all are the same.
    """
    place = Path(folder)
    found = read_about(place)
    material = material_of(found["data"], quick=found["quick"])
    kept = RecordFolder(place, material.about)
    if found["fingerprint"] != material.graph.fingerprint:
        expected, other = f"data {found['fingerprint']}", material.graph.fingerprint
        raise InputError("the data are not those of the records", expected=expected, found=other, where=str(place))
    cell = _chosen(place, name)
    record = kept.read(cell)
    assert record is not None
    workshop = Workshop(material.graph, material.labels, material.size, device, progress)
    return cell, differences(record["figures"], workshop.run(cell)["figures"])


def _chosen(place: Path, name: str | None) -> Cell:
    """Find the cell of a record by its name; without one, the quickest of those that learn."""
    records = records_in(place)
    named = {cell: record for cell, record in records.items() if name in (None, cell.name)}
    if not named:
        names = ", ".join(cell.name for cell in records)
        expected = f"one of {names}" if names else "a folder with records"
        raise InputError("no such record", expected=expected, found=name or "none", where=str(place))
    learned = [cell for cell, record in named.items() if record.get("history")] or list(named)
    return min(learned, key=lambda cell: named[cell]["seconds"])
