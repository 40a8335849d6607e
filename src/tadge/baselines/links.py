"""Rules for who is linked to next: none learns more than one setting.

A score is a step of a ladder plus a number below 1 that falls with age or grows with a count; so it depends on nothing
later than the moment it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tadge.arrays import Days, Ints
from tadge.baselines.base import Baseline
from tadge.baselines.items import count_shared
from tadge.graph import TemporalGraph
from tadge.graph.past import Past, past_of
from tadge.graph.views import seen_targets
from tadge.seeding import stream
from tadge.validation import latest_from, mean_reciprocal_rank

MOST_EVENTS = 2_000  # of the latest that are asked about, to choose a setting
NUM_NEGATIVES = 100  # beside each true target
SPANS = (3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)  # decays: parts of the time that the events span


class LinkRule(Baseline, ABC):
    """Score links: the frame of all rules below."""

    def score_links(self, src: npt.ArrayLike, dst: npt.ArrayLike, at: npt.ArrayLike, *, graph: TemporalGraph) -> Days:
        """Score links src -> dst, (n,): higher is likelier.

        Args:
            src: (n,) node numbers.
            dst: (n,) node numbers.
            at: (n,) days: nothing later is looked at.
            graph: what happened.
        """
        moments = np.asarray(at, np.float64)
        return self._score(past_of(graph), np.asarray(src, np.int64), np.asarray(dst, np.int64), moments)

    @abstractmethod
    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        """Score pairs, (n,), from what had happened by their moments."""


class EdgeBank(LinkRule):
    """Score 1 where src has linked to dst before, else 0."""

    name = "EdgeBank"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return (past.count_links(src, dst, at) > 0).astype(np.float64)


class Popularity(LinkRule):
    """Score by how often dst was linked to."""

    name = "popularity"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return count_to_unit(past.count_incoming(dst, at))


class OwnRecency(LinkRule):
    """Score by how lately src linked to dst."""

    name = "own recency"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return recency(past.last_link(src, dst, at), at)


class GlobalRecency(LinkRule):
    """Score by how lately anybody linked to dst."""

    name = "global recency"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return recency(past.last_incoming(dst, at), at)


class LastSeen(LinkRule):
    """Score by how lately dst was seen, acting or linked to."""

    name = "last seen"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return recency(past.last_seen(dst, at), at)


class ReverseRecency(LinkRule):
    """Score by how lately dst linked to src."""

    name = "reverse recency"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return recency(past.last_link(dst, src, at), at)


class OwnReverseRecency(LinkRule):
    """Score by how lately there was a link between src and dst, in whichever direction."""

    name = "own + reverse recency"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return recency(np.maximum(past.last_link(src, dst, at), past.last_link(dst, src, at)), at)


class ReversePopularity(LinkRule):
    """Score those first who have linked to src; among them, and among the others, by popularity."""

    name = "reverse + popularity"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return (past.count_links(dst, src, at) > 0) + count_to_unit(past.count_incoming(dst, at))


class LastAct(LinkRule):
    """Score those first whose link to src is unanswered, then those whom src linked to, then by global recency."""

    name = "last act"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        own, reverse = past.last_link(src, dst, at), past.last_link(dst, src, at)
        score = recency(self._others(past, dst, at), at)
        score = np.where(own > -np.inf, 2 + recency(own, at), score)
        return np.where(reverse > own, 4 + recency(reverse, at), score)

    def _others(self, past: Past, dst: Ints, at: Days) -> Days:
        """Find when those were last linked to who have had nothing to do with src, (n,) days."""
        return past.last_incoming(dst, at)


class LastActThenSeen(LastAct):
    """Score those first whose link to src is unanswered, then those whom src linked to, then by when dst was seen."""

    name = "last act + last seen"

    def _others(self, past: Past, dst: Ints, at: Days) -> Days:
        return past.last_seen(dst, at)


class ChosenRule(LinkRule, ABC):
    """Choose one setting on the latest events of what `fit` is given: the frame of the rules below."""

    def _choose(self, name: str, values: Iterable[Any], graph: TemporalGraph) -> None:
        """Set an attribute to the value with the best MRR; of equals to the first."""
        src, dst, at = self._questions(graph)
        quality = {}
        for value in values:
            setattr(self, name, value)
            scores = self.score_links(src.ravel(), dst.ravel(), at.ravel(), graph=graph)
            quality[value] = mean_reciprocal_rank(scores.reshape(src.shape))
        setattr(self, name, max(quality, key=lambda value: quality[value]))

    def _questions(self, graph: TemporalGraph) -> tuple[Ints, Ints, Days]:
        """Ask about the latest events, (n, 1 + K): the true target first, then random ones."""
        first = min(latest_from(graph.num_events), graph.num_events - 1)
        events = np.unique(np.linspace(first, graph.num_events - 1, MOST_EVENTS).astype(np.int64))
        rng = np.random.default_rng(int(stream(self.seed, "choice of a decay")))
        targets = seen_targets(graph)
        others = targets[rng.integers(targets.size, size=(events.size, NUM_NEGATIVES))]
        dst = np.concatenate([graph.dst[events, None].astype(np.int64), others], axis=1)
        src = np.broadcast_to(graph.src[events, None].astype(np.int64), dst.shape)
        return src, dst, np.broadcast_to(np.nextafter(graph.time[events, None], -np.inf), dst.shape)


class LastSeenFormerLast(ChosenRule):
    """Score by how lately dst was seen; where pairs hardly ever repeat, put those last whom src linked to before.

    Whether they do is chosen on the latest events of what `fit` is given.

    Attributes:
        former_last_: whether former targets are put last.
    """

    name = "last seen (former targets last)"

    def fit(self, graph: TemporalGraph) -> Self:
        """Choose whether former targets are put last."""
        self.former_last_ = False
        if graph.num_events:
            self._choose("former_last_", (False, True), graph)
        return self

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        score = recency(past.last_seen(dst, at), at)
        return score - 2 * (past.count_links(src, dst, at) > 0) if self.former_last_ else score


class OwnThenPopular(ChosenRule):
    """Score those first whom src linked to, the latest first, then by popularity in which events fade.

    How fast they fade is chosen on the latest events of what `fit` is given.

    Attributes:
        days_: after so many days an event counts 1/e.
    """

    name = "own recency + decayed popularity"

    def fit(self, graph: TemporalGraph) -> Self:
        """Choose how fast events fade."""
        self.days_ = 1.0
        span = float(graph.time[-1] - graph.time[0]) if graph.num_events else 0.0
        if span > 0:
            self._choose("days_", [span / part for part in SPANS], graph)  # the fastest first
        return self

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        own = past.last_link(src, dst, at)
        return np.where(own > -np.inf, 1 + recency(own, at), count_to_unit(past.decayed_incoming(dst, at, self.days_)))


class CoVisitation(LinkRule):
    """Score targets by how often those who chose src's latest targets chose them too, lately.

    A count over paths of three events: src chose a target, somebody chose that, and the same chose dst. Of each list
    only the latest 16 events count, the k-th latest 1/k as much; what somebody chose again and again, src too, counts
    each time.
    """

    name = "co-visitation"

    def _score(self, past: Past, src: Ints, dst: Ints, at: Days) -> Days:
        return count_to_unit(count_shared(past.outgoing, past.incoming, src, dst, at))


def recency(last: Days, at: Days) -> Days:
    """Turn the time of the last event as of a moment into a number, (n,): 1 right then, less with age, 0 if never."""
    return 1 / (1 + (at - last))


def count_to_unit(count: Days | Ints) -> Days:
    """Turn counts, (n,), into numbers from 0 to below 1 of the same order."""
    return np.divide(count, count + 1.0, dtype=np.float64)
