"""A training run on disk: everything that is needed to go on to the same weights."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from os import PathLike
from typing import Any

import torch
from torch import Tensor

from tadge.embedding.epoch_metrics import EpochMetrics
from tadge.embedding.loop import Position, Trainer
from tadge.errors import InputError
from tadge.storage.estimator_folder import check_about
from tadge.storage.folder import has_folder, read_folder, read_meta, write_folder
from tadge.storage.replacement import CHECKPOINT, VECTORS

Run = tuple[dict[str, dict[str, Tensor]], dict[str, Any]]  # the parts and the rest of a run on disk
FINISHED = ("done", "early")  # reasons to stop, after which there is nothing left to do
STOPPED, PRECISIONS = (*FINISHED, "budget", "interrupted", "trouble"), ("float32", "bfloat16")
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
PLAIN = ("epoch", "step", "total", "since", "best_epoch", "seconds", "history", "lengthened")  # of a position, as JSON


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
    where = {name: getattr(position, name) for name in PLAIN}
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


def unfinished_words(stopped: str, done: int, planned: int) -> str:
    """Say what the answers of a TADGE are whose training was stopped after so many epochs of those planned."""
    how = {"interrupted": "was interrupted", "budget": "was out of time"}.get(stopped, "ended in trouble")
    when, what = f"after {done} of {planned} epochs", "are the best until then"
    if not done:
        when, what = "in its first epoch", "hold nothing of when things happened"
    return f"the training of this TADGE {how} {when}: its vectors {what}; resume the fit to go on"


def about_model(meta: dict[str, Any]) -> dict[str, Any]:
    """Say what the run was that made a model, as a TADGE says it of a run."""
    about = {name: meta[name] for name in ("walks", "network", "train", "seed")}
    return about | {"graph": meta["fingerprint"], "given walks": meta.get("given walks")}


def read_run(folder: str | PathLike[str], about: dict[str, Any], *, check_only: bool = False) -> Run | None:
    """Read the run of a folder that one of these options goes on with: None where it begins anew.

    Args:
        folder: where it is.
        about: what the run is to be.
        check_only: complain where what is there is of another run, and read nothing of it.
    """
    if has_folder(folder, CHECKPOINT):
        if check_only:
            check_same_run(read_meta(folder, CHECKPOINT)["about"], about, folder)
            return None
        return read_checkpoint(folder, about)
    if not has_folder(folder, VECTORS):
        return None
    meta = read_meta(folder, VECTORS)
    if meta["stopped"] not in FINISHED:
        return None
    old = about_model(meta)
    check_same_run(old, about, folder)
    if check_only or not is_longer(old, about):
        return None
    return run_of_model(*read_folder(folder, VECTORS), old)


def read_checkpoint(folder: str | PathLike[str], about: dict[str, Any]) -> Run:
    """Read a run; complain where it is of other options, another seed or other data; more epochs are allowed."""
    parts, meta = read_folder(folder, CHECKPOINT)
    check_same_run(meta["about"], about, folder)
    return parts, meta


def run_of_model(parts: dict[str, dict[str, Tensor]], meta: dict[str, Any], about: dict[str, Any]) -> Run:
    """Give a run that goes on from a model that is done: from its best state, with moments that begin anew.

    Args:
        parts: of the model's folder.
        meta: of the model's folder.
        about: what the run was that made it.
    """
    values, history = parts["table"]["values"], meta["history"]
    table = {"values": values, "first": torch.zeros_like(values), "second": torch.zeros_like(values)}
    best = min(figures.get("held_out", figures)["loss"] for figures in history)
    position = asdict(Position(epoch=len(history), best=best, best_epoch=len(history), history=history, total=-1))
    position |= {"metrics": EpochMetrics().state(), "lengthened": meta.get("lengthened", [])}
    weights = parts["weights"]
    run = {"weights": weights, "moments": {}, "table": table, "best": weights | {"table": values}}
    return run, {"about": about, "precision": meta["precision"], "position": position}


def check_same_run(old: dict[str, Any], new: dict[str, Any], folder: str | PathLike[str]) -> None:
    """Complain where what is in a folder is of another run; one that is to be longer is the same."""
    if is_longer(old, new):
        new = new | {"train": new["train"] | {"epochs": old["train"]["epochs"]}}
    check_about(old, new, folder)


def is_longer(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Tell whether a run is to have more epochs than it was begun with."""
    return bool(new.get("train", {}).get("epochs", 0) > old.get("train", {}).get("epochs", math.inf))


def check_outcome(meta: dict[str, Any]) -> None:
    """Refuse what a folder says of a training that no training says."""
    history, stopped, precision = meta["history"], meta["stopped"], meta["precision"]
    if not (isinstance(history, list) and all(isinstance(epoch, dict) for epoch in history)):
        raise InputError("not the figures of epochs", found=repr(history)[:80], where="history")
    for name, value, known in (("stopped", stopped, STOPPED), ("precision", precision, PRECISIONS)):
        if value not in known:
            raise InputError(f"unknown {name}", expected=" or ".join(known), found=repr(value)[:80], where=name)


def restore(trainer: Trainer, parts: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """Bring a new trainer to where the run was; one that is to be longer waits anew for a smaller loss."""
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
    position = Position(**where, best=math.inf if best is None else best, metrics=metrics)
    trainer.position = position
    trainer.resume()
    if position.total < 0:  # it goes on from a model
        position.total = position.since = position.epoch * len(trainer.batches)
    planned = meta["about"].get("train", {}).get("epochs", trainer.config.epochs)
    if planned < trainer.config.epochs:
        position.lengthened, position.best_epoch = [*position.lengthened, planned], position.epoch
