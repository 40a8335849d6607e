"""Known data sets: what they are, where they are, their labels."""

from tadge.datasets.fetch import as_dict, cache_folder, find, get, is_known, labels, list_datasets, load, path

__all__ = ["as_dict", "cache_folder", "find", "get", "is_known", "labels", "list_datasets", "load", "path"]
