"""Learn curves of pairs and of sources from all moments of the past, also those after which nothing followed.

What had not come by the end of the graph counts only for as long as it was looked at (it is censored). Hazards count
by when they were seen: later ones more, whatever the moment they are asked from. So a curve's far end, which only
early moments have seen, follows what happened lately too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tadge.arrays import Days, Ints, Report
from tadge.config import ForecastConfig
from tadge.features.columns import CHOSEN_TOGETHER, LINK_COLUMNS, columns_left_out
from tadge.features.season import Season
from tadge.features.tables import Scales, tables_of
from tadge.features.type_columns import common_types, pair_columns, pair_width, source_columns, source_width
from tadge.forecasting.curve_models import (
    NUM_BANDS,
    PAIR_RATES,
    SOURCE_RATES,
    CurveModels,
    bands_of,
    kinds_of_rows,
    with_season,
)
from tadge.forecasting.curves import bin_of, bins_of, exposure
from tadge.forecasting.hazard_network import HazardNetwork, survival_loss
from tadge.forecasting.learn import adamw_steps, enough_steps, one_thread
from tadge.forecasting.plain_networks import PlainHazards, Rates, arrays_of
from tadge.forecasting.side_by_side import part_of
from tadge.forecasting.waits import Waits, candidates_of, draw_moments, draw_waits, find_next_acts
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import NUM_KINDS, past_of
from tadge.seeding import seeded, stream
from tadge.validation import Z_95, standard_error

SOURCES_PER_EVENT = 4  # so many sources are asked about per event of a batch: their columns are few
FIRST_BATCHES = 4  # of four times the size: from these columns are standardised
PRIOR_EVENTS = 30.0  # so many events, as expected, are added to those observed
STRENGTH = 0.5  # of a correction: the other half of what is seen late in the past is gone by the time of a question
CALIBRATION_MOMENTS = 6_000
CHOSEN, HALFWAY, CALIBRATED, NEARLY = 0.15, 0.45, 0.5, 0.82  # of all work: done by the end of each part
CHOICE_STEPS = 250  # of the networks that tell whether hours of the week, or types of events, help
TRUST_MOMENTS = 2_000  # at which is looked whether curves can be trusted, or types of events help
LIKELY = 0.1  # probability from which a link counts as promised
TOO_MUCH = 0.1  # of what was promised: so much may be missing
FEWEST_SOURCES, FEWEST_PROMISED = 10, 30  # that must have been seen for as long; of which links were promised
CLEARLY = 0.02  # nats a question by which they must, at least
CALIBRATED_AT_ONCE = 1 << 14  # pairs: bounds the memory


class Rows(NamedTuple):
    """Hold what is learned from in one step: columns, (n, F), and exposed and observed parts of bins, (n, K)."""

    columns: Tensor
    exposed: Tensor
    observed: Tensor


def not_looked_at(config: ForecastConfig) -> Ints:
    """Find the columns that curves do not learn from, (n,): a column that is 0 throughout moves no answer later either.

    What was chosen together tells who is next, and made no curve better on four data sets and a known law.
    """
    return columns_left_out(f"{config.without}, {CHOSEN_TOGETHER}", LINK_COLUMNS)


def learn_curves(
    graph: TemporalGraph,
    early: TemporalGraph | None,
    scales: Scales,
    config: ForecastConfig,
    seed: int,
    report: Report,
) -> CurveModels:
    """Learn all curves, and calibrate those of pairs on what came after the early events, by a model of these."""
    edges, ratio, season, trusted = bins_of(graph), np.ones((NUM_KINDS, NUM_BANDS)), None, 0.0
    with one_thread():
        if early is not None:
            season = chosen_season(graph, early, scales, edges, config, seed, part_of(report, 0.0, CHOSEN))
            known = learn_pairs(early, scales, edges, config, seed, part_of(report, CHOSEN, HALFWAY), season)
            begin = float(graph.time[early.num_events])
            told = part_of(report, HALFWAY, CALIBRATED)
            ratio = calibrate(known, graph, scales, edges, config, seed, begin, season, told)
            early_pairs = _plain(known, PAIR_RATES, edges, season)
            trusted = trusted_horizon(early_pairs, ratio, graph, scales, edges, config, seed, begin, season)
        season = None if season is None else Season.of(graph, config.recency)
        pairs = learn_pairs(graph, scales, edges, config, seed, part_of(report, CALIBRATED, NEARLY), season)
        acts = learn_acts(graph, scales, edges, config, seed, season, part_of(report, NEARLY, 1.0))
        plain = _plain(pairs, PAIR_RATES, edges, season), _plain(acts, SOURCE_RATES, edges, season)
        return CurveModels(edges, *plain, ratio, season=season, trusted=trusted)


def _plain(network: HazardNetwork, rates: Rates, edges: Days, season: Season | None) -> PlainHazards:
    return PlainHazards(arrays_of(network), rates, 0 if season is None else edges.size)


def chosen_season(
    graph: TemporalGraph,
    early: TemporalGraph,
    scales: Scales,
    edges: Days,
    config: ForecastConfig,
    seed: int,
    report: Report,
) -> Season | None:
    """Find the hours of the week of the early events, where they help to tell when sources act later; else None.

    They help where the log-likelihood of a wait after the early events is clearly higher, with its whole 95% interval,
    by sources. Curves of sources decide for those of pairs too: they are learned in a fraction of the time.
    """
    season = Season.of(early, config.recency)
    if season is None:
        return None
    few = replace(config, steps=min(config.steps, CHOICE_STEPS))
    rng, begin = np.random.default_rng(int(stream(seed, "season"))), float(graph.time[early.num_events])
    src, at = draw_moments(graph, rng, CALIBRATION_MOMENTS, begin, float(graph.time[-1]))
    likelihood = []
    for place, known in enumerate((None, season)):
        network = learn_acts(early, scales, edges, few, seed, known, part_of(report, place / 2, (place + 1) / 2))
        rows = act_rows(graph, scales, edges, src, at, config, known)
        with torch.inference_mode():
            likelihood.append(-survival_loss(network(rows.columns), rows.exposed, rows.observed).double().numpy())
    better = likelihood[1] - likelihood[0]
    return season if better.mean() - Z_95 * standard_error(better, src) > CLEARLY else None


def chosen_types(
    graph: TemporalGraph, early: TemporalGraph, scales: Scales, config: ForecastConfig, seed: int, report: Report
) -> tuple[str, ...]:
    """Name the types of events to look at, where they help to tell who links to whom, and when, later; else none.

    They help where the log-likelihood of what became of a source's pairs after the early events is clearly higher, with
    its whole 95% interval, by sources. Curves of pairs decide for rankings and curves of sources too.
    """
    types = common_types(early)
    if not types:
        return ()
    few, edges = replace(config, steps=min(config.steps, CHOICE_STEPS)), bins_of(graph)
    rng, begin = np.random.default_rng(int(stream(seed, "types"))), float(graph.time[early.num_events])
    src, at = draw_moments(graph, rng, TRUST_MOMENTS, begin, float(graph.time[-1]))
    waits, loss = draw_waits(graph, src, at, stream(seed, "targets and types")), []
    with one_thread():
        for place, known in enumerate(((), types)):
            typed, part = replace(scales, types=known), part_of(report, place / 2, (place + 1) / 2)
            network = learn_pairs(early, typed, edges, few, seed, part)
            loss.append(_losses(network, graph, typed, edges, waits, config))
    _, first, question = np.unique(np.stack([waits.src, waits.at]), axis=1, return_index=True, return_inverse=True)
    better = np.bincount(question.reshape(-1), loss[0] - loss[1]).astype(np.float64)
    return types if better.mean() - Z_95 * standard_error(better, waits.src[first]) > CLEARLY else ()


def _losses(
    network: HazardNetwork, graph: TemporalGraph, scales: Scales, edges: Days, waits: Waits, config: ForecastConfig
) -> Days:
    """Give the negative log-likelihood of waits, (n,)."""
    losses = np.empty(waits.src.size)
    for first in range(0, waits.src.size, CALIBRATED_AT_ONCE):
        cut = slice(first, first + CALIBRATED_AT_ONCE)
        rows = pair_rows(graph, scales, edges, waits.part(cut), config)
        with torch.inference_mode():
            losses[cut] = survival_loss(network(rows.columns), rows.exposed, rows.observed).double().numpy()
    return losses


def learn_pairs(
    graph: TemporalGraph,
    scales: Scales,
    edges: Days,
    config: ForecastConfig,
    seed: int,
    report: Report,
    season: Season | None = None,
) -> HazardNetwork:
    """Learn how long it takes from any moment until a source links to a target."""
    rng, drawn, types = np.random.default_rng(int(stream(seed, "moments"))), 0, len(scales.types)

    def batch(count: int) -> Rows:
        nonlocal drawn
        drawn += 1
        waits = draw_waits(graph, *_moments(graph, rng, count, config), stream(seed, f"targets {drawn}"))
        return pair_rows(graph, scales, edges, waits, config, season)

    network = seeded(lambda: pair_network(config.hidden, edges.size, season is not None, types), seed, "pair curves")
    return _learn(network, batch, config, graph.num_events, config.batch_events, report)


def learn_acts(
    graph: TemporalGraph,
    scales: Scales,
    edges: Days,
    config: ForecastConfig,
    seed: int,
    season: Season | None,
    report: Report,
) -> HazardNetwork:
    """Learn how long it takes from any moment until a source acts, and until it acts on someone new."""
    rng = np.random.default_rng(int(stream(seed, "moments of sources")))

    def batch(count: int) -> Rows:
        return act_rows(graph, scales, edges, *_moments(graph, rng, count, config), config, season)

    seasonal, types = season is not None, len(scales.types)
    network = seeded(lambda: act_network(config.hidden, edges.size, seasonal, types), seed, "act curves")
    return _learn(network, batch, config, graph.num_events, SOURCES_PER_EVENT * config.batch_events, report)


def pair_rows(
    graph: TemporalGraph,
    scales: Scales,
    edges: Days,
    waits: Waits,
    config: ForecastConfig,
    season: Season | None = None,
) -> Rows:
    """Tell what was known of pairs as of moments, and how long it took until they linked."""
    left_out = not_looked_at(config)
    columns = pair_columns(tables_of(graph, scales), waits.src, waits.dst, waits.at, left_out=left_out)
    parts = _parts(graph, edges, waits.at, waits.wait, waits.weight, config)
    return Rows(torch.from_numpy(with_season(columns, waits.at, edges, season)), *parts)


def act_rows(
    graph: TemporalGraph,
    scales: Scales,
    edges: Days,
    src: Ints,
    at: Days,
    config: ForecastConfig,
    season: Season | None,
) -> Rows:
    """Tell how long it took from moments, (n,), until sources acted, (n,), and until they acted on someone new."""
    waits = (times - at for times in find_next_acts(past_of(graph).outgoing, candidates_of(graph).first, src, at))
    parts = [_parts(graph, edges, at, wait, np.ones(src.size), config) for wait in waits]
    exposed, observed = (torch.cat(sides, dim=1) for sides in zip(*parts, strict=True))
    columns = with_season(source_columns(tables_of(graph, scales), src, at), at, edges, season)
    return Rows(torch.from_numpy(columns), exposed, observed)


def pair_network(hidden: int, bins: int, seasonal: bool, types: int = 0) -> HazardNetwork:
    """Make the network that gives curves of pairs, from LINK_COLUMNS, those of types, and of a season where it has."""
    return HazardNetwork(pair_width(types) + seasonal, hidden, bins, PAIR_RATES, bins * seasonal)


def act_network(hidden: int, bins: int, seasonal: bool, types: int = 0) -> HazardNetwork:
    """Make the network that gives curves of sources, from NODE_COLUMNS alike: until they act, and on someone new."""
    return HazardNetwork(source_width(types) + seasonal, hidden, 2 * bins, SOURCE_RATES, bins * seasonal)


def _moments(graph: TemporalGraph, rng: np.random.Generator, count: int, config: ForecastConfig) -> tuple[Ints, Days]:
    begin = float(graph.time[int(config.burn_in * graph.num_events)])
    return draw_moments(graph, rng, count, begin, float(graph.time[-1]))


def _parts(
    graph: TemporalGraph, edges: Days, at: Days, wait: Days, weight: Days, config: ForecastConfig
) -> tuple[Tensor, Tensor]:
    """Give the exposed and the observed parts of bins, (n, K) each, weighted by what rows stand for and by when."""
    end, lower = float(graph.time[-1]), np.concatenate([[0.0], edges[:-1]])
    forget = max(config.recency * (end - float(graph.time[0])), np.finfo(np.float64).tiny)
    exposed = exposure(edges, np.minimum(wait, end - at))
    seen = at[:, None] + lower + exposed * (edges - lower) / 2
    exposed *= weight[:, None] * np.exp(np.minimum(seen - end, 0.0) / forget)
    observed, came = np.zeros((at.size, edges.size), np.float32), np.flatnonzero(wait <= edges[-1])
    observed[came, bin_of(edges, wait[came])] = weight[came] * np.exp((at[came] + wait[came] - end) / forget)
    return torch.from_numpy(exposed.astype(np.float32)), torch.from_numpy(observed)


def _learn(
    network: HazardNetwork,
    batch: Callable[[int], Rows],
    config: ForecastConfig,
    num_events: int,
    count: int,
    report: Report,
) -> HazardNetwork:
    rows = []
    for _ in range(FIRST_BATCHES):
        rows.append(batch(4 * count))
        report(0, 1)
    columns, exposed, observed = (torch.cat(parts) for parts in zip(*rows, strict=True))
    network.begin(columns, observed, exposed)
    for _ in adamw_steps(network, config, enough_steps(config, num_events), report):
        columns, exposed, observed = batch(count)
        loss = survival_loss(network(columns), exposed, observed).sum() / count
        loss.backward()  # type: ignore[no-untyped-call]
    return network.eval()


# -- calibration ------------------------------------------------------------------------------------------------------


def calibrate(
    network: HazardNetwork,
    graph: TemporalGraph,
    scales: Scales,
    edges: Days,
    config: ForecastConfig,
    seed: int,
    begin: float,
    season: Season | None,
    report: Report,
) -> Days:
    """Compare hazards with what was observed from `begin` on: (NUM_KINDS, NUM_BANDS) factors for them.

    A part of the curve of which little was observed takes the factor of the part before it. Corrections are taken half:
    the model in use has learned from the latest events too, and what drifts may turn. None is above 1: that more came
    than was said is no reason to be surer of what comes, and far ends of curves, which nothing late has seen, would be
    raised with it.
    """
    rng, end = np.random.default_rng(int(stream(seed, "calibration"))), float(graph.time[-1])
    src, at = draw_moments(graph, rng, CALIBRATION_MOMENTS, begin, end)
    waits = draw_waits(graph, src, at, stream(seed, "calibration targets"))
    expected, came = (np.zeros((NUM_KINDS, edges.size)) for _ in range(2))
    tables, left_out = tables_of(graph, scales), not_looked_at(config)
    for first in range(0, waits.src.size, CALIBRATED_AT_ONCE):
        cut = slice(first, first + CALIBRATED_AT_ONCE)
        part = waits.part(cut)
        columns = pair_columns(tables, part.src, part.dst, part.at, left_out=left_out)
        with torch.inference_mode():
            rows = torch.from_numpy(with_season(columns, part.at, edges, season))
            hazard = torch.exp(network(rows)).double().numpy()
        exposed, observed = (
            piece.double().numpy() for piece in _parts(graph, edges, part.at, part.wait, part.weight, config)
        )
        report(first, waits.src.size)
        kinds = kinds_of_rows(columns)
        for kind in range(NUM_KINDS):
            expected[kind] += (hazard[kinds == kind] * exposed[kinds == kind]).sum(axis=0)
            came[kind] += observed[kinds == kind].sum(axis=0)
    bands, ratio = bands_of(edges, scales), np.ones((NUM_KINDS, NUM_BANDS))
    for kind in range(NUM_KINDS):
        before = 1.0
        for band in range(NUM_BANDS):
            here = bands == band
            before = (came[kind, here].sum() + PRIOR_EVENTS * before) / (expected[kind, here].sum() + PRIOR_EVENTS)
            ratio[kind, band] = min(before, 1.0) ** STRENGTH
    return ratio


def trusted_horizon(
    network: PlainHazards,
    ratio: Days,
    graph: TemporalGraph,
    scales: Scales,
    edges: Days,
    config: ForecastConfig,
    seed: int,
    begin: float,
    season: Season | None,
) -> float:
    """Find up to which time, in days, curves did not promise clearly more than came from `begin` on.

    Pairs are asked about at moments after which that time was seen whole. Of those that were said to be likely, it is
    compared how many links were said to come, and came. No longer time than was seen after `begin` can be trusted.
    """
    rng, end = np.random.default_rng(int(stream(seed, "trust"))), float(graph.time[-1])
    src, at = draw_moments(graph, rng, TRUST_MOMENTS, begin, end)
    waits = draw_waits(graph, src, at, stream(seed, "trust targets"))
    tables, left_out = tables_of(graph, scales), not_looked_at(config)
    columns = pair_columns(tables, waits.src, waits.dst, waits.at, left_out=left_out)
    hazard = np.exp(network(with_season(columns, waits.at, edges, season)).astype(np.float64))
    hazard *= ratio[:, bands_of(edges, scales)][kinds_of_rows(columns)]
    said, trusted = -np.expm1(-np.cumsum(hazard, axis=1)), 0.0
    for place, days in enumerate(edges.tolist()):
        whole = waits.at + days <= end
        if np.unique(waits.src[whole]).size < FEWEST_SOURCES:
            break
        likely = whole & (said[:, place] >= LIKELY)
        weight, promised = waits.weight[likely], said[likely, place]
        missing = weight * (promised - (waits.wait[likely] <= days))
        if np.unique(waits.src[likely]).size >= FEWEST_PROMISED:
            surely = missing.mean() - Z_95 * standard_error(missing, waits.src[likely])
            if surely > TOO_MUCH * (weight * promised).mean():
                break
        trusted = days
    return trusted
