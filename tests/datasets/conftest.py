"""What the tests of data sets, downloads and archives share."""

import http.client

import pytest
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
    monkeypatch.setattr(download, "RETRY_WAIT", 0.0)
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    return tmp_path / "cache" / "tadge" / "datasets"


@pytest.fixture
def bytes_read(monkeypatch):
    """Count the bytes that are read from responses."""
    counted, read1 = [0], http.client.HTTPResponse.read1

    def read(response, size=-1):
        chunk = read1(response, size)
        counted[0] += len(chunk)
        return chunk

    monkeypatch.setattr(http.client.HTTPResponse, "read1", read)
    return counted
