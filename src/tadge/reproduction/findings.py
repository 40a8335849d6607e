"""What the records say, in sentences: how close to the print, who wins, where what is free wins."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Any

from tadge.reproduction import printed
from tadge.reproduction.cells import CONTROLS, METHODS, RULES, TADGE, Cell, as_printed
from tadge.reproduction.drawings import scaling_exponent, steps_per_epoch
from tadge.reproduction.tables import Found

CLOSE = 0.02  # a figure this near to the printed one agrees with it
LINEAR = 1.05  # an exponent up to here is called linear


def findings(found: Found) -> list[str]:
    """Say in sentences what the tables show."""
    lines = [
        *_task(found, "ToE", ("toe", "rmse"), printed.TOE, None, smaller=True),
        *_task(found, "static edges among nodes, Micro-F1", ("edges among nodes", "micro-f1"), printed.EDGES, 0),
        *_task(found, "static edges among nodes, Macro-F1", ("edges among nodes", "macro-f1"), printed.EDGES, 1),
        *_task(found, "static edges among rows, Micro-F1", ("edges among rows", "micro-f1"), printed.EDGES, 0),
        *_task(found, "classes as printed, Macro-F1", ("classes as printed", "macro-f1"), printed.CLASSES, 1),
        *_task(found, "classes of other nodes, Macro-F1", ("classes of other nodes", "macro-f1"), {}, None),
    ]
    lines += [line for cell in as_printed(found.size) if (line := _followed(found, cell))]
    exponent = scaling_exponent(found)
    if exponent is not None:
        word = "linear" if exponent <= LINEAR else "more than linear"
        lines.append(f"Seconds per epoch grow with the number of walks to the power {exponent:.2f}: {word}.")
    return lines


def _followed(found: Found, cell: Cell) -> str:
    """Say what a run over the paper's number of steps came to; nothing where it has not been made."""
    record = found.records.get(cell)
    if record is None or not record.get("history"):
        return ""
    steps = steps_per_epoch(found, cell) * len(record["history"])
    figures = (
        found.figure(cell, "toe", "rmse"),
        *(found.figure(cell, "edges among rows", f"{kind}-f1") for kind in ("micro", "macro")),
    )
    return (
        f"{cell.method}, {steps:,} steps, seed {cell.seed}: ToE {figures[0]:.3f}, static edges among rows "
        f"{figures[1]:.3f} / {figures[2]:.3f} (Micro / Macro-F1)."
    )


def _task(
    found: Found,
    name: str,
    keys: tuple[str, ...],
    theirs: Mapping[str, Mapping[str, Any]],
    place: int | None,
    *,
    smaller: bool = False,
) -> list[str]:
    """Say who is best, where TADGE stands, and how many methods are as printed."""
    ours = {}
    for method in (RULES, *CONTROLS, *METHODS):
        values = found.values(method, *keys)
        if values:
            ours[method] = mean(values)
    if TADGE not in ours:
        return []
    order = sorted(ours, key=lambda method: ours[method] if smaller else -ours[method])
    best, free = order[0], [method for method in (RULES, *CONTROLS) if method in ours]
    sentence = f"{name}: TADGE has {ours[TADGE]:.3f}"
    if best == TADGE:
        sentence += f", the best; next is {_label(order[1])} with {ours[order[1]]:.3f}" if len(order) > 1 else ""
    else:
        sentence += f"; {_label(best)} is better with {ours[best]:.3f}"
    beaten = [m for m in free if m != best and (ours[m] < ours[TADGE] if smaller else ours[m] > ours[TADGE])]
    if beaten:
        sentence += f"; what is free beats it too: {', '.join(f'{_label(m)} {ours[m]:.3f}' for m in beaten)}"
    printed_here = theirs.get(found.paper_name or "", {})
    asked = {m: printed_here[m] if place is None else printed_here[m][place] for m in ours if m in printed_here}
    if asked:
        near = [method for method, value in asked.items() if abs(ours[method] - value) <= CLOSE]
        far = [f"{m} {ours[m]:.3f} ({value:.3f})" for m, value in asked.items() if m not in near]
        sentence += f". Within {CLOSE} of the print: {', '.join(near) or 'none'}"
        sentence += f"; not: {', '.join(far)}" if far else ""
    return [sentence + "."]


def _label(method: str) -> str:
    return "what needs no vectors" if method == RULES else method
