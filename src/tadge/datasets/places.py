"""Where the files of data sets may lie, and how to bring them there by hand."""

from __future__ import annotations

import os
from pathlib import Path

from tadge.datasets.registry import DataFile, Dataset
from tadge.errors import DatasetError


def cache_folder() -> Path:
    """Name the folder that data sets are downloaded into."""
    from platformdirs import user_cache_path

    return user_cache_path("tadge", appauthor=False) / "datasets"


def folders() -> list[Path]:
    """List the folders to look into, the first one first: the one that TADGE_DATA names, and the cache."""
    named = os.environ.get("TADGE_DATA")
    if not named:
        return [cache_folder()]
    folder = Path(named).expanduser().absolute()
    if not (os.access(folder, os.R_OK | os.X_OK) and folder.is_dir()):
        raise DatasetError(
            "not a folder to read from", found=str(folder), cure="correct or unset it", where="TADGE_DATA"
        )
    return [folder, cache_folder()]


def search(file: DataFile, first: Path | None = None) -> tuple[Path | None, str | None]:
    """Look for a file with the right checksum; failing that, say what is wrong with one of the right name.

    Args:
        file: what to look for.
        first: a folder to look into before the usual ones.
    """
    refused = None
    places = folders() if first is None else [first, *folders()]
    for place in (folder / name for folder in places for name in file.accepted_names):
        if place.is_file():
            fault = file.fault_of(place, packed=place.suffix == ".gz")
            if fault is None:
                return place, None
            refused = refused or f"{place} with {fault}"
    return None, refused


def by_hand(dataset: Dataset, file: DataFile) -> str:
    """Say how to put a file in its place without us."""
    place = cache_folder() / file.fetched_as
    source = f"fetch {file.url} by hand" if file.url else f"bring {file.name}, packed or not, by hand"
    return f"{source} (see {dataset.page}) and put it at {place} or into a folder that TADGE_DATA names"


def refusal(dataset: Dataset, file: DataFile, found: str, source: str) -> DatasetError:
    """Make the error about a file that is not the right one; `source` is where it came from."""
    cure, where = f"try again later, or {by_hand(dataset, file)}", f"{dataset.name} ({source})"
    return DatasetError("not the file that we know", expected=file.expected, found=found, cure=cure, where=where)
