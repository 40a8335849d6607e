"""Protocol "reconstruction": the split of section 5.1, vectors from running the network on the test walks.

A walk shows the network the edges, and their ToE, that it is then asked about. A method that
does not read walks is asked about pairs of nodes: links as of the end of training, ToE as of the joining of the target.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints, NodeNumbers, Vectors
from tadge.config import WalkConfig
from tadge.errors import InputError
from tadge.evaluation.classes import ClassQuestions, classify, measure_classes
from tadge.evaluation.competitors import Answers, Competitor, ask_all, competitors, short_hash
from tadge.evaluation.config import TASKS, Setting
from tadge.evaluation.edges import (
    Edges,
    EdgeScores,
    Score,
    edges_of,
    measure_edges,
    measure_timely_edges,
    method_score,
    node_means,
    threshold,
    vector_score,
)
from tadge.evaluation.figures import Measured
from tadge.evaluation.result import Result
from tadge.evaluation.tasks import (
    COMPARED,
    DAYS_MEDIAN,
    EPSILONS,
    SHOWN,
    SQUASHED_MEAN,
    checked,
    checked_toe,
    measure_toe,
    not_finite,
    vectors_of,
)
from tadge.graph.graph import TemporalGraph
from tadge.machine import peak_memory_mb
from tadge.protocols import (
    Answerer,
    EmbedsNodes,
    EmbedsWalks,
    Estimator,
    Fitted,
    PredictsToe,
    ScoresLinks,
    accepts,
    name_of,
)
from tadge.seeding import stream
from tadge.units import squash, unsquash
from tadge.walks.sampler import Walks, sample_walks
from tadge.walks.split import WalkSplit, split_by_walks, without_events

CHOOSE_FRACTION = 0.1  # of the training walks: nobody learns from them, thresholds and the like are chosen on them
MIN_WALKS = 10  # test walks, and training walks
EDGES, TIMELY = "edges against one wrong place", "time-aware edges against one wrong place"
PER_NODE = "{}, one vector per node"  # a model whose vectors of a node are averaged


@dataclass(frozen=True, eq=False)
class PaperPlan:
    """Hold all that is asked.

    Attributes:
        setting: graph, options and seed.
        split: its walks.
        learn: training walks to learn from.
        choose: training walks to choose on.
        without_choose: the training graph without the events of `choose`.
        early: the edges of `choose`; `test` those of the test walks.
        classes: those of the nodes of the test walks; None: nobody is asked for classes.
    """

    setting: Setting
    split: WalkSplit
    learn: Walks
    choose: Walks
    without_choose: TemporalGraph
    early: Edges
    test: Edges
    classes: ClassQuestions | None

    @property
    def tasks(self) -> Sequence[str]:
        """Give those that are judged."""
        return self.setting.config.tasks


def judge_as_in_paper(
    models: Sequence[Answerer], baselines: Sequence[str | Answerer] | None, setting: Setting
) -> Result:
    """Judge models beside baselines as the paper does; an estimator may be fitted to the split's training graph."""
    configs = [model.walk_config for model in models if isinstance(getattr(model, "walk_config", None), WalkConfig)]  # type: ignore[union-attr]
    plan = make_paper_plan(setting, configs[0] if configs else WalkConfig())
    _check_unseen(models, plan.split)
    listed, notes = competitors(models, baselines, setting.config.control, setting.seed)
    result = Result("reconstruction", notes=notes)
    fill_paper_result(result, plan, ask_all(result, listed, lambda competitor: paper_answers(competitor, plan)))
    return result


def make_paper_plan(setting: Setting, walk_config: WalkConfig) -> PaperPlan:
    """Split the walks and make all questions."""
    graph, seed, labels = setting.graph, setting.seed, setting.labels
    split = split_by_walks(graph, walk_config, seed)
    for name, walks in (("test", split.test), ("training", split.train)):
        count = np.count_nonzero(walks.lengths > 1)
        if count < MIN_WALKS:
            expected, found = f"at least {MIN_WALKS}", f"{count} of {walks.config.num_walks:,} asked for"
            cure = "ask for more or shorter walks (num_walks, min_length), or use a longer history"
            raise InputError(f"too few {name} walks with an edge", expected=expected, found=found, cure=cure)
    rng = np.random.default_rng(int(stream(seed, "paper")))
    order = rng.permutation(np.flatnonzero(split.train.lengths > 1))
    chosen = np.sort(order[: round(CHOOSE_FRACTION * order.size)])
    choose, learn = split.train.take(chosen), split.train.take(np.delete(np.arange(len(split.train)), chosen))
    remain = np.ones(split.train_graph.num_events, np.bool_)
    remain[choose.events[choose.events >= 0]] = False
    without_choose, _ = without_events(split.train_graph, remain)
    early, test = edges_of(choose, graph, rng), edges_of(split.test, graph, rng)
    classes = None
    if labels is not None and "classes" in setting.config.tasks:
        classes = class_parts(labels, learn, choose, split.test)
    return PaperPlan(setting, split, learn, choose, without_choose, early, test, classes)


def _check_unseen(models: Sequence[Answerer], split: WalkSplit) -> None:
    """Refuse an estimator that was fitted to anything but this split's training graph."""
    for model in models:
        if not (isinstance(model, Estimator) and isinstance(model, Fitted)):
            continue
        if model.graph_.fingerprint != split.train_graph.fingerprint:
            expected, cure = "fitted to the training graph of this split", "give it unfitted, or its options"
            raise InputError(f"{model.name} may have seen the test walks", expected=expected, cure=cure, where="models")


# -- asking one method ------------------------------------------------------------------------------------------------


def paper_answers(competitor: Competitor, plan: PaperPlan) -> Answers:
    """Fit a method, let it answer, and measure that: what was measured by task."""
    began = time.perf_counter()
    method = _fit(competitor, plan)
    fitted = time.perf_counter()
    with plan.setting.bars.part(f"{competitor.name}: answers"):
        answers: Answers = dict(ask(method, plan, _refitted(competitor, method, plan)))
    if competitor.kind != "model":
        answers.pop("edges per node", None)
    answers |= {"seconds fit": fitted - began, "seconds answers": time.perf_counter() - fitted}
    return answers | {"memory": peak_memory_mb()}


def _fit(competitor: Competitor, plan: PaperPlan) -> Answerer:
    """Fit a method to the training graph; where it learns from walks, to those that nothing is chosen on."""
    setting, walks, folder = plan.setting, plan.learn, plan.setting.folder
    if competitor.shuffled and accepts(getattr(competitor.make(), "fit", None), "walks"):
        shuffled = competitor.view(plan.split.train_graph, setting.seed)
        competitor = replace(competitor, learns_from=shuffled, shuffled=False)
        walks = sample_walks(shuffled, replace(plan.learn.config, num_walks=len(plan.learn)), setting.seed)
    place = folder and folder / f"{competitor.slug}-model-{short_hash(json.dumps(competitor.about))}"
    return competitor.fit(plan.split.train_graph, setting, place, walks)


def _refitted(competitor: Competitor, method: Answerer, plan: PaperPlan) -> Answerer:
    """Fit a method once more, without the edges on which its threshold is chosen: those of the test it has not seen.

    One that reads walks has not learned from these; one that a user brings is asked as it is.
    """
    decides = {"links", "who-and-when"} & set(plan.tasks)
    if isinstance(method, EmbedsWalks) or not isinstance(method, ScoresLinks) or not decides:
        return method
    if competitor.about is None:
        return method
    again = replace(competitor, fitted=None, learns_from=None)
    return again.fit(plan.without_choose, plan.setting)


def ask(method: Answerer, plan: PaperPlan, refitted: Answerer) -> dict[str, Measured]:
    """Let a method answer, and measure that, task by task; its edges by one vector per node as `edges per node`.

    Args:
        method: fitted.
        plan: what is asked.
        refitted: the same where it has not seen the edges to choose on, as far as that can be had.
    """
    measured: dict[str, Measured] = {}
    tasks = set(plan.tasks)
    rows = _rows(method, plan) if isinstance(method, EmbedsWalks) and tasks != {"toe"} else None
    toe = _toe(method, plan) if tasks & {"toe", "who-and-when"} else None
    decides = "links" in tasks or (toe is not None and "who-and-when" in tasks)
    scores = _scores(method, refitted, plan, rows) if decides else None
    if toe is not None and "toe" in tasks:
        measured["toe"] = measure_toe(*toe, plan.test.toe)
    if scores is not None:
        decisions = _decide(plan, *scores)
        if "links" in tasks:
            measured[EDGES] = measure_edges(plan.test, *decisions)
        if toe is not None and "who-and-when" in tasks:
            measured[TIMELY] = measure_timely_edges(plan.test, *decisions, toe[0])
    if rows is not None and "links" in tasks:
        means = [vector_score(node_means(*part, plan.setting.graph.num_nodes)[part[1]]) for part in rows[1:]]
        measured["edges per node"] = measure_edges(plan.test, *_decide(plan, *means))
    if plan.classes is not None and (rows is not None or isinstance(method, EmbedsNodes)):
        vectors = _vectors(method, plan, plan.classes, rows)
        measured["classes"] = measure_classes(plan.classes, classify(vectors, plan.classes))
    return measured


Rows = list[tuple[Vectors, Ints]]  # of the walks to learn from, to choose on, to test: (P, D) and nodes


def _rows(method: EmbedsWalks, plan: PaperPlan) -> Rows:
    """Let a model run on all walks: (P, D) of every place in them, and (P,) its node, PAD where there is none."""
    return [_rows_of(method, walks) for walks in (plan.learn, plan.choose, plan.split.test)]


def _rows_of(method: EmbedsWalks, walks: Walks) -> tuple[Vectors, Ints]:
    vectors, mask = np.asarray(method.embed_walks(walks)), walks.nodes[..., None] >= 0
    shape = (*walks.nodes.shape, vectors.shape[-1] if vectors.ndim else 1)
    checked(vectors, shape, f"the vectors of {name_of(method)}", lambda values: not_finite(values) & mask)
    return vectors.reshape(-1, shape[-1]), walks.nodes.reshape(-1).astype(np.int64)


def _scores(method: Answerer, refitted: Answerer, plan: PaperPlan, rows: Rows | None) -> tuple[Score, Score] | None:
    """Give what scores pairs of places in the walks to choose on and in the test walks."""
    if rows is not None:
        return vector_score(rows[1][0]), vector_score(rows[2][0])
    if isinstance(method, ScoresLinks) and isinstance(refitted, ScoresLinks):
        early = method_score(refitted, plan.early, plan.without_choose)
        return early, method_score(method, plan.test, plan.split.train_graph)
    return None


def _decide(plan: PaperPlan, early: Score, test: Score) -> tuple[EdgeScores, float]:
    """Score the test pairs, and find the threshold on the others."""
    return plan.test.scored(test), threshold(plan.early.scored(early))


def _toe(method: Answerer, plan: PaperPlan) -> tuple[Days, Days] | None:
    """Let a method predict the ToE of the test edges, squashed and in days, (M,) each.

    It reads them off its walk; or it predicts them as of the target's joining, the mean of the squashed ToE and the
    median in days. What is read off a walk is in days what it is squashed, and at most the longest in training.
    """
    edges = plan.test
    if isinstance(method, EmbedsWalks):
        walks = plan.split.test
        shape, mask = (len(walks), walks.nodes.shape[1] - 1), walks.nodes[:, 1:] >= 0
        squashed = checked_toe(method, method.predict_walk_toe(walks), shape, mask)[edges.walk, edges.step]
        longest = squash(plan.split.train_graph.toe_values().max(initial=0.0))
        return squashed, unsquash(np.clip(squashed, 0.0, longest))
    if isinstance(method, PredictsToe):
        pairs = NodeNumbers(edges.src), NodeNumbers(edges.dst), edges.joined
        squashed, days = (
            checked_toe(method, method.predict_toe(*pairs, graph=plan.setting.graph, **way), edges.toe.shape)
            for way in (SQUASHED_MEAN, DAYS_MEDIAN)
        )
        return squashed, days
    return None


def _vectors(method: Answerer, plan: PaperPlan, asked: ClassQuestions, rows: Rows | None) -> Days:
    """Give a vector for every node whose class is asked or known, (n, D): of its part of the walks, where it can."""
    if rows is None:
        view = plan.split.train_graph
        assert isinstance(method, EmbedsNodes)
        return vectors_of(method, asked.nodes, float(view.time[-1]), view, lambda done, total: None)
    means = [node_means(vectors, nodes, plan.setting.graph.num_nodes) for vectors, nodes in rows]
    parts = zip((asked.train, asked.validation, asked.test), means, strict=True)
    return np.concatenate([mean[asked.nodes[part]] for part, mean in parts]).astype(np.float64)


def class_parts(labels: Ints, learn: Walks, choose: Walks, test: Walks) -> ClassQuestions:
    """Ask for the classes of the nodes of the test walks; one may be among those learned from, as in the paper."""
    parts = [np.unique(walks.nodes[walks.nodes >= 0]) for walks in (learn, choose, test)]
    parts = [part[labels[part] >= 0] for part in parts]
    nodes = np.concatenate(parts).astype(np.int64)
    names, classes = np.unique(labels[nodes], return_inverse=True)
    if np.unique(labels[parts[0]]).size < 2 or not parts[1].size or not parts[2].size:
        expected = "two classes to learn from, and some to choose on and to test"
        found = ", ".join(f"{np.unique(labels[part]).size} on {part.size:,} nodes" for part in parts)
        raise InputError("nothing to tell apart", expected=expected, found=found, where="labels")
    first, second = parts[0].size, parts[0].size + parts[1].size
    places = np.arange(first), np.arange(first, second), np.arange(second, nodes.size)
    return ClassQuestions(nodes, classes, *places, np.inf, int(names.size), first)


# -- figures ----------------------------------------------------------------------------------------------------------

METRICS = {
    "toe": ("rmse", SHOWN["toe"][:5]),
    EDGES: ("macro-f1", ("micro-f1", "macro-f1", "AP", "AUC", "AUC same walk")),
    TIMELY: ("within 0.25", tuple(f"within {eps:.2f}" for eps in EPSILONS[::2])),
    "classes": ("macro-f1", ("micro-f1", "macro-f1", "micro-f1 new", "macro-f1 new")),
}  # by task: the main one, and those that tables show


def fill_paper_result(result: Result, plan: PaperPlan, answers: Mapping[str, Answers]) -> None:
    """Turn what was measured into figures, task by task."""
    measured: dict[str, dict[str, Measured]] = {}
    for name, given in answers.items():
        for task in METRICS:
            if task in given:
                measured.setdefault(task, {})[name] = given[task]
        if "edges per node" in given:
            measured[EDGES][PER_NODE.format(name)] = given["edges per node"]
            result.kinds[PER_NODE.format(name)] = "variant"
    ends = plan.test.query_places.size
    questions = {"toe": plan.test.toe.size, EDGES: 2 * ends, TIMELY: ends}
    groups: dict[str, Any] = {}
    if plan.classes is not None:
        parts, nodes = plan.classes, plan.classes.nodes
        groups["classes"] = {"new": ~np.isin(nodes[parts.test], nodes[parts.train])}
        questions["classes"] = parts.test.size
    for task, (main, shown) in METRICS.items():
        if task in measured:
            compared = COMPARED.get(task, (main,))
            targets = plan.test.dst if task == "toe" else None
            columns = questions[task], shown, compared, groups.get(task), targets
            result.add_measured(task, measured[task], plan.setting.seed, *columns)
    result.notes += _notes(plan, measured)


def _notes(plan: PaperPlan, measured: Mapping[str, Any]) -> list[str]:
    notes = []
    if plan.classes is not None and "classes" in measured:
        parts, nodes = plan.classes, plan.classes.nodes
        fraction = np.isin(nodes[parts.test], nodes[parts.train]).mean()
        notes.append(
            f"classes: {fraction:.0%} of the test nodes are in training walks too, with their label; "
            "the columns with `new` are about the others"
        )
    if EDGES in measured:
        notes.append(
            "edges: every end of a test edge is asked about the other end and about one place of the test walks whose "
            "node it has no link with; AUC same walk: against the places of its own walk that it has no link with"
        )
    if plan.test.no_negative_count and EDGES in measured:
        count = f"{plan.test.no_negative_count:,} of {plan.test.query_places.size:,}"
        notes.append(f"edges: {count} ends have a link with every node of the test walks; they get any place")
    if plan.classes is None and "classes" in plan.tasks:
        notes.append("classes are left out: there are no labels")
    for given, task in zip((given for given in TASKS if given != "within"), METRICS, strict=True):
        if given in plan.tasks and task not in measured and (given != "classes" or plan.classes is not None):
            notes.append(f"{task}: left out, no method here can answer")
    return notes
