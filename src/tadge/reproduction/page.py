"""report.html of a reproduction: every table and figure beside the print, and which runs they were made from."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tadge.page.document import document
from tadge.page.parts import note, section, table, tiles
from tadge.plots.markup import Markup, element, join
from tadge.reproduction import printed
from tadge.reproduction.cells import SUBJECTS
from tadge.reproduction.drawings import CAPTIONS
from tadge.reproduction.findings import findings
from tadge.reproduction.records import About, code_mark
from tadge.reproduction.tables import Found, Grid
from tadge.storage.atomic import atomic_file

QUICK = "The quick form, on a small synthetic graph: it shows that everything runs, and says nothing about the paper."
ONE_PANEL = ("fig8", "fig9")
READINGS = {
    "fig4": "An end of a test edge counts where it finds a node that it shares an edge with, and the ToE is less than "
    "epsilon off. Left: networks on walks choose among rows, the others among nodes; right: all choose among nodes.",
    "fig5": "One seed, few epochs; the paper has this for Hyperlink: more blocks hurt, and more heads help.",
    "fig6": "One seed, few epochs; the paper has this for Hyperlink: F1 best at 128, ToE flat.",
    "fig7": "Losses, F1 and errors on the walks that are learned from, first seed; at the right the mean epoch, with a "
    "shadow from the quickest to the slowest.",
    "fig8": f"{printed.SCALABILITY} Here: the mean epoch, with a shadow from the quickest to the slowest.",
    "fig9": "One seed. The paper finds that the loss is almost the same from the first epoch on.",
}


def write_page(
    path: Path, found: Found, about: About, grids: Sequence[Grid], drawings: Mapping[str, Mapping[str, bytes]]
) -> None:
    """Write the page into a file, which appears whole or not at all."""
    with atomic_file(path, "w") as file:
        file.write(page_html(found, about, grids, drawings))


def page_html(found: Found, about: About, grids: Sequence[Grid], drawings: Mapping[str, Mapping[str, bytes]]) -> str:
    """Give the page as one string of HTML."""
    tables = {grid.name: grid for grid in grids}
    links, parts = {"found": "Findings"}, [_head(found, about), _findings(found)]
    for subject in SUBJECTS:
        if subject in tables:
            parts.append(_table(tables[subject]))
        elif subject in drawings:
            parts.append(_drawing(subject, drawings[subject]))
        else:
            continue
        links[subject] = re.sub(r"(\d)", r" \1", subject.capitalize())
    links["runs"] = "Runs"
    return document(f"{about.data}: the paper's tables and figures", links, [*parts, _runs(found)])


def _head(found: Found, about: About) -> Markup:
    seconds = sum(record["seconds"] for record in found.records.values())
    figures = tiles(
        (f"{about.nodes:,}", "nodes"),
        (f"{about.events:,}", "events"),
        (f"{len(found.records):,}", "runs"),
        (f"{seconds / 3600:.1f} h", "in all"),
    )
    named = f" ({found.paper_name} in the paper)" if found.paper_name else ""
    return element(
        "header",
        element("p", "Section 5 of the TADGE paper, run again", class_="kicker"),
        element("h1", f"{about.data}{named}"),
        note(QUICK) if about.quick else None,
        figures,
        class_="summary",
    )


def _findings(found: Found) -> Markup:
    lines = findings(found)
    lead = "What the tables below say, made from the same records; nothing here is typed by hand."
    if not lines:
        lead = "There is nothing to compare yet: no run of TADGE is finished."
    return section("found", "Findings", lead, element("ul", *(element("li", line) for line in lines)))


def _table(grid: Grid) -> Markup:
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    notes = [note(line) for line in grid.notes]
    numbers = range(1, len(grid.headings))
    return section(grid.name, grid.title, grid.lead, table(grid.headings, rows, numbers=list(numbers)), *notes)


def _cell(text: str) -> Markup:
    """Set what stands between pairs of asterisks in bold."""
    return join(*(element("strong", part) if place % 2 else part for place, part in enumerate(text.split("**"))))


def _drawing(subject: str, made: Mapping[str, bytes]) -> Markup:
    source = f"data:image/svg+xml;base64,{base64.b64encode(made['svg']).decode()}"
    width = 560 if subject in ONE_PANEL else 1_080
    style = f"width:min(100%,{width}px);background:white;border-radius:6px"
    image = element("img", src=source, alt=CAPTIONS[subject], style=style)
    return section(subject, CAPTIONS[subject], READINGS[subject], element("div", image, class_="card"))


def _runs(found: Found) -> Markup:
    """List all runs, and which of them were made by other code than this."""
    rows, others = [], 0
    for cell, record in found.records.items():
        same = record["code"] == code_mark()
        others += not same
        code = record["code"] if same else join(record["code"], " ", element("em", "other code"))
        cells = f"{record['seconds']:,.0f}", f"{record['peak_memory_mb']:,.0f}", record["version"], code
        rows.append([str(cell), *cells])
    lead = "Every run has a record of its own in records/: options, seed, version, code, data, seconds, memory."
    said = []
    if others:
        said = [
            note(
                f"{others:,} of {len(rows):,} runs were made by other code than this page: run them again with --force."
            )
        ]
    headings = ["run", "seconds", "memory of the process so far, MB", "version", "code"]
    return section("runs", "Runs", lead, *said, table(headings, rows, numbers=[1, 2]))
