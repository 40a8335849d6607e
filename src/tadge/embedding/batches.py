"""From walks to batches: windows in order of time, shuffled by window, packed without padding."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import torch

from tadge.arrays import Days, Ints
from tadge.network.packing import Packing
from tadge.network.training_model import Batch
from tadge.units import squash
from tadge.walks.sampler import Walks


@dataclass(frozen=True, eq=False)
class Sequences:
    """Hold walks in order of their start, as the network takes them.

    Attributes:
        rows: (W, L) int64, row of the table of each place; anything beyond the walk's length.
        toe: (W, L) float32 squashed ToE of the edge into each place; 0 at the first place.
        lengths: (W,) int64.
        begin: (W,) float64 days.
        order: (W,) int64, the walk that each was.
    """

    rows: Ints
    toe: npt.NDArray[np.float32]
    lengths: Ints
    begin: Days
    order: Ints

    @classmethod
    def of(cls, walks: Walks, rows: Ints | None = None) -> Sequences:
        """Put walks in order of their start.

        Args:
            walks: the walks.
            rows: (N,) row of the table for every node; its own number by default.
        """
        order = np.argsort(walks.tov[:, 0], kind="stable")
        nodes = np.maximum(walks.nodes[order], 0).astype(np.int64)
        toe = np.nan_to_num(squash(walks.toe[order])).astype(np.float32)
        return cls(nodes if rows is None else rows[nodes], toe, walks.lengths[order], walks.tov[order, 0], order)

    def __len__(self) -> int:
        return int(self.lengths.size)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Sequences:
        """Keep some of the walks, (W,) bool."""
        return Sequences(*(getattr(self, part.name)[chosen] for part in fields(self)))


def window_starts(num_walks: int, window: int, step: int) -> Ints:
    """Give the first walk of every window, (m_w,); the last window ends with the last walk."""
    starts = np.arange(0, num_walks - window + 1, step)
    return starts if starts[-1] == num_walks - window else np.append(starts, num_walks - window)


def batch_windows(starts: Ints, window: int, batch_size: int) -> list[Ints]:
    """Cut windows, in the order of `starts`, into batches of about `batch_size` walks: (n, S) walks each."""
    per_batch = max(1, batch_size // window)
    walks = starts[:, None] + np.arange(window)
    return [walks[first : first + per_batch] for first in range(0, len(walks), per_batch)]


def pack_batch(
    sequences: Sequences,
    windows: Ints,
    num_nodes: int,
    *,
    negatives: int = 0,
    drawn_from: Ints | None = None,
    hidden: float = 0.0,
    hide_nodes: bool = False,
    rng: np.random.Generator | None = None,
    device: torch.device | None = None,
) -> Batch:
    """Pack the walks of some windows.

    Args:
        sequences: all walks.
        windows: (n, S) the walks of each window.
        num_nodes: N; the table has two more rows: the end of a sequence, the unknown node.
        negatives: how many nodes to draw as negatives; -1 for all that can be drawn.
        drawn_from: (n,) nodes to draw from; all of them by default.
        hidden: fraction of the places that do not show their node.
        hide_nodes: hide that fraction of the nodes instead, in all their places.
        rng: what to draw with; not needed where nothing is drawn.
        device: where the tensors go.
    """
    chosen = windows.reshape(-1)
    order = np.argsort(-sequences.lengths[chosen], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    chosen = chosen[order]
    lengths = sequences.lengths[chosen]
    there = np.arange(lengths[0]) < lengths[:, None]  # (B, L)
    rows = sequences.rows[chosen, : lengths[0]][there]  # (R,)
    toe = sequences.toe[chosen, : lengths[0]][there]
    present, node = np.unique(rows, return_inverse=True)
    others = _others(present, num_nodes, negatives, drawn_from, rng)
    needed = np.concatenate([present, others, [num_nodes, num_nodes + 1]])
    unseen = present[node] == num_nodes + 1
    if hidden and rng is not None:
        unseen |= (rng.random(present.size) < hidden)[node] if hide_nodes else rng.random(rows.size) < hidden
    packing = Packing.of(torch.from_numpy(lengths).to(device))
    tensors = needed, node, unseen, toe, sequences.begin[chosen], place.reshape(windows.shape)
    table_rows, candidate, is_hidden, delta, begin, spots = (torch.from_numpy(each).to(device) for each in tensors)
    return Batch(table_rows, present.size, candidate, is_hidden, delta, begin, packing, spots)


def _others(
    present: Ints, num_nodes: int, negatives: int, drawn_from: Ints | None, rng: np.random.Generator | None
) -> Ints:
    """Draw nodes that are not in the batch."""
    if negatives < 0:
        everyone = np.arange(num_nodes) if drawn_from is None else drawn_from
        return np.setdiff1d(everyone, present, assume_unique=True)
    if negatives == 0 or rng is None:
        return np.empty(0, np.int64)
    size = num_nodes if drawn_from is None else drawn_from.size
    drawn = rng.integers(size, size=negatives)
    return np.setdiff1d(drawn if drawn_from is None else drawn_from[drawn], present)
