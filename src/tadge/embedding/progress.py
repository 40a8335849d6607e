"""What people see of a training run: epoch, losses, walks per second, time left."""

from __future__ import annotations

from typing import Any

from rich.progress import TaskID

from tadge.embedding.loop import Trainer
from tadge.network.training_model import LOSSES
from tadge.progress import Bars


class TrainingBars(Bars):
    """Show a training run on stderr.

    Args:
        wanted: whether to; None: where stderr is a terminal, or in a notebook.
    """

    def __init__(self, wanted: bool | None) -> None:
        super().__init__(wanted)
        self.task: TaskID | None = None
        self.epochs = self.shown_epochs = 0

    def begin(self, trainer: Trainer) -> None:
        """Begin with training, wherever the run stands."""
        self.epochs, self.shown_epochs = trainer.config.epochs, len(trainer.position.history)
        total = self.epochs * len(trainer.batches)
        self.task = self.bars.add_task("epoch", total=total, completed=trainer.position.total, figures="")
        self.say(f"{trainer.precision}, {len(trainer.sequences):,} walks, {len(trainer.source.held_out):,} held out")

    def step(self, trainer: Trainer) -> None:
        """Show how far it is."""
        if not self.wanted or self.task is None:
            return
        position = trainer.position
        for figures in position.history[self.shown_epochs :]:
            self.say(epoch_line(figures))
        self.shown_epochs = len(position.history)
        if position.step:
            figures = position.metrics.figures()
            speed = position.step * trainer.batches[0].size / max(position.seconds, 1e-9)
            text = " ".join(f"{name} {figures[f'{name}_loss']:.3f}" for name in LOSSES) + f" {speed:,.0f} walks/s"
            title = f"epoch {position.epoch + 1}/{self.epochs}"
            self.bars.update(self.task, completed=position.total, description=title, figures=text)


SHOWN_FIGURES = {"self F1": "self_f1", "edge F1": "edge_f1", "ToE RMSE": "toe_rmse"}


def epoch_line(figures: dict[str, Any]) -> str:
    """Write the figures of an epoch in a line."""
    shown = figures.get("held_out", figures)
    scores = ", ".join(f"{label} {shown[name]:.3f}" for label, name in SHOWN_FIGURES.items() if name in shown)
    part = f"held out {shown['loss']:.3f}: " if "held_out" in figures else ""
    speed = f"{figures['walks_per_second']:,.0f} walks/s"
    return f"epoch {figures['epoch']}: loss {figures['loss']:.3f}; {part}{scores}; {speed}"
