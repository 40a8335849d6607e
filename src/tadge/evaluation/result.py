"""What an evaluation came to: figures, how sure they are, and all that is needed to tell where they are from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tadge.arrays import Flags, Ints
from tadge.errors import InputError
from tadge.evaluation.figures import NEITHER, Figure, Measured, badness, label, number, outcome, summarise
from tadge.evaluation.table import as_html, as_tables, as_text, num_periods
from tadge.storage.atomic import atomic_file

if TYPE_CHECKING:
    from rich.console import RenderableType

KINDS_IN_ORDER = ("model", "variant", "rule", "control")  # of rows
SHUFFLED = "{}, times shuffled"  # the name of a model's control
IN_WORDS = {
    "median days": "median error in days",
    "mae days": "MAE in days",
}  # metrics that sentences do not call by their label


@dataclass
class Result:
    """Hold the figures of an evaluation.

    Attributes:
        protocol: "forecast" or "reconstruction".
        tasks: of each task `main`, the metric that methods are compared by; `shown`, the metrics that tables show;
            `questions`, how many were asked; and `targets`, about how many targets, where those of one target are
            drawn together for intervals. Metrics that begin with rmse, mae, median, brier, gap or pinball are errors.
            Of probabilities also `reliability`, by method: ten groups of questions in order of what was said, each with
            its mean, the fraction that came true and its size; of `when` also `slices`, the coverage in ten parts of
            the test period. Of several seeds or periods these two are those of the first.
        methods: method, task, metric: `value`, `low` and `high`.
        kinds: of each method "model", "variant" (a model read in another way), "rule" (a baseline) or "control".
        comparisons: each model against each rule and its control in each task: `task`, `metric`, `model`, `rival`,
            `value`, `rival_value`, and `low` and `high` of their difference on the same questions.
        times: of each method, the seconds that its parts took.
        validation: of each method, its figures on the validation period.
        notes: what else a reader must know.
        data: name, fingerprint, nodes and events.
        config: all options of models and evaluation.
        seeds: one, or all that were combined; then low and high are one standard deviation off the mean, as they are
            where there are several test periods (`origins` in the config).
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
        for name, by_metric in figures.items():
            self.methods.setdefault(name, {})[task] = by_metric
        self.comparisons += comparisons

    def add_measured(
        self,
        task: str,
        measured: Mapping[str, Measured],
        seed: int,
        questions: int,
        shown: Sequence[str],
        compared: Sequence[str],
        groups: Mapping[str, Flags] | None = None,
        targets: Ints | None = None,
    ) -> None:
        """Add a task from what was measured for each question; every model is compared with rules and its control.

        Args:
            task: its name.
            measured: of each method that could answer.
            seed: of the resampling.
            questions: how many were asked.
            shown: the metrics that tables show.
            compared: the metrics by which methods are compared, the main one first.
            groups: masks of further groups of questions.
            targets: (n,) whom each question is about, where questions about one target are drawn together.
        """
        pairs = [
            (model, name)
            for model, kind in self.kinds.items()
            if kind == "model"
            for name, rival_kind in self.kinds.items()
            if rival_kind == "rule" or name == SHUFFLED.format(model)
        ]
        about: dict[str, Any] = {"task": task, "compared": compared, "pairs": pairs, "clusters": targets}
        figures, comparisons = summarise(measured, seed, groups, **about)
        self.add(task, compared[0], shown, questions, figures, comparisons)
        if targets is not None:
            self.tasks[task]["targets"] = int(np.unique(targets).size)

    def figures(self, name: str, task: str) -> dict[str, Figure]:
        """Give the figures of a method on a task by metric; none where it cannot answer."""
        return self.methods.get(name, {}).get(task, {})

    def rows(self, task: str) -> list[str]:
        """List the rows of a task: all models, also one that cannot answer; then rules, best first; then controls."""
        main = self.tasks[task]["main"]
        names = [name for name, kind in self.kinds.items() if kind == "model" or task in self.methods.get(name, {})]

        def place(name: str) -> tuple[int, float]:
            kind = KINDS_IN_ORDER.index(self.kinds[name])
            return kind, self._badness(name, task, main) if self.kinds[name] == "rule" else 0.0

        return sorted(names, key=place)

    def _badness(self, name: str, task: str, metric: str) -> float:
        return badness(metric, self.figures(name, task)[metric]["value"])

    def best(self, task: str, metric: str) -> set[str]:
        """Name the methods with the best figure of a task; none where a metric tells nothing about better or worse."""
        if metric in NEITHER:
            return set()
        by_name = {
            name: self._badness(name, task, metric) for name in self.methods if metric in self.figures(name, task)
        }
        return {name for name, value in by_name.items() if value == min(by_name.values())}

    def sentences(self, task: str | None = None) -> list[str]:
        """Say in plain words where each model wins, where it loses, and where nothing is clear."""
        sentences: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
        for comparison in self.comparisons:
            kind = self.kinds[comparison["rival"]]
            key = comparison["task"], comparison["model"], kind, comparison["metric"]
            sentences.setdefault(key, []).append(comparison)
        return [
            self._verdict(comparisons)
            for key, comparisons in sentences.items()
            if task in (None, key[0]) and key[2] in ("rule", "control")
        ]

    def _verdict(self, comparisons: list[dict[str, Any]]) -> str:
        """Say how a model stands against the best of several methods of one kind, by one metric of one task."""
        task, metric = comparisons[0]["task"], comparisons[0]["metric"]
        best = min(comparisons, key=lambda comparison: self._badness(comparison["rival"], task, metric))
        words = IN_WORDS.get(metric, label(metric))
        words += ":" if words.split(" ")[-1][0].isdigit() else ""  # one number after another
        figures = f"{words} {number(best['value'], metric)} against {number(best['rival_value'], metric)}"
        is_control = self.kinds[best["rival"]] == "control"
        model, rival = best["model"], f"the control ({best['rival']})" if is_control else best["rival"]
        match outcome(best):
            case "loses":
                more = sum(outcome(comparison) == "loses" for comparison in comparisons) - 1
                further = f"; it loses to {more} more" if more else ""
                return f"{model} loses to {rival} on {task}, {figures}{further}."
            case "wins":
                return f"{model} wins against {rival} on {task}, {figures}."
        return f"{model} and {rival}: no clear difference on {task}, {figures}."

    def __str__(self) -> str:
        return as_text(self)

    def __rich__(self) -> RenderableType:
        return self.render()

    def _repr_html_(self) -> str:
        """Show the tables in a notebook."""
        return as_html(self)

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
            record = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
        except ValueError:
            record = None
        names = {attribute.name for attribute in fields(cls)}
        if not isinstance(record, dict) or record.keys() != names:
            cure = "evaluate again"
            raise InputError("not a result", expected="a file that tadge evaluate wrote", cure=cure, where=str(path))
        return cls(**record)


# -- several seeds ----------------------------------------------------------------------------------------------------


def combine(results: Sequence[Result]) -> Result:
    """Put the results of several seeds, or test periods, together: means, one standard deviation to either side.

    A difference counts as clear where it is so both for the questions of a seed and from seed to seed.
    """
    if not results:
        raise InputError("nothing to combine", expected="at least one result", found="none")
    first = results[0]
    kinds = {(result.protocol, result.data.get("fingerprint")) for result in results}
    if len(kinds) > 1:
        raise InputError(
            "these results do not belong together", expected="one protocol and one graph", found=str(kinds)
        )
    if len(results) == 1:
        return first
    return replace(
        first,
        tasks={name: about | {"questions": _most_questions(results, name)} for name, about in first.tasks.items()},
        methods={
            name: {task: _combined_figures(results, name, task) for task in tasks}
            for name, tasks in first.methods.items()
        },
        comparisons=_combined_comparisons(results),
        times={name: _mean([result.times.get(name, {}) for result in results]) for name in first.times},
        validation={name: _mean([result.validation.get(name, {}) for result in results]) for name in first.validation},
        notes=list(dict.fromkeys(note for result in results for note in result.notes)) + _in_fewer_seeds(results),
        seeds=[seed for result in results for seed in result.seeds],
        seconds=sum(result.seconds for result in results),
        peak_memory_mb=max(result.peak_memory_mb for result in results),
    )


def _in_fewer_seeds(results: Sequence[Result]) -> list[str]:
    """Say which methods not every seed has."""
    counts = {name: sum(name in result.methods for result in results) for name in results[0].methods}
    return [f"{name}: {count} of {len(results)} seeds" for name, count in counts.items() if count < len(results)]


def _combined_figures(results: Sequence[Result], name: str, task: str) -> dict[str, Figure]:
    """Combine the metrics that every seed with this method has."""
    by_seed = [result.figures(name, task) for result in results if result.figures(name, task)]
    shared = [metric for metric in by_seed[0] if all(metric in figures for figures in by_seed)]
    combined = {metric: _spread([figures[metric]["value"] for figures in by_seed]) for metric in shared}
    if num_periods(results[0]) > 1:  # each seed has a spread of its own already
        for metric, figure in combined.items():
            spreads = [(figures[metric]["high"] - figures[metric]["low"]) / 2 for figures in by_seed]
            spread = float(np.sqrt(np.mean(np.square(spreads)) + (figure["high"] - figure["value"]) ** 2))
            combined[metric] = figure | {"low": figure["value"] - spread, "high": figure["value"] + spread}
    return combined


def _most_questions(results: Sequence[Result], task: str) -> int:
    return max(int(result.tasks[task]["questions"]) for result in results if task in result.tasks)


def _spread(values: Sequence[float]) -> Figure:
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"value": mean, "low": mean - spread, "high": mean + spread}


def _mean(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([values[key] for values in figures if key in values])) for key in figures[0]}


def _combined_comparisons(results: Sequence[Result]) -> list[dict[str, Any]]:
    by_names: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for result in results:
        for comparison in result.comparisons:
            names = tuple(comparison[key] for key in ("task", "metric", "model", "rival"))
            if result is results[0] or names in by_names:
                by_names.setdefault(names, []).append(comparison)
    combined = []
    for same in by_names.values():
        mean = {
            key: float(np.mean([values[key] for values in same])) for key in ("value", "rival_value", "low", "high")
        }
        seeds = _spread([values["value"] - values["rival_value"] for values in same])
        limits = {"low": min(mean["low"], seeds["low"]), "high": max(mean["high"], seeds["high"])}
        combined.append(same[0] | mean | limits)
    return combined
