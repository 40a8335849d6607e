"""All methods of an evaluation: the models, the baselines, and the models that learned from shuffled times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tadge.baselines import BASELINES, make
from tadge.baselines.base import is_there
from tadge.baselines.within import WithinRule
from tadge.errors import ConfigError, InputError, TadgeWarning
from tadge.evaluation.config import Setting
from tadge.evaluation.result import SHUFFLED, Result
from tadge.graph.graph import TemporalGraph
from tadge.protocols import Answerer, Estimator, Fitted, accepts, name_of, supports
from tadge.seeding import stream
from tadge.units import date_text
from tadge.walks.sampler import Walks

Answers = dict[str, Any]  # of one method: arrays and numbers by task; "seconds ..." and "validation ..." by part


@dataclass(frozen=True, eq=False)
class Competitor:
    """Hold one method that takes part.

    Attributes:
        name: in tables.
        kind: "model", "rule" (a baseline) or "control".
        make: gives the method, to be fitted.
        about: what it is, as plain values; None where that is not known, so that nothing of it is kept.
        fitted: the method, where it is taken as it is.
        shuffled: whether it learns from shuffled times.
        learns_from: the graph to learn from, where that is not the training view.
    """

    name: str
    kind: str
    make: Callable[[], Answerer]
    about: dict[str, Any] | None
    fitted: Answerer | None = None
    shuffled: bool = False
    learns_from: TemporalGraph | None = None

    @property
    def slug(self) -> str:
        """Give its name as part of a file's."""
        words = "".join(letter if letter.isalnum() else " " for letter in self.name.lower())
        return "-".join(words.split())

    def view(self, view: TemporalGraph, seed: int) -> TemporalGraph:
        """Give what it learns from, where the training view is this."""
        view = self.learns_from or view
        return shuffle_times(view, seed) if self.shuffled else view

    def fit(
        self, view: TemporalGraph, setting: Setting, folder: Path | None = None, walks: Walks | None = None
    ) -> Answerer:
        """Give the fitted method; an estimator that was interrupted goes on in the same folder.

        Args:
            view: what may be learned from.
            setting: the seed of the shuffled times, and progress.
            folder: where an estimator is kept.
            walks: walks to train on, for a method that takes some; other methods may learn ToE from their events.
        """
        if self.fitted is not None:
            return self.fitted
        method, view = self.make(), self.view(view, setting.seed)
        options: dict[str, Any] = {}
        if walks is not None and supports(method, "fit"):
            if accepts(method.fit, "walks"):  # type: ignore[union-attr]
                options["walks"] = walks
            elif accepts(method.fit, "events"):  # type: ignore[union-attr]
                options["events"] = walks.events[walks.events >= 0]
        if isinstance(method, Estimator):
            options["progress"] = setting.bars.asked
            with warnings.catch_warnings(action="ignore", category=TadgeWarning):  # rules are in the table themselves
                if folder is None:
                    method.fit(view, **options)
                else:
                    method.fit_folder(view, folder, resume=True, **options)
            if getattr(method, "stopped_", None) == "interrupted":
                raise KeyboardInterrupt
        elif supports(method, "fit"):
            with setting.bars.part(f"{self.name}: learning"):
                method.fit(view, **options)  # type: ignore[union-attr]
        return method


def describe(model: object) -> dict[str, Any] | None:
    """Say what a model is, as plain values; None where it is no estimator of tadge."""
    if not isinstance(model, Estimator):
        return None
    return model.about() | {"fitted_to": model.graph_.fingerprint if isinstance(model, Fitted) else None}


def competitors(
    models: Sequence[Answerer],
    baselines: Sequence[str | Answerer] | None,
    control: bool,
    seed: int,
    asks_within: bool = False,
) -> tuple[list[Competitor], list[str]]:
    """List all who take part, and what a reader should know about them.

    Args:
        models: what is judged.
        baselines: names of baselines, or methods; None: all baselines.
        control: whether every estimator also learns from shuffled times.
        seed: of the baselines.
        asks_within: whether anybody is asked within which time links come; else baselines that answer nothing but that
            are among those listed only where they are named.
    """
    asked = {name: one for name, one in BASELINES.items() if asks_within or not issubclass(one, WithinRule)}
    every = [name for name, baseline in asked.items() if is_there(baseline)]
    chosen = every if baselines is None else [baselines] if isinstance(baselines, str) else baselines
    listed = [*map(_model, models), *(_baseline(baseline, seed) for baseline in chosen)]
    missing = [name for name in asked if name not in every] if baselines is None else []
    notes = [f"{name} is left out: it needs {BASELINES[name].needs}, which is not installed" for name in missing]
    for model in models if control else ():
        if isinstance(model, Estimator):
            listed.append(_control(model))
        else:
            notes.append(f"{name_of(model)} has no control with shuffled times: only estimators of tadge have one")
    names = [competitor.name for competitor in listed]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigError("two methods have one name", expected="different names", found=min(twice), where="methods")
    return listed, notes


def _model(model: Answerer) -> Competitor:
    if not isinstance(model, Estimator):
        return Competitor(name_of(model), "model", lambda: model, None)
    fitted = model if isinstance(model, Fitted) else None
    return Competitor(model.name, "model", lambda: clone(model), describe(model), fitted)


def _control(model: Estimator) -> Competitor:
    learns_from = model.graph_ if isinstance(model, Fitted) else None
    name, about = SHUFFLED.format(model.name), describe(model)
    return Competitor(name, "control", lambda: clone(model), about, shuffled=True, learns_from=learns_from)


def _baseline(baseline: str | Answerer, seed: int) -> Competitor:
    if isinstance(baseline, str):
        make(baseline, seed)  # complains about an unknown name
        return Competitor(baseline, "rule", lambda: make(baseline, seed), {"baseline": baseline, "seed": seed})
    if not isinstance(baseline, Answerer):
        expected = "names of baselines, or objects with embed, score_links, predict_toe or within"
        raise InputError("not a method", expected=expected, found=repr(baseline)[:80], where="methods")
    return Competitor(name_of(baseline), "rule", lambda: baseline, None)


def ask_all(
    result: Result, listed: Sequence[Competitor], ask: Callable[[Competitor], Answers]
) -> Mapping[str, Answers]:
    """Ask every competitor all questions of a protocol; keep kinds, seconds and validation figures in the result."""
    answers = {}
    for competitor in listed:
        given = ask(competitor)
        answers[competitor.name] = given
        result.kinds[competitor.name] = competitor.kind
        result.times[competitor.name] = _under(given, "seconds ")
        result.validation[competitor.name] = _under(given, "validation ")
        result.peak_memory_mb = max(result.peak_memory_mb, float(given["memory"]))
    return answers


def _under(answers: Answers, prefix: str) -> dict[str, float]:
    return {key.removeprefix(prefix): float(value) for key, value in answers.items() if key.startswith(prefix)}


def check_unseen(models: Sequence[Answerer], test_from: float) -> None:
    """Refuse an estimator that was fitted to events of the test period."""
    for model in models:
        if not (isinstance(model, Estimator) and isinstance(model, Fitted)) or not model.graph_.num_events:
            continue
        graph = model.graph_
        if graph.time[-1] >= test_from:
            raise InputError(
                f"{model.name} has seen the test period",
                expected=f"fitted to events before {date_text(test_from, graph.clock)}",
                found=f"one at {date_text(float(graph.time[-1]), graph.clock)}",
                cure="fit it to tadge.split_by_time(graph).train, or give it unfitted",
                where="models",
            )


def shuffle_times(graph: TemporalGraph, seed: int) -> TemporalGraph:
    """Permute the times among the events: who linked to whom stays, when does not."""
    rng = np.random.default_rng(int(stream(seed, "shuffled times")))
    time = rng.permutation(graph.time)
    columns = graph.src, graph.dst, graph.ids, graph.num_sources, time, graph.weight
    kind = graph.clock, graph.directed, graph.tov_rule
    return TemporalGraph.from_numbers(*columns, clock=kind[0], directed=kind[1], tov=kind[2], types=graph.types)


def short_hash(text: str) -> str:
    """Give a short name to a string."""
    return blake2b(text.encode(), digest_size=6).hexdigest()
