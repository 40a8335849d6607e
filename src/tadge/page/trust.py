"""Section "how far to trust it": probabilities beside what came, intervals, and the models beside simple rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tadge.evaluation.figures import badness, outcome
from tadge.evaluation.result import Result
from tadge.forecasting.estimator import Forecaster
from tadge.page.content import Material
from tadge.page.parts import card, figure, grid, note, plural, section, table
from tadge.plots.chart import Chart, responsive, row_chart
from tadge.plots.markup import Markup, element
from tadge.plots.scales import LengthScale, LinearScale, Tick
from tadge.report.answers import as_polars, percent_text, wait_text

RULES_SHOWN = 6  # the best ones
FORECASTER_ROW = Forecaster.name
LINKS, TOE, WHEN_TASK = "links (random)", "toe", "when"
CHIPS = {"wins": "wins", "loses": "loses"}
SHORTEST_ERROR = 1 / 86_400  # days
TASKS_IN_WORDS = {
    "links (random)": "who is linked to, among random others",
    "links (historical)": "who is linked to, among former targets",
    "links (former targets only)": "who is linked to, among former targets alone",
    "toe": "how long an edge takes",
    "toe, still open": "how long an edge takes that is still open",
    "when": "in which order links come",
}


@dataclass(frozen=True)
class RootScale:
    """Map probabilities by their square root, so that small ones can be told apart."""

    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Give the place of a value."""
        return self.start + (self.end - self.start) * math.sqrt(min(max(value, 0.0), self.high) / self.high)

    def ticks(self, count: int) -> list[Tick]:
        """List ticks at percentages that people know."""
        known = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
        inside = [value for value in known if value <= self.high * 1.0001]
        least, kept = abs(self.end - self.start) / max(count + 2, 1) * 0.6, [0.0]
        for value in inside[1:]:
            if abs(self(value) - self(kept[-1])) >= least:
                kept.append(value)
        return [Tick(value, f"{100 * value:g}%") for value in kept]


def trust_section(material: Material) -> Markup:
    """Tell how good forecasts were on events that the models had not seen."""
    title, result = "How far to trust it", material.evaluation
    if result is None:
        why = material.note("judging") or "this model was not judged on its last events; tadge evaluate does so"
        return section("trust", title, f"Not judged in full: {why}.", latest_fifth_card(material))
    lead = (
        "The same models learned from the first 70% of the events and were asked about the last 15% as if those had "
        "not happened, each question from what was known at its moment. Simple rules were asked the same."
    )
    horizons = [task for task in result.tasks if task.startswith("within ")]
    parts: list[Any] = [verdicts_card(result)]
    cards = [reliability_card(result, horizons)] if horizons and _judged(result, horizons[-1]) else []
    if WHEN_TASK in result.tasks and _judged(result, WHEN_TASK):
        cards.append(coverage_card(result))
    if LINKS in result.tasks:
        cards.append(links_card(result))
    if TOE in result.tasks:
        cards.append(errors_card(result))
    parts += [grid(*cards), _notes(result)]
    if material.note("judging vectors"):
        parts.append(note(f"Vectors: {material.note('judging vectors')}.", kind="small note"))
    return section("trust", title, lead, *parts)


def latest_fifth_card(material: Material) -> Markup | None:
    """Lay out how the Forecaster stood beside simple rules on the latest fifth of what it learned from."""
    if material.forecaster is None:
        return None
    checks = as_polars(material.forecaster.validation_)
    if not len(checks):
        return None
    rows = []
    for row in checks.iter_rows(named=True):
        verdict = "loses" if row["high"] < 0 else "wins" if row["low"] > 0 else "no clear difference"
        chip = element("span", verdict, class_=f"chip {CHIPS.get(verdict, 'even')}")
        asked = f"{row['kind']}, against {row['against']}"
        rows.append((asked, chip, f"{row['mrr']:.3f}", f"{row['rule_mrr']:.3f}", row["rule"], f"{row['questions']:,}"))
    headings = ("events", "Forecaster", "its MRR", "best rule's", "that rule", "questions")
    title = "On the latest fifth of the events, by a model of those before"
    return card(title, table(headings, rows, numbers=(2, 3, 5)))


def _judged(result: Result, task: str) -> bool:
    return bool(result.figures(FORECASTER_ROW, task))


def _notes(result: Result) -> Markup:
    listed = element("ul", *(element("li", line) for line in result.notes))
    return element("details", element("summary", "What exactly was asked"), listed, class_="card")


# -- who wins ---------------------------------------------------------------------------------------------------------


def best_rivals(result: Result) -> list[dict[str, Any]]:
    """List of each model and task, by its metrics, the comparison with the best rule there is."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for comparison in result.comparisons:
        if result.kinds[comparison["rival"]] == "rule":
            key = comparison["model"], comparison["task"], comparison["metric"]
            groups.setdefault(key, []).append(comparison)
    return [min(rivals, key=lambda one: badness(one["metric"], one["rival_value"])) for rivals in groups.values()]


def main_measures(result: Result) -> list[dict[str, Any]]:
    """List the comparisons that people care about: the Forecaster's, one of each task, of times that in days."""
    own = [one for one in best_rivals(result) if one["model"] == FORECASTER_ROW]
    chosen: dict[str, dict[str, Any]] = {}
    for one in own:
        if one["task"] not in chosen or one["metric"] == "median days":
            chosen[one["task"]] = one
    return list(chosen.values())


def verdicts_card(result: Result) -> Markup:
    """Lay out where the Forecaster wins, and where it loses, each beside the best rule of that task."""
    headings = ("asked", "Forecaster", "its figure", "best rule's", "that rule", "measured by")
    rows = [(_task(one), _chip(one), *_figures(one), one["rival"], _measure(one)) for one in main_measures(result)]
    every = [
        (one["model"], _task(one), _chip(one), *_figures(one), one["rival"], _measure(one))
        for one in best_rivals(result)
    ]
    more = element(
        "details",
        element("summary", "All models and measures"),
        table(
            ("model", "asked", "outcome", "its figure", "best rule's", "that rule", "measured by"),
            every,
            numbers=(3, 4),
        ),
    )
    return card("Beside the best simple rule of each question", table(headings, rows, numbers=(2, 3)), more)


def _chip(one: dict[str, Any]) -> Markup:
    verdict = outcome(one)
    return element("span", verdict, class_=f"chip {CHIPS.get(verdict, 'even')}")


def _task(one: dict[str, Any]) -> str:
    return task_in_words(one["task"])


def task_in_words(task: str) -> str:
    """Say what a task asks."""
    return TASKS_IN_WORDS.get(task) or task.replace("within ", "whether a link comes within ")


def _measure(one: dict[str, Any]) -> str:
    return str(MEASURES.get(one["metric"], one["metric"]))


def _figures(one: dict[str, Any]) -> tuple[str, str]:
    return _figure(one["value"], one["metric"]), _figure(one["rival_value"], one["metric"])


MEASURES = {
    "mrr": "mean reciprocal rank (1 is best)",
    "rmse": "error of the squashed time (0 is best)",
    "median days": "median error in time",
    "mae days": "mean error in time",
    "brier": "squared error of probabilities (0 is best)",
    "c-index": "pairs in the right order (1 is best)",
}


def _figure(value: float, metric: str) -> str:
    if metric.endswith("days"):
        return wait_text(value)
    return f"{value:.5f}" if metric == "brier" else f"{value:.3f}"


# -- drawings ---------------------------------------------------------------------------------------------------------


def reliability_card(result: Result, horizons: list[str]) -> Markup:
    """Draw what was said beside what came true, for each horizon."""
    groups = {task: result.tasks[task]["reliability"][FORECASTER_ROW] for task in horizons if _judged(result, task)}
    most = max(max(group["said"], group["true"]) for listed in groups.values() for group in listed)
    high = next((limit for limit in (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0) if most <= limit), 1.0)
    kinds = ("one", "two", "three", "four")

    def draw(width: float) -> Markup:
        chart = Chart(width, min(width, 400))
        x, y = RootScale(high, chart.left, chart.right), RootScale(high, chart.bottom, chart.top)
        chart.y_axis(y, "came true")
        chart.x_axis(x, "probability that was said", grid=True)
        chart.stroke(x(0), y(0), x(high), y(high), kind="rule")
        for place, (task, listed) in enumerate(groups.items()):
            kind = kinds[place % len(kinds)]
            chart.line([(x(group["said"]), y(group["true"])) for group in listed], kind=kind)
            for group in listed:
                said, true = percent_text(group["said"]), percent_text(group["true"])
                tip = f"{task}: said {said}, came {true} ({plural(group['questions'], 'question')})"
                chart.dot(x(group["said"]), y(group["true"]), tip=tip, kind=kind)
            chart.dot(chart.left + 14, chart.top + 10 + 17 * place, kind=kind)
            chart.words(chart.left + 24, chart.top + 14 + 17 * place, task)
        return chart.svg("probabilities that were said beside what came true")

    reading = (
        "Each dot is a tenth of the questions, in order of what was said. On the dashed line what is said to come with "
        "5% comes in 5% of the cases; above it more comes than was said. Both scales spread small values."
    )
    return figure("Do probabilities mean what they say?", responsive(draw, 520), reading)


def coverage_card(result: Result) -> Markup:
    """Draw how often links came within the intervals that were said."""
    about, figures = result.tasks[WHEN_TASK], result.figures(FORECASTER_ROW, WHEN_TASK)
    slices = [one for one in about.get("slices", {}).get(FORECASTER_ROW, []) if one["links"]]
    wanted = {"coverage 80": (0.8, "one"), "coverage 95": (0.95, "two")}

    def draw(width: float) -> Markup:
        chart = Chart(width, min(width, 400))
        x, y = chart.across(0.5, max(len(slices), 1) + 0.5), chart.up(0.0, 1.0, percent=True)
        chart.y_axis(y, "links within the interval")
        chart.x_axis(LinearScale(0.5, max(len(slices), 1) + 0.5, chart.left, chart.right), "part of the test period")
        for place, (name, (level, kind)) in enumerate(wanted.items()):
            chart.stroke(chart.left, y(level), chart.right, y(level), kind=f"rule {kind}")
            points = [(x(k + 1), y(one[name])) for k, one in enumerate(slices) if one[name] is not None]
            chart.line(points, kind=kind)
            for k, one in enumerate(slices):
                if one[name] is not None:
                    tip = f"{one[name]:.0%} of {plural(one['links'], 'link')} within the {level:.0%} interval"
                    chart.dot(x(k + 1), y(one[name]), tip=tip, kind=kind)
            value = figures[name]["value"]
            text = f"said {level:.0%}, came {value:.0%} in all"
            chart.dot(chart.left + 14, chart.bottom - 34 + 17 * place, kind=kind)
            chart.words(chart.left + 24, chart.bottom - 30 + 17 * place, text)
        return chart.svg("links that came within the interval that was said")

    reading = (
        f"Of the {plural(about.get('links', about['questions']), 'link')} that came, the fraction that came within the "
        "80% and 95% intervals, in order of time. The dashed lines are what it should be."
    )
    return figure("Do links come within the interval?", responsive(draw, 520), reading)


def _rows(result: Result, task: str, metric: str) -> list[tuple[str, dict[str, Any]]]:
    """List models and the best rules of a task with their figures."""
    names = [name for name in result.rows(task) if metric in result.figures(name, task)]
    models = [name for name in names if result.kinds[name] == "model"]
    rules = [name for name in names if result.kinds[name] == "rule"]
    rules.sort(key=lambda name: badness(metric, result.figures(name, task)[metric]["value"]))
    kept = [*models, *rules[:RULES_SHOWN]]
    return [(name, {**result.figures(name, task)[metric], "is_model": name in models}) for name in kept]


def links_card(result: Result) -> Markup:
    """Draw how far up the true target was ranked, by models and rules."""
    rows = _rows(result, LINKS, "mrr")

    def draw(width: float) -> Markup:
        def bar(chart: Chart, x: Any, middle: float, value: dict[str, Any]) -> None:
            kind = "one" if value["is_model"] else "muted"
            chart.bar(x(0), x(value["value"]), middle - 8, middle + 8, kind=kind, tip=f"{value['value']:.3f}")
            chart.stroke(x(value["low"]), middle, x(value["high"]), middle, kind="whisker")
            chart.words(x(value["high"]) + 6, middle + 4, f"{value['value']:.2f}")

        axis = "mean reciprocal rank among 100 random others"
        return row_chart(width, rows, "who is linked to", bar, lambda a, b: LinearScale(0, 1, a, b - 8), axis)

    hits = result.figures(FORECASTER_ROW, LINKS).get("hits@1")
    first = f" The Forecaster put the true target first in {hits['value']:.0%} of the questions." if hits else ""
    reading = f"1: the true target is always ranked first; 0.5: second, on the whole. Thin lines: 95% intervals.{first}"
    return figure("Who is linked to next?", responsive(draw, 520), reading)


def errors_card(result: Result) -> Markup:
    """Draw how far predicted times were off, in days, by models and rules."""
    rows = _rows(result, TOE, "median days")
    values = [max(row["value"], SHORTEST_ERROR) for _, row in rows]
    low, high = min(values) / 3, max(values) * 3

    def draw(width: float) -> Markup:
        def mark(chart: Chart, x: LengthScale, middle: float, value: dict[str, Any]) -> None:
            kind = "one" if value["is_model"] else "muted"
            chart.stroke(x(max(value["low"], low)), middle, x(value["high"]), middle, kind="whisker")
            chart.dot(x(value["value"]), middle, radius=5, kind=kind, tip=wait_text(value["value"]))
            chart.words(x(value["high"]) + 9, middle + 4, wait_text(value["value"]))

        axis = "median error"
        return row_chart(width, rows, "errors of times", mark, lambda a, b: LengthScale(low, high, a, b), axis)

    reading = (
        "How far off the predicted time of an edge (ToE) was: half of the errors are smaller. Further left is better; "
        "the scale is logarithmic."
    )
    return figure("How long does it take? Errors in time", responsive(draw, 520), reading)
