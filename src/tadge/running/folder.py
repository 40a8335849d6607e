"""The folder of a run: what is in it, which of its stages are done, and who may write into it.

A folder that is in use is never overwritten unasked. With force the new run is made beside the old one, which stays
whole until the new one is finished and takes its place. `run.json` tells what a run is of, which stages are done and
what each took; it is written after every stage.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tadge.errors import InputError
from tadge.machine import peak_memory_mb
from tadge.storage.atomic import atomic_file
from tadge.storage.estimator_folder import MODEL
from tadge.storage.folder import LOCK, one_writer
from tadge.version import __version__

RECORD, RUN_FORMAT = "run.json", "tadge run"
EVALUATION, FORECAST_TABLE, FORECAST_CSV = "evaluation.json", "forecasts.parquet", "forecasts.csv"
VECTOR_TABLE, PAGE_FILE, JUDGING_FOLDER = "vectors.parquet", "report.html", "judging"


@dataclass
class RunFolder:
    """Hold a run on disk.

    Attributes:
        place: the folder that is written into.
        final: where the run is to be found in the end.
        record: what `run.json` holds.
    """

    place: Path
    final: Path
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> Path:
        """Give the folder of the models."""
        return self.place / MODEL

    def done(self, stage: str) -> bool:
        """Tell whether a stage is done."""
        return stage in self.record["stages"] and bool(self.record["stages"][stage]["done"])

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Measure a stage, and write down that it is done; what it has to say goes into what this gives."""
        wall, cpu = time.perf_counter(), time.process_time()
        about: dict[str, Any] = {"done": True}
        yield about
        about |= {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        about["peak_memory_mb"] = peak_memory_mb()
        earlier = self.record["stages"].get(name)
        if earlier is not None and not earlier["done"]:
            about["seconds"] += earlier["seconds"]
            about["cpu_seconds"] += earlier["cpu_seconds"]
        self.record["stages"][name] = about
        self.write()

    def skip(self, name: str, why: str) -> None:
        """Write down why a stage was left out; a run that is resumed tries it again."""
        self.record["stages"][name] = {"done": False, "seconds": 0.0, "cpu_seconds": 0.0, "note": why}
        self.write()

    def note(self, name: str) -> str | None:
        """Give what a stage has to say, where there is anything."""
        return self.record["stages"].get(name, {}).get("note")  # type: ignore[no-any-return]

    def write(self) -> None:
        """Write `run.json`."""
        stages = self.record["stages"].values()
        self.record["seconds"] = sum(stage["seconds"] for stage in stages)
        self.record["peak_memory_mb"] = max([peak_memory_mb(), *(stage.get("peak_memory_mb", 0.0) for stage in stages)])
        with atomic_file(self.place / RECORD, "w") as file:
            file.write(json.dumps(self.record, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n")

    def finish(self) -> None:
        """Say that the run is finished; where it was made beside an older one, it takes its place."""
        shutil.rmtree(self.place / JUDGING_FOLDER, ignore_errors=True)
        self.record["finished"] = True
        self.write()


@contextmanager
def open_run(
    out: str | os.PathLike[str], about: dict[str, Any], *, force: bool = False, resume: bool = False
) -> Iterator[RunFolder]:
    """Give the folder of a run while nobody else may write into it.

    Args:
        out: the folder.
        about: what the run is of: `settings` and `graph`, which a run to be resumed has alike, and more.
        force: make a new run though there is one; the old one stays until the new one is finished.
        resume: go on with a run that is of the same settings and graph.
    """
    final = Path(out)
    check_run_free(final, force=force, resume=resume)
    new = not final.exists()
    try:
        with _opened(final, about, force=force, resume=resume) as run:
            yield run
    finally:
        if new and final.exists() and not is_used(final):
            shutil.rmtree(final, ignore_errors=True)  # nothing could be written
    if run.record["finished"] and run.place != final:
        _swap(run.place, final)
        run.place = final


@contextmanager
def _opened(final: Path, about: dict[str, Any], *, force: bool, resume: bool) -> Iterator[RunFolder]:
    """Give the folder, or the one beside it, with the record of what is done."""
    beside = _sibling(final, "new")
    place = beside if (force and is_used(final)) or (resume and (beside / RECORD).exists()) else final
    with one_writer(final), one_writer(place):
        if place == beside and not resume:
            _empty(place)
        run = RunFolder(place, final)
        earlier = read_record(place) if resume and (place / RECORD).exists() else None
        if earlier is not None:
            _check_same(earlier, about, final)
        run.record = {
            "format": RUN_FORMAT,
            "tadge": __version__,
            "python": platform.python_version(),
            "machine": {"system": platform.platform(), "cores": os.cpu_count()},
            **about,
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "stages": {},
            "finished": False,
        }
        if earlier is not None:
            found_out = {name: value for name, value in earlier.items() if name not in run.record}
            run.record |= found_out | {name: earlier[name] for name in ("stages", "began")}
        run.write()
        yield run


def check_run_free(folder: Path, *, force: bool, resume: bool) -> None:
    """Refuse a folder that is in use, unless its run is to be replaced or resumed."""
    if folder.exists() and not folder.is_dir():
        raise InputError("this is not a folder", expected="the name of a folder for the run", where=str(folder))
    _recover(folder)
    if force and resume:
        raise InputError("replace the run or go on with it?", expected="force or resume", found="both", where="force")
    if not is_used(folder):
        return
    if not (folder / RECORD).is_file():
        cure = "name another folder"
        raise InputError("there is something else than a run in this folder", cure=cure, where=str(folder))
    finished = bool(read_record(folder)["finished"])
    if not force and not resume:
        what = "there is a run in this folder" if finished else "there is a run in this folder that is not finished"
        cure = "name another folder, or say force=True to replace it"
        cure += "" if finished else ", or resume=True to go on with it"
        raise InputError(what, cure=cure, where=str(folder))


def is_used(folder: Path) -> bool:
    """Tell whether there is anything in a folder."""
    return folder.is_dir() and any(entry.name != LOCK for entry in folder.iterdir())


def read_record(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `run.json` of a folder holds, or complain."""
    path = Path(folder) / RECORD
    try:
        record = json.loads(path.read_text("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read ({reason})", expected="the folder of a run", where=str(path)) from None
    except ValueError:
        record = None
    if not isinstance(record, dict) or record.get("format") != RUN_FORMAT or not isinstance(record.get("stages"), dict):
        cure = "run it anew into another folder"
        raise InputError("not the record of a run", expected=f"format {RUN_FORMAT!r}", cure=cure, where=str(path))
    return record


def _check_same(earlier: dict[str, Any], about: dict[str, Any], folder: Path) -> None:
    """Complain where the run in a folder is of other data or settings."""
    now = json.loads(json.dumps(about))
    for name in ("graph", "settings"):
        if earlier.get(name) != now[name]:
            expected, found = str(earlier.get(name)), str(now[name])
            if name == "settings":
                changed = [key for key in now[name] if earlier[name].get(key) != now[name][key]]
                expected, found = (
                    ", ".join(f"{key} = {each.get(key)}" for key in changed) for each in (earlier[name], now[name])
                )
            what = f"the run in this folder is of other {'events' if name == 'graph' else name}"
            cure = "give the same, or name another folder"
            raise InputError(what, expected=expected[:300], found=found[:300], cure=cure, where=str(folder))


def _sibling(folder: Path, ending: str) -> Path:
    whole = folder.resolve()
    return whole.with_name(f".{whole.name}.{ending}")


def _empty(place: Path) -> None:
    """Remove what an earlier, interrupted attempt has left."""
    for entry in place.iterdir():
        if entry.name == LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _recover(final: Path) -> None:
    """Bring to its end what was killed while a new folder took the old one's place."""
    new, old = _sibling(final, "new"), _sibling(final, "old")
    if not old.is_dir():
        return
    if not is_used(final):
        shutil.rmtree(final, ignore_errors=True)
        (new if is_used(new) else old).rename(final.resolve())
    shutil.rmtree(old, ignore_errors=True)


def _swap(new: Path, final: Path) -> None:
    """Put the new folder in the old one's place; `_recover` goes on where this is killed."""
    old = _sibling(final, "old")
    shutil.rmtree(old, ignore_errors=True)
    final.rename(old)
    new.rename(final)
    shutil.rmtree(old, ignore_errors=True)
