"""Speed of forecasts: learning, scoring pairs, ranking every destination; memory of the tables.

    python benchmarks/forecast.py [--quick]

bitcoin-otc and jodie-wikipedia are read where they are (TADGE_DATA); what is not there is left out. --quick learns from
few walks for few epochs, and ranks for a tenth of the test events.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import tadge
from tadge.embedding.loop import peak_memory_mb
from tadge.errors import DatasetError
from tadge.evaluation.questions import link_questions
from tadge.evaluation.tasks import rank_links
from tadge.features.memory import Memory, Side, memory_of

QUICK = (
    tadge.WalkConfig(num_walks=500),
    tadge.NetworkConfig(dim=32, heads=1, blocks=1),
    tadge.TrainConfig(epochs=1, init="random"),
)


def load(name: str, **options) -> tadge.TemporalGraph | None:
    try:
        return tadge.datasets.load(name, quiet=True, **options)
    except DatasetError as error:
        print(f"{name} is left out: {error}")
        return None


def size(memory: Memory) -> int:
    """Count the bytes of all arrays."""
    arrays = [each for part in memory for each in (part if isinstance(part, Side) else (part,))]
    return sum(each.nbytes for each in arrays if isinstance(each, np.ndarray))


def learned(graph: tadge.TemporalGraph, quick: bool) -> tadge.TADGE:
    began = time.perf_counter()
    model = tadge.TADGE(*QUICK if quick else (), seed=0).fit(graph, progress=False)
    print(f"  fit on {graph.num_events:,} events: {time.perf_counter() - began:.0f} s (goal for bitcoin-otc: 600 s)")
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
        model.predict_toe(questions.src, questions.dst, questions.at, graph=graph)
        print(f"  {len(questions) / (time.perf_counter() - began):,.0f} guessed ToEs per second")
        began = time.perf_counter()
        model.prepare(graph, progress=False)
        rng = np.random.default_rng(0)
        nodes, at = rng.integers(0, graph.num_nodes, 100_000), rng.choice(graph.time, 100_000)
        model.embed(nodes, at, graph=graph, progress=False)
        print(f"  100,000 vectors as of as many moments: {time.perf_counter() - began:.0f} s")
        assert model.forecaster_ is not None
        tables = size(memory_of(graph, model.forecaster_.scales))
        print(f"  tables: {tables / 1e6:.1f} MB, {tables / graph.num_events:.0f} bytes per event")

    graph = load("jodie-wikipedia", directed=False)
    if graph is not None:
        print("jodie-wikipedia, every destination, as tgbl-wiki")
        cut = float(np.nextafter(np.quantile(graph.time, 0.85), np.inf))
        model = learned(graph.before(cut), quick)
        questions = link_questions(graph, cut, np.inf, 0, 2_000 if quick else 0)
        began = time.perf_counter()
        ranks = rank_links(model, questions, "all", lambda done, total: None)
        seconds = time.perf_counter() - began
        share = len(questions) / questions.asked_of
        print(f"  {len(questions):,} test events x 1,000 destinations ranked in {seconds:.0f} s")
        print(f"  that is {seconds / share:.0f} s for all {questions.asked_of:,} (goal 300 s)")
        print(f"  MRR {np.mean(1 / ranks):.4f}, learned from the events before the test")
    print(f"peak memory {peak_memory_mb():,.0f} MB")


if __name__ == "__main__":
    main()
