"""All that a Forecaster learns, as tensors and back; what is read may be anything, and is checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from tadge.config import ForecastConfig
from tadge.errors import InputError
from tadge.features.columns import NUM_SCALES
from tadge.features.link_columns import LINK_WIDTH
from tadge.features.season import HOURS_A_WEEK, Season
from tadge.features.tables import Scales
from tadge.forecasting.curves import NUM_BINS
from tadge.forecasting.learn_curves import NUM_BANDS, CurveModels, act_network, pair_network
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.rank_calibration import RankCalibration, RankCheck
from tadge.forecasting.rules import RuleCheck
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.trees import Trees
from tadge.graph.past import NUM_KINDS
from tadge.storage.estimator_folder import Network, check_tensor, filled

Part = TypeVar("Part", Trees, ToeLaws)

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
    checks: tuple[RuleCheck, ...]


def to_tensors(learned: Learned) -> dict[str, Tensor]:
    """Give all parts as named tensors."""
    scales, ranking, curves = learned.scales, learned.ranking, learned.curves
    tensors = {
        "scales": torch.tensor([scales.log_unit_days, *scales.decay_days], dtype=torch.float64),
        "ranking": torch.tensor([ranking.slope, ranking.tilt, *ranking.new], dtype=torch.float64),
        "edges": torch.from_numpy(curves.edges),
        "ratio": torch.from_numpy(curves.ratio),
        "usual": torch.tensor([curves.usual], dtype=torch.float64),
    }
    if curves.season is not None:
        tensors["season"] = torch.from_numpy(curves.season.rate)
    if ranking.check is not None:
        tensors["rank_check"] = torch.tensor(ranking.check, dtype=torch.float64)
    for name, network in (("links", learned.links), ("pairs", curves.pairs), ("acts", curves.acts)):
        tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
    for name, trees in (("toe_mean", learned.toe_mean), ("toe_median", learned.toe_median)):
        tensors |= {f"{name}.{part.name}": torch.from_numpy(getattr(trees, part.name)) for part in fields(Trees)}
    for name, laws in (("mean_laws", learned.mean_laws), ("median_laws", learned.median_laws)):
        tensors |= {f"{name}.{part}": torch.from_numpy(getattr(laws, part)) for part in LAW_PARTS}
    return tensors


def from_tensors(tensors: dict[str, Tensor], checks: Sequence[Any], config: ForecastConfig) -> Learned:
    """Build all parts from what was kept; a ValueError, KeyError, TypeError or RuntimeError where they do not fit."""

    def under(name: str) -> dict[str, Tensor]:
        return {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{name}.")}

    def arrays(name: str) -> dict[str, Any]:
        return {part: value.numpy() for part, value in under(name).items()}

    def network(build: Callable[[], Network], name: str) -> Network:
        return filled(build, under(name), name, ("normalise.spread",)).eval()

    def checked(name: str, build: Callable[[dict[str, Any]], Part]) -> Part:
        try:
            return build(arrays(name))
        except (TypeError, ValueError) as error:
            raise InputError("other numbers than what was learned", found=str(error), where=name) from error

    log_unit_days, *decay_days = _positive(tensors, "scales", (1 + NUM_SCALES,)).tolist()
    edges = _positive(tensors, "edges", (NUM_BINS,)).numpy()
    if not (np.diff(edges) > 0).all():
        raise ValueError("edges: not bins of time")
    ratio = _positive(tensors, "ratio", (NUM_KINDS, NUM_BANDS)).numpy()
    slope, tilt, joined, unseen = check_tensor(tensors["ranking"], (4,), "ranking", torch.float64).tolist()
    if not (slope > 0 and 0.0 <= joined <= 1.0 and 0.0 <= unseen <= 1.0):
        raise ValueError("ranking: not a calibration")
    season = Season(_positive(tensors, "season", (HOURS_A_WEEK,)).numpy()) if "season" in tensors else None
    (usual,) = check_tensor(tensors["usual"], (1,), "usual", torch.float64).tolist()
    return Learned(
        Scales(log_unit_days, tuple(decay_days)),
        network(lambda: LinkScorer(LINK_WIDTH, config.hidden), "links"),
        RankCalibration(slope, tilt, (joined, unseen), _rank_check(tensors.get("rank_check"))),
        CurveModels(
            edges,
            network(lambda: pair_network(config.hidden, NUM_BINS, season is not None), "pairs"),
            network(lambda: act_network(config.hidden, NUM_BINS, season is not None), "acts"),
            ratio,
            usual,
            season,
        ),
        checked("toe_mean", lambda parts: Trees(**parts).checked()),
        checked("toe_median", lambda parts: Trees(**parts).checked()),
        checked("mean_laws", lambda parts: ToeLaws(**parts, statistic="mean").checked()),
        checked("median_laws", lambda parts: ToeLaws(**parts, statistic="median").checked()),
        tuple(_rule_check(*check) for check in checks),
    )


def _rank_check(values: Tensor | None) -> RankCheck | None:
    if values is None:
        return None
    check = RankCheck(*values.tolist())
    if not all(math.isfinite(value) and value >= 0 for value in check):
        raise ValueError("rank_check: not figures of a ranking")
    return check


def _rule_check(kind: Any, against: Any, questions: Any, mrr: Any, rule: Any, rule_mrr: Any, *ends: Any) -> RuleCheck:
    names, (low, high) = (kind, against, rule), ends
    if not all(isinstance(name, str) for name in names) or not isinstance(questions, int):
        raise ValueError("validation: not a comparison with rules")
    return RuleCheck(kind, against, questions, float(mrr), rule, float(rule_mrr), float(low), float(high))


def _positive(tensors: dict[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    values = check_tensor(tensors[name], shape, name, torch.float64)
    if not bool((values > 0).all()):
        raise ValueError(f"{name}: not positive numbers")
    return values
