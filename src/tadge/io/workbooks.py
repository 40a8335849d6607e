"""Read a sheet of a workbook (Excel, OpenDocument): its cells as text, then as any other text of events."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from tadge.errors import EmptyFileError, InputError, MissingExtraError
from tadge.io.options import ReadOptions
from tadge.io.panics import is_panic, without_panics
from tadge.io.source import Source
from tadge.io.table import EventTable
from tadge.io.text import read_text

FEWEST_ROWS, FEWEST_COLUMNS = 2, 3  # of a sheet that may hold events

Rows = list[tuple[str | None, ...]]


def read_workbook(source: Source, options: ReadOptions) -> EventTable:
    """Read the first sheet of a workbook that has rows enough."""
    if find_spec("fastexcel") is None:
        cure = "pip install 'tadge[excel]', or save the sheet as CSV"
        raise MissingExtraError(
            "a workbook is read by fastexcel, which is not installed", cure=cure, where=source.where
        )
    sheets = _sheets(source)
    full = [name for name, rows in sheets.items() if _could_hold_events(rows)]
    name = next(iter(full or (name for name, rows in sheets.items() if any(map(any, rows)))), None)
    if name is None:
        raise EmptyFileError("no sheet has rows", expected="at least one event", where=source.where)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in sheets[name]:
        writer.writerow(row if any(row) else ())  # rows keep their numbers
    data = np.frombuffer(text.getvalue().encode(), np.uint8)
    sheet = Source(f"{source.where}, sheet {name!r}", "text", "", data, None)
    told = {"delimiter": ",", "comments": "none" if options.comments is None else options.comments}
    table = read_text(sheet, replace(options, **told))  # type: ignore[arg-type]
    several = f" of {len(sheets):,}" if len(sheets) > 1 else ""
    header = "header" if table.named else "no header"
    notes = table.notes
    if len(full) > 1:
        notes = (*notes, f"sheet {name!r} was read; {len(full) - 1:,} other sheets have rows too")
    return replace(table, form=f"workbook, sheet {name!r}{several}, {header}", notes=notes)


def _could_hold_events(rows: Rows) -> bool:
    filled = [row for row in rows if any(row)]
    return len(filled) >= FEWEST_ROWS and len(filled[0]) >= FEWEST_COLUMNS


def _sheets(source: Source) -> dict[str, Rows]:
    """Give the cells of all sheets, as text, without losing empty rows."""
    import fastexcel

    sheets: dict[str, Rows] = {}
    try:
        with without_panics():
            workbook = fastexcel.read_excel(source.data.tobytes())
            for name in workbook.sheet_names:
                sheets[name] = _cells(workbook, name)
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        reason = (str(error).splitlines() or ["?"])[0]
        raise InputError(
            f"the workbook is damaged or locked ({reason[:200]})", cure="save it again, or as CSV", where=source.where
        ) from None
    return sheets


def _cells(workbook: Any, name: str) -> Rows:
    sheet = workbook.load_sheet(name, header_row=None, skip_rows=0, dtypes="string")
    return sheet.to_polars().rows() if sheet.width and sheet.height else []
