"""Write files whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, overload

from tadge.errors import InputError

DISK_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


@overload
def atomic_file(
    path: str | os.PathLike[str], mode: Literal["wb"] = "wb", *, scratch: Path | None = None
) -> AbstractContextManager[BinaryIO]: ...
@overload
def atomic_file(
    path: str | os.PathLike[str], mode: Literal["w"], *, scratch: Path | None = None
) -> AbstractContextManager[TextIO]: ...
def atomic_file(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb", *, scratch: Path | None = None
) -> AbstractContextManager[Any]:
    """Open a file that appears under its name only when it is complete.

    The bytes go to a temporary file in the same folder, which takes the name when the `with` block ends and is removed
    when the block fails, by KeyboardInterrupt too; what a killed process has left of one goes when the same file is
    written next. An older file of that name stays as it was until then. The folder is made where it is missing; a
    symbolic link is followed.

    Args:
        path: the file to write.
        mode: "wb" for bytes; "w" for UTF-8 text, with lines that end as they are written.
        scratch: a folder on the same disk for the temporary file, where there is one that is cleared anyhow.
    """
    return _atomic_file(Path(path), mode, scratch)


@contextmanager
def _atomic_file(path: Path, mode: str, scratch: Path | None) -> Iterator[IO[Any]]:
    try:
        target = path.resolve()
        _check_target(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        folder, name = scratch or target.parent, target.name[:40]
        _remove_abandoned(folder, name)
        temporary, mark = _begin(folder, name)
    except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links in a circle
        raise _not_writable(path, error) from None
    try:
        with temporary.open("wb") if mode == "wb" else temporary.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        try:
            settle(temporary, target)
        except OSError as error:
            raise _not_writable(path, error) from error
    except Exception as error:
        _remove(temporary)
        trouble = disk_trouble(error)
        if trouble is not None:
            raise _not_writable(path, trouble) from error
        raise
    except BaseException:
        _remove(temporary)
        raise
    finally:
        if mark is not None:
            os.close(mark)


def _begin(folder: Path, name: str) -> tuple[Path, int | None]:
    """Make an empty temporary file; it is locked, as a sign that somebody is at work on it, while its mark is open."""
    while True:
        temporary = folder / f".{name}.{secrets.token_hex(6)}.tmp"
        mark = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if not _lock(mark):
            os.close(mark)
            return temporary, None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(mark), temporary.stat()):
                return temporary, mark
        os.close(mark)  # another writer took it for abandoned before it was locked


def _lock(mark: int) -> bool:
    """Lock an open file unless somebody else has; where files cannot be locked, nothing is."""
    try:
        import fcntl

        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove_abandoned(folder: Path, name: str) -> None:
    """Remove temporary files of a name whose writers were killed: those that nobody has locked."""
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError):
        for left in [entry.path for entry in os.scandir(folder) if ours.fullmatch(entry.name) and entry.is_file()]:
            mark = os.open(left, os.O_RDWR)
            try:
                if _lock(mark):
                    Path(left).unlink(missing_ok=True)
            finally:
                os.close(mark)


def disk_trouble(error: BaseException) -> OSError | None:
    """Tell whether an error is about the disk: full, or write-protected."""
    number = system_number(error)
    return OSError(number, os.strerror(number)) if number is not None and number in DISK_TROUBLE else None


def system_number(error: BaseException) -> int | None:
    """Give the number that the system has for an error; libraries may tell it in words alone."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    told = re.search(r"os error (\d+)", str(error))
    return int(told[1]) if told else None


def check_target(path: Path) -> None:
    """Complain where a file cannot be written under this name, before any work is done."""
    try:
        _check_target(path.resolve())
    except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links in a circle
        raise _not_writable(path, error) from None


def _check_target(target: Path) -> None:
    if target.is_dir():
        raise InputError("this is a folder", expected="the name of a file to write", where=str(target))
    if not target.exists():
        return
    if not target.is_file():
        raise InputError("this is not a regular file", expected="the name of a file to write", where=str(target))
    if not os.access(target, os.W_OK):
        raise InputError("the file is write-protected", cure="choose another name or unlock it", where=str(target))


def settle(temporary: Path, target: Path) -> None:
    """Bring the bytes of a file to the disk, then give it its name."""
    handle = os.open(temporary, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    if target.exists():
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))
    temporary.replace(target)


def _remove(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        temporary.unlink()


def _not_writable(path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    cure = "choose a folder that you may write to and that has room"
    return InputError(f"cannot be written ({reason})", cure=cure, where=str(path))
