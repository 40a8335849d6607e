"""What an evaluation came to: figures, how sure they are, and all that is needed to tell where they are from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tadge.errors import InputError
from tadge.evaluation.figures import Figure, label, number, outcome, smaller_is_better
from tadge.evaluation.table import as_tables, as_text
from tadge.storage.atomic import atomic_file

if TYPE_CHECKING:
    from rich.console import RenderableType

KINDS = ("model", "rule", "control")


@dataclass
class Result:
    """Hold the figures of an evaluation.

    Attributes:
        protocol: "forecast" or "paper".
        tasks: of each task `main`, the metric that methods are compared by; `shown`, the metrics that tables show; and
            `questions`, how many were asked. Metrics that begin with rmse, mae or median are errors.
        methods: method, task, metric: `value`, `low` and `high`.
        kinds: of each method "model", "rule" or "control".
        comparisons: the model against each other method in each task: `task`, `metric`, `model`, `rival`, `value`,
            `rival_value`, and `low` and `high` of their difference on the same questions.
        times: of each method, the seconds that its parts took.
        validation: of each method, its figures on the validation period.
        notes: what else a reader must know.
        data: name, fingerprint, nodes and events.
        config: all options of model and evaluation.
        seeds: one, or all that were combined; then low and high are one standard deviation off the mean.
        seconds: time taken in all.
        peak_memory_mb: the most memory that the process has held.
        version: of tadge.
    """

    protocol: str
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    methods: dict[str, dict[str, dict[str, Figure]]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    validation: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    version: str = ""

    # -- what it says -------------------------------------------------------------------------------------------------

    def add(
        self,
        task: str,
        main: str,
        shown: Sequence[str],
        questions: int,
        figures: dict[str, dict[str, Figure]],
        comparisons: Sequence[dict[str, Any]],
    ) -> None:
        """Add a task with the figures of each method that could answer it."""
        self.tasks[task] = {"main": main, "shown": list(shown), "questions": questions}
        for name, found in figures.items():
            self.methods.setdefault(name, {})[task] = found
        self.comparisons += comparisons

    def rows(self, task: str) -> list[str]:
        """List the methods that answered a task: the model, then the rules, best first, then the control."""
        main = self.tasks[task]["main"]
        sign = 1 if smaller_is_better(main) else -1
        names = [name for name, tasks in self.methods.items() if task in tasks]
        return sorted(
            names, key=lambda name: (KINDS.index(self.kinds[name]), sign * self.methods[name][task][main]["value"])
        )

    def best(self, task: str, metric: str) -> set[str]:
        """Name the methods with the best figure of a task."""
        found = {
            name: tasks[task][metric]["value"] for name, tasks in self.methods.items() if metric in tasks.get(task, {})
        }
        top = (min if smaller_is_better(metric) else max)(found.values(), default=0.0)
        return {name for name, value in found.items() if value == top}

    def sentences(self, task: str | None = None) -> list[str]:
        """Say in plain words where the model wins, where it loses, and where nothing is clear."""
        return [
            sentence
            for name in self.tasks
            if task in (None, name)
            for kind in ("rule", "control")
            for sentence in self._verdict(name, kind)
        ]

    def _verdict(self, task: str, kind: str) -> list[str]:
        about = [one for one in self.comparisons if one["task"] == task and self.kinds[one["rival"]] == kind]
        if not about:
            return []
        rivals = {one["rival"]: one for one in about}
        best = next(rivals[name] for name in self.rows(task) if name in rivals)
        metric = label(best["metric"])
        metric += ":" if metric.split(" ")[-1][0].isdigit() else ""  # one number after another
        figures = f"{metric} {number(best['value'])} against {number(best['rival_value'])}"
        rival = f"the control ({best['rival']})" if kind == "control" else best["rival"]
        lost = sum(outcome(one) == "loses" for one in about) - 1
        match outcome(best):
            case "loses":
                further = f"; it loses to {lost} more" if lost > 0 else ""
                return [f"{best['model']} loses to {rival} on {task}, {figures}{further}."]
            case "wins":
                return [f"{best['model']} wins against {rival} on {task}, {figures}."]
        return [f"{best['model']} and {rival}: no clear difference on {task}, {figures}."]

    def __str__(self) -> str:
        return as_text(self)

    def __rich__(self) -> RenderableType:
        return self.render()

    def render(self) -> RenderableType:
        """Lay everything out as tables for a terminal, the best in bold."""
        return as_tables(self)

    # -- disk ---------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return asdict(self)

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write everything into a file, which appears whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        with atomic_file(path, "w") as file:
            file.write(text + "\n")

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Result:
        """Read a file that `to_json` wrote."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
        except ValueError:
            found = None
        names = {one.name for one in fields(cls)}
        if not isinstance(found, dict) or found.keys() != names:
            cure = "evaluate again"
            raise InputError("not a result", expected="a file that tadge evaluate wrote", cure=cure, where=str(path))
        return cls(**found)


# -- several seeds ----------------------------------------------------------------------------------------------------


def combine(results: Sequence[Result]) -> Result:
    """Put the results of several seeds together: means, one standard deviation to either side.

    A difference counts as clear where it is so both for the questions of a seed and from seed to seed.
    """
    if not results:
        raise InputError("nothing to combine", expected="at least one result", found="none")
    one = results[0]
    kinds = {(each.protocol, each.data.get("fingerprint")) for each in results}
    if len(kinds) > 1:
        raise InputError(
            "these results do not belong together", expected="one protocol and one graph", found=str(kinds)
        )
    if len(results) == 1:
        return one
    methods = {}
    for name, tasks in one.methods.items():
        having = [each for each in results if name in each.methods]
        methods[name] = {
            task: {
                metric: _spread([each.methods[name][task][metric]["value"] for each in having])
                for metric in _shared(having, name, task)
            }
            for task in tasks
        }
    return Result(
        one.protocol,
        {name: about | {"questions": _most(results, name)} for name, about in one.tasks.items()},
        methods,
        one.kinds,
        _combined_comparisons(results),
        {name: _mean([each.times.get(name, {}) for each in results]) for name in one.times},
        {name: _mean([each.validation.get(name, {}) for each in results]) for name in one.validation},
        list(dict.fromkeys(note for each in results for note in each.notes)) + _fewer(results),
        one.data,
        one.config,
        [seed for each in results for seed in each.seeds],
        sum(each.seconds for each in results),
        max(each.peak_memory_mb for each in results),
        one.version,
    )


def _fewer(results: Sequence[Result]) -> list[str]:
    """Say which methods not every seed has."""
    counts = {name: sum(name in each.methods for each in results) for name in results[0].methods}
    return [f"{name}: {count} of {len(results)} seeds" for name, count in counts.items() if count < len(results)]


def _shared(results: Sequence[Result], name: str, task: str) -> list[str]:
    """List the metrics that every seed has."""
    found = [each.methods.get(name, {}).get(task, {}) for each in results]
    return [metric for metric in found[0] if all(metric in other for other in found)]


def _most(results: Sequence[Result], task: str) -> int:
    return max(int(each.tasks[task]["questions"]) for each in results if task in each.tasks)


def _spread(values: Sequence[float]) -> Figure:
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"value": mean, "low": mean - spread, "high": mean + spread}


def _mean(found: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([each[key] for each in found if key in each])) for key in found[0]}


def _combined_comparisons(results: Sequence[Result]) -> list[dict[str, Any]]:
    combined = []
    for one in results[0].comparisons:
        same = [
            other
            for each in results
            for other in each.comparisons
            if all(other[key] == one[key] for key in ("task", "metric", "model", "rival"))
        ]
        mean = {key: float(np.mean([each[key] for each in same])) for key in ("value", "rival_value", "low", "high")}
        seeds = _spread([each["value"] - each["rival_value"] for each in same])
        span = {"low": min(mean["low"], seeds["low"]), "high": max(mean["high"], seeds["high"])}
        combined.append(one | mean | span)
    return combined
