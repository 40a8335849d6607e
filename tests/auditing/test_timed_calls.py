"""The audit of what is asked about time: within, when, rank, next, surprise, overdue."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from small import forum, rebuilt
from tadge import ForecastConfig, Forecaster
from tadge.auditing.answers import Answer, array_answer, ranking_answer, table_answer
from tadge.auditing.asking import EVERY, is_asked
from tadge.auditing.audit import audit as audit_fresh
from tadge.errors import InputError
from tadge.protocols import CALLS, TIMED_CALLS
from tadge.synthetic import desk

CHECKS = ("another order", "future deleted", "future scrambled", "unseen ids deleted", "equal time stamps")


def audit(*method_and_graph, **options):
    """Audit in this process: the methods here are known to no other. See test_processes for fresh ones."""
    return audit_fresh(*method_and_graph, **{"fresh": False} | options)


def failed(report):
    return {(one.check, one.call) for one in report.findings if not one.passed}


class Loops:
    """Honest, by plain loops over what had happened by a moment; `ahead` names calls that see what is later."""

    name = "loops"

    def __init__(self, *ahead):
        self.ahead = ahead

    def count(self, call, graph, u, v, at):
        known = graph.time <= (math.inf if call in self.ahead else at)
        return float(np.sum(known & (graph.src == u) & (graph.dst == v)))

    def within(self, src, dst, days, at, *, graph):
        counts = np.array([self.count("within", graph, *pair) for pair in zip(src, dst, at, strict=True)])
        return 1 - np.exp(-counts[:, None] * np.asarray(days))

    def when(self, src, dst, at, *, graph):
        counts = np.array([self.count("when", graph, *pair) for pair in zip(src, dst, at, strict=True)])
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = np.where(counts > 0, 1 / counts, np.nan)
        return {"src": graph.ids[src], "dst": graph.ids[dst], "wait": wait}

    def ranked(self, call, src, k, at, graph):
        counts = np.array([self.count(call, graph, src, v, at) for v in range(graph.num_nodes)])
        best = np.argsort(-counts, kind="stable")[:k]
        return best, counts[best]

    def rank(self, src, at, k, *, graph):
        best, counts = self.ranked("rank", int(src[0]), k, at, graph)
        return list(zip(graph.ids[best].tolist(), counts.tolist(), strict=True))

    def next(self, src, k, days, at, *, graph):
        best, counts = self.ranked("next", int(src[0]), k, at, graph)
        return pl.DataFrame({"src": np.repeat(graph.ids[src], k), "target": graph.ids[best], "count": counts})

    def surprise(self, events, *, graph):
        numbers = [(*graph.numbers([u, v]), t) for u, v, t in events]
        counts = [self.count("surprise", graph, u, v, np.nextafter(t, -math.inf)) for u, v, t in numbers]
        return {"src": [u for u, _, _ in events], "surprise": 1 / (1 + np.array(counts))}

    def overdue(self, at, *, graph):
        known = graph.time <= (math.inf if "overdue" in self.ahead else at)
        latest = {(u, v): t for u, v, t in zip(graph.src[known], graph.dst[known], graph.time[known], strict=True)}
        pairs = sorted(latest, key=latest.get)
        return {
            "src": np.array([graph.ids[u] for u, _ in pairs]),
            "late": at - np.array([latest[pair] for pair in pairs]),
        }


def test_what_keeps_to_the_past_passes():
    report = audit(Loops(), forum(), cuts=9, queries=12)
    assert report.passed, str(report)
    assert {(one.check, one.call) for one in report.findings} == {
        *((check, call) for check in CHECKS for call in TIMED_CALLS),
        ("canary", "within"),
        ("unseen ids preferred", "within"),
    }
    assert all(one.largest == 0 for one in report.findings if one.check not in ("canary", "unseen ids preferred"))
    compared = {one.call: one.comparisons for one in report.findings if one.check == "future deleted"}
    assert compared["within"] == compared["when"] == 2 * 9 * 12
    assert compared["rank"] == compared["next"] == 2 * 3 * 10  # ten targets at the first, fifth and ninth cut
    assert compared["surprise"] == 2 * 32
    assert compared["overdue"] > 100  # all pairs of the cut in the middle, in two worlds


@pytest.mark.parametrize("call", TIMED_CALLS)
def test_a_leak_in_one_call_is_told_of_that_call(call):
    report = audit(Loops(call), forum(), cuts=9, queries=12)
    assert {one for _, one in failed(report)} == {call}
    assert {("future deleted", call), ("future scrambled", call)} <= failed(report)
    message = next(one.message for one in report.findings if not one.passed and one.check == "future deleted")
    assert message.startswith("cut 20") and "with all events there, but" in message


def test_the_sentences_are_true():
    graph = forum()
    report = audit(Loops("when", "within"), graph, cuts=5, queries=16)
    said = {one.call: one.message for one in report.findings if one.check == "future deleted"}
    words = said["within"].split()
    src, dst = int(words[6]), int(words[8])
    assert "the probability of" in said["within"]
    assert Loops().count("", graph, src, dst, math.inf) > 0
    words = said["when"].replace(",", " ").split()
    assert words[3:7] == ["in", "when", "wait", "of"]
    total = Loops().count("", graph, int(words[7]), int(words[8]), math.inf)
    assert f"is {1 / total:.6g} with all events there, but" in said["when"]


def test_a_planted_future_is_found_in_what_is_within():
    class Shared(Loops):
        """Answers for a pair as it did the first time, whatever graph it is given then."""

        memory = {}  # noqa: RUF012

        def within(self, src, dst, days, at, *, graph):
            fresh = Loops("within").within(src, dst, days, at, graph=graph)
            pairs = zip(src.tolist(), dst.tolist(), fresh, strict=True)
            return np.array([self.memory.setdefault((u, v), row) for u, v, row in pairs])

    report = audit(Shared(), forum(), cuts=8, queries=32, calls="within")
    assert ("canary", "within") in failed(report)


def test_a_call_that_takes_no_graph_is_not_asked():
    class Other:
        """Has a rank of its own kind."""

        def rank(self, nodes):
            return sorted(nodes)

        def score_links(self, src, dst, at, *, graph):
            return np.zeros(src.size)

    report = audit(Other(), forum(), cuts=2, queries=8)
    assert {one.call for one in report.findings} == {"score_links"}
    assert "not asked: rank, for that of Other takes no graph" in report.notes
    assert "not asked: overdue, which Other does not have" in report.notes


@pytest.mark.parametrize(
    ("call", "answer", "sentence"),
    [
        (
            "within",
            lambda: np.zeros(3),
            r"loops.within: answers of the wrong shape; expected \(16, 2\)",
        ),
        ("when", lambda: 3, "loops.when: answers of the wrong kind; expected a table: a DataFrame, or a dict"),
        ("when", lambda: {"wait": np.zeros(3)}, "loops.when: .*expected a row for each of 8 questions; found"),
        ("when", lambda: {}, "loops.when: .*found no column"),
        ("rank", lambda: [1, 2], r"loops.rank: answers of the wrong kind; expected a list of \(id, probabil"),
        ("next", lambda: {"a": [1], "b": [1.0, 2.0]}, "loops.next: .*expected columns of equal length"),
        ("overdue", lambda: 1 / 0, "loops.overdue: cannot answer; found ZeroDivisionError"),
    ],
)
def test_answers_of_the_wrong_kind_are_one_sentence(call, answer, sentence):
    method = Loops()
    setattr(method, call, lambda *_, graph, **__: answer())
    with pytest.raises(InputError, match=sentence):
        audit(method, forum(), cuts=2, queries=8, calls=call)


def test_which_cuts_are_asked():
    for call in CALLS:
        asked = [number for number in range(100) if is_asked(call, number, 100)]
        assert 50 in asked
        assert set(np.diff(asked)) == {EVERY.get(call, 1)}
        assert is_asked(call, 0, 1)


# -- answers ----------------------------------------------------------------------------------------------------------


def test_tables_are_compared_by_labels_and_by_numbers():
    def table(**changes):
        columns = {
            "src": np.array(["a", "b"]),
            "n": np.array([1, 2]),
            "wait": np.array([0.5, np.nan]),
            "date": np.array(["2015-06-30T12:00", "NaT"], "datetime64[us]"),
            "more": np.array([0.25, None], object),
        }
        return table_answer(columns | changes, "here")

    known = table()
    assert known.columns == ("wait", "date", "more") and known.labels == [("a", 1), ("b", 2)]
    assert known.mismatch(table()) == "" and known.gap(table()) is None
    later = table(date=np.array(["2015-06-30T18:00", "NaT"], "datetime64[us]"))
    gap = known.gap(later)
    assert gap.size == pytest.approx(0.25) and known.about(gap) == "date of 'a', 1"
    assert known.gap(table(wait=np.array([0.5, 3.0]))).size == math.inf  # a number where there was none
    assert known.gap(table(wait=np.array([np.nan, np.nan]))).size == math.inf
    assert known.mismatch(table(n=np.array([1, 3]))) == "row 2 is of 'b', 3, not of 'b', 2"
    short = {"src": ["a"], "n": [1], "wait": [0.5], "date": np.array(["2015-06-30"], "datetime64[us]"), "more": [0.25]}
    assert known.mismatch(table_answer(short, "here")) == "a table of 1 rows, not 2"
    assert "not of wait, date, more" in known.mismatch(table_answer({"src": ["a"], "wait": [1.0]}, "here"))


def test_frames_of_pandas_and_polars_are_tables():
    pandas = pytest.importorskip("pandas")
    columns = {"src": ["a", "b"], "wait": [0.5, 1.5]}
    one, other = (table_answer(frame(columns), "here") for frame in (pandas.DataFrame, pl.DataFrame))
    assert one.mismatch(other) == "" and one.gap(other) is None
    empty = table_answer(pl.DataFrame({"src": [], "wait": []}, {"src": pl.String, "wait": pl.Float64}), "here")
    assert empty.mismatch(empty) == "" and empty.gap(empty) is None
    assert one.mismatch(empty) == "a table of 0 rows, not 2"


def test_rankings_and_arrays():
    known, other = ranking_answer([(1, [(2, 0.5)])], "here"), ranking_answer([(1, [(3, 0.5)])], "here")
    assert known.mismatch(other) == "row 1 is of 1, 3, not of 1, 2"
    assert ranking_answer([(1, [])], "here").mismatch(ranking_answer([(1, [])], "here")) == ""
    array = array_answer([1.0, 2.0], "here", (2,))
    assert array.mismatch(Answer(np.zeros(3), [])) == "an answer of shape (3,), not (2,)"


# -- our own ----------------------------------------------------------------------------------------------------------


def shop():
    """Users and items, some of which have the same id."""
    made = desk(40, agents=8, days=120, seed=3).graph
    return rebuilt(made, time=np.round(made.time, 1)) if not made.bipartite else made


def typed(graph):
    """Give events types by chance."""
    codes = np.random.default_rng(0).integers(-1, 3, graph.num_events).astype(np.int16)
    return replace(graph, type=codes, type_names=("call", "mail", "visit"))


KINDS = {
    "forum": forum,
    "ties": lambda: rebuilt(forum(), time=np.floor(forum().time)),
    "desk": shop,
    "undirected": lambda: forum(directed=False),
    "types": lambda: typed(forum()),
    "types and ties": lambda: typed(rebuilt(forum(), time=np.floor(forum().time))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_call_of_the_forecaster_passes(kind):
    graph = KINDS[kind]()
    end = float(graph.time[graph.num_events // 2])
    config = ForecastConfig(steps=10, trees=5, leaf_samples=5, event_types="always")
    model = Forecaster(config).fit(graph.before(end), progress=False)
    assert bool(model.types_) == ("types" in kind)
    report = audit(model, graph, cuts=6, queries=16, test_from=end)
    assert report.passed, str(report)
    assert {one.call for one in report.findings} == {*CALLS, "fit"} - {"embed"}
    assert all(one.largest == 0 for one in report.findings if one.check in CHECKS)


def test_a_forecaster_that_looks_ahead_is_caught():
    """As of a moment five days later, in every call."""

    class Ahead(Forecaster):
        def within(self, src, dst, days, at=None, *, before=None, graph=None):
            return super().within(src, dst, days, at + 5, before=before, graph=graph)

        def when(self, src, dst, at=None, *, before=None, graph=None):
            return super().when(src, dst, at + 5, before=before, graph=graph)

        def rank(self, src, at=None, k=10, *, before=None, new=False, graph=None):
            return super().rank(src, at + 5, k, graph=graph)

        def next(self, src, k=10, days=7.0, at=None, *, before=None, new=False, graph=None):
            return super().next(src, k, days, at + 5, graph=graph)

        def overdue(self, at=None, level=0.9, *, least=0.5, before=None, graph=None):
            return super().overdue(at + 5, graph=graph)

    graph = forum()
    end = float(graph.time[500])
    model = Ahead(ForecastConfig(steps=10, trees=5, leaf_samples=5)).fit(graph.before(end), progress=False)
    report = audit(model, graph, cuts=12, queries=16)
    caught = {call for check, call in failed(report) if check == "future deleted"}
    assert caught >= {"within", "when", "rank", "next"}
    assert not caught & {"score_links", "predict_toe", "surprise"}
