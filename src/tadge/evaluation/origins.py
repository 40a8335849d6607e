"""Rolling origins: the forecast protocol at several cuts in time, each learned for anew, and the figures of all.

One test period is one draw of what the world did then. Several show how much a figure depends on when it was taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadge.errors import InputError
from tadge.evaluation.config import SHARES, Setting
from tadge.evaluation.forecast import judge_forecasts
from tadge.evaluation.result import Result, combine
from tadge.graph.graph import TemporalGraph
from tadge.protocols import Answerer

TESTED = 0.3  # the latest part of the events, in which several test periods lie, one after the other


def judge_origins(models: Sequence[Answerer], baselines: Sequence[str | Answerer] | None, setting: Setting) -> Result:
    """Judge models beside baselines in each test period; means, one standard deviation to either side."""
    periods = rolling_periods(setting.graph, setting.config.origins)
    settings = [replace(setting, graph=view, shares=shares) for view, shares in periods]
    return combine_origins([judge_forecasts(models, baselines, each) for each in settings])


def rolling_periods(graph: TemporalGraph, origins: int) -> list[tuple[TemporalGraph, tuple[float, float]]]:
    """Give of each test period the history up to its end, and the shares of that to train and to validate on.

    A single period is the last 15% of the events. Several are equal parts of the last 30%: what is before each is split
    in the same proportion, and what is after it does not exist.
    """
    if origins == 1:
        return [(graph, SHARES)]
    size, periods = graph.num_events, []
    for origin in range(origins):
        begin, end = (round(size * (1 - TESTED * (origins - k) / origins)) for k in (origin, origin + 1))
        view = graph if end == size else graph.before(float(graph.time[end]))
        if view.num_events <= begin:
            expected, found = "different instants in each test period", f"one instant in period {origin + 1}"
            raise InputError("too many test periods", expected=expected, found=found, where="origins")
        known = begin / sum(SHARES) / view.num_events
        periods.append((view, (SHARES[0] * known, SHARES[1] * known)))
    return periods


def combine_origins(results: Sequence[Result]) -> Result:
    """Put the results of test periods together: means, one standard deviation to either side, all questions counted."""
    if len(results) == 1:
        return results[0]
    combined, common = combine(results), set.intersection(*(set(result.notes) for result in results))
    tasks = {}
    for task, about in combined.tasks.items():
        parts = [result.tasks[task] for result in results if task in result.tasks]
        counts = {key for part in parts for key, value in part.items() if isinstance(value, int)}
        tasks[task] = about | {key: sum(part.get(key, 0) for part in parts) for key in counts}
    notes = [note for note in results[0].notes if note in common]
    for origin, result in enumerate(results, 1):
        notes += [f"period {origin} of {len(results)}: {note}" for note in result.notes if note not in common]
    return replace(combined, tasks=tasks, notes=notes)
