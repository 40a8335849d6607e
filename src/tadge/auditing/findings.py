"""What an audit found: one finding for every check of every call, and a report of them all."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Say how one check of one call went.

    Attributes:
        check: what was checked.
        call: "embed", "score_links" or "predict_toe"; "fit" for what a method was fitted to.
        passed: whether all is well.
        comparisons: how many answers were compared, pairs ranked or events looked up.
        largest: the largest difference between two answers; for the canary how far the AUC is from 1/2.
        said: one sentence; for a failure with the first case of it.
    """

    check: str
    call: str
    passed: bool
    comparisons: int
    largest: float
    said: str


@dataclass(frozen=True)
class AuditReport:
    """Hold what an audit found.

    Attributes:
        method: the method's name.
        findings: one for every check of every call.
        notes: what could not be asked or checked.
        cuts: moments at which the future was cut off.
        queries: questions at each.
        seed: the same seed gives the same cuts and questions.
        tolerance: difference that passes.
        graph: fingerprint of the data.
        seconds: how long it took.
        version: of tadge.
    """

    method: str
    findings: list[Finding]
    notes: list[str]
    cuts: int
    queries: int
    seed: int
    tolerance: float
    graph: str
    seconds: float
    version: str = field(default_factory=lambda: version("tadge"))

    @property
    def passed(self) -> bool:
        """Tell whether every check passed."""
        return all(one.passed for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON; a difference that is not finite is None."""
        found = {"method": self.method, "passed": self.passed, **asdict(self)}
        for one in found["findings"]:
            one["largest"] = one["largest"] if math.isfinite(one["largest"]) else None
        return found

    def headline(self) -> str:
        """Say the outcome in a line."""
        failed = sum(not one.passed for one in self.findings)
        if failed:
            return f"FAILED: {self.method} does not keep to the past: {failed} of {len(self.findings)} checks failed"
        return f"passed: nothing that comes later changes an answer of {self.method}"

    def __str__(self) -> str:
        lines = [self.headline(), f"{self.cuts:,} cuts, {self.queries:,} questions at each, seed {self.seed}", ""]
        lines.append(f"{'':8}{'check':25}{'asked':13}{'compared':>10}  largest difference")
        for one in self.findings:
            state = "passed" if one.passed else "FAILED"
            lines.append(f"{state:8}{one.check:25}{one.call:13}{one.comparisons:>10,}  {one.largest:.3g}")
        told = [f"{one.check}, {one.call}: {one.said}" for one in self.findings if not one.passed]
        return "\n".join(lines + [""] * bool(told) + told + [""] * bool(self.notes) + self.notes)


@dataclass
class Tally:
    """Count the comparisons of one check of one call, and keep the first failure."""

    comparisons: int = 0
    largest: float = 0.0
    said: str = ""

    def add(self, gap: float, said: str) -> None:
        """Take note of a difference, and of what there is to say about it."""
        self.largest, self.said = max(self.largest, gap), self.said or said
