"""How much each group of named columns moves a forecast: Shapley values, exact, beside what is typical.

A coalition is a set of groups that keep what is known of the pair; all other groups are as in a typical question. Its
value is the mean forecast over such questions. A group's part is what it adds to coalitions of the others, each
order of joining counting alike. The parts add up to the forecast less the typical one, and a group that changes nothing
has the part 0. Axes: G groups, B typical questions, F columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import NamedTuple

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.features.columns import LINK_COLUMNS, NODE_COLUMNS
from tadge.features.link_columns import PAIR_WIDTH
from tadge.forecasting.waits import LATEST_OTHERS, add_others, candidates_of, draw_moments
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import stream

TYPICAL_MOMENTS = 32  # of the past at which sources are asked about
TYPICAL_TARGETS = 2  # of those met lately, and of others, at each of them
ACTING = tuple(name for name in NODE_COLUMNS if "it acted" in name or "acts" in name or name == "age")
IN_COMMON = tuple(name for name in LINK_COLUMNS if name.startswith(("others in common", "chosen together")))
FORTH_COLUMNS = (
    *("since src to dst", "src to dst", "src last acted on dst", "dst in the acts of src"),
    *("dst last linked to by src", "src in the links to dst"),
)

Forecast = Callable[[Vectors], Days]  # rows of columns, (n, F), to forecasts, (n,)


class Typical(NamedTuple):
    """Hold questions that are typical of a history: (B,) each.

    Attributes:
        src: node numbers.
        dst: node numbers.
        at: days.
        weight: how many such questions each stands for; they sum to 1.
    """

    src: Ints
    dst: Ints
    at: Days
    weight: Days


def column_groups(directed: bool, bipartite: bool = False) -> dict[str, Ints]:
    """Name groups of LINK_COLUMNS, each with the places of its columns; all columns are in one group.

    In a two-sided graph sources are never linked to, and targets never act: what there is of each is one group.
    """
    pair = LINK_COLUMNS[-PAIR_WIDTH:]
    groups: dict[str, list[str]] = {
        "links of src to dst": list(FORTH_COLUMNS),
        "links of dst to src": [name for name in pair if name not in (*FORTH_COLUMNS, *IN_COMMON)],
        "acts of src": [f"src: {name}" for name in ACTING],
        "links to src": [f"src: {name}" for name in NODE_COLUMNS if name not in ACTING],
        "acts of dst": [f"dst: {name}" for name in ACTING],
        "links to dst": [f"dst: {name}" for name in NODE_COLUMNS if name not in ACTING],
        "others in common": list(IN_COMMON),
    }
    if bipartite:
        groups = {
            "links of src to dst": groups["links of src to dst"] + groups["links of dst to src"],
            "acts of src": groups["acts of src"] + groups["links to src"],
            "links to dst": groups["acts of dst"] + groups["links to dst"],
            "others in common": groups["others in common"],
        }
    elif not directed:  # both roles of a node are one
        groups = {
            "links of src and dst": groups["links of src to dst"] + groups["links of dst to src"],
            "links of src": groups["acts of src"] + groups["links to src"],
            "links of dst": groups["acts of dst"] + groups["links to dst"],
            "others in common": groups["others in common"],
        }
    return {label: np.array([LINK_COLUMNS.index(name) for name in names]) for label, names in groups.items()}


def attribute(forecast: Forecast, row: Vectors, typical: Vectors, weight: Days, groups: Sequence[Ints]) -> Days:
    """Give the part of each group in a forecast, (G,).

    Args:
        forecast: what is to be explained.
        row: (F,) columns of the pair asked about.
        typical: (B, F) columns of typical questions.
        weight: (B,) how much each counts; they sum to 1.
        groups: G lists of places, none in two of them.
    """
    count = len(groups)
    coalitions = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1  # (2^G, G)
    mixed = np.broadcast_to(typical, (1 << count, *typical.shape)).copy()
    for group, places in enumerate(groups):
        keep = np.flatnonzero(coalitions[:, group])
        mixed[np.ix_(keep, np.arange(len(typical)), places)] = row[places]
    value = forecast(mixed.reshape(-1, row.size)).reshape(1 << count, -1) @ weight  # (2^G,)
    parts, size = np.empty(count), coalitions.sum(axis=1)
    orders = np.array([factorial(n) * factorial(count - n - 1) / factorial(count) for n in range(count)])
    for group in range(count):
        without = np.flatnonzero(coalitions[:, group] == 0)
        parts[group] = (orders[size[without]] * (value[without | (1 << group)] - value[without])).sum()
    return parts


def typical_questions(graph: TemporalGraph, at: float, seed: int) -> Typical:
    """Draw pairs as of moments until `at`: any source that was about, any target that had joined.

    Of each source's targets some that it had met lately are drawn, and some others, weighted by how many they stand
    for. Nothing later than `at` is looked at.
    """
    rng = np.random.default_rng(int(stream(seed, "typical questions")))
    past, candidates = past_of(graph), candidates_of(graph)
    sources, moments = draw_moments(graph, rng, TYPICAL_MOMENTS, float(graph.time[0]), at)
    joined, loops = candidates.joined(moments), candidates.with_self(moments)
    others, rows = np.empty(2 * LATEST_OTHERS, np.int64), []
    for source, now, count, itself in zip(sources.tolist(), moments.tolist(), joined.tolist(), loops, strict=True):
        met = add_others(past.outgoing, source, now, candidates.lowest, bool(itself), others, 0)
        met = add_others(past.incoming, source, now, candidates.lowest, bool(itself), others, met)
        known = others[:met].copy()
        strange = candidates.node[rng.integers(0, max(count, 1), 4 * TYPICAL_TARGETS)]
        strange = strange[~np.isin(strange, known) & ((strange != source) | itself)][:TYPICAL_TARGETS]
        chosen = known if met <= TYPICAL_TARGETS else rng.choice(known, TYPICAL_TARGETS, replace=False)
        for targets, total in ((chosen, met), (strange, count - met)):
            rows += [(source, target, now, total / (targets.size * max(count, 1))) for target in targets.tolist()]
    src, dst, days, weight = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 4
    return Typical(src.astype(np.int64), dst.astype(np.int64), days, weight / max(weight.sum(), 1e-300))
