"""Ask for the curves of pairs and of sources, as of moments; nodes that were never seen have the number -1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tadge.arrays import Days, Ints, Vectors
from tadge.features.tables import Scales, Tables
from tadge.features.type_columns import pair_columns, places_of_ends, source_columns
from tadge.forecasting.curve_models import CurveModels, bands_of, kinds_of_rows, with_season
from tadge.forecasting.curves import Curves
from tadge.forecasting.plain_networks import PlainHazards
from tadge.machine import num_threads

PAIRS_AT_ONCE = 1 << 14  # pairs answered for at once: bounds the memory
UNKNOWN = -1  # in place of a node number: a node that was never seen


def cuts(size: int) -> Iterator[slice]:
    """Cut so many questions into parts that are answered at once."""
    return (slice(first, min(first + PAIRS_AT_ONCE, size)) for first in range(0, size, PAIRS_AT_ONCE))


def columns_of(tables: Tables, src: Ints, dst: Ints, at: Days, left_out: Ints) -> Vectors:
    """Tell what is known of pairs as of moments, (n, pair_width); of nodes that were never seen, nothing."""
    columns = pair_columns(tables, np.maximum(src, 0), np.maximum(dst, 0), at, num_threads(), left_out=left_out)
    unknown = (src == UNKNOWN) | (dst == UNKNOWN)
    if unknown.any():
        node = np.array([tables.first.size - 1])
        nothing = pair_columns(tables, node, node, np.array([-np.inf]), left_out=left_out)[0]
        missing = src == UNKNOWN, dst == UNKNOWN, unknown
        for rows, places in zip(missing, places_of_ends(tables.num_types), strict=True):
            columns[np.ix_(rows, places)] = nothing[places]
    return columns


def hazards(network: PlainHazards, columns: Vectors) -> Days:
    """Give the hazards of bins for rows of columns, (n, K)."""
    return np.exp(network(columns, num_threads()).astype(np.float64))


def pair_curves(
    models: CurveModels, tables: Tables, scales: Scales, src: Ints, dst: Ints, at: Days, left_out: Ints
) -> Iterator[tuple[slice, Curves]]:
    """Give the calibrated curves of pairs as of moments, (n,) each, part by part."""
    bands = bands_of(models.edges, scales)
    for cut in cuts(src.size):
        columns = columns_of(tables, src[cut], dst[cut], at[cut], left_out)
        ratio = models.ratio[:, bands][kinds_of_rows(columns)]
        rows = with_season(columns, at[cut], models.edges, models.season)
        yield cut, Curves(models.edges, hazards(models.pairs, rows) * ratio)


def act_curves(models: CurveModels, tables: Tables, src: Ints, at: Days) -> Iterator[tuple[slice, Curves, Curves]]:
    """Give the curves of sources as of moments, (n,) each, part by part: until they act, and on someone new."""
    width, node = models.edges.size, np.array([tables.first.size - 1])
    nothing = source_columns(tables, node, np.array([-np.inf]))
    for cut in cuts(src.size):
        columns = source_columns(tables, np.maximum(src[cut], 0), at[cut], num_threads())
        columns[src[cut] == UNKNOWN] = nothing
        both = hazards(models.acts, with_season(columns, at[cut], models.edges, models.season))
        yield cut, Curves(models.edges, both[:, :width]), Curves(models.edges, both[:, width:])
