"""Protocol "forecast": learn from the first 70% of the events, be judged on the last 15%, see nothing too early.

What happened in the test period before the moment of a question may be looked at; what is later never.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tadge.arrays import Flags, Ints, Report
from tadge.errors import InputError
from tadge.evaluation import questions as ask
from tadge.evaluation.classes import ClassQuestions, class_questions, classify, measure_classes
from tadge.evaluation.competitors import Answers, Competitor, ask_all, check_unseen, competitors, short_hash
from tadge.evaluation.config import Setting
from tadge.evaluation.figures import Measured
from tadge.evaluation.metrics import mrr, rmse
from tadge.evaluation.result import Result
from tadge.evaluation.tasks import (
    COMPARED,
    DAYS_MEDIAN,
    FORMER_ONLY,
    MAIN,
    SHOWN,
    SQUASHED_MEAN,
    STILL_OPEN,
    measure_links,
    measure_toe,
    measure_who_and_when,
    predict_toe,
    rank_historical,
    rank_links,
    vectors_of,
)
from tadge.evaluation.within import ask_first_targets, ask_times, ask_within, fill_within
from tadge.evaluation.within_questions import WithinQuestions, within_questions
from tadge.graph.graph import TemporalGraph
from tadge.graph.split import TimeSplit, split_by_time
from tadge.machine import peak_memory_mb
from tadge.protocols import (
    Answerer,
    EmbedsNodes,
    Fitted,
    PredictsToe,
    PredictsWithin,
    Prepares,
    RanksTargets,
    ScoresLinks,
    accepts,
)
from tadge.storage.atomic import atomic_file
from tadge.units import squash

MIN_TEST_EVENTS = 10
MAX_VALIDATION = 5_000  # validation events asked about
BEST_RULES = "best rules"

Groups = Mapping[str, Flags]  # questions by kind
Timed = Callable[[str, Callable[[Report], Any]], Any]  # does a piece of work and keeps its seconds


@dataclass(frozen=True, eq=False)
class ForecastPlan:
    """Hold all that is asked.

    Attributes:
        setting: graph, options and seed.
        split: the periods of the graph.
        links: the questions of the test period; `toe` alike.
        open_toe: those of `toe`, asked no earlier than right before the test period.
        classes: None where nobody is asked for classes.
        early_links: questions of the validation period; `early_toe` alike.
        within: None where nobody is asked within which time links come.
    """

    setting: Setting
    split: TimeSplit
    links: ask.LinkQuestions
    toe: ask.ToeQuestions
    open_toe: ask.ToeQuestions
    classes: ClassQuestions | None
    early_links: ask.LinkQuestions
    early_toe: ask.ToeQuestions
    within: WithinQuestions | None

    @property
    def tasks(self) -> Sequence[str]:
        """Give those that are judged."""
        return self.setting.config.tasks

    @property
    def kinds(self) -> tuple[str, ...]:
        """List the kinds of negatives to ask about; who-and-when needs random ones."""
        kinds = tuple(self.setting.config.against) if "links" in self.tasks else ()
        return tuple(dict.fromkeys((*kinds, "random"))) if "who-and-when" in self.tasks else kinds

    @property
    def asks_toe(self) -> bool:
        """Tell whether anybody is asked for ToEs."""
        return bool({"toe", "who-and-when"} & set(self.tasks)) and len(self.toe) > 0


def judge_forecasts(models: Sequence[Answerer], baselines: Sequence[str | Answerer] | None, setting: Setting) -> Result:
    """Judge models beside baselines; an estimator may be fitted to what is before the test period."""
    plan = make_forecast_plan(setting)
    check_unseen(models, plan.split.test_from)
    asks_within = plan.within is not None
    listed, notes = competitors(models, baselines, setting.config.control, setting.seed, asks_within)
    result = Result("forecast", notes=notes)
    fill_forecast_result(result, plan, ask_all(result, listed, lambda competitor: forecast_answers(competitor, plan)))
    return result


def make_forecast_plan(setting: Setting) -> ForecastPlan:
    """Split a graph by time and make all questions."""
    graph, seed, config = setting.graph, setting.seed, setting.config
    split = split_by_time(graph, *setting.shares)
    if split.test.num_events < MIN_TEST_EVENTS:
        found, cure = f"{split.test.num_events} of {graph.num_events:,}", "use a longer history"
        raise InputError("too few test events", expected=f"at least {MIN_TEST_EVENTS}", found=found, cure=cure)
    test, early = (split.test_from, np.inf), (split.validation_from, split.test_from)
    classes, before = None, float(np.nextafter(split.test_from, -np.inf))
    if "classes" in config.tasks and setting.labels is not None:
        classes = class_questions(graph, setting.labels, before, seed)
    toe = ask.toe_questions(graph, *test, seed, max(config.max_links, ask.MAX_TOE) if config.max_links else 0)
    return ForecastPlan(
        setting,
        split,
        ask.link_questions(graph, *test, seed, config.max_links, config.refresh, split.validation_from),
        toe,
        toe.still_open(graph, split.test_from),
        classes,
        ask.link_questions(graph, *early, seed, MAX_VALIDATION, config.refresh),
        ask.toe_questions(graph, *early, seed, MAX_VALIDATION),
        within_questions(graph, split, seed) if "within" in config.tasks else None,
    )


# -- asking one method ------------------------------------------------------------------------------------------------


def forecast_answers(competitor: Competitor, plan: ForecastPlan) -> Answers:
    """Fit a method and ask it everything; or take what it answered before a stop."""
    setting, place = plan.setting, None
    if setting.folder is not None and competitor.about is not None:
        asked = [plan.tasks, plan.kinds, len(plan.links), len(plan.toe), setting.seed, setting.config.refit]
        asked += [
            setting.config.refresh,
            plan.split.validation_from,
            plan.split.test_from,
            FORMER_ONLY,
            STILL_OPEN,
            0 if plan.within is None else len(plan.within),
        ]  # answers of before these tables are not taken
        asked += [competitor.shuffled, _digest(plan.classes), setting.graph.fingerprint, version("tadge")]
        place = setting.folder / f"{competitor.slug}-{short_hash(json.dumps([competitor.about, asked]))}.npz"
        with suppress(OSError, ValueError, EOFError, BadZipFile), np.load(place, allow_pickle=False) as kept:
            if "memory" in kept:
                return dict(kept)
    answers = _ask(competitor, plan)
    if place is not None:
        with atomic_file(place) as file:
            np.savez(file, **answers)
    return answers


def _ask(competitor: Competitor, plan: ForecastPlan) -> Answers:
    answers: Answers = {}
    setting, split = plan.setting, plan.split

    def timed(part: str, work: Callable[[Report], Any]) -> Any:
        began = time.perf_counter()
        with setting.bars.part(f"{competitor.name}: {part}") as report:
            done = work(report)
        answers[f"seconds {part}"] = np.float64(time.perf_counter() - began)
        return done

    def fitted(part: str, view: TemporalGraph) -> Answerer:
        began = time.perf_counter()
        method = competitor.fit(view, setting, _model_folder(competitor, setting, view))
        answers[f"seconds {part}"] = np.float64(time.perf_counter() - began)
        if isinstance(method, Prepares):
            timed("preparing", lambda report: method.prepare(setting.graph, progress=False))
        return method

    method = fitted("fit", split.train)
    if not _learned_from(competitor, split.validation_from):
        _ask_validation(method, plan, answers, timed)
    if setting.config.refit and competitor.fitted is None:
        method = fitted("refit", setting.graph.before(split.test_from))
    _ask_test(method, plan, answers, timed)
    answers["memory"] = np.float64(peak_memory_mb())
    return answers


def _ask_validation(method: Answerer, plan: ForecastPlan, answers: Answers, timed: Timed) -> None:
    if plan.kinds and isinstance(method, ScoresLinks):
        ranks = timed("validation links", lambda report: rank_links(method, plan.early_links, "random", report))
        answers["validation links mrr"] = np.float64(mrr(ranks))
    if plan.asks_toe and isinstance(method, PredictsToe) and len(plan.early_toe):
        asked, graph = plan.early_toe, plan.setting.graph
        (squashed,) = timed(
            "validation toe", lambda report: predict_toe(method, asked, graph, (SQUASHED_MEAN,), report)
        )
        answers["validation toe rmse"] = np.float64(rmse(squashed, squash(asked.toe)))


def _ask_test(method: Answerer, plan: ForecastPlan, answers: Answers, timed: Timed) -> None:
    graph = plan.setting.graph
    if isinstance(method, ScoresLinks):
        for kind in plan.kinds:
            part = f"links ({kind})"
            if kind == "historical":
                answers[part], answers[FORMER_ONLY] = timed(part, partial(rank_historical, method, plan.links))
            else:
                answers[part] = timed(part, partial(rank_links, method, plan.links, kind))
    if plan.asks_toe and isinstance(method, PredictsToe):
        ways = SQUASHED_MEAN, DAYS_MEDIAN
        predicted = timed("toe", lambda report: predict_toe(method, plan.toe, graph, ways, report))
        answers["toe squashed"], answers["toe days"] = predicted
        if "toe" in plan.tasks:
            later = plan.open_toe.at > plan.toe.at  # the others have been asked
            asked_again, predicted = plan.open_toe.take(later), predicted.copy()
            predicted[:, later] = timed(
                STILL_OPEN, lambda report: predict_toe(method, asked_again, graph, ways, report)
            )
            answers[f"{STILL_OPEN} squashed"], answers[f"{STILL_OPEN} days"] = predicted
    if plan.within is not None:
        _ask_within(method, plan.within, graph, answers, timed)
    if plan.classes is not None and isinstance(method, EmbedsNodes):
        asked = plan.classes
        vectors = timed("vectors", lambda report: vectors_of(method, asked.nodes, asked.at, graph, report))
        answers["classes"] = timed("classes", lambda report: classify(vectors, asked))


def _ask_within(
    method: Answerer, questions: WithinQuestions, graph: TemporalGraph, answers: Answers, timed: Timed
) -> None:
    if isinstance(method, PredictsWithin):
        answers["within"] = timed("within", partial(ask_within, method, questions, graph))
        answers["reached"] = timed("when", partial(ask_times, method, questions, graph))
    if isinstance(method, RanksTargets) and accepts(method.rank, "before"):
        ranked = timed("ranking probabilities", partial(ask_first_targets, method, questions, graph))
        answers["first targets"], answers["first true"] = ranked


def _learned_from(competitor: Competitor, moment: float) -> bool:
    """Tell whether a method that is taken as it is has learned from what is not before a moment."""
    seen = competitor.fitted.graph_ if isinstance(competitor.fitted, Fitted) else competitor.learns_from
    return seen is not None and seen.num_events > 0 and bool(seen.time[-1] >= moment)


def _model_folder(competitor: Competitor, setting: Setting, view: TemporalGraph) -> Path | None:
    known = json.dumps([competitor.about, setting.seed, view.fingerprint])
    return None if setting.folder is None else setting.folder / f"{competitor.slug}-model-{short_hash(known)}"


def _digest(asked: ClassQuestions | None) -> str | None:
    return None if asked is None else short_hash(repr((asked.nodes.tobytes(), asked.labels.tobytes())))


# -- figures ----------------------------------------------------------------------------------------------------------


def fill_forecast_result(result: Result, plan: ForecastPlan, answers: Mapping[str, Answers]) -> None:
    """Turn answers into figures, task by task."""
    links, toe, graph = plan.links, plan.toe, plan.setting.graph
    links_by, toe_by, open_by = (
        ask.kinds_of(graph, asked.src, asked.dst, asked.at, asked.unseen) for asked in (links, toe, plan.open_toe)
    )
    for kind in plan.setting.config.against if "links" in plan.tasks else ():
        task = f"links ({kind})"
        measured = {name: measure_links(given[task]) for name, given in answers.items() if task in given}
        _add(result, plan, task, measured, len(links), links_by, links.dst)
        if kind == "historical" and links.num_former.any():
            has_former = links.num_former > 0
            measured = {name: measure_links(answers[name][FORMER_ONLY][has_former]) for name in measured}
            chosen = {name: mask[has_former] for name, mask in links_by.items()}
            _add(result, plan, FORMER_ONLY, measured, int(has_former.sum()), chosen, links.dst[has_former])
    for task, groups in (("toe", toe_by), (STILL_OPEN, open_by)) if "toe" in plan.tasks and len(toe) else ():
        measured = {
            name: measure_toe(given[f"{task} squashed"], given[f"{task} days"], toe.toe)
            for name, given in answers.items()
            if f"{task} squashed" in given
        }
        _add(result, plan, task, measured, len(toe), groups, toe.dst)
    if "who-and-when" in plan.tasks and len(toe):
        _who_and_when(result, plan, answers, links_by)
    if plan.within is not None:
        learned_from = graph.before(plan.split.test_from) if plan.setting.config.refit else plan.split.train
        fill_within(result, plan.within, answers, learned_from, graph, plan.setting.seed)
    if plan.classes is not None:
        asked = plan.classes
        measured = {
            name: measure_classes(asked, given["classes"]) for name, given in answers.items() if "classes" in given
        }
        _add(result, plan, "classes", measured, asked.test.size)
    result.notes += _notes(plan)


def _add(
    result: Result,
    plan: ForecastPlan,
    task: str,
    measured: Mapping[str, Measured],
    questions: int,
    groups: Groups | None = None,
    targets: Ints | None = None,
) -> None:
    if not measured:
        result.notes.append(f"{task} is left out: no method here can answer it")
        return
    kind = next(kind for kind in MAIN if task.startswith(kind))
    compared = COMPARED.get(kind, (MAIN[kind],))
    result.add_measured(task, measured, plan.setting.seed, questions, SHOWN[kind], compared, groups, targets)
    if groups is not None:
        result.tasks[task] |= {name: int(np.count_nonzero(mask)) for name, mask in groups.items()}


def _who_and_when(result: Result, plan: ForecastPlan, answers: Mapping[str, Answers], groups: Groups) -> None:
    """Ask for both at once, of the events asked about in both ways; ToE as predicted in days."""
    _, link, timed = np.intersect1d(plan.links.event, plan.toe.event, assume_unique=True, return_indices=True)
    if not link.size:
        return
    pairs = {name: (name, name) for name in answers}
    baselines = [name for name in answers if result.kinds[name] == "rule"]
    who = _best_early(result, baselines, "links mrr", max)
    when = _best_early(result, baselines, "toe rmse", min)
    if who is not None and when is not None and BEST_RULES not in answers:
        pairs[BEST_RULES], result.kinds[BEST_RULES] = (who, when), "rule"
        result.notes.append(f"{BEST_RULES}: {who} for links and {when} for ToE, chosen on the validation period")
    toe = plan.toe.toe[timed]
    measured = {
        name: measure_who_and_when(
            answers[ranking]["links (random)"][link], squash(answers[timing]["toe days"][timed]), toe
        )
        for name, (ranking, timing) in pairs.items()
        if "links (random)" in answers[ranking] and "toe days" in answers[timing]
    }
    chosen = {name: mask[link] for name, mask in groups.items()}
    _add(result, plan, "who-and-when", measured, link.size, chosen, plan.links.dst[link])


def _best_early(result: Result, names: Sequence[str], figure: str, best: Callable[..., str]) -> str | None:
    """Name the method with the best figure on the validation period."""
    figures = {name: result.validation[name][figure] for name in names if figure in result.validation[name]}
    return best(figures, key=lambda name: figures[name]) if figures else None


def _notes(plan: ForecastPlan) -> list[str]:
    notes, links, toe = [], plan.links, plan.toe
    if plan.kinds and links.asked_of > len(links):
        notes.append(f"links: {len(links):,} of {links.asked_of:,} test events were asked about, drawn by the seed")
    if plan.asks_toe and toe.asked_of > len(toe):
        notes.append(
            f"toe: {len(toe):,} of {toe.asked_of:,} test events with a ToE were asked about, drawn by the seed"
        )
    if not len(toe) and {"toe", "who-and-when"} & set(plan.tasks):
        notes.append("toe and who-and-when are left out: no event of the test period has a ToE")
    if plan.kinds and links.refresh > 1:
        notes.append(
            f"links: known is what happened before each batch of {links.refresh:,} test events; "
            "a question keeps its own moment"
        )
    if len(toe) and "toe" in plan.tasks:
        later = np.count_nonzero(plan.open_toe.at > toe.at)
        notes.append(
            f"{STILL_OPEN}: the same questions, but none is asked before the test period begins; for {later:,} of "
            f"{len(toe):,} the target had joined before it, and it is known that the link had not come by then"
        )
    if "historical" in plan.kinds:
        fraction, has_former = links.historical_fraction, np.count_nonzero(links.num_former)
        notes.append(f"historical negatives: {fraction:.0%} are former targets of the source, the others random")
        notes.append(
            f"{FORMER_ONLY}: without the random ones; of {has_former:,} of {len(links):,} questions, whose source had "
            "linked to anybody but the true target"
        )
    if plan.classes is None and "classes" in plan.tasks:
        notes.append("classes are left out: there are no labels")
    if plan.classes is not None and plan.classes.asked_of > plan.classes.train.size:
        notes.append(f"classes: learned from {plan.classes.train.size:,} of {plan.classes.asked_of:,} nodes")
    if plan.setting.config.refit:
        part = "the first 85% of the events" if plan.setting.config.origins == 1 else "all that is before it"
        notes.append(f"methods learned from {part} before the test")
    return notes
