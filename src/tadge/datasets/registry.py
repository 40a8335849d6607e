"""The data sets that tadge knows: where they come from, how to know them, how to read them."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path, PurePath
from typing import IO, Literal

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
        text = rest + chunk
        rest = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(b"\r").replace(b"\r\n", b"\n")
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
    url: str | None
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


_SNAP = "https://snap.stanford.edu/data/"
_SNAP_TERMS = "No licence statement known; SNAP asks that the papers be cited."
_STACK_EXCHANGE_TERMS = (
    "No licence statement known; built from the Stack Exchange data dump, which is published under CC BY-SA."
)
_MOTIFS = "A. Paranjape, A. R. Benson, J. Leskovec. Motifs in Temporal Networks. WSDM 2017."
_MNCI_ZIP = (
    "https://raw.githubusercontent.com/MGitHubL/MNCI/3fe66feb6dd9b0440224b26860c8526ed00bea18/data/dblp/dblp.zip"
)
_Options = Mapping[str, int | str | bool]
_COLUMNS: _Options = {"src": 0, "dst": 1, "time": 2, "unit": "s", "header": False, "delimiter": " ", "directed": True}

DATASETS = (
    Dataset(
        name="bitcoin-otc",
        title="who trusts whom among the traders of Bitcoin OTC",
        paper_name="Transaction",
        aliases=("transaction", "soc-sign-bitcoinotc", "soc-sign-bitcoin-otc"),
        page=_SNAP + "soc-sign-bitcoin-otc.html",
        citation=(
            "S. Kumar, F. Spezzano, V. S. Subrahmanian, C. Faloutsos. Edge Weight Prediction in Weighted Signed "
            "Networks. ICDM 2016, 221-230. / S. Kumar, B. Hooi, D. Makhija, M. Kumar, C. Faloutsos, V. S. "
            "Subrahmanian. REV2: Fraudulent User Prediction in Rating Platforms. WSDM 2018, 333-341."
        ),
        licence=_SNAP_TERMS,
        nodes=5_881,
        events=35_592,
        file=DataFile(
            name="bitcoin-otc.csv.gz",
            published="soc-sign-bitcoinotc.csv.gz",
            url=_SNAP + "soc-sign-bitcoinotc.csv.gz",
            content=Checksum(1_011_180, "76bd9d8f1d3ff9a1813d9fc8e6902a0ee4d0a2f8c1003842dbc9ec79149ab60c"),
        ),
        reader={**_COLUMNS, "weight": 2, "time": 3, "delimiter": ","},
        labels="mean rating",
        classes=3,
        note="The weight is a rating from -10 to 10; no pair is rated twice.",
    ),
    Dataset(
        name="reddit-hyperlinks-title",
        title="links from subreddit to subreddit in the titles of posts",
        paper_name="Hyperlink",
        aliases=("hyperlink", "soc-redditHyperlinks-title"),
        page=_SNAP + "soc-RedditHyperlinks.html",
        citation=(
            "S. Kumar, W. L. Hamilton, J. Leskovec, D. Jurafsky. Community Interaction and Conflict on the Web. "
            "WWW 2018."
        ),
        licence=_SNAP_TERMS,
        nodes=54_075,
        events=571_927,
        file=DataFile(
            name="reddit-hyperlinks-title.tsv",
            published="soc-redditHyperlinks-title.tsv",
            url=_SNAP + "soc-redditHyperlinks-title.tsv",
            content=Checksum(368_581_209, "b6ea49dcbc83f948b177b341cace8c37fb8f12fc1b0e18bbfd1ba4630b699893"),
            transported=Checksum(368_581_209, "b6ea49dcbc83f948b177b341cace8c37fb8f12fc1b0e18bbfd1ba4630b699893"),
        ),
        reader={"src": 0, "dst": 1, "time": 3, "weight": 4, "header": True, "delimiter": "\t", "directed": True},
        labels="mean sentiment",
        classes=2,
        note="Ids are texts, times are dates; the weight is the sentiment of the link, 1 or -1.",
    ),
    Dataset(
        name="sx-superuser",
        title="answers and comments among the people of Super User",
        paper_name="Discussion",
        aliases=("discussion",),
        page=_SNAP + "sx-superuser.html",
        citation=_MOTIFS,
        licence=_STACK_EXCHANGE_TERMS,
        nodes=194_085,
        events=1_443_339,
        file=DataFile(
            name="sx-superuser.txt.gz",
            published="sx-superuser.txt.gz",
            url=_SNAP + "sx-superuser.txt.gz",
            transported=Checksum(11_222_114, "35367fa1357d28ba92b06f75a2616cdf983e0c5b70b9560f36440e39648cc928"),
        ),
        reader=_COLUMNS,
        note="Known by the publisher's gzip file only, so keep that file as it comes.",
    ),
    Dataset(
        name="sx-mathoverflow",
        title="answers and comments among the people of MathOverflow",
        page=_SNAP + "sx-mathoverflow.html",
        citation=_MOTIFS,
        licence=_STACK_EXCHANGE_TERMS,
        nodes=24_818,
        events=506_550,
        file=DataFile(
            name="sx-mathoverflow.txt.gz",
            published="sx-mathoverflow.txt.gz",
            url=_SNAP + "sx-mathoverflow.txt.gz",
            content=Checksum(10_924_386, "2bf52f784cdba69730f912633aa1414b381059406ded2c38bc37658ead5b0773"),
        ),
        reader=_COLUMNS,
        note="Has 116,109 self-links (people who comment on their own posts), and 629 rows out of order.",
    ),
    Dataset(
        name="college-msg",
        title="messages among students of UC Irvine",
        aliases=("CollegeMsg",),
        page=_SNAP + "CollegeMsg.html",
        citation=(
            "P. Panzarasa, T. Opsahl, K. M. Carley. Patterns and dynamics of users' behavior and interaction. "
            "JASIST 60(5), 2009, 911-932."
        ),
        licence=_SNAP_TERMS,
        nodes=1_899,
        events=59_835,
        file=DataFile(
            name="college-msg.txt.gz",
            published="CollegeMsg.txt.gz",
            url=_SNAP + "CollegeMsg.txt.gz",
            content=Checksum(1_150_439, "e00ba2415373dee52c00616065bcceaa4750e78de60d1855c76470600f10740f"),
        ),
        reader=_COLUMNS,
        note='Many papers call it "UCI".',
    ),
    Dataset(
        name="jodie-wikipedia",
        title="who edits which page of Wikipedia, one month",
        aliases=("wikipedia",),
        page="https://snap.stanford.edu/jodie/",
        citation=(
            "S. Kumar, X. Zhang, J. Leskovec. Predicting Dynamic Embedding Trajectory in Temporal Interaction "
            "Networks. KDD 2019."
        ),
        licence="No licence statement known; derived from the public edit history of Wikipedia.",
        nodes=9_227,
        events=157_474,
        file=DataFile(
            name="jodie-wikipedia.csv.gz",
            published="wikipedia.csv",
            url=None,
            content=Checksum(3_149_536, "2554c060a366880fa1d9a3ba9f45afac34e2fc4cfef58cbc2542bf03e1a02211"),
        ),
        reader={**_COLUMNS, "header": True, "delimiter": ",", "bipartite": True},
        note=(
            "The first four columns (user_id,item_id,timestamp,state_label) of the published wikipedia.csv, without "
            "its feature columns."
        ),
    ),
    Dataset(
        name="htne-dblp",
        title="who writes papers with whom in DBLP, authors of ten classes",
        aliases=("dblp",),
        page="https://github.com/MGitHubL/MNCI",
        citation=(
            "Y. Zuo, G. Liu, H. Lin, J. Guo, X. Hu, J. Wu. Embedding Temporal Network via Neighborhood Formation. "
            "KDD 2018. / M. Liu, Y. Liu. Inductive Representation Learning in Temporal Networks via Mining "
            "Neighborhood and Community Influences. SIGIR 2021, 2202-2206."
        ),
        licence="The repository that publishes it is under MIT; the terms of the data themselves are not stated there.",
        nodes=25_387,
        events=185_480,
        file=DataFile(
            name="htne-dblp.txt.gz",
            published="dblp.zip",
            url=_MNCI_ZIP,
            content=Checksum(3_637_751, "64440c5cdbaf088a1113b7c1c5b6df485053cb5e9ef4b79c6255986b9c8cdc96"),
            member="dblp.txt",
            unix_lines=True,
        ),
        reader={**_COLUMNS, "unit": "days", "directed": False},
        labels="labels file",
        classes=10,
        labels_file=DataFile(
            name="htne-dblp-labels.txt.gz",
            published="dblp.zip",
            url=_MNCI_ZIP,
            content=Checksum(191_986, "f1912ae8bc415e711c8d403a8cbe7573ca9548d7a4c07fc0392f082dc24a37d9"),
            member="node2label.txt",
            unix_lines=True,
        ),
        note=(
            "Its clock is a scaled one: times run from 0 in steps of 1/26, a step is a year, and 1.0 stands for 26 "
            "years. They are read as if they were days, so a ToE of this graph is not in real days."
        ),
    ),
)
_BY_NAME = {alias.lower(): each for each in DATASETS for alias in (each.name, *each.aliases)}


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
    expected = "one of " + ", ".join(each.name for each in DATASETS)
    cure = f"did you mean {_BY_NAME[close[0]].name}?" if close else None
    raise DatasetError("unknown data set", expected=expected, found=repr(name), cure=cure)
