"""The frame of a page: head, links to its sections, style and script inside; nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files

from tadge.plots.markup import Markup, element, join
from tadge.version import __version__

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def document(title: str, links: Mapping[str, str], children: Iterable[Markup | None]) -> str:
    """Give a page as one string of HTML.

    Args:
        title: what the window is called.
        links: words of the links above, by the names of the sections they lead to.
        children: what stands on it, in order.
    """
    toggle = element("button", "Dark", type="button", id="theme", title="light or dark")
    anchors = [element("a", words, href=f"#{name}") for name, words in links.items()]
    body = element(
        "body",
        element("nav", element("div", *anchors, class_="links"), toggle),
        element("main", *children),
        element("footer", f"Made by tadge {__version__}. This file is whole: it asks for nothing from outside."),
        element("script", _resource("script.js")),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", _resource("style.css")),
    )
    return join(Markup("<!doctype html>\n"), element("html", head, body, lang="en"), Markup("\n"))


def _resource(name: str) -> Markup:
    """Read a file that lies beside this one."""
    return Markup((files(__package__) / name).read_text("utf-8"))
