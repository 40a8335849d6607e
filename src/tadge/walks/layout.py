"""How the index of the walks lies in memory: records of half a cache line or a whole one, aligned by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

NONE = 0xFFFF_FFFF  # no position
BIG = 1 << 15  # counts from here on are kept in a separate table
MANY = 1 << 31  # flag of a guide entry: more than two entries of the list begin in its part
MAX_EDGES = 1 << 30  # positions are 32 bits wide, there are up to two guide entries per link, and one bit is a flag
CACHE_LINE = 64

Records = npt.NDArray[Any]

# One occurrence, where a walk can begin.
START = np.dtype([("time", "f8"), ("node", "i4"), ("first", "u4")])  # where its candidates begin

# One step of a walk: the node reached, when, and over which event.
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

# One event of a node's list: where it leads, and all that is needed to draw from the candidates there, which are the
# rest of that node's list. `shift` lies in the 8 lowest bits of `most`, which changes it by less than one part in 1e13.
LATER = np.dtype(
    {
        "names": ["time", "total", "most", "shift", "last", "mass", "rest", "node", "event", "end", "guide"],
        "formats": ["f8", "f8", "f8", "u1", "f8", "i8", "i8", "i4", "u4", "u4", "u4"],
        "offsets": [0, 8, 16, 16, 24, 32, 40, 48, 52, 56, 60],
        "itemsize": 64,
    }
)
# time   of the event, which is the time of the occurrence it leads to
# total  sum of delta over the candidates
# most   the same without the delta of the first candidate: the largest weight per unit of centrality
# shift  the guide cuts the mass of the list into parts of 1 << shift
# last   weight of the last candidate: its centrality times the sum of delta over the others
# mass   centrality summed over the entries before the candidates in their list
# rest   centrality summed over the candidates but the last
# node   where the event leads
# end    the last candidate, or NONE where there is no candidate
# guide  where the guide of the candidates' list begins

# One part of a list's mass: the entry that its first point belongs to, and how far into the part the next one begins.
GUIDE = np.dtype([("entry", "u4"), ("split", "u4")])

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
