"""Bytes of whatever a path names: a file, stdin, a pipe; never wait for ever, never fill the memory."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tadge.errors import InputError, MissingFileError
from tadge.io.packed import PIECE, Bytes, limited

STDIN = "-"
WAIT, BETWEEN = 10.0, 0.05  # seconds to wait for somebody who writes to a named pipe; between two looks
SHOWN_FILES = 1_000  # of a folder that are looked at


def read_bytes(path: Path, max_unpacked: float | None = None) -> tuple[Bytes, Path | None]:
    """Give the bytes, (n,), that a path names, and the file that holds them where it can be read again.

    A file is mapped, not copied. "-" is stdin; pipes and what has no size, like files of /proc, are read to their end.
    """
    where = name_of(path)
    try:
        if str(path) == STDIN:
            return _read_stdin(max_unpacked), None
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise folder_given(path)
        if stat.S_ISFIFO(mode):
            return _read_pipe(path, max_unpacked), None
        with path.open("rb") as file:
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                return _read_device(file, where), None
            if os.fstat(file.fileno()).st_size == 0:
                return _read_all(file, where, max_unpacked), None
            try:
                return np.memmap(file, dtype=np.uint8, mode="r"), path
            except (OSError, ValueError):  # what cannot be mapped can still be read
                return _read_all(file, where, max_unpacked), None
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError("there is no such file", cure="check the name and the folder", where=where) from None
    except PermissionError:
        raise InputError("no permission to read it", cure="chmod +r, or copy it", where=where) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("this cannot be the name of a file", found=repr(str(path)), where=where) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=where) from None


def name_of(path: Path) -> str:
    """Name what a path means, for messages."""
    return "stdin" if str(path) == STDIN else str(path)


def folder_given(path: Path, expected: str = "a file") -> InputError:
    """Make the error about a folder where a file should be, with the pattern of what is in it."""
    with os.scandir(path) as entries:
        names = [entry.name for entry, _ in zip(entries, range(SHOWN_FILES), strict=False) if entry.is_file()]
    endings = Counter("".join(Path(name).suffixes[-2:]) for name in names if not name.startswith("."))
    endings.pop("", None)
    cure = "name one file in it"
    if endings:
        cure += f", or all of a kind as one history: '{path / ('*' + endings.most_common(1)[0][0])}'"
    return InputError("this is a folder", expected=expected, cure=cure, where=str(path))


def first_bytes(path: Path, expected: str) -> bytes:
    """Return the first bytes of a file, at most 4096, or complain that it cannot be read."""
    where = str(path)
    try:
        if path.is_dir():
            raise folder_given(path, expected)
        with path.open("rb") as file:
            return file.read(4096)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError("there is no such file", cure="check the name and the folder", where=where) from None
    except PermissionError:
        raise InputError("no permission to read it", cure="chmod +r, or copy it", where=where) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=where) from None


def _read_all(file: BinaryIO, where: str, max_unpacked: float | None) -> Bytes:
    out = limited(where, max_unpacked)
    while piece := file.read(PIECE):
        out.add(piece)
    return out.array()


def _terminal(where: str) -> InputError:
    cure = "send a file to it (tadge info - < edges.csv), or name a file"
    return InputError("stdin is a terminal", expected="a file or a pipe", cure=cure, where=where)


def _read_stdin(max_unpacked: float | None) -> Bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("there is no stdin", expected="a file or a pipe", cure="name a file", where="stdin")
    if sys.stdin.isatty():
        raise _terminal("stdin")
    return _read_all(sys.stdin.buffer, "stdin", max_unpacked)


def _read_device(file: BinaryIO, where: str) -> Bytes:
    """Read a device that holds nothing; refuse all others, which may have no end."""
    if file.isatty():
        raise _terminal(where)
    if file.read(1):
        raise InputError("this is a device", expected="a file or a pipe", where=where)
    return np.empty(0, np.uint8)


def _read_pipe(path: Path, max_unpacked: float | None) -> Bytes:
    """Read a pipe to its end; complain where nobody writes to it."""
    where = str(path)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        named = "pipe:[" not in os.path.realpath(path)  # others get no new writers
        first = _first_piece(descriptor, WAIT if named else 0.0)
        if first is None and named:
            cure = "start what writes to it first"
            raise InputError(f"nobody has written to this pipe for {WAIT:g} seconds", cure=cure, where=where)
        out = limited(where, max_unpacked)
        out.add(first or b"")
        while piece := file.read(PIECE):
            out.add(piece)
        return out.array()


def _first_piece(descriptor: int, seconds: float) -> bytes | None:
    """Wait for the first bytes of a pipe; None where nobody has opened it to write after so many seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            piece = os.read(descriptor, PIECE)
        except BlockingIOError:  # somebody is there who has not written yet
            os.set_blocking(descriptor, True)
            return os.read(descriptor, PIECE)
        if piece:
            os.set_blocking(descriptor, True)
            return piece
        if time.monotonic() >= until:
            return None
        time.sleep(BETWEEN)
