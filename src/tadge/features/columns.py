"""The names of all columns, written once: where a column stands in a row follows from its name.

u is the source and v the target of the pair asked about. A node "acts" when it links to another.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from tadge.arrays import Ints
from tadge.errors import ConfigError

NUM_SCALES = 4  # of decayed counts

NODE_COLUMNS = (
    *("since it acted", "since it was linked to", "acts", "links to it", "age", "last gap of acts"),
    *("last gap of links to it", "mean ToE of acts", "mean ToE of links to it", "last ToE of acts"),
    *("last ToE of links to it", "repeated acts", "repeated links to it", "events since it was linked to"),
    *("events since it acted", "links to it since it acted"),
    *(f"links to it lately ({scale})" for scale in range(NUM_SCALES)),
    *(f"acts lately ({scale})" for scale in range(NUM_SCALES)),
)
PAIR_COLUMNS = (  # others in common: common neighbours; in bipartite graphs, three-step paths
    *("since src to dst", "since dst to src", "unanswered", "src to dst", "dst to src", "dst last acted on src"),
    *("src last acted on dst", "dst last linked to by src", "src last linked to by dst"),
    *("dst in the acts of src", "dst in the links to src", "src in the acts of dst", "src in the links to dst"),
    *("others in common with the acts of src", "others in common with the links to src"),
    *("chosen together", "chosen together beside popularity", "chosen together likeliest"),
    "chosen together beyond chance",
)
TIMING_COLUMNS = (
    *("weight of dst's last act", "weight of the last dst to src", "weight of the last src to dst"),
    *("negative weights src gave", "negative weights src got", "negative weights dst gave", "negative weights dst got"),
    *("dst acted on src within a day", "targets of dst within a day", "place of src among the targets of dst"),
    *("mean ToE of acts of dst's last target", "acts of dst's last target", "links to dst's last target"),
    *("mean ToE of links to dst's last target", "targets of dst that have not answered"),
    *("long gaps of dst's acts", "mean gap of dst's acts", "long gaps of links to dst", "mean gap of links to dst"),
    *("kind of edge", "mean ToE of links to dst of this kind", "mean ToE of acts of src of this kind"),
    *("mean ToE of answers to dst", "mean ToE of answers of src"),
)
TYPE_LISTS = (  # of events, of each of which the types are looked at
    *("acts of src", "links to src", "acts of dst", "links to dst", "links of src to dst", "links of dst to src"),
)
TYPE_FIGURES = ("since the last of this type", "the last event has it")  # of each list and type
LINK_COLUMNS = (*(f"src: {name}" for name in NODE_COLUMNS), *(f"dst: {name}" for name in NODE_COLUMNS), *PAIR_COLUMNS)
TOE_COLUMNS = LINK_COLUMNS + TIMING_COLUMNS
CHOSEN_TOGETHER = ", ".join(name for name in PAIR_COLUMNS if name.startswith("chosen together"))
PLAIN_COLUMNS = (
    *("since src acted", "since src received", "gap before src's last act", "mean gap of src's acts"),
    *("mean ToE given by src", "last ToE given by src", "mean ToE received by src", "last ToE received by src"),
    *("since dst acted", "since dst received", "gap before dst's last act", "mean gap of dst's acts"),
    *("mean ToE given by dst", "last ToE given by dst", "mean ToE received by dst", "last ToE received by dst"),
    *("share of acts of src", "share of acts of dst", "acts src / dst", "received src / dst"),
    *("dst joined by linking to src", "since dst linked to src", "since src linked to dst"),
    *("links dst to src", "links src to dst"),
)


class RolePlaces(NamedTuple):
    """Hold where the columns of a node in one role stand among NODE_COLUMNS; of those of several scales, the first."""

    since: int
    events: int
    gap: int
    mean_toe: int
    last_toe: int
    repeated: int
    events_since: int
    lately: int


def places(names: Sequence[str]) -> Any:
    """Number columns by name: a named tuple that compiled loops read too, as in `PAIR.since_src_to_dst`."""
    fields = [re.sub(r"\W+", "_", name).strip("_") for name in names]
    return namedtuple("places", fields)(*range(len(names)))


def _role(since: str, count: str, of: str, repeated: str) -> RolePlaces:
    of_role = (f"last gap of {of}", f"mean ToE of {of}", f"last ToE of {of}", repeated, f"events {since}")
    return RolePlaces(*(NODE_COLUMNS.index(name) for name in (since, count, *of_role, f"{count} lately (0)")))


NODE: Any = places(NODE_COLUMNS)
PAIR: Any = places(PAIR_COLUMNS)
TIMING: Any = places(TIMING_COLUMNS)
OUTGOING = _role("since it acted", "acts", "acts", "repeated acts")
INCOMING = _role("since it was linked to", "links to it", "links to it", "repeated links to it")


def columns_left_out(without: str, names: Sequence[str]) -> Ints:
    """Find where columns stand among names, (n,).

    Args:
        without: names of TOE_COLUMNS, with commas between them; those that are not among `names` are passed over.
        names: the columns in question.
    """
    wanted = [name.strip() for name in without.split(",") if name.strip()]
    for name in wanted:
        if name not in TOE_COLUMNS:
            close = get_close_matches(name, TOE_COLUMNS, 1)
            cure = f"did you mean {close[0]!r}?" if close else "tadge.features.columns.TOE_COLUMNS lists them"
            raise ConfigError(
                "unknown column", expected="names of columns", found=repr(name), cure=cure, where="without"
            )
    return np.array([names.index(name) for name in wanted if name in names], np.int64)
