from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from graphs import random_graph

from tadge.config import WalkConfig
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.walks import sample_walks, uncut_length_distribution


@pytest.mark.parametrize("reach", ["occurrence", "future"])
def test_uncut_lengths_are_those_of_walks_that_nothing_cuts(reach):
    graph = random_graph()
    config = WalkConfig(num_walks=10**6, max_length=500, min_length=1, reach=reach)
    lengths = sample_walks(graph, config, 4).lengths
    report = uncut_length_distribution(graph, config, 4)
    assert report.counts.tolist() == np.bincount(lengths).tolist()
    assert report.num_starts == graph.num_occurrences
    assert report.longest == lengths.max()
    assert report.at_most(3) == pytest.approx(np.mean(lengths <= 3))
    assert report.at_least(3) == pytest.approx(np.mean(lengths >= 3))
    assert report.mean(3, 5) == pytest.approx(np.minimum(lengths[lengths >= 3], 5).mean())
    assert "at most      1 nodes" in str(report)
    assert uncut_length_distribution(graph, config, 4, num_starts=50, threads=2).num_starts == 50


def read(file, **options):
    table = pl.read_csv(file, has_header=False, **options)
    src, dst, *_, time = table.columns
    return TemporalGraph.from_arrays(table[src], table[dst], table[time])


def test_bitcoin_otc(data_dir):
    graph = read(data_dir / "bitcoin-otc.csv.gz")
    report = uncut_length_distribution(graph)
    assert report.at_most(5) == pytest.approx(0.951, abs=0.003)
    assert report.at_least(3) == pytest.approx(0.25, abs=0.01)
    assert report.mean(3, 10) == pytest.approx(4.3, abs=0.06)
    assert uncut_length_distribution(graph, WalkConfig(reach="future")).at_most(5) == pytest.approx(0.38, abs=0.01)


def test_sx_mathoverflow(data_dir):
    graph = read(data_dir / "sx-mathoverflow.txt.gz", separator=" ")
    report = uncut_length_distribution(graph)
    assert report.at_most(10) == pytest.approx(0.999, abs=0.001)
    assert report.at_least(3) == pytest.approx(0.18, abs=0.01)
    assert report.mean(3, 10) == pytest.approx(3.8, abs=0.06)
    assert uncut_length_distribution(graph, WalkConfig(reach="future")).at_most(10) == pytest.approx(0.76, abs=0.01)


def test_a_bipartite_graph_that_leads_nowhere_says_what_to_do():
    rng = np.random.default_rng(0)
    columns = (rng.integers(0, 9, 200), rng.integers(0, 9, 200), np.arange(200))
    graph = TemporalGraph.from_arrays(*columns, bipartite=True)
    report = uncut_length_distribution(graph, WalkConfig())
    assert report.at_least(3) == 0.0
    assert "nan" not in str(report)
    with pytest.raises(InputError, match="or say directed=False: its targets never act"):
        sample_walks(graph)
    assert len(sample_walks(TemporalGraph.from_arrays(*columns, bipartite=True, directed=False))) > 0
