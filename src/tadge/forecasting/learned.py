"""All that a Forecaster learns, as named arrays and back; what is read may be anything, and is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days
from tadge.config import ForecastConfig
from tadge.errors import InputError
from tadge.features.columns import NUM_SCALES
from tadge.features.season import HOURS_A_WEEK, Season
from tadge.features.tables import Scales
from tadge.features.type_columns import MOST_LOOKED_AT, pair_width, source_width
from tadge.forecasting.curve_models import NUM_BANDS, PAIR_RATES, SOURCE_RATES, CurveModels
from tadge.forecasting.curves import NUM_BINS
from tadge.forecasting.plain_networks import PlainHazards, PlainScorer, Rates, check_array, check_state
from tadge.forecasting.rank_calibration import RankCalibration, RankCheck
from tadge.forecasting.rules import RuleCheck
from tadge.forecasting.toe_laws import ToeLaws
from tadge.forecasting.trees import Trees
from tadge.graph.past import NUM_KINDS

Part = TypeVar("Part", Trees, ToeLaws)

LAW_PARTS = ("knots", "longer")


class Learned(NamedTuple):
    """Hold what was learned; the attributes of a Forecaster have these names with an underscore behind them."""

    scales: Scales
    links: PlainScorer
    ranking: RankCalibration
    curves: CurveModels
    toe_mean: Trees
    toe_median: Trees
    mean_laws: ToeLaws
    median_laws: ToeLaws
    checks: tuple[RuleCheck, ...]


def to_arrays(learned: Learned) -> dict[str, npt.NDArray[Any]]:
    """Give all parts as named arrays."""
    scales, ranking, curves = learned.scales, learned.ranking, learned.curves
    arrays: dict[str, npt.NDArray[Any]] = {
        "scales": np.array([scales.log_unit_days, *scales.decay_days]),
        "ranking": np.array([ranking.slope, ranking.tilt, *ranking.new]),
        "edges": curves.edges,
        "ratio": curves.ratio,
        "usual": np.array([curves.usual]),
        "trusted": np.array([min(curves.trusted, curves.edges[-1])]),
    }
    if scales.types:
        arrays["types"] = np.frombuffer(json.dumps(scales.types).encode(), np.uint8)
    if curves.season is not None:
        arrays["season"] = curves.season.rate
    if ranking.check is not None:
        arrays["rank_check"] = np.array(ranking.check)
    for name, network in (("links", learned.links), ("pairs", curves.pairs), ("acts", curves.acts)):
        arrays |= {f"{name}.{key}": value for key, value in network.state.items()}
    for name, trees in (("toe_mean", learned.toe_mean), ("toe_median", learned.toe_median)):
        arrays |= {f"{name}.{part.name}": getattr(trees, part.name) for part in fields(Trees)}
    for name, laws in (("mean_laws", learned.mean_laws), ("median_laws", learned.median_laws)):
        arrays |= {f"{name}.{part}": getattr(laws, part) for part in LAW_PARTS}
    return arrays


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]], checks: Sequence[Any], config: ForecastConfig) -> Learned:
    """Build all parts from what was kept; a ValueError, KeyError or TypeError where they do not fit."""

    def under(name: str) -> dict[str, npt.NDArray[Any]]:
        return {key.partition(".")[2]: value for key, value in arrays.items() if key.startswith(f"{name}.")}

    def hazards(name: str, width: int, rates: Rates, outputs: int) -> PlainHazards:
        last = {"level.weight": (1, hidden), "shape.weight": (outputs, hidden), "shape.bias": (outputs,)}
        check_state(under(name), width + (season is not None) + len(rates), hidden, last, name)
        return PlainHazards(under(name), rates, 0 if season is None else NUM_BINS)

    def checked(name: str, build: Callable[[dict[str, Any]], Part]) -> Part:
        try:
            return build(under(name))
        except (TypeError, ValueError) as error:
            raise InputError("other numbers than what was learned", found=str(error), where=name) from error

    hidden = config.hidden
    log_unit_days, *decay_days = _positive(arrays, "scales", (1 + NUM_SCALES,)).tolist()
    edges = _positive(arrays, "edges", (NUM_BINS,))
    if not (np.diff(edges) > 0).all():
        raise ValueError("edges: not bins of time")
    ratio = _positive(arrays, "ratio", (NUM_KINDS, NUM_BANDS))
    slope, tilt, joined, unseen = check_array(arrays["ranking"], (4,), "ranking", np.float64).tolist()
    if not (slope > 0 and 0.0 <= joined <= 1.0 and 0.0 <= unseen <= 1.0):
        raise ValueError("ranking: not a calibration")
    season = Season(_positive(arrays, "season", (HOURS_A_WEEK,))) if "season" in arrays else None
    types = _types(arrays["types"]) if "types" in arrays else ()
    (usual,) = check_array(arrays["usual"], (1,), "usual", np.float64).tolist()
    last_layer = {"layers.4.weight": (1, hidden), "layers.4.bias": (1,)}
    check_state(under("links"), pair_width(len(types)), hidden, last_layer, "links")
    return Learned(
        Scales(log_unit_days, tuple(decay_days), types=types),
        PlainScorer(under("links")),
        RankCalibration(slope, tilt, (joined, unseen), _rank_check(arrays.get("rank_check"))),
        CurveModels(
            edges,
            hazards("pairs", pair_width(len(types)), PAIR_RATES, NUM_BINS),
            hazards("acts", source_width(len(types)), SOURCE_RATES, 2 * NUM_BINS),
            ratio,
            usual,
            season,
            _trusted(arrays.get("trusted", edges[-1:]), edges),
        ),
        checked("toe_mean", lambda parts: Trees(**parts).checked()),
        checked("toe_median", lambda parts: Trees(**parts).checked()),
        checked("mean_laws", lambda parts: ToeLaws(**parts, statistic="mean").checked()),
        checked("median_laws", lambda parts: ToeLaws(**parts, statistic="median").checked()),
        tuple(_rule_check(*check) for check in checks),
    )


def _types(letters: npt.NDArray[Any]) -> tuple[str, ...]:
    if letters.dtype != np.uint8:
        raise ValueError("types: not names of types")
    try:
        names = json.loads(letters.tobytes())
    except RecursionError as error:
        raise ValueError("types: not names of types") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("types: not names of types")
    if not 0 < len(names) == len(set(names)) <= MOST_LOOKED_AT:
        raise ValueError("types: not names of types")
    return tuple(names)


def _trusted(values: npt.NDArray[Any], edges: Days) -> float:
    (trusted,) = check_array(values, (1,), "trusted", np.float64).tolist()
    if not 0.0 <= trusted <= edges[-1]:
        raise ValueError("trusted: not a time of the curves")
    return float(trusted)


def _rank_check(values: Days | None) -> RankCheck | None:
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


def _positive(arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...]) -> Days:
    values = check_array(arrays[name], shape, name, np.float64)
    if not (values > 0).all():
        raise ValueError(f"{name}: not positive numbers")
    return values
