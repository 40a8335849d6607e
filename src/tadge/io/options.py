"""How a file is to be read: every option once, with its help, for Python and the command line alike."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tadge.config import check_options, option, options
from tadge.errors import ConfigError

EXCEL = "excel"  # a unit of times: days since 1900, as Excel counts them


@dataclass(frozen=True)
class ReadOptions:
    """Tell the reader what it would otherwise find out; columns are given by name, or by number counted from 0."""

    src: str | None = option(None, "column of the acting node: a name, or a number counted from 0", kind=str)
    dst: str | None = option(None, "column of the node it links to", kind=str)
    time: str | None = option(None, "column of the time", kind=str)
    weight: str | None = option(None, "column of the weight; 'none' for no weight", kind=str)
    type: str | None = option(None, "column of the event's type, such as a kind of payment; by default none", kind=str)
    unit: str | None = option(
        None, "unit of numeric times: ns, us, ms, s, min, h, days, weeks, years, or excel", kind=str
    )
    time_format: str | None = option(None, "format of written dates, like '%d/%m/%Y %H:%M'", kind=str)
    header: bool | None = option(None, "whether the first row holds the names of the columns", kind=bool)
    delimiter: str | None = option(None, "character between cells, 'tab', or 'space' for runs of blanks", kind=str)
    comments: str | None = option(None, "characters that start a comment ('#%' by default); 'none' for none", kind=str)
    encoding: str = option("utf-8", "encoding of the text")
    directed: bool = option(True, "whether src acts on dst; undirected events count in both directions")
    bipartite: bool | None = option(
        None, "whether src and dst are separate ranges of ids (user 7 is not item 7)", kind=bool
    )
    tov: str = option(
        "source",
        "when a node joins: 'source', when it acts and when it is first seen; 'any', whenever it is seen",
        choices=("source", "any"),
    )
    yes: bool = option(False, "take the likeliest columns, and dates, where it is not clear which is which")
    max_unpacked: float | None = option(
        None,
        "gigabytes that a packed file or a pipe may hold; by default 200 times its size, up to half of the free memory",
        low=0.0,
        kind=float,
    )
    bad_rows: str = option(
        "error", "what to do with rows that cannot be read: stop, or report them and go on", choices=("error", "report")
    )

    def __post_init__(self) -> None:
        for name in ("src", "dst", "time", "weight", "type"):
            column = getattr(self, name)
            if isinstance(column, int) and not isinstance(column, bool):
                object.__setattr__(self, name, str(column))
        check_options(self)
        if self.unit is not None and self.unit != EXCEL:
            from tadge.units import unit_name

            unit_name(self.unit)
        words = ("tab", "space")
        if self.delimiter is not None and self.delimiter not in words and not _ascii(self.delimiter, 1, 1):
            expected, found = "one ASCII character, 'tab' or 'space'", repr(self.delimiter)
            raise ConfigError("this cannot stand between cells", expected=expected, found=found, where="delimiter")
        if self.comments not in (None, "none") and not _ascii(str(self.comments), 0, 2):
            expected = "at most two ASCII characters, or 'none'"
            raise ConfigError("unknown comments", expected=expected, found=repr(self.comments), where="comments")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ReadOptions:
        """Take options by name; complain about unknown names."""
        known = [known_option.name for known_option in options(cls)]
        for name in given:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                cure = f"did you mean {close[0]!r}?" if close else None
                raise ConfigError("unknown option", expected=", ".join(known), found=repr(name), cure=cure)
        return cls(**given)


def _ascii(value: str, least: int, most: int) -> bool:
    return least <= len(value) <= most and value.isascii() and not set(value) & set('"\n\r')
