"""The boards of public data sets: make them, let methods answer, keep the scores that docs/board.md is made from.

    python benchmarks/board.py [NAME...] [--write]

Boards lie in docs/board/NAME and are read from there; --write makes them anew. The data are read where they are
(TADGE_DATA). Answers, and the seconds that they took, are kept in results/board and not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import tadge
from tadge.baselines import make
from tadge.baselines.base import Baseline
from tadge.baselines.within import BoostedTreesWithin
from tadge.board import Board, answers_of, make_board, read_answers, score_answers

BOARDS = {
    "bitcoin-otc": {},
    "college-msg": {},
    "jodie-wikipedia": {},
    "sx-mathoverflow": {},
    "sx-askubuntu-a2q": {},
    "htne-dblp": {"test": 0.4, "horizons": (0.04, 0.08, 0.12)},  # a year is 1/26; the last one has 13% of events
}
METHODS = ("Forecaster", "boosted trees (within)", "Cox", "recency table", "pair rates", "one curve for all")


def rule_of(method: str, board: Board) -> Baseline:
    """Make a rule; boosted trees learn the horizons that the board asks for."""
    rule = make(method)
    if isinstance(rule, BoostedTreesWithin):
        rule.horizons = board.about.horizons
    return rule


def answer(name: str, board: Board, graph: tadge.TemporalGraph) -> tuple[dict, dict]:
    """Give the answers of all methods, and the seconds that learning and answering took; kept ones are taken."""
    kept = Path("results/board") / name
    sheets, clock = {}, kept / "seconds.json"
    seconds = json.loads(clock.read_text()) if clock.exists() else {}
    for method in METHODS:
        place = kept / f"{method.split(' (')[0].replace(' ', '-').lower()}.parquet"
        if not place.exists():
            known, began = graph.before(board.about.test_from), time.perf_counter()
            fitted = (
                tadge.Forecaster().fit(known, progress=False)
                if method == "Forecaster"
                else rule_of(method, board).fit(known)
            )
            learned = time.perf_counter()
            answers_of(fitted, board, graph).write(board, place)
            seconds[method] = {"fit": learned - began, "answers": time.perf_counter() - learned}
            clock.write_text(json.dumps(seconds))
            print(f"{name}, {method}: {seconds[method]['fit']:.1f} s to learn", flush=True)
        sheets[method] = read_answers(place, board)
    return sheets, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("docs/board"))
    asked = parser.parse_args()
    for name in asked.names or BOARDS:
        graph = tadge.datasets.load(name, quiet=True)
        if asked.write:
            make_board(graph, name, **BOARDS[name]).write(asked.out / name, ".csv.gz")
        board = Board.read(asked.out / name)
        sheets, seconds = answer(name, board, graph)
        result = score_answers(board, sheets)
        result.times |= seconds
        result.seconds = sum(sum(parts.values()) for parts in seconds.values())
        result.to_json(asked.out / name / "record.json")
        print(result)


if __name__ == "__main__":
    main()
