"""Write the events of a graph to a file that `read_events` reads back bit for bit."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy.typing as npt
import polars as pl

from tadge.errors import ConfigError
from tadge.graph import TemporalGraph
from tadge.storage.atomic import atomic_file
from tadge.units import dates_of_days

EVENT_FORMS = (".csv", ".tsv", ".jsonl", ".parquet")
TIME_FORMS = ("days", "dates")


def to_polars(graph: TemporalGraph, times: str = "days") -> pl.DataFrame:
    """Give the events as a polars DataFrame with the user's own ids.

    The columns are src and dst (user and item in a bipartite graph), the time, toe_days, and where there are, weight
    and type.

    Args:
        graph: the graph.
        times: "days": float64 days, exactly as the graph holds them, in a column called unix_days or time_days;
            "dates": UTC date-times to the microsecond in a column called time, for graphs on the Unix clock.
    """
    check_times(times, graph.clock)
    src_name, dst_name = ("user", "item") if graph.bipartite else ("src", "dst")
    columns = {src_name: id_series(graph, graph.src), dst_name: id_series(graph, graph.dst)}
    if times == "dates":
        columns["time"] = pl.Series(dates_of_days(graph.time))
    else:
        columns["unix_days" if graph.clock == "unix" else "time_days"] = pl.Series(graph.time)
    columns["toe_days"] = pl.Series(graph.toe).fill_nan(None)
    if graph.weight is not None:
        columns["weight"] = pl.Series(graph.weight)
    if graph.type is not None:
        columns["type"] = pl.Series(graph.types.by_name(graph.num_events).tolist(), dtype=pl.String)
    return pl.DataFrame(columns)


def id_series(graph: TemporalGraph, nodes: npt.NDArray[Any]) -> pl.Series:
    """Turn node numbers, (E,), back into the user's ids."""
    ids = pl.Series(graph.ids, dtype=pl.String if graph.ids.dtype == object else pl.Int64)
    return ids.gather(nodes)


def write_events(graph: TemporalGraph, path: str | Path, times: str = "days") -> Path:
    """Write the events to .csv, .tsv, .jsonl or .parquet (text also .gz and .zst), whole or not at all."""
    path = Path(path)
    form_of(path)
    write_frame(to_polars(graph, times), path)
    return path


def form_of(path: Path) -> tuple[str, str]:
    """Tell form and packing from a file's name; complain before any work is done where they are unknown."""
    form = path.suffix.lower()
    packing = form if form in (".gz", ".zst") else ""
    if packing:
        form = Path(path.stem).suffix.lower()
    if form not in EVENT_FORMS or (packing and form == ".parquet"):
        expected = ", ".join(EVENT_FORMS) + "; text also with .gz or .zst"
        cure = "give the file such a name"
        raise ConfigError("unknown kind of file", expected=expected, found=path.name, cure=cure, where=str(path))
    return form, packing


def check_times(times: str, clock: str | None = None) -> None:
    """Complain about a form of times that is unknown, or that a graph on this clock does not have."""
    if times not in TIME_FORMS:
        raise ConfigError("unknown form of times", expected=" or ".join(TIME_FORMS), found=repr(times), where="times")
    if times == "dates" and clock == "own":
        cure = "say times='days'"
        raise ConfigError("this graph has no calendar", expected="days", found="dates", cure=cure, where="times")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a table in the form that the file's name asks for."""
    form, packing = form_of(path)
    with atomic_file(path) as file:
        if packing == ".gz":
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
                _write(frame, cast(BinaryIO, packed), form)
        elif packing == ".zst":
            import zstandard

            with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packed_zst:
                _write(frame, cast(BinaryIO, packed_zst), form)
        else:
            _write(frame, file, form)


def _write(frame: pl.DataFrame, file: BinaryIO, form: str) -> None:
    if form == ".parquet":
        frame.write_parquet(file)
    elif form == ".jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_csv(file, separator="\t" if form == ".tsv" else ",")
