"""Find, fetch and check the data sets that tadge knows."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from bisect import bisect_left
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tadge.datasets.download import downloaded
from tadge.datasets.places import by_hand, cache_folder, folders, refusal, search
from tadge.datasets.registry import Checksum, DataFile, Dataset, chunks_of, find, list_datasets, with_unix_lines
from tadge.errors import DatasetError, InputError, MissingDatasetError, TadgeError
from tadge.storage.atomic import atomic_file

if TYPE_CHECKING:
    import polars as pl

    from tadge.graph import TemporalGraph

GRADES = {  # the ends of an event that its weight counts for; grades by the mean weight, a break included below
    "mean rating": (("dst",), (0.0, 1.5), ("low", "middle", "high")),
    "mean sentiment": (("src", "dst"), (0.0,), ("negative", "positive")),
}


def as_dict(name: str | Dataset) -> dict[str, Any]:
    """Give an entry as a plain dictionary, with the `path` of its events (None where they are not on this machine)."""
    dataset = find(name)
    place, _ = search(dataset.file)
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
    places = [search(file)[0] or _bring(dataset, file, progress) for file in dataset.files]
    return places[0]


def load(name: str | Dataset, *, quiet: bool = False, **options: Any) -> TemporalGraph:
    """Read a data set that is here as a graph, in the way that its entry says; options win over the entry's."""
    from tadge.io.readers import read_events

    dataset = find(name)
    return read_events(path(dataset), quiet=quiet, **{**dataset.reader, **options})


def labels(name: str | Dataset, events: Path | None = None) -> tuple[list[int] | list[str], list[str]]:
    """Give the labelled nodes of a data set, in order of id, and the label of each.

    bitcoin-otc: "low", "middle" or "high", by the mean rating a trader received: at most 0, at most 1.5, above.
    reddit-hyperlinks-title: "positive" where the mean sentiment of the links from and to a subreddit is above 0, else
    "negative". htne-dblp: the class, "0" to "9".

    Args:
        name: as in `find`.
        events: a checked file of its events that lies elsewhere; a file of labels is then looked for beside it first.
    """
    dataset = find(name)
    if dataset.labels is None:
        known = ", ".join(labelled.name for labelled in list_datasets() if labelled.labels)
        raise DatasetError("has no node labels", expected=f"one of {known}", where=dataset.name)
    import polars as pl

    if dataset.labels_file is not None:
        place = _path(dataset, dataset.labels_file, None if events is None else events.parent)
        table = _columns(place, dataset, has_header=False, id=0, label=1)
    else:
        ends, breaks, grades = GRADES[dataset.labels]
        place = events or _path(dataset, dataset.file)
        columns = {key: int(dataset.reader[key]) for key in (*ends, "weight")}
        table = _columns(place, dataset, has_header=bool(dataset.reader["header"]), **columns)
        table = pl.concat([table.select("weight", id=end) for end in ends])
        table = table.group_by("id").agg(mean=pl.col("weight").cast(pl.Float64).mean())
        table = table.with_columns(label=pl.Series([grades[bisect_left(breaks, mean)] for mean in table["mean"]]))
    numbers = table["id"].cast(pl.Int64, strict=False)
    table = table.with_columns(id=table["id"] if numbers.null_count() else numbers).sort("id")
    return table["id"].to_list(), table["label"].to_list()


def _columns(place: Path, dataset: Dataset, has_header: bool, **columns: int) -> pl.DataFrame:
    """Read some columns, given by number, as strings."""
    import polars as pl

    name_of = {number: name for name, number in columns.items()}
    table = pl.read_csv(
        place,
        columns=sorted(name_of),
        has_header=has_header,
        separator=str(dataset.reader["delimiter"]),
        quote_char=None,
        infer_schema=False,
        glob=False,
    )
    return table.rename(dict(zip(table.columns, (name_of[number] for number in sorted(name_of)), strict=True)))


def _path(dataset: Dataset, file: DataFile, beside: Path | None = None) -> Path:
    place, refused = search(file, beside)
    if place is None:
        fetch = f"run `tadge datasets get {dataset.name}`, or " if file.url else ""
        where, cure = f"{dataset.name} ({file.name})", fetch + by_hand(dataset, file)
        raise MissingDatasetError("not on this machine", found=refused, cure=cure, where=where)
    return place


# -- bringing a file --------------------------------------------------------------------------------------------------


def _bring(dataset: Dataset, file: DataFile, progress: bool) -> Path:
    from filelock import FileLock

    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f".{file.fetched_as}.lock"):
            place, _ = search(file)  # another process may have brought it while we waited
            if place is None and file.member is not None:
                archives = [place for place in (path / file.fetched_as for path in folders()) if place.is_file()]
                place = _install(dataset, file, archives[0], str(archives[0])) if archives else None
            return place or _download(dataset, file, progress)
    except (OSError, InputError) as error:
        reason = getattr(error, "strerror", None) or error
        cure = "make room and see that you may write there, or name another cache folder by XDG_CACHE_HOME"
        raise DatasetError(f"cannot be written ({reason})", cure=cure, where=str(folder)) from error


def _download(dataset: Dataset, file: DataFile, progress: bool) -> Path:
    if file.url is None:
        what = f"cannot be downloaded, it must be brought by hand ({dataset.note.rstrip('.') or 'there is no address'})"
        found, cure = search(file)[1], by_hand(dataset, file)
        raise DatasetError(what, expected=file.expected, found=found, cure=cure, where=dataset.name)
    with downloaded(dataset, file, progress) as fetched:
        return _install(dataset, file, fetched, file.url)


def _install(dataset: Dataset, file: DataFile, fetched: Path, source: str) -> Path:
    """Check what was fetched, and give it its place; from an archive, all of the data set's members."""
    target = cache_folder() / file.name
    if file.member is None:
        fault = file.fault_of(fetched, file.packed)
        if fault is not None:
            raise refusal(dataset, file, fault, source)
        fetched.replace(target)
        return target
    for member in dataset.files:
        if member.fetched_as == file.fetched_as:
            _unpack(dataset, member, fetched, source)
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
                    raise refusal(dataset, file, f"{member} of {fault}", source)
    except TadgeError:
        raise
    except KeyError:
        raise refusal(dataset, file, f"a zip archive without {member}", source) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise refusal(dataset, file, f"a broken zip archive ({error})", source) from None
