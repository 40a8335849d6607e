"""Embed nodes as of a moment, from the chains that end in their latest occurrences.

The embedding of an occurrence depends on its chain and on the chains of the occurrences right before it (its window),
so on nothing that is later than itself or at the same instant elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tadge.arrays import Days, Flags, Ints, Report, Vectors
from tadge.embedding.batches import Sequences, batch_windows, pack_batch, window_starts
from tadge.graph import TemporalGraph
from tadge.graph.chains import Chains, chains_of, latest
from tadge.graph.past import find_end
from tadge.network.network import Network
from tadge.network.packing import Packing, PrefixTree
from tadge.network.training_model import TrainingModel, as_input
from tadge.units import squash
from tadge.walks.sampler import Walks

SHARED_WINDOW = 512  # consecutive occurrences that share one comparison window: the occurrences just before the block
SCORED_AT_ONCE = 1 << 16  # pairs: bounds the memory
AVERAGED_AT_ONCE = 1 << 14  # vectors of nodes: bounds the memory
EMBEDDED_AT_ONCE = 1024  # occurrences: bounds the memory


@dataclass(frozen=True, eq=False)
class AsOf:
    """Embed what a graph holds with a trained network.

    Attributes:
        network: in evaluation mode.
        table: (N' + 2, D) input vectors; the last two rows are the end of a sequence and the unknown node.
        rows: (N,) int64 row of the table of each of the graph's nodes; N' + 1 where it is unknown.
        graph: what happened.
        window: how many occurrences are compared with each other.
        kept: (O, D) the vectors of all occurrences, made before; or None.
    """

    network: Network
    table: torch.Tensor
    rows: Ints
    graph: TemporalGraph
    window: int
    kept: Vectors | None = None

    def nodes(self, nodes: Ints, at: Days, count: int, report: Report = lambda done, total: None) -> Vectors:
        """Embed nodes, (Q,), each as of a moment, (Q,): the mean over its latest occurrences, at most `count`.

        A node that has not joined by then is embedded as the unknown node. `report` is told how many occurrences are
        done, of how many.
        """
        vectors, place = self.distinct(nodes, at, count, report)
        return vectors[place]

    def distinct(
        self, nodes: Ints, at: Days, count: int, report: Report = lambda done, total: None
    ) -> tuple[Vectors, Ints]:
        """Embed nodes as `nodes` does, each distinct vector once: (K, D), and (Q,) which one each query has."""
        end = find_end(self.graph.tov_start, self.graph.tov_times, nodes, at)  # (Q,): all that a vector depends on
        end[end == self.graph.tov_start[nodes]] = 0  # has not joined
        ends, place = np.unique(end, return_inverse=True)
        chains = chains_of(self.graph)
        unknown, ends = ends[:1] == 0, ends[ends > 0]
        occurrences, which = latest(self.graph, chains.node[ends - 1], chains.time[ends - 1], count)
        needed, spot = np.unique(occurrences, return_inverse=True)
        vectors = self.occurrences(needed, report)
        result = np.empty((unknown.sum() + ends.size, self.table.shape[1]), np.float32)
        if ends.size:
            bounds = np.append(np.flatnonzero(np.diff(which, prepend=-1)), which.size)
            for begin in range(0, ends.size, AVERAGED_AT_ONCE):
                cut = bounds[begin : begin + AVERAGED_AT_ONCE + 1]
                rows = vectors[spot[cut[0] : cut[-1]]].astype(np.float64)
                sums = np.add.reduceat(rows, cut[:-1] - cut[0], axis=0)
                place_of = slice(unknown.sum() + begin, unknown.sum() + begin + sums.shape[0])
                result[place_of] = sums / np.diff(cut)[:, None]
        if unknown.any():
            result[0] = self._unknown()
        return result, place

    def inner_products(self, src: Ints, dst: Ints, at: Days, count: int) -> Vectors:
        """Multiply the vectors of pairs, (Q,), as of moments, (Q,), as (Q,) (Eq. 35); arguments as in `nodes`."""
        ends, twice = np.concatenate([src, dst]), np.concatenate([at, at])
        vectors, place = self.distinct(ends, twice, count)
        products = np.empty(src.size, np.float32)
        for first in range(0, src.size, SCORED_AT_ONCE):
            cut = slice(first, first + SCORED_AT_ONCE)
            pair = vectors[place[: src.size][cut]], vectors[place[src.size :][cut]]
            products[cut] = np.einsum("nd,nd->n", *pair)
        return products

    def pair_features(
        self, src: Ints, dst: Ints, at: Days, count: int, report: Report = lambda done, total: None
    ) -> Vectors:
        """Put together the vectors of both ends, (Q, 2 D): the source's mean, the target's latest."""
        return np.concatenate([self.nodes(src, at, count, report), self.nodes(dst, at, 1)], axis=1)

    def occurrences(self, occurrences: Ints, report: Report = lambda done, total: None) -> Vectors:
        """Embed distinct occurrences, (K,) ascending, as (K, D)."""
        if self.kept is not None:
            return self.kept[occurrences]
        chains = chains_of(self.graph)
        in_time = occurrences[np.lexsort((occurrences, chains.time[occurrences]))]
        result = np.empty((occurrences.size, self.table.shape[1]), np.float32)
        for first in range(0, in_time.size, EMBEDDED_AT_ONCE):
            block = in_time[first : first + EMBEDDED_AT_ONCE]
            result[np.searchsorted(occurrences, block)] = self._block(chains, block)
            report(first + block.size, in_time.size)
        return result

    def _block(self, chains: Chains, block: Ints) -> Vectors:
        others = np.concatenate(
            [chains.before(block, self.window - 1, SHARED_WINDOW), block[:, None]], axis=1
        )  # (n, S)
        needed = np.unique(others[others >= 0])
        path, lengths = chains.paths(needed, self.network.max_length)
        spot = np.searchsorted(needed, np.maximum(others, needed[0]))  # (n, S) which chain
        step = np.minimum(lengths[spot], lengths[spot[:, -1:]]) - 1  # (n, S) how they were by then
        toe = np.diff(chains.time[path], axis=1, prepend=0.0)
        toe[:, 0] = 0.0
        rows, delta = self.rows[chains.node[path]], squash(toe).astype(np.float32)
        lay_out = _prefix_tree if self.network.config.queries == "self" else _packing
        packing, chosen, place = lay_out(path, lengths, rows)
        return self._run(rows[chosen], delta[chosen], packing, place[spot, step], others >= 0)

    @torch.inference_mode()
    def _run(self, rows: Ints, toe: Vectors, packing: Packing | PrefixTree, others: Ints, mask: Flags) -> Vectors:
        """Embed rows, (n,), the last of the `others`, (n, S) each; `rows` of the table and `toe` are (R,)."""
        tensors = (torch.from_numpy(array).to(self.table.device) for array in (rows, toe, others, mask))
        table_rows, delta, compared, is_real = tensors
        x, end = as_input(self.table[table_rows]), as_input(self.table[-2:-1])[0]
        vectors = self.network.embed_rows(x, delta, end, packing.to(self.table.device), compared, is_real)
        return vectors.float().cpu().numpy()

    def _unknown(self) -> Vectors:
        packing, _, place = _packing(np.zeros((1, 1), np.int64), np.ones(1, np.int64), np.zeros((1, 1), np.int64))
        return self._run(np.array([len(self.table) - 1]), np.zeros(1, np.float32), packing, place, place == 0)


def _packing(path: Ints, lengths: Ints, rows: Ints) -> tuple[Packing, tuple[Ints, Ints], Ints]:
    """Lay chains out one by one.

    Args:
        path: (K, L) occurrences.
        lengths: (K,).
        rows: (K, L) row of the table of each.

    Returns:
        The packing, the place in (K, L) of every row, the row of every place.
    """
    order = np.argsort(-lengths, kind="stable")
    packing = Packing.of(torch.from_numpy(lengths[order]))
    chain, step = order[packing.walk_of.numpy()], packing.step_of.numpy()
    place = np.zeros(path.shape, np.int64)
    place[chain, step] = np.arange(chain.size)
    return packing, (chain, step), place


def _prefix_tree(path: Ints, lengths: Ints, rows: Ints) -> tuple[PrefixTree, tuple[Ints, Ints], Ints]:
    """Lay chains out as `_packing` does, but with one row for each distinct prefix: at step 0 for each input vector."""
    chain, step = np.nonzero(np.arange(path.shape[1]) < lengths[:, None])
    begins = np.where(step > 0, path[chain, 0], 0)  # chains that were cut begin elsewhere, and share no later prefix
    ends = np.where(step > 0, path[chain, step], rows[chain, 0])
    _, first, row = np.unique(np.stack([step, ends, begins]), axis=1, return_index=True, return_inverse=True)
    place = np.zeros(path.shape, np.int64)
    place[chain, step] = row.reshape(-1)
    chain, step = chain[first], step[first]
    counts = np.bincount(step).tolist()
    tree = PrefixTree(counts, torch.from_numpy(place[chain, : len(counts)]), torch.from_numpy(step))
    return tree, (chain, step), place


@torch.inference_mode()
def embed_walks(
    tasks: TrainingModel, table: torch.Tensor, rows: Ints, walks: Walks, window: int, batch_size: int
) -> Vectors:
    """Embed each node in each walk, (W, L, D); NaN beyond a walk's length.

    Args:
        tasks: the trained network.
        table: (N' + 2, D) input vectors.
        rows: (N,) row of the table of each node.
        walks: at most as long as the network takes them.
        window: how many walks, in order of their start, are compared with each other.
        batch_size: walks at once.
    """
    vectors = np.full((*walks.nodes.shape, table.shape[1]), np.nan, np.float32)
    if not len(walks):
        return vectors
    sequences, window = Sequences.of(walks, rows), min(window, len(walks))
    starts = window_starts(len(sequences), window, window)
    for windows in batch_windows(starts, window, max(window, batch_size)):
        batch = pack_batch(sequences, windows, len(table) - 2, device=table.device)
        walk = np.empty(windows.size, np.int64)
        walk[batch.windows.cpu().numpy().reshape(-1)] = sequences.order[windows.reshape(-1)]
        places = walk[batch.packing.walk_of.cpu().numpy()], batch.packing.step_of.cpu().numpy()
        vectors[places] = tasks.embed(batch, table[batch.rows]).nodes.float().cpu().numpy()
    return vectors
