"""What `tadge evaluate` takes and shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tadge import datasets
from tadge.config import NetworkConfig, TrainConfig, WalkConfig
from tadge.datasets.node_labels import Labels, known_labels, read_labels
from tadge.embedding.estimator import TADGE
from tadge.errors import ConfigError
from tadge.evaluation.result import Result
from tadge.graph import TemporalGraph


def model_maker(
    walking: WalkConfig,
    network: NetworkConfig,
    training: TrainConfig,
    folder: Path | None,
    device: str | None,
    threads: int | None,
) -> Callable[[int], TADGE]:
    """Give what makes the model of a seed: a new one, or always the fitted one of a folder."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    if folder is None:
        return lambda seed: TADGE(walking, network, training, seed, device=device)
    if (walking, network, training) != (WalkConfig(), NetworkConfig(), TrainConfig()):
        cure = "leave out the options of walks, network and training, or --model"
        raise ConfigError("this model is fitted already", cure=cure, where=str(folder))
    fitted = TADGE.load(folder, device=device)
    return lambda _: fitted


def data_name(file: str) -> str:
    """Name the data for titles and files: a known data set by its name, a file without its endings."""
    if not Path(file).exists() and datasets.is_known(file):
        return datasets.find(file).name
    name = Path(file).name
    return name.split(".")[0] or name


def labels_of(file: str, labels: Path | None, graph: TemporalGraph) -> Labels | None:
    """Read the labels that were given; else take those of a known data set, where there are any."""
    return read_labels(labels, graph) if labels is not None else known_labels(file, graph)


def show(results: Sequence[Result]) -> None:
    """Print results: with the best in bold on a terminal, else as plain text."""
    console = Console()
    for result in results:
        shown: Any = result if console.is_terminal else str(result)
        console.print(shown, highlight=False, markup=False, soft_wrap=not console.is_terminal)
