"""The training loop: steps, epochs, early stopping, and all that is needed to go on after a stop.

What is random in a step (the order of windows, negatives, hidden nodes, dropout) is drawn from the seed and the
step's position. So the position is the random state: a run that goes on from a checkpoint draws what it would have.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tadge.arrays import Ints
from tadge.config import TrainConfig
from tadge.embedding.batches import Sequences, batch_windows, pack_batch, window_starts
from tadge.embedding.epoch_metrics import EpochMetrics
from tadge.embedding.source import WalkSource
from tadge.embedding.table import BETAS, EPSILON, EmbeddingTable, random_rows
from tadge.errors import TrainingError
from tadge.graph.views import seen_nodes
from tadge.machine import peak_memory_mb
from tadge.network.training_model import LOSSES, Batch, LossOutput, TrainingModel, loss_weights
from tadge.seeding import stream

LAST_LR = 0.05  # the fraction of the learning rate that is left at the end


@dataclass
class Position:
    """Say where a run is.

    Attributes:
        epoch: epochs done.
        step: steps done in this epoch.
        total: steps done in all.
        since: steps that had been done when the moments of the gradients began; 0 but for a model that is trained on.
        best: the smallest loss on the held-out walks so far (on the training walks where none are held out).
        best_epoch: epochs done when it was had.
        seconds: time spent on this epoch so far.
        metrics: what this epoch came to so far.
        history: figures of every epoch done.
        lengthened: the epochs that the run was planned for before it was given more, each time.
    """

    epoch: int = 0
    step: int = 0
    total: int = 0
    since: int = 0
    best: float = math.inf
    best_epoch: int = 0
    seconds: float = 0.0
    metrics: EpochMetrics = field(default_factory=EpochMetrics)
    history: list[dict[str, Any]] = field(default_factory=list)
    lengthened: list[int] = field(default_factory=list)


class Trainer:
    """Train the tasks' network and the table on walks.

    Args:
        tasks: network and projections, on their device.
        table: input vectors, on the same device.
        source: where the walks come from.
        config: how to train.
        precision: "float32" or "bfloat16".
        seed: an integer from 0 up.
    """

    def __init__(
        self,
        tasks: TrainingModel,
        table: EmbeddingTable,
        source: WalkSource,
        config: TrainConfig,
        precision: str,
        seed: int,
    ) -> None:
        self.tasks, self.table, self.source, self.config, self.seed = tasks, table, source, config, seed
        self.device, self.precision = table.values.device, precision
        self.optimiser = torch.optim.Adam(tasks.parameters(), lr=config.lr, betas=BETAS, eps=EPSILON, fused=True)
        self.weights = torch.tensor([*loss_weights(config.weights).values()], device=self.device)
        self.drawn_from = seen_nodes(source.graph)
        self.position = Position()
        self.best = self._copy()
        self.planned = -1  # the epoch that the batches are of
        self.resume()

    # -- a run --------------------------------------------------------------------------------------------------------

    def run(
        self, report: Callable[[Trainer], None], save: Callable[[Trainer], None], deadline: float | None = None
    ) -> str:
        """Train until all epochs are done, the held-out loss has stopped falling, or Ctrl-C; the best state stays.

        Args:
            report: called after every step.
            save: called after every step, between steps.
            deadline: on the clock of `time.monotonic`; no step begins after it.

        Returns:
            Why it stopped: "done", "early", "budget" or "interrupted".
        """
        reason = "done"
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            try:
                while not self.finished:
                    if deadline is not None and time.monotonic() >= deadline:
                        reason = "budget"
                        break
                    with defer_sigint():
                        self._next_step()
                    report(self)
                    save(self)
            except KeyboardInterrupt:
                reason = "interrupted"
        if reason == "done" and self.position.epoch < self.config.epochs:
            reason = "early"
        self.tasks.eval()
        return reason

    @property
    def finished(self) -> bool:
        """Tell whether there is nothing left to do."""
        position = self.position
        waited = position.epoch - position.best_epoch
        return position.epoch >= self.config.epochs or (waited >= self.config.patience and position.epoch > 0)

    def resume(self) -> None:
        """Make ready to go on from a position that was restored."""
        if self.planned != self.position.epoch:
            self.sequences, self.batches = self._epoch_plan(self.position.epoch)
            self.planned = self.position.epoch

    def keep_best(self) -> None:
        """Go back to the best state there was."""
        self._load(self.best)

    def _next_step(self) -> None:
        position = self.position
        if position.step == 0:
            self.resume()
        began = time.perf_counter()
        windows = self.batches[position.step]
        rng = np.random.default_rng([int(stream(self.seed, "batch")), position.epoch, position.step])
        batch = self._pack(self.sequences, windows, rng, self.config.unknown)
        torch.manual_seed(int(rng.integers(2**63)))
        outcome = self._train(batch)
        position.metrics.add(batch, outcome)
        position.step += 1
        position.total += 1
        position.seconds += time.perf_counter() - began
        if position.step == len(self.batches):
            self._end_epoch()

    def _end_epoch(self) -> None:
        position, began = self.position, time.perf_counter()
        position.epoch += 1
        figures: dict[str, Any] = {"epoch": position.epoch, "loss": 0.0, **position.metrics.figures()}
        figures["loss"] = self.joint_loss(figures)
        judged = figures["loss"]
        if len(self.source.held_out):
            held_out = self.validate(self.source.held_out).figures()
            judged = self.joint_loss(held_out)
            figures["held_out"] = {"loss": judged, **held_out}
        if judged < position.best:
            position.best, position.best_epoch, self.best = judged, position.epoch, self._copy()
        position.seconds += time.perf_counter() - began
        walks = sum(windows.size for windows in self.batches)
        figures |= {"lr": self._lr(position.total), "seconds": position.seconds}
        figures |= {"walks_per_second": walks / position.seconds, "peak_memory_mb": peak_memory_mb()}
        position.history.append(figures)
        position.step, position.seconds, position.metrics = 0, 0.0, EpochMetrics()

    def judge_part(self) -> None:
        """Make the present state, amid an epoch, the one to keep where it is better than the best."""
        if self.position.step:
            held_out = self.source.held_out
            part = (self.validate(held_out) if len(held_out) else self.position.metrics).figures()
            if self.joint_loss(part) < self.position.best:
                self.best = self._copy()

    # -- a step -------------------------------------------------------------------------------------------------------

    def _train(self, batch: Batch) -> LossOutput:
        self.tasks.train()
        vectors = self.table.take(batch.rows)
        outcome = self._forward(batch, vectors)
        self._check(outcome.losses)
        torch.autograd.backward((outcome.losses * self.weights).sum())  # Eq. 37
        leaves = [*self.tasks.parameters(), vectors]
        length = float(torch.nn.utils.clip_grad_norm_(leaves, self.config.clip or math.inf))
        if not math.isfinite(length):
            raise self._trouble("the gradient")
        lr = self._lr(self.position.total)
        self.optimiser.param_groups[0]["lr"] = lr
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        assert vectors.grad is not None
        self.table.update(batch.rows, vectors.grad, lr, self.position.total - self.position.since + 1)
        return outcome

    def _forward(self, batch: Batch, vectors: Tensor) -> LossOutput:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            made = self.tasks.embed(batch, vectors, self._hidden_as(batch))
        return self.tasks.compute_losses(batch, vectors, made, self.config.edges)

    def _hidden_as(self, batch: Batch) -> Tensor | None:
        """Draw what hidden nodes are shown as, where that is no common vector."""
        if self.config.new_nodes == "unknown" or not self.tasks.training:
            return None
        return random_rows(len(batch.rows) - 2, self.table.values.shape[1]).to(self.device)

    def _check(self, losses: Tensor) -> None:
        wrong = ~torch.isfinite(losses)
        if bool(wrong.any()):
            raise self._trouble(f"the {LOSSES[int(wrong.int().argmax())]} loss")

    def _trouble(self, what: str) -> TrainingError:
        self.keep_best()
        position = self.position
        found = f"epoch {position.epoch + 1}, step {position.step + 1}"
        cure = f"lower lr (it is {self.config.lr:g}) or raise warmup; the best state before that is kept"
        return TrainingError(f"{what} is not finite any more", found=found, cure=cure)

    def _lr(self, step: int) -> float:
        """Rise in a line, then fall along a cosine, or stay."""
        total = max(1, self.config.epochs * len(self.batches))
        rising = self.config.warmup * total
        if step < rising:
            return self.config.lr * (step + 1) / (rising + 1)
        if self.config.schedule == "constant":
            return self.config.lr
        done = min(1.0, (step - rising) / max(1.0, total - rising))
        return self.config.lr * (LAST_LR + (1 - LAST_LR) * 0.5 * (1 + math.cos(math.pi * done)))

    # -- batches ------------------------------------------------------------------------------------------------------

    def _epoch_plan(self, epoch: int) -> tuple[Sequences, list[Ints]]:
        sequences = self.source.epoch(epoch)
        starts = window_starts(len(sequences), self.source.window, self.source.step)
        rng = np.random.default_rng([int(stream(self.seed, "windows")), epoch])
        return sequences, batch_windows(rng.permutation(starts), self.source.window, self.config.batch_size)

    def _pack(self, sequences: Sequences, windows: Ints, rng: np.random.Generator, hidden: float) -> Batch:
        return pack_batch(
            sequences,
            windows,
            self.source.graph.num_nodes,
            negatives=self.config.negatives,
            drawn_from=self.drawn_from,
            hidden=hidden,
            hide_nodes=self.config.new_nodes == "own",
            rng=rng,
            device=self.device,
        )

    @torch.no_grad()
    def validate(self, sequences: Sequences) -> EpochMetrics:
        """Compute losses and scores of walks without learning from them."""
        self.tasks.eval()
        metrics = EpochMetrics(self.source.graph.num_nodes)
        window = self.source.window
        starts = window_starts(len(sequences), window, window)
        for number, windows in enumerate(batch_windows(starts, window, self.config.batch_size)):
            rng = np.random.default_rng([int(stream(self.seed, "judge")), number])
            batch = self._pack(sequences, windows, rng, 0.0)
            metrics.add(batch, self._forward(batch, self.table.values[batch.rows]))
        return metrics

    def joint_loss(self, figures: dict[str, float]) -> float:
        """Add up the losses among figures, each with its weight."""
        return sum(weight * figures[f"{name}_loss"] for name, weight in loss_weights(self.config.weights).items())

    # -- states -------------------------------------------------------------------------------------------------------

    def _copy(self) -> dict[str, Tensor]:
        state = {name: tensor.detach().clone() for name, tensor in self.tasks.state_dict().items()}
        return state | {"table": self.table.values.clone()}

    def _load(self, state: dict[str, Tensor]) -> None:
        self.tasks.load_state_dict({name: tensor for name, tensor in state.items() if name != "table"})
        self.table.values.copy_(state["table"])


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Delay SIGINT until the block within is complete: a half-done step cannot be resumed."""
    came = []
    before = signal.getsignal(signal.SIGINT)  # None: not one of Python's
    if threading.current_thread() is not threading.main_thread():
        before = None  # signals come to the main thread alone
    if before is not None:
        signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)  # as it would have been handled
