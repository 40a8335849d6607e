"""A training run on disk: everything that is needed to go on to the same weights."""

from __future__ import annotations

import math
import time
from os import PathLike
from typing import Any

from torch import Tensor

from tadge.embedding.epoch_metrics import EpochMetrics
from tadge.embedding.loop import Position, Trainer
from tadge.errors import InputError
from tadge.storage.folder import read_folder, write_folder

CHECKPOINT = "checkpoint"
Run = tuple[dict[str, dict[str, Tensor]], dict[str, Any]]  # the parts and the rest of a run on disk
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def write_checkpoint(folder: str | PathLike[str], trainer: Trainer, about: dict[str, Any]) -> None:
    """Write a run as it stands between two steps.

    Args:
        folder: where to.
        trainer: the run.
        about: what the run is (options, seed, data); `read_checkpoint` wants the same.
    """
    position = trainer.position
    state = trainer.optimiser.state_dict()["state"]
    moments = {f"{number}.{name}": value[name] for number, value in state.items() for name in MOMENTS}
    parts = {
        "weights": trainer.tasks.state_dict(),
        "moments": moments,
        "table": trainer.table.tensors(),
        "best": trainer.best,
    }
    where = {name: getattr(position, name) for name in ("epoch", "step", "total", "best_epoch", "seconds", "history")}
    where["best"] = None if math.isinf(position.best) else position.best
    where["metrics"] = position.metrics.state()
    write_folder(folder, CHECKPOINT, parts, {"about": about, "precision": trainer.precision, "position": where})


class Saver:
    """Write checkpoints now and then.

    Args:
        folder: where to; None: nowhere.
        about: as in `write_checkpoint`.
        seconds: time from the end of one checkpoint to the next; 0: after every step.
    """

    def __init__(self, folder: str | PathLike[str] | None, about: dict[str, Any], seconds: float) -> None:
        self.folder, self.about, self.seconds = folder, about, seconds
        self.last = time.monotonic()

    def __call__(self, trainer: Trainer) -> None:
        """Write a checkpoint where it is time for one."""
        if time.monotonic() - self.last >= self.seconds:
            self.now(trainer)

    def now(self, trainer: Trainer) -> None:
        """Write a checkpoint."""
        if self.folder is not None:
            write_checkpoint(self.folder, trainer, self.about)
        self.last = time.monotonic()


def read_checkpoint(folder: str | PathLike[str], about: dict[str, Any]) -> Run:
    """Read a run; complain where it is of other options, another seed or other data."""
    parts, meta = read_folder(folder, CHECKPOINT)
    check_about(meta["about"], about, folder)
    return parts, meta


def check_about(old: dict[str, Any], new: dict[str, Any], folder: str | PathLike[str]) -> None:
    """Complain where a run or model in a folder is of other options, another seed or other data."""
    for name, value in new.items():
        if old.get(name) != value:
            expected, found = _differing(old.get(name), value)
            cure = "say the same options, or start anew in another folder"
            what = f"what is in this folder has another {name}"
            raise InputError(what, expected=expected, found=found, cure=cure, where=str(folder))


def restore(trainer: Trainer, parts: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """Bring a new trainer to where the run was."""
    trainer.tasks.load_state_dict(parts["weights"])
    for name, tensor in trainer.table.tensors().items():
        tensor.copy_(parts["table"][name])
    trainer.best = {name: tensor.to(trainer.device) for name, tensor in parts["best"].items()}
    numbers = sorted({int(name.split(".")[0]) for name in parts["moments"]})
    state = {number: {name: parts["moments"][f"{number}.{name}"] for name in MOMENTS} for number in numbers}
    groups = trainer.optimiser.state_dict()["param_groups"]
    trainer.optimiser.load_state_dict({"state": state, "param_groups": groups})
    where = dict(meta["position"])
    metrics = EpochMetrics()
    metrics.restore(where.pop("metrics"))
    best = where.pop("best")
    trainer.position = Position(**where, best=math.inf if best is None else best, metrics=metrics)
    trainer.resume()


def _differing(old: Any, new: Any) -> tuple[str, str]:
    """Name what differs between two values, of options field by field."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in new if old.get(name) != new[name]]
        return tuple(", ".join(f"{name} = {each.get(name)!r}" for name in names) for each in (old, new))  # type: ignore[return-value]
    return repr(old), repr(new)
