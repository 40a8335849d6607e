"""What is asked of every method alike: who will be linked to, and after how long.

Negatives are drawn by a hash of (seed, event, count), so that every method is given the same, in blocks of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from tadge.arrays import Days, Flags, Ints
from tadge.config import MAX_LINKS
from tadge.errors import InputError
from tadge.evaluation.negatives import draw_as_tgb, draw_former, draw_random
from tadge.graph import TemporalGraph
from tadge.graph.chains import last_joined
from tadge.graph.past import ANSWER, REPEAT, FirstLinks, find_end, first_links_of, past_of
from tadge.seeding import stream

KINDS_OF_NEGATIVES = ("random", "historical", "all", "tgb")
NEGATIVES_PER_LINK = 100  # beside the true target
TGB_NEGATIVES = 1_000  # of kind "tgb": those of tgbl-uci, tgbl-enron and tgbl-subreddit
MAX_TOE = 100_000  # events asked about, where a period has more
SCORES_AT_ONCE = 1 << 16  # pairs scored at once: bounds the memory


@dataclass(frozen=True, eq=False)
class LinkQuestions:
    """Ask for the target of (src, t) from what happened strictly before t.

    Attributes:
        graph: the whole history.
        event: (Q,) the events asked about, ascending.
        src: (Q,) int64.
        dst: (Q,) int64, the true answers.
        at: (Q,) the last moment that may be looked at.
        unseen: (Q,) whether src or dst had no event before t.
        seed: of the negatives.
        asked_of: events that the period has.
        begin: the first of them.
        refresh: of so many of them in a row, only what happened before the first is known; each keeps its own moment.
        train_end: negatives of kind "tgb" know former targets from before this moment, in days.
    """

    graph: TemporalGraph
    event: Ints
    src: Ints
    dst: Ints
    at: Days
    unseen: Flags
    seed: int
    asked_of: int
    begin: int = 0
    refresh: int = 1
    train_end: float = np.inf

    def __len__(self) -> int:
        return int(self.event.size)

    @property
    def pool(self) -> tuple[int, int]:
        """Give the first node that can be a target, and how many can."""
        return self.graph.num_sources, self.graph.num_nodes - self.graph.num_sources

    def width(self, kind: str) -> int:
        """Count the negatives beside each true target."""
        if kind == "tgb":
            return min(TGB_NEGATIVES, self._range[1] - 1)
        others = self.pool[1] - 1
        return others if kind == "all" else min(NEGATIVES_PER_LINK, others)

    def candidates(self, kind: str, first: int = 0, last: int | None = None) -> Ints:
        """Give the answers to choose from, (q, 1 + K), of the questions from `first` to `last`; the true ones first.

        Args:
            kind: "random": nodes that can be targets, all different; "historical": those that src linked to before t,
                `num_former` of them, and then random ones; "all": every node that can be a target; "tgb": as the
                Temporal Graph Benchmark draws them, up to half of 1,000 former targets of src in the training part, the
                others of the range of all targets; see `draw_as_tgb`.
            first: the first question.
            last: one after the last question; all by default.
        """
        cut = slice(first, len(self) if last is None else last)
        event, dst = self.event[cut], self.dst[cut]
        begin, size = self.pool
        answers = np.empty((dst.size, 1 + self.width(kind)), np.int64)
        answers[:, 0] = dst
        if kind == "tgb":
            self._fill_as_tgb(answers, cut)
            return answers
        if kind != "historical" and self.width(kind) == size - 1:  # all there are
            others = np.arange(size - 1)
            answers[:, 1:] = begin + others + (others >= (dst - begin)[:, None])
            return answers
        if kind == "historical":
            past, src = self._past, self.src[cut]
            known, own = self._known[cut], past.place[event]
            key = stream(self.seed, "historical negatives")
            draw_former(answers, event, past.target, past.start[src], known, own, key)
            have = 1 + self.num_former[cut]
        else:
            have = np.ones(dst.size, np.int64)
        draw_random(answers, have, event, begin, size, stream(self.seed, f"{kind} fill"))
        return answers

    def _fill_as_tgb(self, answers: Ints, cut: slice) -> None:
        """Fill rows of candidates, (q, 1 + K), from column 1 on; see `draw_as_tgb`."""
        lists, former, src = past_of(self.graph).outgoing, self._past, self.src[cut]
        until = np.full(src.size, np.nextafter(self.train_end, -np.inf))
        of_training = former.start[src], find_end(former.start, former.since, src, until)
        instant = self.at[cut], self.graph.time[self.event[cut]]  # what is later than the first, up to the second
        now = (find_end(lists.start, lists.time, src, moments) for moments in instant)
        key, span = stream(self.seed, "negatives of TGB"), (*self._range, self.graph.num_nodes)
        rows = np.stack(of_training, axis=1), lists.other, np.stack(tuple(now), axis=1)
        draw_as_tgb(answers, self.event[cut], former.target, *rows, span, key)

    def blocks(self, kind: str, pairs: int = SCORES_AT_ONCE) -> Iterator[tuple[slice, Ints, TemporalGraph]]:
        """Go through the questions with their candidates and what is known, about so many pairs at a time."""
        step = max(1, pairs // (1 + self.width(kind)))
        for cut, known in self.batches():
            for first in range(cut.start, cut.stop, step):
                last = min(first + step, cut.stop)
                yield slice(first, last), self.candidates(kind, first, last), known

    def batches(self) -> Iterator[tuple[slice, TemporalGraph]]:
        """Go through the questions that share what is known: a view of what is strictly before a batch of events.

        Where every event is known at once, that is the whole history: a question looks at nothing after its moment.
        """
        if self.refresh == 1:
            yield slice(0, len(self)), self.graph
            return
        batch = (self.event - self.begin) // self.refresh
        cuts = [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), len(self)]
        for first, last in pairwise(cuts if len(self) else []):
            begin = self.graph.time[self.begin + batch[first] * self.refresh]
            yield slice(first, last), self.graph.before(float(begin))

    @property
    def historical_fraction(self) -> float:
        """Compute the fraction of the historical negatives that src did link to before."""
        return float(np.mean(self.num_former / self.width("historical")))

    @cached_property
    def num_former(self) -> Ints:
        """Count the former targets of src among its historical negatives, (Q,)."""
        others = self._known - (self._past.place[self.event] < self._known)
        return np.minimum(others, self.width("historical"))

    @cached_property
    def _range(self) -> tuple[int, int]:
        """Give the first node that is ever a target, and how many there are from it to the last one."""
        first, last = int(self.graph.dst.min()), int(self.graph.dst.max())
        return first, last - first + 1

    @cached_property
    def _past(self) -> FirstLinks:
        return first_links_of(self.graph)

    @cached_property
    def _known(self) -> Ints:
        """Count the different targets that src had linked to before t, (Q,)."""
        past = self._past
        return find_end(past.start, past.since, self.src, self.at) - past.start[self.src]  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class ToeQuestions:
    """Ask how long u -> v takes, at the moment t' at which v joined.

    Attributes:
        event: (Q,) the events asked about, ascending.
        src: (Q,) int64.
        dst: (Q,) int64.
        at: (Q,) t' in days, the last moment that may be looked at.
        toe: (Q,) the true answers in days.
        unseen: (Q,) whether src had no event until t'.
        asked_of: events with a ToE that the period has.
    """

    event: Ints
    src: Ints
    dst: Ints
    at: Days
    toe: Days
    unseen: Flags
    asked_of: int

    def __len__(self) -> int:
        return int(self.event.size)

    def take(self, which: Flags) -> ToeQuestions:
        """Keep some of the questions, (Q,)."""
        nodes = self.event[which], self.src[which], self.dst[which]
        return ToeQuestions(*nodes, self.at[which], self.toe[which], self.unseen[which], self.asked_of)

    def still_open(self, graph: TemporalGraph, start: float) -> ToeQuestions:
        """Ask no earlier than right before a moment, up to which none of the links has come.

        What is asked stays the same: no target joins between t' and its event, so ToE is counted from t' as before.
        """
        at = np.maximum(self.at, np.nextafter(start, -np.inf))
        return replace(self, at=at, unseen=past_of(graph).first[self.src] > at)


def link_questions(
    graph: TemporalGraph,
    start: float,
    end: float,
    seed: int,
    most: int = MAX_LINKS.default,
    refresh: int = 1,
    train_end: float | None = None,
) -> LinkQuestions:
    """Make the questions of the events with start <= time < end.

    Args:
        graph: the whole history.
        start: of the period, in days.
        end: of the period, in days.
        seed: of negatives, and of the events asked about.
        most: of the events, where there are more; 0: all.
        refresh: after how many events of the period what is known is renewed.
        train_end: where the training part ends, in days; at the start of the period by default.
    """
    if graph.num_nodes - graph.num_sources < 2:
        raise InputError("nothing to choose from", expected="at least two nodes that can be targets", found="one")
    events = sample_events(graph, start, end, seed, most)
    first, last = np.searchsorted(graph.time, [start, end])
    src, dst, t = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64), graph.time[events]
    seen = past_of(graph).first
    unseen = (seen[src] >= t) | (seen[dst] >= t)
    at, period = np.nextafter(t, -np.inf), (int(last - first), int(first))
    return LinkQuestions(
        graph, events, src, dst, at, unseen, seed, *period, refresh, start if train_end is None else train_end
    )


def toe_questions(graph: TemporalGraph, start: float, end: float, seed: int, most: int = MAX_TOE) -> ToeQuestions:
    """Make the questions of the events with a ToE and start <= time < end; the same seed samples the same events."""
    first, last = np.searchsorted(graph.time, [start, end])
    events = sample_events(graph, start, end, seed, most)
    events = events[~np.isnan(graph.toe[events])]
    src, dst = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64)
    before = np.nextafter(graph.time[events], -np.inf)
    at = last_joined(graph, dst, before)
    asked_of = int(np.count_nonzero(~np.isnan(graph.toe[first:last])))
    return ToeQuestions(events, src, dst, at, graph.toe[events], past_of(graph).first[src] > at, asked_of)


def sample_events(graph: TemporalGraph, start: float, end: float, seed: int, most: int) -> Ints:
    """Draw events of a period, ascending; what is drawn for a smaller `most` is drawn for a larger one too."""
    first, last = np.searchsorted(graph.time, [start, end])
    events = np.arange(first, last)
    if most and events.size > most:
        rng = np.random.default_rng(int(stream(seed, "events asked about")))
        events = np.sort(rng.permutation(events)[:most])
    return events


def kinds_of(graph: TemporalGraph, src: Ints, dst: Ints, at: Days, unseen: Flags) -> dict[str, Flags]:
    """Sort questions by what had passed between both ends as of their moment, (Q,) each.

    Groups: seen and unseen; and of the seen ones: src had linked to dst before (repeat), else dst had linked to src
    (answer), else neither (first contact).
    """
    kinds = past_of(graph).kinds(src, dst, at)
    repeat, answer = ~unseen & (kinds == REPEAT), ~unseen & (kinds == ANSWER)
    first = ~unseen & ~repeat & ~answer
    return {"seen": ~unseen, "unseen": unseen, "repeat": repeat, "answer": answer, "first contact": first}
