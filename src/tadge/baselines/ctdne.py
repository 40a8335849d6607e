"""CTDNE: skip-gram on temporal walks."""

from __future__ import annotations

from tadge.arrays import Vectors
from tadge.baselines.of_parts import DIM, NodeVectors
from tadge.deepwalk.sequences import sequence_vectors
from tadge.walks.parts import Part, PartName

WINDOW = 10  # its own paper's: wider than the walks of the paper's smaller data sets are long
EPOCHS = 200  # of 20 to 400 the best on the part to choose on, in nearest nodes, on the paper's smallest data set


class CTDNE(NodeVectors):
    """Embed the walks of each part by skip-gram, as the paper has it: "directly with the edge sequences".

    Vectors of two parts have no axes in common.

    Args:
        seed: the same seed gives the same vectors.
        dim: their width.
        epochs: passes over the walks.
    """

    name = "CTDNE"

    def __init__(self, seed: int = 0, dim: int = DIM, epochs: int = EPOCHS) -> None:
        super().__init__(seed, dim)
        self.epochs = epochs

    def _embed(self, part: Part, name: PartName) -> Vectors:
        seed, walks = self._seed_of(name), part.walks
        return sequence_vectors(walks.nodes, part.graph.num_nodes, self.dim, seed, window=WINDOW, epochs=self.epochs)
