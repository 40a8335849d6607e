"""Which number format is faster on this machine, found by trying."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

TRIES = 2


def faster_precision(step: Callable[[str], None]) -> str:
    """Run a step in float32 and in bfloat16, and name the faster one; `step` must leave nothing changed."""
    seconds = {}
    for precision in ("float32", "bfloat16"):
        times = []
        for _ in range(TRIES):
            began = time.perf_counter()
            step(precision)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
        seconds[precision] = min(times)
    return min(seconds, key=lambda name: seconds[name])
