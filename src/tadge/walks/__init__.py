"""Time-centrality-biased temporal walks: sampling, exact probabilities, lengths and the paper's split."""

from tadge.arrays import PAD
from tadge.walks.lengths import LengthReport, uncut_length_distribution
from tadge.walks.probability import Step, walk_probabilities
from tadge.walks.sampler import Walks, iter_walks, sample_walks
from tadge.walks.split import WalkSplit, split_by_walks

__all__ = [
    "PAD",
    "LengthReport",
    "Step",
    "WalkSplit",
    "Walks",
    "iter_walks",
    "sample_walks",
    "split_by_walks",
    "uncut_length_distribution",
    "walk_probabilities",
]
