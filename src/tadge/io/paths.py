"""Which files are meant: one, stdin, a pattern, or a list of these."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tadge.errors import InputError, MissingFileError
from tadge.io.streams import STDIN, name_of

Given = str | PathLike[str] | Sequence[str | PathLike[str]]


def files_of(source: Any) -> list[Path] | None:
    """List the files that are meant, those of a pattern in order of name; None where it is no path.

    A file whose name looks like a pattern is that file.
    """
    if isinstance(source, (str, PathLike)):
        return _matching(Path(source))
    if not isinstance(source, (list, tuple)) or not any(isinstance(one, (str, PathLike)) for one in source):
        return None
    odd = next((one for one in source if not isinstance(one, (str, PathLike))), None)
    if odd is not None:
        raise InputError("not a list of files", expected="paths", found=type(odd).__name__, where="source")
    files = [file for one in source for file in _matching(Path(one))]
    seen: set[Path] = set()
    for file in files:
        place = file if str(file) == STDIN else file.resolve()
        if place in seen:
            cure = "name it once: its events would count twice"
            raise InputError("this file is named twice", cure=cure, where=name_of(file))
        seen.add(place)
    return files


def _matching(path: Path) -> list[Path]:
    name = str(path)
    try:
        if not glob.has_magic(name) or path.exists():
            return [path]
    except (OSError, ValueError):  # what is no name at all is refused where it is opened
        return [path]
    names = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (Path.glob would take hidden files too)
    files = [Path(one) for one in names if not Path(one).is_dir()]
    if not files:
        raise MissingFileError("no file has a name like that", cure="check the pattern and the folder", where=name)
    return files


def joint_name(source: Any, files: Sequence[Path]) -> str:
    """Name all files together: by the pattern, or by the first of them."""
    if len(files) == 1:
        return name_of(files[0])
    given = [source] if isinstance(source, (str, PathLike)) else list(source)
    if len(given) == 1:
        return str(given[0])
    return f"{name_of(files[0])} and {len(files) - 1:,} more"


def files_name(source: Any) -> str:
    """Name what files hold, for titles: the first without its endings; of a pattern the folder."""
    first = source if isinstance(source, (str, PathLike)) else source[0]
    path = Path(name_of(Path(first)))
    if glob.has_magic(path.name) and not path.exists():
        path = Path(next((part for part in reversed(path.parent.parts) if not glob.has_magic(part)), "files"))
    name = path.absolute().name if path.name in ("", "..") else path.name
    return name.split(".")[0] or name or "files"
