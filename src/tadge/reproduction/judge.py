"""The four tasks of section 5 in their natural reading, asked of one fitted method.

Every method embeds the test part, its static graph or its walks, and has one vector per node (Definition 2); a method
that reads walks has a row per place in them too. Nothing but the training part is learned from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints
from tadge.baselines.of_parts import PartMethod
from tadge.baselines.vectors import elastic_net
from tadge.errors import InputError
from tadge.evaluation.classes import ClassQuestions, classify
from tadge.evaluation.metrics import decisions, macro_f1, micro_f1
from tadge.evaluation.nearest import Choices, Vectors, choose_among_nodes, choose_among_rows, choose_the_same
from tadge.evaluation.paper import class_parts
from tadge.evaluation.tasks import EPSILONS
from tadge.seeding import stream
from tadge.units import squash, unsquash
from tadge.walks.parts import PART_NAMES, Part, PartName, WalkParts

FOLDS = 5  # of the nodes, for classes whose nodes are in training or in the test, never in both

Figures = dict[str, Any]


def judge_parts(method: PartMethod, parts: WalkParts, labels: Ints | None, batch: int) -> Figures:
    """Ask a fitted method everything, and measure that.

    Args:
        method: fitted to `parts`.
        parts: what it was fitted to.
        labels: (N,) class numbers, -1 without one; None: nobody is asked for classes.
        batch: test walks whose rows are candidates together.

    Returns:
        Figures by task, as plain values.
    """
    vectors: dict[PartName, Vectors] = {name: method.nodes(name) for name in PART_NAMES}
    test, rows = parts["test"], method.rows("test")
    toe = method.toe("test")
    predicted = toe_by_vectors(parts, vectors, False) if toe is None else np.asarray(toe, np.float64)[test.steps]
    if not np.isfinite(predicted).all() or any(not np.isfinite(given).all() for given in vectors.values()):
        raise InputError(
            f"{method.name} answers with what is no number", cure="it may have learned with too high a rate"
        )
    choices = {"among nodes": choose_among_nodes(test, vectors["test"])}
    if rows is not None:
        choices["among rows"] = choose_among_rows(test, rows, batch)
    figures: Figures = {"toe": measure_toe(test, predicted)}
    if toe is None:
        figures["toe with a constant"] = measure_toe(test, toe_by_vectors(parts, vectors, True))
    for among, chosen in choices.items():
        figures[f"edges {among}"] = {"micro-f1": chosen.micro_f1, "macro-f1": chosen.macro_f1}
        figures[f"time-aware edges {among}"] = measure_timely(test, chosen, predicted)
    if labels is not None:
        figures |= measure_classes(parts, vectors, labels)
    return figures


def true_toe(part: Part) -> Days:
    """Give the squashed ToE of every edge of the walks of a part, (M,)."""
    walk, step = part.steps
    return squash(part.walks.toe[walk, step + 1])


def toe_by_vectors(parts: WalkParts, vectors: dict[PartName, Vectors], constant: bool) -> Days:
    """Regress ToE on the sum of both ends' vectors (Eq. 36) by an elastic net, as the paper does where none is learned.

    It learns from the edges of the training part and their vectors, and is asked about those of the test part. Eq. 36
    has no constant, which costs vectors of two unrelated embeddings dearly; with one they get every fair chance.
    """
    learn, test = parts["learn"], parts["test"]
    order = np.argsort(learn.walks.tov[learn.steps[0], learn.steps[1] + 1], kind="stable")
    target = true_toe(learn)[order]
    head = elastic_net(_sums(learn, vectors["learn"])[order], target, constant)
    predicted: Days = np.clip(_sums(test, vectors["test"]) @ head[:-1] + head[-1], 0.0, target.max())
    return predicted


def _sums(part: Part, vectors: Vectors) -> Vectors:
    walk, step = part.steps
    return vectors[part.walks.nodes[walk, step]] + vectors[part.walks.nodes[walk, step + 1]]


def measure_toe(test: Part, predicted: Days) -> Figures:
    """Measure predicted squashed ToEs, (M,): the error as in Eq. 40, and the median one in days."""
    walk, step = test.steps
    error = predicted - true_toe(test)
    days = np.abs(unsquash(np.clip(predicted, 0.0, 1 - 1e-9)) - test.walks.toe[walk, step + 1])
    return {"rmse": float(np.sqrt(np.mean(error**2))), "median error, days": float(np.median(days))}


def measure_timely(test: Part, choices: Choices, predicted: Days) -> list[float]:
    """Measure the fraction of ends that find an edge whose ToE is less than epsilon off, for every epsilon."""
    error = np.tile(np.abs(predicted - true_toe(test)), 2)
    return [float(np.mean(choices.hit & (error < eps))) for eps in EPSILONS]


# -- classes ----------------------------------------------------------------------------------------------------------


def measure_classes(parts: WalkParts, vectors: dict[PartName, Vectors], labels: Ints) -> Figures:
    """Measure classes as printed, where a node may be in training and test, and with disjoint nodes."""
    walks = [parts[name].walks for name in PART_NAMES]
    asked = class_parts(labels, walks[0], walks[1], walks[2])
    places = zip(PART_NAMES, (asked.train, asked.validation, asked.test), strict=True)
    given = np.concatenate([vectors[name][asked.nodes[place]] for name, place in places]).astype(np.float64)
    fold = np.random.default_rng(int(stream(parts.seed, "folds"))).integers(0, FOLDS, labels.size)[asked.nodes]
    predicted = np.empty(asked.test.size, np.int64)
    for number in range(FOLDS):
        own = fold[asked.test] == number
        part = replace(
            asked,
            train=asked.train[fold[asked.train] != number],
            validation=asked.validation[fold[asked.validation] != number],
            test=asked.test[own],
        )
        predicted[own] = _classified(given, part)
    overlap = float(np.isin(asked.nodes[asked.test], asked.nodes[asked.train]).mean())
    return {
        "classes as printed": _f1(asked, classify(given, asked)) | {"in training too": overlap},
        "classes of other nodes": _f1(asked, predicted),
    }


def _classified(vectors: Days, asked: ClassQuestions) -> Ints:
    """Classify, where there is something to learn and to choose on; the commonest class otherwise."""
    known = asked.labels[asked.train]
    if not asked.test.size or not asked.validation.size or np.unique(known).size < 2:
        return np.full(asked.test.size, np.bincount(known, minlength=1).argmax(), np.int64)
    return classify(vectors, asked)


def _f1(asked: ClassQuestions, predicted: Ints) -> Figures:
    counts = decisions(asked.labels[asked.test], predicted, asked.classes).sum(axis=0)
    return {"micro-f1": float(micro_f1(counts)), "macro-f1": float(macro_f1(counts))}


# -- what is free -----------------------------------------------------------------------------------------------------


def judge_rules(parts: WalkParts, labels: Ints | None) -> Figures:
    """Measure what needs no vectors: the mean ToE, the most connected node for everyone, the commonest class."""
    learn, test = parts["learn"], parts["test"]
    predicted = np.full(test.steps[0].size, true_toe(learn).mean())
    busiest = test.nodes[np.argsort(-test.graph.degree[test.nodes], kind="stable")]
    chosen = choose_the_same(test, busiest)
    figures: Figures = {
        "toe": measure_toe(test, predicted),
        "edges among nodes": {"micro-f1": chosen.micro_f1, "macro-f1": chosen.macro_f1},
        "time-aware edges among nodes": measure_timely(test, chosen, predicted),
    }
    if labels is not None:
        walks = [parts[name].walks for name in PART_NAMES]
        asked = class_parts(labels, walks[0], walks[1], walks[2])
        commonest = np.full(asked.test.size, np.bincount(asked.labels[asked.train]).argmax(), np.int64)
        figures["classes as printed"] = figures["classes of other nodes"] = _f1(asked, commonest)
    return figures
