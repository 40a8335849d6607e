"""tadge: time-aware dynamic graph embedding.

Names are imported when first used, so that `import tadge` and `tadge --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadge.config import ModelConfig as ModelConfig
    from tadge.config import TrainConfig as TrainConfig
    from tadge.config import WalkConfig as WalkConfig
    from tadge.data import datasets as datasets
    from tadge.data import synthetic as synthetic
    from tadge.data.export import to_polars as to_polars
    from tadge.data.export import write_events as write_events
    from tadge.data.interop import from_networkx as from_networkx
    from tadge.data.interop import from_pandas as from_pandas
    from tadge.data.interop import from_polars as from_polars
    from tadge.data.interop import from_pyg as from_pyg
    from tadge.data.interop import to_networkx as to_networkx
    from tadge.data.interop import to_pandas as to_pandas
    from tadge.data.interop import to_pyg as to_pyg
    from tadge.data.options import ReadOptions as ReadOptions
    from tadge.data.readers import read_events as read_events
    from tadge.data.split import split_by_time as split_by_time
    from tadge.embedder import TADGE as TADGE
    from tadge.errors import ConfigError as ConfigError
    from tadge.errors import DatasetError as DatasetError
    from tadge.errors import InputError as InputError
    from tadge.errors import MissingExtraError as MissingExtraError
    from tadge.errors import TadgeError as TadgeError
    from tadge.errors import TrainingError as TrainingError
    from tadge.evaluate.audit import audit as audit
    from tadge.evaluate.result import Result as Result
    from tadge.evaluate.run import evaluate as evaluate
    from tadge.graph import TemporalGraph as TemporalGraph
    from tadge.walks import Walks as Walks
    from tadge.walks import free_length_distribution as free_length_distribution
    from tadge.walks import iter_walks as iter_walks
    from tadge.walks import sample_walks as sample_walks
    from tadge.walks import split_by_walks as split_by_walks
    from tadge.walks import walk_probabilities as walk_probabilities
    from tadge.walks.store import write_walks as write_walks

_HOME = {
    "tadge.errors": ("ConfigError", "DatasetError", "InputError", "MissingExtraError", "TadgeError", "TrainingError"),
    "tadge.graph": ("TemporalGraph",),
    "tadge.config": ("ModelConfig", "TrainConfig", "WalkConfig"),
    "tadge.embedder": ("TADGE",),
    "tadge": ("evaluate",),
    "tadge.evaluate.audit": ("audit",),
    "tadge.evaluate.result": ("Result",),
    "tadge.data": ("datasets", "synthetic"),
    "tadge.data.options": ("ReadOptions",),
    "tadge.data.readers": ("read_events",),
    "tadge.data.split": ("split_by_time",),
    "tadge.data.export": ("to_polars", "write_events"),
    "tadge.data.interop": (
        "from_networkx",
        "from_pandas",
        "from_polars",
        "from_pyg",
        "to_networkx",
        "to_pandas",
        "to_pyg",
    ),
    "tadge.walks": (
        "Walks",
        "free_length_distribution",
        "iter_walks",
        "sample_walks",
        "split_by_walks",
        "walk_probabilities",
    ),
    "tadge.walks.store": ("write_walks",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tadge")
    if name not in _MODULE:
        raise AttributeError(f"module 'tadge' has no attribute {name!r}")
    if _MODULE[name] in ("tadge", "tadge.data"):  # modules; that of evaluate can be called
        return import_module(f"{_MODULE[name]}.{name}")
    return getattr(import_module(_MODULE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
