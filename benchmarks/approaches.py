"""The main approaches to forecasts that were tried, on the same questions: validation, test, seconds.

    python benchmarks/approaches.py bitcoin-otc|college-msg|jodie-wikipedia links|toe|transformer [--seeds 3]

All learn from the first 70% of the events. The data are read where they are (TADGE_DATA). What a seed came to is kept
in results/studies and not made again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
from torch import nn

import tadge
from study import in_unit, keep
from tadge.baselines import make, toe
from tadge.evaluation.result import Result
from tadge.features.columns import LINK_COLUMNS, TIMING_COLUMNS
from tadge.features.pairs import timed_pairs
from tadge.features.tables import Scales, tables_of
from tadge.features.toe_columns import TOE_WIDTH, toe_columns
from tadge.features.type_columns import pair_columns, pair_width
from tadge.forecasting import estimator, fitting, learn
from tadge.forecasting.link_scorer import LinkScorer
from tadge.forecasting.trees import Trees
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.units import squash
from tokens import Tokens

BLOCKS = 8  # of a product of vectors, each a column
EARLIER = 0.6  # of what is learned from: what vectors that must not know what they are asked about learn from
FOLDS = 5
GROWS = [name for name in LINK_COLUMNS if name.partition(": ")[2] in ("age", "acts", "links to it")]
RULES = {"bitcoin-otc": "last seen", "college-msg": "last act"}  # the better ones on validation
TRIED = "Main approaches that were tried, learned from the first 70% of the events."
TEXTS = {
    "links": TRIED,
    "transformer": f"{TRIED} The same Transformer with and without what the trees are given.",
    "toe": f"{TRIED} Those in brackets are no forecasts: they know what nobody can know, and show what is left.",
}


@contextmanager
def changed(**changes) -> Iterator[None]:
    """Learn, or answer, with other parts for a while: those that no option changes."""
    with ExitStack() as stack:
        for module in (learn, fitting, estimator):
            known = {name: part for name, part in changes.items() if hasattr(module, name)}
            if known:
                stack.enter_context(patch.multiple(module, **known))
        yield


class Linear(LinkScorer):
    """Scores that are linear in the columns."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden)
        self.layers = nn.Sequential(nn.Linear(width, 1))


class Variant:
    """A Forecaster with other options, or with other parts."""

    def __init__(self, name: str, seed: int, parts: dict | None = None, **options) -> None:
        self.name, self.parts = name, parts or {}
        self.model = tadge.Forecaster(tadge.ForecastConfig(**options), seed)

    def fit(self, graph: TemporalGraph) -> Variant:
        with changed(**self.parts):
            self.model.fit(graph, progress=False)
        return self

    def score_links(self, src, dst, at, *, graph):
        with changed(**self.parts):
            return self.model.score_links(src, dst, at, graph=graph)

    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="median"):
        with changed(**self.parts):
            return self.model.predict_toe(src, dst, at, graph=graph, unit=unit, statistic=statistic)


def links(name: str, seed: int, parts: dict | None = None, **options) -> Variant:
    """Vary how links are learned; trees, which are not asked, hardly learn."""
    return Variant(name, seed, parts, trees=1, **options)


def with_clock(tables, src, dst, at, threads=1, **options):
    rows = toe_columns(tables, src, dst, at, threads, **options)
    return np.concatenate([rows, tables.factor * at[:, None]], axis=1, dtype=np.float32)


class WithVectors(Variant):
    """The network that scores links, with products of both nodes' vectors as further columns.

    Attributes:
        apart: whether the vectors are learned from earlier events than the network is.
    """

    def __init__(self, name: str, seed: int, apart: bool) -> None:
        super().__init__(name, seed, trees=1, **({"burn_in": EARLIER} if apart else {}))
        self.apart, self.seed = apart, seed

    def columns(self, graph: TemporalGraph) -> Callable:
        self.vectors.prepare(graph, progress=False)

        def with_products(tables, src, dst, at, threads=1, **options):
            nodes = (tadge.NodeNumbers(ends) for ends in (src, dst))
            both = [self.vectors.embed(ends, at, graph=graph, progress=False) for ends in nodes]
            products = np.multiply(*both).reshape(src.size, BLOCKS, -1).sum(2)
            rows = pair_columns(tables, src, dst, at, threads, **options)
            return np.concatenate([rows, products], axis=1, dtype=np.float32)

        return with_products

    def fit(self, graph: TemporalGraph) -> WithVectors:
        early = graph.before(float(graph.time[int(EARLIER * graph.num_events)])) if self.apart else graph
        train = tadge.TrainConfig(epochs=10)
        self.vectors = tadge.TADGE(tadge.WalkConfig(num_walks=5_000), train_config=train, seed=self.seed)
        self.vectors.fit(early, progress=False)
        self.parts = {"pair_columns": self.columns(graph), "pair_width": lambda types: pair_width(types) + BLOCKS}
        return super().fit(graph)

    def score_links(self, src, dst, at, *, graph):
        self.parts = {"pair_columns": self.columns(graph)}
        return super().score_links(src, dst, at, graph=graph)


class ByMean:
    """What another says, that stands before it and has learned, but ToE by the mean whatever is asked for."""

    def __init__(self, name: str, other) -> None:
        self.name, self.score_links, self.other = name, other.score_links, other

    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="mean"):
        return self.other.predict_toe(src, dst, at, graph=graph, unit=unit, statistic="mean")


class Rules:
    """A rule for links, and boosted trees on the columns of the baselines for ToE: by their mean, or their median."""

    def __init__(self, name: str, rule: str, seed: int, median: bool) -> None:
        self.name, self.rule, self.trees, self.median = name, make(rule, seed), make("boosted trees", seed), median

    def fit(self, graph: TemporalGraph) -> Rules:
        self.rule.fit(graph)
        with patch.dict(toe.BOOSTING, loss="absolute_error" if self.median else "squared_error"):
            self.trees.fit(graph)
        return self

    def score_links(self, src, dst, at, *, graph):
        return self.rule.score_links(src, dst, at, graph=graph)

    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="mean"):
        return self.trees.predict_toe(src, dst, at, graph=graph, unit=unit)


class Mean:
    """The mean of what others predict, that stand before it and have learned."""

    def __init__(self, name: str, *others) -> None:
        self.name, self.others = name, others

    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="mean"):
        options = {"graph": graph, "unit": "squashed", "statistic": "mean"}
        return in_unit(np.mean([other.predict_toe(src, dst, at, **options) for other in self.others], axis=0), unit)


class Ceiling:
    """Trees that learn from all events but the fifth that an event is in, later ones too: as if nothing changed."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed = name, seed

    def fit(self, graph: TemporalGraph) -> Ceiling:
        self.scales = Scales.of(graph)
        return self

    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="mean"):
        def fold(src, dst, at):
            return ((src * 31 + dst * 17) ^ at.view(np.int64)) % 1_000_003 % FOLDS

        src, dst, tables = np.asarray(src), np.asarray(dst), tables_of(graph, self.scales)
        pairs, asked_fold = timed_pairs(graph), fold(src, dst, at)
        columns = toe_columns(tables, pairs.src, pairs.dst, pairs.at)
        pair_fold, squashed = fold(pairs.src, pairs.dst, pairs.at), np.empty(src.size)
        for number in range(FOLDS):
            rest, asked = pair_fold != number, asked_fold == number
            rows = columns[rest], pairs.toe[rest], np.ones(np.count_nonzero(rest))
            trees = Trees.learn(*rows, tadge.ForecastConfig(), self.seed)[0]
            squashed[asked] = trees.predict(toe_columns(tables, src[asked], dst[asked], at[asked]))
        return in_unit(squashed, unit)


class Told:
    """What another predicts, that stands before it, where it is told that the link comes in the period asked about."""

    def __init__(self, name: str, other, split) -> None:
        self.name, self.other, self.split = name, other, split

    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="mean"):
        squashed = self.other.predict_toe(src, dst, at, graph=graph, unit="squashed", statistic="mean")
        before_test = past_of(graph).last_link(src, dst, np.nextafter(self.split.test_from, -np.inf))
        start = np.where(before_test > at, self.split.validation_from, self.split.test_from)
        return in_unit(np.maximum(squashed, squash(np.maximum(start - at, 0.0))), unit)


def for_links(name: str, seed: int) -> list:
    """List the approaches to links; those that take minutes for the first seed only."""
    every_link = {"FORTH": LINK_COLUMNS.index("src: since it acted")}
    methods = [
        links("default: network", seed),
        links("former targets asked of every link", seed, every_link),
        links("former targets not asked", seed, former_negatives=0),
    ]
    if name == "jodie-wikipedia":
        return [*methods, *(make(rule, seed) for rule in ("own recency + decayed popularity", "EdgeBank"))]
    methods += [
        links("all count alike", seed, recency=1e6),
        links("linear in the columns", seed, {"LinkScorer": Linear}),
        make(RULES[name], seed),
    ]
    if seed == 0 and name == "bitcoin-otc":
        methods += [
            WithVectors("with products of vectors", seed, apart=False),
            WithVectors("with products of vectors learned before", seed, apart=True),
        ]
    return methods


def for_toe(name: str, graph: TemporalGraph, seed: int) -> list:
    """List the approaches to ToE; those that take minutes, or have nothing random in them, for the first seed only."""
    default, weights = Variant("default: trees", seed), [name for name in TIMING_COLUMNS if "weight" in name]
    clock = {"toe_columns": with_clock, "TOE_WIDTH": TOE_WIDTH + 1}
    methods = [
        default,
        Variant("without the columns for ToE alone", seed, steps=1, without=",".join(TIMING_COLUMNS)),
        Variant("without weights", seed, steps=1, without=",".join(weights)),
        Variant("trees of 15 leaves", seed, steps=1, leaves=15, leaf_samples=50),
        Variant("at its own pace only", seed, steps=1, rescale=False),
        Variant("all count alike", seed, steps=1, recency=1e6),
        Variant("with the clock", seed, clock, steps=1),
        Variant("without ages and counts", seed, steps=1, without=",".join(GROWS)),
        ByMean("default, by the mean in days too", default),
        Rules("best rules", RULES[name], seed, median=False),
        Rules("best rules, by the median in days", RULES[name], seed, median=True),
    ]
    return methods + transformers(default, graph, seed) if seed == 0 else methods


def transformers(default: Variant, graph: TemporalGraph, seed: int) -> list:
    """List a Transformer, by itself and given what the trees are given, after the trees; and what is left to gain."""
    tokens, split = Tokens("Transformer on the latest events", seed), tadge.split_by_time(graph)
    alike = Tokens("Transformer, given paces, weights and recency as the trees are", seed, alike=True)
    return [
        tokens,
        alike,
        Mean("mean of trees and Transformer", default, tokens),
        Mean("mean of trees and that Transformer", default, alike),
        Told("[told that the link comes in this period]", default, split),
        Ceiling("[learned from 4 of 5 test events, too]", seed),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("bitcoin-otc", "college-msg", "jodie-wikipedia"))
    parser.add_argument("task", choices=("links", "toe", "transformer"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results/studies"))
    asked = parser.parse_args()
    sided = asked.data == "jodie-wikipedia"
    if sided and asked.task != "links":
        parser.error("nothing joins twice in jodie-wikipedia: ask for links")
    graph = tadge.datasets.load(asked.data, quiet=True, **({"directed": False} if sided else {}))
    options = {"tasks": "links", "against": "all" if sided else ("random", "historical")}
    if asked.task != "links":
        options = {"tasks": ("toe", "who-and-when") if asked.task == "toe" else "toe"}

    def work(seed: int) -> Result:
        if asked.task == "transformer":
            default = Variant("default: trees", seed, steps=1)
            tried = [default, *transformers(default, graph, seed)[:4]]
        else:
            tried = for_links(asked.data, seed) if asked.task == "links" else for_toe(asked.data, graph, seed)
        return tadge.evaluate(None, graph, seed=seed, methods=tried, max_links=0, name=asked.data, **options)

    keep(asked.out / f"{asked.data}-{asked.task}.json", TEXTS[asked.task], range(asked.seeds), work)


if __name__ == "__main__":
    main()
