"""What `tadge evaluate` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from tadge.evaluation.result import Result


def show(results: Sequence[Result]) -> None:
    """Print results: with the best in bold on a terminal, else as plain text."""
    console = Console()
    for result in results:
        shown: Any = result if console.is_terminal else str(result)
        console.print(shown, highlight=False, markup=False, soft_wrap=not console.is_terminal)
