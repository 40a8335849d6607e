"""Unpack gzip, Zstandard and zip in memory, piece by piece, as far as a limit allows."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tadge.errors import InputError, listing
from tadge.machine import available_memory

Bytes = npt.NDArray[np.uint8]

GZIP, ZSTD, ZIP, EMPTY_ZIP, OLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0"
GIGABYTE = 1e9
RATIO, SMALL = 200, 1 << 28  # a file may unpack to so many times its size, and to so many bytes in any case
PIECE, ZSTD_PIECE = 1 << 20, 1 << 13  # bytes taken at once; 8 KB of Zstandard can become 256 MB
SHEETS = ("xl/workbook.xml", "xl/workbook.bin")
ENCRYPTED = 1  # a flag of a member of a zip file
NO_FILES = ("__MACOSX/", ".DS_Store")


@dataclass
class Unpacked:
    """Gather what is unpacked or streamed, up to a limit.

    Attributes:
        where: the file, for the message.
        most: bytes.
        why: what the limit comes from, in words.
        content: what has come so far.
    """

    where: str
    most: int
    why: str
    content: bytearray = field(default_factory=bytearray)

    def add(self, piece: bytes) -> None:
        """Add some bytes, or complain that they are too many."""
        self.check(len(self.content) + len(piece))
        self.content += piece

    def check(self, size: int) -> None:
        """Complain about a size that is more than is allowed."""
        if size > self.most:
            cure = f"say max_unpacked={max(0.01, 2 * self.most / GIGABYTE):.2g} (in gigabytes) if that is right"
            what = f"it holds more than {self.most / GIGABYTE:,.2g} GB, {self.why}"
            raise InputError(what, cure=cure, where=self.where)

    def array(self) -> Bytes:
        """Give all of it."""
        return np.frombuffer(self.content, np.uint8)


def limited(where: str, max_unpacked: float | None, packed: int | None = None) -> Unpacked:
    """Begin to gather: up to what was said, else to what the packed size and the free memory allow.

    Args:
        where: the file.
        max_unpacked: gigabytes, or None.
        packed: bytes of the packed file; None for what is not packed.
    """
    if max_unpacked is not None:
        return Unpacked(where, int(max_unpacked * GIGABYTE), "as max_unpacked says")
    half = available_memory() // 2
    if packed is not None and max(RATIO * packed, SMALL) < half:
        words = f"{RATIO} times its packed size" if RATIO * packed > SMALL else "though it is small when packed"
        return Unpacked(where, max(RATIO * packed, SMALL), words)
    return Unpacked(where, half, "half of the free memory")


def packing_of(head: bytes) -> str:
    """Name how a file is packed, by its first bytes: "gzip", "zstd", "zip", or "" where it is not."""
    names = {GZIP: "gzip", ZSTD: "zstd", ZIP: "zip", EMPTY_ZIP: "zip"}
    return next((name for magic, name in names.items() if head.startswith(magic)), "")


def unpack(raw: Bytes, packing: str, where: str, max_unpacked: float | None) -> Bytes:
    """Unpack a gzip or Zstandard file."""
    out = limited(where, max_unpacked, raw.size)
    try:
        (_unpack_gzip if packing == "gzip" else _unpack_zstd)(raw, out)
    except (EOFError, zlib.error, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(packing, error, where) from None
    return out.array()


def damaged(packing: str, error: object, where: str) -> InputError:
    """Make the error about a packed file that cannot be unpacked."""
    cure = "fetch or copy it again"
    return InputError(f"the {packing} file is cut off or damaged ({error})", cure=cure, where=where)


def _unpack_gzip(raw: Bytes, out: Unpacked) -> None:
    view, at = raw.data, 0
    while at < raw.size:  # a file may hold several members
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            piece: bytes | memoryview = member.unconsumed_tail
            if not piece:
                piece = view[at : at + PIECE]
                at += len(piece)
            unpacked = member.decompress(piece, PIECE)
            if not unpacked and not len(piece) and not member.eof:
                raise EOFError("its end is missing")
            out.add(unpacked)
        at -= len(member.unused_data)
        rest = raw[at:]
        if rest.size and rest[0] == 0:  # padding
            at += int(np.argmax(rest != 0)) if rest.any() else rest.size
        if at < raw.size and raw[at : at + 2].tobytes() != GZIP:
            raise ValueError("something else follows")


def _unpack_zstd(raw: Bytes, out: Unpacked) -> None:
    import zstandard

    at, frame = 0, zstandard.ZstdDecompressor().decompressobj()
    try:
        while at < raw.size:
            piece = raw[at : at + ZSTD_PIECE].tobytes()
            at += len(piece)
            out.add(frame.decompress(piece))
            if frame.eof:  # a file may hold several frames
                at -= len(frame.unused_data)
                if at < raw.size:
                    frame = zstandard.ZstdDecompressor().decompressobj()
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if not frame.eof:
        raise ValueError("the last frame is not complete")


# -- zip --------------------------------------------------------------------------------------------------------------


def is_workbook(raw: Bytes) -> bool:
    """Tell a workbook, such as .xlsx, .xlsb, .xls and .ods, from other files."""
    head = raw[:80].tobytes()
    if head.startswith(OLE):
        return True
    if not head.startswith(ZIP):
        return False
    if b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet" in head:
        return True
    try:
        with zipfile.ZipFile(_ArrayFile(raw)) as archive:
            return any(name in SHEETS for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def check_workbook(raw: Bytes, where: str, max_unpacked: float | None) -> None:
    """Refuse a workbook that says it unpacks to more than is allowed."""
    if not raw[:4].tobytes().startswith(ZIP):
        return
    with zipfile.ZipFile(_ArrayFile(raw)) as archive:
        size = sum(one.file_size for one in archive.infolist())
    limited(where, max_unpacked, raw.size).check(size)


def unpack_zip(raw: Bytes, member: str | None, where: str, max_unpacked: float | None) -> tuple[Bytes, str]:
    """Unpack one member of a zip file, the only one where none is named; give its content and its name."""
    try:
        with zipfile.ZipFile(_ArrayFile(raw)) as archive:
            files = [one for one in archive.infolist() if not one.is_dir() and not _is_clutter(one.filename)]
            wanted = _wanted(files, member, where)
            if wanted.flag_bits & ENCRYPTED:
                cure = "unpack it with its password, and read what comes out"
                raise InputError("the zip file is encrypted", cure=cure, where=where)
            out = limited(where, max_unpacked, max(1, wanted.compress_size))
            with archive.open(wanted) as packed:
                while piece := packed.read(PIECE):
                    out.add(piece)
            return out.array(), wanted.filename
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise damaged("zip", error, where) from None


def _is_clutter(name: str) -> bool:
    return name.startswith(NO_FILES[0]) or name.endswith(NO_FILES[1])


def _wanted(files: Sequence[zipfile.ZipInfo], member: str | None, where: str) -> zipfile.ZipInfo:
    names = [one.filename for one in files]
    if member is not None and member in names:
        return files[names.index(member)]
    if not files:
        raise InputError("there is no file in the zip file", expected="one file of events", where=where)
    if member is not None:
        raise InputError("there is no such file in the zip file", expected=listing(names), found=member, where=where)
    if len(files) > 1:
        cure = f"name one of them: {where}/{names[0]}"
        raise InputError(
            f"{len(files):,} files in the zip file", expected="one", found=listing(names), cure=cure, where=where
        )
    return files[0]


class _ArrayFile(io.RawIOBase):
    """Read bytes that are in memory, or mapped into it, as a file, without a copy."""

    def __init__(self, data: Bytes) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._data.size}[whence]
        if start + offset < 0:
            raise OSError("before the start")
        self._at = start + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        stop = self._data.size if size is None or size < 0 else self._at + size
        piece = self._data[self._at : stop].tobytes()
        self._at += len(piece)
        return piece
