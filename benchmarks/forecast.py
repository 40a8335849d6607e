"""Speed of forecasts: learning, scoring pairs, ranking every destination; memory of the tables.

    python benchmarks/forecast.py [--quick]

bitcoin-otc and jodie-wikipedia are read where they are (TADGE_DATA); what is not there is left out. --quick learns in
few steps with few trees, and ranks for a tenth of the test events.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import tadge
from tadge import NodeNumbers
from tadge.errors import DatasetError
from tadge.evaluation.questions import link_questions
from tadge.evaluation.tasks import rank_links
from tadge.features.tables import Tables, tables_of
from tadge.machine import peak_memory_mb

QUICK = tadge.ForecastConfig(steps=20, trees=20)


def load(name: str, **options) -> tadge.TemporalGraph | None:
    try:
        return tadge.datasets.load(name, quiet=True, **options)
    except DatasetError as error:
        print(f"{name} is left out: {error}")
        return None


def nbytes(part: Any) -> int:
    """Count the bytes of all arrays in nested tuples."""
    return sum(nbytes(each) for each in part) if isinstance(part, tuple) else getattr(part, "nbytes", 0)


def show_memory(tables: Tables, graph: tadge.TemporalGraph) -> None:
    """Print the bytes per event: all, and those beside the times and weights, which are the graph's own arrays."""
    every, shared = nbytes(tables), tables.times.nbytes + tables.weight.nbytes
    per_event = [size / graph.num_events for size in (every, every - shared)]
    print(f"  all tables: {per_event[0]:.0f} bytes per event (goal 110), {per_event[1]:.0f} beside the graph's arrays")


def learned(graph: tadge.TemporalGraph, quick: bool) -> tadge.Forecaster:
    began, cpu = time.perf_counter(), time.process_time()
    model = tadge.Forecaster(QUICK if quick else tadge.ForecastConfig()).fit(graph, progress=False)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"  fit on {graph.num_events:,} events: {seconds:.0f} s, {cpu:.0f} CPU s (goal for bitcoin-otc: 60 s)")
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick

    graph = load("bitcoin-otc")
    if graph is not None:
        print("bitcoin-otc")
        split = tadge.split_by_time(graph)
        model = learned(split.train, quick)
        questions = link_questions(graph, split.test_from, np.inf, 0, 2_000)
        for _ in range(2):  # the first one builds the tables
            began = time.perf_counter()
            rank_links(model, questions, "random", lambda done, total: None)
            seconds = time.perf_counter() - began
        print(f"  {len(questions) * 101 / seconds:,.0f} scored pairs per second (goal 20,000)")
        began = time.perf_counter()
        model.predict_toe(NodeNumbers(questions.src), NodeNumbers(questions.dst), questions.at, graph=graph)
        print(f"  {len(questions) / (time.perf_counter() - began):,.0f} predicted ToEs per second")
        show_memory(tables_of(graph, model.scales_), graph)

    graph = load("jodie-wikipedia", directed=False)
    if graph is not None:
        print("jodie-wikipedia, every destination, as tgbl-wiki")
        cut = float(np.nextafter(np.quantile(graph.time, 0.85), np.inf))
        model = learned(graph.before(cut), quick)
        questions = link_questions(graph, cut, np.inf, 0, 2_000 if quick else 0)
        began = time.perf_counter()
        ranks = rank_links(model, questions, "all", lambda done, total: None)
        seconds = time.perf_counter() - began
        fraction = len(questions) / questions.asked_of
        print(f"  {len(questions):,} test events x 1,000 destinations ranked in {seconds:.0f} s")
        print(f"  that is {seconds / fraction:.0f} s for all {questions.asked_of:,} (goal 300 s)")
        print(f"  MRR {np.mean(1 / ranks):.4f}, learned from the events before the test")
        show_memory(tables_of(graph, model.scales_), graph)
    print(f"peak memory {peak_memory_mb():,.0f} MB")


if __name__ == "__main__":
    main()
