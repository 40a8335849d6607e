"""Runs that are to take the place of what a folder holds: until such a run is whole, the folder is as it was.

The run lies in a folder of its own, `.new`, within the other. Once it is whole a small file in it, `whole`, says so:
from that instant on its models are those of the folder, wherever their files are. Then they move, kind by kind. Work
that is killed meanwhile is completed by the next that writes.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from tadge.errors import ConfigError, InputError
from tadge.storage.atomic import atomic_file
from tadge.storage.folder import (
    Place,
    adopt_kind,
    has_folder,
    one_writer,
    os_errors_as_input_errors,
    remove_kind,
    remove_orphans,
)

NEW, GONE, WHOLE = ".new", ".gone-", "whole"
ESTIMATORS = VECTORS, FORECASTER = "tadge", "forecaster"  # kinds of models
CHECKPOINT = "checkpoint"  # the kind that is there as long as a TADGE is not done


def current_place(folder: Place, kind: str) -> Path:
    """Find where the models of a kind are that a folder holds: in it, or still within the run that is whole."""
    run = Path(folder) / NEW
    return run if (run / WHOLE).is_file() and has_folder(run, kind) else Path(folder)


def begin_run(folder: Place, kinds: Sequence[str], *, resume: bool = False, force: bool = False) -> Path:
    """Give the folder that a run writes into; complain where that would overwrite something unasked.

    Args:
        folder: where its models are to be in the end.
        kinds: what it makes, on its way too.
        resume: go on with a run, be it one that is to replace models or not.
        force: replace models that are there, once the run is whole.

    Returns:
        The folder itself; or, where the run is to replace something, a folder within it.
    """
    check_free(folder, kinds, resume=resume, force=force)
    place, run = Path(folder), Path(folder) / NEW
    end_run(place, whole=False)
    if resume:
        return run if run.is_dir() else place
    if not force:
        return place
    used = any(has_folder(place, kind) for kind in kinds)
    with one_writer(place), os_errors_as_input_errors(run, "written"):
        _retire(run)
        if used:
            run.mkdir()
    return run if used else place


def check_free(folder: Place, kinds: Sequence[str], *, resume: bool = False, force: bool = False) -> None:
    """Complain where a run would overwrite something unasked, before any work is done; arguments as `begin_run`."""
    place, run = Path(folder), Path(folder) / NEW
    if resume and force:
        what, cure = "two ways to begin", "say resume=True to go on with a run, force=True to begin a new one"
        raise ConfigError(what, expected="resume or force", found="both", cure=cure, where="force")
    if resume or force:
        return
    used = [kind for kind in kinds if has_folder(current_place(place, kind), kind)]
    if CHECKPOINT in used or (run.is_dir() and not (run / WHOLE).is_file()):
        cure = "say resume=True to go on with it, force=True to begin anew, or name another folder"
        raise InputError("there is a run in this folder that is not done", cure=cure, where=str(place))
    if used:
        found = " and ".join(f"{kind}.json" for kind in used)
        cure = "say force=True to replace it once the new one is whole, or name another folder"
        raise InputError("there is a model in this folder already", found=found, cure=cure, where=str(place))


def end_run(folder: Place, *, whole: bool = True) -> None:
    """Let the models of a run that is to replace others take their place; nothing is done where there is no such run.

    Args:
        folder: where they are to be.
        whole: the run is whole now; else only what was whole before is completed.
    """
    place, run = Path(folder), Path(folder) / NEW
    _clear(place)
    if not run.is_dir() or not (whole or (run / WHOLE).is_file()):
        return
    with one_writer(place), os_errors_as_input_errors(place, "written"):
        if not (run / WHOLE).is_file():
            with atomic_file(run / WHOLE, "w") as out:
                out.write("the models in this folder take the place of those in the folder above\n")
        for kind in ESTIMATORS:
            if has_folder(run, kind):
                if kind == VECTORS:
                    remove_kind(place, CHECKPOINT)  # of the run before
                adopt_kind(run, place, kind)
            remove_orphans(place, kind)  # where that was killed right before
        _retire(run)


def _retire(run: Path) -> None:
    """Remove the folder of a run: at one instant it is there, at the next it is not, whatever is left to remove."""
    if run.is_dir():
        run.rename(run.with_name(f"{GONE}{secrets.token_hex(6)}"))
        _clear(run.parent)


def _clear(place: Path) -> None:
    """Remove what is left of runs that have gone."""
    for gone in place.glob(f"{GONE}*"):
        shutil.rmtree(gone, ignore_errors=True)


def give_up_run(folder: Place) -> None:
    """Remove the place of a run that has nothing in it."""
    with contextlib.suppress(OSError):
        (Path(folder) / NEW).rmdir()


# -- folders of results -----------------------------------------------------------------------------------------------


def begin_results(folder: Place, names: Sequence[str], *, resume: bool = False, force: bool = False) -> Path:
    """Give the folder that results are written into: as `begin_run`, for files and folders of some names.

    Args:
        folder: where they are to be in the end.
        names: of results; each is a file, `NAME.json`, and a folder, `NAME`, of what is done on the way.
        resume: go on where an earlier run stopped.
        force: replace what is there, once all is whole.
    """
    place, run = Path(folder), Path(folder) / NEW
    check_free(place, (), resume=resume, force=force)
    end_results(place, whole=False)
    if resume:
        return run if run.is_dir() else place
    used = [path for name in names for path in (place / f"{name}.json", place / name) if path.exists()]
    if used and not force:
        cure = "say resume=True to go on with it, force=True to replace it, or name another folder"
        raise InputError("there is an evaluation in this folder", cure=cure, where=str(used[0]))
    with os_errors_as_input_errors(run, "written"):
        _retire(run)
        if used:
            run.mkdir()
    return run if used else place


def end_results(folder: Place, *, whole: bool = True) -> None:
    """Let results that are to replace others take their place, as `end_run` does; each is whole at every instant."""
    place, run = Path(folder), Path(folder) / NEW
    _clear(place)
    if not run.is_dir() or not (whole or (run / WHOLE).is_file()):
        return
    with os_errors_as_input_errors(place, "written"):
        (run / WHOLE).touch()
        for entry in sorted(run.iterdir()):
            if entry.is_dir():
                shutil.rmtree(place / entry.name, ignore_errors=True)
            if entry.name != WHOLE:
                entry.replace(place / entry.name)
        _retire(run)
