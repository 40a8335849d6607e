"""Write the page: all sections in order, with style and script inside; nothing is fetched from anywhere."""

from __future__ import annotations

from importlib.resources import files
from os import PathLike

from tadge.page.ahead import late_surprises, next_section, overdue_pairs_of, overdue_section, surprises_section
from tadge.page.change import drift_section, training_section
from tadge.page.content import Material
from tadge.page.data import data_section
from tadge.page.nodes import map_section
from tadge.page.origin import about_section, law_section
from tadge.page.summary import summary
from tadge.page.trust import trust_section
from tadge.plots.markup import Markup, element, join
from tadge.progress import Bars
from tadge.storage.atomic import atomic_file
from tadge.version import __version__

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
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


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
    links = [element("a", SECTIONS[name], href=f"#{name}") for name, made in sections.items() if made is not None]
    toggle = element("button", "Dark", type="button", id="theme", title="light or dark")
    body = element(
        "body",
        element("nav", element("div", *links, class_="links"), toggle),
        element("main", summary(material, surprises, late), *sections.values()),
        element("footer", f"Made by tadge {__version__}. This file is whole: it asks for nothing from outside."),
        element("script", _resource("script.js")),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{material.name} - tadge report"),
        element("style", _resource("style.css")),
    )
    return join(Markup("<!doctype html>\n"), element("html", head, body, lang="en"), Markup("\n"))


def _resource(name: str) -> Markup:
    """Read a file that lies beside this one."""
    return Markup((files(__package__) / name).read_text("utf-8"))
