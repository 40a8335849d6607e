"""The page of the board for "when", from kept records: `python -m tadge.report.board FOLDER` prints it as Markdown."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tadge.evaluation.figures import label, number
from tadge.evaluation.result import Result

ABOUT_FILE, RECORD_FILE, WORDS_FILE = "board.json", "record.json", "words.md"
WAIT_METRICS = ("rmse", "mae days", "median days", "pinball", "coverage 80", "coverage 95")


def board_page(folder: Path) -> str:
    """Write how to enter, `words.md`, and the record of every board in a folder as one page."""
    parts = [(folder / WORDS_FILE).read_text(encoding="utf-8")]
    for place in sorted(folder.glob(f"*/{RECORD_FILE}")):
        about = json.loads((place.parent / ABOUT_FILE).read_text(encoding="utf-8"))
        parts += _board_section(about, Result.from_json(place))
    return "\n".join(parts)


def _board_section(about: dict[str, Any], result: Result) -> Iterator[str]:
    data = result.data
    yield f"### {data['name']}\n"
    yield (
        f"{data['nodes']:,} nodes, {data['events']:,} events, the last {about['test']:.0%} of them the test "
        f"period; data {data['fingerprint']}, questions {about['questions_sha256'][:12]}, seed {about['seed']}; "
        f"tadge {result.version}.\n"
    )
    within = [task for task in result.tasks if task.startswith("within ")]
    cells = [("order", "c-index"), *((task, "brier") for task in within), *(("waits", one) for one in WAIT_METRICS)]
    cells = [cell for cell in cells if any(cell[1] in result.figures(name, cell[0]) for name in result.methods)]
    heads = [
        f"{label(metric)} {task.removeprefix('within ')}" if metric == "brier" else label(metric)
        for task, metric in cells
    ]
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(cells) + 1) + "|"]
    best = {cell: result.best(*cell) for cell in cells}
    for name in result.kinds:
        row = []
        for task, metric in cells:
            figure = result.figures(name, task).get(metric)
            text = "-" if figure is None else number(figure["value"], metric)
            row.append(f"**{text}**" if name in best[task, metric] else text)
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    yield "\n".join(lines) + "\n"
    yield "\n".join(f"- {sentence}" for sentence in result.sentences()) + "\n"
    yield "\n".join(f"- {note}" for note in result.notes) + "\n"


if __name__ == "__main__":
    print(board_page(Path(sys.argv[1])), end="")
