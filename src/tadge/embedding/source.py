"""Where the walks of an epoch come from: kept or walked anew, and a part held out."""

from __future__ import annotations

import numpy as np

from tadge.config import TrainConfig, WalkConfig, check_windows
from tadge.embedding.batches import Sequences
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks.sampler import Walks, sample_walks


class WalkSource:
    """Hand out the walks to train on, epoch by epoch.

    Whole windows are held out, so that their walks are as close in time as those that are trained on. No walk that
    begins where a held-out one does is trained on, in any epoch. Events may be shared: early stopping looks at how well
    walks are understood, it is no forecast.

    Args:
        graph: what to walk on.
        walking: how.
        config: how many walks are held out, and whether each epoch walks anew.
        seed: an integer from 0 up.
        walks: train on these instead.
    """

    def __init__(
        self, graph: TemporalGraph, walking: WalkConfig, config: TrainConfig, seed: int, walks: Walks | None = None
    ) -> None:
        self.graph, self.walking, self.config, self.seed, self.user_walks = graph, walking, config, seed, walks
        walks = sample_walks(graph, walking, seed) if walks is None else walks
        self.note = walks.note
        sequences = Sequences.of(walks)
        blocks = len(walks) // config.window
        rng = np.random.default_rng(int(stream(seed, "held out")))
        held_out = np.sort(rng.permutation(blocks)[: round(config.held_out * blocks)])
        out = np.zeros(len(walks), np.bool_)
        out[(held_out[:, None] * config.window + np.arange(config.window)).reshape(-1)] = True
        self.held_out = sequences.take(out)
        self.held_out_starts = np.unique(walks.starts[sequences.order[out]])
        self.train_walks = self._without_held_out(walks, sequences)
        check_windows(config.window, config.window_step, len(self.train_walks))
        self.mean_length = float(walks.lengths.mean())

    def epoch(self, number: int) -> Sequences:
        """Give the walks of an epoch, counted from 0."""
        if number == 0 or not self.config.resample or self.user_walks is not None:
            return self.train_walks
        walks = sample_walks(self.graph, self.walking, int(stream(self.seed, f"epoch {number}") >> np.uint64(1)))
        sequences = self._without_held_out(walks, Sequences.of(walks))
        if len(sequences) < self.config.window:
            check_windows(self.config.window, self.config.window_step, len(sequences))
        return sequences

    def _without_held_out(self, walks: Walks, sequences: Sequences) -> Sequences:
        return sequences.take(~np.isin(walks.starts[sequences.order], self.held_out_starts))
