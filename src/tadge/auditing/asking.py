"""How each call of a method is asked as of a cut, in whatever world, and what it has to answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tadge.arrays import NodeNumbers
from tadge.auditing.answers import Answer, array_answer, ranking_answer, table_answer
from tadge.auditing.worlds import Questions
from tadge.errors import InputError, TadgeError, TadgeWarning
from tadge.evaluation.tasks import DAYS_MEDIAN, SQUASHED_MEAN
from tadge.graph.graph import TemporalGraph
from tadge.io.frames import polars_frames
from tadge.protocols import TIMED_CALLS, accepts, name_of, supports
from tadge.units import squash

LATEST_EVENTS = 32  # whose surprise is asked for
RANKED = 10  # targets of a source
SOURCES = 1  # of the questions: whose targets are asked for, which costs as much as all targets of a graph
EVERY = {"rank": 4, "next": 4, "surprise": 32, "overdue": 32}  # calls that cost more are asked at one of so many cuts
HORIZONS = 0.005, 0.05  # of the history: within which links are asked for


def can_be_asked(method: object, call: str) -> bool:
    """Tell whether a method has a call that can be audited: of those about time, one that takes a graph."""
    return supports(method, call) and (call not in TIMED_CALLS or accepts(getattr(method, call), "graph"))


def is_asked(call: str, number: int, cuts: int) -> bool:
    """Tell whether a call is asked at a cut of this number, of so many; at the one in the middle all are."""
    return (number - cuts // 2) % EVERY.get(call, 1) == 0


class Asker:
    """Ask a method, or a copy of it, one call after the other, and check what comes back; it keeps no method."""

    def __init__(self, method: Any, graph: TemporalGraph) -> None:
        self.name = name_of(method)
        self.quiet = {"progress": False} if accepts(getattr(method, "embed", None), "progress") else {}
        span = float(graph.time[-1] - graph.time[0])
        longest = min(HORIZONS[1] * span, float(getattr(method, "horizon_", np.inf)))
        self.horizons = np.array([HORIZONS[0] / HORIZONS[1] * longest, longest])

    def ask(self, twin: Any, call: str, graph: TemporalGraph, questions: Questions) -> Answer:
        """Ask one call in a world; what goes wrong in it is a TadgeError."""
        where = f"{self.name}.{call}"
        try:
            with warnings.catch_warnings(), polars_frames():  # pandas would be loaded in every world
                warnings.simplefilter("ignore", TadgeWarning)  # of questions long after what was learned from
                ask = self._ask_timed if call in TIMED_CALLS else self._ask
                return ask(twin, call, graph, questions, where)
        except (TadgeError, MemoryError):
            raise
        except Exception as error:
            raise InputError("cannot answer", found=f"{type(error).__name__}: {error}", where=where) from error

    def _ask(self, twin: Any, call: str, graph: TemporalGraph, questions: Questions, where: str) -> Answer:
        """Ask for vectors, scores or ToE; ToE in two ways, whose squashed mean is compared: changes of either show."""
        src, dst, at = questions.src, questions.dst, questions.at
        if call == "embed":
            nodes, moments = NodeNumbers(np.concatenate([src, dst])), np.concatenate([at, at])
            return array_answer(twin.embed(nodes, moments, graph=graph, **self.quiet), where, (nodes.size, None))
        answers, ways = [], [dict(SQUASHED_MEAN), dict(DAYS_MEDIAN)] if call == "predict_toe" else [{}]
        for way in ways:
            ends = NodeNumbers(src.copy()), NodeNumbers(dst.copy())
            answers.append(array_answer(getattr(twin, call)(*ends, at.copy(), graph=graph, **way), where, src.shape))
        if call == "score_links":
            return answers[0]
        squashed, days = (answer.numbers for answer in answers)
        epsilon = max(answer.epsilon for answer in answers)
        return Answer((squashed + squash(days.astype(np.float64))) / 2, [], epsilon=epsilon)

    def _ask_timed(self, twin: Any, call: str, graph: TemporalGraph, questions: Questions, where: str) -> Answer:
        src, dst, at = NodeNumbers(questions.src.copy()), NodeNumbers(questions.dst.copy()), questions.at.copy()
        if call == "within":
            answer = twin.within(src, dst, self.horizons.copy(), at, graph=graph)
            return array_answer(answer, where, (src.size, self.horizons.size))
        if call == "when":
            return table_answer(twin.when(src, dst, at, graph=graph), where, src.size)
        if call == "rank":
            ranked = [
                (graph.ids[one], twin.rank(NodeNumbers([one]), questions.cut, RANKED, graph=graph))
                for one in questions.sources(SOURCES)
            ]
            return ranking_answer(ranked, where)
        if call == "next":
            some, days = NodeNumbers(questions.sources(SOURCES)), float(self.horizons[-1])
            return table_answer(twin.next(some, RANKED, days, questions.cut, graph=graph), where)
        if call == "surprise":
            events = _latest_events(graph, questions.cut)
            return table_answer(twin.surprise(events, graph=graph), where, len(events))
        return table_answer(twin.overdue(questions.cut, graph=graph), where)


def _latest_events(graph: TemporalGraph, cut: float) -> list[tuple[Any, Any, float]]:
    """List the latest events at or before a cut as (src id, dst id, days)."""
    known = int(np.searchsorted(graph.time, cut, side="right"))
    latest = slice(max(0, known - LATEST_EVENTS), known)
    columns = graph.ids[graph.src[latest]], graph.ids[graph.dst[latest]], graph.time[latest]
    return list(zip(*(column.tolist() for column in columns), strict=True))
