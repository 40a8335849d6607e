"""Learn all that a Forecaster knows from a graph. Torch comes with this file alone: answers do without it."""

from __future__ import annotations

from dataclasses import replace

from tadge.arrays import Report
from tadge.config import ForecastConfig
from tadge.features.tables import Scales
from tadge.features.type_columns import common_types
from tadge.forecasting.learn import learn_laws, learn_links, learn_toe
from tadge.forecasting.learn_curves import chosen_types, learn_curves
from tadge.forecasting.learned import Learned
from tadge.forecasting.plain_networks import PlainScorer, arrays_of
from tadge.forecasting.rank_calibration import RankCalibration, calibrate_ranking
from tadge.forecasting.rules import RuleCheck, check_rules
from tadge.forecasting.side_by_side import part_of, side_by_side
from tadge.forecasting.surprise import usual_surprise
from tadge.graph.graph import TemporalGraph
from tadge.machine import return_memory
from tadge.progress import Bars
from tadge.validation import latest_from

HALFWAY, NEARLY, CALIBRATED = 0.45, 0.85, 0.93  # of the work on who links to whom: done by the end of each part


def learn_all(graph: TemporalGraph, config: ForecastConfig, seed: int, bars: Bars) -> Learned:
    """Learn from a graph who links to whom, within which time, and how long edges take."""
    scales, early = Scales.of(graph), without_latest(graph)
    if config.event_types != "never" and common_types(graph):
        with bars.part("whether types of events help") as whether:
            scales = replace(scales, types=_types(graph, early, scales, config, seed, whether))
    with bars.part("who links to whom") as who, bars.part("within which time") as when:
        (links, ranking, checks), curves = side_by_side(
            [
                (lambda report: _learn_who(graph, early, scales, config, seed, report), who),
                (lambda report: learn_curves(graph, early, scales, config, seed, report), when),
            ],
            lambda: bars.say("stopping after this step"),
        )
    return_memory()  # else the next part would come on top of it
    with bars.part("how long edges take"):
        curves = replace(curves, usual=usual_surprise(curves, graph, scales, config, seed))
        trees = learn_toe(graph, scales, config, seed)
        laws = learn_laws(graph, scales, config, seed, trees)
    return Learned(scales, links, ranking, curves, *trees, *laws, checks)


def _types(
    graph: TemporalGraph,
    early: TemporalGraph | None,
    scales: Scales,
    config: ForecastConfig,
    seed: int,
    report: Report,
) -> tuple[str, ...]:
    """Name the types of events to look at: those of the whole graph, where asked to, or where types help."""
    helps = config.event_types == "always"
    if not helps and early is not None:
        helps = bool(chosen_types(graph, early, scales, config, seed, report))
    return common_types(graph) if helps else ()


def _learn_who(
    graph: TemporalGraph,
    early: TemporalGraph | None,
    scales: Scales,
    config: ForecastConfig,
    seed: int,
    report: Report,
) -> tuple[PlainScorer, RankCalibration, tuple[RuleCheck, ...]]:
    """Learn to rank targets; on the latest events, from a scorer of the early ones, how likely these are.

    That scorer is compared with simple rules there.
    """
    links = PlainScorer(arrays_of(learn_links(graph, scales, config, seed, part_of(report, 0.0, HALFWAY))))
    if early is None:
        return links, RankCalibration(), ()
    scorer = PlainScorer(arrays_of(learn_links(early, scales, config, seed, part_of(report, HALFWAY, NEARLY))))
    asked = scorer, graph, scales, config, seed, early.num_events
    ranking = calibrate_ranking(*asked, part_of(report, NEARLY, CALIBRATED))
    return links, ranking, check_rules(*asked, part_of(report, CALIBRATED, 1.0))


def without_latest(graph: TemporalGraph) -> TemporalGraph | None:
    """Give the graph as it was before its latest fifth, on which is calibrated; None where nothing had happened."""
    begin = latest_from(graph.num_events)
    early = graph.before(float(graph.time[begin])) if begin < graph.num_events else graph
    return early if 0 < early.num_events < graph.num_events else None
