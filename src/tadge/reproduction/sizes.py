"""How large everything is on which data: the paper's settings for its data sets, and what fits a laptop elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tadge.config import WalkConfig
from tadge.graph import TemporalGraph

PAPER_WALKS = WalkConfig()  # those of the smallest data set


@dataclass(frozen=True)
class Size:
    """Hold the settings of section 5.1 for one data set, and how far its studies go.

    Attributes:
        walks: how to walk (Table 2).
        heads: attention heads; `blocks` of encoder and decoder, `dim` of vectors, `batch` of walks alike.
        epochs: of the methods that are compared.
        printed_epochs: of the settings as printed, once, until they have taken about 5,000 steps.
        study_epochs: of the studies of sensitivity and initial vectors.
        timed_epochs: of runs that are only timed.
        blocks_tried: of Fig. 5; `heads_tried` alike, `dims_tried` of Fig. 6, `fractions_tried` of Fig. 8.
    """

    walks: WalkConfig = PAPER_WALKS
    heads: int = 4
    blocks: int = 3
    dim: int = 128
    batch: int = 200
    epochs: int = 20
    printed_epochs: int = 148
    study_epochs: int = 5
    timed_epochs: int = 3
    blocks_tried: tuple[int, ...] = (2, 4, 6, 8)
    heads_tried: tuple[int, ...] = (2, 4, 8)
    dims_tried: tuple[int, ...] = (32, 64, 128, 192, 256)
    fractions_tried: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Size:
        """Read back what `dataclasses.asdict` has made of one, and JSON of that."""
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**plain | {"walks": WalkConfig(**values["walks"])})


TRANSACTION = Size()
HYPERLINK = Size(
    WalkConfig(num_walks=200_000),
    heads=8,
    blocks=6,
    batch=500,
    epochs=20,
    printed_epochs=20,
    study_epochs=2,
    timed_epochs=1,
)
DISCUSSION = replace(
    HYPERLINK, walks=WalkConfig(num_walks=300_000, max_length=10), batch=300, epochs=20, study_epochs=2
)
OVERNIGHT = Size(
    WalkConfig(num_walks=60_000, max_length=10), batch=300, epochs=15, printed_epochs=35, study_epochs=3, timed_epochs=1
)
QUICK = Size(
    WalkConfig(num_walks=600),
    heads=2,
    blocks=1,
    dim=32,
    batch=100,
    epochs=6,
    printed_epochs=12,
    study_epochs=2,
    timed_epochs=2,
    blocks_tried=(1, 2),
    heads_tried=(1, 2),
    dims_tried=(16, 32),
    fractions_tried=(0.4, 0.7, 1.0),
)
BY_PAPER_NAME = {"Transaction": TRANSACTION, "Hyperlink": HYPERLINK, "Discussion": DISCUSSION}
FEW_EVENTS = 100_000  # up to here the smallest data set's settings do


def size_for(graph: TemporalGraph, paper_name: str | None) -> Size:
    """Give the paper's settings for its own data sets; for others those of Transaction, or what fits into a night."""
    if paper_name in BY_PAPER_NAME:
        return BY_PAPER_NAME[paper_name]
    return TRANSACTION if graph.num_events <= FEW_EVENTS else OVERNIGHT
