"""HTML and SVG as strings that are escaped by construction: whatever is not markup already becomes text."""

from __future__ import annotations

from html import escape
from typing import Any

VOID = {"meta", "input", "br", "hr"}  # elements of HTML that have no end


class Markup(str):
    """Hold a piece of HTML or SVG that is ready to be shown."""

    __slots__ = ()


def as_markup(child: Any) -> Markup:
    """Take markup as it is, None as nothing, and all else as text."""
    if child is None:
        return Markup("")
    return child if isinstance(child, Markup) else Markup(escape(str(child), quote=True))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Make an element; `class_` is class, and other underscores are hyphens; attributes that are None are left out.

    Args:
        tag: its name.
        children: markup, or whatever becomes text; lists are taken apart.
        attributes: strings and numbers; True for one without a value.
    """
    parts = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        parts.append(f" {key}" if value is True else f' {key}="{escape(_plain(value), quote=True)}"')
    inside = "".join(as_markup(child) for child in _flat(children))
    end = "" if tag in VOID else f"</{tag}>"
    return Markup(f"<{tag}{''.join(parts)}>{inside}{end}")


def _flat(children: Any) -> list[Any]:
    return [one for child in children for one in (_flat(child) if isinstance(child, (list, tuple)) else [child])]


def join(*children: Any) -> Markup:
    """Put pieces behind each other."""
    return Markup("".join(as_markup(child) for child in _flat(children)))


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") or "0"
    return str(value)
