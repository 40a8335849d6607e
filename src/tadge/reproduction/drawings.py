"""Fig. 4 to 9, drawn by matplotlib from the records: PNG and SVG, with axes, units and legends."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

import numpy as np

from tadge.errors import MissingExtraError
from tadge.evaluation.tasks import EPSILONS
from tadge.reproduction.cells import METHODS, RULES, SLOWER, TADGE, Cell, as_printed, changed
from tadge.reproduction.tables import INITS, Found

COLOURS = ("#9aa3b0", "#c65a1e", "#2f8a6b", "#8a4fa3", "#b02a2a", "#6b7280", "#b8860b", "#1b2330", "#3fa7c4", "#2c5fb3")
MARKERS = "osD^vPX*<>"
PANEL = (4.6, 3.4)  # inches of one panel
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
MANY = 5  # lines whose legend stands beside the panel
MANY_PANELS = 4  # from here on they stand in two rows
FORMATS = ("svg", "png")

CAPTIONS = {
    "fig4": "Fig. 4. Edges that are found, and whose ToE is less than epsilon off",
    "fig5": "Fig. 5. Blocks and heads of TADGE",
    "fig6": "Fig. 6. Dimension of TADGE's vectors",
    "fig7": "Fig. 7. Convergence of TADGE, and seconds per epoch",
    "fig8": "Fig. 8. Seconds per epoch against the amount of training data",
    "fig9": "Fig. 9. Training loss of TADGE from other initial vectors",
}


def need_matplotlib() -> None:
    """Make sure that figures can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        cure = "pip install 'tadge[reproduce]'"
        raise MissingExtraError("figures need matplotlib", expected="the extra reproduce", cure=cure) from None


def drawn(subject: str, found: Found) -> dict[str, bytes] | None:
    """Draw a figure as SVG and PNG, by format; None where no record has anything for it yet."""
    need_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE | {"svg.hashsalt": subject, "svg.fonttype": "path"}):
        panels = [panel for panel in PANELS[subject](found) if panel is not None]
        if not panels:
            return None
        across = len(panels) if len(panels) < MANY_PANELS else -(-len(panels) // 2)
        down = -(-len(panels) // across)
        figure = Figure(figsize=(PANEL[0] * across, PANEL[1] * down), layout="constrained")
        for place, draw in enumerate(panels):
            draw(figure.add_subplot(down, across, place + 1))
        made = {}
        for kind in FORMATS:
            stream = io.BytesIO()
            metadata = {"Date": None} if kind == "svg" else {}
            figure.savefig(stream, format=kind, dpi=160, metadata=metadata, facecolor="white")
            made[kind] = stream.getvalue()
    return made


Draw = Callable[[Any], None]
Series = dict[str, tuple[Sequence[float], Sequence[float]]]  # by name: places, values


def _lines(
    title: str,
    x_title: str,
    y_title: str,
    series: Series,
    *,
    ticks: Sequence[float] = (),
    marks: bool = True,
    legend: bool = True,
) -> Draw | None:
    """Make a panel of lines with a legend; None where there is nothing to draw."""
    present = {name: points for name, points in series.items() if len(points[0])}
    if not present:
        return None

    def draw(axes: Any) -> None:
        for place, (name, (x, y)) in enumerate(present.items()):
            colour, marker = COLOURS[-1 - place % len(COLOURS)], MARKERS[place % len(MARKERS)] if marks else None
            axes.plot(x, y, marker=marker, markersize=4, linewidth=1.3, color=colour, label=name)
        axes.set(title=title, xlabel=x_title, ylabel=y_title)
        if len(ticks):
            axes.set_xticks(ticks)
        elif x_title == "epoch":
            axes.xaxis.get_major_locator().set_params(integer=True)
        if len(present) > 1 and legend:
            beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(present) > MANY else {}
            axes.legend(fontsize=8, framealpha=0.7, **beside)

    return draw


def _fig4(found: Found) -> list[Draw | None]:
    names = (RULES, *METHODS)
    panels = []
    for title, choices in (
        ("each in its own measure", ("time-aware edges among rows", "time-aware edges among nodes")),
        ("one vector per node", ("time-aware edges among nodes",)),
    ):
        series: Series = {}
        for name in names:
            runs = [found.values(name, key) for key in choices]
            curves = next((run for run in runs if run), [])
            if curves:
                label = "mean ToE, most connected node" if name == RULES else name
                series[label] = EPSILONS, np.mean(np.asarray(curves), axis=0).tolist()
        last = title == "one vector per node"  # the legend of both
        panels.append(_lines(title, "epsilon (squashed ToE)", "fraction of ends", series, legend=last))
    return panels


MEASURES = (
    ("edges among rows, Micro-F1", ("edges among rows", "micro-f1")),
    ("edges among rows, Macro-F1", ("edges among rows", "macro-f1")),
    ("ToE, RMSE (squashed)", ("toe", "rmse")),
)


def _fig5(found: Found) -> list[Draw | None]:
    panels = []
    for title, keys in MEASURES:
        series: Series = {}
        for heads in found.size.heads_tried:
            values = {
                blocks: found.figure(changed(found.size, blocks=blocks, heads=heads), *keys)
                for blocks in found.size.blocks_tried
            }
            there = {blocks: value for blocks, value in values.items() if value is not None}
            series[f"{heads} heads"] = list(there), list(there.values())
        panels.append(_lines(title, "blocks N", title, series, ticks=found.size.blocks_tried))
    return panels


def _fig6(found: Found) -> list[Draw | None]:
    def over_dims(*keys: str) -> tuple[list[int], list[float]]:
        values = {dim: found.figure(changed(found.size, dim=dim), *keys) for dim in found.size.dims_tried}
        there = {dim: value for dim, value in values.items() if value is not None}
        return list(there), list(there.values())

    edges: Series = {
        f"{among}, {label}": over_dims(f"edges {among}", kind)
        for among in ("among rows", "among nodes")
        for label, kind in (("Micro", "micro-f1"), ("Macro", "macro-f1"))
    }
    identity: Series = {"self-identification, training": _last_of_dims(found, "self_f1")}
    ticks = found.size.dims_tried
    return [
        _lines("static edges and self-identification", "dimension k", "F1", edges | identity, ticks=ticks),
        _lines("ToE", "dimension k", "RMSE (squashed)", {"ToE": over_dims("toe", "rmse")}, ticks=ticks),
    ]


def _last_of_dims(found: Found, key: str) -> tuple[list[int], list[float]]:
    there = {}
    for dim in found.size.dims_tried:
        history = _history(found, changed(found.size, dim=dim))
        if history and key in history[-1]:
            there[dim] = history[-1][key]
    return list(there), list(there.values())


def _history(found: Found, cell: Cell) -> list[dict[str, Any]]:
    return found.records.get(cell, {}).get("history", [])  # type: ignore[no-any-return]


def _fig7(found: Found) -> list[Draw | None]:
    history = _history(found, Cell(TADGE, 0))
    epochs = [entry["epoch"] for entry in history]

    def curves(names: dict[str, str]) -> Series:
        return {label: (epochs, [entry[key] for entry in history]) for label, key in names.items() if epochs}

    losses = {"joint": "loss", "self (Eq. 32)": "self_loss", "interval (Eq. 33)": "interval_loss"}
    losses |= {"edges (Eq. 35)": "edge_loss", "ToE (Eq. 36)": "toe_loss"}
    scores = curves({"edges, Micro": "edge_f1", "self, Micro": "self_f1"})
    held = [entry["held_out"] for entry in history if "held_out" in entry]
    if held and len(held) == len(history):
        for name, key in (("edges", "edge_macro_f1"), ("self", "self_macro_f1")):
            scores[f"{name}, Macro, held-out walks"] = epochs, [entry[key] for entry in held]
    return [
        _lines("training loss", "epoch", "loss", curves(losses), marks=False),
        _lines("training F1", "epoch", "F1", scores, marks=False),
        _lines(
            "training RMSE",
            "epoch",
            "RMSE (squashed)",
            curves({"ToE": "toe_rmse", "interval": "interval_rmse"}),
            marks=False,
        ),
        _timed(
            "seconds per epoch",
            "dimension k",
            [(dim, changed(found.size, dim=dim)) for dim in found.size.dims_tried],
            found,
        ),
        _lines("as printed: loss", "step", "joint loss (Eq. 37)", _by_steps(found, "loss"), marks=False),
        _lines("as printed: ToE in training", "step", "RMSE (squashed)", _by_steps(found, "toe_rmse"), marks=False),
    ]


def _by_steps(found: Found, key: str) -> Series:
    """Follow the settings as printed over the paper's number of steps."""
    series: Series = {}
    for cell in as_printed(found.size):
        history = _history(found, cell)
        if history:
            steps = steps_per_epoch(found, cell)
            label = "lr 0.0003" if cell.method == SLOWER else "lr 0.005, as printed"
            series[label] = [steps * entry["epoch"] for entry in history], [entry[key] for entry in history]
    return series


def steps_per_epoch(found: Found, cell: Cell) -> int:
    """Count the batches of walks that a run learned from in an epoch."""
    first = _history(found, cell)[0]  # walks stand in windows that overlap, so that some are in two batches
    return math.ceil(float(first["walks_per_second"] * first["seconds"]) / found.size.batch - 1e-6)


def seconds_per_epoch(found: Found, cell: Cell) -> list[float]:
    """Give how long each epoch of a run took."""
    return [entry["seconds"] for entry in _history(found, cell)]


def scaling_exponent(found: Found) -> float | None:
    """Fit seconds per epoch = a * walks^b by least squares of the logarithms, and give b."""
    pairs = []
    for fraction in found.size.fractions_tried:
        cell = changed(found.size, fraction=fraction, epochs=found.size.timed_epochs)
        seconds = seconds_per_epoch(found, cell)
        if seconds:
            pairs.append((found.records[cell]["walks"]["learn"], min(seconds)))
    if len(pairs) < 3:
        return None
    walks, quickest = np.log(np.asarray(pairs)).T
    return float(np.polyfit(walks, quickest, 1)[0])


def _fig8(found: Found) -> list[Draw | None]:
    size = found.size
    cells = [
        (fraction, changed(size, fraction=fraction, epochs=size.timed_epochs)) for fraction in size.fractions_tried
    ]
    exponent = scaling_exponent(found)
    title = "seconds per epoch" if exponent is None else f"seconds per epoch ~ walks^{exponent:.2f}"
    return [_timed(title, "fraction of the training walks", cells, found)]


def _timed(title: str, x_title: str, cells: Sequence[tuple[float, Cell]], found: Found) -> Draw | None:
    """Draw the mean seconds of an epoch, and a shadow from the quickest to the slowest."""
    there = [(x, seconds) for x, cell in cells if (seconds := seconds_per_epoch(found, cell))]
    if not there:
        return None
    places = [x for x, _ in there]

    def draw(axes: Any) -> None:
        low, high = ([pick(seconds) for _, seconds in there] for pick in (min, max))
        axes.fill_between(places, low, high, color=COLOURS[-1], alpha=0.18, linewidth=0)
        axes.plot(places, [mean(seconds) for _, seconds in there], marker="o", markersize=4, color=COLOURS[-1])
        axes.set(title=title, xlabel=x_title, ylabel="seconds", ylim=(0, 1.15 * max(high)))
        axes.set_xticks(places)

    return draw


def _fig9(found: Found) -> list[Draw | None]:
    series: Series = {}
    for init, label in INITS.items():
        history = _history(found, changed(found.size, init=init))
        series[label] = [entry["epoch"] for entry in history], [entry["loss"] for entry in history]
    return [_lines("training loss", "epoch", "joint loss (Eq. 37)", series, marks=False)]


PANELS: dict[str, Callable[[Found], list[Draw | None]]] = {
    "fig4": _fig4,
    "fig5": _fig5,
    "fig6": _fig6,
    "fig7": _fig7,
    "fig8": _fig8,
    "fig9": _fig9,
}
