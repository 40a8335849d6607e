"""Node classification: a support vector machine on vectors as of a moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.datasets.node_labels import Labels, labels_for
from tadge.errors import InputError
from tadge.evaluation.figures import Measured
from tadge.evaluation.metrics import decisions, macro_f1, micro_f1
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import stream

FRACTIONS = (0.6, 0.8)  # where validation begins, where the test begins
FEWEST = 10  # nodes with a label
MOST = 5_000  # nodes that the machine learns from
MOST_TO_CHOOSE = 2_000  # of them, while cost and width are chosen
COSTS = (1.0, 10.0, 100.0)
WIDTHS = (0.1, 1.0)  # gamma, times the number of columns


@dataclass(frozen=True, eq=False)
class ClassQuestions:
    """Ask for the class of nodes as of a moment.

    Attributes:
        nodes: (n,) those with a label that had been seen by then.
        labels: (n,) class numbers from 0 up.
        train: which of them to learn from, ascending; `validation` and `test` alike.
        at: days.
        classes: how many.
        asked_of: nodes that could be learned from.
    """

    nodes: Ints
    labels: Ints
    train: Ints
    validation: Ints
    test: Ints
    at: float
    classes: int
    asked_of: int


def as_labels(labels: Any, graph: TemporalGraph) -> Ints:
    """Turn labels into (N,) class numbers from 0 up, -1 without one.

    Args:
        labels: (N,) class numbers, -1 without one; `Labels`; or a dictionary from the user's ids to labels.
        graph: whose nodes they are of.
    """
    if isinstance(labels, Mapping):
        return labels_for(graph, list(labels), list(labels.values())).values
    if isinstance(labels, Labels):
        labels = labels.values
    array = np.asarray(labels)
    if array.shape != (graph.num_nodes,) or array.dtype.kind not in "iu" or (array.size and array.min() < -1):
        expected = f"class numbers, or -1, of all {graph.num_nodes:,} nodes; or a dictionary from ids to labels"
        found = f"{array.dtype} of shape {array.shape}"
        raise InputError("not labels", expected=expected, found=found, where="labels")
    return array.astype(np.int64)


def class_questions(graph: TemporalGraph, labels: Ints, at: float, seed: int) -> ClassQuestions:
    """Split the nodes that have a label and were seen by a moment: 60% to learn from, 20% to choose, 20% to test."""
    nodes = np.flatnonzero((labels >= 0) & (past_of(graph).first <= at))
    names, classes = np.unique(labels[nodes], return_inverse=True)
    if names.size < 2:
        found = f"{names.size} on the {nodes.size:,} labelled nodes that were seen by then"
        raise InputError("nothing to tell apart", expected="at least two classes", found=found, where="labels")
    if nodes.size < FEWEST:
        expected, found = f"at least {FEWEST} labelled nodes that were seen by then", str(nodes.size)
        raise InputError("too few labels", expected=expected, found=found, where="labels")
    rng = np.random.default_rng(int(stream(seed, "classes")))
    place = np.empty(nodes.size)
    for number in range(names.size):
        members = np.flatnonzero(classes == number)
        place[members] = (rng.permutation(members.size) + rng.random()) / members.size  # a class of one falls anywhere
    parts = np.digitize(place, FRACTIONS)
    train, validation, test = (np.flatnonzero(parts == part) for part in range(3))
    asked_of = train.size
    if train.size > MOST:
        train = np.sort(rng.choice(train, MOST, replace=False))
    if np.unique(classes[train]).size < 2 or not validation.size or not test.size:
        expected, found = "some of two classes in every part", f"{nodes.size} nodes"
        raise InputError("too few labels", expected=expected, found=found, where="labels")
    return ClassQuestions(nodes, classes, train, validation, test, at, int(names.size), asked_of)


def classify(vectors: Days, asked: ClassQuestions) -> Ints:
    """Predict the classes of the test nodes from vectors of all, (n, D); cost and width are chosen on validation."""
    from sklearn.svm import SVC

    centre, spread = vectors[asked.train].mean(axis=0), vectors[asked.train].std(axis=0)
    scaled = (vectors - centre) / np.where(spread > 1e-12, spread, 1.0)
    few = asked.train[:: -(-asked.train.size // MOST_TO_CHOOSE)]
    if np.unique(asked.labels[few]).size < 2:
        few = asked.train

    def machine(train: Ints, cost: float, width: float) -> Any:
        return SVC(C=cost, gamma=width / scaled.shape[1], cache_size=500).fit(scaled[train], asked.labels[train])

    def score(setting: tuple[float, float]) -> float:
        part = asked.validation
        predicted = machine(few, *setting).predict(scaled[part])
        return float(macro_f1(decisions(asked.labels[part], predicted, asked.classes).sum(axis=0)))

    best = max(((cost, width) for cost in COSTS for width in WIDTHS), key=score)  # of equal ones the first
    predicted: Ints = machine(asked.train, *best).predict(scaled[asked.test])
    return predicted


def measure_classes(asked: ClassQuestions, predicted: Ints) -> Measured:
    """Measure the predicted classes of the test nodes."""
    counts = decisions(asked.labels[asked.test], predicted, asked.classes)
    shape = (-1, *counts.shape[1:])

    def micro(means: npt.NDArray[np.float64]) -> Days:
        return micro_f1(means.reshape(shape))

    def macro(means: npt.NDArray[np.float64]) -> Days:
        return macro_f1(means.reshape(shape))

    return {"micro-f1": (micro, counts), "macro-f1": (macro, counts)}
