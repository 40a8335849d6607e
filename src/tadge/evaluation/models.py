"""Models to be judged: made from configs, with the defaults, or read from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tadge.config import ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.estimator import TADGE
from tadge.errors import ConfigError, InputError
from tadge.forecasting.estimator import Forecaster
from tadge.protocols import Answerer
from tadge.storage.estimator_folder import has_estimator, model_folder
from tadge.storage.replacement import FORECASTER, VECTORS

NETWORK_CONFIGS = {WalkConfig: "walk_config", NetworkConfig: "network_config", TrainConfig: "train_config"}


def default_models(seed: int) -> list[Answerer]:
    """Make both estimators of a seed with their default options, to be fitted."""
    return [Forecaster(seed=seed), TADGE(seed=seed)]


def load_models(folder: str | PathLike[str], *, device: str | None = None) -> list[Answerer]:
    """Read whichever fitted estimators a folder, or that of a run, holds: a Forecaster, a TADGE, or both."""
    folder = model_folder(folder)
    models: list[Answerer] = [Forecaster.load(folder)] if has_estimator(folder, FORECASTER) else []
    if not models or has_estimator(folder, VECTORS):
        models.append(TADGE.load(folder, device=device))
    return models


def models_of(given: Any, seed: int) -> list[Answerer]:
    """List the models to judge, in the order of tables.

    Args:
        given: one or several methods and configs, or None. A ForecastConfig stands for a Forecaster; those of walks,
            network and training, all together, for one TADGE.
        seed: of the models that are made from configs.
    """
    parts = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    models: list[Answerer | None] = []
    options: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, ForecastConfig):
            models.append(Forecaster(part, seed))
        elif type(part) in NETWORK_CONFIGS:
            if not options:
                models.append(None)  # the place of the TADGE
            if options.setdefault(NETWORK_CONFIGS[type(part)], part) is not part:
                raise ConfigError("two configs of one kind", expected="one of each", found=type(part).__name__)
        elif isinstance(part, Answerer) and not isinstance(part, type):
            models.append(part)
        elif part is not None:
            expected = "a Forecaster, a TADGE, their configs, or objects with embed, score_links, predict_toe, within"
            raise InputError("not a model", expected=expected, found=repr(part)[:80], where="models")
    return [TADGE(**options, seed=seed) if model is None else model for model in models]
