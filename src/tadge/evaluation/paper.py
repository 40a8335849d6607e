"""Protocol "paper": the split of section 5.1, vectors from running the model on the test walks.

This is reconstruction: a walk shows the model the edges, and their ToE, that it is then asked about.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints, NodeNumbers
from tadge.config import WalkConfig
from tadge.embedding.estimator import TADGE
from tadge.errors import InputError
from tadge.evaluation.classes import ClassQuestions, class_columns, classify
from tadge.evaluation.edges import (
    Asked,
    Edges,
    Score,
    edge_columns,
    edges_of,
    rows_score,
    rule_score,
    threshold,
    timely_columns,
    vertex_means,
)
from tadge.evaluation.entrants import Entrant, entrants, is_fitted
from tadge.evaluation.figures import Columns, judged
from tadge.evaluation.result import Result
from tadge.evaluation.show import Show
from tadge.evaluation.tasks import EPSILONS, SHOWN, TASKS, Method, can, checked, not_finite, toe_columns, vectors_of
from tadge.graph import TemporalGraph
from tadge.seeding import stream
from tadge.units import squash, unsquash
from tadge.walks.sampler import Walks, sample_walks
from tadge.walks.split import WalkSplit, split_by_walks, without_events

VALIDATION = 0.1  # of the training walks: nobody learns from them, thresholds and the like are chosen on them
FEWEST = 10  # test walks, and training walks
PER_VERTEX = "TADGE, one vector per vertex"


@dataclass(frozen=True, eq=False)
class Plan:
    """Hold all that is asked.

    Attributes:
        graph: the whole history.
        split: its walks.
        learn: training walks to learn from.
        choose: training walks to choose on.
        rehearsal: the training graph without the events of `choose`.
        early: the edges of `choose`; `test` those of the test walks.
        classes: those of the vertices of the test walks; None: nobody is asked for classes.
        tasks: those judged.
        seed: of all draws.
    """

    graph: TemporalGraph
    split: WalkSplit
    learn: Walks
    choose: Walks
    rehearsal: TemporalGraph
    early: Edges
    test: Edges
    classes: ClassQuestions | None
    tasks: tuple[str, ...]
    seed: int


def judge(
    model: Method | None,
    graph: TemporalGraph,
    tasks: tuple[str, ...],
    labels: Ints | None,
    seed: int,
    *,
    methods: Sequence[str | Method] | None = None,
    control: bool = True,
    folder: Path | None = None,
    report: Show | None = None,
) -> Result:
    """Judge a model and its rivals as the paper does.

    Args:
        model: a TADGE, fitted to the split's training graph or not at all; or a method; or None.
        graph: the whole history.
        tasks: "toe"; "links": static edge prediction; "who-and-when": time-aware edge prediction; "classes".
        labels: (N,) class numbers, -1 without one; None: nobody is asked for classes.
        seed: of the split, the questions, baselines and resampling.
        methods: names of baselines, or methods; None: all baselines.
        control: let a TADGE of the same options learn from shuffled times.
        folder: where models are kept, so that the work can go on after a stop.
        report: shows progress.
    """
    show = report or Show(False)
    plan = make_plan(graph, model.walk_config if isinstance(model, TADGE) else WalkConfig(), tasks, labels, seed)
    _check_unseen(model, plan.split)
    result = Result("paper")
    taking_part, result.notes = entrants(model, methods, control, seed)
    measured: dict[str, dict[str, Columns]] = {}
    for entrant in taking_part:
        result.kinds[entrant.name] = entrant.kind
        began = time.perf_counter()
        method = _fit(entrant, plan, folder, show)
        result.times[entrant.name] = {"fit": time.perf_counter() - began}
        with show.part(f"{entrant.name}: answers"):
            for name, columns in ask(entrant.name, method, plan, _rehearsed(entrant, method, plan)).items():
                for task, found in columns.items():
                    measured.setdefault(task, {})[name] = found
                result.kinds.setdefault(name, entrant.kind)
        result.times[entrant.name]["answers"] = time.perf_counter() - began - result.times[entrant.name]["fit"]
    sum_up(result, plan, measured, taking_part[0].name if model is not None else None)
    return result


def make_plan(graph: TemporalGraph, config: WalkConfig, tasks: tuple[str, ...], labels: Ints | None, seed: int) -> Plan:
    """Split the walks and make all questions."""
    split = split_by_walks(graph, config, seed)
    for name, walks in (("test", split.test), ("training", split.train)):
        count = np.count_nonzero(walks.lengths > 1)
        if count < FEWEST:
            expected, found = f"at least {FEWEST}", f"{count} of {walks.config.num_walks:,} asked for"
            cure = "ask for more or shorter walks (num_walks, min_length), or use a longer history"
            raise InputError(f"too few {name} walks with an edge", expected=expected, found=found, cure=cure)
    rng = np.random.default_rng(int(stream(seed, "paper")))
    order = rng.permutation(np.flatnonzero(split.train.lengths > 1))
    chosen = np.sort(order[: round(VALIDATION * order.size)])
    choose, learn = split.train.take(chosen), split.train.take(np.delete(np.arange(len(split.train)), chosen))
    remain = np.ones(split.train_graph.num_events, np.bool_)
    remain[choose.events[choose.events >= 0]] = False
    rehearsal, _ = without_events(split.train_graph, remain)
    early, test = edges_of(choose, graph, rng), edges_of(split.test, graph, rng)
    classes = None if labels is None or "classes" not in tasks else class_parts(labels, learn, choose, split.test)
    return Plan(graph, split, learn, choose, rehearsal, early, test, classes, tasks, seed)


def _check_unseen(model: Method | None, split: WalkSplit) -> None:
    """Refuse a fitted TADGE that was not fitted to this split's training graph."""
    if isinstance(model, TADGE) and is_fitted(model) and model.graph_.fingerprint != split.train_graph.fingerprint:
        expected, cure = "fitted to the training graph of this split", "give it unfitted, or its options"
        raise InputError("the model may have seen the test walks", expected=expected, cure=cure, where="model")


def _fit(entrant: Entrant, plan: Plan, folder: Path | None, show: Show) -> Method:
    """Fit a method to the training graph; a TADGE to the training walks that nothing is chosen on."""
    walks: Walks | None = plan.learn
    if entrant.shuffled:
        entrant = replace(entrant, learns_from=entrant.view(plan.split.train_graph, plan.seed), shuffled=False)
        config = replace(plan.learn.config, num_walks=len(plan.learn))
        walks = sample_walks(entrant.learns_from, config, plan.seed)  # type: ignore[arg-type]
    return entrant.fit(plan.split.train_graph, plan.seed, folder and folder / entrant.slug, show, walks=walks)


def _rehearsed(entrant: Entrant, method: Method, plan: Plan) -> Method:
    """Fit a rule once more, without the edges on which its threshold is chosen: those of the test it has not seen."""
    if entrant.kind != "rule" or entrant.about is None or not can(method, "score_links"):
        return method
    again = entrant.make()
    return again.fit(plan.rehearsal) if can(again, "fit") else again


# -- asking one method ------------------------------------------------------------------------------------------------


def ask(name: str, method: Method, plan: Plan, rehearsed: Method) -> dict[str, dict[str, Columns]]:
    """Ask a method all it can answer: what was measured, by the name in the table and the task.

    Args:
        name: in the table.
        method: fitted to the training graph.
        plan: what is asked.
        rehearsed: the same where it has not seen the edges to choose on, as far as that can be had.
    """
    found: dict[str, Columns] = {}
    result, tasks = {name: found}, set(plan.tasks)
    rows = _rows(name, method, plan) if tasks != {"toe"} else None
    guess = _toe(name, method, plan) if tasks & {"toe", "who-and-when"} else None
    decides = "links" in tasks or (guess is not None and "who-and-when" in tasks)
    scores = _scores(method, rehearsed, plan, rows) if decides else None
    if guess is not None and "toe" in tasks:
        longest = squash(plan.split.train_graph.toe_values().max(initial=0.0))
        found["toe"] = toe_columns(guess, unsquash(np.clip(guess, 0.0, longest)), plan.test.toe)
    if scores is not None:
        answers = _decide(plan, *scores)
        if "links" in tasks:
            found["edges"] = edge_columns(plan.test, *answers)
        if guess is not None and "who-and-when" in tasks:
            found["time-aware edges"] = timely_columns(plan.test, *answers, guess)
    if rows is not None and "links" in tasks and name == "TADGE":
        early, test = (rows_score(vertex_means(*part, plan.graph.num_nodes)[part[1]]) for part in rows[1:])
        result[PER_VERTEX] = {"edges": edge_columns(plan.test, *_decide(plan, early, test))}
    if plan.classes is not None and (rows is not None or can(method, "embed")):
        vectors = _vectors(method, plan, plan.classes, rows)
        found["classes"] = class_columns(plan.classes, classify(vectors, plan.classes))
    return result


Rows = list[tuple[npt.NDArray[np.float32], Ints]]  # of the walks to learn from, to choose on, to test: (P, D) and nodes


def _rows(name: str, method: Method, plan: Plan) -> Rows | None:
    """Let the model run on all walks: (P, D) of every place in them, and (P,) its node, PAD where there is none."""
    if not can(method, "embed_walks"):
        return None
    return [_rows_of(name, method, walks) for walks in (plan.learn, plan.choose, plan.split.test)]


def _rows_of(name: str, method: Method, walks: Walks) -> tuple[npt.NDArray[np.float32], Ints]:
    made, there = np.asarray(method.embed_walks(walks)), walks.nodes[..., None] >= 0
    shape = (*walks.nodes.shape, made.shape[-1] if made.ndim else 1)
    checked(made, shape, f"the vectors of {name}", lambda each: not_finite(each) & there)
    return made.reshape(-1, shape[-1]), walks.nodes.reshape(-1).astype(np.int64)


def _scores(method: Method, rehearsed: Method, plan: Plan, rows: Rows | None) -> tuple[Score, Score] | None:
    """Give what scores pairs of places in the walks to choose on and in the test walks."""
    if rows is not None:
        return rows_score(rows[1][0]), rows_score(rows[2][0])
    if can(method, "score_links"):
        early = rule_score(rehearsed, plan.early, plan.rehearsal)
        return early, rule_score(method, plan.test, plan.split.train_graph)
    return None


def _decide(plan: Plan, early: Score, test: Score) -> tuple[Asked, float]:
    """Score the test pairs, and find the threshold on the others."""
    return plan.test.ask(test), threshold(plan.early.ask(early))


def _toe(name: str, method: Method, plan: Plan) -> Days | None:
    """Let a method guess the squashed ToE of the test edges, (M,): off its walk, or as of the joining of its target."""
    edges, what = plan.test, f"the guesses of ToE of {name}"
    if can(method, "predict_walk_toe"):
        walks = plan.split.test
        shape, asked = (len(walks), walks.nodes.shape[1] - 1), walks.nodes[:, 1:] >= 0
        found = checked(method.predict_walk_toe(walks), shape, what, lambda each: not_finite(each) & asked)
        return found[edges.walk, edges.step]
    if can(method, "predict_toe"):
        guess = method.predict_toe(
            NodeNumbers(edges.src),
            NodeNumbers(edges.dst),
            edges.joined,
            graph=plan.graph,
            unit="squashed",
            statistic="mean",
        )
        return checked(guess, edges.toe.shape, what, not_finite)
    return None


def _vectors(method: Method, plan: Plan, asked: ClassQuestions, rows: Rows | None) -> Days:
    """Give a vector for every vertex whose class is asked or known, (n, D): of its part of the walks, where it can."""
    if rows is None:
        view = plan.split.train_graph
        return vectors_of(method, asked.nodes, float(view.time[-1]), view, lambda done, total: None)
    means = [vertex_means(made, of, plan.graph.num_nodes) for made, of in rows]
    parts = zip((asked.train, asked.validation, asked.test), means, strict=True)
    return np.concatenate([mean[asked.nodes[part]] for part, mean in parts]).astype(np.float64)


def class_parts(labels: Ints, learn: Walks, choose: Walks, test: Walks) -> ClassQuestions:
    """Ask for the classes of the vertices of the test walks; one may be among those learned from, as in the paper."""
    parts = [np.unique(walks.nodes[walks.nodes >= 0]) for walks in (learn, choose, test)]
    parts = [part[labels[part] >= 0] for part in parts]
    nodes = np.concatenate(parts).astype(np.int64)
    names, own = np.unique(labels[nodes], return_inverse=True)
    if np.unique(labels[parts[0]]).size < 2 or not parts[1].size or not parts[2].size:
        expected = "two classes to learn from, and some to choose on and to test"
        found = ", ".join(f"{np.unique(labels[part]).size} on {part.size:,} vertices" for part in parts)
        raise InputError("nothing to tell apart", expected=expected, found=found, where="labels")
    first, second = parts[0].size, parts[0].size + parts[1].size
    places = np.arange(first), np.arange(first, second), np.arange(second, nodes.size)
    return ClassQuestions(nodes, own, *places, np.inf, int(names.size), first)


# -- summing up -------------------------------------------------------------------------------------------------------

MAIN = {"toe": "rmse", "edges": "macro-f1", "time-aware edges": "within 0.25", "classes": "macro-f1"}
COLUMNS = {
    "toe": SHOWN["toe"][:5],
    "edges": ("micro-f1", "macro-f1", "AP", "AUC", "AUC same walk"),
    "time-aware edges": tuple(f"within {eps:.2f}" for eps in EPSILONS[::2]),
    "classes": ("micro-f1", "macro-f1", "micro-f1 new", "macro-f1 new"),
}


def sum_up(result: Result, plan: Plan, measured: Mapping[str, Mapping[str, Any]], model: str | None) -> None:
    """Turn what was measured into figures, task by task."""
    asked = {"toe": plan.test.toe.size, "edges": plan.test.asking.size * 2, "time-aware edges": plan.test.asking.size}
    for task in (each for each in MAIN if each in measured):
        groups = None
        if plan.classes is not None and task == "classes":
            parts, nodes = plan.classes, plan.classes.nodes
            groups = {"new": ~np.isin(nodes[parts.test], nodes[parts.train])}
            share = 1.0 - float(groups["new"].mean())
            asked[task] = parts.test.size
            result.notes.append(
                f"classes: {share:.0%} of the test vertices are in training walks too, with their label; "
                "the columns with `new` are about the others"
            )
        figures, compared = judged(measured[task], plan.seed, groups, task=task, main=MAIN[task], model=model)
        compared = [one for one in compared if one["rival"] != PER_VERTEX]
        result.add(task, MAIN[task], COLUMNS[task], asked[task], figures, compared)
    if "edges" in measured:
        result.notes.append(
            "edges: every end of a test edge is asked about the other end and about one place of the test walks whose "
            "vertex it has no link with; AUC same walk: against the places of its own walk that it has no link with"
        )
    if plan.test.crowded and "edges" in measured:
        found = f"{plan.test.crowded:,} of {plan.test.asking.size:,}"
        result.notes.append(f"edges: {found} ends have a link with every vertex of the test walks; they get any place")
    if plan.classes is None and "classes" in plan.tasks:
        result.notes.append("classes are left out: there are no labels")
    for given, task in zip(TASKS, MAIN, strict=True):
        if given in plan.tasks and task not in measured and (given != "classes" or plan.classes is not None):
            result.notes.append(f"{task}: left out, no method here can answer")
