"""Sequences of marked events: what a slow search finds, in the form that EasyTPP reads."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tadge
from small import forum
from tadge.board import make_board
from tadge.board.sequences import write_sequences


def test_sequences_are_the_latest_events_of_the_source(tmp_path):
    graph = forum()
    board = make_board(graph, "forum", moments=30)
    sizes = write_sequences(board, graph, tmp_path, latest=5)
    test = json.loads((tmp_path / "test.json").read_text())
    assert sizes["test"] == len(test) == len(board)
    src, dst = board.pairs(graph)
    for row, sequence in enumerate(test):
        u, v = src[row], dst[row]
        events = []
        for a, b, t in zip(graph.src, graph.dst, graph.time, strict=True):
            if t <= board.at[row] and u in (a, b):
                mark = (0 if b == v else 2) if a == u else (1 if a == v else 3)
                events.append((t, mark))
        events = events[-5:]
        times = np.array([t for t, _ in events])
        assert sequence["seq_idx"] == row + 1
        assert sequence["dim_process"] == 4
        assert sequence["seq_len"] == len(events)
        assert sequence["type_event"] == [mark for _, mark in events]
        assert sequence["time_since_start"] == pytest.approx((times - times[0]).tolist() if events else [])
        assert sequence["time_since_last_event"] == pytest.approx(np.diff(times, prepend=times[:1]).tolist())
    for name in ("train", "dev"):
        learned = json.loads((tmp_path / f"{name}.json").read_text())
        assert len(learned) == sizes[name] > 0
        assert all(2 <= sequence["seq_len"] <= 5 for sequence in learned)


def test_bad_places_and_lengths(tmp_path):
    board = make_board(forum(), "forum", moments=5)
    (tmp_path / "file").write_text("")
    with pytest.raises(tadge.InputError, match="this is not a folder"):
        write_sequences(board, forum(), tmp_path / "file")
    with pytest.raises(tadge.ConfigError, match="latest_events: value too small"):
        write_sequences(board, forum(), tmp_path, latest=0)
    with pytest.raises(tadge.InputError, match="other data than the board's"):
        write_sequences(board, forum(seed=1), tmp_path)
