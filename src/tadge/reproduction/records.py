"""Records of runs: a JSON file per cell, which tells what was run, by which code, on which data, and what came out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path
from typing import Any

from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.reproduction.cells import Cell, same_cell
from tadge.reproduction.sizes import Size
from tadge.storage.atomic import atomic_file
from tadge.version import __version__

ABOUT, RECORDS, FORMAT = "reproduction.json", "records", "tadge reproduction"
CODE = (
    *("graph", "walks", "deepwalk", "network"),
    *(f"embedding/{name}.py" for name in ("batches", "device", "estimator", "inference", "initial", "loop", "presets")),
    *("embedding/source.py", "embedding/table.py"),
    *("baselines/of_parts.py", "baselines/ctdne.py", "baselines/graphsage.py", "baselines/vectors.py"),
    *("evaluation/nearest.py", "evaluation/classes.py", "evaluation/metrics.py"),
    *("reproduction/judge.py", "reproduction/work.py"),
)  # rooms and files that figures depend on; not those that answer forecasts
FILES_ALONE = ("walks/store.py",)  # of these rooms: reads and writes files, and no figure depends on it
TOLERANCE = 1e-6  # between two runs of one cell, at the same number of threads

Record = dict[str, Any]


@cache
def code_mark() -> str:
    """Give a mark of the code that figures depend on, whatever the commit: 12 letters of a hash of its files."""
    digest, root = blake2b(digest_size=6), files("tadge")
    for place in CODE:
        for name, text in _sources(root.joinpath(place), place):
            if name not in FILES_ALONE:
                digest.update(name.encode())
                digest.update(text)
    return digest.hexdigest()


def _sources(place: Traversable, name: str) -> Iterable[tuple[str, bytes]]:
    if place.is_file():
        yield name, place.read_bytes()
        return
    for entry in sorted(place.iterdir(), key=lambda one: one.name):
        if entry.name.endswith(".py"):
            yield f"{name}/{entry.name}", entry.read_bytes()


@dataclass(frozen=True)
class About:
    """Tell what all records of a folder are of.

    Attributes:
        data: name of the data; `nodes`, `events` and `fingerprint` are the graph's.
        size: all settings.
        quick: whether it is the short form, which says nothing about the paper.
    """

    data: str
    nodes: int
    events: int
    fingerprint: str
    size: dict[str, Any]
    quick: bool

    @classmethod
    def of(cls, name: str, graph: TemporalGraph, size: Size, quick: bool) -> About:
        """Describe a graph and a size."""
        plain = json.loads(json.dumps(asdict(size)))
        return cls(name, graph.num_nodes, graph.num_events, graph.fingerprint, plain, quick)


class RecordFolder:
    """Keep the records of one data set in a folder.

    Args:
        place: the folder.
        about: what they are of.
    """

    def __init__(self, place: str | PathLike[str], about: About) -> None:
        self.place, self.about = Path(place), about

    def begin(self, *, force: bool = False) -> None:
        """Make the folder, or take up the one there is; refuse one of other data, settings or version."""
        found = read_about(self.place) if (self.place / ABOUT).exists() else None
        if found is None and self.place.exists() and any(self._others()):
            expected, cure = "a new folder, or one that tadge reproduce made", "give another one with out"
            raise InputError("the folder is in use", expected=expected, found=str(self.place), cure=cure, where="out")
        if found is not None and found != {"version": __version__} | asdict(self.about) and not force:
            theirs = f"tadge {found['version']}, {found['data']}, {found['events']:,} events"
            if found["quick"]:
                theirs += ", the quick form"
            cure = "give another folder with out, or replace these records with force"
            expected = f"records of tadge {__version__}, {self.about.data}, with these settings"
            raise InputError("records of something else", expected=expected, found=theirs, cure=cure, where="out")
        if force:
            for place in (self.place / RECORDS).glob("*.json"):
                place.unlink()
        meta = {"format": FORMAT, "version": __version__} | asdict(self.about)
        _write(self.place / ABOUT, meta)

    def _others(self) -> Iterable[Path]:
        return (place for place in self.place.iterdir() if not place.name.startswith("."))

    def read(self, cell: Cell) -> Record | None:
        """Give the record of a cell; None where there is none."""
        place = self.place / RECORDS / f"{cell.name}.json"
        if not place.exists():
            return None
        record = _read(place)
        if not isinstance(record.get("cell"), dict) or not same_cell(record["cell"], cell):
            raise InputError("a record of another run", expected=str(cell), where=str(place), cure="remove the file")
        return record

    def write(self, cell: Cell, record: Record) -> Record:
        """Write the record of a cell, and give it as it is written, with what was run and by which code."""
        named = {"cell": cell.to_dict(), **record, "version": __version__, "code": code_mark()}
        _write(self.place / RECORDS / f"{cell.name}.json", named)
        return named


def read_about(place: Path) -> dict[str, Any]:
    """Read what the records of a folder are of."""
    found = _read(place / ABOUT)
    if found.pop("format", None) != FORMAT:
        raise InputError("not a folder of tadge reproduce", found=str(place), where="out")
    return found


def records_in(place: Path) -> dict[Cell, Record]:
    """Read all records of a folder, in the order of their names."""
    records = (_read(path) for path in sorted((place / RECORDS).glob("*.json")))
    return {Cell.from_dict(record["cell"]): record for record in records}


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """List where the figures of two records differ by more than rounding; times and memory do not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = sorted(set(one) | set(other))
        return [
            line for name in names for line in differences(one.get(name), other.get(name), f"{where} {name}".strip())
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [line for place, pair in pairs for line in differences(*pair, f"{where} {place}")]
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers and math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        return []
    return [] if one == other else [f"{where}: {one} in the record, {other} now"]


def _read(place: Path) -> dict[str, Any]:
    try:
        value = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("cannot be read", found=str(error), where=str(place)) from None
    if not isinstance(value, dict):
        raise InputError("not a record", expected="a JSON object", where=str(place))
    return value


def _write(place: Path, value: Any) -> None:
    with atomic_file(place, "w") as file:
        file.write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
