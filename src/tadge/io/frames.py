"""Answers as tables: a pandas DataFrame where pandas is installed, else a polars one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import polars as pl


def data_frame(columns: Mapping[str, Any]) -> Any:
    """Make a DataFrame of named columns of equal length."""
    if find_spec("pandas") is None:
        return pl.DataFrame(dict(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what another package warns of on import is not our user's business
        import pandas
    return pandas.DataFrame(dict(columns))
