"""Questions of a board: the same from the same data, chosen by the past, true to what came, and safe on disk."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tadge
from small import forum, rebuilt
from tadge.board import Board, make_board


@pytest.fixture(scope="module")
def board():
    return make_board(forum(), "forum", moments=60)


def test_what_came_is_what_a_slow_search_finds(board):
    graph = forum()
    src, dst = board.pairs(graph)
    assert board.came.any()
    assert not board.came.all()
    for row in range(len(board)):
        own = (graph.src == src[row]) & (graph.dst == dst[row]) & (graph.time > board.at[row])
        later = graph.time[own]
        assert board.came[row] == (later.size > 0)
        expected = later.min() - board.at[row] if later.size else graph.time[-1] - board.at[row]
        assert board.days[row] == pytest.approx(expected, abs=1e-12)
        assert board.horizon[row] == graph.time[-1] - board.at[row]


def test_questions_are_of_the_test_period_and_in_order(board):
    graph = forum()
    assert board.about.test_from == graph.time[round(0.85 * graph.num_events)]
    assert board.at.min() >= board.about.test_from
    assert board.horizon.min() > 0
    assert (np.diff(board.at) >= 0).all()
    assert board.about.horizons == (1 / 24, 1.0, 7.0, 30.0)
    assert list(board.about.probability_columns) == [
        *("within_1_hour", "within_1_day", "within_7_days", "within_30_days"),
    ]


def test_the_past_alone_chooses_the_pairs(board):
    """What comes after a moment, moved to other nodes, changes neither this question nor earlier ones."""
    graph, cut = forum(), float(np.median(board.at))
    rng, later = np.random.default_rng(0), graph.time > cut
    src, dst = graph.src.copy(), graph.dst.copy()
    for ends in (src, dst):
        ends[later] = rng.permutation(ends[later])
    other = make_board(rebuilt(graph, graph.ids[src], graph.ids[dst]), "forum", moments=60)
    first = [(board.src, board.dst, board.at), (other.src, other.dst, other.at)]
    mine, others = ({(*row,) for row in zip(*columns, strict=True) if row[2] <= cut} for columns in first)
    assert len(mine) > 100
    assert mine == others


def test_the_same_data_and_numbers_give_the_same_board(board):
    again = make_board(forum(), "forum", moments=60)
    assert again.about == board.about
    assert make_board(forum(), "forum", moments=60, seed=1).about.questions_sha256 != board.about.questions_sha256


@pytest.mark.parametrize("form", [".csv", ".csv.gz", ".parquet"])
def test_files_come_back_as_they_were(board, tmp_path, form):
    board.write(tmp_path / "b", form)
    back = Board.read(tmp_path / "b")
    assert back.about == board.about
    for name in ("src", "dst", "at", "horizon", "days", "came"):
        assert np.array_equal(getattr(back, name), getattr(board, name))
    assert sorted(place.name for place in (tmp_path / "b").iterdir()) == [
        *("board.json", f"questions{form}", f"truth{form}")
    ]


def test_files_that_were_changed_are_refused(board, tmp_path):
    board.write(tmp_path)
    truth = tmp_path / "truth.csv"
    text = truth.read_text()
    truth.write_text(text.replace(",0\n", ",1\n", 1))
    with pytest.raises(tadge.InputError, match=r"truth\.csv: not what was written; expected checksum"):
        Board.read(tmp_path)
    truth.write_text("\n".join(text.splitlines()[:-1]) + "\n")
    with pytest.raises(tadge.InputError, match="questions and truth differ"):
        Board.read(tmp_path)
    truth.unlink()
    with pytest.raises(tadge.InputError, match="there is no file of the truth"):
        Board.read(tmp_path)
    about = json.loads((tmp_path / "board.json").read_text())
    del about["seed"]
    (tmp_path / "board.json").write_text(json.dumps(about))
    with pytest.raises(tadge.InputError, match=r"board\.json: not a board"):
        Board.read(tmp_path)
    with pytest.raises(tadge.InputError, match="cannot be read"):
        Board.read(tmp_path / "nowhere")


def test_what_cannot_be_asked_is_one_sentence(board, tmp_path):
    once = tadge.TemporalGraph.from_arrays([1, 2], [2, 3], [5.0, 5.0], unit="days")
    with pytest.raises(tadge.InputError, match="nothing to ask about; expected a history with several instants"):
        make_board(once, "once")
    late = tadge.TemporalGraph.from_arrays([1, 2, 3], [2, 3, 1], [5.0, 6.0, 6.0], unit="days")
    with pytest.raises(tadge.InputError, match="test: the test period cannot be told from the rest"):
        make_board(late, "late")
    for horizons in ((), (1.0, 1.0), (0.0, 1.0), (1.0, float("inf"))):
        with pytest.raises(tadge.ConfigError, match="horizons: not horizons"):
            make_board(forum(), "forum", horizons=horizons)
    with pytest.raises(tadge.ConfigError, match="moments: value too small"):
        make_board(forum(), "forum", moments=0)
    with pytest.raises(tadge.ConfigError, match="form: unknown kind of file"):
        board.write(tmp_path, ".xlsx")
    board.write(tmp_path, ".parquet")
    with pytest.raises(tadge.InputError, match="there is a board of another form"):
        board.write(tmp_path, ".csv")
    with pytest.raises(tadge.InputError, match="other data than the board's; expected forum, fingerprint"):
        board.pairs(forum(seed=1))


def test_ids_of_any_kind_and_both_sides(tmp_path):
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 9, 400), rng.integers(0, 7, 400)
    names = np.array([f'user "{user}", jr' for user in users], object)
    graph = tadge.TemporalGraph.from_arrays(
        names, items.astype(str).astype(object), np.sort(rng.uniform(0, 90, 400)), unit="days", bipartite=True
    )
    board = make_board(graph, "shop", moments=20)
    board.write(tmp_path)
    src, dst = Board.read(tmp_path).pairs(graph)
    assert (src < graph.num_sources).all()
    assert (dst >= graph.num_sources).all()


def test_public_boards_are_those_of_the_docs(data_dir, monkeypatch):
    from pathlib import Path

    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    docs = Path(__file__).parents[2] / "docs" / "board"
    for name in ("bitcoin-otc", "college-msg"):
        kept = Board.read(docs / name)
        made = make_board(tadge.datasets.load(name, quiet=True), name)
        assert made.about.questions_sha256 == kept.about.questions_sha256
        assert made.about.truth_sha256 == kept.about.truth_sha256
