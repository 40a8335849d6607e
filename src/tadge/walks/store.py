"""Walks to a Parquet file, part by part: memory for one part, and nothing lost when the work is interrupted.

While the work goes on, finished parts lie beside the file in a folder of its name with `.parts`, each readable by
itself. A small file there says what was asked for and what is done, so that a later run can go on. In the end the parts
become one file, made in that folder, which says what was asked for too; it gets its name when it is whole, and the
folder goes. A lock in the folder keeps a second process out.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tadge.arrays import Report
from tadge.config import WalkConfig
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.io.export import id_series
from tadge.storage.atomic import atomic_file, check_target
from tadge.storage.folder import LOCK, one_writer
from tadge.walks.sampler import WALKS_PER_CHUNK, Walks, iter_walks

STATE_FILE = "state.json"
METADATA = "tadge walks"  # the key of what a file of walks says of itself


@dataclass(frozen=True)
class WalkFile:
    """Describe a file of walks.

    Attributes:
        path: the file.
        walks: how many walks it holds.
        starts_used: how many starts were tried for them.
        complete: as many walks as were asked for.
        note: a sentence about the count; empty where there is nothing to say.
        resumed: walks that an earlier run had made.
    """

    path: Path
    walks: int
    starts_used: int
    complete: bool
    note: str
    resumed: int


@dataclass
class _State:
    """Hold what was asked for, and what has been done."""

    asked: dict[str, Any]
    walks: int = 0
    starts_used: int = 0
    parts: list[str] = field(default_factory=list)
    note: str = ""

    def save(self, folder: Path) -> None:
        with atomic_file(folder / STATE_FILE, "w") as file:
            json.dump(asdict(self), file)


def write_walks(
    graph: TemporalGraph,
    path: str | Path,
    config: WalkConfig | None = None,
    seed: int = 0,
    *,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    chunk: int = WALKS_PER_CHUNK,
    report: Report | None = None,
) -> WalkFile:
    """Sample walks into a Parquet file with the user's ids, in memory for one chunk; interrupted work can be resumed.

    One row is one walk: its number, `nodes` (ids), `tov_days`, and for every step `toe_days` and `events` (the number
    of the event in the graph, in order of time).

    Args:
        graph: the events to walk on.
        path: the file to write, `.parquet`; one that is there is replaced, once the new one is whole.
        config: how to walk; `WalkConfig()` by default.
        seed: the same seed gives the same rows.
        resume: go on where an earlier run of the same work was interrupted, to the same rows; where it was done, take
            its file as it is.
        force: begin anew where an earlier run was interrupted, and drop what it had done.
        threads: threads to walk with; one per core by default.
        chunk: walks per part.
        report: called after every part with the walks made and the starts used so far.
    """
    config, path = config or WalkConfig(), Path(path)
    check_name(path)
    folder = path.with_name(path.name + ".parts")
    asked = {"config": asdict(config), "seed": int(seed), "chunk": chunk, "graph": graph.fingerprint}
    with one_writer(folder):
        try:
            done = _finished(path, asked) if resume and not _begun(folder) else None
            if done is None:
                state = _begin(folder, asked, resume, force)
                before = state.walks
                _write_parts(graph, folder, state, config, seed, threads, report)
                _join(folder, state, path)
                done = state, before
        except BaseException:
            if not _begun(folder):
                shutil.rmtree(folder)
            raise
        (folder / STATE_FILE).unlink(missing_ok=True)  # first: without it what is left counts for nothing
        shutil.rmtree(folder)
    state, before = done
    return WalkFile(path, state.walks, state.starts_used, state.walks >= config.num_walks, state.note, before)


def _write_parts(
    graph: TemporalGraph,
    folder: Path,
    state: _State,
    config: WalkConfig,
    seed: int,
    threads: int | None,
    report: Report | None,
) -> None:
    """Walk, and write part after part; after each the state says so."""
    chunk = state.asked["chunk"]
    chunks = iter_walks(
        *(graph, config, seed), threads=threads, chunk=chunk, skip_walks=state.walks, skip_starts=state.starts_used
    )
    for walks in chunks:
        name = f"part-{len(state.parts):06d}.parquet"
        with atomic_file(folder / name) as file:
            to_frame(graph, walks, state.walks).write_parquet(file)
        state.parts.append(name)
        state.walks += len(walks)
        state.starts_used, state.note = walks.starts_used, walks.note
        state.save(folder)
        if report is not None:
            report(state.walks, state.starts_used)


def _join(folder: Path, state: _State, path: Path) -> None:
    """Make one file of all parts; it is made in their folder, so that a kill leaves nothing beside."""
    parts = pl.scan_parquet([folder / name for name in state.parts], glob=False)
    record = {METADATA: json.dumps(asdict(state))}
    with atomic_file(path, scratch=folder) as file:
        parts.sink_parquet(file, row_group_size=state.asked["chunk"], metadata=record)


def _finished(path: Path, asked: dict[str, Any]) -> tuple[_State, int] | None:
    """Tell what is in a file that is there already, where it is what was asked for; None where there is none."""
    if not path.exists():
        return None
    try:
        state = _State(**json.loads(pl.read_parquet_metadata(path)[METADATA]))
    except (OSError, ValueError, TypeError, LookupError, pl.exceptions.PolarsError):
        state = _State({})
    if state.asked != asked:
        cure = "say force=True to replace it, or choose another name"
        raise InputError("the file that is there is not of this work", cure=cure, where=str(path))
    return state, state.walks


def _begun(folder: Path) -> bool:
    return (folder / STATE_FILE).exists()


def check_name(path: Path) -> None:
    """Refuse a file that is not Parquet, or cannot be written, before any work is done."""
    if path.suffix.lower() != ".parquet":
        cure = "give the file such a name"
        raise ConfigError("unknown kind of file", expected=".parquet", found=path.name, cure=cure, where=str(path))
    check_target(path)


def _begin(folder: Path, asked: dict[str, Any], resume: bool, force: bool) -> _State:
    """Start from nothing or from what an earlier run left; refuse to mix two different jobs."""
    saved = folder / STATE_FILE
    if force or not _begun(folder):
        saved.unlink(missing_ok=True)
        for left in [path for path in folder.iterdir() if path.name != LOCK]:
            left.unlink()  # by a run that was killed
        return _State(asked)  # it is written down with the first part
    if not resume:
        cure = "say resume=True to go on, or force=True to begin anew"
        raise InputError("an earlier run of this was interrupted", cure=cure, where=str(folder))
    try:
        state = _State(**json.loads(saved.read_text(encoding="utf-8")))
        complete = all((folder / name).exists() for name in state.parts)
    except (OSError, ValueError, TypeError):
        complete = False
    if not complete:
        raise InputError("the unfinished work is damaged", cure="say force=True to begin anew", where=str(folder))
    if state.asked != asked:
        differs = ", ".join(name for name in asked if state.asked.get(name) != asked[name])
        cure = "ask for the same, or say force=True to begin anew"
        raise InputError("the unfinished work was another", found=f"another {differs}", cure=cure, where=str(folder))
    return state


def to_frame(graph: TemporalGraph, walks: Walks, first: int = 0) -> pl.DataFrame:
    """Lay walks out as a table of lists, without padding; the first has this number."""
    num, width = walks.nodes.shape
    nodes = id_series(graph, np.maximum(walks.nodes, 0).reshape(-1)).reshape((num, width))
    frame = pl.DataFrame(
        {
            "walk": np.arange(first, first + num),
            "length": walks.lengths,
            "nodes": nodes,
            "tov_days": walks.tov,
            "toe_days": walks.toe[:, 1:],
            "events": walks.events[:, 1:],
        }
    )
    lists = pl.col("nodes", "tov_days").arr.to_list().list.head(pl.col("length"))
    steps = pl.col("toe_days", "events").arr.to_list().list.head(pl.col("length") - 1)
    return frame.with_columns(lists, steps)
