"""Speed of timed answers: curves per second, who is next of 100,000 nodes, surprise, overdue pairs; and of fits.

    python benchmarks/within.py [--quick]

Goals are those for two cores; the figures of one machine say little, their ratio to each other more. bitcoin-otc and
sx-mathoverflow are fitted where they are (TADGE_DATA). --quick learns in few steps.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import tadge
from tadge import NodeNumbers
from tadge.errors import DatasetError
from tadge.features.tables import Scales
from tadge.forecasting.learn import learn_links, learn_toe
from tadge.graph.past import past_of
from tadge.machine import peak_memory_mb

FEW = tadge.ForecastConfig(steps=10, trees=5)


def timed(work) -> float:
    """Give the seconds of the second call: the first builds tables."""
    for _ in range(2):
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
    return seconds


def large_graph(nodes: int, events: int) -> tadge.TemporalGraph:
    """Make a graph in which few nodes have many events."""
    rng = np.random.default_rng(0)
    ends = (nodes * rng.random((2, events)) ** 2).astype(np.int64)
    return tadge.TemporalGraph.from_arrays(*ends, np.sort(rng.uniform(0, 500, events)), unit="days")


def show_speed(nodes: int, events: int) -> None:
    graph = large_graph(nodes, events)
    model = tadge.Forecaster(FEW).fit(graph, progress=False)
    rng = np.random.default_rng(1)
    src, dst = (NodeNumbers(rng.integers(0, graph.num_nodes, 200_000)) for _ in range(2))
    at = rng.uniform(100, 500, 200_000)
    print(f"{graph.num_nodes:,} nodes, {graph.num_events:,} events")
    rate = 200_000 / timed(lambda: model.within(src, dst, [1.0, 7.0, 30.0], at))
    print(f"  {rate:,.0f} curves per second (goal 100,000)")
    seconds = timed(lambda: model.next(NodeNumbers(0), days=7.0))
    print(f"  next, of all nodes: {seconds:.2f} s (goal 0.3 s at 100,000)")
    print(f"  surprise: {graph.num_events / timed(model.surprise):,.0f} events per second (goal 50,000)")
    pairs = past_of(graph).pairs.target.size
    print(f"  overdue: {2 * pairs:,} pairs in {timed(model.overdue):.1f} s (goal 10 s for 1,000,000)")


def show_fit(name: str, config: tadge.ForecastConfig) -> None:
    try:
        graph = tadge.datasets.load(name, quiet=True)
    except DatasetError as error:
        print(f"{name} is left out: {error}")
        return
    began = time.perf_counter()
    scales = Scales.of(graph)
    learn_links(graph, scales, config, 0, lambda done, total: None)
    learn_toe(graph, scales, config, 0)
    alone, began = time.perf_counter() - began, time.perf_counter()
    tadge.Forecaster(config).fit(graph, progress=False)
    whole = time.perf_counter() - began
    print(f"{name}: fitted in {whole:.0f} s, {whole / alone:.2f} times scores and ToE alone (goal 2)")
    print(f"  {peak_memory_mb():,.0f} MB at most so far")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    show_speed(100_000, 600_000)
    for name in ("bitcoin-otc", "sx-mathoverflow"):
        show_fit(name, FEW if quick else tadge.ForecastConfig())


if __name__ == "__main__":
    main()
