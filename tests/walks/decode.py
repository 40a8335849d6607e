"""What the walkers read from an index, turned back into candidates and probabilities."""

from __future__ import annotations

import numpy as np

from tadge.walks.index import LaterIndex, StepIndex
from tadge.walks.layout import MANY, NONE


def decode(index, occurrence):
    """Each candidate's event, time and probability, as the walkers draw them."""
    if isinstance(index, StepIndex):
        return _steps(index, occurrence)
    return _later(index, occurrence) if isinstance(index, LaterIndex) else _earlier(index, occurrence)


def _group(occurrences, occurrence):
    return slice(int(occurrences["first"][occurrence]), int(occurrences["first"][occurrence + 1]))


def _steps(index, occurrence):
    group = _group(index.occurrences, occurrence)
    steps = index.steps[group]
    share = np.minimum(steps["threshold"], 1.0)
    alias = steps["alias"].astype(np.int64) - group.start
    probability = (share + np.bincount(alias, 1.0 - share, steps.size)) / max(steps.size, 1)
    return steps["event"].astype(np.int64), steps["time"], probability


def _later(index, occurrence):
    here = index.later[index.opening[occurrence]]
    if here["end"] == NONE:
        return np.empty(0, np.int64), np.empty(0), np.empty(0)
    begin = end = int(here["end"])
    if here["rest"]:
        begin = int(index.guide["entry"][int(here["guide"]) + (int(here["mass"]) >> int(here["shift"]))]) % MANY
        begin += int(np.searchsorted(index.masses[begin:end], here["mass"]))
    listed = index.later[begin : end + 1]
    mass = np.diff(index.masses[begin : end + 1], append=0)
    weight = mass * (here["total"] - (listed["time"] - here["time"]))
    weight[-1] = here["last"] if listed.size > 1 else 1.0
    return listed["event"].astype(np.int64), listed["time"], weight / weight.sum()


def _earlier(index, occurrence):
    group, of_all = _group(index.occurrences, occurrence), index.sums[occurrence]
    time = index.occurrences["time"]
    events, times, weights = [np.empty(0, np.int64)], [np.empty(0)], [np.empty(0)]
    for slot in range(group.start, group.stop):
        link = index.earlier[slot]
        landed = time[int(link["oldest"]) : int(link["newest"]) + 1]
        weight = link["weight"] * (1 - (time[occurrence] - landed) / of_all["total"])
        if slot == of_all["furthest"]:
            weight[0] = link["weight"] * (of_all["others"] / of_all["total"])
        events.append(np.full(landed.size, int(link["event"])))
        times.append(landed)
        weights.append(weight)
    weight = np.concatenate(weights)
    weight = np.ones(1) if weight.size == 1 else weight / weight.sum()
    return np.concatenate(events), np.concatenate(times), weight
