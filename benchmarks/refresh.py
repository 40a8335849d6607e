"""What a stale memory costs: links of jodie-wikipedia (tgbl-wiki) where what is known is renewed now and then only.

    python benchmarks/refresh.py [--seeds 5] [--data jodie-wikipedia]

The public board mixes all three. A method learns once from the first 70% of the events and is then asked three times,
every page a candidate: what is known is as of the beginning of a batch of test events, while each question keeps its
own moment. What a seed came to is kept in results/studies and not made again; a run that was cut off goes on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import tadge
from study import keep
from tadge.baselines import make
from tadge.evaluation.competitors import describe
from tadge.evaluation.questions import kinds_of, link_questions
from tadge.evaluation.result import Result
from tadge.evaluation.tasks import SHOWN, measure_links, rank_links
from tadge.machine import peak_memory_mb
from tadge.protocols import name_of
from tadge.version import code_version

EVERY = (1, 20, 200)
RULES = ("own recency + decayed popularity", "EdgeBank")
TEXT = (
    "Links with every destination as a candidate, learned from the first 70% of the events, where what is known is "
    "renewed after every 1, 20 or 200 test events; a question keeps its own moment. In the public board of tgbl-wiki, "
    "TPNet (.827) is refreshed every 20 events, TGN (.396) and EdgeBank (.495) every 200: compare figures of one "
    "refresh only."
)


def judge(name: str, seed: int) -> Result:
    """Fit a Forecaster once, and ask it and the rules three times."""
    began = time.perf_counter()
    graph = tadge.datasets.load(name, quiet=True, directed=False)
    split = tadge.split_by_time(graph)
    model = tadge.Forecaster(seed=seed).fit(split.train, progress=False)
    methods = [model, *(make(rule, seed).fit(split.train) for rule in RULES)]
    result = Result("forecast", kinds={name_of(method): "model" if method is model else "rule" for method in methods})
    result.times = {name_of(method): {} for method in methods}
    result.validation = {name_of(method): {} for method in methods}
    result.times[name_of(model)]["fit"] = time.perf_counter() - began
    for every in EVERY:
        questions = link_questions(graph, split.test_from, np.inf, seed, 0, every, split.validation_from)
        task, measured = f"links (all), refreshed every {every}", {}
        for method in methods:
            start = time.perf_counter()
            measured[name_of(method)] = measure_links(rank_links(method, questions, "all", lambda *_: None))
            result.times[name_of(method)][task] = time.perf_counter() - start
            print(
                f"seed {seed}, {task}, {name_of(method)}: {np.mean(measured[name_of(method)]['mrr'][1]):.4f}",
                flush=True,
            )
        groups = kinds_of(graph, questions.src, questions.dst, questions.at, questions.unseen)
        about = seed, len(questions), SHOWN["links"], ("mrr",), groups, questions.dst
        result.add_measured(task, measured, *about)
        result.tasks[task] |= {kind: int(mask.sum()) for kind, mask in groups.items()}
    result.data = {"name": name, "fingerprint": graph.fingerprint, "nodes": graph.num_nodes, "events": graph.num_events}
    result.config = {"refreshed_every": list(EVERY), "models": {name_of(model): describe(model)}}
    result.seeds, result.version, result.peak_memory_mb = [seed], code_version(), peak_memory_mb()
    result.seconds = time.perf_counter() - began
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", default="jodie-wikipedia")
    parser.add_argument("--out", type=Path, default=Path("docs/results/studies"))
    asked = parser.parse_args()
    place = asked.out / f"{asked.data}-refresh.json"
    keep(place, TEXT, range(asked.seeds), lambda seed: judge(asked.data, seed))


if __name__ == "__main__":
    main()
