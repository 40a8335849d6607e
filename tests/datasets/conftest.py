"""What the tests of data sets, downloads and archives share."""

import types

import pooch.core
import pytest
import requests
from website import Site

from tadge.datasets import download


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("TADGE_DATA", raising=False)
    monkeypatch.setattr(pooch.core, "time", types.SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    return tmp_path / "cache" / "tadge" / "datasets"


@pytest.fixture
def bytes_read(monkeypatch):
    """Count the bytes that are read from responses."""
    counted, iter_content = [0], requests.Response.iter_content

    def count(response, *args, **options):
        for chunk in iter_content(response, *args, **options):
            counted[0] += len(chunk)
            yield chunk

    monkeypatch.setattr(requests.Response, "iter_content", count)
    return counted
