"""What people see of a training run: epoch, time left, walks per second, losses."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import TaskID

from tadge.embedding.loop import Trainer
from tadge.network.training_model import LOSSES
from tadge.progress import Bars, Work, watched

_log = logging.getLogger(__name__)


class TrainingBars(Bars):
    """Show a training run on stderr, and tell the log of it.

    Args:
        wanted: whether to show it; None: where stderr is a terminal, or in a notebook.
    """

    def __init__(self, wanted: bool | None) -> None:
        super().__init__(wanted, log=_log)
        self.task: TaskID | None = None
        self.work = Work("epoch", _log)
        self.epochs = self.shown_epochs = 0

    @contextmanager
    def training(self, trainer: Trainer) -> Iterator[None]:
        """Begin with training, wherever the run stands; within, `step` shows how far it is."""
        position = trainer.position
        self.epochs, self.shown_epochs = trainer.config.epochs, len(position.history)
        total = self.epochs * len(trainer.batches)
        self.task = self.bars.add_task("epoch", total=total, completed=position.total, figures="")
        self.work = Work(f"epoch {position.epoch + 1}/{self.epochs}", _log, position.total)
        self.work.total = total
        self.say(f"{trainer.precision}, {len(trainer.sequences):,} walks, {len(trainer.source.held_out):,} held out")
        if position.total:
            lengthened = f", planned for {position.lengthened[-1]}" if position.lengthened else ""
            self.say(f"goes on after {position.epoch} of {self.epochs} epochs{lengthened}")
        with watched(self.work):
            yield

    def step(self, trainer: Trainer) -> None:
        """Show how far it is."""
        position = trainer.position
        for figures in position.history[self.shown_epochs :]:
            self.say(epoch_line(figures))
        self.shown_epochs = len(position.history)
        self.work.done = position.total
        if not position.step or self.task is None:
            return
        title = self.work.title = f"epoch {position.epoch + 1}/{self.epochs}"
        if self.bars.disable:
            return
        figures = position.metrics.figures()
        speed = position.step * trainer.batches[0].size / max(position.seconds, 1e-9)
        parts = [f"{speed:,.0f} walks/s", f"loss {trainer.joint_loss(figures):.3f}"]
        parts += [f"{name} {figures[f'{name}_loss']:.3f}" for name in LOSSES]
        text = self.figures(title, self.work.total or 0, parts)
        self.bars.update(self.task, completed=position.total, description=title, figures=text)


SHOWN_FIGURES = {"self F1": "self_f1", "edge F1": "edge_f1", "ToE RMSE": "toe_rmse"}


def epoch_line(figures: dict[str, Any]) -> str:
    """Write the figures of an epoch in a line."""
    shown = figures.get("held_out", figures)
    scores = ", ".join(f"{label} {shown[name]:.3f}" for label, name in SHOWN_FIGURES.items() if name in shown)
    part = f"held out {shown['loss']:.3f}: " if "held_out" in figures else ""
    speed = f"{figures['walks_per_second']:,.0f} walks/s"
    return f"epoch {figures['epoch']}: loss {figures['loss']:.3f}; {part}{scores}; {speed}"
