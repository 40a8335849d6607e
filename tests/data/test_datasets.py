"""Data sets are found, fetched and checked; no server and no archive can do harm."""

import errno
import gzip
import hashlib
import http.client
import io
import json
import os
import random
import socket
import sys
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tadge.data import datasets
from tadge.data.registry import Checksum, DataFile, Dataset
from tadge.errors import DatasetError

CONTENT = random.Random(1).randbytes(300_000)  # does not get smaller
PACKED = gzip.compress(CONTENT, mtime=0)


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
                self.wfile.write(body)
                site.sent += len(body)

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


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("TADGE_DATA", raising=False)
    monkeypatch.setattr(datasets, "RETRY_WAIT", 0.0)
    monkeypatch.setattr(datasets, "TIMEOUT", 5.0)
    return tmp_path / "cache" / "tadge" / "datasets"


@pytest.fixture
def bytes_read(monkeypatch):
    """Count the bytes that are read from responses."""
    counted, read1 = [0], http.client.HTTPResponse.read1

    def read(response, size=-1):
        chunk = read1(response, size)
        counted[0] += len(chunk)
        return chunk

    monkeypatch.setattr(http.client.HTTPResponse, "read1", read)
    return counted


def kept(cache: Path) -> list[str]:
    return sorted(each.name for each in cache.iterdir() if not each.name.endswith(".lock"))


def refused(what, match: str) -> str:
    with pytest.raises(DatasetError, match=match) as caught:
        datasets.get(what)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- a good day -------------------------------------------------------------------------------------------------------


def test_get_then_no_more_requests(site, cache):
    toy = dataset(site.serve("/toy", PACKED))
    place = datasets.get(toy)
    assert place == cache / "toy.csv.gz"
    assert place.read_bytes() == PACKED
    assert kept(cache) == ["toy.csv.gz"]
    assert site.requests[0][1]["User-Agent"].startswith("tadge/0")
    assert "Range" not in site.requests[0][1]
    assert datasets.get(toy) == datasets.path(toy) == place
    assert len(site.requests) == 1


def test_a_file_known_as_transported(site, cache):
    toy = dataset(site.serve("/toy", PACKED), content=b"", transported=checksum(PACKED))
    toy = replace(toy, file=replace(toy.file, content=None))
    assert datasets.get(toy).read_bytes() == PACKED
    (cache / "toy.csv.gz").write_bytes(gzip.compress(CONTENT, compresslevel=1, mtime=0))
    with pytest.raises(DatasetError, match=r"toy\.csv\.gz with"):
        datasets.path(toy)


def test_a_plain_file_in_chunks(site, cache):
    def chunked(handler):
        handler.protocol_version = "HTTP/1.1"
        handler.answer(200, Transfer_Encoding="chunked")
        for start in range(0, len(CONTENT), 100_000):
            handler.put(b"186a0\r\n" + CONTENT[start : start + 100_000] + b"\r\n")
        handler.put(b"0\r\n\r\n")

    site.pages["/toy"] = chunked
    place = datasets.get(dataset(site.url("/toy"), name="toy.csv", published="toy.csv"))
    assert place.read_bytes() == CONTENT


def test_a_broken_file_in_the_cache_is_fetched_again(site, cache):
    cache.mkdir(parents=True)
    (cache / "toy.csv.gz").write_bytes(PACKED[:1000])
    assert datasets.get(dataset(site.serve("/toy", PACKED))).read_bytes() == PACKED


def test_two_at_once_fetch_once(site, cache):
    toy = dataset(site.serve("/toy", PACKED))
    threads = [threading.Thread(target=datasets.get, args=(toy,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.requests) == 1
    assert kept(cache) == ["toy.csv.gz"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "progress", "shown"), [(Terminal, True, True), (Terminal, False, False), (io.StringIO, True, False)]
)
def test_progress_bar(site, monkeypatch, stream, progress, shown):
    toy, stderr = dataset(site.serve("/toy", PACKED)), stream()
    monkeypatch.setattr(sys, "stderr", stderr)
    datasets.get(toy, progress=progress)
    assert ("toy" in stderr.getvalue()) == shown
    assert shown or not stderr.getvalue()


# -- connections that break -------------------------------------------------------------------------------------------


def ranged(handler, body: bytes, **headers) -> None:
    start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
    span = f"bytes {start}-{len(body) - 1}/{len(body)}"
    handler.answer(206, body[start:], Content_Length=len(body) - start, Content_Range=span, **headers)


def cut_at(site: Site, page: str, size: int, then=ranged, **headers) -> str:
    """Serve `size` bytes and hang up; answer later requests by `then`."""

    def answer(handler):
        if len(site.requests) == 1:
            handler.answer(200, PACKED[:size], Content_Length=len(PACKED), **headers)
        else:
            then(handler, PACKED)

    site.pages[page] = answer
    return site.url(page)


def test_a_cut_download_goes_on(site, cache):
    url = cut_at(site, "/toy", 100_000, ETag='"v1"')
    assert datasets.get(dataset(url)).read_bytes() == PACKED
    _, second = site.requests
    assert second[1]["Range"] == "bytes=100000-"
    assert second[1]["If-Range"] == '"v1"'
    assert site.sent == len(PACKED)
    assert kept(cache) == ["toy.csv.gz"]


def test_a_cut_in_chunked_transfer_goes_on(site):
    def answer(handler):
        if len(site.requests) > 1:
            ranged(handler, PACKED)
            return
        handler.protocol_version = "HTTP/1.1"
        handler.answer(200, b"186a0\r\n" + PACKED[:50_000], Transfer_Encoding="chunked")
        handler.close_connection = True

    site.pages["/toy"] = answer
    assert datasets.get(dataset(site.url("/toy"))).read_bytes() == PACKED
    assert site.requests[1][1]["Range"] == "bytes=50000-"


def test_a_weak_version_is_not_sent_back(site):
    datasets.get(dataset(cut_at(site, "/toy", 1000, ETag='W/"v1"')))
    assert "If-Range" not in site.requests[1][1]


def test_a_server_that_ignores_range(site):
    url = cut_at(site, "/toy", 100_000, then=lambda handler, body: handler.answer(200, body, Content_Length=len(body)))
    assert datasets.get(dataset(url)).read_bytes() == PACKED
    assert site.sent == 100_000 + len(PACKED)


@pytest.mark.parametrize("span", ["bytes 5-9/10", "nonsense", f"bytes {'9' * 5000}-/*"])
def test_a_server_that_sends_another_part(site, span):
    def then(handler, body):
        if "Range" in handler.headers:
            handler.answer(206, b"wrong", Content_Length=5, Content_Range=span)
        else:
            handler.answer(200, body, Content_Length=len(body))

    assert datasets.get(dataset(cut_at(site, "/toy", 1000, then=then))).read_bytes() == PACKED
    assert len(site.requests) == 3


def test_a_server_that_has_no_more(site):
    def then(handler, body):
        if "Range" in handler.headers:
            handler.answer(416, Content_Length=0)
        else:
            handler.answer(200, body, Content_Length=len(body))

    assert datasets.get(dataset(cut_at(site, "/toy", 1000, then=then))).read_bytes() == PACKED


def test_cut_again_and_again_then_go_on_later(site, cache):
    url = site.url("/toy")
    site.pages["/toy"] = lambda handler: handler.answer(200, PACKED[:70_000], Content_Length=len(PACKED))
    message = refused(dataset(url), "was cut after 70,000 bytes")
    assert len(site.requests) == datasets.ATTEMPTS
    assert "run `tadge datasets get toy` again to go on from there" in message
    assert kept(cache) == ["toy.csv.gz.part", "toy.csv.gz.part.json"]
    site.pages["/toy"] = lambda handler: ranged(handler, PACKED)
    assert datasets.get(dataset(url)).read_bytes() == PACKED
    assert site.requests[-1][1]["Range"] == "bytes=70000-"
    assert kept(cache) == ["toy.csv.gz"]


def test_a_server_that_is_away_for_a_moment(site):
    def then(handler, body):
        if len(site.requests) > 2:
            ranged(handler, body)

    assert datasets.get(dataset(cut_at(site, "/toy", 1000, then=then))).read_bytes() == PACKED
    assert len(site.requests) == 3


@pytest.mark.parametrize("memo", ["", "{}", "[]", "7", '{"url": "http://x/"}', "\x00"])
def test_a_damaged_memo_means_starting_again(site, cache, memo):
    cache.mkdir(parents=True)
    (cache / "toy.csv.gz.part").write_bytes(b"damaged")
    (cache / "toy.csv.gz.part.json").write_text(memo)
    assert datasets.get(dataset(site.serve("/toy", PACKED))).read_bytes() == PACKED
    assert kept(cache) == ["toy.csv.gz"]


def test_interrupted_by_hand_then_go_on(site, cache, monkeypatch):
    toy, read1 = dataset(site.serve("/toy", PACKED)), http.client.HTTPResponse.read1

    def interrupt(response, size):
        if (cache / "toy.csv.gz.part").stat().st_size:
            raise KeyboardInterrupt
        return read1(response, size)

    with monkeypatch.context() as patch:
        patch.setattr(http.client.HTTPResponse, "read1", interrupt)
        patch.setattr(datasets, "CHUNK", 200_000)
        with pytest.raises(KeyboardInterrupt):
            datasets.get(toy)
    assert (cache / "toy.csv.gz.part").stat().st_size
    site.pages["/toy"] = lambda handler: ranged(handler, PACKED)
    assert datasets.get(toy).read_bytes() == PACKED


def test_a_part_of_another_address_is_not_used(site, cache):
    refused(dataset(cut_at(site, "/old", 1000, then=lambda handler, body: handler.answer(404))), "HTTP status 404")
    assert "toy.csv.gz.part" in kept(cache)
    assert datasets.get(dataset(site.serve("/new", PACKED))).read_bytes() == PACKED
    assert "Range" not in site.requests[-1][1]


def test_a_page_for_visitors_does_not_cost_the_part(site, cache):
    toy = dataset(
        cut_at(site, "/toy", 1000, then=lambda handler, body: handler.answer(404)), transported=checksum(PACKED)
    )
    refused(toy, "HTTP status 404")
    site.serve("/toy", b"<html>please sign in</html>")
    refused(toy, "found a download of 27 bytes")
    assert (cache / "toy.csv.gz.part").stat().st_size == 1000


def test_no_server(cache):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/toy"
    message = refused(dataset(url), "cannot be reached .Connection refused")
    for part in (url, "https://example.org/toy.html", f"put it at {cache / 'toy.csv.gz'}", "TADGE_DATA"):
        assert part in message


def test_no_network(monkeypatch):
    def fail(*args, **options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    refused(dataset("https://nowhere.invalid/toy"), "cannot be reached .Name or service not known.; fetch .* by hand")


def test_a_silent_server(site, monkeypatch):
    monkeypatch.setattr(datasets, "TIMEOUT", 0.05)
    done = threading.Event()
    site.pages["/toy"] = lambda handler: done.wait(5)
    refused(dataset(site.url("/toy")), "cannot be reached .*timed out")
    done.set()


@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_a_server_that_says_no(site, cache, status):
    site.pages["/toy"] = lambda handler: handler.answer(status, b"no", Content_Length=2)
    refused(dataset(site.url("/toy")), f"HTTP status {status}; fetch .* by hand")
    assert kept(cache) == []


# -- servers that lie -------------------------------------------------------------------------------------------------


def test_wrong_checksum(site, cache):
    other = gzip.compress(CONTENT[:-1] + b"!", mtime=0)
    message = refused(dataset(site.serve("/toy", other)), "not the file that we know")
    assert f"expected content of 300,000 bytes, sha256 {checksum(CONTENT).sha256}" in message
    assert f"found 300,000 bytes, sha256 {checksum(CONTENT[:-1] + b'!').sha256}" in message
    assert kept(cache) == []


@pytest.mark.parametrize("exact", [True, False])
def test_endless_body(site, cache, bytes_read, exact):
    def endless(handler):
        handler.answer(200)
        while True:
            handler.put(bytes(10_000))

    site.pages["/toy"] = endless
    toy = dataset(site.url("/toy"), transported=checksum(PACKED) if exact else None)
    refused(toy, "found a broken gzip stream" if exact else "found a download that goes on after 365,836 bytes")
    assert bytes_read[0] <= toy.file.most_bytes + 1
    assert kept(cache) == []


def test_a_body_that_says_it_is_too_long(site, cache, bytes_read):
    site.pages["/toy"] = lambda handler: handler.answer(200, bytes(1000), Content_Length=10**12)
    refused(dataset(site.url("/toy")), "found a download of 1,000,000,000,000 bytes")
    assert bytes_read[0] == 0


def redirect(site: Site, page: str, target: str, status: int = 302, body: bytes = b"") -> str:
    site.pages[page] = lambda handler: handler.answer(status, body, Location=target)
    return site.url(page)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site, status):
    site.serve("/toy", PACKED)
    redirect(site, "/b", "/toy")
    assert datasets.get(dataset(redirect(site, "/a", "b", status))).read_bytes() == PACKED
    assert [page for page, _ in site.requests] == ["/a", "/b", "/toy"]


@pytest.mark.parametrize(
    "target", ["file://{}", "ftp://127.0.0.1/toy", "data:text/plain,hello", "http://[", "mailto:x"]
)
def test_redirect_off_the_web(site, cache, tmp_path, target):
    secret = tmp_path / "toy.csv.gz"
    secret.write_bytes(PACKED)
    refused(dataset(redirect(site, "/toy", target.format(secret))), "redirects us to .* not http or https")
    assert kept(cache) == []


def test_an_address_off_the_web(tmp_path):
    (tmp_path / "toy.csv.gz").write_bytes(PACKED)
    refused(dataset(f"file://{tmp_path}/toy.csv.gz"), "unknown url type: file")


def test_redirect_in_a_circle(site):
    refused(dataset(redirect(site, "/toy", "/toy")), "redirects us more than 5 times")
    assert len(site.requests) == datasets.MOST_REDIRECTS + 1


def test_redirect_with_an_endless_body(site):
    def endless(handler):
        handler.answer(302, Location="/good")
        while True:
            handler.put(bytes(10_000))

    site.pages["/toy"] = endless
    site.serve("/good", PACKED)
    assert datasets.get(dataset(site.url("/toy"))).read_bytes() == PACKED


def test_gzip_bomb(site, cache):
    bomb = gzip.compress(bytes(50_000_000), mtime=0)
    toy = dataset(site.serve("/toy", bomb), content=b"small")
    assert len(bomb) < toy.file.most_bytes
    refused(toy, "found more than 5 bytes")
    assert kept(cache) == []


@pytest.mark.parametrize("body", [PACKED[:-9], PACKED[:5], b"", b"<html>", PACKED[:100] + bytes(1000) + PACKED[1100:]])
def test_broken_gzip(site, cache, body):
    refused(dataset(site.serve("/toy", body)), "found (a broken gzip|0 bytes)")
    assert kept(cache) == []


# -- archives ---------------------------------------------------------------------------------------------------------

EVENTS, LABELS = b"1 2 0.5\n" * 1000, b"1 0\n2 1\n"


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


GOOD = {"toy.txt": EVENTS.replace(b"\n", b"\r\n"), "labels.txt": LABELS}


def everything(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file() and each.suffix != ".lock"}


def test_archive(site, cache):
    toy = archive(site.serve("/toy.zip", zipped(GOOD)))
    place = datasets.get(toy)
    assert gzip.decompress(place.read_bytes()) == EVENTS
    assert place.read_bytes()[4:8] == bytes(4)  # no time of writing: the same bytes every time
    assert kept(cache) == ["toy-labels.txt.gz", "toy.txt.gz"]
    assert len(site.requests) == 1
    assert datasets.labels(toy) == ([1, 2], ["0", "1"])


def test_archive_put_by_hand(site, cache):
    toy = archive(site.url("/toy.zip"))
    site.pages["/toy.zip"] = lambda handler: handler.answer(404)
    assert f"put it at {cache / 'toy.zip'}" in refused(toy, "HTTP status 404")
    (cache / "toy.zip").write_bytes(zipped(GOOD))
    assert datasets.get(toy) == cache / "toy.txt.gz"
    assert len(site.requests) == 1
    assert "toy.zip" in kept(cache)


def link(name: str, target: str) -> dict[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return {info: target.encode()}


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/tmp/tadge-evil.txt", "..\\evil.txt", "C:\\evil.txt", "a/../../evil.txt"]
)
def test_archive_with_hostile_names_besides(site, tmp_path, name):
    toy = archive(site.serve("/toy.zip", zipped({name: b"evil", **link("link", "/etc/passwd"), **GOOD})))
    datasets.get(toy)
    assert everything(tmp_path) == {f"cache/tadge/datasets/{each.name}" for each in toy.files}
    assert not Path("/tmp/tadge-evil.txt").exists()


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({"../toy.txt": EVENTS, "/toy.txt": EVENTS}, "a zip archive without toy.txt"),
        (link("toy.txt", "/etc/passwd"), "toy.txt of 11 bytes"),
        ({"toy.txt": bytes(100_000_000)}, "toy.txt of more than 8,000 bytes"),
        ({"toy.txt": b"\r\n" * 50_000_000}, "toy.txt of more than 8,000 bytes"),
        ({"toy.txt": b"1 2 0.5\n"}, "toy.txt of 8 bytes"),
        ({"toy.txt/": b""}, "a zip archive without toy.txt"),
    ],
)
def test_hostile_archive(site, cache, tmp_path, members, found):
    toy = archive(site.serve("/toy.zip", zipped(members)))
    message = refused(toy, "not the file that we know")
    assert f"found {found}" in message
    assert everything(tmp_path) == set()


HEAD = b"\x14\x00\x00\x00\x08\x00"  # version, flags and method, as they stand twice for every member


@pytest.mark.parametrize(
    "body",
    [
        b"not a zip",
        zipped(GOOD)[:-30],
        zipped(GOOD).replace(b"PK\x03\x04", b"PK\x03\x05"),
        zipped(GOOD).replace(HEAD, b"\x14\x00\x01\x00\x08\x00"),  # said to be encrypted
        zipped(GOOD)
        .replace(HEAD, b"\x14\x00\x00\x08\x08\x00")
        .replace(b"labels", b"\xff\xfe\xfd\xff\xff\xff"),  # not UTF-8
        zipped(GOOD).replace(HEAD, b"\x14\x00\x00\x00\x61\x00"),  # an unknown method
        zipped(GOOD, zipfile.ZIP_LZMA),
    ],
    ids=["text", "cut", "no-head", "encrypted", "names", "method", "lzma"],
)
def test_broken_archive(site, tmp_path, body):
    refused(archive(site.serve("/toy.zip", body)), "found a broken zip archive")
    assert everything(tmp_path) == set()


# -- disks and folders ------------------------------------------------------------------------------------------------


def test_a_cache_that_cannot_be(site, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    refused(dataset(site.serve("/toy", PACKED)), "cannot be written .* XDG_CACHE_HOME")
    refused(archive(site.serve("/toy.zip", zipped(GOOD))), "cannot be written .* XDG_CACHE_HOME")


@pytest.mark.parametrize("kind", ["file", "archive"])
def test_a_full_disk(site, cache, monkeypatch, kind):
    toy = dataset(site.serve("/toy", PACKED)) if kind == "file" else archive(site.serve("/toy.zip", zipped(GOOD)))
    real, calls = os.fsync, []

    def fail(handle):
        calls.append(handle)
        if kind == "file" or len(calls) > 1:  # an archive: when it is unpacked
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        refused(toy, "cannot be written .*No space left on device")
    assert kept(cache) == [f"{toy.file.fetched_as}.part", f"{toy.file.fetched_as}.part.json"]


def test_path_without_the_file(cache):
    with pytest.raises(DatasetError, match="run `tadge datasets get toy`, or fetch http://x/y by hand") as caught:
        datasets.path(dataset("http://x/y"))
    assert str(cache / "toy.csv.gz") in str(caught.value)


def test_as_dict(site):
    toy = dataset(site.serve("/toy", PACKED))
    row = datasets.as_dict(toy)
    assert row["path"] is None
    assert json.loads(json.dumps(row))["file"]["content"]["size"] == len(CONTENT)
    assert datasets.get(toy) == Path(datasets.as_dict(toy)["path"])
    assert datasets.as_dict("transaction")["paper_name"] == "Transaction"


@pytest.mark.parametrize("name", ["toy.csv.gz", "published.csv.gz", "toy.csv", "published.csv"])
def test_tadge_data_comes_first(site, cache, tmp_path, monkeypatch, name):
    toy = dataset(site.serve("/toy", PACKED))
    datasets.get(toy)
    monkeypatch.setenv("TADGE_DATA", str(tmp_path / "mine"))
    (tmp_path / "mine").mkdir()
    assert datasets.path(toy) == cache / "toy.csv.gz"
    packed = gzip.compress(CONTENT, compresslevel=1)  # packed in another way, it is the same
    (tmp_path / "mine" / name).write_bytes(packed if name.endswith(".gz") else CONTENT)
    assert datasets.path(toy) == datasets.get(toy) == tmp_path / "mine" / name
    (tmp_path / "mine" / name).write_bytes(b"damaged")
    assert datasets.path(toy) == cache / "toy.csv.gz"
    (cache / "toy.csv.gz").unlink()
    with pytest.raises(DatasetError, match=f"found {tmp_path}/mine/{name} with"):
        datasets.path(toy)


def test_tadge_data_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TADGE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="TADGE_DATA: not a folder to read from"):
        datasets.path("bitcoin-otc")


def test_brought_by_hand_only(cache):
    wikipedia = datasets.find("jodie-wikipedia")
    message = refused("jodie-wikipedia", "must be brought by hand")
    for part in (
        "first four columns",
        wikipedia.file.content.sha256,
        str(cache / "jodie-wikipedia.csv.gz"),
        "TADGE_DATA",
    ):
        assert part in message
    (cache / "wikipedia.csv").write_bytes(bytes(4_000_000))
    refused("jodie-wikipedia", "found .*wikipedia.csv with more than 3,149,536 bytes")
    with pytest.raises(
        DatasetError, match=r"not on this machine; found .*; bring jodie-wikipedia\.csv\.gz, packed or not, by hand"
    ):
        datasets.path("jodie-wikipedia")


# -- labels -----------------------------------------------------------------------------------------------------------


def labelled(cache: Path, rule: str, rows: str, **reader) -> Dataset:
    toy = dataset(None, rows.encode())
    cache.mkdir(parents=True)
    (cache / "toy.csv").write_text(rows)
    return replace(toy, labels=rule, reader={**toy.reader, **reader})


def test_labels_by_mean_rating(cache):
    rows = "1,10,0,-3\n2,10,0,3\n1,9,0,1\n2,9,0,2\n1,8,0,1.6\n1,7,0,0.1\n1,6,0,-1\n"
    ids, labels = datasets.labels(labelled(cache, "mean rating", rows))
    assert ids == [6, 7, 8, 9, 10]
    assert labels == ["low", "middle", "high", "middle", "low"]


def test_labels_by_mean_sentiment(cache):
    rows = 'SRC\tDST\tPOST\tTIME\tSENTIMENT\tMORE\na\tb\tx\t0\t1\t1,2\nb\t"c\ty\t0\t-1\t1,2\na\t7\tz\t0\t1\t3,4\n'
    toy = labelled(cache, "mean sentiment", rows, time=3, weight=4, header=True, delimiter="\t")
    ids, labels = datasets.labels(toy)
    assert ids == ['"c', "7", "a", "b"]
    assert labels == ["negative", "positive", "positive", "negative"]


def test_no_labels():
    with pytest.raises(DatasetError, match="college-msg: has no node labels; expected one of bitcoin-otc, reddit"):
        datasets.labels("college-msg")


def test_labels_without_the_file():
    with pytest.raises(DatasetError, match="tadge datasets get htne-dblp"):
        datasets.labels("htne-dblp")


@pytest.fixture
def real(data_dir, cache, monkeypatch):
    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    return data_dir


def needs(folder: Path, file: DataFile) -> None:
    if not any((folder / name).exists() for name in file.accepted_names):
        pytest.skip(f"{file.name} is not in the data folder")


def test_real_labels_of_bitcoin_otc(real):
    needs(real, datasets.find("bitcoin-otc").file)
    ids, labels = datasets.labels("bitcoin-otc")
    assert len(ids) == len(set(ids)) == 5_858
    shares = [round(100 * labels.count(grade) / len(labels), 1) for grade in ("low", "middle", "high")]
    assert shares == [14.5, 57.4, 28.1]
    assert len(set(labels)) == datasets.find("bitcoin-otc").classes


def test_real_labels_of_htne_dblp(real):
    needs(real, datasets.find("htne-dblp").labels_file)
    ids, labels = datasets.labels("htne-dblp")
    assert len(set(ids)) == len(labels) == 25_387
    assert set(labels) == set("0123456789")
