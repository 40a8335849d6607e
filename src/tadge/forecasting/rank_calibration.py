"""From scores of links to probabilities: whom a source links to, supposed that it acts.

Scores tell who is likelier; how much likelier is learned on the latest fifth of events, from a scorer of the others.
The probability of a target is that of a softmax of slope * score over all that have joined. The slope depends on how
sure the scores are, by the entropy of their own softmax: a scorer that is sure is more often too sure. It is never
above 1: that late events went as the scorer said, and more so, is no reason to be surer of those that come. Of one
source the order of targets is that of their scores. That the target is someone new has a probability of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Flags, Ints, Report, Vectors
from tadge.config import ForecastConfig
from tadge.features.columns import LINK_COLUMNS, columns_left_out
from tadge.features.tables import Scales, tables_of
from tadge.features.type_columns import pair_columns
from tadge.forecasting.ask_curves import cuts
from tadge.forecasting.plain_networks import Scorer
from tadge.forecasting.side_by_side import silent
from tadge.forecasting.waits import LATEST_OTHERS, Candidates, add_others, candidates_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import EventLists, past_of
from tadge.seeding import draw, stream, unit, walk_key
from tadge.validation import mean_ranks

CALIBRATION_EVENTS = 2_048  # of the latest fifth that are asked about
RANDOM_TARGETS = 96  # per event, that stand for all but the target and those met lately
PRIOR_PRECISION = 2.0  # of the slope's logarithm, and of its tilt: as much as a few events tell
MIDDLE_ENTROPY, MOST_ENTROPY = 1.0, 2.0  # of scores, in nats: where the slope is `slope`; beyond it stays the same
PRIOR_TARGETS = 5.0  # events that what is expected of new targets is worth
LARGEST_LOG = 2.0  # of the slope, downwards, and of its tilt
JUST_BELOW = -1e-3  # 0, from where a search for both begins: there the slope of all is free
SMALLEST_WEIGHT = 1e-300


class RankCheck(NamedTuple):
    """Hold how well late events were foreseen, each the instant before it, by a scorer that had not seen them.

    Attributes:
        events: how many events were asked about.
        known: the fraction of all late events that they stand for: those whose target had joined.
        others: how many others a target was ranked among, on average: all that its source had met lately, and nodes
            drawn at random.
        first: the fraction of targets that were ranked first.
        ten: the fraction that was among the first ten.
        rule_first: the same as `first` by a rule: the later a source had linked to it, the higher it ranks.
        rule_ten: the same as `ten` by that rule.
    """

    events: float
    known: float
    others: float
    first: float
    ten: float
    rule_first: float
    rule_ten: float


@dataclass(frozen=True)
class RankCalibration:
    """Hold how scores become probabilities.

    Attributes:
        slope: what scores are multiplied by where their entropy is MIDDLE_ENTROPY; 1 where this is more.
        tilt: by how much the logarithm of that grows with the entropy, up to MOST_ENTROPY, and up to 0.
        new: (2,) the probability that the target is someone new, for a source that had joined, and for others.
        check: how good the order was on the events that this was learned from; None where there were none.
    """

    slope: float = 1.0
    tilt: float = 0.0
    new: tuple[float, float] = (0.0, 0.0)
    check: RankCheck | None = None

    def probabilities(self, scores: Vectors) -> Days:
        """Give the probabilities of targets that had joined, supposed that it is one of these, (n,)."""
        likelihood = np.exp(self.slope_of(scores) * (scores.astype(np.float64) - scores.max()))
        return likelihood / likelihood.sum()  # type: ignore[no-any-return]

    def slope_of(self, scores: Vectors | Days) -> float:
        """Give what the scores of all targets of a source, (n,), are multiplied by."""
        every = scores.astype(np.float64)[None]
        return float(np.exp(_log_slopes(np.log(self.slope), self.tilt, entropies(every, np.zeros(every.shape))))[0])


class Alternatives(NamedTuple):
    """Hold whom events could have gone to: the target first, then some of all others.

    Attributes:
        target: (Q, C) node numbers; -1 where there are fewer.
        weight: (Q, C) how many each stands for.
    """

    target: Ints
    weight: Days


def calibrate_ranking(
    scorer: Scorer,
    graph: TemporalGraph,
    scales: Scales,
    config: ForecastConfig,
    seed: int,
    begin: int,
    report: Report = silent,
) -> RankCalibration:
    """Learn from events `begin` and later how likely targets are, from a scorer that has not seen them."""
    rng = np.random.default_rng(int(stream(seed, "rank calibration")))
    events = np.arange(begin, graph.num_events)
    if events.size > CALIBRATION_EVENTS:
        events = np.sort(rng.choice(events, CALIBRATION_EVENTS, replace=False))
    src, dst = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64)
    at, candidates, past = np.nextafter(graph.time[events], -np.inf), candidates_of(graph), past_of(graph)
    known = candidates.first[dst] <= at
    earlier = candidates.first[graph.dst[:begin]] >= graph.time[:begin]
    new = _fraction_new(~known, candidates.first[src] <= at, earlier)
    loops = candidates.with_self(at)
    asked = known & (loops | (src != dst))
    if not asked.any():
        return RankCalibration(new=new)
    src, dst, at, loops = src[asked], dst[asked], at[asked], loops[asked]
    joined, key = candidates.joined(at), stream(seed, "alternatives")
    alternatives = draw_alternatives(past.outgoing, past.incoming, candidates, src, dst, at, joined, loops, key)
    rows, places = np.nonzero(alternatives.target >= 0)
    tables, left_out = tables_of(graph, scales), columns_left_out(config.without, LINK_COLUMNS)
    scores, target = np.full(alternatives.target.shape, -np.inf), alternatives.target[rows, places]
    for cut in cuts(rows.size):  # all at once would be most of the memory that is taken in learning
        report(cut.start, rows.size)
        columns = pair_columns(tables, src[rows[cut]], target[cut], at[rows[cut]], left_out=left_out)
        scores[rows[cut], places[cut]] = scorer(columns)
    slope, tilt = likeliest_slopes(scores, np.log(np.maximum(alternatives.weight, SMALLEST_WEIGHT)))
    check = check_ranking(graph, src, at, alternatives.target, scores, known=float(asked.mean()))
    return RankCalibration(slope, tilt, new, check)


def check_ranking(graph: TemporalGraph, src: Ints, at: Days, target: Ints, scores: Days, *, known: float) -> RankCheck:
    """Tell how often targets, in column 0, were ranked first and among the first ten; and by a rule.

    Args:
        graph: what happened.
        src: (Q,) sources of events.
        at: (Q,) the instant before each.
        target: (Q, C) node numbers; -1 where there are fewer.
        scores: (Q, C).
        known: the fraction of all events that these stand for.
    """
    counts, latest = target >= 0, np.full(target.shape, -np.inf)
    rows, places = np.nonzero(counts)
    latest[rows, places] = past_of(graph).last_link(src[rows], target[rows, places], at[rows])
    hits = [float(np.mean(mean_ranks(order, counts) <= most)) for order in (scores, latest) for most in (1, 10)]
    return RankCheck(float(src.size), known, float(counts.sum(axis=1).mean() - 1), *hits)


def likeliest_slopes(scores: Days, log_weight: Days) -> tuple[float, float]:
    """Find the slope and its tilt at which the targets in column 0 are likeliest among all.

    Args:
        scores: (Q, C); -inf where there is no target.
        log_weight: (Q, C) log of how many targets each stands for.
    """
    from scipy.optimize import minimize  # here, as answers do without

    entropy, missing = entropies(scores, log_weight), np.isinf(scores)
    log_weight, scores = np.where(missing, -np.inf, log_weight), np.where(missing, 0.0, scores)

    def missed(parameters: Days) -> tuple[float, Days]:
        log_slopes = _log_slopes(parameters[0], parameters[1], entropy)
        slopes = np.exp(log_slopes)
        logits = slopes[:, None] * scores + log_weight
        total = _log_sums(logits)
        expected = (np.exp(logits - total[:, None]) * scores).sum(axis=1)
        by_log_slope = (expected - scores[:, 0]) * slopes * ((log_slopes > -LARGEST_LOG) & (log_slopes < 0.0))
        by_parameter = np.array([by_log_slope.sum(), by_log_slope @ _beyond_middle(entropy)])
        likelihood = (total - slopes * scores[:, 0]).sum()
        return likelihood + PRIOR_PRECISION / 2 * parameters @ parameters, by_parameter + PRIOR_PRECISION * parameters

    bounds = [(-LARGEST_LOG, LARGEST_LOG)] * 2
    log_slope, tilt = minimize(missed, np.full(2, JUST_BELOW), jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(np.exp(log_slope)), float(tilt)


def entropies(scores: Days, log_weight: Days) -> Days:
    """Give the entropy, in nats, of the softmax of each row of scores, (Q, C): (Q,); arguments as above."""
    weighted = scores + log_weight
    total = _log_sums(weighted)[:, None]
    surprisal = np.where(np.isinf(scores), 0.0, total - scores)
    return (np.exp(weighted - total) * surprisal).sum(axis=1)  # type: ignore[no-any-return]


def _log_slopes(log_slope: float, tilt: float, entropy: Days) -> Days:
    return np.clip(log_slope + tilt * _beyond_middle(entropy), -LARGEST_LOG, 0.0)


def _beyond_middle(entropy: Days) -> Days:
    return np.minimum(entropy, MOST_ENTROPY) - MIDDLE_ENTROPY


def _log_sums(logits: Days) -> Days:
    highest = logits.max(axis=1)
    return highest + np.log(np.exp(logits - highest[:, None]).sum(axis=1))  # type: ignore[no-any-return]


def _fraction_new(new: Flags, joined: Flags, earlier: Flags) -> tuple[float, float]:
    """Tell which fraction of targets was new, for sources that had joined and for others.

    A few events do not decide: the fraction among all counts for PRIOR_TARGETS more in either group, that of earlier
    events for as many among all, and among those one event more was new and one was not.
    """

    def drawn_to(group: Flags, expected: float) -> float:
        return float((group.sum() + PRIOR_TARGETS * expected) / (group.size + PRIOR_TARGETS))

    of_all = drawn_to(new, (earlier.sum() + 1.0) / (earlier.size + 2.0))
    return drawn_to(new[joined], of_all), drawn_to(new[~joined], of_all)


@numba.njit(cache=True)
def draw_alternatives(
    outgoing: EventLists,
    incoming: EventLists,
    candidates: Candidates,
    src: Ints,
    dst: Ints,
    at: Days,
    joined: Ints,
    loops: Flags,
    key: np.uint64,
) -> Alternatives:
    """Draw alternatives to events' targets: all that were met lately, and others at random."""
    width = 1 + 2 * LATEST_OTHERS + RANDOM_TARGETS
    target, weight = np.full((src.size, width), -1, np.int64), np.zeros((src.size, width))
    others = np.empty(2 * LATEST_OTHERS, np.int64)
    for q in range(src.size):
        u, now, own = src[q], at[q], walk_key(key, q)
        met = add_others(outgoing, u, now, candidates.lowest, loops[q], others, 0)
        met = add_others(incoming, u, now, candidates.lowest, loops[q], others, met)
        target[q, 0], weight[q, 0], n = dst[q], 1.0, 1
        for i in range(met):
            if others[i] != dst[q]:
                target[q, n], weight[q, n] = others[i], 1.0
                n += 1
        rest, middle = joined[q] - n, n
        if not loops[q] and candidates.first[u] <= now and u >= candidates.lowest:
            rest -= 1
        for k in range(RANDOM_TARGETS if rest > 0 else 0):
            v = candidates.node[int(unit(draw(own, k)) * joined[q])]
            free = v != dst[q] and (loops[q] or v != u)
            for i in range(met):
                free = free and others[i] != v
            if free:
                target[q, n] = v
                n += 1
        for k in range(middle, n):
            weight[q, k] = rest / (n - middle)
    return Alternatives(target, weight)
