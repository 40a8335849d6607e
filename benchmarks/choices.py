"""What it is worth to know which targets the same sources chose: links with those columns and without them.

    python benchmarks/choices.py [bitcoin-otc college-msg jodie-wikipedia+ htne-dblp+] [--seeds 3]

A + behind a name keeps the first contact of every pair alone: nothing repeats there, as where people choose what they
have never chosen. Scorers learn from the first 70% of the events, the last 15% are asked about, each against 100 random
targets. What a seed came to is kept in results/studies and not made again; a run that was cut off goes on.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tadge
from study import keep
from tadge import ForecastConfig, TemporalGraph
from tadge.baselines import make
from tadge.evaluation.questions import kinds_of, link_questions
from tadge.evaluation.result import Result
from tadge.evaluation.tasks import SHOWN, measure_links, rank_links
from tadge.features.columns import CHOSEN_TOGETHER, LINK_COLUMNS, columns_left_out
from tadge.features.link_columns import link_columns
from tadge.features.tables import Scales, tables_of
from tadge.forecasting.learn import learn_links
from tadge.forecasting.plain_networks import PlainScorer, arrays_of
from tadge.machine import peak_memory_mb
from tadge.version import code_version

DATA = ("bitcoin-otc", "college-msg", "jodie-wikipedia+", "htne-dblp+")
RULES = ("co-visitation", "popularity", "last seen", "own recency + decayed popularity")
WITH, WITHOUT = "all columns", "without what was chosen together"
TEXT = (
    "The network of the Forecaster that ranks targets, with and without the columns that tell how often a target was "
    "chosen by those who chose what the source chose lately."
)
FIRST = " Every pair is seen once here: later events of a pair are left out, so that nothing repeats."
TASK = "links (random)"


@dataclass
class Scorer:
    """Score links by some of the columns alone."""

    name: str
    without: str
    seed: int

    def fit(self, graph: TemporalGraph) -> Scorer:
        """Learn from a graph."""
        config = ForecastConfig(without=self.without)
        self.scales, self.left_out = Scales.of(graph), columns_left_out(self.without, LINK_COLUMNS)
        learned = learn_links(graph, self.scales, config, self.seed, lambda *_: None)
        self.network = PlainScorer(arrays_of(learned))
        return self

    def score_links(self, src, dst, at, *, graph):
        """Score pairs as of moments."""
        ends = np.asarray(src), np.asarray(dst)
        return self.network(link_columns(tables_of(graph, self.scales), *ends, at, left_out=self.left_out))


def first_contacts(graph: TemporalGraph) -> TemporalGraph:
    """Keep the first event of every pair."""
    pair = graph.src.astype(np.int64) * graph.num_nodes + graph.dst
    first = np.sort(np.unique(pair, return_index=True)[1])
    ends = graph.ids[graph.src[first]], graph.ids[graph.dst[first]]
    kind = {"directed": graph.directed, "bipartite": graph.bipartite}
    return TemporalGraph.from_arrays(*ends, graph.time[first], unit="days", **kind)


def judge(name: str, seed: int) -> Result:
    """Learn with and without the columns, and ask both and some rules."""
    began, graph = time.perf_counter(), tadge.datasets.load(name.rstrip("+"), quiet=True)
    graph = first_contacts(graph) if name.endswith("+") else graph
    split = tadge.split_by_time(graph)
    methods = [Scorer(WITH, "", seed), Scorer(WITHOUT, CHOSEN_TOGETHER, seed), *(make(rule, seed) for rule in RULES)]
    kinds = {method.name: "model" if isinstance(method, Scorer) else "rule" for method in methods}
    result = Result(
        "forecast", kinds=kinds, times={each: {} for each in kinds}, validation={each: {} for each in kinds}
    )
    questions = link_questions(graph, split.test_from, np.inf, seed, train_end=split.validation_from)
    measured = {}
    for method in methods:
        start = time.perf_counter()
        method.fit(split.train)
        result.times[method.name]["fit"] = time.perf_counter() - start
        measured[method.name] = measure_links(rank_links(method, questions, "random", lambda *_: None))
        print(f"{name}, seed {seed}, {method.name}: {np.mean(measured[method.name]['mrr'][1]):.4f}", flush=True)
    groups = kinds_of(graph, questions.src, questions.dst, questions.at, questions.unseen)
    result.add_measured(TASK, measured, seed, len(questions), SHOWN["links"], ("mrr",), groups, questions.dst)
    result.tasks[TASK] |= {kind: int(mask.sum()) for kind, mask in groups.items()}
    result.data = {"name": name, "fingerprint": graph.fingerprint, "nodes": graph.num_nodes, "events": graph.num_events}
    result.config = {"left out": CHOSEN_TOGETHER}
    result.seeds, result.version, result.peak_memory_mb = [seed], code_version(), peak_memory_mb()
    result.seconds = time.perf_counter() - began
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results/studies"))
    asked = parser.parse_args()
    for name in asked.data:
        words = f"{name.rstrip('+')}{'-first' if name.endswith('+') else ''}-choices"
        text = TEXT + (FIRST if name.endswith("+") else "")
        keep(asked.out / f"{words}.json", text, range(asked.seeds), lambda seed, name=name: judge(name, seed))


if __name__ == "__main__":
    main()
