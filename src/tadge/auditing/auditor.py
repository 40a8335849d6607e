"""Ask one method the same in all worlds, compare the answers, and gather the findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from tadge.arrays import Days, Report
from tadge.auditing import worlds
from tadge.auditing.answers import Answer, Gap
from tadge.auditing.asking import Asker, is_asked
from tadge.auditing.findings import CheckTally, Finding
from tadge.auditing.processes import Worlds
from tadge.auditing.serving import Answers, Task
from tadge.auditing.worlds import Canary, Questions, World
from tadge.errors import TadgeError
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.seeding import stream
from tadge.units import date_text

FALSE_ALARM = 1e-6  # probability that an honest method fails an audit
ROUNDING = 64.0  # units of rounding that sums may differ by which only differ in how many zeros are added
PREFERRED = 0.9  # of the pairs: a method that puts nodes nobody has seen first so often knows that they will come

DELETED, SCRAMBLED, EQUAL, ORDER = "future deleted", "future scrambled", "equal time stamps", "another order"
UNSEEN, PREFERS, FILES, CANARY = "unseen ids deleted", "unseen ids preferred", "files", "canary"
WHAT = {"score_links": "the score", "predict_toe": "the squashed ToE", "within": "the probability"}
ABOUT_ONE_SOURCE = ("rank", "next")
OF_NO_QUESTION = (*ABOUT_ONE_SOURCE, "surprise", "overdue")  # calls whose rows are not those of the questions
Tick = Callable[[], None]


class Way(NamedTuple):
    """Hold how to make a world from a graph, and how to speak of it."""

    words: str
    make: World


VIEW = Way("once the later ones are deleted", worlds.future_removed_view)
REBUILT = Way("in a new graph without the later ones", worlds.future_removed_rebuilt)
OTHERS = Way("with others in place of the later ones", worlds.scrambled)  # as many
TWICE = Way("with twice as many others after the cut", worlds.doubled)
REVERSED = Way("when asked in reverse order", worlds.unchanged)
INSTANT = Way("without those from that instant on", worlds.future_removed_view)
RENUMBERED = "in a graph without the ids that nobody had seen, whose nodes are numbered anew"


class Auditor:
    """Ask one method all questions, and gather the findings.

    Args:
        asked_in: where worlds are asked.
        asker: how.
        calls: what to ask.
        graph: the whole history.
        queries: how many questions at each cut.
        seed: the same seed gives the same cuts and questions.
        tolerance: largest difference between two answers that passes.
    """

    def __init__(
        self,
        asked_in: Worlds,
        asker: Asker,
        calls: list[str],
        graph: TemporalGraph,
        queries: int,
        seed: int,
        tolerance: float,
    ) -> None:
        self.asked_in, self.asker, self.calls, self.graph = asked_in, asker, calls, graph
        self.queries, self.seed, self.tolerance = queries, seed, tolerance
        self.seen = past_of(graph).first
        self.tallies: dict[tuple[str, str], CheckTally] = {}
        self.moved: set[str] = set()  # calls whose answers differ where as many events follow
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def run(self, cuts: int, report: Report) -> int:
        """Run all checks that need answers, and return the number of cuts.

        The planted future comes first, when nothing can have been remembered yet, and the whole world again last.
        """
        moments = worlds.choose_times(self.graph, cuts, self._rng("cuts"), 0.25, slice(0, -1))
        instants = worlds.choose_times(self.graph, cuts, self._rng("instants"), 0.5, slice(1, None))
        plants = [kind for kind in ("links", "toe") if self._answering(kind) and worlds.can_plant(self.graph)]
        total, done = moments.size * (7 + len(plants)) + instants.size * 2, 0

        def step() -> None:
            nonlocal done
            done += 1
            report(done, total)

        asked = self._questions(moments, "questions", before=False)
        just_before = self._questions(np.nextafter(instants, -np.inf), "just before", before=True)
        canaries = [finding for kind in plants for finding in self._plant(kind, moments, step)]
        if not plants:
            self.notes.append("no canary: the graph has not two targets to choose between")
        known = self._known(asked, step)
        self._check(DELETED, asked, known, [VIEW, REBUILT], step)
        self._check(SCRAMBLED, asked, known, [OTHERS, TWICE], step)
        self._check_without_unseen(asked, known, step)
        self._check(EQUAL, just_before, self._known(just_before, step), [INSTANT], step)
        self._check(ORDER, asked, known, [REVERSED], step)
        self._conclude()
        self.findings += self._preferences(asked, known) + canaries + self._files()
        return int(moments.size)

    def _rng(self, name: str, number: int = 0) -> np.random.Generator:
        return np.random.default_rng([int(stream(self.seed, f"audit {name}")), number])

    def _questions(self, cuts: Days, name: str, before: bool) -> list[Questions]:
        return [
            worlds.make_questions(self.graph, self.seen, cut, self.queries, self._rng(name, number), before=before)
            for number, cut in enumerate(cuts.tolist())
        ]

    # -- asking -------------------------------------------------------------------------------------------------------

    def _calls(self, number: int, size: int) -> list[str]:
        return [call for call in self.calls if is_asked(call, number, size)]

    def _answers(
        self, asked: list[Questions], world: World, step: Tick, reverse: bool = False
    ) -> Iterator[tuple[int, Answers]]:
        """Ask all questions in one world; give the answers, or the complaints, with the number of the questions."""
        numbers = range(len(asked))
        with self.asked_in.world() as ask:
            for number in reversed(numbers) if reverse else numbers:
                graph = world(self.graph, asked[number].cut, self._rng(world.__name__, number))
                yield number, ask(Task(self._calls(number, len(asked)), graph, asked[number]))
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
        self, check: str, asked: list[Questions], known: list[dict[str, Answer]], ways: Sequence[Way], step: Tick
    ) -> None:
        """Ask all questions in other worlds, and compare with the answers with everything there."""
        self.tallies |= {(check, call): CheckTally() for call in self.calls}
        for way in ways:
            for number, answers in self._answers(asked, way.make, step, reverse=check == ORDER):
                for call, answer in answers.items():
                    differs = self._compare(check, call, asked[number], known[number][call], answer, way.words)
                    if differs and way is OTHERS:
                        self.moved.add(call)

    def _check_without_unseen(self, asked: list[Questions], known: list[dict[str, Answer]], step: Tick) -> None:
        """Ask what can be asked in a world that lacks the ids nobody has seen by the cut, and compare.

        Fewer questions are asked there. Where an answer differs, the same few are asked with everything there, so that
        it is not for their number that it does.
        """
        self.tallies |= {(UNSEEN, call): CheckTally() for call in self.calls}
        suspects: list[tuple[Questions, Answers]] = []
        with self.asked_in.world() as ask:
            for number, questions in enumerate(asked):
                other = worlds.without_unseen(self.graph, self.seen, questions)
                calls = [
                    call
                    for call in self._calls(number, len(asked))
                    if (other.same_source or call not in ABOUT_ONE_SOURCE)
                    and (other.rows.size or call in OF_NO_QUESTION)
                ]
                few, differing = questions.take(other.rows), {}
                for call, answer in ask(Task(calls, other.graph, other.questions)).items():
                    part = known[number][call]
                    if call not in OF_NO_QUESTION:
                        both = np.concatenate([other.rows, questions.src.size + other.rows])
                        part = part.take(both if call == "embed" else other.rows)
                    if _same(part, answer):
                        self._compare(UNSEEN, call, few, part, answer, RENUMBERED)
                    else:
                        differing[call] = answer
                suspects += [(few, differing)] if differing else []
                step()
        if suspects:
            self._ask_again(suspects)

    def _ask_again(self, suspects: list[tuple[Questions, Answers]]) -> None:
        """Ask some questions with everything there, and compare with answers of the world without unseen ids."""
        with self.asked_in.world() as ask:
            for questions, answers in suspects:
                again = ask(Task(list(answers), worlds.unchanged(self.graph, questions.cut, self._rng("")), questions))
                for call, known in again.items():
                    if isinstance(known, TadgeError):
                        raise known
                    self._compare(UNSEEN, call, questions, known, answers[call], RENUMBERED)

    def _compare(
        self, check: str, call: str, questions: Questions, known: Answer, answer: Answer | TadgeError, words: str
    ) -> bool:
        """Compare two answers, and take note of how they differ; tell whether they do."""
        tally = self.tallies[check, call]
        tally.comparisons += max(1, len(known.numbers)) if known.columns else questions.src.size
        trouble = str(answer) if isinstance(answer, TadgeError) else known.mismatch(answer)
        if trouble or isinstance(answer, TadgeError):
            tally.add(math.inf, f"cut {questions.label}: it answers with all events there, but {words}: {trouble}")
            return True
        gap = known.gap(answer)
        if gap is None:
            return False
        units = known.rounding(answer)
        if gap.size <= self.tolerance:
            tally.add(gap.size, "")
        elif units <= ROUNDING:
            sentence = "" if tally.rounded else self._sentence(call, questions, known, gap, words)
            tally.add_rounding(gap.size, units, sentence)
        else:
            tally.add(gap.size, "" if tally.message else self._sentence(call, questions, known, gap, words))
        return True

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

    def _conclude(self) -> None:
        """Turn what was counted into findings; differences as small as rounding pass where only lengths differ."""
        for (check, call), tally in self.tallies.items():
            rounded = tally.rounding and call not in self.moved
            failure = tally.message or ("" if rounded else tally.rounded)
            message = failure or "every answer is the same"
            if rounded and not failure:
                message = (
                    f"rounding: differences of at most {tally.units:.0f} units in the last place at {tally.rounding:,} "
                    f"cuts, and none where as many events follow; the first: {tally.rounded}"
                )
            figures = tally.comparisons, tally.largest, message, 0 if failure else tally.rounding
            self.findings.append(Finding(check, call, not failure, *figures))
            if check == ORDER and failure:
                self._note("answers that are random, or depend on what was asked before, can make every check fail")
            if check == UNSEEN and failure and not self._fails(DELETED, call):
                self._note(
                    "find nodes by their ids (graph.ids): their numbers, and how many there are, come with the file"
                )

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _fails(self, check: str, call: str) -> bool:
        return any((one.check, one.call) == (check, call) and not one.passed for one in self.findings)

    # -- what else gives the future away ------------------------------------------------------------------------------

    def _preferences(self, asked: list[Questions], known: list[dict[str, Answer]]) -> list[Finding]:
        """Count how often nodes that nobody has seen are put ahead of others: only the list of ids tells of them."""
        findings = []
        for call in (call for call in ("score_links", "within") if call in self.calls):
            wins = losses = pairs = 0
            for questions, answers in zip(asked, known, strict=True):
                unseen, other = questions.unseen_beside_seen(self.seen)
                numbers = answers[call].numbers if call == "score_links" else answers[call].numbers[:, -1]
                wins += int(np.count_nonzero(numbers[unseen] > numbers[other]))
                losses += int(np.count_nonzero(numbers[unseen] < numbers[other]))
                pairs += unseen.size
            sure = binomtest(wins, wins + losses, alternative="greater").pvalue if wins else 1.0
            passed = wins < PREFERRED * pairs or sure >= FALSE_ALARM or not pairs
            message = f"of two targets, the one that nobody has seen is ahead in {wins:,} of {pairs:,} pairs"
            message += "" if passed else ": that such ids will come, only the list of all ids tells"
            findings.append(Finding(PREFERS, call, bool(passed), pairs, wins / pairs if pairs else 0.0, message))
        return findings

    def _files(self) -> list[Finding]:
        """Complain about files that were written in one world and read in another."""
        shared = list(self.asked_in.shared_files)
        if not shared:
            return []
        message = f"it writes {shared[0]} in one world and reads it in another: what comes later can reach it that way"
        return [Finding(FILES, "all", False, len(shared), float(len(shared)), message)]

    # -- a planted future ---------------------------------------------------------------------------------------------

    def _answering(self, kind: str) -> list[str]:
        calls = ("predict_toe",) if kind == "toe" else ("embed", "score_links", "within")
        return [call for call in self.calls if call in calls]

    def _plant(self, kind: str, moments: Days, step: Tick) -> list[Finding]:
        """Plant a future at every cut, and count how often a method prefers what was planted.

        The first cut is judged alone too: who keeps the first graph that it meets gives itself away there.
        """
        calls = self._answering(kind)
        make = worlds.plant_links if kind == "links" else worlds.plant_toe
        results: dict[str, list[tuple[int, int]]] = {call: [] for call in calls}  # wins and losses at each cut
        with self.asked_in.world() as ask:
            for number in self._rng(f"order of {kind}").permutation(moments.size).tolist():
                canary = make(self.graph, float(moments[number]), self.queries, self._rng(f"canary {kind}", number))
                for call, answer in ask(Task(calls, canary.graph, _of_both(canary))).items():
                    ahead, behind = _ahead_and_behind(call, answer, canary.src.size)
                    won, lost = np.count_nonzero(ahead > behind), np.count_nonzero(ahead < behind)
                    results[call].append((int(won), int(lost)))
                step()
        return [finding for call in calls for finding in self._canaries(call, results[call])]

    def _canaries(self, call: str, results: list[tuple[int, int]]) -> list[Finding]:
        wins, losses = (sum(column) for column in zip(*results, strict=True))
        whole = self._canary(call, wins, losses, self.queries * len(results), "")
        first = self._canary(call, *results[0], self.queries, " of the very first cut")
        return [whole] if first.passed or not whole.passed else [first]

    def _canary(self, call: str, wins: int, losses: int, asked: int, of: str) -> Finding:
        p_value = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        passed = bool(p_value >= FALSE_ALARM / (2 * len(self.calls)))
        auc = 0.5 + (wins - losses) / (2 * asked)
        planted = "the longer of two planted ToEs" if call == "predict_toe" else "what was planted after the cut"
        message = f"{planted} is ahead in {wins:,} and behind in {losses:,} of {asked:,} pairs{of} (AUC {auc:.3f})"
        message += " as it is by chance" if passed else ", which chance cannot do"
        return Finding(CANARY, call, passed, asked, abs(auc - 0.5), message)


def _same(known: Answer, answer: Answer | TadgeError) -> bool:
    return isinstance(answer, Answer) and not known.mismatch(answer) and known.gap(answer) is None


def _of_both(canary: Canary) -> Questions:
    """Ask for what was planted and for what was not."""
    src, dst = np.tile(canary.src, 2), np.concatenate([canary.ahead, canary.behind])
    return Questions(canary.cut, "", src, dst, np.full(src.size, canary.cut))


def _ahead_and_behind(call: str, answer: Answer | TadgeError, count: int) -> tuple[Days, Days]:
    """Split an answer to both; vectors are compared by their product with the source's."""
    if isinstance(answer, TadgeError):
        raise answer
    numbers = answer.numbers
    if call == "embed":
        numbers = np.einsum("nd,nd->n", *np.split(numbers.astype(np.float64), 2))
    elif call == "within":
        numbers = numbers[:, -1]
    return numbers[:count], numbers[count:]


def _shown(node_id: Any) -> str:
    return repr(node_id if isinstance(node_id, str) else int(node_id))
