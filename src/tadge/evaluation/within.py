"""Task "within": is the probability of a link within a given time right, and when does the link come?

Methods are asked for pairs of the test period as of moments, for all horizons at once; then, of links that came, for
the probability by the very time at which each came; and those that rank, for the first targets of test events.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Flags, NodeNumbers, Report
from tadge.baselines.within import PairRates
from tadge.errors import TadgeWarning
from tadge.evaluation.figures import Measured
from tadge.evaluation.questions import SCORES_AT_ONCE
from tadge.evaluation.result import Result
from tadge.evaluation.tasks import checked
from tadge.evaluation.within_figures import (
    coverage_by_slice,
    measure_probabilities,
    measure_times,
    reliability,
)
from tadge.evaluation.within_questions import WithinQuestions, in_words
from tadge.graph.graph import TemporalGraph
from tadge.protocols import PredictsWithin, RanksTargets, name_of, ranking_of

FIRST_TARGETS = 10  # of each event, whose probabilities are asked for
AT_ONCE = 64  # links whose times are asked about together: each with those of all others, of which one counts
RISK_HORIZON = 2  # which of the horizons orders pairs by how soon the link comes: a week
WHEN, RANKING = "when", "ranking probabilities"
SHOWN = ("brier", "skill", "gap", "said", "true")
SHOWN_WHEN = ("c-index", "coverage 80", "coverage 95")


# -- asking -----------------------------------------------------------------------------------------------------------


def longest_horizon(method: object) -> float:
    """Give the longest time that a method can be asked about, in days."""
    return float(getattr(method, "horizon_", np.inf))


def ask_within(method: PredictsWithin, questions: WithinQuestions, graph: TemporalGraph, report: Report) -> Days:
    """Ask for the probability of each pair within each horizon, (Q, H); NaN where it is too long for a method."""
    said = np.full((len(questions), questions.horizons.size), np.nan)
    can = questions.horizons <= longest_horizon(method)
    pairs = questions.pairs
    for first in range(0, len(questions) if can.any() else 0, SCORES_AT_ONCE):
        cut = slice(first, first + SCORES_AT_ONCE)
        asked = pairs.src[cut], pairs.dst[cut], pairs.at[cut]
        said[cut, can] = _within(method, *asked, questions.horizons[can], graph)
        report(min(cut.stop, len(questions)), len(questions))
    return said


def ask_times(method: PredictsWithin, questions: WithinQuestions, graph: TemporalGraph, report: Report) -> Days:
    """Ask how likely links were to come by when they came, given that they came while somebody looked, (Q,).

    Somebody looks until the end of the history, or as long as the method can be asked about. NaN where no link came by
    then, or where it was not asked.
    """
    pairs, reached = questions.pairs, np.full(len(questions), np.nan)
    limit = np.minimum(pairs.left, longest_horizon(method))
    asked = questions.timed[pairs.wait[questions.timed] <= limit[questions.timed]]
    asked = asked[np.argsort(pairs.at[asked], kind="stable")]
    for first in range(0, asked.size, AT_ONCE):
        some = asked[first : first + AT_ONCE]
        days = np.concatenate([pairs.wait[some], limit[some]])
        said = _within(method, pairs.src[some], pairs.dst[some], pairs.at[some], days, graph)
        rows = np.arange(some.size)
        by_then, by_limit = said[rows, rows], said[rows, rows + some.size]
        reached[some] = np.divide(by_then, by_limit, out=np.full(some.size, 0.5), where=by_limit > 0)
        report(first + some.size, asked.size)
    return reached


def ask_first_targets(
    method: RanksTargets, questions: WithinQuestions, graph: TemporalGraph, report: Report
) -> tuple[Days, Flags]:
    """Ask for the first targets of events right before them: their probabilities, and which was the one, (R, 10) each.

    Where there are fewer targets the rest is NaN.
    """
    said = np.full((questions.ranked.size, FIRST_TARGETS), np.nan)
    true = np.zeros(said.shape, bool)
    for place, event in enumerate(questions.ranked.tolist()):
        with _no_warnings():
            moment, source = float(graph.time[event]), NodeNumbers(graph.src[event])
            ranked = ranking_of(method.rank(source, k=FIRST_TARGETS, before=moment, graph=graph))
        probabilities = [probability for _, probability in ranked]
        what = f"the probabilities of targets of {name_of(method)}"
        said[place, : len(ranked)] = checked(probabilities, (len(ranked),), what, _no_probability)
        true[place, : len(ranked)] = [target == graph.ids[graph.dst[event]] for target, _ in ranked]
        report(place + 1, questions.ranked.size)
    return said, true


def _within(
    method: PredictsWithin, src: Any, dst: Any, at: Days, days: Days, graph: TemporalGraph
) -> npt.NDArray[np.float64]:
    with _no_warnings():
        answer = method.within(NodeNumbers(src), NodeNumbers(dst), days, at, graph=graph)
    return checked(answer, (at.size, days.size), f"the probabilities of {name_of(method)}", _no_probability)


def _no_warnings() -> warnings.catch_warnings[None]:
    """Keep methods from warning that what they learned is old: here it is so for all."""
    return warnings.catch_warnings(action="ignore", category=TadgeWarning)


def _no_probability(values: npt.NDArray[Any]) -> Flags:
    return ~((values >= 0) & (values <= 1))


# -- figures ----------------------------------------------------------------------------------------------------------


def fill_within(
    result: Result,
    questions: WithinQuestions,
    answers: Mapping[str, Mapping[str, Any]],
    learned_from: TemporalGraph,
    graph: TemporalGraph,
    seed: int,
) -> None:
    """Add the tables of all horizons, of when links come, and of the probabilities of first targets."""
    said = {name: given["within"] for name, given in answers.items() if "within" in given}
    if not said or not len(questions):
        result.notes.append("within is left out: no method here can answer it")
        return
    reference = ask_within(PairRates(seed).fit(learned_from), questions, graph, lambda *_: None)
    pairs = questions.pairs
    for column, horizon in enumerate(questions.horizons.tolist()):
        task, asked, comes = f"within {in_words(horizon)}", questions.asked(horizon), pairs.wait <= horizon
        able = {name: values[asked, column] for name, values in said.items() if not np.isnan(values[:, column]).any()}
        if not asked.any() or not able:
            why = "no method here can be asked about so long a time" if asked.any() else "the test period is shorter"
            result.notes.append(f"{task} is left out: {why}")
            continue
        measured = {
            name: measure_probabilities(values, comes[asked], reference[asked, column]) for name, values in able.items()
        }
        _add(result, task, measured, SHOWN, pairs.dst[asked], seed)
        result.tasks[task]["reliability"] = {name: reliability(values, comes[asked]) for name, values in able.items()}
        _note_left_out(result, task, asked, [name for name in said if name not in able])
    _add_when(result, questions, answers, said, seed)
    _add_ranking(result, questions, answers, graph, seed)
    result.notes.append(
        f"within: {len(questions):,} pairs as of moments of the test period, chosen by their past alone; skill: over "
        f"{PairRates.name}; gap: the largest between what was said and what came true, of ten equal groups in order of "
        "what was said"
    )


def _add(result: Result, task: str, measured: Mapping[str, Measured], shown: Any, targets: Any, seed: int) -> None:
    main = shown[0]
    result.add_measured(task, measured, seed, targets.size, shown, (main,), None, targets)


def _note_left_out(result: Result, task: str, asked: Flags, unable: list[str]) -> None:
    if not asked.all():
        missing = asked.size - np.count_nonzero(asked)
        result.notes.append(f"{task}: {missing:,} of {asked.size:,} pairs are left out: the history ends before")
    if unable:
        names = ", ".join(unable)
        result.notes.append(f"{task}: not asked, as the history learned from is too short for it: {names}")


def _add_when(
    result: Result,
    questions: WithinQuestions,
    answers: Mapping[str, Mapping[str, Any]],
    said: Mapping[str, Days],
    seed: int,
) -> None:
    """Add the table of when links come: in which order, and at how likely a time."""
    pairs, measured, slices = questions.pairs, {}, {}
    for name, values in said.items():
        able = np.flatnonzero(~np.isnan(values).any(axis=0))
        if not able.size:
            continue
        risk, reached = values[:, min(RISK_HORIZON, int(able[-1]))], answers[name]["reached"]
        measured[name] = measure_times(risk, pairs.passed, pairs.came, reached)
        slices[name] = coverage_by_slice(reached, pairs.at, questions.begin, questions.end)
    if not measured or not questions.timed.size:
        result.notes.append(f"{WHEN} is left out: no link came that anybody was asked about")
        return
    _add(result, WHEN, measured, SHOWN_WHEN, pairs.dst, seed)
    result.tasks[WHEN] |= {"links": questions.num_came, "slices": slices}
    asked = f"{questions.timed.size:,} of {questions.num_came:,}"
    result.notes.append(
        f"{WHEN}: C-index of all pairs by their probability within a week, or the nearest to it that a method gives; "
        f"coverage: of {asked} links that came, the fraction at a time within the central 80% and 95% of what was said"
    )


def _add_ranking(
    result: Result,
    questions: WithinQuestions,
    answers: Mapping[str, Mapping[str, Any]],
    graph: TemporalGraph,
    seed: int,
) -> None:
    """Add the table of the probabilities of first targets."""
    ranked = {name: given for name, given in answers.items() if "first targets" in given}
    if not ranked or not questions.ranked.size:
        return
    some = ~np.isnan(next(iter(ranked.values()))["first targets"])
    targets = np.broadcast_to(graph.dst[questions.ranked][:, None], some.shape)[some].astype(np.int64)
    given = {name: (answer["first targets"][some], answer["first true"][some]) for name, answer in ranked.items()}
    given = {name: pair for name, pair in given.items() if not np.isnan(pair[0]).any()}
    measured = {name: measure_probabilities(*pair) for name, pair in given.items()}
    if measured:
        _add(result, RANKING, measured, SHOWN, targets, seed)
        result.tasks[RANKING]["reliability"] = {name: reliability(*pair) for name, pair in given.items()}
        result.notes.append(
            f"{RANKING}: of the first {FIRST_TARGETS} targets of {questions.ranked.size:,} test events whose target "
            "had joined, asked right before"
        )
