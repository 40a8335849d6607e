"""Known data sets: what they are, where they are, their labels."""

from tadge.datasets.fetch import as_dict, get, labels, load, path
from tadge.datasets.places import cache_folder
from tadge.datasets.registry import find, is_known, list_datasets

__all__ = ["as_dict", "cache_folder", "find", "get", "is_known", "labels", "list_datasets", "load", "path"]
