"""Folders of tensors and JSON that are whole at every instant: the saved model, the checkpoints of a training.

Each part is a safetensors file with a digest of its bytes in its name, so that an unchanged part stays as it is. A
manifest, `{kind}.json`, names the parts with their sizes and digests; it is replaced in one step, after all that it
names has reached the disk. What it no longer names is removed after that. Work that is killed leaves at worst a few
files that no manifest names, and the next write removes them. A lock, `.lock`, keeps a second process from writing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open

from tadge.errors import InputError, MissingFileError, TadgeError
from tadge.storage.atomic import atomic_file, settle

if TYPE_CHECKING:  # torch takes a second to import, and arrays do without
    from torch import Tensor

FORMAT, VERSION = "tadge", 1
NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")  # of a kind and of a part: they become names of files
SIGNATURE = b',\n "digest": "'  # how the last line of a manifest begins
LOCK = ".lock"
MOST_BYTES = 1 << 28  # of a manifest: the figures of 100,000 epochs take less
CURE = "bring back a whole copy of the folder"

Place = str | os.PathLike[str]
Arrays = Mapping[str, npt.NDArray[Any]]

Value = TypeVar("Value")  # a tensor, or an array

_threads = threading.RLock()  # one thread writes at a time


# -- what others call -------------------------------------------------------------------------------------------------


def write_folder(
    folder: Place, kind: str, parts: Mapping[str, Mapping[str, Tensor] | Arrays], meta: Mapping[str, Any]
) -> None:
    """Write tensors and JSON of one kind into a folder; until all is written, what was there before stays.

    Where it fails (a full disk, a folder that is write-protected, Ctrl-C), the earlier state is whole and nothing of
    the new one is left behind. The disk needs room for the old and the new state at once.

    Args:
        folder: where to; made where it is missing. Other files and other kinds in it are left alone.
        kind: such as "model" or "checkpoint".
        parts: tensors by part and name, on any device; each is copied only where it is elsewhere, not contiguous or
            shares its memory with another. A part may be of arrays instead, which need no torch.
        meta: what JSON can hold: string keys, finite numbers, lists (a tuple comes back as a list).
    """
    _check_names(kind, parts)
    content = {"format": FORMAT, "version": VERSION, "kind": kind, "meta": dict(meta)}
    _encode(content)  # complain before anything is written
    place = Path(folder)
    with _threads, one_writer(place), os_errors_as_input_errors(place, "written"):
        _check_ours(place, kind)
        remove_orphans(place, kind)
        scratch = place / f".{kind}.{secrets.token_hex(6)}.tmp"
        try:
            scratch.mkdir()
            files = {part: _write_part(place, kind, part, parts[part], scratch) for part in sorted(parts)}
            _sync(place)
            with atomic_file(_manifest(place, kind)) as out:
                out.write(_signed(_encode(content | {"files": files}).removesuffix(b"\n}")))
            _sync(place)
        finally:
            remove_orphans(place, kind)


def read_folder(folder: Place, kind: str) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read what `write_folder` wrote, in sorted order of names, after every byte of it was checked.

    Where another process writes the folder meanwhile, the result is one of its states, whole.
    """
    return _read_folder(Path(folder), kind, _tensors_in)


def read_arrays(folder: Place, kind: str) -> tuple[dict[str, dict[str, npt.NDArray[Any]]], dict[str, Any]]:
    """Read what `write_folder` wrote as `read_folder` does, as arrays, without torch."""
    return _read_folder(Path(folder), kind, _arrays_in)


def _read_folder(
    place: Path, kind: str, open_part: Callable[[Path], dict[str, Value]]
) -> tuple[dict[str, dict[str, Value]], dict[str, Any]]:
    manifest = _read_manifest(place, kind)
    for _ in range(10):
        try:
            content = _verified(manifest[0], _manifest(place, kind), kind)
            parts = {
                part: _read_part(place / file["file"], kind, file, open_part) for part, file in content["files"].items()
            }
            return parts, content["meta"]
        except InputError:
            earlier, manifest = manifest, _read_manifest(place, kind)
            if manifest == earlier:
                raise
    raise InputError("the folder changes while it is read", cure="wait for the other process", where=str(place))


def read_meta(folder: Place, kind: str) -> dict[str, Any]:
    """Read the JSON alone of what `write_folder` wrote; the tensors are not looked at."""
    place = Path(folder)
    meta: dict[str, Any] = _verified(_read_manifest(place, kind)[0], _manifest(place, kind), kind)["meta"]
    return meta


def adopt_kind(source: Place, folder: Place, kind: str) -> None:
    """Move what is of a kind from one folder into another of the same disk, in place of what is there.

    At every instant what is moved is whole in one of the two.
    """
    origin, place = Path(source), Path(folder)
    with _threads, one_writer(place), os_errors_as_input_errors(place, "written"):
        _check_ours(place, kind)
        for file in _verified(_manifest(origin, kind).read_bytes(), _manifest(origin, kind), kind)["files"].values():
            temporary = place / f".{kind}.{secrets.token_hex(6)}.tmp"
            try:
                os.link(origin / file["file"], temporary)
            except OSError:  # not every disk has hard links
                shutil.copyfile(origin / file["file"], temporary)
            settle(temporary, place / file["file"])
        _sync(place)
        _manifest(origin, kind).replace(_manifest(place, kind))
        _sync(place)
        remove_orphans(place, kind)


def has_folder(folder: Place, kind: str) -> bool:
    """Tell whether a folder has a manifest of this kind; `read_folder` tells whether it can be used."""
    with contextlib.suppress(OSError):
        return _manifest(Path(folder), kind).is_file()
    return False


def remove_kind(folder: Place, kind: str) -> None:
    """Remove the manifest of this kind, then its files, those of killed work too; the folder and all else stay."""
    _check_names(kind, ())
    place = Path(folder)
    if not place.is_dir():
        return
    with _threads, one_writer(place), os_errors_as_input_errors(place, "removed"):
        _check_ours(place, kind)
        if has_folder(place, kind):
            _manifest(place, kind).unlink()
            _sync(place)
        remove_orphans(place, kind)


@contextmanager
def one_writer(folder: Place) -> Iterator[None]:
    """Keep other processes from writing into a folder, made where it is missing; complain where one is at it already.

    The process that holds the lock may take it again. The lock ends with the process; its file goes with it.
    """
    place = Path(folder)
    with _threads, os_errors_as_input_errors(place, "written"):
        if place.exists() and not place.is_dir():
            raise InputError("this is not a folder", expected="the name of a folder to write", where=str(place))
        if not place.exists():
            place.mkdir(parents=True, exist_ok=True)
            _sync(place.parent)
        lock = FileLock(place / LOCK, thread_local=False, is_singleton=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            cure = "wait until it is done, or choose another folder"
            raise InputError("another process is writing into this folder", cure=cure, where=str(place)) from None
    try:
        yield
    finally:
        with _threads:
            try:
                if lock.lock_counter == 1:  # filelock looks again where the file it opened has gone
                    with contextlib.suppress(OSError):
                        (place / LOCK).unlink()
            finally:
                lock.release()


# -- the manifest -----------------------------------------------------------------------------------------------------


def _manifest(place: Path, kind: str) -> Path:
    return place / f"{kind}.json"


def _check_names(kind: str, parts: Collection[str]) -> None:
    for name in (kind, *parts):
        if not NAME.fullmatch(name):
            expected = "at most 20 small letters, digits and underscores, a letter first"
            raise TadgeError("not a name for a file of tensors", expected=expected, found=repr(name))


def _encode(content: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(content, indent=1, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        expected = "strings, finite numbers, lists and mappings"
        raise TadgeError("cannot be kept as JSON", expected=expected, found=str(error), where="meta") from error


def _signed(body: bytes) -> bytes:
    """End a manifest with a digest over everything before."""
    return body + SIGNATURE + hashlib.blake2b(body, digest_size=20).hexdigest().encode() + b'"\n}\n'


def _read_manifest(place: Path, kind: str) -> tuple[bytes, int, int]:
    """Read a manifest; its inode and time tell it from a later one of the same words."""
    path = _manifest(place, kind)
    with os_errors_as_input_errors(place, "read"):
        if not place.exists():
            raise MissingFileError("there is no such folder", expected=f"a tadge {kind} folder", where=str(place))
        if not place.is_dir():
            raise InputError("this is not a folder", expected=f"a tadge {kind} folder", where=str(place))
        if not path.is_file():
            others = [other.name for other in sorted(place.glob("*.json")) if other.is_file() and _is_ours(other)]
            found = f"only {' and '.join(others)}" if others else None
            raise InputError(f"not a tadge {kind} folder", expected=f"{path.name} in it", found=found, where=str(place))
        status = path.stat()
        if status.st_size > MOST_BYTES:
            expected, found = f"at most {MOST_BYTES:,} bytes", f"{status.st_size:,}"
            raise InputError(f"not the list of a {kind}'s files", expected=expected, found=found, where=str(path))
        return path.read_bytes(), status.st_ino, status.st_mtime_ns


def _verified(signed: bytes, path: Path, kind: str) -> dict[str, Any]:
    """Check a manifest and return what it says."""
    where = str(path)
    try:
        content = json.loads(signed.decode())
    except (ValueError, RecursionError):
        raise InputError(f"not the list of a {kind}'s files", expected="JSON", cure=CURE, where=where) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = repr(content.get("format", "no format"))[:80] if isinstance(content, dict) else "other JSON"
        raise InputError(f"not of a tadge {kind} folder", expected=f"format {FORMAT!r}", found=found, where=where)
    version = content.get("version")
    if type(version) is int and version > VERSION:
        what, expected = f"the {kind} was written by a newer tadge", f"version {VERSION} of the format"
        raise InputError(what, expected=expected, found=f"version {version}", cure="upgrade tadge", where=where)
    if isinstance(content.get("kind"), str) and content["kind"] != kind:
        raise InputError("another kind of folder", expected=kind, found=content["kind"][:80], where=where)
    if version != VERSION or signed != _signed(signed.rpartition(SIGNATURE)[0]) or not _makes_sense(content, kind):
        raise InputError(f"the list of the {kind}'s files is damaged", cure=CURE, where=where)
    return content


def _makes_sense(content: dict[str, Any], kind: str) -> bool:
    """Tell whether a manifest with a right digest holds what it should, and only plain names in this folder."""
    files = content.get("files")
    if content.get("kind") != kind or not isinstance(content.get("meta"), dict) or not isinstance(files, dict):
        return False
    return all(
        NAME.fullmatch(part)
        and isinstance(file, dict)
        and type(file.get("bytes")) is int
        and re.fullmatch("[0-9a-f]{40}", str(file.get("blake2b")))
        and file.get("file") == _file_name(kind, part, str(file["blake2b"]))
        for part, file in files.items()
    )


def _is_ours(path: Path) -> bool:
    with path.open("rb") as stream:
        return f'"{FORMAT}"'.encode() in stream.read(64)


def _check_ours(place: Path, kind: str) -> None:
    """Refuse to touch a file of another program that has the manifest's name."""
    path = _manifest(place, kind)
    if path.is_file() and not _is_ours(path):
        raise InputError("this file is not tadge's", cure="choose another folder, or remove the file", where=str(path))


# -- the parts --------------------------------------------------------------------------------------------------------


def _file_name(kind: str, part: str, digest: str) -> str:
    return f"{kind}-{part}-{digest[:16]}.safetensors"


def _write_part(
    place: Path, kind: str, part: str, tensors: Mapping[str, Tensor] | Arrays, scratch: Path
) -> dict[str, Any]:
    """Write one file, unless it is there already; return its line in the manifest."""
    temporary = scratch / f"{part}.safetensors"
    try:
        _save(tensors, part, temporary)
    except SafetensorError as error:
        code = re.search(r"os error (\d+)", str(error))
        raise OSError(int(code[1]), os.strerror(int(code[1]))) if code else OSError(str(error)) from error
    except (LookupError, TypeError, ValueError) as error:  # an unknown dtype; a name that is not UTF-8
        found = ascii(str(error))[:80]
        raise TadgeError("this tensor cannot be kept", expected="dense tensors", found=found, where=part) from error
    size, digest = temporary.stat().st_size, _file_digest(temporary)
    path = place / _file_name(kind, part, digest)
    if not (path.is_file() and path.stat().st_size == size and _file_digest(path) == digest):
        temporary.chmod(stat.S_IMODE(place.stat().st_mode) & 0o666)  # for those who may read the folder
        settle(temporary, path)
    return {"file": path.name, "bytes": size, "blake2b": digest}


def _save(tensors: Mapping[str, Tensor] | Arrays, part: str, path: Path) -> None:
    if tensors and all(isinstance(values, np.ndarray) for values in tensors.values()):
        from safetensors import numpy

        numpy.save_file({name: np.ascontiguousarray(values) for name, values in tensors.items()}, path)
    else:
        from safetensors import torch

        torch.save_file(_dense(tensors, part), path)


def _dense(tensors: Mapping[str, Any], part: str) -> dict[str, Tensor]:
    """Give tensors as safetensors writes them: dense, contiguous, in the computer's memory, none sharing another's."""
    from torch import strided

    dense: dict[str, Tensor] = {}
    memory: set[int] = set()
    for name, tensor in tensors.items():
        if tensor.layout != strided or tensor.is_meta or name == "__metadata__":
            found = f"{name}: {tensor.dtype}, {tensor.layout}, {tensor.device}"
            raise TadgeError("this tensor cannot be kept", expected="dense tensors", found=found, where=part)
        plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        storage = plain.untyped_storage().data_ptr()
        dense[name] = plain.clone() if storage in memory else plain
        memory.add(storage)
    return dense


def _tensors_in(path: Path) -> dict[str, Tensor]:
    with safe_open(path, "pt") as stream:
        return {name: stream.get_tensor(name).clone() for name in sorted(stream.keys())}


def _arrays_in(path: Path) -> dict[str, npt.NDArray[Any]]:
    with safe_open(path, "np") as stream:
        return {name: stream.get_tensor(name) for name in sorted(stream.keys())}


def _read_part(
    path: Path, kind: str, file: dict[str, Any], open_part: Callable[[Path], dict[str, Value]]
) -> dict[str, Value]:
    """Read one file into memory of its own, after its size and digest were checked."""
    where = str(path)
    with os_errors_as_input_errors(path, "read"):
        if not path.is_file():
            raise MissingFileError(f"a file of the {kind} is missing", cure=CURE, where=where)
        size = path.stat().st_size
        if size != file["bytes"]:
            what = "the file is cut short" if size < file["bytes"] else "the file is too long"
            raise InputError(what, expected=f"{file['bytes']:,} bytes", found=f"{size:,}", cure=CURE, where=where)
        if _file_digest(path) != file["blake2b"]:
            raise InputError("the file is damaged: its checksum is wrong", cure=CURE, where=where)
        try:
            return open_part(path)
        except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
            found = str(error)[:200]
            raise InputError("not tensors", expected="safetensors", found=found, cure=CURE, where=where) from error


def _file_digest(path: Path) -> str:
    with path.open("rb", buffering=0) as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


# -- the folder -------------------------------------------------------------------------------------------------------


def _sync(place: Path) -> None:
    """Bring the names in a folder to the disk, where the platform can."""
    try:
        handle = os.open(place, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def remove_orphans(place: Path, kind: str) -> None:
    """Remove files of this kind that its manifest does not name, those of killed work too, as far as that goes."""
    ours = re.compile(rf"{kind}-[a-z0-9_]+-[0-9a-f]{{16}}\.safetensors|\.{kind}[-.]([\w.-]*\.)?[0-9a-f]{{12}}\.tmp")
    path = _manifest(place, kind)
    with contextlib.suppress(OSError, InputError):  # a manifest that cannot be read: better keep too much
        files = _verified(path.read_bytes(), path, kind)["files"] if path.exists() else {}
        named = {file["file"] for file in files.values()}
        for orphan in [entry for entry in place.iterdir() if ours.fullmatch(entry.name) and entry.name not in named]:
            if orphan.is_dir():
                shutil.rmtree(orphan, ignore_errors=True)
                continue
            with contextlib.suppress(OSError):
                orphan.unlink()


@contextmanager
def os_errors_as_input_errors(place: Path, deed: str) -> Iterator[None]:
    """Put what the system complains about into one sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, TadgeError):
            raise
        cure = "choose a folder that you may write to and that has room" if deed == "written" else None
        what = f"cannot be {deed} ({error.strerror or error})"
        raise InputError(what, cure=cure, where=str(error.filename or place)) from error
