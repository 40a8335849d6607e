"""The questions of a board as sequences of marked events, in the form that EasyTPP reads, for models of such sequences.

Of each pair: the latest events of src, in either role, up to the moment. A mark says which: 0 a link from src to dst,
which is what the board asks about; 1 one from dst to src; 2 one from src to anybody else; 3 one from anybody else to
src. Times count from the first of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints
from tadge.baselines.drawn_pairs import draw_pairs
from tadge.board.questions import Board
from tadge.config import SEQUENCE_EVENTS
from tadge.errors import InputError
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import find_end, past_of
from tadge.storage.atomic import atomic_file
from tadge.validation import latest_from

MARKS = 4  # src to dst, dst to src, src to others, others to src
LEARNED_FROM = 0.5  # of what is before the test period, the later half: where pairs to learn from are drawn


def write_sequences(
    board: Board, graph: TemporalGraph, folder: str | PathLike[str], latest: int = SEQUENCE_EVENTS.default
) -> dict[str, int]:
    """Write train.json, dev.json and test.json into a folder; how many sequences each has.

    test.json has the questions, in order: `seq_idx` is the number of the question, and the last event is the last one
    known; a source without any has a sequence of length 0. The others have pairs drawn in the same way from what is
    before the test period, with all that came until then, so that there is something to predict; dev.json has the
    latest fifth.

    Args:
        board: the questions.
        graph: the data of the board.
        folder: where to write.
        latest: the most events of a sequence.
    """
    place, latest = Path(folder), SEQUENCE_EVENTS.check(latest)
    if place.exists() and not place.is_dir():
        raise InputError("this is not a folder", expected="a folder for the sequences", where=str(folder))
    src, dst = board.pairs(graph)
    known = graph.before(board.about.test_from)
    begin = float(known.time[round(known.num_events * (1 - LEARNED_FROM))])
    drawn = draw_pairs(known, board.about.seed, "sequences", board.about.moments, begin, float(known.time[-1]))
    order = np.argsort(drawn.at, kind="stable")
    drawn, cut = drawn.take(order), latest_from(order.size)
    until = np.full(order.size, known.time[-1])
    parts = {"train": slice(0, cut), "dev": slice(cut, None)}
    sizes = {}
    for name, part in parts.items():
        rows = _sequences(known, drawn.src[part], drawn.dst[part], until[part], latest)
        sizes[name] = _write(place / f"{name}.json", rows, empty=False)
    sizes["test"] = _write(place / "test.json", _sequences(graph, src, dst, board.at, latest), empty=True)
    return sizes


def _sequences(graph: TemporalGraph, src: Ints, dst: Ints, at: Days, latest: int) -> Iterator[dict[str, Any]]:
    """Give the sequence of each pair as of a moment, numbered from 1."""
    past = past_of(graph)
    ends = [find_end(lists.start, lists.time, src, at) for lists in (past.outgoing, past.incoming)]
    for row, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        times, marks = [], []
        for role, (lists, end) in enumerate(zip((past.outgoing, past.incoming), ends, strict=True)):
            cut = slice(max(int(lists.start[u]), int(end[row]) - latest), int(end[row]))
            times.append(lists.time[cut])
            marks.append(np.where(lists.other[cut] == v, role, role + 2))
        time, mark = np.concatenate(times), np.concatenate(marks)
        order = np.argsort(time, kind="stable")[-latest:]
        time, mark = time[order], mark[order]
        gaps = np.diff(time, prepend=time[:1])
        yield {
            "dim_process": MARKS,
            "seq_idx": row + 1,
            "seq_len": int(time.size),
            "time_since_start": (time - time[:1]).tolist() if time.size else [],
            "time_since_last_event": gaps.tolist(),
            "type_event": mark.tolist(),
        }


def _write(path: Path, rows: Iterator[dict[str, Any]], empty: bool) -> int:
    """Write sequences as one JSON array, one a line; where `empty` is False those of fewer than two events are left."""
    count = 0
    with atomic_file(path, "w") as file:
        file.write("[")
        for row in rows:
            if empty or row["seq_len"] > 1:
                file.write(",\n" if count else "\n")
                file.write(json.dumps(row))
                count += 1
        file.write("\n]\n")
    return count
