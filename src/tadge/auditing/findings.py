"""Results of an audit: one finding for every check of every call, and a report of them all."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Finding:
    """Hold how one check of one call went.

    Attributes:
        check: what was checked.
        call: what was asked, such as "embed" or "within"; "fit" for what a method was fitted to.
        passed: whether all is well.
        comparisons: how many answers or rows of tables were compared, pairs ranked or events looked up.
        largest: the largest difference between two answers; for the canary how far the AUC is from 1/2.
        message: one sentence; for a failure with the first case of it.
    """

    check: str
    call: str
    passed: bool
    comparisons: int
    largest: float
    message: str


@dataclass(frozen=True)
class AuditReport:
    """Hold all findings of an audit.

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
        return all(finding.passed for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, ready for JSON; a difference that is not finite is None."""
        report = {"method": self.method, "passed": self.passed, **asdict(self)}
        for finding in report["findings"]:
            finding["largest"] = finding["largest"] if math.isfinite(finding["largest"]) else None
        return report

    def headline(self) -> str:
        """Say the outcome in a line."""
        failed = sum(not finding.passed for finding in self.findings)
        if failed:
            return f"FAILED: {self.method} does not keep to the past: {failed} of {len(self.findings)} checks failed"
        return f"passed: nothing that comes later changes an answer of {self.method}"

    def __str__(self) -> str:
        lines = [self.headline(), f"{self.cuts:,} cuts, {self.queries:,} questions at each, seed {self.seed}", ""]
        lines.append(f"{'':8}{'check':25}{'asked':13}{'compared':>10}  largest difference")
        for finding in self.findings:
            state = "passed" if finding.passed else "FAILED"
            figures = f"{finding.comparisons:>10,}  {finding.largest:.3g}"
            lines.append(f"{state:8}{finding.check:25}{finding.call:13}{figures}")
        failures = [
            f"{finding.check}, {finding.call}: {finding.message}" for finding in self.findings if not finding.passed
        ]
        return "\n".join(lines + [""] * bool(failures) + failures + [""] * bool(self.notes) + self.notes)


@dataclass
class CheckTally:
    """Count the comparisons of one check of one call, and keep the first failure."""

    comparisons: int = 0
    largest: float = 0.0
    message: str = ""

    def add(self, gap: float, message: str) -> None:
        """Take note of a difference, and of the sentence about it where it is a failure."""
        self.largest, self.message = max(self.largest, gap), self.message or message
