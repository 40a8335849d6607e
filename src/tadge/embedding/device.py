"""Where the network runs, and in which precision: the faster one here, found by trying."""

from __future__ import annotations

import time

import torch

from tadge.errors import ConfigError

TRIES = 3
TRIED_ROWS, TRIED_WIDTH = 256, 512  # of the matrices that are tried
CLEARLY = 1.2  # bfloat16 must be this much faster: not everything in a step is a matrix product


def faster_precision(device: torch.device) -> str:
    """Run the matrix products of a layer, forward and backward, in float32 and in bfloat16, and name the faster one."""
    seconds = {dtype: _products(device, dtype) for dtype in (torch.float32, torch.bfloat16)}
    return "bfloat16" if seconds[torch.bfloat16] * CLEARLY < seconds[torch.float32] else "float32"


def _products(device: torch.device, dtype: torch.dtype) -> float:
    rows = torch.ones(TRIED_ROWS, TRIED_WIDTH, dtype=dtype, device=device)
    weight = torch.ones(TRIED_WIDTH, TRIED_WIDTH, dtype=dtype, device=device)
    best = float("inf")
    for _ in range(TRIES):
        began = time.perf_counter()
        out = torch.nn.functional.linear(rows, weight)
        out @ weight
        float((out.T @ rows)[0, 0])  # waits for the device
        best = min(best, time.perf_counter() - began)
    return best


def find_device(name: str | None) -> torch.device:
    """Find a device by its name; CUDA by default, where there is one."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        what, expected = "no such device here", "cpu, or one that torch finds"
        raise ConfigError(what, expected=expected, found=repr(name), where="device") from error
    return device
