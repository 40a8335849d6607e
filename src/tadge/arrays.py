"""Types of the arrays that rooms hand each other, node numbers among them, and the number that pads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.int32]
Days = npt.NDArray[np.float64]
TypeCodes = npt.NDArray[np.int16]
Flags = npt.NDArray[np.bool_]
Vectors = npt.NDArray[np.float32]

Report = Callable[[int, int], None]  # is told how much is done, of how much

PAD = -1  # fills arrays of nodes, events and occurrences beyond their end


class NodeNumbers(np.ndarray[Any, np.dtype[np.int64]]):
    """Mark integers as node numbers, the places of nodes in `graph.ids`, so that no call takes them for ids.

    Every public call takes the user's own ids; where a caller has node numbers instead, it says so:
    `model.embed(tadge.NodeNumbers([0, 5]))`. In every other way this is an int64 array.
    """

    def __new__(cls, numbers: npt.ArrayLike) -> NodeNumbers:
        """Take integers as node numbers, whatever their shape."""
        return np.asarray(numbers, np.int64).view(cls)
