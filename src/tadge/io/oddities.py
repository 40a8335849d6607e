"""What looks odd in a graph that was read all the same: its times, its rows, its ids; in plain words."""

from __future__ import annotations

import time
import unicodedata
from collections import defaultdict

import numpy as np
import polars as pl

from tadge.graph import TemporalGraph
from tadge.units import PER_DAY, date_text

SHORT_SPAN, LONG_SPAN = 1e-3, 365_250.0  # days: what is shorter or longer is likely of another unit
UNIX_START, FAR_FROM_THE_REST = 366.0, 20 * 365.25  # days: a first event in 1970, and others so much later
YEAR_1000 = -354_285.0  # in days since 1970: what is earlier was hardly written down
ENOUGH_EVENTS = 20  # from which on there should be no more nodes than events
IDENTICAL = 0.01  # fraction of the rows that may be there twice before it is told
LOOKS_MISSING = ("nan", "null", "none", "na", "n/a", "\\n", "-", "?")


def odd_times(graph: TemporalGraph, description: str, assumed: bool, stamps: pl.Series | None) -> list[str]:
    """Say what is odd about the times.

    Args:
        graph: with at least one event.
        description: of the times, in words.
        assumed: nothing says their unit.
        stamps: the times as whole numbers, where they may have become equal as days.
    """
    messages = []
    first, last = float(graph.time[0]), float(graph.time[-1])
    span = last - first
    if assumed:
        assumption = description.removeprefix("plain numbers, ")
        messages.append(f"nothing says the unit of the times: {assumption}; so they span {span:,.6g} days")
    if graph.clock == "unix":
        later = int(np.count_nonzero(graph.time > time.time() / PER_DAY["s"]))
        if later:
            end = date_text(last, "unix")
            messages.append(f"{later:,} events lie in the future, the last at {end}: is the unit right?")
        middle = float(graph.time[graph.num_events // 2])
        if first < YEAR_1000:
            messages.append("the first event lies before the year 1000: a missing time?")
        elif first < UNIX_START and middle - first > FAR_FROM_THE_REST:
            messages.append(f"the first event is at {date_text(first, 'unix')}, far from the rest: a missing time?")
    if span == 0:
        messages.append("all events are at one instant: nothing can be learned about when links come")
    elif "date" not in description and not SHORT_SPAN <= span <= LONG_SPAN:
        messages.append(f"all events lie within {span:,.3g} days: is the unit right?")
    if stamps is not None:
        equal = stamps.n_unique() - graph.num_moments
        if equal > 0:
            messages.append(f"{equal:,} of the times differ by less than float64 days can hold and became equal")
    return messages


def odd_rows(graph: TemporalGraph, ends: str | None) -> list[str]:
    """Say where rows repeat each other, and where there are more nodes than events.

    Args:
        graph: what was read.
        ends: the columns of both ends, in words; None where the user has given them.
    """
    messages = []
    if graph.num_nodes > graph.num_events >= ENOUGH_EVENTS and ends is not None:
        messages.append(
            f"more nodes ({graph.num_nodes:,}) than events ({graph.num_events:,}): are {ends} who acts and on whom?"
        )
    repeated = num_repeated(graph)
    if repeated > IDENTICAL * graph.num_events:
        same = "src, dst, time" + (", weight" if graph.weight is not None else "")
        of_all = f"{repeated:,} of {graph.num_events:,} rows"
        messages.append(f"{of_all} repeat another row ({same}); all were kept: is that what happened?")
    return messages


def num_repeated(graph: TemporalGraph) -> int:
    """Count the events that are equal to an earlier one in both ends, time, weight and type."""
    again = np.zeros(graph.num_events, np.bool_)  # at the same time as another
    again[1:] = graph.time[1:] == graph.time[:-1]
    again[:-1] |= again[1:]
    if not again.any():
        return 0
    columns = {"time": graph.time[again], "ends": graph.src[again].astype(np.int64) << 32 | graph.dst[again]}
    columns |= {} if graph.weight is None else {"weight": graph.weight[again]}
    columns |= {} if graph.type is None else {"type": graph.type[again]}
    return int(again.sum()) - pl.DataFrame(columns).n_unique()


def odd_ids(graph: TemporalGraph) -> list[str]:
    """Say where an id looks like a missing value, and where two ids look the same."""
    if graph.ids.dtype != object:
        return []
    messages = []
    odd = [name for name in graph.ids if len(name) <= 4 and name.lower() in LOOKS_MISSING]
    if odd:
        called = "a node is called" if len(odd) == 1 else "nodes are called"
        question = "a missing value?" if len(odd) == 1 else "missing values?"
        messages.append(f"{called} {' and '.join(map(repr, odd))}: {question}")
    alike = look_alikes(graph.ids.tolist())
    if alike:
        words = "look the same and are two nodes: they differ in invisible characters, or in how accents are written"
        messages.append(f"{' and '.join(map(ascii, alike[0][:2]))} {words} ({len(alike):,} such ids)")
    return messages


def look_alikes(ids: list[str]) -> list[list[str]]:
    """Group the ids that differ only in invisible characters, or in composed and decomposed letters."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in ids:
        if not name.isascii():
            groups[_look(name)].append(name)
    if not groups:
        return []
    for name in ids:
        if name.isascii() and name in groups:
            groups[name].append(name)
    return [sorted(set(group)) for group in groups.values() if len(set(group)) > 1]


def _look(name: str) -> str:
    """Give what a reader sees of an id."""
    seen = unicodedata.normalize("NFC", name)
    if not seen.isprintable():  # it holds invisible characters, or blanks of other kinds
        seen = "".join(
            " " if unicodedata.category(one) == "Zs" else one for one in seen if unicodedata.category(one) != "Cf"
        )
    return seen.strip()
