"""What an epoch came to: mean losses, F1 scores, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tadge.arrays import Ints
from tadge.network.training_model import LOSSES, Batch, LossOutput

CHOICES = ("self", "edge", "who")  # tasks with one right answer to each question


class EpochMetrics:
    """Add up the outcomes of batches.

    Micro-F1 is the fraction of right answers, since every question has one right answer and gets one. Macro-F1 (Eq. 39)
    is the mean of the F1 scores of all nodes that were right or were chosen; it needs counts for every node.

    Args:
        num_nodes: count answers by node for the Macro-F1 of this many nodes; 0: do not.
    """

    def __init__(self, num_nodes: int = 0) -> None:
        self.sums = np.zeros(len(LOSSES))  # of losses, each times its number of questions
        self.asked = np.zeros(len(LOSSES))
        self.right = np.zeros(len(CHOICES))
        self.toe = np.zeros(3)  # number, sum and sum of squares of all ToE
        self.counts = np.zeros((len(CHOICES), 3, num_nodes), np.int64)  # per task: right, chosen, both

    def add(self, batch: Batch, outcome: LossOutput) -> None:
        """Add a batch."""
        size = batch.windows.shape[1]
        pairs = batch.windows.shape[0] * size * (size - 1) / 2
        edges, linked = len(batch.packing.edges), outcome.edges.target.numel()
        asked = np.array([outcome.identity.target.numel(), pairs, linked, edges, edges, edges])
        losses = outcome.losses.detach().double().cpu().numpy()
        self.sums += losses * asked
        self.asked += asked * (losses != 0)  # a task that is not asked has no loss
        toe = batch.toe[batch.packing.edges[:, 1]].double()
        self.toe += [edges, float(toe.sum()), float((toe**2).sum())]
        for task, choice in enumerate((outcome.identity, outcome.edges, outcome.who)):
            if choice is not None:
                self.right[task] += int((choice.predicted == choice.target).sum())
        if self.counts.size:
            self._count(batch, outcome)

    def _count(self, batch: Batch, outcome: LossOutput) -> None:
        names: Ints = batch.rows.cpu().numpy()
        for task, choice in enumerate((outcome.identity, outcome.edges, outcome.who)):
            if choice is None:
                continue
            right, chosen = names[choice.target.cpu().numpy()], names[choice.predicted.cpu().numpy()]
            for place, found in enumerate((right, chosen, right[right == chosen])):
                np.add.at(self.counts[task, place], found, 1)

    def figures(self) -> dict[str, float]:
        """Return mean losses, F1 scores and root mean squared errors; a constant's ToE error beside the model's."""
        mean = self.sums / np.maximum(self.asked, 1)
        found = {f"{name}_loss": float(value) for name, value in zip(LOSSES, mean, strict=True)}
        was_asked = dict(zip(LOSSES, self.asked, strict=True))
        for task, name in enumerate(CHOICES):
            if not was_asked[name]:
                continue
            found[f"{name}_f1"] = float(self.right[task] / was_asked[name])
            if self.counts.size:
                right, chosen, both = self.counts[task]
                seen = right + chosen > 0
                found[f"{name}_macro_f1"] = float((2 * both[seen] / (right + chosen)[seen]).mean())
        for name in ("interval", "toe", "when"):
            if was_asked[name]:
                found[f"{name}_rmse"] = math.sqrt(2 * found[f"{name}_loss"])
        first, second = self.toe[1:] / max(self.toe[0], 1)
        return found | {"toe_constant_rmse": math.sqrt(max(second - first**2, 0.0))}

    def state(self) -> dict[str, Any]:
        """Give what must be kept to go on within an epoch (without counts by node)."""
        return {name: getattr(self, name).tolist() for name in ("sums", "asked", "right", "toe")}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        parts = (np.array(state[name]) for name in ("sums", "asked", "right", "toe"))
        self.sums, self.asked, self.right, self.toe = parts
