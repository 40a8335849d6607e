"""Sheets of answers: every row checked; those of a method are what its curve says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadge
from small import forum
from tadge.baselines import make
from tadge.board import AnswerSheet, answers_of, make_board, read_answers
from tadge.board.answers import quantiles_of
from tadge.board.questions import QUANTILES

LEVELS = np.array(list(QUANTILES.values()))


@pytest.fixture(scope="module")
def board():
    return make_board(forum(), "forum", moments=40)


class Exponential:
    """Links come at a rate per day, whoever asks."""

    name = "exponential"

    def __init__(self, rate):
        self.rate = rate

    def within(self, src, dst, days, at, *, graph):
        return np.repeat(-np.expm1(-self.rate * days)[None, :], len(src), axis=0)


def test_answers_of_a_known_law(board):
    rate = 0.3
    sheet = answers_of(Exponential(rate), board, forum())
    assert sheet.within == pytest.approx(-np.expm1(-rate * np.tile(board.about.horizons, (len(board), 1))))
    comes = -np.expm1(-rate * board.horizon)[:, None]
    expected = -np.log1p(-LEVELS * comes) / rate
    assert sheet.quantiles == pytest.approx(expected, rel=0.02)
    assert (sheet.quantiles <= board.horizon[:, None]).all()


@given(st.integers(0, 2**32), st.floats(0.05, 200.0))
def test_quantiles_lie_where_the_curve_says(seed, until):
    rng = np.random.default_rng(seed)
    times = np.unique(rng.uniform(1e-3, 100.0, 20))
    said = np.sort(rng.uniform(0, 1, (3, times.size)), axis=1)
    ends = np.full(3, until)
    quantiles = quantiles_of(times, said, ends)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert (quantiles <= until).all()
    log_times = np.log(times)
    for row in range(3):  # the curve at each quantile is that part of the curve at the end
        in_all = np.interp(np.log(min(until, times[-1])), log_times, said[row]) if until >= times[0] else None
        for level, quantile in zip(LEVELS, quantiles[row], strict=True):
            if in_all is not None and times[0] <= quantile < until:
                assert np.interp(np.log(quantile), log_times, said[row]) == pytest.approx(level * in_all, abs=1e-9)


def test_a_curve_that_says_never_spreads_its_quantiles_evenly(board):
    sheet = answers_of(Exponential(0.0), board, forum())
    assert (sheet.within == 0).all()
    assert sheet.quantiles == pytest.approx(LEVELS * board.horizon[:, None])


def test_a_method_that_can_be_asked_about_less(board):
    method = Exponential(0.3)
    method.horizon_ = 3.0
    sheet = answers_of(method, board, forum())
    assert sheet.within[0, 2:] == pytest.approx(-np.expm1(-0.9))  # a week and a month: as within three days
    assert sheet.quantiles.max() <= 3.0


def test_who_has_seen_the_test_period_is_refused(board):
    model = Exponential(1.0)
    model.graph_ = forum()
    with pytest.raises(tadge.InputError, match="exponential has seen the test period"):
        answers_of(model, board, forum())
    with pytest.raises(tadge.InputError, match="this method cannot answer; expected a method with within"):
        answers_of(make("last act"), board, forum())


def test_sheets_come_back_as_they_were(board, tmp_path):
    known = forum().before(board.about.test_from)
    sheet = answers_of(make("recency table").fit(known), board, forum())
    for form in ("csv", "tsv", "parquet", "csv.gz"):
        sheet.write(board, tmp_path / f"a.{form}")
        back = read_answers(tmp_path / f"a.{form}", board)
        assert np.array_equal(back.within, sheet.within)
        assert np.array_equal(back.quantiles, sheet.quantiles)
        assert back.risk is None


def test_rows_may_come_in_any_order(board, tmp_path):
    risk = np.random.default_rng(0).normal(size=len(board))
    frame = AnswerSheet(risk=risk).frame(board)
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "a.csv")
    assert np.array_equal(read_answers(tmp_path / "a.csv", board).risk, risk)


def test_a_median_alone_is_enough(board, tmp_path):
    AnswerSheet(quantiles=np.ones((len(board), 1))).write(board, tmp_path / "a.csv")
    sheet = read_answers(tmp_path / "a.csv", board)
    assert (sheet.median == 1.0).all()
    assert sheet.within is None


def whole(board):
    """Text of a good sheet, as rows of cells."""
    columns = ["question", *board.about.probability_columns, *QUANTILES]
    cells = ["0.1", "0.2", "0.3", "0.4", "1", "2", "3", "4", "5"]
    return [columns, *([str(number), *cells] for number in board.questions)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.pop(3), r"a question is not answered; expected one row for each; found question 3 \(1 are"),
        (lambda rows: rows.append(rows[1]), "a question is answered twice"),
        (lambda rows: rows.append(["99999", *rows[1][1:]]), "there is no such question; expected numbers from 1 to"),
        (lambda rows: rows.append(["1.5", *rows[1][1:]]), "there is no such question"),
        (lambda rows: rows[2].__setitem__(1, "1.2"), "question 2, column within_1_hour: not a probability"),
        (lambda rows: rows[2].__setitem__(1, "-0.1"), "not a probability"),
        (lambda rows: rows[2].__setitem__(1, "0.25"), "column within_1_day: a longer time is less likely"),
        (lambda rows: rows[2].__setitem__(1, "often"), "row 3, column within_1_hour: not a number; .* found 'often'"),
        (lambda rows: rows[2].__setitem__(1, ""), "not a number; expected a finite number; found an empty cell"),
        (lambda rows: rows[2].__setitem__(1, "nan"), "not a number"),
        (lambda rows: rows[2].__setitem__(9, "inf"), "row 3, column q97.5: not a number"),
        (lambda rows: rows[4].__setitem__(5, "-1"), "question 4, column q2.5: a wait below 0"),
        (lambda rows: rows[4].__setitem__(6, "9"), "column q50: quantiles fall"),
        (lambda rows: rows[0].__setitem__(5, "q5"), "an unknown column 'q5'"),
        (lambda rows: [row.pop(5) for row in rows], "there is no column 'q2.5'; expected all of"),
        (lambda rows: [row.pop(0) for row in rows], "there is no column 'question'"),
        (lambda rows: [row.__delitem__(slice(1, None)) for row in rows], "there are no answers"),
        (lambda rows: rows.__delitem__(slice(1, None)), "there are no rows"),
        (lambda rows: rows[2].append("1"), "cannot be read"),
    ],
)
def test_bad_sheets_are_one_sentence(board, tmp_path, change, words):
    rows = whole(board)
    change(rows)
    (tmp_path / "a.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    with pytest.raises(tadge.InputError, match=words):
        read_answers(tmp_path / "a.csv", board)


def test_a_file_that_is_not_there_or_empty(board, tmp_path):
    with pytest.raises(tadge.InputError, match="there is no such file"):
        read_answers(tmp_path / "a.csv", board)
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(tadge.InputError, match="the file is empty; expected columns question"):
        read_answers(tmp_path / "a.csv", board)
    (tmp_path / "a.jsonl").write_text('{"question": 1}\n')
    with pytest.raises(tadge.InputError, match="a file of another kind; expected CSV, TSV or Parquet"):
        read_answers(tmp_path / "a.jsonl", board)
