"""The main approaches to forecasts that were tried, on the same questions: validation, test, seconds.

    python benchmarks/approaches.py bitcoin-otc|college-msg|jodie-wikipedia links|toe [--seeds 3]

All learn from the first 70% of the events. The data are read where they are (TADGE_DATA). What a seed came to is kept
in results/studies and not made again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
from torch import nn

import tadge
from study import in_unit, keep
from tadge.baselines import make, toe
from tadge.evaluation.result import Result
from tadge.features.memory import COLUMNS, WIDTH, Scales, pair_columns
from tadge.features.pairs import timed_pairs
from tadge.features.timing import TIMING, TOE_WIDTH, toe_columns
from tadge.forecasting import estimator as forecaster
from tadge.forecasting import learn
from tadge.forecasting.estimator import Forecaster
from tadge.forecasting.link_scorer import LinkHead
from tadge.forecasting.trees import SETTINGS, Trees
from tadge.graph import TemporalGraph
from tadge.units import squash
from tokens import Tokens

STEPS = tadge.TrainConfig().forecast_steps
BLOCKS = 8  # of a product of vectors, each a column
EARLIER = 0.6  # of what is learned from: what vectors that must not know what they are asked about learn from
FOLDS = 5
GROWS = [k for k, name in enumerate(COLUMNS) if name.partition(": ")[2] in ("age", "acts", "links to it")]
RULES = {"bitcoin-otc": "last seen", "college-msg": "last act"}  # the better ones on validation
TRIED = "Main approaches that were tried, learned from the first 70% of the events."
TEXTS = {
    "links": TRIED,
    "toe": f"{TRIED} Those in brackets are no forecasts: they know what nobody can know, and show what is left.",
}


def silent(done: int, total: int) -> None:
    pass


def changed(**changes):
    """Learn with other settings for a while."""
    return patch.multiple(learn, **changes) if changes else nullcontext()


class Linear(LinkHead):
    """Scores that are linear in the columns."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.layers = nn.Sequential(nn.Linear(width, 1))


class Links:
    """The network of `fit` that scores links, with something changed in how it is learned."""

    def __init__(self, name: str, seed: int, **changes) -> None:
        self.name, self.seed, self.changes = name, seed, changes

    def fit(self, graph: TemporalGraph) -> Links:
        scales = Scales.of(graph)
        with changed(**self.changes):
            head = learn.learn_links(graph, scales, STEPS, self.seed, silent)
        self.forecaster = Forecaster(scales, head, Trees.none(), Trees.none())
        return self

    def score_links(self, src, dst, at, *, graph):
        return self.forecaster.score_links(graph, src, dst, at)


class Toe:
    """The trees of `fit` that guess ToE, with something changed in how they are learned, or in their columns."""

    def __init__(self, name: str, seed: int, columns: Callable = toe_columns, **changes) -> None:
        self.name, self.seed, self.columns, self.changes = name, seed, columns, changes

    def fit(self, graph: TemporalGraph) -> Toe:
        self.scales = Scales.of(graph)
        with changed(toe_columns=self.columns, **self.changes):
            self.trees = learn.learn_toe(graph, self.scales, self.seed)
        return self

    def predict_toe(self, src, dst, at, *, graph, squashed):
        """Guess the mean; in days the median."""
        trees = self.trees[0 if squashed else 1]
        return in_unit(trees.guess(self.columns(graph, self.scales, src, dst, at)), squashed)


class SmallTrees(Toe):
    """The same with smaller trees."""

    def fit(self, graph: TemporalGraph) -> SmallTrees:
        with patch.dict(SETTINGS, max_leaf_nodes=15, min_samples_leaf=50):
            super().fit(graph)
        return self


class Default(Links, Toe):
    """What `fit` learns."""

    def fit(self, graph: TemporalGraph) -> Default:
        Links.fit(self, graph)
        self.columns = toe_columns
        return Toe.fit(self, graph)


def with_clock(graph, scales, src, dst, at, threads=1):
    return np.concatenate([toe_columns(graph, scales, src, dst, at), at[:, None]], axis=1, dtype=np.float32)


def without(*places: int) -> Callable:
    """Leave columns out."""

    def columns(graph, scales, src, dst, at, threads=1):
        found = toe_columns(graph, scales, src, dst, at)
        found[:, places] = 0.0
        return found

    return columns


class WithVectors(Links):
    """The network that scores links, with products of both nodes' vectors as further columns.

    Attributes:
        apart: whether the vectors are learned from earlier events than the network is.
    """

    def __init__(self, name: str, seed: int, apart: bool) -> None:
        super().__init__(name, seed)
        self.apart = apart

    def columns(self, graph: TemporalGraph) -> Callable:
        self.model.prepare(graph, progress=False)

        def found(memory, src, dst, at, threads=1):
            both = [self.model.embed(node, at, graph=graph, progress=False) for node in (src, dst)]
            products = np.multiply(*both).reshape(src.size, BLOCKS, -1).sum(2)
            return np.concatenate([pair_columns(memory, src, dst, at), products], axis=1, dtype=np.float32)

        return found

    def fit(self, graph: TemporalGraph) -> WithVectors:
        early = graph.before(float(graph.time[int(EARLIER * graph.num_events)])) if self.apart else graph
        train = tadge.TrainConfig(epochs=10, forecast_steps=0)
        self.model = tadge.TADGE(tadge.WalkConfig(num_walks=5_000), train=train, seed=self.seed)
        self.model.fit(early, progress=False)
        self.changes = {"pair_columns": self.columns(graph), "WIDTH": WIDTH + BLOCKS}
        self.changes |= {"EARLY": EARLIER} if self.apart else {}
        super().fit(graph)
        self.changes = {}
        return self

    def score_links(self, src, dst, at, *, graph):
        with patch.object(forecaster, "pair_columns", self.columns(graph)):
            return super().score_links(src, dst, at, graph=graph)


class ByMean:
    """What another says, that stands before it and has learned, but ToE in days by the mean too."""

    def __init__(self, name: str, other) -> None:
        self.name, self.score_links, self.other = name, other.score_links, other

    def predict_toe(self, src, dst, at, *, graph, squashed):
        guess = self.other.predict_toe(src, dst, at, graph=graph, squashed=True)
        return in_unit(guess, squashed)


class Rules:
    """A rule for links, and boosted trees on the features of the baselines for ToE: by their mean, or their median."""

    def __init__(self, name: str, rule: str, seed: int, median: bool) -> None:
        self.name, self.rule, self.trees, self.median = name, make(rule, seed), make("boosted trees", seed), median

    def fit(self, graph: TemporalGraph) -> Rules:
        self.rule.fit(graph)
        with patch.dict(toe.TREES, loss="absolute_error" if self.median else "squared_error"):
            self.trees.fit(graph)
        return self

    def score_links(self, src, dst, at, *, graph):
        return self.rule.score_links(src, dst, at, graph=graph)

    def predict_toe(self, src, dst, at, *, graph, squashed):
        return self.trees.predict_toe(src, dst, at, graph=graph, squashed=squashed)


class Mean:
    """The mean of what others guess, that stand before it and have learned."""

    def __init__(self, name: str, *others) -> None:
        self.name, self.others = name, others

    def predict_toe(self, src, dst, at, *, graph, squashed):
        guess = np.mean([one.predict_toe(src, dst, at, graph=graph, squashed=True) for one in self.others], axis=0)
        return in_unit(guess, squashed)


class Ceiling:
    """Trees that learn from all events but the fifth that an event is in, later ones too: as if nothing changed."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed = name, seed

    def fit(self, graph: TemporalGraph) -> Ceiling:
        self.scales = Scales.of(graph)
        return self

    def predict_toe(self, src, dst, at, *, graph, squashed):
        def fold(src, dst, at):
            return ((src * 31 + dst * 17) ^ at.view(np.int64)) % 1_000_003 % FOLDS

        pairs, own = timed_pairs(graph), fold(src, dst, at)
        columns = toe_columns(graph, self.scales, pairs.src, pairs.dst, pairs.at)
        among, guess = fold(pairs.src, pairs.dst, pairs.at), np.empty(src.size)
        for each in range(FOLDS):
            rest, asked = among != each, own == each
            trees = Trees.learn(columns[rest], pairs.toe[rest], np.ones(np.count_nonzero(rest)), self.seed)
            guess[asked] = trees.guess(toe_columns(graph, self.scales, src[asked], dst[asked], at[asked]))
        return in_unit(guess, squashed)


class Told:
    """What another guesses, that stands before it, where it is told that the link comes in the period asked about."""

    def __init__(self, name: str, other, split) -> None:
        self.name, self.other = name, other
        self.starts = iter([split.validation_from, split.test_from, split.test_from])  # in the order of the questions

    def predict_toe(self, src, dst, at, *, graph, squashed):
        guess = self.other.predict_toe(src, dst, at, graph=graph, squashed=True)
        guess = np.maximum(guess, squash(np.maximum(next(self.starts) - at, 0.0)))
        return in_unit(guess, squashed)


def for_links(name: str, seed: int) -> list:
    """List the approaches to links; those that take minutes for the first seed only."""
    found = [
        Links("default: network", seed),
        Links("former targets asked of every link", seed, BEFORE=COLUMNS.index("src: since it acted")),
        Links("former targets not asked", seed, FORMER=0),
    ]
    if name == "jodie-wikipedia":
        return [*found, *(make(rule, seed) for rule in ("own recency + decayed popularity", "EdgeBank"))]
    found += [
        Links("all count alike", seed, RECENT=1e6),
        Links("linear in the columns", seed, LinkHead=Linear),
        make(RULES[name], seed),
    ]
    if seed == 0 and name == "bitcoin-otc":
        found += [
            WithVectors("with products of vectors", seed, apart=False),
            WithVectors("with products of vectors learned before", seed, apart=True),
        ]
    return found


def for_toe(name: str, graph: TemporalGraph, seed: int) -> list:
    """List the approaches to ToE; those that take minutes, or have no chance in them, for the first seed only."""
    default, further = Default("default: trees", seed), range(WIDTH, TOE_WIDTH)
    weights = [WIDTH + k for k, column in enumerate(TIMING) if "weight" in column]
    found = [
        default,
        Toe("without the columns for ToE alone", seed, without(*further)),
        Toe("without weights", seed, without(*weights)),
        SmallTrees("trees of 15 leaves", seed),
        Toe("at its own pace only", seed, PACES={1.0: 1.0}),
        Toe("all count alike", seed, RECENT=1e6),
        Toe("with the clock", seed, with_clock, TOE_WIDTH=TOE_WIDTH + 1),
        Toe("without ages and counts", seed, without(*GROWS)),
        ByMean("default, by the mean in days too", default),
        Rules("best rules", RULES[name], seed, median=False),
        Rules("best rules, by the median in days", RULES[name], seed, median=True),
    ]
    if seed == 0:
        tokens, split = Tokens("Transformer on the latest events", seed), tadge.split_by_time(graph)
        found += [
            tokens,
            Mean("mean of trees and Transformer", default, tokens),
            Told("[told that the link comes in this period]", default, split),
            Ceiling("[learned from 4 of 5 test events, too]", seed),
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("bitcoin-otc", "college-msg", "jodie-wikipedia"))
    parser.add_argument("task", choices=("links", "toe"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs/results/studies"))
    asked = parser.parse_args()
    sided = asked.data == "jodie-wikipedia"
    if sided and asked.task == "toe":
        parser.error("nothing joins twice in jodie-wikipedia: ask for links")
    graph = tadge.datasets.load(asked.data, quiet=True, **({"directed": False} if sided else {}))
    options = {"tasks": "links", "against": "all" if sided else ("random", "historical")}
    if asked.task == "toe":
        options = {"tasks": ("toe", "who-and-when")}

    def work(seed: int) -> Result:
        tried = for_links(asked.data, seed) if asked.task == "links" else for_toe(asked.data, graph, seed)
        return tadge.evaluate(None, graph, seed=seed, methods=tried, max_links=0, name=asked.data, **options)

    keep(asked.out / f"{asked.data}-{asked.task}.json", TEXTS[asked.task], range(asked.seeds), work)


if __name__ == "__main__":
    main()
