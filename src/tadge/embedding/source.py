"""Where the walks of an epoch come from: kept or walked anew, and a part held out."""

from __future__ import annotations

import numpy as np

from tadge.config import TrainConfig, WalkConfig, fewest_walks
from tadge.embedding.batches import Sequences
from tadge.errors import TooFewWalksError
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks.sampler import Walks, sample_walks

DEFAULT_WINDOW = TrainConfig().window  # lowered where a small graph has too few walks for it


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
        self.window = config.window
        self._hold_out(walks, sequences)
        while config.window == DEFAULT_WINDOW and self.window > 2 and self._too_few():
            self.window -= 1
            self._hold_out(walks, sequences)
        if self.window < config.window:
            fewer = f"windows of {self.window} walks instead of {config.window}: there are {len(self.train_walks):,}"
            self.note = f"{self.note}; {fewer}" if self.note else fewer
        self.step = min(config.window_step, self.window - 1)
        self._check_enough(self.train_walks, fewest_walks(self.window))
        self.mean_length = float(walks.lengths.mean())

    def _too_few(self) -> bool:
        return len(self.train_walks) < fewest_walks(self.window)

    def _hold_out(self, walks: Walks, sequences: Sequences) -> None:
        """Part the walks, by whole windows, into those to train on and those held out."""
        blocks = len(walks) // self.window
        rng = np.random.default_rng(int(stream(self.seed, "held out")))
        held_out = np.sort(rng.permutation(blocks)[: round(self.config.held_out * blocks)])
        out = np.zeros(len(walks), np.bool_)
        out[(held_out[:, None] * self.window + np.arange(self.window)).reshape(-1)] = True
        self.held_out = sequences.take(out)
        self.held_out_starts = np.unique(walks.starts[sequences.order[out]])
        self.train_walks = self._without_held_out(walks, sequences)

    def epoch(self, number: int) -> Sequences:
        """Give the walks of an epoch, counted from 0."""
        if number == 0 or not self.config.resample or self.user_walks is not None:
            return self.train_walks
        walks = sample_walks(self.graph, self.walking, int(stream(self.seed, f"epoch {number}") >> np.uint64(1)))
        sequences = self._without_held_out(walks, Sequences.of(walks))
        self._check_enough(sequences, self.window)
        return sequences

    def _check_enough(self, sequences: Sequences, fewest: int) -> None:
        """Refuse to learn from next to nothing: a window of walks, compared with each other, is the least."""
        if len(sequences) >= fewest:
            return
        expected = f"at least {fewest:,} walks along the events"
        found = f"{len(sequences):,} walks along {self.graph.num_events:,} events"
        more = "raise num_walks" if self.walking.num_walks < 2 * fewest else "give a longer history"
        cure = f"{more}, or lower window (the walks compared at a time); forecasts need no walks"
        raise TooFewWalksError("too little to learn vectors from", expected=expected, found=found, cure=cure)

    def _without_held_out(self, walks: Walks, sequences: Sequences) -> Sequences:
        return sequences.take(~np.isin(walks.starts[sequences.order], self.held_out_starts))
