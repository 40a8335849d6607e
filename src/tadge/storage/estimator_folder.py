"""Fitted estimators on disk: one folder holds a TADGE, a Forecaster, or both; either loads alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy.typing as npt

from tadge.errors import InputError, TadgeError, TadgeWarning
from tadge.graph.graph import TemporalGraph
from tadge.storage.folder import Arrays, Value, has_folder, read_arrays, read_folder, read_meta, write_folder
from tadge.storage.graph_file import graph_arrays, graph_from
from tadge.storage.replacement import CHECKPOINT, ESTIMATORS, FORECASTER, VECTORS, current_place, end_run
from tadge.version import __version__

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

NAMES = {VECTORS: "TADGE", FORECASTER: "Forecaster"}
Network = TypeVar("Network", bound="nn.Module")

Reader = Callable[[str | PathLike[str], str], tuple[dict[str, dict[str, Value]], dict[str, Any]]]
Read = tuple[TemporalGraph, dict[str, dict[str, Value]], dict[str, Any]]
Parts = AbstractContextManager[Read[Value]]

FIRST_LAYOUT = "model"  # both in one, before each had a name of its own
LAYOUT = 2
MODEL = "model"  # the folder of models inside a run's


def write_estimator(
    folder: str | PathLike[str],
    kind: str,
    graph: TemporalGraph,
    parts: Mapping[str, Mapping[str, Tensor] | Arrays],
    meta: Mapping[str, Any],
) -> None:
    """Write an estimator with the graph it was fitted to; other estimators in the folder stay as they are."""
    end_run(folder, whole=False)
    for other in others_of_other_events(folder, [kind], graph):
        words = f"{folder}: the {NAMES[other]} in this folder has learned from other events than the {NAMES[kind]}"
        warnings.warn(words, TadgeWarning, stacklevel=3)
    arrays, about_graph = graph_arrays(graph)
    more = {"graph": about_graph, "fingerprint": graph.fingerprint, "layout": LAYOUT, "tadge": __version__}
    write_folder(folder, kind, {**parts, "graph": arrays}, {**meta, **more})


def model_folder(folder: str | PathLike[str]) -> Path:
    """Find the models of a folder: in itself, or, of a run that `tadge run` made, in its folder `model`."""
    if not isinstance(folder, (str, PathLike)):
        expected = "the name of a folder that tadge fit, tadge run or save made"
        raise InputError("not the name of a folder", expected=expected, found=repr(folder)[:80], where="folder")
    place = Path(folder)
    kinds = (*ESTIMATORS, FIRST_LAYOUT)
    inside = place / MODEL
    if not any(has_folder(place, kind) for kind in kinds) and any(has_folder(inside, kind) for kind in kinds):
        return inside
    return place


def estimator_parts(folder: str | PathLike[str], kind: str) -> Parts[Tensor]:
    """Read an estimator: its graph, its tensors and the rest, from which the block within builds it.

    Where that fails on what does not fit, the complaint names the folder and the part. The folder of a run will do.
    """
    return _parts(folder, kind, read_folder)


def estimator_arrays(folder: str | PathLike[str], kind: str) -> Parts[npt.NDArray[Any]]:
    """Read an estimator as `estimator_parts` does, with arrays for tensors, without torch."""
    return _parts(folder, kind, read_arrays)


@contextmanager
def _parts(folder: str | PathLike[str], kind: str, read: Reader[Value]) -> Iterator[Read[Value]]:
    folder = model_folder(folder)
    if not has_estimator(folder, kind):
        _explain_missing(folder, kind)
    parts, meta = _read(folder, kind, read)
    cure, where = "fit it again, or load it with the version of tadge that wrote it", str(folder)
    if meta.get("layout") != LAYOUT:
        expected, found = f"layout {LAYOUT}", f"layout {meta.get('layout')!r}"
        raise InputError("a folder of another layout", expected=expected, found=found, cure=cure, where=where)
    what = "the parts of the model do not fit together"
    try:
        yield graph_from(parts["graph"], meta["graph"]), parts, meta
    except TadgeError as error:
        part = f"{error.where}: " if error.where else ""
        details = {"expected": error.expected, "found": error.found, "cure": cure, "where": where}
        raise InputError(f"{what}: {part}{error.what}", **details) from error
    except KeyError as error:
        raise InputError(what, found=f"no {error.args[0]!r:.80}", cure=cure, where=where) from error
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        found = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(what, found=found, cure=cure, where=where) from error


def filled(
    build: Callable[[], Network], tensors: Mapping[str, Tensor], part: str, spreads: Collection[str] = ()
) -> Network:
    """Build a network and fill it with tensors, once these are known to fit: until then it takes no memory.

    Args:
        build: makes the network.
        tensors: what its parameters and buffers are to be, all of them and no others.
        part: of the folder, for messages.
        spreads: names of tensors that are divided by: positive, and infinite for what does not vary.
    """
    import torch  # here, as a Forecaster does without

    with torch.device("meta"):
        plan = build().state_dict()
    for name in sorted(plan.keys() ^ tensors.keys()):
        found = f"no {name!r}" if name in plan else f"{name[:80]!r}"
        raise InputError("other tensors than the options say", found=found, where=part)
    for name, tensor in tensors.items():
        where = f"{part} {name}"
        if name in spreads and not bool((tensor > 0).all()):
            raise InputError("a tensor that cannot be divided by", expected="positive numbers", where=where)
        checked = torch.where(torch.isinf(tensor), 1.0, tensor) if name in spreads else tensor
        check_tensor(checked, plan[name].shape, where, plan[name].dtype)
    network = build()
    network.load_state_dict(dict(tensors))
    return network


def check_tensor(tensor: Tensor, shape: tuple[int, ...], where: str, dtype: torch.dtype | None = None) -> Tensor:
    """Refuse a tensor of another shape or dtype, or one that has a number that is not finite; else give it back.

    The dtype is float32 where none is given.
    """
    import torch

    dtype = torch.float32 if dtype is None else dtype
    if tuple(tensor.shape) != tuple(shape) or tensor.dtype != dtype:
        expected, found = f"{tuple(shape)} of {dtype}", f"{tuple(tensor.shape)} of {tensor.dtype}"
        raise InputError("a tensor that does not fit the options", expected=expected, found=found, where=where)
    if not bool(torch.isfinite(tensor).all()):
        raise InputError("a tensor with NaN or infinity", expected="finite numbers", where=where)
    return tensor


def has_estimator(folder: str | PathLike[str], kind: str) -> bool:
    """Tell whether a folder holds an estimator of a kind."""
    return has_folder(current_place(folder, kind), kind)


def others_of_other_events(folder: str | PathLike[str], kinds: Sequence[str], graph: TemporalGraph) -> list[str]:
    """List the estimators of a folder, but for those of some kinds, that were fitted to another graph."""
    others = [kind for kind in ESTIMATORS if kind not in kinds and has_estimator(folder, kind)]
    return [kind for kind in others if read_meta(current_place(folder, kind), kind)["fingerprint"] != graph.fingerprint]


def check_about(old: dict[str, Any], new: dict[str, Any], folder: str | PathLike[str]) -> None:
    """Complain where a run or model in a folder is of other options, another seed or other data."""
    for name, value in new.items():
        if old.get(name) != value:
            expected, found = _differing(old.get(name), value)
            cure = "say the same options, or start anew in another folder"
            what = f"what is in this folder has another {name}"
            raise InputError(what, expected=expected, found=found, cure=cure, where=str(folder))


def _differing(old: Any, new: Any) -> tuple[str, str]:
    """Name what differs between two values, of options field by field."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in new if old.get(name) != new[name]]
        return tuple(", ".join(f"{name} = {each.get(name)!r}" for name in names) for each in (old, new))  # type: ignore[return-value]
    return repr(old), repr(new)


def _read(
    folder: str | PathLike[str], kind: str, read: Reader[Value]
) -> tuple[dict[str, dict[str, Value]], dict[str, Any]]:
    """Read a kind from where it is now; another process may move it meanwhile."""
    place = current_place(folder, kind)
    try:
        return read(place, kind)
    except InputError:
        if current_place(folder, kind) == place:
            raise
        return read(folder, kind)


def _explain_missing(folder: str | PathLike[str], kind: str) -> NoReturn:
    """Say what is in a folder that does not hold the estimator asked for."""
    place, name = Path(folder), NAMES[kind]
    if not place.is_dir():
        what = "this is not a folder" if place.exists() else "there is no such folder"
        raise InputError(what, expected="a folder that tadge fit made", where=str(folder))
    others = [f"a {NAMES[other]}" for other in ESTIMATORS if other != kind and has_estimator(folder, other)]
    unfinished = has_folder(folder, CHECKPOINT)
    if others or unfinished:
        flag = "vectors" if kind == VECTORS else "forecasts"
        cure = f"fit one into it: tadge fit FILE --out {place} --only {flag}"
        if unfinished and kind == VECTORS:
            others.append("a run that is not done")
            cure = f"go on with that run: tadge fit FILE --out {place} --resume"
        elif unfinished and not others:
            others.append("a run of TADGE that is not done")
        raise InputError(f"there is no {name} in this folder", found=" and ".join(others), cure=cure, where=str(folder))
    if has_folder(folder, FIRST_LAYOUT):
        cure = "fit it again"
        raise InputError("a model of an earlier version of tadge", expected=f"a {name}", cure=cure, where=str(folder))
    raise InputError(f"not a folder of a {name}", expected=f"{kind}.json in it", where=str(folder))
