"""How a file was read, kept with its graph, so that the next file is read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tadge.config import options as fields_of
from tadge.io.options import ReadOptions

DEFAULTS = {one.name: one.default for one in fields_of(ReadOptions)}
COLUMNS = ("src", "dst", "time", "weight")
FURTHER = ("type",)  # columns that are read only where they are named
AS_TOLD = ("delimiter", "comments", "encoding")  # what files tell anew if nobody did


def settled(
    options: ReadOptions, columns: Mapping[str, str], named: bool, found: Mapping[str, str | bool | None]
) -> dict[str, str | bool]:
    """Give the options that would read the same file in the same way, as a graph keeps them.

    Args:
        options: what was told.
        columns: the column of each role that was used, by name or as "column 3".
        named: whether columns have names.
        found: further options as they turned out: unit, time_format, bipartite; None where there is nothing to tell.
    """
    told = {name: getattr(options, name) for name in AS_TOLD}
    reading = {name: value for name, value in told.items() if value != DEFAULTS[name]}
    prefix = "" if named else "column "
    reading |= dict.fromkeys(COLUMNS, "none")
    used = (role for role in (*COLUMNS, *FURTHER) if role in columns)
    reading |= {role: columns[role].removeprefix(prefix) for role in used}
    reading |= {} if named else {"header": False}
    reading |= {name: value for name, value in found.items() if value is not None}
    return reading | {"directed": options.directed, "tov": options.tov}


def filled_in(options: ReadOptions, reading: Mapping[str, Any] | None, *, columns: bool = True) -> ReadOptions:
    """Fill in, where nothing was told, how an earlier file was read.

    Args:
        options: what was told.
        reading: of the graph of the earlier file.
        columns: whether columns are filled in too; they are not where some were told.
    """
    known = {name: value for name, value in (reading or {}).items() if name in DEFAULTS}
    if not columns or any(getattr(options, role) is not None for role in ("src", "dst", "time")):
        known = {name: value for name, value in known.items() if name not in (*COLUMNS, *FURTHER, "header")}
    untold = {name: value for name, value in known.items() if getattr(options, name) == DEFAULTS[name]}
    return replace(options, **untold)
