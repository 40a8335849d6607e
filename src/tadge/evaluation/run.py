"""`evaluate`: one call from a model and a graph to tables; and the same for several seeds, with files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

from tadge.arrays import Ints
from tadge.config import AGAINST, MAX_LINKS
from tadge.errors import ConfigError, InputError
from tadge.evaluation import forecast
from tadge.evaluation.classes import as_labels
from tadge.evaluation.entrants import as_model, describe, short_hash
from tadge.evaluation.questions import check_negatives
from tadge.evaluation.result import Result, combine
from tadge.evaluation.show import Show
from tadge.evaluation.tasks import TASKS, Method, check_tasks, name_of
from tadge.graph import TemporalGraph
from tadge.graph.inputs import check_kind
from tadge.machine import peak_memory_mb
from tadge.seeding import check_seed

PROTOCOLS = ("forecast", "paper")


def evaluate(
    model: Any,
    graph: TemporalGraph,
    protocol: str = "forecast",
    tasks: Sequence[str] = TASKS,
    labels: Any = None,
    seed: int = 0,
    *,
    methods: Sequence[str | Method] | None = None,
    against: Sequence[str] = AGAINST,
    max_links: int = MAX_LINKS.default,
    refit: bool = False,
    control: bool = True,
    folder: str | PathLike[str] | None = None,
    progress: bool | None = None,
    name: str = "",
) -> Result:
    """Judge a model, every free baseline, and the same model after its times were shuffled.

    Args:
        model: a TADGE, fitted (to nothing of the test period) or not; its options; any object with some of `fit`,
            `embed`, `score_links` and `predict_toe`; or None: the baselines alone.
        graph: the whole history.
        protocol: "forecast": by time, 70/15/15, with nothing seen too early; "paper": the paper's reconstruction.
        tasks: some of "toe", "links", "who-and-when" and "classes".
        labels: (N,) class numbers, -1 without one; or a dictionary from ids to labels; without any, no classes.
        seed: of questions, baselines and resampling; and of the model, where its options are given.
        methods: names of baselines, or methods; by default all baselines.
        against: the negatives that true links are ranked against: "random", "historical", "all".
        max_links: forecast: links asked about, where the test period has more; 0: all.
        refit: forecast: learn from the first 85% before the test, after all choices are made.
        control: let a TADGE of the same options learn from shuffled times.
        folder: where models and finished parts are kept, so that the work goes on after a stop.
        progress: whether to show how far it is; by default where people can see it.
        name: of the data, for the title.
    """
    began = time.perf_counter()
    check_kind(graph, TemporalGraph, "graph")
    numbers = None if labels is None else as_labels(labels, graph)
    model, given = as_model(model, check_seed(seed)), check_tasks(tasks)
    options: dict[str, Any] = {
        "methods": methods,
        "negatives": check_negatives(against),
        "most": MAX_LINKS.check(max_links),
        "refit": refit,
        "control": control,
    }
    config = config_of(model, protocol, given, numbers, seed, **options)
    place, show = None if folder is None else Path(folder), Show(progress)
    if protocol == "paper":
        from tadge.evaluation.paper import judge

        result = judge(model, graph, given, numbers, seed, methods=methods, control=control, folder=place, report=show)
    else:
        result = forecast.judge(model, graph, given, numbers, seed, folder=place, report=show, **options)
    result.data = {"name": name, "fingerprint": graph.fingerprint}
    result.data |= {"nodes": graph.num_nodes, "events": graph.num_events}
    result.config, result.seeds, result.version = config, [seed], version("tadge")
    spent = sum(sum(parts.values()) for parts in result.times.values())  # before a stop, too
    result.seconds = max(time.perf_counter() - began, spent)
    result.peak_memory_mb = max(result.peak_memory_mb, peak_memory_mb())
    return result


def config_of(
    model: Method | None,
    protocol: str,
    tasks: tuple[str, ...],
    labels: Ints | None,
    seed: int,
    *,
    methods: Sequence[str | Method] | None,
    negatives: tuple[str, ...],
    most: int,
    refit: bool,
    control: bool,
) -> dict[str, Any]:
    """Say as plain values what an evaluation is about; two of the same data and config are the same."""
    if protocol not in PROTOCOLS:
        expected = " or ".join(PROTOCOLS)
        raise ConfigError("unknown protocol", expected=expected, found=repr(protocol), where="protocol")
    names = None if methods is None else [each if isinstance(each, str) else name_of(each) for each in methods]
    about = describe(model) or (None if model is None else {"name": name_of(model)})
    found = {"protocol": protocol, "model": about, "tasks": tasks, "seed": seed, "methods": names}
    found |= {"against": negatives, "max_links": most, "refit": refit, "control": control}
    found["labels"] = None if labels is None else short_hash(labels.tobytes().hex())
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


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
    tasks: Sequence[str] = TASKS,
    labels: Any = None,
    say: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> list[Result]:
    """Evaluate with the seeds 0, 1, ... and keep every result as soon as it is there; the control has seed 0 only.

    Args:
        make: gives the model of a seed.
        graph: the whole history.
        protocols: "forecast", "paper", or both.
        seeds: how many.
        out: folder for `<name>-<protocol>-seed<k>.json` and, of all seeds together, `<name>-<protocol>.json`; models
            and finished parts are kept in folders beside them.
        name: of the data.
        resume: take what is in the folder, of the same options and data, and go on from there.
        tasks: as in `evaluate`.
        labels: as in `evaluate`.
        say: is told what is done.
        options: further arguments of `evaluate`.

    Returns:
        The combined result of each protocol.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError("this is not a folder", expected="a folder for results", where=str(out))
    places = {(each, seed): folder / f"{name}-{each}-seed{seed}.json" for each in protocols for seed in range(seeds)}
    if not resume:
        there = [str(kept) for place in places.values() for kept in (place, place.with_suffix("")) if kept.exists()]
        if there:
            cure = "say resume=True to go on with it, or name another folder"
            raise InputError("there is an evaluation in this folder", cure=cure, where=there[0])
    found: dict[str, list[Result]] = {each: [] for each in protocols}
    control = options.pop("control", True)
    for (protocol, seed), place in places.items():
        model, options["control"] = make(seed), control and seed == 0
        if place.exists():
            result = _kept(place, model, graph, protocol, tasks, labels, seed, options)
            say(f"{place}: taken as it is")
        else:
            kept = place.with_suffix("")
            result = evaluate(model, graph, protocol, tasks, labels, seed, folder=kept, name=name, **options)
            result.to_json(place)
            say(f"{place}: written after {result.seconds:,.0f} s")
        found[protocol].append(result)
    combined = [combine(results) for results in found.values()]
    for result in combined:
        result.to_json(folder / f"{name}-{result.protocol}.json")
    return combined


def _kept(
    place: Path,
    model: Any,
    graph: TemporalGraph,
    protocol: str,
    tasks: Sequence[str],
    labels: Any,
    seed: int,
    options: dict[str, Any],
) -> Result:
    """Read a finished result, or complain where it is of something else."""
    result = Result.from_json(place)
    usual: dict[str, Any] = {"methods": None, "refit": False, "control": True}
    given: dict[str, Any] = {key: options.get(key, value) for key, value in usual.items()}
    given["negatives"] = check_negatives(options.get("against", AGAINST))
    given["most"] = options.get("max_links", MAX_LINKS.default)
    numbers = None if labels is None else as_labels(labels, graph)
    config = config_of(as_model(model, seed), protocol, check_tasks(tasks), numbers, seed, **given)
    changed = [key for key in config if result.config.get(key) != config[key]]
    if result.data.get("fingerprint") != graph.fingerprint:
        changed.append("data")
    if changed:
        found, cure = f"another {' and '.join(changed)}", "use the same options and data, or name another folder"
        raise InputError("this result is of something else", found=found, cure=cure, where=str(place))
    return result
