"""Who takes part: the model, its rivals, and the model that learned from shuffled times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tadge.config import NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.estimator import TADGE
from tadge.errors import ConfigError, InputError
from tadge.evaluation.show import Show
from tadge.evaluation.tasks import CALLS, Method, can, name_of
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.units import date_text
from tadge.walks.sampler import Walks

CONFIGS = {WalkConfig: "walk_config", NetworkConfig: "network_config", TrainConfig: "train_config"}


@dataclass(frozen=True, eq=False)
class Entrant:
    """Hold one that takes part.

    Attributes:
        name: in tables.
        kind: "model", "rule" or "control".
        make: gives the method, to be fitted.
        about: what it is, as plain values; None where that is not known, so that nothing of it is kept.
        fitted: the method, where it is taken as it is.
        shuffled: whether it learns from shuffled times.
        learns_from: the graph to learn from, where that is not the training view.
    """

    name: str
    kind: str
    make: Callable[[], Method]
    about: dict[str, Any] | None
    fitted: Method | None = None
    shuffled: bool = False
    learns_from: TemporalGraph | None = None

    @property
    def slug(self) -> str:
        """Give its name as part of a file's."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.name.lower()).replace("--", "-")

    def view(self, view: TemporalGraph, seed: int) -> TemporalGraph:
        """Give what it learns from, where the training view is this."""
        view = self.learns_from or view
        return shuffle_times(view, seed) if self.shuffled else view

    def fit(
        self, view: TemporalGraph, seed: int, folder: Path | None, show: Show, walks: Walks | None = None
    ) -> Method:
        """Give the fitted method; a TADGE that was interrupted goes on in the same folder.

        Args:
            view: what may be learned from.
            seed: of the shuffled times.
            folder: where a TADGE is kept.
            show: shows progress.
            walks: train on these walks, instead of walking; a rule learns ToE from their steps.
        """
        if self.fitted is not None:
            return self.fitted
        method, view = self.make(), self.view(view, seed)
        if isinstance(method, TADGE):
            if folder is None:
                method.fit(view, walks=walks, progress=show.progress)
            else:
                method.fit_folder(view, folder, resume=True, walks=walks, progress=show.progress)
            if method.stopped_ == "interrupted":
                raise KeyboardInterrupt
        elif can(method, "fit"):
            chosen = {}
            if walks is not None and "events" in signature(method.fit).parameters:
                chosen["events"] = walks.events[walks.events >= 0]
            with show.part(f"{self.name}: learning"):
                method.fit(view, **chosen)
        return method


def is_fitted(model: Any) -> bool:
    """Tell whether this is a TADGE that has learned."""
    return isinstance(model, TADGE) and hasattr(model, "graph_")


def as_model(model: Any, seed: int) -> Method | None:
    """Take a model as it is, or build a TADGE from its options: a config, several, or a dictionary of them."""
    given = list(model) if isinstance(model, (list, tuple)) else [model]
    if given and all(type(each) in CONFIGS for each in given):
        return TADGE(**{CONFIGS[type(each)]: each for each in given}, seed=seed)
    if isinstance(model, dict):
        kinds = {name: kind for kind, name in CONFIGS.items()}
        if set(model) - set(kinds):
            raise ConfigError(
                "unknown part of a model", expected=", ".join(kinds), found=", ".join(model), where="model"
            )
        return TADGE(**{name: kinds[name](**options) for name, options in model.items()}, seed=seed)
    if model is not None and not any(can(model, call) for call in CALLS):
        expected = "a TADGE, its options, or an object with embed, score_links or predict_toe"
        raise InputError("not a model", expected=expected, found=repr(model)[:80], where="model")
    return model


def describe(model: Method | None) -> dict[str, Any] | None:
    """Say what a model is, as plain values; None where it is not a TADGE."""
    if not isinstance(model, TADGE):
        return None
    return model.about() | {"fitted_to": model.graph_.fingerprint if is_fitted(model) else None}


def entrants(
    model: Method | None, rivals: Sequence[str | Method] | None, control: bool, seed: int
) -> tuple[list[Entrant], list[str]]:
    """List all who take part, and what a reader should know about them.

    Args:
        model: what is judged, or None.
        rivals: names of baselines, or methods; None: all baselines.
        control: whether a TADGE of the same options learns from shuffled times.
        seed: of the baselines.
    """
    found, notes = [_rival(rival, seed) for rival in _chosen(rivals)], []
    if isinstance(model, TADGE):
        about = describe(model)
        fitted = model if is_fitted(model) else None
        found.insert(0, Entrant("TADGE", "model", lambda: _fresh(model), about, fitted))
        if control:
            learns_from = model.graph_ if fitted is not None else None
            name = "TADGE, times shuffled"
            extra = {"learns_from": learns_from, "shuffled": True}
            found.append(Entrant(name, "control", lambda: _fresh(model), about, **extra))  # type: ignore[arg-type]
    elif model is not None:
        found.insert(0, Entrant(name_of(model), "model", lambda: model, None))
        if control:
            notes.append("there is no control with shuffled times: only a TADGE has one")
    names = [entrant.name for entrant in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigError("two methods have one name", expected="different names", found=min(twice), where="methods")
    return found, notes


def _chosen(rivals: Sequence[str | Method] | None) -> Sequence[str | Method]:
    if rivals is None:
        from tadge.baselines import BASELINES

        return list(BASELINES)
    return [rivals] if isinstance(rivals, str) else rivals


def _rival(rival: str | Method, seed: int) -> Entrant:
    if isinstance(rival, str):
        from tadge.baselines import make

        make(rival, seed)  # complains about an unknown name
        return Entrant(rival, "rule", lambda: make(rival, seed), {"baseline": rival, "seed": seed})
    if not any(can(rival, call) for call in CALLS):
        expected = "names of baselines, or objects with embed, score_links or predict_toe"
        raise InputError("not a method", expected=expected, found=repr(rival)[:80], where="methods")
    return Entrant(name_of(rival), "rule", lambda: rival, None)


def _fresh(model: TADGE) -> TADGE:
    return clone(model)  # type: ignore[no-any-return]


def check_unseen(model: Method | None, test_from: float) -> None:
    """Refuse a fitted TADGE that has seen the test period."""
    if not is_fitted(model) or not model.graph_.num_events:  # type: ignore[union-attr]
        return
    graph: TemporalGraph = model.graph_  # type: ignore[union-attr]
    if graph.time[-1] >= test_from:
        expected = f"fitted to events before {date_text(test_from, graph.clock)}"
        found = f"one at {date_text(float(graph.time[-1]), graph.clock)}"
        cure = "fit it to tadge.split_by_time(graph).train, or give it unfitted"
        raise InputError("the model has seen the test period", expected=expected, found=found, cure=cure, where="model")


def shuffle_times(graph: TemporalGraph, seed: int) -> TemporalGraph:
    """Permute the times among the events: who linked to whom stays, when does not."""
    rng = np.random.default_rng(int(stream(seed, "shuffled times")))
    time = rng.permutation(graph.time)
    columns = graph.src, graph.dst, graph.ids, graph.num_sources, time, graph.weight
    return TemporalGraph.from_numbers(*columns, clock=graph.clock, directed=graph.directed, tov=graph.tov_rule)


def short_hash(text: str) -> str:
    """Give a short name to a text."""
    return blake2b(text.encode(), digest_size=6).hexdigest()
