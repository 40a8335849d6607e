"""What is known of a data set: where it comes from, how to check it, how to read it; `registry.toml` lists them."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from io import BufferedIOBase
from pathlib import Path, PurePath
from typing import IO, Any, Literal

from tadge.errors import ConfigError, DatasetError

LabelRule = Literal["mean rating", "mean sentiment", "labels file"]

ARCHIVE_ROOM = 16 * 2**20  # an archive of unknown size may hold more than the member we want


@dataclass(frozen=True)
class Checksum:
    """Say how many bytes there are, and their SHA-256.

    Attributes:
        size: number of bytes.
        sha256: 64 hexadecimal digits, lower case.
    """

    size: int
    sha256: str

    @classmethod
    def of(cls, chunks: Iterable[bytes], limit: int, out: BufferedIOBase | None = None) -> Checksum:
        """Measure bytes as they come, and copy them to `out`, but stop soon after the limit."""
        size, digest = 0, hashlib.sha256()
        for chunk in chunks:
            size += len(chunk)
            digest.update(chunk)
            if out is not None:
                out.write(chunk)
            if size > limit:
                break
        return cls(size, digest.hexdigest())

    def __str__(self) -> str:
        return f"{self.size:,} bytes, sha256 {self.sha256}"


def chunks_of(stream: BufferedIOBase | IO[bytes]) -> Iterator[bytes]:
    """Read a stream bit by bit."""
    while chunk := stream.read(2**18):
        yield chunk


def with_unix_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Turn line ends from CRLF to LF."""
    rest = b""
    for chunk in chunks:
        line_bytes = rest + chunk
        rest = b"\r" if line_bytes.endswith(b"\r") else b""
        yield line_bytes.removesuffix(b"\r").replace(b"\r\n", b"\n")
    yield rest


@dataclass(frozen=True)
class DataFile:
    """Describe one file of a data set.

    Attributes:
        name: what we call it; a name that ends in .gz is a gzip file.
        published: what its publisher calls the file that is fetched.
        url: where it is fetched from; None where it has to be brought by hand.
        content: checksum of the content, after decompression and with line ends as they are kept; None if not known.
        transported: checksum of the file as it is fetched; None if not known.
        member: for a zip archive, the member that is the content.
        unix_lines: turn the line ends of the member from CRLF to LF.
    """

    name: str
    published: str
    url: str | None = None
    content: Checksum | None = None
    transported: Checksum | None = None
    member: str | None = None
    unix_lines: bool = False

    def __post_init__(self) -> None:
        for name in (self.name, self.published):
            if PurePath(name).name != name or name in ("", ".", "..") or "\\" in name:
                raise ConfigError("not the name of a file", expected="a name without a folder", found=repr(name))
        if self.content is None and (self.transported is None or self.member is not None):
            raise ConfigError("no checksum", expected="one to check the file by", where=self.name)

    @property
    def known_by(self) -> Checksum:
        """Give the checksum that counts: the content's where it is known."""
        checksum = self.content or self.transported
        assert checksum is not None  # seen to above
        return checksum

    @property
    def expected(self) -> str:
        """Say what the file should be."""
        return f"content of {self.content}" if self.content else f"a file of {self.transported}"

    def fault(self, found: Checksum) -> str | None:
        """Say what was found instead of this file, or None where it is this file."""
        if found == self.known_by:
            return None
        return f"more than {self.known_by.size:,} bytes" if found.size > self.known_by.size else str(found)

    def fault_of(self, place: Path, packed: bool) -> str | None:
        """Say what is wrong with a file on disk, or None; `packed` where it is a gzip file."""
        try:
            with gzip.open(place) if packed and self.content else place.open("rb") as stream:
                return self.fault(Checksum.of(chunks_of(stream), self.known_by.size))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            return f"a broken gzip stream ({error})"
        except OSError as error:
            return f"a file that cannot be read ({error.strerror})"

    @property
    def packed(self) -> bool:
        """Tell whether the file that we keep is a gzip file."""
        return self.name.endswith(".gz")

    @property
    def fetched_as(self) -> str:
        """Name the file that is fetched, or put in place by hand."""
        return self.name if self.member is None else self.published

    @property
    def accepted_names(self) -> tuple[str, ...]:
        """Name the files that may hold the content: ours, the publisher's, and both with and without gzip."""
        names = [self.name] if self.member is not None else [self.name, self.published]
        if self.content is not None:
            names += [name.removesuffix(".gz") if name.endswith(".gz") else f"{name}.gz" for name in names]
        return tuple(dict.fromkeys(names))

    @property
    def most_bytes(self) -> int:
        """Bound the number of bytes that may have to be fetched; gzip adds little to what it cannot make smaller."""
        if self.transported is not None:
            return self.transported.size
        size = 0 if self.content is None else self.content.size
        return size + size // 1000 + 2**16 + (ARCHIVE_ROOM if self.member is not None else 0)


@dataclass(frozen=True)
class Dataset:
    """Describe a data set.

    Attributes:
        name: what we call it.
        title: what it is, in a few words.
        page: the publisher's page about it.
        citation: what to cite.
        licence: what is known about its terms.
        nodes: number of distinct nodes.
        events: number of timed edges.
        file: the events.
        reader: options of `tadge.read_events`; columns count from 0.
        paper_name: what the TADGE paper calls it, or None.
        aliases: other names it is found by.
        labels: how the nodes get their labels, or None where they have none.
        classes: number of distinct labels, or None.
        labels_file: the file with the labels, or None.
        note: what to know before using it.
    """

    name: str
    title: str
    page: str
    citation: str
    licence: str
    nodes: int
    events: int
    file: DataFile
    reader: Mapping[str, int | str | bool] = field(hash=False)
    paper_name: str | None = None
    aliases: tuple[str, ...] = ()
    labels: LabelRule | None = None
    classes: int | None = None
    labels_file: DataFile | None = None
    note: str = ""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """List the files: the events, then the labels where they have a file."""
        return (self.file,) if self.labels_file is None else (self.file, self.labels_file)


def _file(entry: dict[str, Any]) -> DataFile:
    checksums: dict[str, Any] = {key: Checksum(**entry[key]) for key in ("content", "transported") if key in entry}
    return DataFile(**entry | checksums)


def _dataset(entry: dict[str, Any]) -> Dataset:
    parts: dict[str, Any] = {key: _file(entry[key]) for key in ("file", "labels_file") if key in entry}
    return Dataset(**entry | parts | {"aliases": tuple(entry.get("aliases", ()))})


_ENTRIES = tomllib.loads(files("tadge.datasets").joinpath("registry.toml").read_text(encoding="utf-8"))["dataset"]
DATASETS = tuple(_dataset(entry) for entry in _ENTRIES)
_BY_NAME = {name.lower(): dataset for dataset in DATASETS for name in (dataset.name, *dataset.aliases)}


def list_datasets() -> tuple[Dataset, ...]:
    """List the known data sets."""
    return DATASETS


def is_known(name: str) -> bool:
    """Tell whether a name is that of a data set, as in `find`."""
    return name.lower() in _BY_NAME


def find(name: str | Dataset) -> Dataset:
    """Find a data set by its name, the paper's name for it, or its publisher's; a `Dataset` is returned as it is."""
    if isinstance(name, Dataset):
        return name
    if is_known(name):
        return _BY_NAME[name.lower()]
    close = difflib.get_close_matches(name.lower(), _BY_NAME, n=1)
    expected = "one of " + ", ".join(dataset.name for dataset in DATASETS)
    cure = f"did you mean {_BY_NAME[close[0]].name}?" if close else None
    raise DatasetError("unknown data set", expected=expected, found=repr(name), cure=cure)
