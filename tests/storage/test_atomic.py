"""Files appear whole or not at all."""

import errno
import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tadge.errors import InputError
from tadge.storage.atomic import atomic_file


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_bytes_and_text(tmp_path):
    with atomic_file(tmp_path / "a") as out:
        out.write(b"bytes")
        assert not (tmp_path / "a").exists()
    with atomic_file(str(tmp_path / "b"), "w") as out:
        out.write("tëxt\n")
    assert (tmp_path / "a").read_bytes() == b"bytes"
    assert (tmp_path / "b").read_bytes() == "tëxt\n".encode()
    assert names(tmp_path) == ["a", "b"]


def test_makes_the_folder(tmp_path):
    with atomic_file(tmp_path / "x" / "y" / "z") as out:
        out.write(b"1")
    assert (tmp_path / "x" / "y" / "z").read_bytes() == b"1"


def test_long_name(tmp_path):
    target = tmp_path / ("n" * 250)
    with atomic_file(target) as out:
        out.write(b"1")
    assert names(tmp_path) == [target.name]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, OSError])
def test_failure_keeps_the_older_file(tmp_path, error):
    (tmp_path / "a").write_text("old")
    with pytest.raises(error), atomic_file(tmp_path / "a") as out:
        out.write(b"new")
        raise error
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_replaces_and_keeps_the_permissions(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o640)
    with atomic_file(tmp_path / "a") as out:
        out.write(b"new")
    assert (tmp_path / "a").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    with atomic_file(tmp_path / "a") as out:
        out.write(b"1")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_follows_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_file(tmp_path / "link") as out:
        out.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_body_that_closes_the_stream(tmp_path):
    with atomic_file(tmp_path / "a") as out, io.TextIOWrapper(out, encoding="utf-8") as text:
        text.write("closed by the wrapper")
    assert (tmp_path / "a").read_text() == "closed by the wrapper"


def test_refuses_a_folder_and_a_device(tmp_path):
    with pytest.raises(InputError, match="this is a folder"), atomic_file(tmp_path):
        pass
    with pytest.raises(InputError, match="not a regular file"), atomic_file(os.devnull):
        pass
    assert not Path(os.devnull).is_file()


def test_refuses_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match=r"file/a: cannot be written \(") as caught,
        atomic_file(tmp_path / "file" / "a"),
    ):
        pass
    assert "choose a folder" in str(caught.value)


def test_refuses_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="cannot be written"), atomic_file(tmp_path / "a"):
        pass


def test_refuses_a_protected_file(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write anywhere
    with pytest.raises(InputError, match="write-protected"), atomic_file(tmp_path / "a"):
        pass


def test_a_full_disk(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="No space left"), atomic_file(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")

    def fail(handle):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="Input/output error"), atomic_file(tmp_path / "a") as out:
        out.write(b"1")
    assert names(tmp_path) == []


def test_a_full_disk_that_a_library_tells_in_words(tmp_path):
    """polars has no number for it: an OSError or a ComputeError that ends in (os error 28)."""
    import polars as pl

    for error in (OSError, pl.exceptions.ComputeError):
        words = r"a: cannot be written \(No space left on device\); choose a folder"
        with pytest.raises(InputError, match=words), atomic_file(tmp_path / "a"):
            raise error("parquet: underlying IO error: No space left on device (os error 28)")
        with pytest.raises(error, match="os error 9"), atomic_file(tmp_path / "a"):
            raise error("something else (os error 9)")
    assert names(tmp_path) == []


def test_a_temporary_file_lies_where_it_is_told_to(tmp_path):
    (tmp_path / "scratch").mkdir()
    with atomic_file(tmp_path / "a", scratch=tmp_path / "scratch") as out:
        out.write(b"1")
        assert names(tmp_path) == ["scratch"]
        assert len(names(tmp_path / "scratch")) == 1
    assert names(tmp_path) == ["a", "scratch"]
    assert names(tmp_path / "scratch") == []


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be told from abandoned ones")
def test_what_a_killed_writer_has_left_goes_with_the_next(tmp_path):
    code = "import os, sys; from tadge.storage.atomic import atomic_file\n"
    code += "with atomic_file(sys.argv[1]) as out: out.write(b'half'); out.flush(); os.kill(os.getpid(), 9)"
    for name in ("a", "b"):
        subprocess.run([sys.executable, "-c", code, tmp_path / name], check=False)
    (tmp_path / ".a.0123456789ab.tmp.kept").write_text("of the user")
    left = [name for name in names(tmp_path) if name.startswith((".a.", ".b."))]
    assert len(left) == 3
    with atomic_file(tmp_path / "a") as out:  # another one is at work
        out.write(b"1")
        during = names(tmp_path)
        with atomic_file(tmp_path / "a") as inner:
            inner.write(b"2")
        assert [name for name in names(tmp_path) if name != "a"] == during
    assert names(tmp_path) == [".a.0123456789ab.tmp.kept", *[name for name in left if name.startswith(".b.")], "a"]
    assert (tmp_path / "a").read_bytes() == b"1"


def test_writers_at_once_leave_one_whole_file(tmp_path):
    def write(letter: bytes) -> None:
        for _ in range(20):
            with atomic_file(tmp_path / "a") as out:
                out.write(letter * 10_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"x", b"y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_bytes() in (b"x" * 10_000, b"y" * 10_000)
    assert names(tmp_path) == ["a"]
