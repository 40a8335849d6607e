"""Bytes of a file, whatever it is packed in: plain, gzip or Zstandard; text only in the end."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tadge.errors import ConfigError, InputError, MissingFileError

Bytes = npt.NDArray[np.uint8]

GZIP, ZSTD, PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
UTF8_BOM, UTF16_BOMS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
TEXT_CONTROLS = b"\t\n\r\x0c\x1b"
NEWLINE, RETURN = 10, 13


@dataclass(frozen=True)
class Source:
    """Hold the content of one file.

    Attributes:
        path: the file as the user named it.
        kind: "text", "jsonl" or "parquet".
        packing: "", "gzip" or "zstd".
        data: the unpacked bytes of a text, (n,); empty for Parquet.
        as_on_disk: `data` is byte for byte what the file holds, so the file itself may be read instead.
    """

    path: Path
    kind: str
    packing: str
    data: Bytes
    as_on_disk: bool


def open_source(path: str | Path, encoding: str = "utf-8") -> Source:
    """Open a file of events, find out what it is, unpack it; complain in one sentence where it is not to be had."""
    path = Path(path)
    head = first_bytes(path, "a file")
    if not head:
        raise InputError("the file is empty", expected="at least one event", where=str(path))
    if head.startswith(PARQUET):
        return Source(path, "parquet", "", np.empty(0, np.uint8), as_on_disk=True)

    packing = "gzip" if head.startswith(GZIP) else "zstd" if head.startswith(ZSTD) else ""
    try:
        raw: Bytes = np.memmap(path, dtype=np.uint8, mode="r")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    data = _unpack(raw, packing, path) if packing else raw
    as_on_disk = not packing
    if not data.size:
        raise InputError("the file is empty once unpacked", expected="at least one event", where=str(path))
    _refuse_binary(data[:4096].tobytes(), path, encoding)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        data, as_on_disk = _recode(data, encoding, path), False
    if data[:3].tobytes() == UTF8_BOM:
        data, as_on_disk = data[3:], False
    if not np.any(data[:1_000_000] == NEWLINE) and np.any(data[:1_000_000] == RETURN):
        data, as_on_disk = np.where(data == RETURN, np.uint8(NEWLINE), data), False  # old Macintosh line ends
    start = b"".join(data[:4096].tobytes().split())[:2]
    if start == b"[{":
        cure = "turn it into one object a line (jq -c '.[]' does)"
        raise InputError("this is one JSON array", expected="JSON lines", cure=cure, where=str(path))
    kind = "jsonl" if start[:1] == b"{" else "text"
    return Source(path, kind, packing, data, as_on_disk)


def first_bytes(path: Path, expected: str) -> bytes:
    """Return the first bytes of a file, at most 4096, or complain that it cannot be read."""
    where = str(path)
    try:
        if path.is_dir():
            raise InputError("this is a folder", expected=expected, cure="name one file in it", where=where)
        with path.open("rb") as file:
            return file.read(4096)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError("there is no such file", cure="check the name and the folder", where=where) from None
    except PermissionError:
        raise InputError("no permission to read it", cure="chmod +r, or copy it", where=where) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=where) from None


def line_at(data: Bytes, offset: int) -> int:
    """Return the number of the line, from 1, that holds a byte."""
    return 1 + int(np.count_nonzero(data[:offset] == NEWLINE))


def check_utf8(source: Source) -> None:
    """Complain about the first row that is not UTF-8."""
    step = 1 << 24
    offset = 0
    while offset < source.data.size:
        chunk = source.data[offset : offset + step].tobytes()
        last = offset + step >= source.data.size
        try:
            chunk.decode("utf-8")
            offset += step
        except UnicodeDecodeError as error:
            if not last and error.start >= len(chunk) - 3 and error.reason == "unexpected end of data":
                offset += error.start  # a character cut by the chunk's end
                continue
            row = line_at(source.data, offset + error.start)
            found = f"byte 0x{chunk[error.start]:02x}"
            cure = "save it as UTF-8, or say encoding='latin-1' or the like"
            where = f"{source.path}, row {row}"
            raise InputError("not UTF-8 text", expected="UTF-8", found=found, cure=cure, where=where) from None


def _unpack(raw: Bytes, packing: str, path: Path) -> Bytes:
    try:
        if packing == "gzip":
            return np.frombuffer(gzip.decompress(raw.data), np.uint8)
        return _unpack_zstd(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        cure = "fetch or copy it again"
        raise InputError(f"the {packing} file is cut off or damaged ({error})", cure=cure, where=str(path)) from None


def _unpack_zstd(raw: Bytes) -> Bytes:
    import zstandard

    parts: list[bytes] = []
    rest = raw.tobytes()
    while rest:  # a file may hold several frames
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            parts.append(frame.decompress(rest))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        if not frame.eof:
            raise ValueError("the last frame is not complete")
        rest = frame.unused_data
    return np.frombuffer(b"".join(parts), np.uint8)


def _refuse_binary(head: bytes, path: Path, encoding: str) -> None:
    if head.startswith(UTF16_BOMS):
        if "16" in encoding:
            return
        cure = "save it as UTF-8, or say encoding='utf-16'"
        raise InputError("the text is in UTF-16", expected="UTF-8", cure=cure, where=str(path))
    if "16" in encoding or "32" in encoding:
        return
    controls = sum(byte < 32 and byte not in TEXT_CONTROLS for byte in head)
    if controls:
        expected = "CSV, TSV, SNAP text, JSON lines (plain, .gz or .zst) or Parquet"
        raise InputError("this is a binary file", expected=expected, found=f"starts with {head[:8]!r}", where=str(path))


def _recode(data: Bytes, encoding: str, path: Path) -> Bytes:
    try:
        return np.frombuffer(data.tobytes().decode(encoding).encode("utf-8"), np.uint8)
    except LookupError:
        expected = "utf-8, latin-1, cp1252, utf-16, ..."
        raise ConfigError("unknown encoding", expected=expected, found=repr(encoding), where="encoding") from None
    except UnicodeError as error:
        row = 1 + data.tobytes()[: getattr(error, "start", 0)].count(b"\n")
        raise InputError(f"not {encoding} text", found=str(error), where=f"{path}, row {row}") from None
