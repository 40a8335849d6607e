"""Does surprise find what was planted? Chains, take-overs and bursts in a forum and in real data. Is overdue covered?

    python benchmarks/surprise.py [forum] [bitcoin-otc] [college-msg] [--seed 1]

A Forecaster learns from what is before the first planted event. Then all events are put in order of a score, and of
the first so many as were planted the fraction is given that was planted: for the surprise, its halves, what it adds up
to lately, and for baselines that know degrees, recency or (an isolation forest) all columns. On bitcoin-otc it is also
asked whether the surprise of ratings that a node gave and got comes before its next negative one.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

import tadge
from tadge import synthetic
from tadge.features.link_columns import link_columns
from tadge.features.tables import tables_of
from tadge.forecasting.waits import next_links
from tadge.graph.past import past_of

CONFIG = tadge.ForecastConfig(trees=5)  # trees predict ToE, which nobody asks for here
OURS = ("surprise", "who", "when", "lately")
NOTHING = -1e6


def scores_of(model: tadge.Forecaster, graph: tadge.TemporalGraph, train: tadge.TemporalGraph) -> dict[str, np.ndarray]:
    """Score all events by every method, (E,) each: higher is more suspicious."""
    past, before = past_of(graph), np.nextafter(graph.time, -np.inf)
    src, dst = graph.src.astype(np.int64), graph.dst.astype(np.int64)
    table = model.surprise(graph=graph)
    since = {
        "since the pair met": before - np.maximum(past.last_link(src, dst, before), NOTHING),
        "since dst was seen": before - np.maximum(past.last_seen(dst, before), NOTHING),
        "since src was seen": before - np.maximum(past.last_seen(src, before), NOTHING),
    }
    degrees = past.count_outgoing(src, before), past.count_incoming(dst, before)
    columns = link_columns(tables_of(graph, model.scales_), src, dst, before, 2)
    forest = IsolationForest(random_state=0).fit(columns[: train.num_events][-20_000:])
    scores = {name: table[name].to_numpy() for name in OURS}
    scores |= since | {f"{name}, shortest": -values for name, values in since.items()}
    scores |= {"degree of src": degrees[0], "degree of dst": degrees[1], "low degrees": -degrees[0] - degrees[1]}
    return scores | {"isolation forest": -forest.score_samples(columns)}


def show_planted(name: str, graph: tadge.TemporalGraph, seed: int) -> None:
    planted = synthetic.plant_anomalies(graph, seed=seed)
    whole, first = planted.graph, int(np.flatnonzero(planted.mask)[0])
    train = whole.before(float(whole.time[first]))
    model = tadge.Forecaster(CONFIG).fit(train, progress=False)
    asked = whole.time >= whole.time[first]
    truth, kinds = planted.mask[asked], planted.kind[asked]
    count = int(truth.sum())
    print(f"{name}: {count:,} planted among {truth.size:,} events; precision at {count:,} (and recall by kind)")
    found = {}
    for method, score in scores_of(model, whole, train).items():
        first_ones = np.argsort(-score[asked], kind="stable")[:count]
        found[method] = float(truth[first_ones].mean())
        hits = kinds[first_ones][truth[first_ones]]
        recall = [(hits == kind).sum() / max((kinds == kind).sum(), 1) for kind in range(len(synthetic.KINDS))]
        words = ", ".join(f"{kind} {value:.2f}" for kind, value in zip(synthetic.KINDS, recall, strict=True))
        print(f"  {method:28} {found[method]:.3f}  ({words})")
    best = max(value for method, value in found.items() if method not in OURS)
    ours = {method: found[method] for method in ("surprise", "lately")}
    words = ", ".join(f"{method} {value / best:.2f}" for method, value in ours.items())
    print(f"  times the best baseline ({best:.3f}): {words} (goal 2)")


def show_negative_ratings(graph: tadge.TemporalGraph) -> None:
    """Tell whether surprise at the time of an event comes before the target's next negative rating within 30 days."""
    cut = float(graph.time[int(0.7 * graph.num_events)])
    train = graph.before(cut)
    model = tadge.Forecaster(CONFIG).fit(train, progress=False)
    chosen = np.flatnonzero((graph.time >= cut) & (graph.time <= graph.time[-1] - 30) & (graph.weight > 0))
    negative = np.zeros(chosen.size, bool)
    for place, event in enumerate(chosen):
        soon = (graph.time > graph.time[event]) & (graph.time <= graph.time[event] + 30)
        negative[place] = bool((soon & (graph.dst == graph.src[event]) & (graph.weight < 0)).any())
    print(f"bitcoin-otc: a negative rating within 30 days follows {negative.mean():.1%} of {chosen.size:,} acts; AUC")
    for method, score in scores_of(model, graph, train).items():
        print(f"  {method:28} {roc_auc_score(negative, score[chosen]):.3f}")


def show_overdue(name: str, graph: tadge.TemporalGraph) -> None:
    """Count links that come after the point by which nine of ten should have, as of each event of a later period."""
    begin, end = float(graph.time[int(0.7 * graph.num_events)]), float(graph.time[int(0.85 * graph.num_events)])
    model = tadge.Forecaster(CONFIG).fit(graph.before(begin), progress=False)
    events = np.flatnonzero((graph.time >= begin) & (graph.time < end))
    ends = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64)
    src, dst = (ends[0], ends[1]) if graph.bipartite else (np.concatenate(ends), np.concatenate(ends[::-1]))
    since = np.resize(graph.time[events], src.size)
    wait, left = next_links(graph, src, dst, since), np.minimum(graph.time[-1] - since, model.horizon_)
    came, late = np.flatnonzero(wait <= left), 0
    for cut, curves in model._curves(graph, src[came], dst[came], since[came]):
        late += int((curves.reached(wait[came[cut]]) > 0.9 * curves.reached(left[came[cut]])).sum())
    print(f"{name}: {late / max(came.size, 1):.1%} of {came.size:,} links came later than their 90% point (goal 10%)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["forum", "bitcoin-otc", "college-msg"])
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for name in given.names:
        graph = synthetic.forum(30_000, seed=3).graph if name == "forum" else tadge.datasets.load(name, quiet=True)
        show_planted(name, graph, given.seed)
        show_overdue(name, graph)
        if name == "bitcoin-otc":
            show_negative_ratings(graph)


if __name__ == "__main__":
    main()
