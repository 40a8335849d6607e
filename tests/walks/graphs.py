"""Random graphs for the walks."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tadge.graph import TemporalGraph


@st.composite
def graphs(draw, max_events=40, unix=None):
    """Graphs with ties, self-links, repeats and isolated nodes, in days or in Unix seconds."""
    rows = draw(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 12)), min_size=1, max_size=max_events)
    )
    src, dst, time = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    unix = draw(st.booleans()) if unix is None else unix
    unit = "days"
    if unix:
        time, unit = time * draw(st.integers(1, 10_000_000)) + 1_289_241_911, "s"
    return TemporalGraph.from_arrays(
        *(src, dst, time),
        unit=unit,
        ids=range(6),
        directed=draw(st.booleans()),
        tov=draw(st.sampled_from(["source", "any"])),
    )


def random_graph(num_nodes=30, num_events=600, seed=0, span=400, **options):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, num_nodes, (2, num_events))
    src[rng.random(num_events) < 0.4] = 1  # a hub that acts
    time = rng.integers(0, span, num_events) * 86_400 + 1_289_241_911
    return TemporalGraph.from_arrays(src, dst, time, ids=range(num_nodes), **options)


def hub_graph(num_events, seed=0):
    """A hub that joins, is linked to `num_events` times and acts now and then near the end; Unix seconds."""
    rng = np.random.default_rng(seed)
    src = rng.integers(1, num_events // 3, num_events)
    src[rng.random(num_events) < 0.3] = 1  # one neighbour of enormous degree
    dst = np.zeros(num_events, np.int64)
    time = 1_289_241_911 + np.sort(rng.integers(1, 200_000_000, num_events)).astype(np.float64)
    acts = np.append(1_289_241_911.0, time[[-num_events // 10, -1000, -5, -3]] + 0.25)
    src, dst = np.append(src, np.zeros(5, np.int64)), np.append(dst, np.ones(5, np.int64))
    return TemporalGraph.from_arrays(src, dst, np.append(time, acts), ids=range(num_events // 3))
