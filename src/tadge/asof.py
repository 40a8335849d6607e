"""Embed nodes as of a moment, from the chains that end in their latest occurrences.

The embedding of an occurrence depends on its chain and on the chains of the occurrences right before it (its window),
so on nothing that is later than itself or at the same instant elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from tadge.graph import TemporalGraph
from tadge.kernels import Days, Ints
from tadge.model.network import Network
from tadge.model.packing import Packing
from tadge.model.tasks import as_input
from tadge.units import squash
from tadge.walks.chains import Chains, chains_of, latest

Vectors = npt.NDArray[np.float32]
Report = Callable[[int, int], None]

BLOCK = 1024  # occurrences embedded at once: bounds the memory


@dataclass(frozen=True, eq=False)
class AsOf:
    """Embed what a graph holds with a trained network.

    Attributes:
        network: in evaluation mode.
        table: (N' + 2, D) input vectors; the last two rows are the end of a sequence and the unknown vertex.
        rows: (N,) int64 row of the table of each of the graph's nodes; N' + 1 where it is unknown.
        graph: what happened.
        window: how many occurrences are compared with each other.
    """

    network: Network
    table: torch.Tensor
    rows: Ints
    graph: TemporalGraph
    window: int

    def nodes(self, nodes: Ints, at: Days, count: int, report: Report = lambda done, total: None) -> Vectors:
        """Embed nodes, (Q,), each as of a moment, (Q,): the mean over its latest occurrences, at most `count`.

        A node that has not joined by then is embedded as the unknown vertex. `report` is told how many occurrences are
        done, of how many.
        """
        occurrences, query = latest(self.graph, nodes, at, count)
        distinct, place = np.unique(occurrences, return_inverse=True)
        vectors = self.occurrences(distinct, report)
        result = np.empty((nodes.size, self.table.shape[1]), np.float32)
        joined = np.zeros(nodes.size, np.bool_)
        joined[query] = True
        if query.size:
            first = np.flatnonzero(np.diff(query, prepend=-1))
            sums = np.add.reduceat(vectors[place].astype(np.float64), first, axis=0)
            result[joined] = sums / np.diff(first, append=query.size)[:, None]
        if not joined.all():
            result[~joined] = self._unknown()
        return result

    def occurrences(self, occurrences: Ints, report: Report = lambda done, total: None) -> Vectors:
        """Embed distinct occurrences, (K,), as (K, D)."""
        chains = chains_of(self.graph)
        in_time = occurrences[np.lexsort((occurrences, chains.time[occurrences]))]
        result = np.empty((occurrences.size, self.table.shape[1]), np.float32)
        for first in range(0, in_time.size, BLOCK):
            block = in_time[first : first + BLOCK]
            result[np.searchsorted(occurrences, block)] = self._block(chains, block)
            report(first + block.size, in_time.size)
        return result

    @torch.inference_mode()
    def _block(self, chains: Chains, block: Ints) -> Vectors:
        others = np.concatenate([chains.before(block, self.window - 1), block[:, None]], axis=1)  # (n, S)
        needed = np.unique(others[others >= 0])
        nodes, times, lengths = chains.back(needed, self.network.max_length)
        order = np.argsort(-lengths, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        rows = self.rows[np.maximum(nodes[order], 0)]
        toe = np.nan_to_num(squash(np.diff(times[order], axis=1, prepend=times[order, :1]))).astype(np.float32)
        spot = place[np.searchsorted(needed, np.maximum(others, needed[0]))]  # (n, S)
        return self._run(rows, toe, lengths[order], spot, others >= 0)

    def _run(self, rows: Ints, toe: Vectors, lengths: Ints, others: Ints, there: npt.NDArray[np.bool_]) -> Vectors:
        """Embed the last vertex of walks in order of length; the last of the `others` is the walk itself."""
        device = self.table.device
        packing = Packing.of(torch.from_numpy(lengths).to(device))
        inside = (np.arange(lengths[0])[:, None] < lengths[None, :]), slice(0, int(lengths[0]))
        x = as_input(self.table[torch.from_numpy(rows[:, inside[1]].T[inside[0]]).to(device)])
        delta = torch.from_numpy(toe[:, inside[1]].T[inside[0]]).to(device)
        spots, mask = torch.from_numpy(others).to(device), torch.from_numpy(there).to(device)
        made = self.network.last_rows(x, delta, as_input(self.table[-2:-1])[0], packing, spots[:, -1], spots, mask)
        return made.float().cpu().numpy()

    @torch.inference_mode()
    def _unknown(self) -> Vectors:
        rows = np.full((1, 1), len(self.table) - 1)
        alone = np.zeros((1, 1), np.int64)
        return self._run(rows, np.zeros((1, 1), np.float32), np.ones(1, np.int64), alone, alone == 0)
