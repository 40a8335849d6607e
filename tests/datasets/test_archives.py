"""Archives give the member that we know, and can do no harm."""

import gzip
import zipfile
from pathlib import Path

import pytest
from website import EVENTS, GOOD, archive, kept, refused, zipped

from tadge import datasets

pytestmark = pytest.mark.usefixtures("cache")


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
