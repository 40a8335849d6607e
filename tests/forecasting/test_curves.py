"""Curves: against exponential waits, brute integration, and each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from small import forum
from tadge.forecasting.curves import NUM_BINS, TRUSTED, Curves, bin_of, bins_of, exposure
from tadge.graph import TemporalGraph

EDGES = np.geomspace(0.001, 1000.0, NUM_BINS)
hazards = arrays(np.float64, (5, NUM_BINS), elements=st.floats(0.0, 3.0))


def exponential(rate):
    """The curve of waits with a constant rate."""
    widths = np.diff(np.concatenate([[0.0], EDGES]))
    return Curves(EDGES, np.asarray(rate)[:, None] * widths)


def test_bins_reach_from_the_clock_to_half_the_span():
    graph = forum()
    edges = bins_of(graph)
    assert edges.shape == (NUM_BINS,)
    assert (np.diff(edges) > 0).all()
    assert edges[-1] == pytest.approx(TRUSTED * (graph.time[-1] - graph.time[0]))
    assert edges[0] <= 1e-5 * edges[-1]
    yearly = TemporalGraph.from_arrays([0, 1, 2], [1, 2, 0], [0.0, 365.0, 730.0], unit="days")
    assert bins_of(yearly)[0] == pytest.approx(365.0)
    one = TemporalGraph.from_arrays([0], [1], [5.0], unit="days")
    assert (np.diff(bins_of(one)) > 0).all()


def test_a_constant_rate_gives_the_exponential_law():
    rate = np.array([0.01, 0.1, 2.0])
    curves = exponential(rate)
    days = np.array([0.01, 0.5, 7.0, 300.0])
    np.testing.assert_allclose(curves.within(days), -np.expm1(-rate[:, None] * days), rtol=1e-9)
    np.testing.assert_allclose(curves.never, np.exp(-rate * EDGES[-1]), rtol=1e-9)
    comes = -np.expm1(-rate * EDGES[-1])
    for level in (0.1, 0.5, 0.9):
        wait = -np.log1p(-level * comes) / rate
        np.testing.assert_allclose(curves.quantiles(level)[:, 0], wait, rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(hazards, st.lists(st.floats(1e-4, 1000.0), min_size=2, max_size=6))
def test_probabilities_are_probabilities(hazard, days):
    curves = Curves(EDGES, hazard)
    within = curves.within(np.sort(days))
    assert ((within >= 0) & (within <= 1)).all()
    assert (np.diff(within, axis=1) >= -1e-12).all()  # longer is likelier
    assert np.allclose(curves.within(EDGES[-1])[:, 0] + curves.never, 1.0)
    quantiles = curves.quantiles([0.025, 0.1, 0.5, 0.9, 0.975])
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert ((quantiles >= 0) & (quantiles <= EDGES[-1])).all()


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (4, NUM_BINS), elements=st.floats(1e-3, 1.0)), st.floats(0.05, 0.95))
def test_quantiles_and_fractions_are_inverse(hazard, level):
    curves = Curves(EDGES, hazard)
    np.testing.assert_allclose(curves.reached(curves.quantiles(level)[:, 0]), level, rtol=1e-6)


def test_exposure_and_bins_of_single_waits():
    edges = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(
        exposure(edges, np.array([0.5, 1.0, 3.0, 9.0])), [[0.5, 0, 0], [1, 0, 0], [1, 1, 0.5], [1, 1, 1]]
    )
    assert bin_of(edges, np.array([0.5, 1.0, 1.5, 4.0, 5.0])).tolist() == [0, 0, 1, 2, 3]
