"""`evaluate`: one call from models and a graph to tables; and the same for several seeds, with files."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from tadge.arrays import Ints
from tadge.errors import ConfigError, InputError
from tadge.evaluation.classes import as_labels
from tadge.evaluation.competitors import describe, short_hash
from tadge.evaluation.config import EvaluationConfig, Setting
from tadge.evaluation.models import models_of
from tadge.evaluation.origins import judge_origins
from tadge.evaluation.paper import judge_as_in_paper
from tadge.evaluation.result import Result, combine
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind
from tadge.machine import peak_memory_mb
from tadge.progress import Bars
from tadge.protocols import Answerer, name_of
from tadge.seeding import check_seed
from tadge.storage.folder import one_writer
from tadge.storage.replacement import begin_results, end_results
from tadge.version import code_version

_log = logging.getLogger(__name__)
DEFAULT_EVALUATION = EvaluationConfig()


def evaluate(
    models: Any,
    graph: TemporalGraph,
    config: EvaluationConfig = DEFAULT_EVALUATION,
    *,
    labels: Any = None,
    seed: int = 0,
    methods: Sequence[str | Answerer] | None = None,
    folder: str | PathLike[str] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Judge models, every baseline, and the same models after their times were shuffled.

    Args:
        models: one or several of: a Forecaster or a TADGE, fitted (to nothing of the test period) or not; their
            configs; any object with some of `fit`, `embed`, `score_links` and `predict_toe`. None: baselines alone.
        graph: the whole history.
        config: protocol, tasks and so on.
        labels: (N,) class numbers, -1 without one; or a dictionary from ids to labels; without any, no classes.
        seed: of questions, baselines and resampling; and of the models, where their configs are given.
        methods: names of baselines, or methods; by default all baselines.
        folder: where models and finished parts are kept, so that the work goes on after a stop.
        progress: whether to show how far it is; by default where people can see it.
        options: fields of the config to change: `tasks="links"`, `protocol="reconstruction"`, `control=False`, ...
    """
    began = time.perf_counter()
    check_kind(graph, TemporalGraph, "graph")
    config = changed(config, options)
    numbers = None if labels is None else as_labels(labels, graph)
    judged = models_of(models, check_seed(seed))
    record = record_of(judged, methods, config, numbers, seed)
    place = None if folder is None else Path(folder)
    setting = Setting(graph, config, seed, numbers, place, Bars(progress, log=_log, lines=True))
    judge = judge_as_in_paper if config.protocol == "reconstruction" else judge_origins
    result = judge(judged, methods, setting)
    result.data = {"name": config.name, "fingerprint": graph.fingerprint}
    result.data |= {"nodes": graph.num_nodes, "events": graph.num_events}
    result.config, result.seeds, result.version = record, [seed], code_version()
    spent = sum(sum(parts.values()) for parts in result.times.values())  # before a stop, too
    result.seconds = max(time.perf_counter() - began, spent)
    result.peak_memory_mb = max(result.peak_memory_mb, peak_memory_mb())
    return result


def changed(config: EvaluationConfig, options: dict[str, Any]) -> EvaluationConfig:
    """Return a config with some fields changed, or complain about one that it does not have."""
    check_kind(config, EvaluationConfig, "config")
    known = [field.name for field in fields(config)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ConfigError("unknown option", expected=f"some of {', '.join(known)}", found=unknown[0], where="evaluate")
    return replace(config, **options)


def record_of(
    models: Sequence[Answerer],
    methods: Sequence[str | Answerer] | None,
    config: EvaluationConfig,
    labels: Ints | None,
    seed: int,
) -> dict[str, Any]:
    """Say as plain values what an evaluation is about; two of the same data and record are the same."""
    record = {**config.to_dict(), "seed": seed, "models": {name_of(model): describe(model) for model in models}}
    chosen = [methods] if isinstance(methods, str) else methods
    del record["name"]  # what data are called makes no difference
    record["methods"] = chosen and [method if isinstance(method, str) else name_of(method) for method in chosen]
    record["labels"] = None if labels is None else short_hash(labels.tobytes().hex())
    return json.loads(json.dumps(record))  # type: ignore[no-any-return]


# -- several seeds, with files ----------------------------------------------------------------------------------------


def evaluate_seeds(
    make: Callable[[int], Any],
    graph: TemporalGraph,
    protocols: Sequence[str],
    seeds: int,
    out: str | PathLike[str],
    *,
    name: str,
    resume: bool = False,
    force: bool = False,
    say: Callable[[str], None] = lambda line: None,
    **options: Any,
) -> list[Result]:
    """Evaluate with the seeds 0, 1, ... and keep every result as soon as it is there; controls have seed 0 only.

    Args:
        make: gives the models of a seed, as `evaluate` takes them; such as `default_models`.
        graph: the whole history.
        protocols: "forecast", "reconstruction", or both.
        seeds: how many.
        out: folder for `<name>-<protocol>-seed<k>.json` and, of all seeds together, `<name>-<protocol>.json`; models
            and finished parts are kept in folders beside them.
        name: of the data.
        resume: take what is in the folder, of the same options and data, and go on from there.
        force: begin anew; results that are there stay as they are until all new ones are there.
        say: is told what is done.
        options: further arguments of `evaluate`.

    Returns:
        The combined result of each protocol.
    """
    names = [f"{name}-{protocol}-seed{seed}" for protocol in protocols for seed in range(seeds)]
    with one_writer(out):
        folder = begin_results(out, names, resume=resume, force=force)
        combined = _evaluate_into(folder, make, graph, protocols, seeds, name=name, say=say, **options)
        end_results(out)
    return combined


def _evaluate_into(
    folder: Path,
    make: Callable[[int], Any],
    graph: TemporalGraph,
    protocols: Sequence[str],
    seeds: int,
    *,
    name: str,
    say: Callable[[str], None],
    control: bool = True,
    **options: Any,
) -> list[Result]:
    """Evaluate every seed that has no result in a folder yet; arguments as `evaluate_seeds`."""
    results: dict[str, list[Result]] = {protocol: [] for protocol in protocols}
    for protocol, seed in [(protocol, seed) for protocol in protocols for seed in range(seeds)]:
        place, models = folder / f"{name}-{protocol}-seed{seed}.json", make(seed)
        chosen = options | {"protocol": protocol, "seed": seed, "control": control and seed == 0}
        if place.exists():
            result = _kept(place, models, graph, **chosen)
            say(f"{place}: taken as it is")
        else:
            result = evaluate(models, graph, folder=place.with_suffix(""), name=name, **chosen)
            result.to_json(place)
            say(f"{place}: written after {result.seconds:,.0f} s")
        results[protocol].append(result)
    combined = [combine(of_protocol) for of_protocol in results.values()]
    for result in combined:
        result.to_json(folder / f"{name}-{result.protocol}.json")
    return combined


def _kept(
    place: Path,
    models: Any,
    graph: TemporalGraph,
    config: EvaluationConfig = DEFAULT_EVALUATION,
    *,
    labels: Any = None,
    seed: int,
    methods: Sequence[str | Answerer] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Read a finished result, or complain where it is of something else; arguments as `evaluate`."""
    result = Result.from_json(place)
    numbers = None if labels is None else as_labels(labels, graph)
    record = record_of(models_of(models, seed), methods, changed(config, options), numbers, seed)
    differs = [key for key in record if result.config.get(key) != record[key]]
    if result.data.get("fingerprint") != graph.fingerprint:
        differs.append("data")
    if differs:
        found, cure = f"another {' and '.join(differs)}", "use the same options and data, or name another folder"
        raise InputError("this result is of something else", found=found, cure=cure, where=str(place))
    return result
