"""Files of few named columns, cell by cell as strings; and numbers taken from them, where every bad cell is named."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from tadge.arrays import Days
from tadge.errors import InputError, MissingFileError, listing
from tadge.io.source import check_utf8, open_source
from tadge.io.table import parquet_frame

DELIMITERS = ("\t", ";", ",")  # of which the first that the header has is taken


def read_strings(path: str | Path, names: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Read a file with a header, CSV, TSV or Parquet, packed or not: its columns of these names, as strings.

    Args:
        path: the file.
        names: columns that it must have.
        optional: columns that it may have; others are refused, since they may be misspelt.
    """
    where = str(path)
    try:
        source = open_source(path)
    except MissingFileError:
        raise
    except InputError as error:
        if error.expected != "at least one event":
            raise
        raise InputError(error.what, expected=f"columns {', '.join(names)}", where=where) from None
    if source.kind == "parquet":
        frame = parquet_frame(source)
    elif source.kind == "text":
        check_utf8(source)
        text = source.data.tobytes()
        header = text.partition(b"\n")[0].decode()
        delimiter = next((one for one in DELIMITERS if one in header), ",")
        try:
            frame = pl.read_csv(BytesIO(text), infer_schema=False, separator=delimiter)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"cannot be read ({reason})", expected="as many cells in every row", where=where) from None
    else:
        raise InputError("a file of another kind", expected="CSV, TSV or Parquet", found=source.kind, where=where)
    frame = frame.rename({name: name.strip() for name in frame.columns})
    missing = [name for name in names if name not in frame.columns]
    if missing:
        found = listing(frame.columns)
        raise InputError(f"there is no column {missing[0]!r}", expected=", ".join(names), found=found, where=where)
    unknown = [name for name in frame.columns if name not in {*names, *optional}]
    if unknown:
        expected = ", ".join([*names, *optional])
        raise InputError(f"an unknown column {unknown[0]!r}", expected=f"some of {expected}", where=where)
    if not len(frame):
        raise InputError("there are no rows", expected="one row for each", found="a header alone", where=where)
    return frame.cast(pl.String)


def numbers_in(frame: pl.DataFrame, name: str, where: str) -> Days:
    """Take a column as numbers, (n,); the first cell that is none, is empty or is not finite is named with its row."""
    column = frame[name].str.strip_chars()
    values = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        cell, more = column[row], np.count_nonzero(bad) - 1
        found = "an empty cell" if cell in (None, "") else repr(cell)
        found += f" (and {more:,} more like that)" if more else ""
        place = f"{where}, row {row + 2}, column {name}"  # the header is row 1
        raise InputError("not a number", expected="a finite number", found=found, where=place)
    return np.asarray(values, np.float64)
