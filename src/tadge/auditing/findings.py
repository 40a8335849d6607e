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
        rounding: how many cuts had answers that differ, though by no more than rounding; it passes all the same.
    """

    check: str
    call: str
    passed: bool
    comparisons: int
    largest: float
    message: str
    rounding: int = 0

    @property
    def state(self) -> str:
        """Say it in a word."""
        return "FAILED" if not self.passed else "rounding" if self.rounding else "passed"


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
        rounded = any(finding.rounding for finding in self.findings)
        return f"passed: nothing that comes later changes an answer of {self.method}" + " beyond rounding" * rounded

    def __str__(self) -> str:
        lines = [self.headline(), f"{self.cuts:,} cuts, {self.queries:,} questions at each, seed {self.seed}", ""]
        lines.append(f"{'':10}{'check':25}{'asked':13}{'compared':>10}  largest difference")
        for finding in self.findings:
            figures = f"{finding.comparisons:>10,}  {finding.largest:.3g}"
            lines.append(f"{finding.state:10}{finding.check:25}{finding.call:13}{figures}")
        failures = [
            f"{finding.check}, {finding.call}: {finding.message}"
            for finding in self.findings
            if finding.state != "passed"
        ]
        return "\n".join(lines + [""] * bool(failures) + failures + [""] * bool(self.notes) + self.notes)


@dataclass
class CheckTally:
    """Count the comparisons of one check of one call, and keep the first failure.

    Attributes:
        comparisons: answers or rows of tables.
        largest: the largest difference.
        message: of the first failure.
        rounding: cuts whose differences are no larger than rounding.
        rounded: the sentence about the first of them.
        units: the largest of those differences in units of rounding.
    """

    comparisons: int = 0
    largest: float = 0.0
    message: str = ""
    rounding: int = 0
    rounded: str = ""
    units: float = 0.0

    def add(self, gap: float, message: str) -> None:
        """Take note of a difference, and of the sentence about it where it is a failure."""
        self.largest, self.message = max(self.largest, gap), self.message or message

    def add_rounding(self, gap: float, units: float, message: str) -> None:
        """Take note of a difference that may be rounding, and of the sentence about it."""
        self.largest, self.units = max(self.largest, gap), max(self.units, units)
        self.rounding, self.rounded = self.rounding + 1, self.rounded or message
