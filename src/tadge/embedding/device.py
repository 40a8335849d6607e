"""Where the network runs, and in which precision: the same on every machine of a kind."""

from __future__ import annotations

import torch

from tadge.errors import ConfigError
from tadge.machine import processor_flags

BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # of processors that multiply bfloat16 themselves


def faster_precision(device: torch.device) -> str:
    """Name bfloat16 where the device multiplies it itself, else float32; no clock decides, so it never changes."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return "bfloat16" if device.type == "cpu" and processor_flags() & BFLOAT16_FLAGS else "float32"


def find_device(name: str | None) -> torch.device:
    """Find a device by its name; CUDA by default, where there is one."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        what, expected = "no such device here", "cpu, or one that torch finds"
        raise ConfigError(what, expected=expected, found=repr(name), where="device") from error
    return device
