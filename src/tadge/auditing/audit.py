"""Find out whether a method looks ahead: ask it the same in worlds that differ only in what comes later."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from inspect import isclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from tadge.arrays import Days, Ints, Report
from tadge.auditing import worlds
from tadge.auditing.answers import Answer, Gap
from tadge.auditing.asking import Asker, can_be_asked, is_asked
from tadge.auditing.findings import AuditReport, CheckTally, Finding
from tadge.auditing.worlds import Canary, Questions, World
from tadge.config import CUTS, QUERIES, TOLERANCE
from tadge.errors import ConfigError, InputError, TadgeError
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind
from tadge.graph.past import past_of
from tadge.progress import Bars
from tadge.protocols import CALLS, TIMED_CALLS, Auditable, Fitted, supports
from tadge.seeding import check_seed, stream
from tadge.units import Moment, date_text, moment
from tadge.walks.split import without_events

FALSE_ALARM = 1e-6  # probability that an honest method fails an audit

DELETED, SCRAMBLED, EQUAL, ORDER = "future deleted", "future scrambled", "equal time stamps", "another order"
CANARY, TRAINING = "canary", "test events in training"
WHAT = {"score_links": "the score", "predict_toe": "the squashed ToE", "within": "the probability"}
Tick = Callable[[], None]


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
    progress: bool | None = None,
) -> AuditReport:
    """Check that a method's answers as of a moment depend on nothing that comes later.

    The method is asked the same questions in worlds that are the same until a cut: the whole graph; the later events
    deleted, in a view and in a graph built anew; scrambled; twice as many. Every answer must be the same, bit for bit.
    Events at the very next moment must not count either, nor may answers depend on what was asked before. And where a
    future is planted, the method must not tell better than a coin what was planted. Each world has a copy of the method
    of its own, and a graph that is new at every cut, so that nothing can be remembered from another world.

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
    auditor = _Auditor(method, asked, history, queries, check_seed(seed), tolerance)
    with Bars(progress).part(f"audit of {auditor.name}") as report:
        num_cuts = auditor.run(cuts, report)
    findings, notes = auditor.findings, auditor.notes
    notes += _not_asked(method, auditor.name, asked)
    if train is not None and begin is not None:
        findings.append(_check_training(train, graph, begin))
    else:
        missing = "when the test period begins (test_from)" if begin is None else "what it was fitted to (train)"
        notes.append(f"not checked: whether it was fitted to test events, for nothing says {missing}")
    seconds = time.monotonic() - started
    return AuditReport(auditor.name, findings, notes, num_cuts, queries, seed, tolerance, graph.fingerprint, seconds)


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


class _Auditor:
    """Ask one method all questions, and gather the findings."""

    def __init__(
        self, method: Any, calls: list[str], graph: TemporalGraph, queries: int, seed: int, tolerance: float
    ) -> None:
        self.method, self.calls, self.graph, self.asker = method, calls, graph, Asker(method, graph)
        self.name, self.queries, self.seed, self.tolerance = self.asker.name, queries, seed, tolerance
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def run(self, cuts: int, report: Report) -> int:
        """Run all checks that need answers, and return the number of cuts.

        The planted future comes first, when nothing can have been remembered yet.
        """
        moments = worlds.choose_times(self.graph, cuts, self._rng("cuts"), 0.25, slice(0, -1))
        instants = worlds.choose_times(self.graph, cuts, self._rng("instants"), 0.5, slice(1, None))
        plants = [kind for kind in ("links", "toe") if self._answering(kind) and worlds.can_plant(self.graph)]
        total, done = moments.size * (6 + len(plants)) + instants.size * 2, 0

        def step() -> None:
            nonlocal done
            done += 1
            report(done, total)

        seen = past_of(self.graph).first
        asked = self._questions(moments, seen, "questions", before=False)
        just_before = self._questions(np.nextafter(instants, -np.inf), seen, "just before", before=True)
        canaries = [finding for kind in plants for finding in self._plant(kind, moments, step)]
        if not plants:
            self.notes.append("no canary: the graph has not two targets to choose between")
        known = self._known(asked, step)
        self._check(ORDER, asked, known, [("when asked in reverse order", worlds.unchanged)], step)
        if not all(finding.passed for finding in self.findings):
            self.notes.append("answers that are random, or depend on what was asked before, can make every check fail")
        ways = [
            ("once the later ones are deleted", worlds.future_removed_view),
            ("in a new graph without the later ones", worlds.future_removed_rebuilt),
        ]
        self._check(DELETED, asked, known, ways, step)
        ways = [
            ("with others in place of the later ones", worlds.scrambled),
            ("with twice as many others after the cut", worlds.doubled),
        ]
        self._check(SCRAMBLED, asked, known, ways, step)
        known = self._known(just_before, step)
        self._check(
            EQUAL, just_before, known, [("without those from that instant on", worlds.future_removed_view)], step
        )
        self.findings += canaries
        return int(moments.size)

    def _rng(self, name: str, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([int(stream(self.seed, f"audit {name}")), number])

    def _questions(self, cuts: Days, seen: Days, name: str, before: bool) -> list[Questions]:
        return [
            worlds.make_questions(self.graph, seen, cut, self.queries, self._rng(name, number), before=before)
            for number, cut in enumerate(cuts.tolist())
        ]

    # -- asking -------------------------------------------------------------------------------------------------------

    def _twin(self) -> Any:
        """Copy the method, so that each world has one that knows nothing of the others; graphs need no copy."""
        attributes = getattr(self.method, "__dict__", {}).values()
        try:
            return deepcopy(self.method, {id(value): value for value in attributes if isinstance(value, TemporalGraph)})
        except MemoryError:
            raise
        except Exception:
            note = f"{self.name} cannot be copied: what it remembers from one world may hide a leak in another"
            if note not in self.notes:
                self.notes.append(note)
            return self.method

    def _answers(
        self, asked: list[Questions], world: World, step: Tick, reverse: bool = False
    ) -> Iterator[tuple[int, dict[str, Answer | TadgeError]]]:
        """Ask all questions in one world; give the answers, or the complaints, with the number of the questions."""
        twin = self._twin()
        numbers = range(len(asked))
        for number in reversed(numbers) if reverse else numbers:
            questions, answers = asked[number], dict[str, Answer | TadgeError]()
            graph = world(self.graph, questions.cut, self._rng(world.__name__, number))
            for call in (call for call in self.calls if is_asked(call, number, len(asked))):
                try:
                    answers[call] = self.asker.ask(twin, call, graph, questions)
                except TadgeError as error:
                    answers[call] = error
            yield number, answers
            step()

    # -- the same in two worlds ---------------------------------------------------------------------------------------

    def _known(self, asked: list[Questions], step: Tick) -> list[dict[str, Answer]]:
        """Ask all questions with everything there; complain where one cannot be answered."""
        known: list[dict[str, Answer]] = []
        for _, answers in self._answers(asked, worlds.unchanged, step):
            known.append({})
            for call, answer in answers.items():
                if isinstance(answer, TadgeError):
                    raise answer
                known[-1][call] = answer
        return known

    def _check(
        self,
        check: str,
        asked: list[Questions],
        known: list[dict[str, Answer]],
        ways: Sequence[tuple[str, World]],
        step: Tick,
    ) -> None:
        """Ask all questions in other worlds, and compare with the answers with everything there."""
        tallies = {call: CheckTally() for call in self.calls}
        for words, world in ways:
            for number, answers in self._answers(asked, world, step, reverse=check == ORDER):
                for call, answer in answers.items():
                    self._compare(tallies[call], call, asked[number], known[number][call], answer, words)
        for call, tally in tallies.items():
            message = tally.message or "every answer is the same"
            self.findings.append(Finding(check, call, not tally.message, tally.comparisons, tally.largest, message))

    def _compare(
        self,
        tally: CheckTally,
        call: str,
        questions: Questions,
        known: Answer,
        answer: Answer | TadgeError,
        words: str,
    ) -> None:
        tally.comparisons += max(1, len(known.numbers)) if known.columns else questions.src.size
        trouble = str(answer) if isinstance(answer, TadgeError) else known.mismatch(answer)
        if trouble or isinstance(answer, TadgeError):
            tally.add(math.inf, f"cut {questions.label}: it answers with all events there, but {words}: {trouble}")
            return
        gap = known.gap(answer)
        if gap is not None:
            wrong = gap.size > self.tolerance and not tally.message
            tally.add(gap.size, self._sentence(call, questions, known, gap, words) if wrong else "")

    def _sentence(self, call: str, questions: Questions, known: Answer, gap: Gap, words: str) -> str:
        """Describe one difference: the cut, the question and both answers."""
        digits = 6 if f"{gap.known:.6g}" != f"{gap.other:.6g}" else 17
        row, ids = gap.row, self.graph.ids
        at = questions.cut if known.columns else float(questions.at[row % questions.at.size])
        when = date_text(at, self.graph.clock) if at < questions.cut else questions.label
        if known.columns:
            asked = f"in {call}, {known.about(gap)}"
        elif call == "embed":
            asked = f"a number in the vector of {_shown(ids[np.concatenate([questions.src, questions.dst])[row]])}"
        else:
            asked = f"{WHAT[call]} of {_shown(ids[questions.src[row]])} -> {_shown(ids[questions.dst[row]])}"
        answers = f"{gap.known:.{digits}g} with all events there, but {gap.other:.{digits}g} {words}"
        return f"cut {questions.label}: {asked} as of {when} is {answers}"

    # -- a planted future ---------------------------------------------------------------------------------------------

    def _answering(self, kind: str) -> list[str]:
        calls = ("predict_toe",) if kind == "toe" else ("embed", "score_links", "within")
        return [call for call in self.calls if call in calls]

    def _plant(self, kind: str, moments: Days, step: Tick) -> list[Finding]:
        """Plant a future at every cut, and count how often a method prefers what was planted."""
        calls, twin = self._answering(kind), self._twin()
        make = worlds.plant_links if kind == "links" else worlds.plant_toe
        wins, losses = dict.fromkeys(calls, 0), dict.fromkeys(calls, 0)
        for number in self._rng(f"order of {kind}").permutation(moments.size).tolist():
            canary = make(self.graph, float(moments[number]), self.queries, self._rng(f"canary {kind}", number))
            for call in calls:
                ahead, behind = self._both(twin, call, canary)
                wins[call] += int(np.count_nonzero(ahead > behind))
                losses[call] += int(np.count_nonzero(ahead < behind))
            step()
        return [self._canary(call, wins[call], losses[call], self.queries * moments.size) for call in calls]

    def _both(self, twin: Any, call: str, canary: Canary) -> tuple[Days, Days]:
        """Ask for what was planted and for what was not; vectors are compared by their product with the source's."""
        count = canary.src.size
        src, dst = np.tile(canary.src, 2), np.concatenate([canary.ahead, canary.behind])
        questions = Questions(canary.cut, "", src, dst, np.full(2 * count, canary.cut))
        answer = self.asker.ask(twin, call, canary.graph, questions).numbers
        if call == "embed":
            answer = np.einsum("nd,nd->n", *np.split(answer.astype(np.float64), 2))
        elif call == "within":
            answer = answer[:, -1]
        return answer[:count], answer[count:]

    def _canary(self, call: str, wins: int, losses: int, asked: int) -> Finding:
        p_value = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        passed = bool(p_value >= FALSE_ALARM / len(self.calls))
        auc = 0.5 + (wins - losses) / (2 * asked)
        planted = "the longer of two planted ToEs" if call == "predict_toe" else "what was planted after the cut"
        message = f"{planted} is ahead in {wins:,} and behind in {losses:,} of {asked:,} pairs (AUC {auc:.3f})"
        message += " as it is by chance" if passed else ", which chance cannot do"
        return Finding(CANARY, call, passed, asked, abs(auc - 0.5), message)


def _shown(node_id: Any) -> str:
    return repr(node_id if isinstance(node_id, str) else int(node_id))


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
