"""tadge: time-aware dynamic graph embedding.

Names are imported when first used, so that `import tadge` and `tadge --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadge.errors import ConfigError as ConfigError
    from tadge.errors import DatasetError as DatasetError
    from tadge.errors import InputError as InputError
    from tadge.errors import MissingExtraError as MissingExtraError
    from tadge.errors import TadgeError as TadgeError
    from tadge.graph import TemporalGraph as TemporalGraph

_HOME = {
    "TadgeError": "tadge.errors",
    "InputError": "tadge.errors",
    "ConfigError": "tadge.errors",
    "DatasetError": "tadge.errors",
    "MissingExtraError": "tadge.errors",
    "TemporalGraph": "tadge.graph",
}

__all__ = [*sorted(_HOME), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tadge")
    if name not in _HOME:
        raise AttributeError(f"module 'tadge' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
