"""Settings by name: what the paper prints, with what it leaves open as docs/method.md settles it; and ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tadge.config import NetworkConfig, TrainConfig, WalkConfig, options
from tadge.errors import ConfigError

Settings = Mapping[str, Any]  # of walks, network and training, each by the name of its option
Configs = tuple[WalkConfig, NetworkConfig, TrainConfig]

# Section 5.1 and Table 2; |V| of the two larger ones is where "negative sampling can be applied" (section 4)
PAPER_SIZES: Mapping[str, Settings] = MappingProxyType(
    {
        "transaction": {
            **{"num_walks": 10_000, "max_length": 5, "heads": 4, "blocks": 3, "batch_size": 200, "negatives": -1},
        },
        "hyperlink": {
            **{"num_walks": 200_000, "max_length": 5, "heads": 8, "blocks": 6, "batch_size": 500, "negatives": 100},
        },
        "discussion": {
            **{"num_walks": 300_000, "max_length": 10, "heads": 8, "blocks": 6, "batch_size": 300, "negatives": 100},
        },
    }
)
PAPER: Settings = MappingProxyType(
    {
        **{"min_length": 3, "reach": "occurrence", "direction": "forward", "centrality": "degree", "resample": False},
        **{"dim": 128, "dropout": 0.1, "queries": "next", "structure": True, "timed": True, "residual": False},
        **{"skip": False, "encoder": "time-aware", "candidate": "sigmoid", "lstm_toe": "squashed", "edges": "rows"},
        **{"init": "deepwalk", "lr": 0.005, "warmup": 0.0, "schedule": "constant", "clip": 0.0, "epochs": 100},
        **{
            "weights": (1.0, 1.0, 1.0, 1.0),
            "held_out": 0.0,
            "patience": 100,
            "unknown": 0.0,
            "new_nodes": "own",
            "precision": "float32",
        },
    }
)
# Ours for the paper's protocol, in which the network may see the edge it is asked about; chosen on validation
TUNED: Settings = MappingProxyType(
    {
        **{"queries": "next", "skip": True, "edges": "both", "new_nodes": "own", "unknown": 0.2, "init": "random"},
        **{"lstm_toe": "days", "negatives": TrainConfig().negatives, "precision": "float32"},
    }
)
PRESETS: Mapping[str, Settings] = MappingProxyType({"paper": PAPER, "tuned": TUNED})


def preset_settings(name: str, size: str = "transaction") -> dict[str, Any]:
    """Give the settings of a preset at the size that the paper has for one of its data sets.

    Args:
        name: paper or tuned.
        size: transaction, hyperlink or discussion.
    """
    for kind, value, known in (("preset", name, PRESETS), ("size", size, PAPER_SIZES)):
        if value not in known:
            expected = " or ".join(known)
            raise ConfigError("unknown choice", expected=expected, found=repr(value), where=kind)
    return {**PAPER_SIZES[size], **PRESETS[name]}


def configs_from(settings: Settings) -> Configs:
    """Build the configs of walks, network and training from settings by name; the rest is as by default."""
    kinds = WalkConfig, NetworkConfig, TrainConfig
    names = [{one.name for one in options(kind)} for kind in kinds]
    for name in settings:
        if not any(name in of_kind for of_kind in names):
            expected = "an option of WalkConfig, NetworkConfig or TrainConfig"
            raise ConfigError("unknown option", expected=expected, found=repr(name), cure="check the spelling")
    walks, network, train = ({name: settings[name] for name in settings if name in kind} for kind in names)
    return WalkConfig(**walks), NetworkConfig(**network), TrainConfig(**train)
