"""Find out whether a method looks ahead: ask it the same in worlds that differ only in what comes later."""

from __future__ import annotations

import time
from collections.abc import Sequence
from inspect import isclass
from typing import Any

import numpy as np

from tadge.arrays import Ints
from tadge.auditing.asking import Asker, can_be_asked
from tadge.auditing.auditor import Auditor
from tadge.auditing.findings import AuditReport, Finding
from tadge.auditing.processes import FreshProcesses, SameProcess, Worlds
from tadge.config import CUTS, QUERIES, TIME_LIMIT, TOLERANCE
from tadge.errors import ConfigError, InputError
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind
from tadge.progress import Bars
from tadge.protocols import CALLS, TIMED_CALLS, Auditable, Fitted, supports
from tadge.seeding import check_seed
from tadge.units import Moment, date_text, moment
from tadge.walks.split import without_events

TRAINING = "test events in training"


def audit(
    method: Auditable,
    graph: TemporalGraph,
    *,
    cuts: int = CUTS.default,
    queries: int = QUERIES.default,
    seed: int = 0,
    tolerance: float = TOLERANCE.default,
    calls: Sequence[str] = CALLS,
    train: TemporalGraph | None = None,
    test_from: Moment | None = None,
    fresh: bool = True,
    time_limit: float = TIME_LIMIT.default,
    progress: bool | None = None,
) -> AuditReport:
    """Check that a method's answers as of a moment depend on nothing that comes later.

    The method is asked the same questions in worlds that are the same until a cut: the whole graph; the later events
    deleted, in a view and in a graph built anew; scrambled; twice as many; and deleted together with the ids that
    nobody has seen by then. Every answer must be the same, bit for bit. Events at the very next moment must not count
    either, nor may answers depend on what was asked before, nor may targets that nobody has seen nearly always come
    first. And where a future is planted, the method must not tell better than a coin what was planted.

    Each world is asked in a process of its own, which has never held another world. A file that is written in one world
    and read in another fails the audit, as far as Python opens it. What was kept before the audit began (in `fit`, in a
    file, on another machine) is not looked into, nor is what a server remembers.

    Differences of at most 64 units in the last place pass, as "rounding", where there is none at all while as many
    events follow: sums of numbers and zeros are rounded by how many zeros there are. A leak that small looks the same.

    Calls that cost more are asked less: `rank` and `next` about one source at every fourth cut, `surprise` about the
    latest 32 events and `overdue` about all pairs at every 32nd; at the cut in the middle all are asked.

    What was learned in `fit` is not looked into: see `test_from`.

    Args:
        method: anything fitted that has some of the calls, as `tadge.protocols` has them.
        graph: the whole history.
        cuts: how many moments.
        queries: how many questions at each.
        seed: the same seed gives the same cuts and questions.
        tolerance: largest difference between two answers that passes.
        calls: what to ask it: some of "embed", "score_links", "predict_toe", "within", "when", "rank", "next",
            "surprise" and "overdue"; by default all that it has.
        train: the events that the method was fitted to; its `graph_` by default, where it has one.
        test_from: when the test period begins: no event of it may be among those.
        fresh: False: ask copies of the method in this process, for one that cannot be sent to another, such as one that
            is defined in a notebook. What it keeps in a module, in the cache of a function or in a file can then hide
            that it looks ahead.
        time_limit: seconds that one cut may take in one world; a method that takes longer cannot answer.
        progress: False: no progress bar; it is shown where people can see it.
    """
    started = time.monotonic()
    asked = _calls_of(method, calls)
    cuts, queries, tolerance = CUTS.check(cuts), QUERIES.check(queries), TOLERANCE.check(tolerance)
    _check_graph(graph, "graph")
    begin = None if test_from is None else moment(test_from, graph.clock)
    if train is not None:
        _check_graph(train, "train")
    elif isinstance(method, Fitted) and isinstance(method.graph_, TemporalGraph):
        train = method.graph_
    history = without_events(graph, np.ones(graph.num_events, np.bool_))[0]  # a part of a graph has ToVs from before it
    seconds, asker = TIME_LIMIT.check(time_limit), Asker(method, history)
    asked_in: Worlds = FreshProcesses(method, asker, seconds, cuts) if fresh else SameProcess(method, asker)
    try:
        auditor = Auditor(asked_in, asker, asked, history, queries, check_seed(seed), tolerance)
        with Bars(progress).part(f"audit of {asker.name}") as report:
            num_cuts = auditor.run(cuts, report)
    finally:
        asked_in.close()
    findings, notes = auditor.findings, asked_in.notes + auditor.notes
    notes += _not_asked(method, asker.name, asked)
    if train is not None and begin is not None:
        findings.append(_check_training(train, graph, begin))
    else:
        missing = "when the test period begins (test_from)" if begin is None else "what it was fitted to (train)"
        notes.append(f"not checked: whether it was fitted to test events, for nothing says {missing}")
    seconds = time.monotonic() - started
    return AuditReport(asker.name, findings, notes, num_cuts, queries, seed, tolerance, graph.fingerprint, seconds)


def _calls_of(method: Any, wanted: Sequence[str]) -> list[str]:
    if isclass(method):
        cure = f"make one and fit it: {method.__name__}().fit(train)"
        raise InputError("this is a class", expected="a fitted method", found=method.__name__, cure=cure)
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not wanted or set(wanted) - set(CALLS):
        raise ConfigError("unknown call", expected="some of " + ", ".join(CALLS), found=repr(wanted), where="calls")
    calls = [call for call in CALLS if call in wanted and can_be_asked(method, call)]
    if not calls:
        some = f"a method with {', '.join(CALLS[:-1])} or {CALLS[-1]}"
        expected = some if set(wanted) == set(CALLS) else ", ".join(wanted)
        raise InputError("nothing to ask it", expected=expected, found=type(method).__name__, where="method")
    return calls


def _not_asked(method: Any, name: str, asked: list[str]) -> list[str]:
    """Say what was not asked, and why; calls about time only of a method that has some of them."""
    timed = any(supports(method, call) for call in TIMED_CALLS)
    notes = []
    for call in CALLS:
        if call in asked or (call in TIMED_CALLS and not timed):
            continue
        why = "" if can_be_asked(method, call) else f", which {name} does not have"
        if not why or not supports(method, call):
            notes.append(f"not asked: {call}{why}")
        else:
            notes.append(f"not asked: {call}, for that of {name} takes no graph")
    return notes


def _check_graph(graph: Any, name: str) -> None:
    check_kind(graph, TemporalGraph, name)
    if name == "graph" and graph.num_moments < 2:
        expected, found = "events at two times or more", f"{graph.num_moments}"
        raise InputError("nothing comes later in this graph", expected=expected, found=found, where=name)


def _check_training(train: TemporalGraph, graph: TemporalGraph, test_from: float) -> Finding:
    """Look for the test period's events among those that a method was fitted to."""
    late = np.flatnonzero(train.time >= test_from)
    when = date_text(test_from, graph.clock)
    if not late.size:
        return Finding(TRAINING, "fit", True, train.num_events, 0.0, f"all that it was fitted to is before {when}")
    test = set(_events(graph, np.flatnonzero(graph.time >= test_from)))
    events = _events(train, late)
    src, dst, at = events[0]
    of_test = sum(event in test for event in events)
    message = f"it was fitted to {late.size:,} events at or after {when}, {of_test:,} of them events of the test period"
    message += f"; the first is {src!r} -> {dst!r} at {date_text(at, graph.clock)}"
    return Finding(TRAINING, "fit", False, train.num_events, float(late.size), message)


def _events(graph: TemporalGraph, numbers: Ints) -> list[tuple[Any, Any, float]]:
    columns = graph.ids[graph.src[numbers]], graph.ids[graph.dst[numbers]], graph.time[numbers]
    return list(zip(*(column.tolist() for column in columns), strict=True))
