"""The head of a page: what was found, in a few sentences and figures."""

from __future__ import annotations

from typing import Any

import polars as pl

from tadge.evaluation.figures import outcome
from tadge.page.content import Material
from tadge.page.parts import UNLIKELY, horizon_text, node_id, plural, tiles
from tadge.page.trust import FORECASTER_ROW, LINKS, WHEN_TASK, main_measures, task_in_words
from tadge.plots.markup import Markup, element, join
from tadge.report.answers import date_cell, moment_text, percent_text, wait_text

ACTIVE_FIRST = 10  # of these the likeliest link is told
SHOWN_LOSSES = 3


def summary(material: Material, surprises: pl.DataFrame | None, late: pl.DataFrame | None) -> Markup:
    """Say what matters most, in words."""
    points = [_likeliest(material), *_trust(material), _surprising(surprises), _late(late, material)]
    told = element("ul", *(element("li", point) for point in points if point is not None))
    return element("header", _title(material), _tiles(material), told, class_="summary")


def _title(material: Material) -> Markup:
    graph = material.graph
    end = moment_text(float(graph.time[-1]), graph.clock)
    return join(
        element("p", "tadge report", class_="kicker"),
        element("h1", element("bdi", material.name)),
        element("p", f"Who will link to whom, when, and how likely; as of {end}", class_="as-of"),
    )


def _tiles(material: Material) -> Markup:
    graph = material.graph
    pairs = [
        (f"{graph.num_events:,}", "events"),
        (f"{graph.num_nodes:,}", "nodes"),
        (wait_text(float(graph.time[-1] - graph.time[0])), "of history"),
    ]
    result = material.evaluation
    if result is not None and LINKS in result.tasks and "hits@1" in result.figures(FORECASTER_ROW, LINKS):
        value = result.figures(FORECASTER_ROW, LINKS)["hits@1"]["value"]
        pairs.append((f"{value:.0%}", "true target first of 101"))
    if result is not None and WHEN_TASK in result.tasks and result.figures(FORECASTER_ROW, WHEN_TASK):
        value = result.figures(FORECASTER_ROW, WHEN_TASK)["coverage 80"]["value"]
        pairs.append((f"{value:.0%}", "came within the 80% interval"))
    return tiles(*pairs)


def _likeliest(material: Material) -> Markup | None:
    """Tell the likeliest link of the most active nodes."""
    forecasts = material.forecasts
    if forecasts is None or not len(forecasts):
        return None
    firsts = forecasts.unique("src", keep="first", maintain_order=True).head(ACTIVE_FIRST)
    row = firsts.sort("probability", descending=True, maintain_order=True).row(0, named=True)
    when = f" (by {date_cell(row['median_date'])})" if "median_date" in row else ""
    verb = " will most likely link to " if row["probability"] >= UNLIKELY else " is not likely to link, but if to "
    return join(
        element("strong", node_id(row["src"]), verb, node_id(row["target"])),
        f": {percent_text(row['probability'])} within {horizon_text(material.days)}; if it comes at all, half of such "
        f"links come within {wait_text(row['median_wait'])}{when}.",
    )


def _trust(material: Material) -> list[Markup | None]:
    """Tell how good forecasts were, and where simple rules are better."""
    result = material.evaluation
    if result is None:
        return [join(element("strong", "Not judged"), f": {material.note('judging') or 'nobody asked for it'}.")]
    points: list[Markup | None] = []
    week = next((task for task in reversed(result.tasks) if task.startswith("within ") and _has(result, task)), None)
    if week is not None:
        figures = result.figures(FORECASTER_ROW, week)
        said, true = (percent_text(figures[name]["value"]) for name in ("said", "true"))
        gap = 100 * figures["gap"]["value"]
        points.append(
            join(
                element("strong", "Probabilities can be taken at their word" if gap < 5 else "Probabilities are off"),
                f": for links {week}, {said} were said on average and {true} came; in no tenth of the questions was "
                f"the difference larger than {gap:.1f} percentage points.",
            )
        )
    measures = main_measures(result)
    lost = [one for one in measures if outcome(one) == "loses"]
    if measures and not lost:
        points.append(
            join(element("strong", "No simple rule is clearly better"), f" on any of {len(measures)} questions.")
        )
    elif lost:
        words = "; ".join(f"{task_in_words(one['task'])} ({one['rival']})" for one in lost[:SHOWN_LOSSES])
        more = f"; and {len(lost) - SHOWN_LOSSES} more" if len(lost) > SHOWN_LOSSES else ""
        many = f" on {len(lost)} of {len(measures)} questions: {words}{more}."
        points.append(join(element("strong", "A simple rule is better"), many))
    return points


def _has(result: Any, task: str) -> bool:
    return bool(result.figures(FORECASTER_ROW, task))


def _surprising(surprises: pl.DataFrame | None) -> Markup | None:
    if surprises is None or not len(surprises):
        return None
    row = surprises.sort("surprise", descending=True, maintain_order=True).row(0, named=True)
    what = "whom it was" if row["who"] >= row["when"] else "when it came"
    return join(
        element("strong", "Least expected of late"),
        ": ",
        node_id(row["src"]),
        " → ",
        node_id(row["dst"]),
        f" on {date_cell(row['time'])}, mostly by {what}.",
    )


def _late(late: pl.DataFrame | None, material: Material) -> Markup | None:
    if late is None or not len(late):
        return None
    likely = late.filter(pl.col("still") >= 0.5)
    return join(
        element("strong", f"{plural(len(late), 'pair')} {'is' if len(late) == 1 else 'are'} overdue"),
        f", {len(likely):,} of them still likelier to come than not." if len(likely) else ".",
    )
