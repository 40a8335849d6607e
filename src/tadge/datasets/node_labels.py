"""Labels of nodes: from a file of the user's, or by the rules of the known data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tadge import datasets
from tadge.arrays import Ints
from tadge.datasets.registry import Dataset
from tadge.errors import DatasetError, InputError
from tadge.graph import TemporalGraph
from tadge.io.id_rows import COMMENTS, cells_of, json_objects, lines_of
from tadge.io.sniff import split
from tadge.io.source import Source, open_source
from tadge.io.table import parquet_frame
from tadge.io.words import plain

LABEL_COLUMNS = {
    "id": "id ids node nodeid nodes vertex vertexid user userid name".split(),
    "label": "label labels class classes classid category community group y".split(),
}
_CURE = "write one row per node: id,label"


@dataclass(frozen=True, eq=False)
class Labels:
    """Hold the classes of a graph's nodes.

    Attributes:
        classes: the names of the classes, in order of class number.
        values: (N,) int64, the class of each node; -1 where it has none.
    """

    classes: list[str]
    values: Ints

    def __post_init__(self) -> None:
        self.values.flags.writeable = False


class _Row(NamedTuple):
    """Hold one row of a file: its number, from 1, and its two cells."""

    number: int
    node: Any
    label: Any


def labels_for(graph: TemporalGraph, ids: Sequence[Any], labels: Sequence[Any]) -> Labels:
    """Put labels to the nodes that they belong to.

    Args:
        graph: whose nodes.
        ids: the user's ids; in a bipartite graph sources come before targets where both have an id.
        labels: as many; classes are in order of number where all are integers, else of their names.
    """
    if len(ids) != len(labels):
        found = f"{len(ids):,} ids and {len(labels):,} labels"
        raise InputError("ids and labels differ in length", expected="as many", found=found, where="labels")
    rows = (_Row(number, node, label) for number, (node, label) in enumerate(zip(ids, labels, strict=True), 1))
    return _assign(graph, rows, "labels")


def read_labels(path: str | Path, graph: TemporalGraph) -> Labels:
    """Read the labels of a graph's nodes from a file: one row per node, `id,label`.

    CSV, TSV and the like, JSON lines and Parquet are read, also packed (.gz, .zst). A header is not needed; where there
    is one, its names say which column is which.
    """
    try:
        source = open_source(path)
    except InputError as error:
        if error.expected != "at least one event":
            raise
        raise InputError(error.what, expected="at least two rows", cure=_CURE, where=str(path)) from None
    rows = {"text": _text_rows, "jsonl": _json_rows, "parquet": _parquet_rows}[source.kind](source, graph)
    return _assign(graph, rows, str(path))


def known_labels(data: str | Path, graph: TemporalGraph) -> Labels | None:
    """Give the labels of a known data set, or None where it has none, or is not known.

    Args:
        data: the name of a data set; or a file, which is known by its checksum, whatever it is called.
        graph: the data set, read.
    """
    path = Path(data)
    if path.is_file():
        dataset = _recognise(path)
        try:
            return None if dataset is None else labels_for(graph, *datasets.labels(dataset, path.absolute()))
        except DatasetError:  # the labels have a file of their own, which is not here
            return None
    if not datasets.is_known(str(data)) or datasets.find(str(data)).labels is None:
        return None
    return labels_for(graph, *datasets.labels(str(data)))


# -- rows to nodes ----------------------------------------------------------------------------------------------------


def _assign(graph: TemporalGraph, rows: Iterable[_Row], where: str) -> Labels:
    number_of = _numbers(graph)
    row_of: dict[int, _Row] = {}
    unknown: list[_Row] = []
    row = None
    for row in rows:
        label, node = _clean(row.label), number_of.get(_as_id(graph, row.node))
        if label == "":
            cure = "leave the row out where a node has no label"
            raise InputError("a label is missing", found=repr(row.node), cure=cure, where=f"{where}, row {row.number}")
        if node is None:
            unknown.append(row)
        elif row_of.setdefault(node, row._replace(label=label)).label != label:
            first = row_of[node]
            found = f"{row.node!r}: {first.label!r} in row {first.number} and {label!r}"
            raise InputError("two labels for one node", expected="one", found=found, where=f"{where}, row {row.number}")
    if row is None:
        raise InputError("there are no labels in it", expected="at least two rows", cure=_CURE, where=where)
    if unknown:
        first = unknown[0]
        found = f"{len(unknown):,} of {len(unknown) + len(row_of):,}, the first {_clean(first.node)!r}"
        cure = "take those rows out" + (
            ", or call the columns id and label if it is a header" if first.number == 1 else ""
        )
        expected = f"ids of the graph's {graph.num_nodes:,} nodes"
        at = f"{where}, row {first.number}"
        raise InputError("labels of unknown nodes", expected=expected, found=found, cure=cure, where=at)
    classes = _in_order({row.label for row in row_of.values()})
    if len(classes) < 2:
        raise InputError("there is only one class", expected="two or more", found=repr(classes[0]), where=where)
    values, place = np.full(graph.num_nodes, -1, np.int64), {name: number for number, name in enumerate(classes)}
    values[list(row_of)] = [place[row.label] for row in row_of.values()]
    return Labels(classes, values)


def _numbers(graph: TemporalGraph) -> dict[Any, int]:
    """Map ids to node numbers; the first wins."""
    ids = graph.ids.tolist()
    return dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))


def _as_id(graph: TemporalGraph, node: Any) -> Any:
    """Take an id as the graph has it: an integer, or a string."""
    name = _clean(node)
    return int(name) if graph.ids.dtype != object and _is_integer(name) else name


def _clean(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _in_order(names: set[str]) -> list[str]:
    return sorted(names, key=lambda name: (int(name), name)) if all(map(_is_integer, names)) else sorted(names)


def _is_integer(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


# -- files to rows ----------------------------------------------------------------------------------------------------


def _columns(names: Sequence[str], where: str) -> tuple[int, int]:
    """Find the columns of ids and of labels by their names; of two columns, one may have any name."""
    simple = [plain(name) for name in names]
    places = {
        role: next((simple.index(name) for name in known if name in simple), None)
        for role, known in LABEL_COLUMNS.items()
    }
    node, label = places["id"], places["label"]
    if len(names) == 2 and (node is None) != (label is None):
        node, label = (1 - label, label) if label is not None else (node, 1 - (node or 0))
    if node is None or label is None:
        found, cure = ", ".join(map(repr, names)), "call them id and label"
        what = f"there is no column of {'ids' if node is None else 'labels'}"
        raise InputError(what, expected="columns id and label", found=found, cure=cure, where=where)
    return node, label


def _text_rows(source: Source, graph: TemporalGraph) -> Iterator[_Row]:
    where, known = source.where, _numbers(graph)
    start, (lines, delimiter) = 0, lines_of(source, 2)
    while start < len(lines) and _is_skipped(lines[start], delimiter, graph, known):
        start += 1
    node, label, width = 0, 1, 2
    for number, cells in cells_of(lines, start, delimiter, where):
        if number == start + 1 and _is_header(cells, graph, known):
            node, label = _columns(cells, where)
            width = len(cells)
            continue
        if len(cells) != width:
            expected, at = f"{width} cells" if width > 2 else "two cells, id and label", f"{where}, row {number}"
            cure = "name the columns in a header: id and label" if width == 2 < len(cells) else _CURE
            raise InputError("not a row of labels", expected=expected, found=f"{len(cells)}", cure=cure, where=at)
        yield _Row(number, cells[node], cells[label])


def _is_skipped(line: str, delimiter: str, graph: TemporalGraph, known: dict[Any, int]) -> bool:
    """Tell blank lines and comments at the top of a file from rows: a row begins with a node."""
    cells = split(line.strip(), delimiter)
    return not cells or (line.startswith(COMMENTS) and _as_id(graph, cells[0]) not in known)


def _is_header(cells: list[str], graph: TemporalGraph, known: dict[Any, int]) -> bool:
    """Tell names from values: both columns have names that we know; or one has, and the first is no node."""
    names = {plain(cell) for cell in cells}
    hits = sum(bool(names.intersection(LABEL_COLUMNS[role])) for role in LABEL_COLUMNS)
    return hits == 2 or (hits == 1 and _as_id(graph, cells[0]) not in known)


def _json_rows(source: Source, graph: TemporalGraph) -> Iterator[_Row]:
    for number, record in json_objects(source, '{"id": ..., "label": ...}'):
        names = list(record)
        node, label = _columns(names, f"{source.where}, row {number}")
        yield _Row(number, record[names[node]], record[names[label]])


def _parquet_rows(source: Source, graph: TemporalGraph) -> Iterator[_Row]:
    frame = parquet_frame(source)
    node, label = _columns(frame.columns, source.where)
    columns = frame.to_series(node).to_list(), frame.to_series(label).to_list()
    yield from (_Row(number, *cells) for number, cells in enumerate(zip(*columns, strict=True), 1))


# -- known data sets --------------------------------------------------------------------------------------------------


def _recognise(path: Path) -> Dataset | None:
    """Find the labelled data set whose events a file holds."""
    packed, size = path.suffix == ".gz", path.stat().st_size
    for dataset in datasets.list_datasets():
        if dataset.labels is None or not (packed or size == dataset.file.known_by.size):
            continue
        if dataset.file.fault_of(path, packed) is None:
            return dataset
    return None
