"""Fitted estimators on disk: one folder holds a TADGE, a Forecaster, or both; either loads alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from torch import Tensor

from tadge.errors import InputError
from tadge.graph.graph import TemporalGraph
from tadge.storage.folder import has_folder, read_folder, write_folder
from tadge.storage.graph_file import graph_from, graph_tensors
from tadge.version import __version__

KINDS_OF_ESTIMATORS = ("tadge", "forecaster")
FIRST_LAYOUT = "model"  # both in one, before each had a name of its own
LAYOUT = 2


def write_estimator(
    folder: str | PathLike[str],
    kind: str,
    graph: TemporalGraph,
    parts: Mapping[str, Mapping[str, Tensor]],
    meta: Mapping[str, Any],
) -> None:
    """Write an estimator with the graph it was fitted to; other estimators in the folder stay as they are."""
    tensors, about_graph = graph_tensors(graph)
    more = {"graph": about_graph, "fingerprint": graph.fingerprint, "layout": LAYOUT, "tadge": __version__}
    write_folder(folder, kind, {**parts, "graph": tensors}, {**meta, **more})


@contextmanager
def estimator_parts(
    folder: str | PathLike[str], kind: str
) -> Iterator[tuple[TemporalGraph, dict[str, dict[str, Tensor]], dict[str, Any]]]:
    """Read an estimator: its graph, its tensors and the rest, from which the block within builds it.

    Where that fails on what does not fit, the complaint is about the folder.
    """
    if not has_folder(folder, kind):
        _explain_missing(folder, kind)
    parts, meta = read_folder(folder, kind)
    cure, where = "fit it again, or load it with the version of tadge that wrote it", str(folder)
    if meta.get("layout") != LAYOUT:
        expected, found = f"layout {LAYOUT}", f"layout {meta.get('layout')!r}"
        raise InputError("a folder of another layout", expected=expected, found=found, cure=cure, where=where)
    try:
        yield graph_from(parts["graph"], meta["graph"]), parts, meta
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError("the parts of the model do not fit together", cure=cure, where=where) from error


def _explain_missing(folder: str | PathLike[str], kind: str) -> NoReturn:
    """Say what is in a folder that does not hold the estimator asked for."""
    names = {"tadge": "a TADGE", "forecaster": "a Forecaster"}
    place = Path(folder)
    if not place.is_dir():
        what = "this is not a folder" if place.exists() else "there is no such folder"
        raise InputError(what, expected="a folder that tadge fit made", where=str(folder))
    others = [other for other in KINDS_OF_ESTIMATORS if other != kind and has_folder(folder, other)]
    if others:
        flag = "vectors" if kind == "tadge" else "forecasts"
        cure = f"fit one into it: tadge fit FILE --out {place} --only {flag}"
        raise InputError(
            f"there is no {names[kind][2:]} in this folder", found=names[others[0]], cure=cure, where=str(folder)
        )
    if has_folder(folder, FIRST_LAYOUT):
        cure = "fit it again"
        raise InputError("a model of an earlier version of tadge", expected=names[kind], cure=cure, where=str(folder))
    raise InputError(f"not a folder of {names[kind]}", expected=f"{kind}.json in it", where=str(folder))
