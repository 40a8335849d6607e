"""What the registry says is whole, and true of the files where they are present."""

import io
import itertools
import re
import subprocess
import sys
from urllib.parse import urlsplit

import polars as pl
import pytest

from tadge import datasets
from tadge.datasets.registry import Checksum, DataFile, with_unix_lines
from tadge.errors import ConfigError, DatasetError

NAMES = (
    "bitcoin-otc",
    "reddit-hyperlinks-title",
    "sx-superuser",
    "sx-mathoverflow",
    "sx-askubuntu-a2q",
    "college-msg",
    "jodie-wikipedia",
    "htne-dblp",
)
OPTIONS = {"src", "dst", "time", "weight", "unit", "header", "delimiter", "bipartite", "directed"}
every_dataset = pytest.mark.parametrize("dataset", datasets.list_datasets(), ids=lambda dataset: dataset.name)


def test_names():
    assert tuple(each.name for each in datasets.list_datasets()) == NAMES
    everything = [name.lower() for each in datasets.list_datasets() for name in (each.name, *each.aliases)]
    assert len(set(everything)) == len(everything)


@every_dataset
def test_entry_is_whole(dataset):
    assert urlsplit(dataset.page).scheme == "https"
    assert dataset.title and dataset.citation and dataset.licence
    assert dataset.nodes > 0 and dataset.events > 0
    assert OPTIONS >= set(dataset.reader) >= {"src", "dst", "time", "header", "delimiter", "directed"}
    assert (dataset.labels is None) == (dataset.classes is None)
    assert (dataset.labels == "labels file") == (dataset.labels_file is not None)
    for file in dataset.files:
        assert file.url is None or urlsplit(file.url).scheme == "https"
        assert file.name.startswith(dataset.name)
        for checksum in filter(None, (file.content, file.transported)):
            assert re.fullmatch("[0-9a-f]{64}", checksum.sha256) and checksum.size > 0
    hash(dataset)


def test_what_is_not_known_is_not_there():
    assert datasets.find("sx-superuser").file.content is None
    assert datasets.find("bitcoin-otc").file.transported is None
    assert datasets.find("jodie-wikipedia").file.url is None


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("transaction", "bitcoin-otc"),
        ("Hyperlink", "reddit-hyperlinks-title"),
        ("discussion", "sx-superuser"),
        ("soc-redditHyperlinks-title", "reddit-hyperlinks-title"),
        ("soc-sign-bitcoinotc", "bitcoin-otc"),
        ("CollegeMsg", "college-msg"),
        ("SX-MathOverflow", "sx-mathoverflow"),
    ],
)
def test_find_by_other_names(alias, name):
    assert datasets.is_known(alias)
    assert datasets.find(alias).name == name


def test_find_unknown():
    with pytest.raises(DatasetError, match="did you mean bitcoin-otc") as caught:
        datasets.find("bitcoin-otd")
    assert all(name in str(caught.value) for name in NAMES)
    with pytest.raises(DatasetError, match=r"found 'zzz'$"):
        datasets.find("zzz")
    assert not datasets.is_known("zzz")


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "a\\b", "..", ""])
def test_file_names_have_no_folder(name):
    checksum = Checksum(1, "0" * 64)
    with pytest.raises(ConfigError, match="not the name of a file"):
        DataFile(name=name, published="x", url=None, content=checksum)
    with pytest.raises(ConfigError, match="not the name of a file"):
        DataFile(name="x", published=name, url=None, content=checksum)


def test_a_file_needs_a_checksum():
    with pytest.raises(ConfigError, match="no checksum"):
        DataFile(name="x", published="x", url=None)


def test_accepted_names():
    file = datasets.find("bitcoin-otc").file
    assert file.accepted_names == (
        "bitcoin-otc.csv.gz",
        "soc-sign-bitcoinotc.csv.gz",
        "bitcoin-otc.csv",
        "soc-sign-bitcoinotc.csv",
    )
    assert datasets.find("sx-superuser").file.accepted_names == ("sx-superuser.txt.gz",)
    assert datasets.find("htne-dblp").file.accepted_names == ("htne-dblp.txt.gz", "htne-dblp.txt")


def test_unix_lines_across_chunks():
    chunks = [b"a\r", b"\nb\r\n", b"", b"c\r", b"\r", b"\nd\r"]
    assert b"".join(with_unix_lines(chunks)) == b"a\nb\nc\r\nd\r"


def test_measuring_stops_after_the_limit():
    out = io.BytesIO()
    assert Checksum.of(itertools.repeat(b"x" * 1000), 5_500, out).size == len(out.getvalue()) == 6_000


def test_import_is_cheap():
    script = (
        "import sys, tadge.datasets.fetch\n"
        "heavy = {'numpy', 'polars', 'numba', 'torch', 'rich', 'pandas'} & set(sys.modules)\n"
        "print(*heavy)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@every_dataset
def test_real_files(dataset, data_dir, monkeypatch):
    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    if not any((data_dir / name).exists() for name in dataset.file.accepted_names):
        pytest.skip(f"{dataset.file.name} is not in the data folder")
    place = datasets.path(dataset)  # which checks the content
    assert place.parent == data_dir.absolute()
    reader = dataset.reader
    separator, header = str(reader["delimiter"]), bool(reader["header"])
    rows = pl.read_csv(place, separator=separator, has_header=header, quote_char=None, infer_schema=False, glob=False)
    src, dst = rows.to_series(int(reader["src"])), rows.to_series(int(reader["dst"]))
    nodes = (
        src.n_unique() + dst.n_unique() if reader.get("bipartite") else pl.concat([src.alias("dst"), dst]).n_unique()
    )
    assert (nodes, rows.height) == (dataset.nodes, dataset.events)
