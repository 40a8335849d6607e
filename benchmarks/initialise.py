"""Measure the initial vectors against gensim: python benchmarks/initialise.py [--quick].

Speed: gensim and our skip-gram learn the same walks with the same settings (width 128, window 5, 5 negatives, one pass,
one worker), in one run on one machine; best of several, in CPU seconds; the walks themselves are not counted. The same
for temporal walks, which are short, with CTDNE's window.

Quality: one link in ten is hidden; hidden links are told from as many random pairs that are no links by their vectors,
learned without them. AUC of the inner product, which knows how popular nodes are, and of the cosine about the mean
vector, which does not; mean over seeds, and the standard deviation in brackets. The free baselines: random vectors,
and the product of the nodes' degrees.

gensim is needed here and nowhere else in tadge; --quick has one seed and one repeat. bitcoin-otc is read where it is.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from tadge import datasets, synthetic
from tadge.baselines.ctdne import WINDOW as CTDNE_WINDOW
from tadge.config import WalkConfig
from tadge.deepwalk import static
from tadge.deepwalk.initialise import (
    METHODS,
    NOISE,
    WALKS_PER_NODE,
    WINDOW,
    initial_vectors,
    start_table,
    static_links,
    walk_blocks,
)
from tadge.deepwalk.skipgram import LAST_RATE, RATE, TARGETS, alias_table, train_walks
from tadge.errors import DatasetError
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.walks.sampler import sample_walks

DIM = 128
HIDDEN = 0.1
FASTER, FASTER_ON_SHORT = 3.0, 2.0  # goals: words per second, ours to gensim's
WORSE = 0.01  # goal: no AUC lower than gensim's by more
Links = tuple[np.ndarray, np.ndarray]


def gensim_model() -> Any:
    """Find gensim, or say what to do."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        sys.exit("this benchmark compares with gensim, which is not installed: pip install gensim")
    return Word2Vec


# -- graphs and hidden links ------------------------------------------------------------------------------------------


def graphs() -> dict[str, TemporalGraph]:
    found = {"forum": synthetic.forum(20_000, seed=0).graph}
    beside = Path(__file__).parents[2] / "shared" / "data"
    if "TADGE_DATA" not in os.environ and beside.is_dir():
        os.environ["TADGE_DATA"] = str(beside)
    try:
        found["bitcoin-otc"] = datasets.load("bitcoin-otc", quiet=True)
    except DatasetError as error:
        print(f"left out: {error}")
    return found


def hide(graph: TemporalGraph, seed: int) -> tuple[TemporalGraph, Links, Links]:
    """Take one link in ten out of the static graph; give the rest, the hidden links, and as many that are none."""
    rng = np.random.default_rng(seed)
    links = static_links(graph)
    hidden = rng.random(links.size) < HIDDEN
    u, v = (links >> np.uint64(32)).astype(np.int32), (links & np.uint64(0xFFFF_FFFF)).astype(np.int32)
    times = np.zeros(int((~hidden).sum()))
    rest = TemporalGraph.from_numbers(u[~hidden], v[~hidden], graph.ids, 0, times, None, clock="own")
    a, b = np.sort(rng.integers(0, graph.num_nodes, (2, 4 * int(hidden.sum()))), axis=0)
    none = (a != b) & ~np.isin((a.astype(np.uint64) << np.uint64(32)) | b.astype(np.uint64), links)
    num = int(hidden.sum())
    return rest, (u[hidden], v[hidden]), (a[none][:num], b[none][:num])


def auc(hidden: np.ndarray, none: np.ndarray) -> float:
    """Return the fraction of (hidden, none) in which the hidden link scores higher; ties count half."""
    order = np.sort(none)
    below, upto = np.searchsorted(order, hidden, "left"), np.searchsorted(order, hidden, "right")
    return float((below + upto).mean() / 2 / none.size)


def judge(vectors: np.ndarray, hidden: Links, none: Links) -> tuple[float, float]:
    """Return the AUC of the inner product and of the cosine about the mean."""
    about = vectors - vectors.mean(0)
    about /= np.maximum(np.linalg.norm(about, axis=1, keepdims=True), 1e-12)
    scores = [[(table[u] * table[v]).sum(1) for u, v in (hidden, none)] for table in (vectors, about)]
    return auc(*scores[0]), auc(*scores[1])


# -- the two trainers on the same walks -------------------------------------------------------------------------------


def corpus(graph: TemporalGraph, method: str, seed: int) -> np.ndarray:
    lists = static.neighbour_lists(static_links(graph), graph.num_nodes)
    return np.concatenate([walks for _, walks in walk_blocks(*lists, method, seed, range(WALKS_PER_NODE))])


def train_gensim(walks: np.ndarray, num_nodes: int, seed: int, window: int = WINDOW) -> tuple[np.ndarray, float]:
    """Return vectors and CPU seconds; the vocabulary is not counted."""
    words = [[str(v) for v in walk if v >= 0] for walk in walks.tolist()]
    model = gensim_model()(
        vector_size=DIM, window=window, negative=TARGETS - 1, sg=1, hs=0, ns_exponent=NOISE, alpha=RATE,
        min_alpha=LAST_RATE, min_count=0, sample=0, workers=1, epochs=1, seed=seed,
    )  # fmt: skip
    model.build_vocab(words)
    begin = time.process_time()
    model.train(words, total_examples=len(words), epochs=1)
    seconds = time.process_time() - begin
    vectors = start_table(num_nodes, DIM, seed, "benchmark")
    seen = np.unique(walks[walks >= 0])
    vectors[seen] = model.wv[[str(v) for v in seen]]
    return vectors, seconds


def train_ours(walks: np.ndarray, num_nodes: int, seed: int, window: int = WINDOW) -> tuple[np.ndarray, float]:
    """Return vectors and CPU seconds; counting the visits is not counted."""
    noise = alias_table(np.bincount(walks[walks >= 0], minlength=num_nodes) ** NOISE)
    table = start_table(num_nodes, DIM, seed, "benchmark")
    context = np.zeros_like(table)
    begin = time.process_time()
    train_walks(table, context, walks, noise, stream(seed, "benchmark"), 0, len(walks), window)
    return table, time.process_time() - begin


# -- what is measured -------------------------------------------------------------------------------------------------


class Goals:
    def __init__(self) -> None:
        self.missed: list[str] = []

    def check(self, what: str, met: bool) -> str:
        if not met:
            self.missed.append(what)
        return "ok" if met else "MISSED"


def measure_speed(goals: Goals, name: str, graph: TemporalGraph, repeats: int) -> None:
    short = sample_walks(graph, WalkConfig(num_walks=100_000, min_length=2)).nodes
    tasks = (("walks of 40", corpus(graph, "deepwalk", 0), WINDOW, FASTER),)
    tasks += (("temporal walks", short, CTDNE_WINDOW, FASTER_ON_SHORT),)
    for kind, walks, window, goal in tasks:
        pace, words = {}, int(np.count_nonzero(walks >= 0))
        for who, train in (("gensim", train_gensim), ("ours", train_ours)):
            train(walks[:100], graph.num_nodes, 0, window)
            pace[who] = words / min(train(walks, graph.num_nodes, 0, window)[1] for _ in range(repeats))
        ratio = pace["ours"] / pace["gensim"]
        met = goals.check(f"{name}: speed, {kind}", ratio >= goal)
        speeds = f"gensim {pace['gensim']:,.0f}, ours {pace['ours']:,.0f}"
        print(f"{name}, {kind}: {words:,} words; per CPU second: {speeds}")
        print(f"{name}, {kind}: ours to gensim {ratio:.1f} times (goal {goal:g}) {met}", flush=True)


def spread(values: list[tuple[float, float]]) -> str:
    mean, deviation = np.mean(values, axis=0), np.std(values, axis=0)
    cells = [f"{m:.3f} ({d:.3f})" for m, d in zip(mean, deviation, strict=True) if not np.isnan(m)]
    return "   ".join(cells)


def measure_quality(goals: Goals, name: str, graph: TemporalGraph, seeds: int) -> None:
    found: dict[str, list[tuple[float, float]]] = {}
    seconds: dict[str, float] = {}

    def timed(call: Callable[[], np.ndarray], title: str) -> np.ndarray:
        begin = time.process_time()
        vectors = call()
        seconds[title] = min(seconds.get(title, np.inf), time.process_time() - begin)
        return vectors

    for seed in range(seeds):
        rest, hidden, none = hide(graph, seed)
        for method in METHODS:
            vectors = timed(lambda m=method, g=rest, s=seed: initial_vectors(g, m, DIM, s), method)  # type: ignore[misc]
            found.setdefault(method, []).append(judge(vectors, hidden, none))
        for method in ("deepwalk", "node2vec"):
            vectors, _ = train_gensim(corpus(rest, method, seed), graph.num_nodes, seed)
            found.setdefault(f"{method}, gensim", []).append(judge(vectors, hidden, none))
        degree = rest.degree.astype(np.float64)
        popular = auc(*(degree[u] * degree[v] for u, v in (hidden, none)))
        found.setdefault("product of degrees", []).append((popular, np.nan))
    print(f"{name}: {'AUC of':22s}{'inner product':>15s}{'about the mean':>17s}{'CPU seconds':>13s}")
    for title, values in found.items():
        took = f"{seconds[title]:10.2f}" if title in seconds else ""
        print(f"{name}: {title:22s}  {spread(values)}{took}")
    for method in ("deepwalk", "node2vec"):
        less = np.mean(found[f"{method}, gensim"], axis=0) - np.mean(found[method], axis=0)
        met = goals.check(f"{name}: quality of {method}", bool((less <= WORSE).all()))
        print(f"{name}: {method} below gensim by {less[0]:+.3f} and {less[1]:+.3f} (goal {WORSE}) {met}", flush=True)


def main() -> int:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, one repeat")
    quick = parser.parse_args().quick
    gensim_model()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{machine}, Python {platform.python_version()}, numba {numba.__version__}, numpy {np.__version__}")
    goals = Goals()
    for name, graph in graphs().items():
        for method in METHODS:
            initial_vectors(graph, method, DIM, 0)  # compiled before the clock runs
        measure_speed(goals, name, graph, 1 if quick else 3)
        measure_quality(goals, name, graph, 1 if quick else 5)
    print("missed:", "; ".join(goals.missed) or "nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
