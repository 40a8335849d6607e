"""Data sets are found, on disks and in folders as they are, and their nodes have the right labels."""

import errno
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from website import CONTENT, GOOD, PACKED, archive, dataset, kept, refused, zipped

from tadge import datasets
from tadge.datasets import download
from tadge.datasets.registry import DataFile, Dataset
from tadge.errors import DatasetError

pytestmark = pytest.mark.usefixtures("cache")


# -- disks and folders ------------------------------------------------------------------------------------------------


def test_a_cache_that_cannot_be(site, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    refused(dataset(site.serve("/toy", PACKED)), "cannot be written .* XDG_CACHE_HOME")
    refused(archive(site.serve("/toy.zip", zipped(GOOD))), "cannot be written .* XDG_CACHE_HOME")


@pytest.mark.parametrize("kind", ["file", "archive"])
def test_a_full_disk(site, cache, monkeypatch, kind):
    toy = dataset(site.serve("/toy", PACKED)) if kind == "file" else archive(site.serve("/toy.zip", zipped(GOOD)))

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        if kind == "file":
            patch.setattr(download._Sink, "write", fail)
        else:  # when it is unpacked
            patch.setattr(os, "fsync", fail)
        refused(toy, "cannot be written .*No space left on device")
    assert kept(cache) == []


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


def test_real_data_are_read_as_the_entry_says(real):
    needs(real, datasets.find("jodie-wikipedia").file)
    graph = datasets.load("jodie-wikipedia", quiet=True)
    assert (graph.num_nodes, graph.num_events, graph.num_sources) == (9227, 157_474, 8227)
    assert graph.time[-1] == 2_678_373 / 86_400
    assert datasets.load("jodie-wikipedia", quiet=True, bipartite=False).num_nodes == 8227
