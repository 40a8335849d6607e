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

from tadge.config import WalkConfig
from tadge.embedder import TADGE
from tadge.errors import InputError
from tadge.evaluate.classes import ClassQuestions, class_columns, classify
from tadge.evaluate.edges import (
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
from tadge.evaluate.entrants import Entrant, entrants, is_fitted
from tadge.evaluate.figures import Columns, judged
from tadge.evaluate.result import Result
from tadge.evaluate.show import Show
from tadge.evaluate.tasks import EPSILONS, SHOWN, Method, can, checked, not_finite, toe_columns
from tadge.graph import TemporalGraph
from tadge.kernels import Days, Ints
from tadge.seeding import stream
from tadge.units import squash, unsquash
from tadge.walks.sampler import Walks, sample_walks
from tadge.walks.split import WalkSplit, split_by_walks

VALIDATION = 0.1  # of the training walks: nobody learns from them, thresholds and the like are chosen on them
FEWEST = 10  # test walks
PER_VERTEX = "TADGE, one vector per vertex"


@dataclass(frozen=True, eq=False)
class Plan:
    """Hold all that is asked.

    Attributes:
        graph: the whole history.
        split: its walks.
        learn: training walks to learn from.
        choose: training walks to choose on.
        early: the edges of `choose`; `test` those of the test walks.
        labels: (N,) class numbers, -1 without one; None: nobody is asked for classes.
        tasks: those judged.
        seed: of all draws.
    """

    graph: TemporalGraph
    split: WalkSplit
    learn: Walks
    choose: Walks
    early: Edges
    test: Edges
    labels: Ints | None
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
    plan = make_plan(graph, model.walks if isinstance(model, TADGE) else WalkConfig(), tasks, labels, seed)
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
            for name, columns in ask(entrant.name, method, plan).items():
                for task, found in columns.items():
                    measured.setdefault(task, {})[name] = found
                result.kinds.setdefault(name, entrant.kind)
        result.times[entrant.name]["answers"] = time.perf_counter() - began - result.times[entrant.name]["fit"]
    sum_up(result, plan, measured, taking_part[0].name if model is not None else None)
    return result


def make_plan(graph: TemporalGraph, config: WalkConfig, tasks: tuple[str, ...], labels: Ints | None, seed: int) -> Plan:
    """Split the walks and make all questions."""
    split = split_by_walks(graph, config, seed)
    if len(split.test) < FEWEST:
        expected, found = f"at least {FEWEST}", f"{len(split.test)} of {config.num_walks:,} asked for"
        raise InputError("too few test walks", expected=expected, found=found, cure="use a longer history")
    rng = np.random.default_rng(int(stream(seed, "paper")))
    order = rng.permutation(len(split.train))
    cut = max(1, round(VALIDATION * order.size))
    choose, learn = split.train.take(np.sort(order[:cut])), split.train.take(np.sort(order[cut:]))
    early, test = edges_of(choose, split.train_graph, graph, rng), edges_of(split.test, graph, graph, rng)
    return Plan(graph, split, learn, choose, early, test, labels if "classes" in tasks else None, tasks, seed)


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


# -- asking one method ------------------------------------------------------------------------------------------------


def ask(name: str, method: Method, plan: Plan) -> dict[str, dict[str, Columns]]:
    """Ask a method all it can answer: what was measured, by the name in the table and the task."""
    found: dict[str, Columns] = {}
    rows = _rows(method, plan)
    scores = _scores(method, plan, rows)
    guess = _toe(name, method, plan)
    if guess is not None and "toe" in plan.tasks:
        longest = squash(plan.split.train_graph.toe_values().max(initial=0.0))
        found["toe"] = toe_columns(guess, unsquash(np.clip(guess, 0.0, longest)), plan.test.toe)
    result = {name: found}
    if scores is not None:
        answers = _decide(plan, *scores)
        if "links" in plan.tasks:
            found["edges"] = edge_columns(plan.test, *answers)
        if guess is not None and "who-and-when" in plan.tasks:
            found["time-aware edges"] = timely_columns(plan.test, *answers, guess)
    if rows is not None and "links" in plan.tasks and isinstance(method, TADGE):
        means = tuple(vertex_means(made, of, plan.graph.num_nodes) for made, of in rows)
        merged = tuple(rows_score(mean[np.maximum(of, 0)]) for mean, (_, of) in zip(means, rows, strict=True))
        if name == "TADGE":
            result[PER_VERTEX] = {"edges": edge_columns(plan.test, *_decide(plan, merged[1], merged[2]))}
    if plan.labels is not None and (rows is not None or can(method, "embed")):
        found["classes"] = _classes(name, method, plan, rows)
    return result


Rows = list[tuple[npt.NDArray[np.float32], Ints]]  # of the walks to learn from, to choose on, to test: (P, D) and nodes


def _rows(method: Method, plan: Plan) -> Rows | None:
    """Let the model run on all walks: (P, D) of every place in them, and (P,) its node, PAD where there is none."""
    if not can(method, "embed_walks"):
        return None
    parts = plan.learn, plan.choose, plan.split.test
    made = [np.asarray(method.embed_walks(walks)) for walks in parts]
    pairs = zip(made, parts, strict=True)
    return [(each.reshape(-1, each.shape[-1]), walks.nodes.reshape(-1).astype(np.int64)) for each, walks in pairs]


def _scores(method: Method, plan: Plan, rows: Rows | None) -> tuple[Score, Score] | None:
    """Give what scores pairs of places in the walks to choose on and in the test walks."""
    if rows is not None:
        return rows_score(rows[1][0]), rows_score(rows[2][0])
    if can(method, "score_links"):
        view = plan.split.train_graph
        return rule_score(method, plan.early, view), rule_score(method, plan.test, view)
    return None


def _decide(plan: Plan, early: Score, test: Score) -> tuple[Asked, float]:
    """Score the test pairs, and find the threshold on the others."""
    return plan.test.ask(test), threshold(plan.early, plan.early.ask(early))


def _toe(name: str, method: Method, plan: Plan) -> Days | None:
    """Let a method guess the squashed ToE of the test edges, (M,): off its walk, or as of the joining of its target."""
    edges = plan.test
    if can(method, "predict_walk_toe"):
        guess = method.predict_walk_toe(plan.split.test)[edges.walk, edges.step]
    elif can(method, "predict_toe"):
        guess = method.predict_toe(edges.src, edges.dst, edges.joined, graph=plan.graph, squashed=True)
    else:
        return None
    return checked(guess, edges.toe.shape, f"the guesses of ToE of {name}", not_finite)


def _classes(name: str, method: Method, plan: Plan, rows: Rows | None) -> Columns:
    """Let a support vector machine learn from the training walks' vertices, and tell those of the test walks."""
    asked = class_parts(plan)
    if rows is None:
        at = np.full(asked.nodes.size, plan.split.train_graph.time[-1])
        found = np.asarray(method.embed(asked.nodes, at, graph=plan.split.train_graph))
        vectors = checked(found, (asked.nodes.size, found.shape[-1]), f"the vectors of {name}", not_finite)
    else:
        means = [vertex_means(made, of, plan.graph.num_nodes) for made, of in rows]
        parts = zip((asked.train, asked.validation, asked.test), means, strict=True)
        vectors = np.concatenate([mean[asked.nodes[part]] for part, mean in parts]).astype(np.float64)
    return class_columns(asked, classify(vectors, asked))


def class_parts(plan: Plan) -> ClassQuestions:
    """Ask for the classes of the vertices of the test walks; one may be among those learned from, as in the paper."""
    labels = plan.labels
    if labels is None:
        raise InputError("no labels", expected="labels", where="labels")
    parts = [np.unique(walks.nodes[walks.nodes >= 0]) for walks in (plan.learn, plan.choose, plan.split.test)]
    parts = [part[labels[part] >= 0] for part in parts]
    nodes = np.concatenate(parts).astype(np.int64)
    names, own = np.unique(labels[nodes], return_inverse=True)
    if names.size < 2 or not all(part.size for part in parts) or np.unique(labels[parts[0]]).size < 2:
        found = f"{names.size} on {nodes.size:,} labelled nodes of the walks"
        raise InputError("nothing to tell apart", expected="at least two classes", found=found, where="labels")
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
        if task == "classes":
            parts = class_parts(plan)
            nodes = parts.nodes
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
    if plan.labels is None and "classes" in plan.tasks:
        result.notes.append("classes are left out: there are no labels")
