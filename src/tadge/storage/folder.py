"""Folders of tensors and JSON that are whole at every instant: the saved model, the checkpoints of a training.

Each part is a safetensors file with a digest of its bytes in its name, so that a part that did not change is not
written again. A manifest, `{kind}.json`, names the parts with their sizes and digests; it is replaced in one step,
after all that it names has reached the disk. What it no longer names is removed after that. Work that is killed leaves
at worst a few files that no manifest names, and the next write clears them away.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tadge.errors import InputError, TadgeError
from tadge.storage.atomic import atomic_file

FORMAT, VERSION = "tadge", 1

NAME = re.compile(r"[a-z][a-z0-9_]{0,19}")  # of a kind and of a part: they become names of files
SEAL = b',\n "digest": "'  # how the last line of a manifest begins
CURE = "bring back a whole copy of the folder"
# fmt: off
DTYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.uint16: "U16", torch.int16: "I16",
    torch.uint32: "U32", torch.int32: "I32", torch.uint64: "U64", torch.int64: "I64", torch.float16: "F16",
    torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64", torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # as safetensors spells them
# fmt: on

Place = str | os.PathLike[str]
Piece = bytes | memoryview

_threads = threading.RLock()  # one thread writes at a time
_held: dict[tuple[int, int], tuple[int | None, int]] = {}  # folders locked by this process: handle, how many holders
_sound: set[tuple[str, int, int, int]] = set()  # files this process wrote or checked: digest, device, inode, time


# -- what others call -------------------------------------------------------------------------------------------------


def write_folder(folder: Place, kind: str, parts: Mapping[str, Mapping[str, Tensor]], meta: Mapping[str, Any]) -> None:
    """Write tensors and JSON of one kind into a folder; until all is written, what was there before stays.

    Where it fails (a full disk, a folder that is write-protected, Ctrl-C), the earlier state is whole and nothing of
    the new one is left behind. The disk needs room for the old and the new state at once, unchanged parts counted once.

    Args:
        folder: where to; made where it is missing. Other files and other kinds in it are left alone.
        kind: such as "model" or "checkpoint".
        parts: tensors by part and name, on any device; each is copied only where it is elsewhere or not contiguous.
        meta: what JSON can hold: text keys, finite numbers, lists (a tuple comes back as a list).
    """
    _check_names(kind, parts)
    content = {"format": FORMAT, "version": VERSION, "kind": kind, "meta": dict(meta)}
    _encode(content)  # complain before anything is written
    place = Path(folder)
    with _threads, one_writer(place), _told(place, "written"):
        _check_ours(place, kind)
        _sweep(place, kind)
        try:
            files = {part: _write_part(place, kind, part, parts[part]) for part in sorted(parts)}
            _sync(place)
            with atomic_file(_manifest(place, kind)) as out:
                out.write(_seal(_encode(content | {"files": files}).removesuffix(b"\n}")))
            _sync(place)
        finally:
            _sweep(place, kind)


def read_folder(folder: Place, kind: str) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read what `write_folder` wrote, in sorted order of names, after every byte of it was checked.

    Where another process writes the folder meanwhile, the answer is one of its states, whole.
    """
    place = Path(folder)
    found = _find_manifest(place, kind)
    for _ in range(10):
        try:
            content = _unseal(found[0], _manifest(place, kind), kind)
            parts = {part: _read_part(place / file["file"], kind, file) for part, file in content["files"].items()}
            return parts, content["meta"]
        except InputError:
            earlier, found = found, _find_manifest(place, kind)
            if found == earlier:
                raise
    raise InputError("the folder changes while it is read", cure="wait for the other process", where=str(place))


def has_folder(folder: Place, kind: str) -> bool:
    """Tell whether a folder has a manifest of this kind; `read_folder` tells whether it can be used."""
    with contextlib.suppress(OSError):
        return _manifest(Path(folder), kind).is_file()
    return False


def remove_kind(folder: Place, kind: str) -> None:
    """Remove the manifest of this kind, then its files, those of killed work too; the folder and all else stay."""
    _check_names(kind, {})
    place = Path(folder)
    if not place.is_dir():
        return
    with _threads, one_writer(place), _told(place, "removed"):
        _check_ours(place, kind)
        if has_folder(place, kind):
            _manifest(place, kind).unlink()
            _sync(place)
        _sweep(place, kind)


@contextmanager
def one_writer(folder: Place) -> Iterator[None]:
    """Keep other processes from writing into a folder; complain where one is at it already.

    The lock is on the folder itself (made where it is missing): it leaves no file behind and ends with the process. On
    platforms and file systems without such locks nothing is checked.
    """
    place = Path(folder)
    with _threads, _told(place, "written"):
        _make(place)
        status = place.stat()
        key = (status.st_dev, status.st_ino)
        handle, holders = _held.get(key) or (_lock(place), 0)
        _held[key] = (handle, holders + 1)
    try:
        yield
    finally:
        with _threads:
            handle, holders = _held.pop(key)
            if holders > 1:
                _held[key] = (handle, holders - 1)
            elif handle is not None:
                os.close(handle)


# -- the manifest -----------------------------------------------------------------------------------------------------


def _manifest(place: Path, kind: str) -> Path:
    return place / f"{kind}.json"


def _check_names(kind: str, parts: Mapping[str, Mapping[str, Tensor]]) -> None:
    for name in (kind, *parts):
        if not NAME.fullmatch(name):
            expected = "at most 20 small letters, digits and underscores, a letter first"
            raise TadgeError("not a name for a file of tensors", expected=expected, found=repr(name))


def _encode(content: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(content, indent=1, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        expected = "texts, finite numbers, lists and mappings"
        raise TadgeError("cannot be kept as JSON", expected=expected, found=str(error), where="meta") from error


def _seal(body: bytes) -> bytes:
    """End a manifest with a digest over everything before."""
    return body + SEAL + _digest(body).encode() + b'"\n}\n'


def _find_manifest(place: Path, kind: str) -> tuple[bytes, int, int]:
    """Read a manifest; its inode and time tell it from a later one of the same words."""
    path = _manifest(place, kind)
    with _told(place, "read"):
        if not place.exists():
            raise InputError("there is no such folder", expected=f"a tadge {kind} folder", where=str(place))
        if not place.is_dir():
            raise InputError("this is not a folder", expected=f"a tadge {kind} folder", where=str(place))
        if not path.is_file():
            others = [each.name for each in sorted(place.glob("*.json")) if each.is_file() and _is_ours(each)]
            found = f"only {' and '.join(others)}" if others else None
            raise InputError(f"not a tadge {kind} folder", expected=f"{path.name} in it", found=found, where=str(place))
        status = path.stat()
        return path.read_bytes(), status.st_ino, status.st_mtime_ns


def _unseal(sealed: bytes, path: Path, kind: str) -> dict[str, Any]:
    """Check a manifest and return what it says."""
    where = str(path)
    try:
        content = json.loads(sealed.decode())
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
    if version != VERSION or sealed != _seal(sealed.rpartition(SEAL)[0]) or not _makes_sense(content, kind):
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


def _write_part(place: Path, kind: str, part: str, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Write one file, unless it is there already; return its line in the manifest."""
    pieces = _pieces(tensors, part)
    digest, size = _digest(*pieces), sum(map(len, pieces))
    path = place / _file_name(kind, part, digest)
    if not (path.is_file() and path.stat().st_size == size and _is_sound(path, digest)):
        with atomic_file(path) as out:
            for piece in pieces:
                out.write(piece)
        _sound.add(_mark(path, digest))
    return {"file": path.name, "bytes": size, "blake2b": digest}


def _pieces(tensors: Mapping[str, Tensor], part: str) -> list[Piece]:
    """Lay tensors out as safetensors (header, then bytes, wide types first for alignment), without a copy of them."""
    header, pieces, at = {}, [], 0
    for name in sorted(tensors, key=lambda name: (-tensors[name].element_size(), name)):
        tensor = tensors[name]
        if tensor.dtype not in DTYPES or tensor.layout != torch.strided or tensor.is_meta or name == "__metadata__":
            found = f"{name}: {tensor.dtype}, {tensor.layout}, {tensor.device}"
            raise TadgeError("this tensor cannot be kept", expected="dense tensors", found=found, where=part)
        piece = _bytes_of(tensor)
        end = at + len(piece)
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, end]}
        pieces.append(piece)
        at = end
    try:
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise TadgeError("a tensor's name is not text", found=ascii(error.object)[:80], where=part) from error
    head += b" " * (-len(head) % 8)
    return [len(head).to_bytes(8, "little") + head, *pieces]


def _bytes_of(tensor: Tensor) -> Piece:
    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    flat = dense.as_strided((dense.numel(),), (1,))  # one element alone may have any stride
    return flat.view(torch.uint8).numpy().data if flat.numel() else b""


def _read_part(path: Path, kind: str, file: dict[str, Any]) -> dict[str, Tensor]:
    """Read one file into memory of its own, after its size and digest were checked."""
    where = str(path)
    with _told(path, "read"):
        if not path.is_file():
            raise InputError(f"a file of the {kind} is missing", cure=CURE, where=where)
        size = path.stat().st_size
        if size != file["bytes"]:
            what = "the file is cut short" if size < file["bytes"] else "the file is too long"
            raise InputError(what, expected=f"{file['bytes']:,} bytes", found=f"{size:,}", cure=CURE, where=where)
        if _file_digest(path) != file["blake2b"]:
            raise InputError("the file is damaged: its checksum is wrong", cure=CURE, where=where)
        try:
            with safe_open(path, "pt") as stream:
                return {name: stream.get_tensor(name).clone() for name in sorted(stream.keys())}
        except (SafetensorError, ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
            found = str(error)[:200]
            raise InputError("not tensors", expected="safetensors", found=found, cure=CURE, where=where) from error


def _digest(*pieces: Piece) -> str:
    digest = hashlib.blake2b(digest_size=20)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb", buffering=0) as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


def _is_sound(path: Path, digest: str) -> bool:
    """Tell whether a file that is there is what it should be; it is read once per process."""
    mark = _mark(path, digest)
    if mark not in _sound and _file_digest(path) == digest:
        _sound.add(mark)
    return mark in _sound


def _mark(path: Path, digest: str) -> tuple[str, int, int, int]:
    status = path.stat()
    return digest, status.st_dev, status.st_ino, status.st_mtime_ns


# -- the folder -------------------------------------------------------------------------------------------------------


def _make(place: Path) -> None:
    if place.exists() and not place.is_dir():
        raise InputError("this is not a folder", expected="the name of a folder to write", where=str(place))
    if not place.exists():
        place.mkdir(parents=True, exist_ok=True)
        _sync(place.parent)


def _lock(place: Path) -> int | None:
    """Lock a folder; the lock goes when the handle is closed, at the latest with the process."""
    if sys.platform == "win32":
        return None
    import fcntl

    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        cure = "wait until it is done, or choose another folder"
        raise InputError("another process is writing into this folder", cure=cure, where=str(place)) from None
    except OSError:
        pass  # a file system without locks
    return handle


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


def _sweep(place: Path, kind: str) -> None:
    """Remove files of this kind that its manifest does not name, those of killed work too, as far as that goes."""
    ours = re.compile(rf"{kind}-[a-z0-9_]+-[0-9a-f]{{16}}\.safetensors|\.{kind}[-.][\w.-]*\.[0-9a-f]{{12}}\.tmp")
    path = _manifest(place, kind)
    with contextlib.suppress(OSError, InputError):  # a manifest that cannot be read: better keep too much
        files = _unseal(path.read_bytes(), path, kind)["files"] if path.exists() else {}
        named = {file["file"] for file in files.values()}
        for each in list(place.iterdir()):
            if ours.fullmatch(each.name) and each.name not in named:
                with contextlib.suppress(OSError):
                    each.unlink()


@contextmanager
def _told(place: Path, deed: str) -> Iterator[None]:
    """Put what the system complains about into one sentence."""
    try:
        yield
    except OSError as error:
        cure = "choose a folder that you may write to and that has room" if deed == "written" else None
        what = f"cannot be {deed} ({error.strerror or error})"
        raise InputError(what, cure=cure, where=str(error.filename or place)) from error
