"""Answers as tables: a pandas DataFrame where pandas is installed, else a polars one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

import polars as pl

_polars_only: ContextVar[bool] = ContextVar("polars_only", default=False)


@contextmanager
def polars_frames() -> Iterator[None]:
    """Make polars DataFrames within the block: commands do without pandas, whose import takes half a second."""
    token = _polars_only.set(True)
    try:
        yield
    finally:
        _polars_only.reset(token)


def data_frame(columns: Mapping[str, Any]) -> Any:
    """Make a DataFrame of named columns of equal length."""
    if _polars_only.get() or find_spec("pandas") is None:
        return pl.DataFrame(dict(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what another package warns of on import is not our user's business
        import pandas
    return pandas.DataFrame(dict(columns))
