"""Text, JSON lines or Parquet from the bytes of a file, whatever it is packed in and however it is encoded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tadge.errors import ConfigError, EmptyFileError, InputError, MissingFileError
from tadge.io.packed import Bytes, check_workbook, is_workbook, packing_of, unpack, unpack_zip
from tadge.io.streams import name_of, read_bytes

PARQUET = b"PAR1"
UTF8_BOM, UTF16_BOMS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
TEXT_CONTROLS = b"\t\n\r\x0c\x1b"
NEWLINE, RETURN = 10, 13


@dataclass(frozen=True)
class Source:
    """Hold the content of one file.

    Attributes:
        where: the file as the user named it, for messages.
        kind: "text", "jsonl", "parquet" or "workbook".
        packing: "", "gzip", "zstd" or "zip".
        data: the unpacked bytes, (n,).
        file: the file itself, where it holds `data` byte for byte; None where it does not, or cannot be read again.
    """

    where: str
    kind: str
    packing: str
    data: Bytes
    file: Path | None


def open_source(path: str | Path, encoding: str = "utf-8", max_unpacked: float | None = None) -> Source:
    """Open a file of events, find out what it is, unpack it; complain in one sentence where it is not to be had.

    Args:
        path: a file, "-" for stdin, a pipe; or a member of a zip file, as archive.zip/member.csv.
        encoding: of a text.
        max_unpacked: gigabytes that a packed file or a stream may hold; by default what its size and the memory allow.
    """
    path, member = _split_member(Path(path))
    where = name_of(path)
    data, file = read_bytes(path, max_unpacked)
    if member is not None and packing_of(data[:4].tobytes()) != "zip":
        raise MissingFileError("there is no such file", cure="check the name and the folder", where=f"{path}/{member}")
    if not data.size:
        raise EmptyFileError("the file is empty", expected="at least one event", where=where)
    if is_workbook(data):
        check_workbook(data, where, max_unpacked)
        return Source(where, "workbook", "", data, file)
    packing = packing_of(data[:4].tobytes())
    if packing == "zip":
        data, name = unpack_zip(data, member, where, max_unpacked)
        where, file = f"{where}/{name}" if member else where, None
    elif packing:
        data, file = unpack(data, packing, where, max_unpacked), None
    if not data.size:
        raise EmptyFileError("the file is empty once unpacked", expected="at least one event", where=where)
    if data[:4].tobytes() == PARQUET:
        return Source(where, "parquet", packing, data, file)
    text = _as_utf8(data, where, encoding)
    start = b"".join(text[:4096].tobytes().split())[:2]
    if start == b"[{":
        cure = "turn it into one object a line (jq -c '.[]' does)"
        raise InputError("this is one JSON array", expected="JSON lines", cure=cure, where=where)
    return Source(where, "jsonl" if start[:1] == b"{" else "text", packing, text, file if text is data else None)


def _split_member(path: Path) -> tuple[Path, str | None]:
    """Tell a member of a zip file, archive.zip/folder/member.csv, from other paths."""
    try:
        if not path.exists():
            for parent in path.parents:
                if parent.is_file():
                    return parent, path.relative_to(parent).as_posix()
    except (OSError, ValueError):  # what is no name at all is refused where it is opened
        pass
    return path, None


def _as_utf8(data: Bytes, where: str, encoding: str) -> Bytes:
    """Give a text in UTF-8, without byte order marks at its start, with newlines at the ends of its lines."""
    _refuse_binary(data[:4096].tobytes(), where, encoding)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        data = _recode(data, encoding, where)
    while data[:3].tobytes() == UTF8_BOM:
        data = data[3:]
    if not np.any(data[:1_000_000] == NEWLINE) and np.any(data[:1_000_000] == RETURN):
        data = np.where(data == RETURN, np.uint8(NEWLINE), data)  # old Macintosh line ends
    return data


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
            where = f"{source.where}, row {row}"
            raise InputError("not UTF-8 text", expected="UTF-8", found=found, cure=cure, where=where) from None


def _refuse_binary(head: bytes, where: str, encoding: str) -> None:
    if head.startswith(UTF16_BOMS):
        if "16" in encoding:
            return
        cure = "save it as UTF-8, or say encoding='utf-16'"
        raise InputError("the text is in UTF-16", expected="UTF-8", cure=cure, where=where)
    if "16" in encoding or "32" in encoding:
        return
    controls = sum(byte < 32 and byte not in TEXT_CONTROLS for byte in head)
    if controls:
        expected = "CSV, TSV, SNAP text, JSON lines, Parquet (plain, .gz, .zst or .zip) or Excel"
        raise InputError("this is a binary file", expected=expected, found=f"starts with {head[:8]!r}", where=where)


def _recode(data: Bytes, encoding: str, where: str) -> Bytes:
    try:
        return np.frombuffer(data.tobytes().decode(encoding).encode("utf-8"), np.uint8)
    except (LookupError, ValueError) as error:
        if isinstance(error, UnicodeError):
            row = 1 + data.tobytes()[: getattr(error, "start", 0)].count(b"\n")
            raise InputError(f"not {encoding} text", found=str(error), where=f"{where}, row {row}") from None
        expected = "utf-8, latin-1, cp1252, utf-16, ..."
        raise ConfigError("unknown encoding", expected=expected, found=repr(encoding), where="encoding") from None
