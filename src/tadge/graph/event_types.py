"""Types of events: names as users give them to small integers and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from tadge.arrays import Ints, TypeCodes
from tadge.errors import InputError

MOST_TYPES = 32_767  # that codes of 16 bits can tell apart
NO_TYPE = -1  # the code of an event without a type


class EventTypes(NamedTuple):
    """Hold the types of events.

    Attributes:
        code: (E,) int16, places in `names`, -1 where an event has no type; None where events have no types at all.
        names: in sorted order.
    """

    code: TypeCodes | None = None
    names: tuple[str, ...] = ()

    def take(self, events: Ints) -> EventTypes:
        """Choose events by their numbers."""
        return self if self.code is None else EventTypes(self.code[events], self.names)

    def followed_by(self, codes: TypeCodes) -> EventTypes:
        """Add events at the end."""
        return self if self.code is None else EventTypes(np.concatenate([self.code, codes]), self.names)

    def drawn(self, count: int, rng: np.random.Generator) -> TypeCodes:
        """Draw types as often as events have them, (count,); nothing is drawn where there are none."""
        return np.empty(0, np.int16) if self.code is None else rng.choice(self.code, count)

    def by_name(self, num_events: int) -> npt.NDArray[np.object_]:
        """Give the types of events by name, (E,); None where one has none."""
        names = np.array([*self.names, None], object)
        return np.full(num_events, None) if self.code is None else names[self.code]


NO_TYPES = EventTypes()


def encode_types(values: Any) -> EventTypes:
    """Number types, (E,) strings or integers; what is missing, or an empty string, is no type."""
    if isinstance(values, pl.Series):
        column = values
    else:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        if array.ndim != 1:
            expected, found = "one type per event", f"{array.ndim} dimensions"
            raise InputError("not a list of types", expected=expected, found=found, where="type")
        column = pl.Series(array.tolist(), strict=False) if array.dtype == object else pl.Series(array)
    if column.dtype.is_float():  # integers become floats where some are missing
        whole = column.fill_nan(None).cast(pl.Int64, strict=False)
        column = whole if (whole.cast(pl.Float64) == column.fill_nan(None)).fill_null(True).all() else column
    if not (column.dtype.is_integer() or column.dtype in (pl.String, pl.Categorical, pl.Boolean, pl.Null)):
        expected, found = "strings or integers", str(column.dtype)
        raise InputError("not a list of types", expected=expected, found=found, where="type")
    names = column.cast(pl.String).str.strip_chars()
    names = names.set((names == "").fill_null(False), None)
    known = names.drop_nulls().unique().sort()
    if known.len() > MOST_TYPES:
        expected, found = f"at most {MOST_TYPES:,} types", f"{known.len():,}"
        cure = "name a column with few different values"
        raise InputError("too many types of events", expected=expected, found=found, cure=cure, where="type")
    codes = names.replace_strict(known, pl.Series(range(known.len()), dtype=pl.Int16), default=None)
    return EventTypes(codes.fill_null(NO_TYPE).cast(pl.Int16).to_numpy().copy(), tuple(known.to_list()))
