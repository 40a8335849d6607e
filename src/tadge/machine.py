"""What this machine has and what this process has taken: memory, in bytes and megabytes."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil


def available_memory() -> int:
    """Return the bytes of memory that can be had now."""
    return int(psutil.virtual_memory().available)


def peak_memory_mb() -> float:
    """Return the most memory this process has held, in megabytes."""
    if sys.platform == "win32":
        return float(psutil.Process().memory_info().peak_wset) / 1e6
    if sys.platform == "linux":  # getrusage would count the memory of the parent as well
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
