"""Fetch one file over the network, whatever the connection and the server do."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from importlib.metadata import version
from urllib import request as web
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit

from tadge.datasets.places import by_hand, cache_folder, refusal, search
from tadge.datasets.registry import DataFile, Dataset
from tadge.errors import DatasetError

ATTEMPTS = 4  # requests for one file before we give up
RETRY_WAIT = 1.0  # seconds, times the number of attempts so far
TIMEOUT = 30.0  # seconds without a byte
MOST_REDIRECTS = 5
CHUNK = 2**16

Report = Callable[[int, int | None], None]  # bytes so far, bytes in all where known


@contextmanager
def progress_bar(title: str, wanted: bool, in_bytes: bool = True) -> Iterator[Report]:
    """Show a progress bar where it is wanted and standard error is a terminal; give the function to report to.

    Args:
        title: what is under way.
        wanted: whether to show anything.
        in_bytes: count bytes and show their speed; else count things.
    """
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich import progress as rich
    from rich.console import Console

    counts = (rich.DownloadColumn(), rich.TransferSpeedColumn()) if in_bytes else (rich.MofNCompleteColumn(),)
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), *counts, rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _CutError(Exception):
    """Say that the connection failed; `reached` tells whether the server had answered."""

    def __init__(self, error: Exception | str, reached: bool) -> None:
        reason = error.reason if isinstance(error, URLError) else error
        super().__init__(getattr(reason, "strerror", None) or str(reason) or type(reason).__name__)
        self.reached = reached


@dataclass
class Transfer:
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
        """Remove what was fetched so far."""
        self.part.unlink(missing_ok=True)
        self.memo.unlink(missing_ok=True)

    def failure(self, what: str, cure: str = "") -> DatasetError:
        """Make the complaint about a file that did not come."""
        cure, where = cure + by_hand(self.dataset, self.file), f"{self.dataset.name} ({self.url})"
        return DatasetError(what, found=search(self.file)[1], cure=cure, where=where)

    def run(self) -> None:
        """Ask for the file until it is whole, or until we give up."""
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
        """Give the address that the server sends us to; refuse any other answer."""
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
            raise refusal(self.dataset, self.file, f"a download of {total:,} bytes", self.url)
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
            raise refusal(self.dataset, self.file, f"a download that goes on after {most:,} bytes", self.url)
        if goal is not None and size < goal:
            raise _CutError("the connection was closed", reached=True)

    def read(self, response: HTTPResponse, size: int) -> bytes:
        """Read what has come, at most `size` bytes."""
        try:
            return response.read1(size) if size else b""
        except (OSError, HTTPException) as error:
            raise _CutError(error, reached=True) from None
