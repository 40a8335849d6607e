"""Protocol "forecast": learn from the first 70% of the events, be judged on the last 15%, see nothing too early.

What happened in the test period before the moment of a question may be looked at; what is later never.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from tadge.arrays import Ints
from tadge.config import MAX_LINKS
from tadge.errors import InputError
from tadge.evaluation import questions as ask
from tadge.evaluation.classes import ClassQuestions, class_columns, class_questions, classify
from tadge.evaluation.entrants import Entrant, check_unseen, entrants, short_hash
from tadge.evaluation.figures import judged
from tadge.evaluation.metrics import mrr, rmse
from tadge.evaluation.result import Result
from tadge.evaluation.show import Show
from tadge.evaluation.tasks import (
    MAIN,
    SHOWN,
    Method,
    can,
    guess_toe,
    link_columns,
    rank_links,
    toe_columns,
    vectors_of,
    when_columns,
)
from tadge.graph import TemporalGraph
from tadge.graph.split import TimeSplit, split_by_time
from tadge.machine import peak_memory_mb
from tadge.storage.atomic import atomic_file
from tadge.units import squash

FEWEST = 10  # test events
MOST_VALIDATION = 5_000  # validation events asked about
BEST_RULES = "best rules"

Answers = dict[str, Any]  # arrays, and plain numbers
Groups = Mapping[str, npt.NDArray[np.bool_]]  # questions by kind


@dataclass(frozen=True, eq=False)
class Plan:
    """Hold all that is asked.

    Attributes:
        graph: the whole history.
        split: its periods.
        seed: of all draws.
        tasks: those judged.
        negatives: the kinds of wrong answers judged.
        links: the questions of the test period; `toe` alike.
        classes: None where nobody is asked for classes.
        early_links: questions of the validation period; `early_toe` alike.
        refit: whether methods learn from the validation period too before the test.
    """

    graph: TemporalGraph
    split: TimeSplit
    seed: int
    tasks: tuple[str, ...]
    negatives: tuple[str, ...]
    links: ask.LinkQuestions
    toe: ask.ToeQuestions
    classes: ClassQuestions | None
    early_links: ask.LinkQuestions
    early_toe: ask.ToeQuestions
    refit: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """List the kinds of wrong answers to ask about; who-and-when needs random ones."""
        kinds = self.negatives if "links" in self.tasks else ()
        return tuple(dict.fromkeys((*kinds, "random"))) if "who-and-when" in self.tasks else kinds


def judge(
    model: Method | None,
    graph: TemporalGraph,
    tasks: tuple[str, ...],
    labels: Ints | None,
    seed: int,
    *,
    methods: Sequence[str | Method] | None = None,
    negatives: tuple[str, ...] = ("random", "historical"),
    refit: bool = False,
    control: bool = True,
    folder: Path | None = None,
    report: Show | None = None,
    most: int = MAX_LINKS.default,
) -> Result:
    """Judge a model and its rivals.

    Args:
        model: a TADGE, fitted to what is before the test period or not at all; or a method; or None.
        graph: the whole history.
        tasks: those of `tadge.evaluation.tasks.TASKS` to judge.
        labels: (N,) class numbers, -1 without one; None: nobody is asked for classes.
        seed: of questions, baselines and resampling.
        methods: names of baselines, or methods; None: all baselines.
        negatives: kinds of wrong answers.
        refit: learn from the first 85% before the test, after all that is chosen on validation has been chosen.
        control: let a TADGE of the same options learn from shuffled times.
        folder: where models and answers are kept, so that the work can go on after a stop.
        report: shows progress.
        most: links asked about, where the test period has more; 0: all.
    """
    split = split_by_time(graph)
    if split.test.num_events < FEWEST:
        found, cure = f"{split.test.num_events} of {graph.num_events:,}", "use a longer history"
        raise InputError("too few test events", expected=f"at least {FEWEST}", found=found, cure=cure)
    check_unseen(model, split.test_from)
    plan, result = make_plan(graph, split, tasks, labels, seed, negatives, refit, most), Result("forecast")
    taking_part, result.notes = entrants(model, methods, control, seed)
    answers = {}
    for entrant in taking_part:
        answers[entrant.name] = answers_of(entrant, plan, folder, report or Show(False))
        result.kinds[entrant.name] = entrant.kind
        result.times[entrant.name] = _under(answers[entrant.name], "seconds ")
        result.validation[entrant.name] = _under(answers[entrant.name], "validation ")
        result.peak_memory_mb = max(result.peak_memory_mb, float(answers[entrant.name]["memory"]))
    leader = taking_part[0].name if model is not None else None
    sum_up(result, plan, answers, leader)
    return result


def make_plan(
    graph: TemporalGraph,
    split: TimeSplit,
    tasks: tuple[str, ...],
    labels: Ints | None,
    seed: int,
    negatives: tuple[str, ...],
    refit: bool,
    most: int,
) -> Plan:
    """Make all questions."""
    test, early = (split.test_from, np.inf), (split.validation_from, split.test_from)
    classes, before = None, float(np.nextafter(split.test_from, -np.inf))
    if "classes" in tasks and labels is not None:
        classes = class_questions(graph, labels, before, seed)
    return Plan(
        graph,
        split,
        seed,
        tasks,
        negatives,
        ask.link_questions(graph, *test, seed, most),
        ask.toe_questions(graph, *test, seed, max(most, ask.MOST_TOE) if most else 0),
        classes,
        ask.link_questions(graph, *early, seed, MOST_VALIDATION),
        ask.toe_questions(graph, *early, seed, MOST_VALIDATION),
        refit,
    )


# -- asking one method ------------------------------------------------------------------------------------------------


def answers_of(entrant: Entrant, plan: Plan, folder: Path | None, show: Show) -> Answers:
    """Fit a method and ask it everything; or take what it answered before a stop."""
    place = None
    if folder is not None and entrant.about is not None:
        asked = [plan.tasks, plan.kinds, len(plan.links), len(plan.toe), plan.seed, plan.refit, entrant.shuffled]
        asked += [_digest(plan.classes), plan.graph.fingerprint, version("tadge")]
        place = folder / f"{entrant.slug}-{short_hash(json.dumps([entrant.about, asked]))}.npz"
        with suppress(OSError, ValueError, EOFError, BadZipFile), np.load(place, allow_pickle=False) as kept:
            if "memory" in kept:
                return dict(kept)
    found = _ask(entrant, plan, folder, show)
    if place is not None:
        with atomic_file(place) as file:
            np.savez(file, **found)
    return found


def _ask(entrant: Entrant, plan: Plan, folder: Path | None, show: Show) -> Answers:
    found: Answers = {}
    split = plan.split

    def timed(part: str, work: Callable[[Callable[[int, int], None]], Any]) -> Any:
        began = time.perf_counter()
        with show.part(f"{entrant.name}: {part}") as report:
            done = work(report)
        found[f"seconds {part}"] = np.float64(time.perf_counter() - began)
        return done

    began = time.perf_counter()
    method = entrant.fit(split.train, plan.seed, _model_folder(entrant, plan, split.train, folder), show)
    found["seconds fit"] = np.float64(time.perf_counter() - began)
    _prepare(method, plan, timed)
    if not _learned_from(entrant, split.validation_from):
        if plan.kinds and can(method, "score_links"):
            ranks = timed("validation links", lambda report: rank_links(method, plan.early_links, "random", report))
            found["validation links mrr"] = np.float64(mrr(ranks))
        if _asks_toe(plan) and can(method, "predict_toe") and len(plan.early_toe):
            asked = plan.early_toe
            guess = timed("validation toe", lambda report: guess_toe(method, asked, plan.graph, True, report))
            found["validation toe rmse"] = np.float64(rmse(guess, squash(asked.toe)))
    if plan.refit and entrant.fitted is None:
        began = time.perf_counter()
        view = plan.graph.before(split.test_from)
        method = entrant.fit(view, plan.seed, _model_folder(entrant, plan, view, folder), show)
        found["seconds refit"] = np.float64(time.perf_counter() - began)
        _prepare(method, plan, timed)
    _ask_test(method, plan, found, timed)
    found["memory"] = np.float64(peak_memory_mb())
    return found


def _prepare(method: Method, plan: Plan, timed: Callable[..., Any]) -> None:
    """Let a method that can do so embed a graph once."""
    if can(method, "prepare"):
        timed("preparing", lambda report: method.prepare(plan.graph, progress=False))


def _ask_test(method: Method, plan: Plan, found: Answers, timed: Callable[..., Any]) -> None:
    if can(method, "score_links"):
        for kind in plan.kinds:
            part = f"links ({kind})"
            found[part] = timed(part, lambda report, kind=kind: rank_links(method, plan.links, kind, report))
    if _asks_toe(plan) and can(method, "predict_toe"):
        for unit, squashed in (("squashed", True), ("days", False)):
            found[f"toe {unit}"] = timed(
                f"toe {unit}",
                lambda report, squashed=squashed: guess_toe(method, plan.toe, plan.graph, squashed, report),
            )
    if plan.classes is not None and can(method, "embed"):
        asked = plan.classes
        vectors = timed("vectors", lambda report: vectors_of(method, asked.nodes, asked.at, plan.graph, report))
        found["classes"] = timed("classes", lambda report: classify(vectors, asked))


def _asks_toe(plan: Plan) -> bool:
    return bool({"toe", "who-and-when"} & set(plan.tasks)) and len(plan.toe) > 0


def _learned_from(entrant: Entrant, moment: float) -> bool:
    """Tell whether a method that is taken as it is has learned from what is not before a moment."""
    seen = entrant.fitted.graph_ if entrant.fitted is not None else entrant.learns_from
    return seen is not None and seen.num_events > 0 and bool(seen.time[-1] >= moment)


def _model_folder(entrant: Entrant, plan: Plan, view: TemporalGraph, folder: Path | None) -> Path | None:
    known = json.dumps([entrant.about, plan.seed, view.fingerprint])
    return None if folder is None else folder / f"{entrant.slug}-model-{short_hash(known)}"


def _digest(asked: ClassQuestions | None) -> str | None:
    return None if asked is None else short_hash(repr((asked.nodes.tobytes(), asked.labels.tobytes())))


def _under(answers: Answers, prefix: str) -> dict[str, float]:
    return {key.removeprefix(prefix): float(value) for key, value in answers.items() if key.startswith(prefix)}


# -- summing up -------------------------------------------------------------------------------------------------------


def sum_up(result: Result, plan: Plan, answers: Mapping[str, Answers], model: str | None) -> None:
    """Turn answers into figures, task by task."""
    links, toe = plan.links, plan.toe
    links_by, toe_by = (ask.kinds_of(plan.graph, each.src, each.dst, each.at, each.unseen) for each in (links, toe))
    for kind in plan.negatives if "links" in plan.tasks else ():
        task = f"links ({kind})"
        measured = {name: link_columns(each[task]) for name, each in answers.items() if task in each}
        _add(result, plan, task, measured, len(links), links_by, model)
    if "toe" in plan.tasks and len(toe):
        measured = {
            name: toe_columns(each["toe squashed"], each["toe days"], toe.toe)
            for name, each in answers.items()
            if "toe squashed" in each
        }
        _add(result, plan, "toe", measured, len(toe), toe_by, model)
    if "who-and-when" in plan.tasks and len(toe):
        _who_and_when(result, plan, answers, links_by, model)
    if plan.classes is not None:
        asked = plan.classes
        measured = {name: class_columns(asked, each["classes"]) for name, each in answers.items() if "classes" in each}
        _add(result, plan, "classes", measured, asked.test.size, None, model)
    result.notes += _notes(result, plan)


def _add(
    result: Result,
    plan: Plan,
    task: str,
    measured: Mapping[str, Any],
    questions: int,
    groups: Groups | None,
    model: str | None,
) -> None:
    if not measured:
        result.notes.append(f"{task} is left out: no method here can answer it")
        return
    kind = task.partition(" ")[0]
    figures, comparisons = judged(measured, plan.seed, groups, task=task, main=MAIN[kind], model=model)
    result.add(task, MAIN[kind], SHOWN[kind], questions, figures, comparisons)
    if groups is not None:
        result.tasks[task] |= {name: int(np.count_nonzero(chosen)) for name, chosen in groups.items()}


def _who_and_when(
    result: Result, plan: Plan, answers: Mapping[str, Answers], groups: Groups, model: str | None
) -> None:
    """Ask for both at once, of the events that have a ToE and were asked about in both ways; ToE as guessed in days."""
    _, link, timed = np.intersect1d(plan.links.event, plan.toe.event, assume_unique=True, return_indices=True)
    if not link.size:
        return
    pairs = {name: (name, name) for name in answers}
    rules = [name for name in answers if result.kinds[name] == "rule"]
    who = _top(result, rules, "links mrr", max)
    when = _top(result, rules, "toe rmse", min)
    if who is not None and when is not None and BEST_RULES not in answers:
        pairs[BEST_RULES], result.kinds[BEST_RULES] = (who, when), "rule"
        result.notes.append(f"{BEST_RULES}: {who} for links and {when} for ToE, chosen on the validation period")
    measured = {
        name: when_columns(answers[one]["links (random)"][link], squash(answers[other]["toe days"][timed]), toe)
        for toe in (plan.toe.toe[timed],)
        for name, (one, other) in pairs.items()
        if "links (random)" in answers[one] and "toe days" in answers[other]
    }
    own = {name: chosen[link] for name, chosen in groups.items()}
    _add(result, plan, "who-and-when", measured, link.size, own, model)


def _top(result: Result, names: Sequence[str], figure: str, best: Callable[..., str]) -> str | None:
    found = {name: result.validation[name][figure] for name in names if figure in result.validation[name]}
    return best(found, key=lambda name: found[name]) if found else None


def _notes(result: Result, plan: Plan) -> list[str]:
    notes, links, toe = [], plan.links, plan.toe
    if plan.kinds and links.asked_of > len(links):
        notes.append(f"links: {len(links):,} of {links.asked_of:,} test events were asked about, drawn by the seed")
    if _asks_toe(plan) and toe.asked_of > len(toe):
        notes.append(
            f"toe: {len(toe):,} of {toe.asked_of:,} test events with a ToE were asked about, drawn by the seed"
        )
    if not len(toe) and {"toe", "who-and-when"} & set(plan.tasks):
        notes.append("toe and who-and-when are left out: no event of the test period has a ToE")
    if "historical" in plan.kinds:
        share = links.historical_share
        notes.append(f"historical negatives: {share:.0%} are former targets of the source, the others random")
    if plan.classes is None and "classes" in plan.tasks:
        notes.append("classes are left out: there are no labels")
    if plan.classes is not None and plan.classes.asked_of > plan.classes.train.size:
        notes.append(f"classes: learned from {plan.classes.train.size:,} of {plan.classes.asked_of:,} nodes")
    if plan.refit:
        notes.append("methods learned from the first 85% of the events before the test")
    return notes
