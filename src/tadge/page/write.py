"""Write the page: all sections in order, with style and script inside; nothing is fetched from anywhere."""

from __future__ import annotations

from os import PathLike

from tadge.page.ahead import late_surprises, next_section, overdue_pairs_of, overdue_section, surprises_section
from tadge.page.change import drift_section, training_section
from tadge.page.content import Material
from tadge.page.data import data_section
from tadge.page.document import document
from tadge.page.nodes import map_section
from tadge.page.origin import about_section, law_section
from tadge.page.summary import summary
from tadge.page.trust import trust_section
from tadge.progress import Bars
from tadge.storage.atomic import atomic_file

SECTIONS = {
    "data": "Data",
    "next": "Next",
    "trust": "Trust",
    "law": "Law",
    "surprises": "Surprises",
    "overdue": "Overdue",
    "map": "Map",
    "drift": "Drift",
    "training": "Training",
    "about": "About",
}


def write_page(material: Material, path: str | PathLike[str], *, progress: bool | None = None) -> None:
    """Write the page of what was learned into a file, which appears whole or not at all."""
    with Bars(progress) as bars, bars.part("page"):
        text = page_html(material)
    with atomic_file(path, "w") as file:
        file.write(text)


def page_html(material: Material) -> str:
    """Give the page as one string of HTML."""
    surprises, late = late_surprises(material), overdue_pairs_of(material)
    sections = {
        "data": data_section(material),
        "next": next_section(material),
        "trust": trust_section(material),
        "law": law_section(material),
        "surprises": surprises_section(surprises, material),
        "overdue": overdue_section(late, material),
        "map": map_section(material),
        "drift": drift_section(material),
        "training": training_section(material),
        "about": about_section(material),
    }
    links = {name: SECTIONS[name] for name, made in sections.items() if made is not None}
    return document(f"{material.name} - tadge report", links, [summary(material, surprises, late), *sections.values()])
