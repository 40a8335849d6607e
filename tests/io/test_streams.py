"""What a path may name besides a file: stdin, pipes, files without a size, folders, devices."""

from __future__ import annotations

import io
import os
import threading
from types import SimpleNamespace

import pytest

import tadge
from tadge.io import streams
from tadge.io.options import ReadOptions
from tadge.io.readers import read_events, read_like

TEXT = "src,dst,time\n" + "".join(f"u{k % 5},v{k % 3},{1_300_000_000 + 1000 * k}\n" for k in range(40))


def stdin(monkeypatch, content, terminal=False):
    fake = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: terminal, closed=False)
    monkeypatch.setattr("sys.stdin", fake)


def test_stdin(monkeypatch, capsys):
    stdin(monkeypatch, TEXT.encode())
    assert read_events("-").num_events == 40
    assert capsys.readouterr().err.startswith("stdin: text with commas")
    stdin(monkeypatch, TEXT.encode())
    graph, _ = read_like("-", ReadOptions(), {"src": "nobody", "dst": "no", "time": "never"})  # looked at twice
    assert graph.num_events == 40
    stdin(monkeypatch, b"")
    with pytest.raises(tadge.InputError, match="stdin: the file is empty"):
        read_events("-")
    stdin(monkeypatch, b"src,dst,time\na,b\n")
    with pytest.raises(tadge.InputError, match=r"stdin, row 2: expected 3 cells|stdin: "):
        read_events("-")
    stdin(monkeypatch, b"", terminal=True)
    with pytest.raises(tadge.InputError, match="stdin is a terminal; expected a file or a pipe"):
        read_events("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(tadge.InputError, match="there is no stdin"):
        read_events("-")


def test_a_named_pipe_is_read_and_does_not_hang_without_a_writer(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for large in (1, 3000):
        writer = threading.Thread(
            target=lambda size=large: pipe.write_text(TEXT + TEXT.partition("\n")[2] * (size - 1))
        )
        writer.start()
        assert read_events(pipe, quiet=True).num_events == 40 * large
        writer.join()
    monkeypatch.setattr(streams, "WAIT", 0.1)
    with pytest.raises(tadge.InputError, match="nobody has written to this pipe"):
        read_events(pipe)


def test_an_unnamed_pipe(tmp_path):
    out, into = os.pipe()
    os.write(into, TEXT.encode())
    os.close(into)
    assert read_events(f"/dev/fd/{out}", quiet=True).num_events == 40
    os.close(out)


def test_files_without_a_size_and_devices():
    with pytest.raises(tadge.InputError, match="/proc/self/environ: "):
        read_events("/proc/self/environ")
    with pytest.raises(tadge.InputError, match="/proc/self/status: "):
        read_events("/proc/self/status")
    with pytest.raises(tadge.InputError, match="/dev/null: the file is empty"):
        read_events("/dev/null")
    with pytest.raises(tadge.InputError, match="/dev/zero: this is a device"):
        read_events("/dev/zero")
    with pytest.raises(tadge.InputError, match=r"cannot be the name of a file|no such file"):
        read_events("a\0b")


def test_a_folder_is_answered_with_a_pattern(tmp_path):
    for name in ("a.csv", "b.csv", "c.txt", ".hidden", "none"):
        (tmp_path / name).write_text(TEXT)
    with pytest.raises(tadge.InputError, match=r"this is a folder; .* as one history: '.*/\*.csv'") as caught:
        read_events(tmp_path)
    pattern = str(caught.value).split("'")[-2]
    assert read_events(pattern, quiet=True).num_events == 80
