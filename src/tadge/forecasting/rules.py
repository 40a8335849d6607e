"""Set a scorer beside rules that need no learning, on events that it has not seen, by kind of event.

The true target of an event is ranked among random nodes, among former targets of its source, and among nodes whose link
would be of the same kind: for a repeat former targets, for an answer those who linked to the source and still wait, for
a first contact those whom it has not met. Rules are read off the same columns as the scores. Where the best rule is
clearly above the scorer, a user should know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np

from tadge.arrays import Days, Ints, Report, Vectors
from tadge.config import ForecastConfig
from tadge.features.columns import LINK_COLUMNS, columns_left_out
from tadge.features.tables import REPEATED, Scales, marks_of, tables_of
from tadge.features.type_columns import pair_columns
from tadge.forecasting.plain_networks import Scorer
from tadge.forecasting.side_by_side import silent
from tadge.forecasting.waits import candidates_of
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import ANSWER, FIRST_CONTACT, REPEAT, EventLists, PairLists, Past, end_of, pair_end, past_of
from tadge.seeding import draw, stream, unit, walk_key
from tadge.validation import Z_95, latest_from, mean_ranks, standard_error

HARDLY_ANY = 0.01  # of links repeat earlier ones, at most
EVERY_KIND = -1
KIND_NAMES = {EVERY_KIND: "all", REPEAT: "repeat", ANSWER: "answer", FIRST_CONTACT: "first contact"}
QUESTIONS_PER_KIND = 800  # of the latest fifth, at the most
RANDOM_OTHERS, FORMER_OTHERS = 50, 20
FEWEST_QUESTIONS = 200  # of which one can say that a rule is better
LATEST_LINKS = 128  # to a source that are looked through for those who wait
CLEARLY = 0.01  # by which a rule's MRR is above the scorer's, at least

Rule = Callable[[Vectors], Days]


class RuleCheck(NamedTuple):
    """Hold how a scorer compares with the best rule on one kind of event.

    Attributes:
        kind: "all", "repeat", "answer" (a first link back) or "first contact".
        against: "random" nodes, "former" targets of the source, or nodes "alike": those whom the link would be of the
            same kind with.
        questions: how many events were asked about.
        mrr: mean reciprocal rank of the true targets by the scorer.
        rule: the rule with the highest MRR.
        rule_mrr: that MRR.
        low: of `mrr - rule_mrr`, the lower end of a 95% interval, by sources.
        high: the upper end.
    """

    kind: str
    against: str
    questions: int
    mrr: float
    rule: str
    rule_mrr: float
    low: float
    high: float

    @property
    def is_below(self) -> bool:
        """Tell whether the rule is clearly better."""
        return self.questions >= FEWEST_QUESTIONS and self.high < 0 and self.rule_mrr - self.mrr >= CLEARLY

    def sentence(self) -> str:
        """Say that the rule is better."""
        among = {"random": "random nodes", "former": "former targets", "alike": "nodes alike"}[self.against]
        event = "any event" if self.kind == KIND_NAMES[EVERY_KIND] else self.kind
        return f"{event} among {among}: {self.rule} {self.rule_mrr:.3f}, the model {self.mrr:.3f}"


def _column(name: str) -> Rule:
    place = LINK_COLUMNS.index(name)
    return lambda columns: columns[:, place].astype(np.float64)


FORTH_AGO, BACK_AGO = _column("since src to dst"), _column("since dst to src")
LINKED_AGO, ACTED_AGO = _column("dst: since it was linked to"), _column("dst: since it acted")
FORTH, LINKS, LATELY = _column("src to dst"), _column("dst: links to it"), _column("dst: links to it lately (2)")
UNANSWERED = _column("unanswered")
BEHIND = 1e3  # puts a later criterion behind all differences of an earlier one; columns are logarithms

RULES: dict[str, Rule] = {
    "own recency": lambda columns: -FORTH_AGO(columns),
    "answer recency": lambda columns: -BACK_AGO(columns),
    "own + answer recency": lambda columns: -np.minimum(FORTH_AGO(columns), BACK_AGO(columns)),
    "unanswered, newest first": lambda columns: np.where(UNANSWERED(columns) > 0, -BACK_AGO(columns), -BEHIND),
    "own recency, then popularity": lambda columns: LATELY(columns) - BEHIND * FORTH_AGO(columns),
    "own frequency": FORTH,
    "last linked to": lambda columns: -LINKED_AGO(columns),
    "last act": lambda columns: -ACTED_AGO(columns),
    "last seen": lambda columns: -np.minimum(LINKED_AGO(columns), ACTED_AGO(columns)),
    "popularity": LINKS,
    "popularity lately": LATELY,
}
NO_REPEATS: dict[str, Rule] = {  # where pairs hardly ever meet twice
    "last seen, former targets last": lambda columns: (
        -np.minimum(LINKED_AGO(columns), ACTED_AGO(columns)) - BEHIND * (FORTH(columns) > 0)
    ),
}


class RuleQuestions(NamedTuple):
    """Hold events of one kind and whom they could have gone to.

    Attributes:
        src: (Q,) node numbers.
        at: (Q,) days: the instant before each event.
        candidate: (Q, C) node numbers, the true one first; -1 where there are fewer.
    """

    src: Ints
    at: Days
    candidate: Ints


def hardly_any_repeats(graph: TemporalGraph) -> bool:
    """Tell whether links of the latest fifth hardly ever repeat earlier ones."""
    repeated = marks_of(graph) & REPEATED > 0
    return float(np.mean(repeated[min(latest_from(repeated.size), repeated.size - 1) :])) <= HARDLY_ANY


def check_rules(
    scorer: Scorer,
    graph: TemporalGraph,
    scales: Scales,
    config: ForecastConfig,
    seed: int,
    begin: int,
    report: Report = silent,
) -> tuple[RuleCheck, ...]:
    """Compare a scorer that has not seen events `begin` and later with the rules on them."""
    checks, asked = [], rule_questions(graph, seed, begin)
    for place, (kind, against, questions) in enumerate(asked):
        report(place, len(asked))
        checks.append(_check(kind, against, questions, scorer, graph, scales, config))
    return tuple(checks)


def rule_questions(graph: TemporalGraph, seed: int, begin: int) -> list[tuple[str, str, RuleQuestions]]:
    """Draw questions about events `begin` and later: kind, what the true target is ranked among, and the questions."""
    past, candidates = past_of(graph), candidates_of(graph)
    events = np.arange(begin, graph.num_events)
    src, dst = graph.src[events].astype(np.int64), graph.dst[events].astype(np.int64)
    at = np.nextafter(graph.time[events], -np.inf)
    known = (candidates.first[dst] <= at) & ((src != dst) | candidates.with_self(at))  # nobody ranks the others
    kinds = past.kinds(src, dst, at)
    rng, asked = np.random.default_rng(int(stream(seed, "rules"))), []
    for kind, name in KIND_NAMES.items():
        chosen = np.flatnonzero(known & ((kinds == kind) | (kind == EVERY_KIND)))
        if chosen.size > QUESTIONS_PER_KIND:
            chosen = np.sort(rng.choice(chosen, QUESTIONS_PER_KIND, replace=False))
        rows = src[chosen], dst[chosen], at[chosen]
        joined, key = candidates.joined(at[chosen]), stream(seed, f"rules {name}")
        drawn = {"random": draw_joined(candidates.node, *rows, joined, RANDOM_OTHERS, key)}
        if kind in (EVERY_KIND, REPEAT):
            drawn["former"] = draw_former_others(past.pairs, *rows, FORMER_OTHERS, key)
        elif kind == ANSWER:
            drawn["alike"] = waiting_others(past.incoming, past.pairs, *rows, FORMER_OTHERS)
        else:
            drawn["alike"] = _strangers(past, rows[0], rows[2], drawn["random"])
        for against, others in drawn.items():
            some = (others >= 0).any(axis=1)
            candidate = np.concatenate([rows[1][:, None], others], axis=1)[some]
            if some.any():
                asked.append((name, against, RuleQuestions(rows[0][some], rows[2][some], candidate)))
    return asked


def _strangers(past: Past, src: Ints, at: Days, others: Ints) -> Ints:
    """Keep those among others, (Q, C), with whom src had no link in either direction."""
    width, other = others.shape[1], np.maximum(others, 0).reshape(-1)
    source, moment = np.repeat(src, width), np.repeat(at, width)
    met = past.count_links(source, other, moment) + past.count_links(other, source, moment)
    return np.where(met.reshape(others.shape) > 0, -1, others)


def _check(
    kind: str,
    against: str,
    questions: RuleQuestions,
    scorer: Scorer,
    graph: TemporalGraph,
    scales: Scales,
    config: ForecastConfig,
) -> RuleCheck:
    rules = RULES | NO_REPEATS if hardly_any_repeats(graph) else RULES
    row, place = np.nonzero(questions.candidate >= 0)
    columns = pair_columns(
        tables_of(graph, scales), questions.src[row], questions.candidate[row, place], questions.at[row]
    )
    reciprocal = {name: _reciprocal_ranks(rule(columns), questions) for name, rule in rules.items()}
    columns[:, columns_left_out(config.without, LINK_COLUMNS)] = 0.0
    scored = _reciprocal_ranks(scorer(columns), questions)
    best = max(reciprocal, key=lambda name: float(reciprocal[name].mean()))
    difference = scored - reciprocal[best]
    half = Z_95 * standard_error(difference, questions.src)
    middle = float(difference.mean())
    means = float(scored.mean()), best, float(reciprocal[best].mean())
    return RuleCheck(kind, against, difference.size, *means, middle - half, middle + half)


def _reciprocal_ranks(scores: Vectors | Days, questions: RuleQuestions) -> Days:
    """Rank the true targets, (Q,), from scores of all candidates in a row."""
    table = np.full(questions.candidate.shape, -np.inf)
    table[questions.candidate >= 0] = scores
    return 1.0 / mean_ranks(table, questions.candidate >= 0)


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True)
def draw_joined(nodes: Ints, src: Ints, dst: Ints, at: Days, joined: Ints, count: int, key: np.uint64) -> Ints:
    """Draw nodes that had joined, (Q, count), neither src nor dst; each once, and -1 where there are fewer."""
    others = np.full((src.size, count), -1, np.int64)
    for q in range(src.size):
        own, n = walk_key(key, q), 0
        for k in range(2 * count):
            node, new = nodes[int(unit(draw(own, k)) * joined[q])], n < count
            new = new and node not in (src[q], dst[q])
            for i in range(n):
                new = new and others[q, i] != node
            if new:
                others[q, n] = node
                n += 1
    return others


@numba.njit(cache=True)
def draw_former_others(pairs: PairLists, src: Ints, dst: Ints, at: Days, count: int, key: np.uint64) -> Ints:
    """Draw former targets of src other than dst, (Q, count), each as likely and once; -1 where there are fewer."""
    first, target, start, _, time = pairs
    others = np.full((src.size, count), -1, np.int64)
    for q in range(src.size):
        own, seen = walk_key(key, q), 0
        for pair in range(first[src[q]], first[src[q] + 1]):
            if target[pair] == dst[q] or time[start[pair]] > at[q]:
                continue
            place = seen if seen < count else int(unit(draw(own, seen)) * (seen + 1))  # a reservoir
            if place < count:
                others[q, place] = target[pair]
            seen += 1
    return others


@numba.njit(cache=True)
def waiting_others(incoming: EventLists, pairs: PairLists, src: Ints, dst: Ints, at: Days, count: int) -> Ints:
    """List who had linked to src but never been linked to by it, (Q, count), newest first, dst not; -1 beyond them."""
    first, target, start, _, time = pairs
    links_start, links_time, links_other = incoming.start, incoming.time, incoming.other
    others = np.full((src.size, count), -1, np.int64)
    for q in range(src.size):
        u, n = src[q], 0
        end = end_of(links_time, links_start[u], links_start[u + 1], at[q])
        for k in range(min(LATEST_LINKS, end - links_start[u])):
            sender = np.int64(links_other[end - 1 - k])
            new = n < count and sender not in (u, dst[q])
            for i in range(n):
                new = new and others[q, i] != sender
            if new and pair_end(first, target, start, time, u, sender, at[q])[1] == 0:
                others[q, n] = sender
                n += 1
    return others
