"""The version of tadge that is installed, and the state of its source where that is known."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

__version__ = version("tadge")
SECONDS = 10.0  # that a question about the source may take


def code_version() -> str:
    """Give the version, and behind it the commit where tadge runs from its repository; `+` where its code differs."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return __version__
    try:
        commit = _git(root, "rev-parse", "--short=7", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{__version__} ({commit}{'+' if changed else ''})"


def _git(root: Path, *asked: str) -> str:
    told = subprocess.run(["git", "-C", str(root), *asked], capture_output=True, text=True, timeout=SECONDS, check=True)
    return told.stdout.strip()
