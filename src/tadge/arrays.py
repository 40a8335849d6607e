"""Types of the arrays that rooms hand each other, and the number that pads them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Nodes = npt.NDArray[np.int32]
Days = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Vectors = npt.NDArray[np.float32]

Report = Callable[[int, int], None]  # is told how much is done, of how much

PAD = -1  # fills arrays of nodes, events and occurrences beyond their end
