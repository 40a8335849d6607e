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
    when the block fails, by KeyboardInterrupt too. An older file of that name stays as it was until then. The folder is
    made where it is missing; a symbolic link is followed.

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
        temporary = (scratch or target.parent) / f".{target.name[:40]}.{secrets.token_hex(6)}.tmp"
        stream = temporary.open("xb") if mode == "wb" else temporary.open("x", encoding="utf-8", newline="")
    except (OSError, RuntimeError) as error:  # RuntimeError: symbolic links in a circle
        raise _not_writable(path, error) from None
    try:
        with stream:
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


def disk_trouble(error: BaseException) -> OSError | None:
    """Tell whether an error is about the disk: full, or write-protected; libraries may say so in words alone."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (told := re.search(r"os error (\d+)", str(error))):
        number = int(told[1])
    return OSError(number, os.strerror(number)) if number in DISK_TROUBLE else None


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
