"""How the index of the walks lies in memory: records of half a cache line or a whole one, aligned by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

PAD = -1  # fills the unused end of a walk
NONE = 0xFFFF_FFFF  # a position that is not there
BIG = 1 << 15  # counts from here on stand in a table of their own
SURE = 1 << 31  # flag of a guide entry: the draw needs no search
MAX_EDGES = 1 << 30  # positions are 32 bits wide, and the guide needs two of them for itself
CACHE_LINE = 64

Positions = npt.NDArray[np.uint32]
Records = npt.NDArray[Any]

# One occurrence, where a walk can begin.
START = np.dtype([("time", "f8"), ("node", "i4"), ("first", "u4")])  # where its candidates begin

# One place of a walk: what was reached, when, and over which event.
CELL = np.dtype([("time", "f8"), ("node", "i4"), ("event", "u4")])

# One candidate of an occurrence in the default reach: where it leads, and its column of the alias table. `count` lies
# in the 16 lowest bits of `threshold`, which changes the threshold by less than one part in 6e10; the alias table is
# built with the changed value.
STEP = np.dtype(
    {
        "names": ["time", "threshold", "count", "node", "event", "first", "alias"],
        "formats": ["f8", "f8", "u2", "i4", "u4", "u4", "u4"],
        "offsets": [0, 8, 8, 16, 20, 24, 28],
        "itemsize": 32,
    }
)

# One event of a node's list, in order of time, with what is needed to draw from the rest of the list.
LATER = np.dtype(
    [
        ("time", "f8"),  # of the event
        ("mass", "i8"),  # centrality summed over the entries before this one
        ("spread", "f8"),  # sum over this and all later entries but the last of (their time - this time)
        ("end_time", "f8"),  # time of the list's last entry
        ("end_mass", "i8"),  # mass of the list's last entry
        ("node", "i4"),  # where the event leads
        ("event", "u4"),
        ("next", "u4"),  # first entry of that node's list that is later than this event, or NONE
        ("left", "u4"),  # entries from this one to the end of the list
        ("end_weight", "u4"),  # centrality of the list's last entry
        ("list", "u4"),  # where the list begins
    ]
)

# One event out of an occurrence, and the earlier occurrences of its target that a backward step can land on.
EARLIER = np.dtype(
    [
        ("mass", "i8"),  # centrality summed over the candidates of the events before this one
        ("weight", "i8"),  # centrality of the target
        ("event", "u4"),
        ("newest", "u4"),  # latest occurrence of the target before the event
        ("oldest", "u4"),  # its first one
        ("unused", "u4"),
    ]
)

# The candidates of one occurrence in that step, summed up.
BACK = np.dtype(
    [
        ("total", "f8"),  # sum of delta
        ("others", "f8"),  # the same without the candidate furthest back
        ("furthest", "u4"),  # the link of that candidate, which is its target's first occurrence
        ("unused", "u4"),
    ]
)


def aligned_records(size: int, dtype: np.dtype[Any]) -> Records:
    """Make uninitialised records, (size,), that begin on a cache line: numpy aligns to 16 bytes only."""
    raw = np.empty(size * dtype.itemsize + CACHE_LINE, np.uint8)
    skip = -raw.ctypes.data % CACHE_LINE
    return raw[skip : skip + size * dtype.itemsize].view(dtype)
