from __future__ import annotations

import json
from pathlib import Path

from tadge.reproduction.cells import DATA, RULES, Cell
from tadge.reproduction.records import RecordFolder
from tadge.reproduction.results import found_in, results_page
from tadge.reproduction.work import Workshop
from tiny_reproduction import SIZE, tiny_material

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_shows_what_records_hold(tmp_path):
    material = tiny_material()
    folder = RecordFolder(tmp_path / "forum", material.about)
    folder.begin()
    workshop = Workshop(material.graph, material.labels, material.size)
    for cell in (Cell(DATA), Cell(RULES), Cell("random vectors"), Cell("random vectors", 1)):
        folder.write(cell, workshop.run(cell))
    (tmp_path / "words.md").write_text("# Tables\n", "utf-8")
    found = found_in(tmp_path / "forum")
    assert found.size == SIZE
    assert len(found.records) == 4
    page = results_page(tmp_path)
    assert page.startswith("# Tables\n")
    assert "## tiny forum" in page
    assert "4 runs" in page
    assert "| the mean ToE (1 of 2 seeds) |" in page
    record = json.loads((tmp_path / "forum" / "records" / "free-rules-seed-0.json").read_text("utf-8"))
    assert f"{record['figures']['toe']['rmse']:.3f}" in page


def test_the_page_of_the_papers_tables_is_that_of_its_records():
    page = DOCS / "paper.md"
    assert page.read_text(encoding="utf-8") == results_page(DOCS / "paper"), "make results"
