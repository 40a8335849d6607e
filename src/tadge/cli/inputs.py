"""What `tadge evaluate` is given, turned into what is judged: estimators, labels, a name for the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tadge import datasets
from tadge.cli.frame import is_known_data
from tadge.config import ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.datasets.node_labels import Labels, known_labels, read_labels
from tadge.embedding.estimator import TADGE
from tadge.errors import ConfigError
from tadge.evaluation.models import load_models
from tadge.forecasting.estimator import Forecaster
from tadge.graph import TemporalGraph
from tadge.io.paths import files_name

Configs = tuple[WalkConfig, NetworkConfig, TrainConfig]


def estimator_maker(
    configs: Configs, forecast_config: ForecastConfig, folder: Path | None, device: str | None
) -> Callable[[int], Any]:
    """Give what makes the models of a seed: new ones, or always the fitted ones of a folder."""
    if folder is None:
        return lambda seed: [Forecaster(forecast_config, seed), TADGE(*configs, seed, device=device)]
    if (*configs, forecast_config) != (WalkConfig(), NetworkConfig(), TrainConfig(), ForecastConfig()):
        cure = "leave out the options of walks, TADGE and Forecaster, or --model"
        raise ConfigError("this model is fitted already", cure=cure, where=str(folder))
    fitted = load_models(folder, device=device)
    return lambda _: fitted


def data_name(files: str | Sequence[str]) -> str:
    """Name the data for titles and files: a known data set by its name, others as `files_name` does."""
    files = [files] if isinstance(files, str) else files
    if len(files) == 1 and is_known_data(files[0]):
        return datasets.find(files[0]).name
    return files_name(files)


def labels_of(files: Sequence[str], labels: Path | None, graph: TemporalGraph) -> Labels | None:
    """Read the labels that were given; else take those of a known data set, where there are any."""
    if labels is not None:
        return read_labels(labels, graph)
    return known_labels(files[0], graph) if len(files) == 1 else None
