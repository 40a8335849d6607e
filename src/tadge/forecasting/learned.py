"""All that a Forecaster learns, as tensors and back; what is read may be anything, and is checked."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from tadge.config import ForecastConfig
from tadge.features.columns import NUM_SCALES
from tadge.features.link_columns import LINK_WIDTH
from tadge.features.tables import Scales
from tadge.forecasting.curves import NUM_BINS
from tadge.forecasting.learn_curves import NUM_BANDS, CurveModels, act_network, pair_network
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.rank_calibration import RankCalibration
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.trees import Trees
from tadge.graph.past import NUM_KINDS

Network = TypeVar("Network", bound=nn.Module)

LAW_PARTS = ("knots", "longer")


class Learned(NamedTuple):
    """Hold what was learned; the attributes of a Forecaster have these names with an underscore behind them."""

    scales: Scales
    links: LinkScorer
    ranking: RankCalibration
    curves: CurveModels
    toe_mean: Trees
    toe_median: Trees
    mean_laws: ToeLaws
    median_laws: ToeLaws


def to_tensors(learned: Learned) -> dict[str, Tensor]:
    """Give all parts as named tensors."""
    scales, ranking, curves = learned.scales, learned.ranking, learned.curves
    tensors = {
        "scales": torch.tensor([scales.log_unit_days, *scales.decay_days], dtype=torch.float64),
        "ranking": torch.tensor([ranking.slope, *ranking.new], dtype=torch.float64),
        "edges": torch.from_numpy(curves.edges),
        "ratio": torch.from_numpy(curves.ratio),
        "usual": torch.tensor([curves.usual], dtype=torch.float64),
    }
    for name, network in (("links", learned.links), ("pairs", curves.pairs), ("acts", curves.acts)):
        tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
    for name, trees in (("toe_mean", learned.toe_mean), ("toe_median", learned.toe_median)):
        tensors |= {f"{name}.{part.name}": torch.from_numpy(getattr(trees, part.name)) for part in fields(Trees)}
    for name, laws in (("mean_laws", learned.mean_laws), ("median_laws", learned.median_laws)):
        tensors |= {f"{name}.{part}": torch.from_numpy(getattr(laws, part)) for part in LAW_PARTS}
    return tensors


def from_tensors(tensors: dict[str, Tensor], config: ForecastConfig) -> Learned:
    """Build all parts from tensors; a ValueError, KeyError, TypeError or RuntimeError where they do not fit."""

    def under(name: str) -> dict[str, Tensor]:
        return {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{name}.")}

    def arrays(name: str) -> dict[str, Any]:
        return {part: value.numpy() for part, value in under(name).items()}

    def loaded(network: Network, name: str) -> Network:
        network.load_state_dict(under(name))
        return network.eval()

    log_unit_days, *decay_days = _positive(tensors["scales"], (1 + NUM_SCALES,)).tolist()
    edges = _positive(tensors["edges"], (NUM_BINS,)).numpy()
    if not (np.diff(edges) > 0).all():
        raise ValueError("not bins of time")
    ratio = _positive(tensors["ratio"], (NUM_KINDS, NUM_BANDS)).numpy()
    slope, joined, unseen = tensors["ranking"].tolist()
    if not (slope > 0 and 0.0 <= joined <= 1.0 and 0.0 <= unseen <= 1.0):
        raise ValueError("not a calibration")
    (usual,) = tensors["usual"].tolist()
    if not math.isfinite(usual):
        raise ValueError("not a surprise")
    return Learned(
        Scales(log_unit_days, tuple(decay_days)),
        loaded(LinkScorer(LINK_WIDTH, config.hidden), "links"),
        RankCalibration(slope, (joined, unseen)),
        CurveModels(
            edges,
            loaded(pair_network(config.hidden, NUM_BINS), "pairs"),
            loaded(act_network(config.hidden, NUM_BINS), "acts"),
            ratio,
            usual,
        ),
        Trees(**arrays("toe_mean")).checked(),
        Trees(**arrays("toe_median")).checked(),
        ToeLaws(**arrays("mean_laws"), statistic="mean").checked(),
        ToeLaws(**arrays("median_laws"), statistic="median").checked(),
    )


def _positive(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    positive = bool((torch.isfinite(values) & (values > 0)).all())
    if values.shape != shape or values.dtype != torch.float64 or not positive:
        raise ValueError("not positive numbers")
    return values
