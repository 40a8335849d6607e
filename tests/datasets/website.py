"""A web site on this machine, and toy data sets to fetch from it."""

import gzip
import hashlib
import io
import random
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tadge import datasets
from tadge.datasets.registry import Checksum, DataFile, Dataset
from tadge.errors import DatasetError

CONTENT = random.Random(1).randbytes(300_000)  # does not get smaller
PACKED = gzip.compress(CONTENT, mtime=0)
EVENTS, LABELS = b"1 2 0.5\n" * 1000, b"1 0\n2 1\n"
GOOD = {"toy.txt": EVENTS.replace(b"\n", b"\r\n"), "labels.txt": LABELS}


def checksum(content: bytes) -> Checksum:
    return Checksum(len(content), hashlib.sha256(content).hexdigest())


def dataset(url: str | None, content: bytes = CONTENT, **changes) -> Dataset:
    file = DataFile(name="toy.csv.gz", published="published.csv.gz", url=url, content=checksum(content))
    return Dataset(
        name="toy",
        title="a toy",
        page="https://example.org/toy.html",
        citation="none",
        licence="none",
        nodes=2,
        events=1,
        file=replace(file, **changes),
        reader={"src": 0, "dst": 1, "time": 2, "weight": 3, "header": False, "delimiter": ","},
    )


def zipped(members: dict[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return stream.getvalue()


def archive(url: str) -> Dataset:
    changes = {"published": "toy.zip", "unix_lines": True}
    toy = dataset(url, EVENTS, name="toy.txt.gz", member="toy.txt", **changes)
    labels = replace(toy.file, name="toy-labels.txt.gz", content=checksum(LABELS), member="labels.txt")
    return replace(toy, labels="labels file", labels_file=labels, reader={**toy.reader, "delimiter": " "})


class Site:
    """A web site on this machine: a page is a function of the request handler; requests are written down."""

    def __init__(self) -> None:
        self.pages, self.requests, self.sent = {}, [], 0
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.requests.append((self.path, dict(self.headers)))
                try:
                    site.pages[self.path](self)
                except (ConnectionError, TimeoutError):
                    self.close_connection = True

            def log_message(self, *args):
                pass

            def answer(self, status=200, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), str(value))
                self.end_headers()
                self.put(body)

            def put(self, body):
                site.sent += len(body)  # counted first: the client may be done before this thread goes on
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=partial(self.server.serve_forever, poll_interval=0.01))
        self.thread.start()

    def url(self, page: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}{page}"

    def serve(self, page: str, body: bytes, **headers) -> str:
        self.pages[page] = lambda handler: handler.answer(200, body, Content_Length=len(body), **headers)
        return self.url(page)

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def kept(cache: Path) -> list[str]:
    return sorted(each.name for each in cache.iterdir() if not each.name.endswith(".lock"))


def refused(what, match: str) -> str:
    with pytest.raises(DatasetError, match=match) as caught:
        datasets.get(what)
    assert "\n" not in str(caught.value)
    return str(caught.value)
