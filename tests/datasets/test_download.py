"""Files are fetched whole and checked, whatever the connection breaks off and the server makes up."""

import gzip
import io
import socket
import sys
import threading
from dataclasses import replace

import pooch
import pytest
from website import CONTENT, PACKED, Site, checksum, dataset, kept, refused

from tadge import datasets
from tadge.datasets import download
from tadge.errors import DatasetError

pytestmark = pytest.mark.usefixtures("cache")


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


def again(handler, body: bytes) -> None:
    handler.answer(200, body, Content_Length=len(body))


def cut_at(site: Site, page: str, size: int, then=again, **headers) -> str:
    """Serve `size` bytes and hang up; answer later requests by `then`."""

    def answer(handler):
        if len(site.requests) == 1:
            handler.answer(200, PACKED[:size], Content_Length=len(PACKED), **headers)
        else:
            then(handler, PACKED)

    site.pages[page] = answer
    return site.url(page)


def test_a_cut_download_is_tried_again(site, cache):
    assert datasets.get(dataset(cut_at(site, "/toy", 100_000))).read_bytes() == PACKED
    assert len(site.requests) == 2
    assert kept(cache) == ["toy.csv.gz"]


def test_a_cut_in_chunked_transfer_is_tried_again(site):
    def answer(handler):
        if len(site.requests) > 1:
            again(handler, PACKED)
            return
        handler.protocol_version = "HTTP/1.1"
        handler.answer(200, b"186a0\r\n" + PACKED[:50_000], Transfer_Encoding="chunked")
        handler.close_connection = True

    site.pages["/toy"] = answer
    assert datasets.get(dataset(site.url("/toy"))).read_bytes() == PACKED


def test_cut_again_and_again(site, cache):
    url = site.url("/toy")
    site.pages["/toy"] = lambda handler: handler.answer(200, PACKED[:70_000], Content_Length=len(PACKED))
    message = refused(dataset(url), "was cut after 65,536 bytes")  # whole chunks
    assert len(site.requests) == 1 + download.RETRIES
    assert "run `tadge datasets get toy` again, or fetch" in message
    assert kept(cache) == []
    site.serve("/toy", PACKED)
    assert datasets.get(dataset(url)).read_bytes() == PACKED
    assert kept(cache) == ["toy.csv.gz"]


def test_a_server_that_is_away_for_a_moment(site):
    def then(handler, body):
        if len(site.requests) > 2:
            again(handler, body)

    assert datasets.get(dataset(cut_at(site, "/toy", 70_000, then=then))).read_bytes() == PACKED
    assert len(site.requests) == 3


def test_interrupted_by_hand(site, cache, monkeypatch):
    toy = dataset(site.serve("/toy", PACKED))

    def interrupt(sink, chunk):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(download._Sink, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            datasets.get(toy)
    assert kept(cache) == []
    assert datasets.get(toy).read_bytes() == PACKED


def test_what_killed_work_has_left_goes(site, cache):
    (cache / ".toy.csv.gz.part").mkdir(parents=True)
    (cache / ".toy.csv.gz.part" / "tmpx").write_bytes(b"left")
    assert datasets.get(dataset(site.serve("/toy", PACKED))).read_bytes() == PACKED
    assert kept(cache) == ["toy.csv.gz"]


def test_a_page_for_visitors(site, cache):
    toy = dataset(site.serve("/toy", b"<html>please sign in</html>"), transported=checksum(PACKED))
    refused(toy, "found a download of 27 bytes")
    assert kept(cache) == []


def test_pooch_keeps_quiet_and_its_level(site, capfd):
    level = pooch.get_logger().level
    datasets.get(dataset(site.serve("/toy", PACKED)))
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == level


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
    monkeypatch.setattr(download, "TIMEOUT", 0.05)
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
    refused(toy, f"found a download that goes on after {toy.file.most_bytes:,} bytes")
    assert bytes_read[0] <= toy.file.most_bytes + download.CHUNK_BYTES
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
    refused(dataset(redirect(site, "/toy", target.format(secret))), "cannot be (fetched|reached)")
    assert kept(cache) == []


def test_an_address_off_the_web(tmp_path):
    (tmp_path / "toy.csv.gz").write_bytes(PACKED)
    refused(dataset(f"file://{tmp_path}/toy.csv.gz"), "cannot be fetched .No connection adapters were found")


def test_redirect_in_a_circle(site):
    refused(dataset(redirect(site, "/toy", "/toy")), "cannot be fetched .Exceeded 30 redirects")
    assert len(site.requests) == 31


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
