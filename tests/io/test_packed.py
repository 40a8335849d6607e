"""Packed files: unpacked in memory, up to a limit; damaged ones refused."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from tadge.io import packed
from tadge.io.packed import unpack
from tadge.io.readers import read_events

TEXT = "src,dst,time\n" + "".join(f"u{k % 5},v{k % 3},{1_300_000_000 + 1000 * k}\n" for k in range(40))


def zipped(*members, **more):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **more) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def read(tmp_path, content, name="edges", **options):
    path = tmp_path / name
    path.write_bytes(content)
    return read_events(path, quiet=True, **options)


@settings(max_examples=60)
@given(parts=st.lists(st.binary(max_size=3000), min_size=1, max_size=4), padding=st.integers(0, 40))
def test_members_one_after_the_other_are_joined(parts, padding):
    joined = b"".join(parts)
    files = {
        "gzip": b"".join(map(gzip.compress, parts)) + bytes(padding),
        "zstd": b"".join(map(zstandard.compress, parts)),
    }
    for packing, content in files.items():
        assert unpack(np.frombuffer(content, np.uint8), packing, "f", None).tobytes() == joined
        if packing == "gzip":
            assert gzip.decompress(content) == joined  # the standard library's own


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lambda text: zipped(("e.csv", text))])
def test_damaged_files_meet_one_sentence(tmp_path, pack):
    content = pack(TEXT.encode() * 30)
    assert read(tmp_path, pack(TEXT.encode())).num_events == 40
    for at in (20, len(content) // 2, len(content) - 1):
        with pytest.raises(tadge.InputError, match=r"cut off or damaged|binary file"):
            read(tmp_path, content[:at])
    with pytest.raises(tadge.InputError, match="cut off or damaged"):
        read(tmp_path, gzip.compress(TEXT.encode()) + b"and more")


def test_bombs_are_refused_before_they_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "SMALL", 1 << 16)
    bomb = b"src,dst,time\n" + b"u1,v1,1300000000\nu1,v1,1300000500\n" * 60_000
    for name, content in [
        ("b.gz", gzip.compress(bomb)),
        ("b.zst", zstandard.compress(bomb, 19)),
        ("b.zip", zipped(("b.csv", bomb))),
    ]:
        assert len(content) * packed.RATIO < len(bomb)
        with pytest.raises(tadge.InputError, match=r"times its packed size|small when packed") as caught:
            read(tmp_path, content, name)
        assert "say max_unpacked=" in str(caught.value)
        assert read(tmp_path, content, name, max_unpacked=1.0, yes=True).num_events == 120_000
        with pytest.raises(tadge.InputError, match="as max_unpacked says"):
            read(tmp_path, content, name, max_unpacked=0.001)
    monkeypatch.setattr(packed, "available_memory", lambda: 2000)
    with pytest.raises(tadge.InputError, match="half of the free memory"):
        read(tmp_path, gzip.compress(TEXT.encode() * 3))


def test_zip_with_one_member_is_read_and_of_several_one_is_named(tmp_path):
    clutter = [("__MACOSX/._e.csv", b"\x00\x01"), (".DS_Store", b"\x00")]
    assert read(tmp_path, zipped(("folder/e.csv", TEXT), *clutter)).num_events == 40
    content = zipped(("a.csv", TEXT), ("in/b.csv", TEXT.replace("u", "w")))
    with pytest.raises(
        tadge.InputError, match=r"2 files in the zip file; .*'a.csv', 'in/b.csv'; name one of them: .*/a.csv"
    ):
        read(tmp_path, content, "two.zip")
    assert "w1" in read_events(tmp_path / "two.zip" / "in" / "b.csv", quiet=True).ids
    with pytest.raises(tadge.InputError, match=r"no such file in the zip file; expected 'a.csv', 'in/b.csv'"):
        read_events(tmp_path / "two.zip" / "c.csv")
    read(tmp_path, TEXT.encode(), "plain.csv")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        read_events(tmp_path / "plain.csv" / "a.csv")
    with pytest.raises(tadge.InputError, match="no file in the zip file"):
        read(tmp_path, zipped())
    locked = bytearray(zipped(("a.csv", TEXT)))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + place] |= 1  # the flag of an encrypted member
    with pytest.raises(tadge.InputError, match="the zip file is encrypted; unpack it"):
        read(tmp_path, bytes(locked))


def test_parquet_is_read_from_packed_files_too(tmp_path):
    graph = read(tmp_path, TEXT.encode(), "e.csv")
    tadge.write_events(graph, tmp_path / "e.parquet")
    content = (tmp_path / "e.parquet").read_bytes()
    for pack in (gzip.compress, zstandard.compress, lambda data: zipped(("e.parquet", data))):
        assert read(tmp_path, pack(content)).num_events == 40
