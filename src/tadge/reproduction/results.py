"""The page of the paper's tables, from kept records: `python -m tadge.reproduction.results FOLDER` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tadge.datasets.registry import find, is_known
from tadge.reproduction.cells import SUBJECTS
from tadge.reproduction.drawings import CAPTIONS
from tadge.reproduction.findings import findings
from tadge.reproduction.page import READINGS
from tadge.reproduction.records import ABOUT, read_about, records_in
from tadge.reproduction.run import FIGURES, markdown
from tadge.reproduction.sizes import Size
from tadge.reproduction.tables import TABLES, Found, tables_of
from tadge.units import duration_text

WORDS = "words.md"


def results_page(folder: Path) -> str:
    """Write `words.md` and the records of every data set in a folder as one page of Markdown."""
    parts = [(folder / WORDS).read_text(encoding="utf-8")]
    for place in sorted(folder.glob(f"*/{ABOUT}")):
        parts += _section(place.parent, folder.name)
    return "\n".join(parts)


def found_in(folder: Path) -> Found:
    """Read all records of a folder that `reproduce` made."""
    about = read_about(folder)
    records = records_in(folder)
    seeds = 1 + max((cell.seed for cell in records), default=0)
    paper_name = find(about["data"]).paper_name if is_known(about["data"]) else None
    return Found(records, Size.from_dict(about["size"]), seeds, about["data"], paper_name)


def _section(folder: Path, parent: str) -> Iterator[str]:
    about, found = read_about(folder), found_in(folder)
    seconds = sum(record["cpu_seconds"] for record in found.records.values())
    marks = sorted({f"tadge {record['version']}, code {record['code']}" for record in found.records.values()})
    named = f" ({found.paper_name} in the paper)" if found.paper_name else ""
    yield f"## {about['data']}{named}\n"
    yield (
        f"{about['nodes']:,} nodes, {about['events']:,} events, data {about['fingerprint']}; "
        f"{len(found.records)} runs, {duration_text(seconds)} of CPU in all, by {' and '.join(marks)}. "
        f"`tadge reproduce` with `--check docs/{parent}/{folder.name}` runs one of them again with the code at hand.\n"
    )
    yield "\n".join(f"- {line}" for line in findings(found)) + "\n"
    for subject in SUBJECTS:
        drawing = folder / FIGURES / f"{subject}.svg"
        if subject in TABLES:
            yield markdown(tables_of(subject, found))
        elif drawing.exists():
            yield f"### {CAPTIONS[subject]}\n"
            yield f"{READINGS[subject]}\n"
            yield f"![{CAPTIONS[subject]}]({parent}/{folder.name}/{FIGURES}/{subject}.svg)\n"


if __name__ == "__main__":
    print(results_page(Path(sys.argv[1])), end="")
