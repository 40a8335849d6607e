"""Find a method by what a user calls it: a model's folder, a baseline's name, or an object in Python code."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from inspect import isclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tadge.baselines import BASELINES, make
from tadge.errors import ConfigError, InputError, TadgeError
from tadge.evaluation.models import load_models
from tadge.graph.graph import TemporalGraph
from tadge.protocols import Auditable, name_of, supports
from tadge.units import date_text

TRAIN_FRACTION = 0.7  # of the events, the first ones: what a method that is not fitted yet is fitted to


def find_methods(
    what: str,
    graph: TemporalGraph,
    *,
    until: float | None = None,
    seed: int = 0,
    fit: bool = True,
    part: float = TRAIN_FRACTION,
) -> list[tuple[Any, TemporalGraph | None]]:
    """Find a method and fit it where it is not fitted; several where a folder holds several estimators.

    Args:
        what: the folder of fitted estimators; the name of a baseline; `file.py:name` or `package.module:name` for a
            method of one's own, or for a class or function that gives one when called without arguments.
        graph: the whole history; a method is fitted to the first part of its events.
        until: a moment, in days; a method is fitted to nothing from there on.
        seed: of the baseline.
        fit: call `fit` of a method of one's own, where it has one.
        part: the fraction of the events, the first ones, that a method is fitted to.

    Returns:
        Each method, with the events that it was fitted to here, or None.
    """
    if Path(what).is_dir():
        return [(model, None) for model in load_models(what)]
    if ":" in what:
        method = _own(what)
        if not (fit and supports(method, "fit")):
            return [(method, None)]
    else:
        method = _baseline(what, seed)
    train = _first_part(graph, until, part)
    fitted = _run(lambda: method.fit(train), f"{name_of(method)}.fit")
    return [(fitted if isinstance(fitted, Auditable) else method, train)]


def _first_part(graph: TemporalGraph, until: float | None, part: float) -> TemporalGraph:
    if part >= 1.0 and until is None:
        return graph
    end = float(graph.time[min(round(graph.num_events * part), graph.num_events - 1)])
    end = end if until is None else min(end, until)
    train = graph.before(end)
    if not train.num_events:
        found = f"none of {graph.num_events:,} before {date_text(end, graph.clock)}"
        raise InputError("nothing to fit to", expected="events", found=found)
    return train


def _baseline(name: str, seed: int) -> Any:
    try:
        return make(name, seed)
    except ConfigError as error:
        expected = f"a model's folder, file.py:name, package.module:name, or a baseline: {', '.join(BASELINES)}"
        raise InputError("no such method", expected=expected, found=repr(name), cure=error.cure) from None


def _own(what: str) -> Any:
    """Import a user's object, and call it where it only makes a method."""
    place, _, name = what.rpartition(":")
    target: Any = _import(place, what)
    for part in name.split("."):
        if not hasattr(target, part):
            names = [listed for listed in vars(target) if not listed.startswith("_")]
            expected = f"one of {', '.join(names[:20])}" if names else "a name in it"
            raise InputError("there is no such name", expected=expected, found=repr(name), where=place)
        target = getattr(target, part)
    makes = isclass(target) or (callable(target) and not isinstance(target, Auditable))
    return _run(target, what) if makes else target


def _import(place: str, what: str) -> ModuleType:
    path = Path(place)
    if path.suffix == ".py":
        if not path.is_file():
            raise InputError("there is no such file", cure="check the name and the folder", where=place)
        _look_first_in(path.parent)
        return _run(lambda: _execute(path), place)  # type: ignore[no-any-return]
    if not all(part.isidentifier() for part in place.split(".")):
        expected = "file.py:name or package.module:name"
        raise InputError("not a name of Python code", expected=expected, found=repr(what))
    _look_first_in(Path())
    return _run(lambda: importlib.import_module(place), place)  # type: ignore[no-any-return]


def _execute(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)
    assert spec is not None and spec.loader is not None  # it is a .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _look_first_in(folder: Path) -> None:
    """Let imports look into a folder first, as Python does for a script."""
    absolute = str(folder.absolute())
    if absolute not in sys.path:
        sys.path.insert(0, absolute)


def _run(call: Callable[[], Any], where: str) -> Any:
    """Run a user's code; what goes wrong in it is one sentence."""
    try:
        return call()
    except (TadgeError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise InputError("this code fails", found=f"{type(error).__name__}: {error}", where=where) from error
