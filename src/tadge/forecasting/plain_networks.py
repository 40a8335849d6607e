"""Networks of a Forecaster as plain arrays: learned by torch, kept and asked without it.

To import torch takes longer than to answer. And here the answer for a row does not depend, to the last bit, on the rows
beside it or on how many there are: sums run in one order. Axes: n rows, F columns, H hidden, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from tadge.arrays import Vectors
from tadge.errors import InputError
from tadge.features.link_columns import in_pieces

LARGEST = 6.0  # of a bin's log hazard: by then it is certain
FURTHEST = np.float32(5.0)  # spreads from the mean: nothing beyond is told apart
ROOT_HALF = np.float32(0.5**0.5)
BLOCK = 8  # rows that share what is read of the weights
ERF_TOP = np.array(  # the error function is x top(x^2) / bottom(x^2), to the rounding of float32; beyond 4 it is 1
    [
        *(-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05),
        *(-7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02),
    ],
    np.float32,
)
ERF_BOTTOM = np.array(
    [-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02],
    np.float32,
)
ERF_END = np.float32(4.0)

Arrays = Mapping[str, npt.NDArray[Any]]
Rates = Sequence[tuple[int, int]]
Scorer = Callable[[Vectors], Vectors]  # rows of columns, (n, F), to scores, (n,)


@dataclass(frozen=True, eq=False)
class PlainNetwork:
    """Hold a network whose hidden layers end in GELUs.

    Attributes:
        state: all arrays by the names that torch has for them: those of `normalise` and of `layers`.
    """

    state: Arrays

    def __call__(self, columns: Vectors, threads: int = 1) -> Vectors:
        """Give the outputs for rows of columns, (n, F) to (n, K)."""
        values = np.empty((len(columns), self.layers()[-1][1].size), np.float32)
        in_pieces(lambda cut: self._fill(columns[cut], values[cut]), len(columns), threads)
        return values

    def layers(self) -> list[tuple[Vectors, Vectors]]:
        """Give weights and biases, (F, H) and (H,) of the first layer, of one after the other."""
        places = sorted({int(name.split(".")[1]) for name in self.state if name.startswith("layers.")})
        return [(self.state[f"layers.{place}.weight"].T, self.state[f"layers.{place}.bias"]) for place in places]

    def _inputs(self, columns: Vectors) -> Vectors:
        return columns

    def _fill(self, columns: Vectors, outputs: Vectors) -> None:
        rows = np.empty((len(columns), self.state["normalise.mean"].size), np.float32)
        standardise(self._inputs(columns), self.state["normalise.mean"], self.state["normalise.spread"], rows)
        layers = self.layers()
        for number, (weight, bias) in enumerate(layers):
            last = number == len(layers) - 1
            values = outputs if last else np.empty((len(rows), bias.size), np.float32)
            dense(rows, np.ascontiguousarray(weight), bias, values, not last)
            rows = values


class PlainScorer(PlainNetwork):
    """Score how likely src links to dst now, from the columns of the pair; see `LinkScorer`."""

    def __call__(self, columns: Vectors, threads: int = 1) -> Vectors:
        """Score pairs, (n, F), as (n,)."""
        return super().__call__(columns, threads)[:, 0]


@dataclass(frozen=True, eq=False)
class PlainHazards(PlainNetwork):
    """Give the log hazard of every bin of time, from columns; see `HazardNetwork`.

    Attributes:
        state: as above, and those of `level` and `shape`.
        rates: pairs of columns, a count and a time on log scales, whose difference is one more.
        offsets: number of further columns, behind the others, that are added to the log hazards.
    """

    rates: Rates
    offsets: int = 0

    def __call__(self, columns: Vectors, threads: int = 1) -> Vectors:
        """Give log hazards, (n, F) to (n, K)."""
        log_hazard = super().__call__(columns, threads)
        if self.offsets:
            added = columns[:, columns.shape[1] - self.offsets :]
            log_hazard += np.tile(added, log_hazard.shape[1] // self.offsets)
        return np.minimum(log_hazard, np.float32(LARGEST), out=log_hazard)

    def layers(self) -> list[tuple[Vectors, Vectors]]:
        """Give weights and biases; the level of a curve is added to its shape."""
        weight = self.state["shape.weight"].T + self.state["level.weight"].T
        return [*super().layers(), (weight, self.state["shape.bias"])]

    def _inputs(self, columns: Vectors) -> Vectors:
        counts, times = [count for count, _ in self.rates], [time for _, time in self.rates]
        known = columns[:, : columns.shape[1] - self.offsets]
        return np.concatenate([known, columns[:, counts] - columns[:, times]], axis=1)


def arrays_of(network: Any) -> dict[str, npt.NDArray[Any]]:
    """Give the parameters and buffers of a network of torch by name; they share its memory."""
    return {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}


# -- what is read from a file may be anything -------------------------------------------------------------------------


def check_array(
    array: npt.NDArray[Any], shape: tuple[int, ...], where: str, dtype: npt.DTypeLike = np.float32
) -> npt.NDArray[Any]:
    """Refuse an array of another shape or dtype, or one that has a number that is not finite; else give it back."""
    if array.shape != shape or array.dtype != dtype:
        expected, found = f"{shape} of {np.dtype(dtype)}", f"{array.shape} of {array.dtype}"
        raise InputError("an array that does not fit the options", expected=expected, found=found, where=where)
    if not np.isfinite(array).all():
        raise InputError("an array with NaN or infinity", expected="finite numbers", where=where)
    return array


def check_state(state: Arrays, columns: int, hidden: int, last: Mapping[str, tuple[int, ...]], part: str) -> None:
    """Refuse arrays that are not those of a network with so many columns, two hidden layers, and a last one.

    A spread is divided by: it is positive, and infinite for what does not vary.
    """
    shapes: dict[str, tuple[int, ...]] = {"normalise.mean": (columns,), "normalise.spread": (columns,)}
    shapes |= {"layers.0.weight": (hidden, columns), "layers.0.bias": (hidden,)}
    shapes |= {"layers.2.weight": (hidden, hidden), "layers.2.bias": (hidden,), **last}
    for name in sorted(shapes.keys() ^ state.keys()):
        found = f"no {name!r}" if name in shapes else f"{name[:80]!r}"
        raise InputError("other arrays than the options say", found=found, where=part)
    for name, array in state.items():
        where, checked = f"{part} {name}", array
        if name == "normalise.spread":
            if not (array > 0).all():
                raise InputError("an array that cannot be divided by", expected="positive numbers", where=where)
            checked = np.where(np.isinf(array), np.ones_like(array), array)
        check_array(checked, shapes[name], where)


# -- compiled loops ---------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def standardise(columns: Vectors, mean: Vectors, spread: Vectors, rows: Vectors) -> None:
    """Bring columns to mean 0 and spread 1, (n, F), as found in what was learned from; nothing beyond FURTHEST."""
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            value = (columns[row, column] - mean[column]) / spread[column]
            rows[row, column] = min(max(value, -FURTHEST), FURTHEST)


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def dense(rows: Vectors, weight: Vectors, bias: Vectors, values: Vectors, bend: bool) -> None:
    """Multiply rows, (n, F), by weights, (F, H), add biases, (H,), and apply a GELU where it bends: (n, H)."""
    even = rows.shape[1] // 4 * 4
    for first in range(0, rows.shape[0], BLOCK):
        end = min(first + BLOCK, rows.shape[0])
        for row in range(first, end):
            for place in range(bias.size):
                values[row, place] = bias[place]
        for column in range(0, even, 4):
            for row in range(first, end):
                a, b, c, d = rows[row, column], rows[row, column + 1], rows[row, column + 2], rows[row, column + 3]
                for place in range(bias.size):
                    sums = a * weight[column, place] + b * weight[column + 1, place]
                    sums += c * weight[column + 2, place] + d * weight[column + 3, place]
                    values[row, place] += sums
        for column in range(even, rows.shape[1]):
            for row in range(first, end):
                value = rows[row, column]
                for place in range(bias.size):
                    values[row, place] += value * weight[column, place]
        if bend:
            for row in range(first, end):
                for place in range(bias.size):
                    values[row, place] = gelu(values[row, place])


@numba.njit(cache=True, inline="always")
def gelu(value: np.float32) -> np.float32:
    """Weigh a value by the probability that a normal one is less."""
    x = min(max(value * ROOT_HALF, -ERF_END), ERF_END)
    square = x * x
    top, bottom = ERF_TOP[0], ERF_BOTTOM[0]
    for place in range(1, len(ERF_TOP)):
        top = top * square + ERF_TOP[place]
    for place in range(1, len(ERF_BOTTOM)):
        bottom = bottom * square + ERF_BOTTOM[place]
    return np.float32(0.5) * value * (np.float32(1.0) + x * top / bottom)  # type: ignore[no-any-return]
