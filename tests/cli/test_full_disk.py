"""A disk that is full under a command: one sentence that names the file, exit code 2, and nothing is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files, and /dev/full")

COMMANDS = {
    "synth --events 1000 --out forum.csv": "forum.csv",
    "synth --kind desk --customers 50 --out desk.parquet --json": "desk.parquet",
    "convert edges.csv out.csv --quiet": "out.csv",
    "convert edges.csv out.jsonl --quiet": "out.jsonl",
    "convert edges.csv out.tsv.gz --quiet": "out.tsv.gz",
    "convert edges.csv out.csv.zst --quiet": "out.csv.zst",
    "convert edges.csv out.parquet --quiet": "out.parquet",
    "walk edges.csv --out walks.parquet --num-walks 500 --min-length 2 --quiet": "walks.parquet",
}

FULL = """
import io, json, resource, sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import tadge.cli


def run(command, limit):
    '''Run a command where no file may grow beyond a limit: exit code, what it said, whether all is as it was.'''
    before, sys.argv, code = content(), ["tadge", *command.split()], 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            tadge.cli.main()
        except SystemExit as done:
            code = done.code
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    return code or 0, said.getvalue(), content() == before


def content():
    return {str(path): path.is_file() and path.read_bytes() for path in Path().rglob("*")}


rows, commands = [], json.loads(sys.argv[1])
run("synth --events 1000 --out edges.csv", -1)
for command, out in commands.items():
    code, said, _ = run(command, -1)  # all that is compiled is there from now on
    assert code == 0, said
    limits = 0, Path(out).stat().st_size // 2
    for limit in limits:
        rows.append([out, *run(command + " --force", limit)])
    Path(out).unlink()
    for limit in limits:
        rows.append([out, *run(command, limit)])
print(json.dumps(rows))
"""


def test_synth_convert_and_walk_leave_everything_as_it_was(tmp_path):
    command = [sys.executable, "-c", FULL, json.dumps(COMMANDS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 4 * len(COMMANDS)
    for out, code, said, unchanged in rows:
        file = "walks.parquet.parts/part-000000.parquet" if out == "walks.parquet" else out
        cure = "choose a folder that you may write to and that has room"
        assert (code, said) == (2, f"error: {file}: cannot be written (File too large); {cure}\n")
        assert unchanged, file


def tadge_command(*arguments, **options):
    command = [sys.executable, "-m", "tadge", *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_stdout_that_is_full(form):
    with Path("/dev/full").open("w") as full:
        done = tadge_command("synth", "--events", 1000, *form, stdout=full)
    assert (done.returncode, done.stderr) == (2, "error: stdout: cannot be written (No space left on device)\n")


def test_a_reader_of_stdout_that_goes_away():
    """Rows are written by a library that tells of it in words."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        done = tadge_command("synth", "--events", 1000, stdout=gone)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_room_for_compiled_code(tmp_path):
    (tmp_path / "edges.csv").write_text("a,b,1\nb,c,2\n")
    limit = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, -1)); "
    limit += "os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", limit, sys.executable, "-m", "tadge", "info", "edges.csv", "--quiet"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    words = "make room, or name a folder that has room in NUMBA_CACHE_DIR"
    assert done.stderr.splitlines()[-1] == f"error: compiled code: cannot be written (File too large); {words}"
    assert (done.returncode, done.stdout) == (2, "")
