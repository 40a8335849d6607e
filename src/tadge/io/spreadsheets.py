"""Tables that people open in spreadsheets: ids that would be taken for formulas are kept from that."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tadge.io.export import form_of, write_frame

FORMULA, SIGNED = r"^[=@+\-\t\r]", r"^[+-][0-9]*[.,]?[0-9]+$"  # a number with a sign is none
TEXT_FORMS = (".csv", ".tsv")


def write_answers(frame: pl.DataFrame, path: Path) -> int:
    """Write answers to a file; in CSV and TSV, ids that a spreadsheet would run as formulas begin with an apostrophe.

    Returns:
        How many different ids were written so. In other forms all stay as they are.
    """
    form = form_of(path)[0]
    if form in (*TEXT_FORMS, ".jsonl"):
        frame = with_iso_dates(frame)
    if form not in TEXT_FORMS:
        write_frame(frame, path)
        return 0
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    risky: set[str] = set()
    for name in texts:
        formula = frame[name].str.contains(FORMULA) & ~frame[name].str.contains(SIGNED)
        risky.update(frame[name].filter(formula))
        frame = frame.with_columns(pl.when(formula).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name))
    write_frame(frame, path)
    return len(risky)


def with_iso_dates(frame: pl.DataFrame) -> pl.DataFrame:
    """Write dates as strings in ISO form, 2020-12-30T23:43:00, as in JSON, whatever the form of the file."""
    dates = [name for name, kind in frame.schema.items() if kind.is_temporal()]
    texts = [
        pl.Series(name, [None if one is None else one.isoformat() for one in frame[name]], pl.String) for name in dates
    ]
    return frame.with_columns(texts)


def apostrophes_note(path: Path, count: int) -> str:
    """Say in one sentence that ids were written with an apostrophe."""
    ids, have = ("ids", "have") if count > 1 else ("id", "has")
    return f"{path.name}: {count:,} {ids} {have} an apostrophe in front, or a spreadsheet would take it for a formula"
