"""What has to be run for which table and figure: a cell is one method, learned once, with one seed.

Tables and figures share cells: Tables 3, 4 and 5 and Fig. 4 are four views of the same runs. A cell that is done is
never run again, whichever of them asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tadge.errors import InputError
from tadge.reproduction.sizes import Size

SUBJECTS = {
    "table1": "statistics of the data",
    "table2": "walks",
    "table3": "ToE prediction",
    "table4": "static edge prediction",
    "table5": "classes of nodes",
    "table6": "initial vectors",
    "fig4": "time-aware edge prediction",
    "fig5": "blocks and heads",
    "fig6": "dimension of the vectors",
    "fig7": "convergence",
    "fig8": "scalability",
    "fig9": "training loss by initial vectors",
}  # everything of section 5 that holds figures, by its name in the paper

DATA, RULES, TADGE = "data", "free rules", "TADGE"
PRINTED, SLOWER = "TADGE as printed", "TADGE as printed, lr 0.0003"
METHODS = ("DeepWalk", "CTDNE", "GraphSAGE", "GAT", "GAT-strc", "TADGE-tTran", PRINTED, SLOWER, TADGE)
CONTROLS = ("random vectors", "random vectors + neighbours", "degree + age")
INITS = ("random", "deepwalk", "node2vec", "line")  # of Table 6 and Fig. 9
COMPARED = ("table3", "table4", "table5", "fig4")  # every method, every seed


@dataclass(frozen=True)
class Cell:
    """Name one run.

    Attributes:
        method: what is learned.
        seed: of the split and of the method.
        changes: options of TADGE that differ from its size's, sorted by name; `fraction` is that of its training walks.
        epochs: how long it learns; None: as long as its size says.
    """

    method: str
    seed: int = 0
    changes: tuple[tuple[str, Any], ...] = ()
    epochs: int | None = None

    @property
    def name(self) -> str:
        """Give a name that files can have."""
        words = [self.method, *(f"{key}-{value}" for key, value in self.changes), f"seed-{self.seed}"]
        if self.epochs is not None:
            words.insert(-1, f"epochs-{self.epochs}")
        return "-".join(words).lower().replace(", ", "-").replace(" ", "-").replace(".", "_")

    def __str__(self) -> str:
        changes = [f"{key} {value}" for key, value in self.changes]
        return ", ".join([self.method, *changes, f"seed {self.seed}"])

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        changes = dict(self.changes)
        return {"method": self.method, "seed": self.seed, "changes": changes, "epochs": self.epochs}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cell:
        """Read it back."""
        changes = tuple(sorted(values["changes"].items()))
        return cls(values["method"], values["seed"], changes, values["epochs"])


def changed(size: Size, *, seed: int = 0, epochs: int | None = None, **changes: Any) -> Cell:
    """Name a run of TADGE of another shape, for the studies: as many epochs as studies have, unless told otherwise."""
    return Cell(TADGE, seed, tuple(sorted(changes.items())), size.study_epochs if epochs is None else epochs)


def as_printed(size: Size) -> list[Cell]:
    """Name the runs that follow the printed settings, and those with the rate that learns, over the paper's steps."""
    return [
        Cell(name, 0, epochs=None if size.printed_epochs == size.epochs else size.printed_epochs)
        for name in (PRINTED, SLOWER)
    ]


def cells_of(subject: str, size: Size, seeds: int) -> list[Cell]:
    """List the runs that a table or figure is made from, the quickest first."""
    if subject not in SUBJECTS:
        raise InputError(
            "unknown table or figure", expected=f"one of {', '.join(SUBJECTS)}, or all", found=repr(subject)
        )
    if subject in COMPARED:
        names = (RULES, *CONTROLS, *METHODS)
        return [Cell(name, seed) for name in names for seed in range(seeds)]
    by_dims = [changed(size, dim=dim) for dim in size.dims_tried]
    by_inits = [changed(size, init=init) for init in INITS]
    timed = [changed(size, fraction=fraction, epochs=size.timed_epochs) for fraction in size.fractions_tried]
    shapes = [changed(size, blocks=blocks, heads=heads) for blocks in size.blocks_tried for heads in size.heads_tried]
    converging = [Cell(TADGE, 0), *by_dims, *as_printed(size)]
    studies = {"fig5": shapes, "fig6": by_dims, "fig7": converging, "fig8": timed, "fig9": by_inits}
    return {"table1": [Cell(DATA)], "table2": [Cell(DATA)], "table6": by_inits, **studies}[subject]


def all_cells(subjects: Iterable[str], size: Size, seeds: int) -> list[Cell]:
    """List the runs of several tables and figures, each once; every method with the first seed before the second."""
    found = {cell: None for subject in subjects for cell in cells_of(subject, size, seeds)}
    return sorted(found, key=lambda cell: (bool(cell.changes or cell.epochs), cell.seed))


def same_cell(one: Mapping[str, Any], other: Cell) -> bool:
    """Tell whether what was read is this run."""
    return json.dumps(one, sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)
