"""Find, fetch and check the data sets that tadge knows."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import time
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib import request as web
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit

from tadge.data.atomic import atomic_file, only_one
from tadge.data.registry import Checksum, DataFile, Dataset, chunks_of, find, is_known, list_datasets, with_unix_lines
from tadge.errors import DatasetError, InputError, TadgeError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_dict", "cache_folder", "find", "get", "is_known", "labels", "list_datasets", "path"]

ATTEMPTS = 4  # requests for one file before we give up
RETRY_WAIT = 1.0  # seconds, times the number of attempts so far
TIMEOUT = 30.0  # seconds without a byte
MOST_REDIRECTS = 5
CHUNK = 2**16
GRADES = {  # the ends of an event that its weight counts for; grades by the mean weight, a break included below
    "mean rating": (("dst",), (0.0, 1.5), ("low", "middle", "high")),
    "mean sentiment": (("src", "dst"), (0.0,), ("negative", "positive")),
}

Report = Callable[[int, int | None], None]  # bytes so far, bytes in all where known


def cache_folder() -> Path:
    """Name the folder that data sets are downloaded into."""
    from platformdirs import user_cache_path

    return user_cache_path("tadge", appauthor=False) / "datasets"


def as_dict(name: str | Dataset) -> dict[str, Any]:
    """Give an entry as a plain dictionary, with the `path` of its events (None where they are not on this machine)."""
    dataset = find(name)
    place, _ = _search(dataset.file)
    return {**asdict(dataset), "path": None if place is None else str(place)}


def path(name: str | Dataset) -> Path:
    """Give the path of a data set's events: from the folder TADGE_DATA names, else from the cache; its checksum fits.

    Nothing is downloaded; see `get`.
    """
    dataset = find(name)
    return _path(dataset, dataset.file)


def get(name: str | Dataset, *, progress: bool = True) -> Path:
    """Give the path of a data set's events, after downloading what is not there yet.

    Args:
        name: as in `find`.
        progress: show a progress bar, where standard error is a terminal.
    """
    dataset = find(name)
    places = [_search(file)[0] or _bring(dataset, file, progress) for file in dataset.files]
    return places[0]


def labels(name: str | Dataset) -> tuple[list[int] | list[str], list[str]]:
    """Give the labelled nodes of a data set, in order of id, and the label of each.

    bitcoin-otc: "low", "middle" or "high", by the mean rating a trader received: at most 0, at most 1.5, above.
    reddit-hyperlinks-title: "positive" where the mean sentiment of the links from and to a subreddit is above 0, else
    "negative". htne-dblp: the class, "0" to "9".
    """
    dataset = find(name)
    if dataset.labels is None:
        known = ", ".join(each.name for each in list_datasets() if each.labels)
        raise DatasetError("has no node labels", expected=f"one of {known}", where=dataset.name)
    import polars as pl

    if dataset.labels == "labels file":
        table = _columns(dataset, dataset.files[-1], id=0, label=1)
    else:
        ends, breaks, grades = GRADES[dataset.labels]
        links = _columns(dataset, dataset.file, **{key: dataset.reader[key] for key in (*ends, "weight")})
        table = pl.concat([links.select("weight", id=end) for end in ends])
        table = table.group_by("id").agg(mean=pl.col("weight").cast(pl.Float64).mean())
        table = table.with_columns(label=pl.Series([grades[bisect_left(breaks, mean)] for mean in table["mean"]]))
    numbers = table["id"].cast(pl.Int64, strict=False)
    table = table.with_columns(id=table["id"] if numbers.null_count() else numbers).sort("id")
    return table["id"].to_list(), table["label"].to_list()


def _columns(dataset: Dataset, file: DataFile, **columns: int | str | bool) -> pl.DataFrame:
    """Read some columns, given by number, as texts."""
    import polars as pl

    numbers = {int(number): name for name, number in columns.items()}
    table = pl.read_csv(
        _path(dataset, file),
        columns=sorted(numbers),
        has_header=bool(dataset.reader["header"]) and file is dataset.file,
        separator=str(dataset.reader["delimiter"]),
        quote_char=None,
        infer_schema=False,
        glob=False,
    )
    return table.rename(dict(zip(table.columns, (numbers[number] for number in sorted(numbers)), strict=True)))


# -- looking for a file -----------------------------------------------------------------------------------------------


def _path(dataset: Dataset, file: DataFile) -> Path:
    place, refused = _search(file)
    if place is None:
        fetch = f"run `tadge datasets get {dataset.name}`, or " if file.url else ""
        where, cure = f"{dataset.name} ({file.name})", fetch + _by_hand(dataset, file)
        raise DatasetError("not on this machine", found=refused, cure=cure, where=where)
    return place


def _folders() -> list[Path]:
    named = os.environ.get("TADGE_DATA")
    if not named:
        return [cache_folder()]
    folder = Path(named).expanduser().absolute()
    if not (os.access(folder, os.R_OK | os.X_OK) and folder.is_dir()):
        raise DatasetError(
            "not a folder to read from", found=str(folder), cure="correct or unset it", where="TADGE_DATA"
        )
    return [folder, cache_folder()]


def _search(file: DataFile) -> tuple[Path | None, str | None]:
    """Look for a file with the right checksum; failing that, say what is wrong with one of the right name."""
    refused = None
    for place in (folder / name for folder in _folders() for name in file.accepted_names):
        if place.is_file():
            fault = file.fault_of(place, packed=place.suffix == ".gz")
            if fault is None:
                return place, None
            refused = refused or f"{place} with {fault}"
    return None, refused


def _by_hand(dataset: Dataset, file: DataFile) -> str:
    place = cache_folder() / file.fetched_as
    source = f"fetch {file.url} by hand" if file.url else f"bring {file.name}, packed or not, by hand"
    return f"{source} (see {dataset.page}) and put it at {place} or into a folder that TADGE_DATA names"


# -- bringing a file --------------------------------------------------------------------------------------------------


def _bring(dataset: Dataset, file: DataFile, progress: bool) -> Path:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_one(folder / f".{file.fetched_as}.lock"):
            place, _ = _search(file)  # another process may have brought it while we waited
            if place is None and file.member is not None:
                archive = next(
                    (each / file.fetched_as for each in _folders() if (each / file.fetched_as).is_file()), None
                )
                place = archive and _install(dataset, file, archive, str(archive))
            return place or _download(dataset, file, progress)
    except (OSError, InputError) as error:
        reason = getattr(error, "strerror", None) or error
        cure = "make room and see that you may write there, or name another cache folder by XDG_CACHE_HOME"
        raise DatasetError(f"cannot be written ({reason})", cure=cure, where=str(folder)) from error


def _download(dataset: Dataset, file: DataFile, progress: bool) -> Path:
    if file.url is None:
        what = f"cannot be downloaded, it must be brought by hand ({dataset.note.rstrip('.') or 'there is no address'})"
        found, cure = _search(file)[1], _by_hand(dataset, file)
        raise DatasetError(what, expected=file.expected, found=found, cure=cure, where=dataset.name)
    with _progress_bar(dataset.name, progress) as report:
        transfer = _Transfer(dataset, file, file.url, report)
        transfer.run()
    try:
        place = _install(dataset, file, transfer.part, file.url)
    except DatasetError:
        transfer.forget()
        raise
    transfer.forget()
    return place


def _install(dataset: Dataset, file: DataFile, fetched: Path, source: str) -> Path:
    """Check what was fetched, and give it its place; from an archive, all of the data set's members."""
    target = cache_folder() / file.name
    if file.member is None:
        fault = file.fault_of(fetched, file.packed)
        if fault is not None:
            raise _refusal(dataset, file, fault, source)
        fetched.replace(target)
        return target
    for each in dataset.files:
        if each.fetched_as == file.fetched_as:
            _unpack(dataset, each, fetched, source)
    return target


def _unpack(dataset: Dataset, file: DataFile, archive: Path, source: str) -> None:
    """Write the one member that we want, checked and under our own name, whatever else the archive holds."""
    member = file.member or ""
    try:
        with zipfile.ZipFile(archive) as bundle:
            info = bundle.getinfo(member)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise zipfile.BadZipFile(f"{member} is packed in a way that we do not read")
            with bundle.open(info) as stream, atomic_file(cache_folder() / file.name) as out:
                chunks = with_unix_lines(chunks_of(stream)) if file.unix_lines else chunks_of(stream)
                with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
                    fault = file.fault(Checksum.of(chunks, file.known_by.size, packed))
                if fault is not None:
                    raise _refusal(dataset, file, f"{member} of {fault}", source)
    except TadgeError:
        raise
    except KeyError:
        raise _refusal(dataset, file, f"a zip archive without {member}", source) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise _refusal(dataset, file, f"a broken zip archive ({error})", source) from None


def _refusal(dataset: Dataset, file: DataFile, found: str, source: str) -> DatasetError:
    cure, where = f"try again later, or {_by_hand(dataset, file)}", f"{dataset.name} ({source})"
    return DatasetError("not the file that we know", expected=file.expected, found=found, cure=cure, where=where)


@contextmanager
def _progress_bar(title: str, wanted: bool) -> Iterator[Report]:
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# -- over the network -------------------------------------------------------------------------------------------------


class _CutError(Exception):
    """The connection failed; `reached` tells whether the server had answered."""

    def __init__(self, error: Exception | str, reached: bool) -> None:
        reason = error.reason if isinstance(error, URLError) else error
        super().__init__(getattr(reason, "strerror", None) or str(reason) or type(reason).__name__)
        self.reached = reached


@dataclass
class _Transfer:
    """Fetch one file over http(s) into `part`, going on where an earlier try stopped.

    A small file beside `part` remembers which version (ETag) of which address it belongs to.
    """

    dataset: Dataset
    file: DataFile
    url: str
    report: Report

    def __post_init__(self) -> None:
        self.part = cache_folder() / f"{self.file.fetched_as}.part"
        self.memo = self.part.with_name(f"{self.part.name}.json")

    def forget(self) -> None:
        self.part.unlink(missing_ok=True)
        self.memo.unlink(missing_ok=True)

    def failure(self, what: str, cure: str = "") -> DatasetError:
        cure, where = cure + _by_hand(self.dataset, self.file), f"{self.dataset.name} ({self.url})"
        return DatasetError(what, found=_search(self.file)[1], cure=cure, where=where)

    def run(self) -> None:
        reason = ""
        for attempt in range(ATTEMPTS):
            time.sleep(RETRY_WAIT * attempt)
            try:
                self.once()
                return
            except _CutError as error:
                reason = str(error)
                if not (attempt or error.reached):
                    raise self.failure(f"cannot be reached ({reason})") from None
        size, _ = self.recall()
        cure = f"run `tadge datasets get {self.dataset.name}` again to go on from there, or "
        raise self.failure(f"the download was cut after {size:,} bytes ({reason})", cure)

    def once(self) -> None:
        """Make one request for what is missing."""
        have, etag = self.recall()
        if self.file.transported is not None and have == self.file.transported.size:
            return
        headers = {"User-Agent": f"tadge/{version('tadge')}", "Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-"} | ({"If-Range": etag} if etag else {})
        with self.open(headers) as response:
            given = re.match(r"bytes (\d{1,18})-", response.headers.get("Content-Range") or "")
            if response.status == 206 and (given is None or int(given[1]) != have):
                self.forget()
                raise _CutError("the server sent another part than we asked for", reached=True)
            self.copy(response, have if response.status == 206 else 0)

    def recall(self) -> tuple[int, str | None]:
        """Give the number of bytes that we have already, and the version (ETag) they are of."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            memo, size = json.loads(self.memo.read_text(encoding="utf-8")), self.part.stat().st_size
            if memo["url"] == self.url and size <= self.file.most_bytes:
                return size, memo["etag"]
        self.forget()
        return 0, None

    def open(self, headers: dict[str, str]) -> HTTPResponse:
        """Send the request, and follow redirects."""
        url, opener = self.url, web.OpenerDirector()  # one that knows http and https only
        for name in ("Proxy", "HTTP", "HTTPS", "Unknown", "HTTPDefaultError"):
            opener.add_handler(getattr(web, f"{name}Handler")())
        opener.add_handler(web.HTTPErrorProcessor())
        for _ in range(MOST_REDIRECTS + 1):
            try:
                response: HTTPResponse = opener.open(web.Request(url, headers=headers), timeout=TIMEOUT)
                return response
            except HTTPError as error:
                url = self.next_address(url, error)
            except (OSError, HTTPException, ValueError) as error:
                raise _CutError(error, reached=False) from None
        raise self.failure(f"the server redirects us more than {MOST_REDIRECTS} times")

    def next_address(self, url: str, error: HTTPError) -> str:
        error.close()
        location = error.headers.get("Location")
        if error.code == 416:  # there is nothing after what we have: it is not a part of this file
            self.forget()
            raise _CutError("the server has no more than we have", reached=True)
        if error.code not in (301, 302, 303, 307, 308) or not location:
            raise self.failure(f"the server answered with HTTP status {error.code}")
        with suppress(ValueError):
            url = urljoin(url, location)
            if urlsplit(url).scheme in ("http", "https"):
                return url
        raise self.failure(f"the server redirects us to {location[:80]!r}, which is not http or https")

    def copy(self, response: HTTPResponse, start: int) -> None:
        """Append the body to what we have, but not more than the file can hold."""
        most, size, exact = self.file.most_bytes, start, self.file.transported is not None
        total = None if response.length is None else start + response.length
        if total is not None and (total > most or (exact and total != most)):
            if start:  # what we have is of another version; else it may be good, and this a page for visitors
                self.forget()
            raise _refusal(self.dataset, self.file, f"a download of {total:,} bytes", self.url)
        goal = most if exact else total
        end = most + 1 if goal is None else goal
        with self.part.open("ab" if start else "wb") as out:
            if not start:
                etag = response.headers.get("ETag")  # a weak one does not serve
                memo = {"url": self.url, "etag": None if etag and etag.startswith("W/") else etag}
                self.memo.write_text(json.dumps(memo), encoding="utf-8")
            while chunk := self.read(response, min(CHUNK, end - size)):
                out.write(chunk)
                size += len(chunk)
                self.report(size, goal)
            out.flush()
            os.fsync(out.fileno())
        if size > most:
            self.forget()
            raise _refusal(self.dataset, self.file, f"a download that goes on after {most:,} bytes", self.url)
        if goal is not None and size < goal:
            raise _CutError("the connection was closed", reached=True)

    def read(self, response: HTTPResponse, size: int) -> bytes:
        try:
            return response.read1(size) if size else b""
        except (OSError, HTTPException) as error:
            raise _CutError(error, reached=True) from None
