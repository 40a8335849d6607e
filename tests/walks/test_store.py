from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from filelock import FileLock, Timeout

import tadge
from tadge import WalkConfig
from tadge.walks.store import write_walks

CONFIG = WalkConfig(num_walks=1500, max_length=6, min_length=2)


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    names = np.array([f"user {i}" for i in range(200)], dtype=object)
    return tadge.TemporalGraph.from_arrays(
        names[rng.integers(0, 200, 6000)], names[rng.integers(0, 200, 6000)], rng.integers(0, 5000, 6000), unit="h"
    )


def test_the_file_holds_the_walks_with_the_users_ids(graph, tmp_path):
    walks = tadge.sample_walks(graph, CONFIG, seed=3)
    done = write_walks(graph, tmp_path / "w.parquet", CONFIG, seed=3, chunk=400)
    frame = pl.read_parquet(tmp_path / "w.parquet")
    assert (done.walks, done.complete, done.starts_used) == (1500, True, walks.starts_used)
    assert frame["walk"].to_list() == list(range(1500))
    assert frame["length"].to_list() == walks.lengths.tolist()
    for i in range(0, 1500, 37):
        n = int(walks.lengths[i])
        assert frame["nodes"][i].to_list() == graph.ids[walks.nodes[i, :n]].tolist()
        assert frame["tov_days"][i].to_list() == walks.tov[i, :n].tolist()
        assert frame["toe_days"][i].to_list() == walks.toe[i, 1:n].tolist()
        assert frame["events"][i].to_list() == walks.events[i, 1:n].tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_interrupted_work_stays_readable_and_goes_on_to_the_same_rows(graph, tmp_path, stop_after):
    whole, cut = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    write_walks(graph, whole, CONFIG, seed=1, chunk=400)
    calls = []

    def interrupt(made, starts):
        calls.append(made)
        if len(calls) == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_walks(graph, cut, CONFIG, seed=1, chunk=400, report=interrupt)
    assert not cut.exists()
    parts = sorted((tmp_path / "cut.parquet.parts").glob("part-*.parquet"))
    assert len(parts) == stop_after
    expected = pl.read_parquet(whole)
    assert pl.read_parquet(parts).equals(expected.head(400 * stop_after))

    with pytest.raises(tadge.InputError, match="say resume=True to go on"):
        write_walks(graph, cut, CONFIG, seed=1, chunk=400)
    for other in ({"seed": 2}, {"config": WalkConfig(num_walks=99)}, {"chunk": 300}):
        with pytest.raises(tadge.InputError, match=f"another {next(iter(other))}"):
            write_walks(graph, cut, **{"config": CONFIG, "seed": 1, "chunk": 400, **other}, resume=True)
    with pytest.raises(tadge.InputError, match="another graph"):
        write_walks(graph.before(150.0), cut, CONFIG, seed=1, chunk=400, resume=True)
    done = write_walks(graph, cut, CONFIG, seed=1, chunk=400, resume=True)
    assert done.resumed == 400 * stop_after
    assert pl.read_parquet(cut).equals(expected)
    assert {path.name for path in tmp_path.iterdir()} == {"cut.parquet", "whole.parquet"}


def interrupt(made, starts):
    raise KeyboardInterrupt


def test_damaged_unfinished_work_is_named(graph, tmp_path):
    for damage in (
        lambda parts: (parts / "state.json").write_text("{"),
        lambda parts: (parts / "part-000000.parquet").unlink(),
    ):
        with pytest.raises(KeyboardInterrupt):
            write_walks(graph, tmp_path / "w.parquet", CONFIG, chunk=400, report=interrupt, force=True)
        parts = tmp_path / "w.parquet.parts"
        damage(parts)
        with pytest.raises(tadge.InputError, match="damaged"):
            write_walks(graph, tmp_path / "w.parquet", CONFIG, chunk=400, resume=True)


def test_a_finished_file_is_taken_as_it_is_or_refused(graph, tmp_path):
    path = tmp_path / "w.parquet"
    first = write_walks(graph, path, CONFIG, seed=1, chunk=400)
    before = path.read_bytes(), path.stat().st_mtime_ns
    parts = tmp_path / "w.parquet.parts"
    parts.mkdir()
    (parts / "part-000003.parquet").write_bytes(b"left")  # by a kill in the last clean-up
    again = write_walks(graph, path, CONFIG, seed=1, chunk=400, resume=True)
    assert (again.walks, again.resumed, again.complete) == (first.walks, first.walks, True)
    with pytest.raises(tadge.InputError, match=r"w\.parquet: the file that is there is not of this work; say"):
        write_walks(graph, path, CONFIG, seed=2, chunk=400, resume=True)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(tadge.InputError, match="is not of this work"):
        write_walks(graph, path, CONFIG, seed=1, chunk=400, resume=True)


def test_two_at_once_are_told_apart(graph, tmp_path):
    """The second is refused while the first is at it, and changes nothing."""
    path, refused = tmp_path / "w.parquet", []

    def meanwhile(made, starts):
        with pytest.raises(Timeout):  # what another process would meet
            FileLock(f"{path}.parts/.lock").acquire(timeout=0)
        refused.append(True)

    write_walks(graph, path, CONFIG, seed=1, chunk=1500, report=meanwhile)
    assert refused == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]


def test_a_full_disk_keeps_the_parts_and_leaves_nothing_else(graph, tmp_path, monkeypatch):
    sink = pl.LazyFrame.sink_parquet

    def full(self, *arguments, **options):
        if options.get("metadata") or not tmp_path.joinpath("w.parquet.parts", "state.json").exists():
            raise pl.exceptions.ComputeError("underlying IO error: No space left on device (os error 28)")
        return sink(self, *arguments, **options)

    path = tmp_path / "w.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(pl.LazyFrame, "sink_parquet", full)
        with pytest.raises(tadge.InputError, match=r"part-000000.parquet: cannot be written \(No space left"):
            write_walks(graph, path, CONFIG, chunk=400)
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        write_walks(graph, path, CONFIG, chunk=400, report=interrupt)
    with monkeypatch.context() as patch:
        patch.setattr(pl.LazyFrame, "sink_parquet", full)
        with pytest.raises(tadge.InputError, match=r"w\.parquet: cannot be written \(No space left on device\)"):
            write_walks(graph, path, CONFIG, chunk=400, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet.parts"]
    assert write_walks(graph, path, CONFIG, chunk=400, resume=True).resumed == 1500
    assert [path.name for path in tmp_path.iterdir()] == ["w.parquet"]


def test_fewer_walks_than_asked_for_are_noted(graph, tmp_path):
    done = write_walks(graph, tmp_path / "w.parquet", WalkConfig(num_walks=10**6, min_length=2), resume=True)
    assert not done.complete
    assert done.starts_used == graph.num_occurrences
    assert "used up" in done.note
    assert pl.read_parquet(tmp_path / "w.parquet").height == done.walks < 10**6


def test_names_are_checked_before_any_work(graph, tmp_path):
    with pytest.raises(tadge.ConfigError, match="unknown kind of file"):
        write_walks(graph, tmp_path / "w.csv")
    (tmp_path / "d.parquet").mkdir()
    with pytest.raises(tadge.InputError, match="a folder"):
        write_walks(graph, tmp_path / "d.parquet")


def test_ctrl_c_on_the_command_line(graph, tmp_path):
    tadge.write_events(graph, tmp_path / "e.csv")
    code = (
        "import sys, time, tadge.walks.store as store, tadge.cli as cli\n"
        "write = store.write_walks\n"
        "def slow(*a, report, **k): return write(*a, chunk=100, report=lambda *x: (report(*x), time.sleep(0.2)), **k)\n"
        "store.write_walks = slow\n"
        "cli.main()"
    )
    base = ["walk", "e.csv", "--out", "w.parquet", "--num-walks", "1500", "--min-length", "2", "--json"]
    process = subprocess.Popen([sys.executable, "-c", code, *base], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    parts = tmp_path / "w.parquet.parts"
    while not (parts / "part-000002.parquet").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    made = pl.read_parquet(sorted(parts.glob("part-*.parquet"))).height
    again = subprocess.run(
        [sys.executable, "-c", code.replace("time.sleep(0.2)", "0"), *base, "--resume"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert made - json.loads(again.stdout)["resumed"] in (0, 100)  # a part that was not yet noted is made again
    write_walks(graph, tmp_path / "whole.parquet", WalkConfig(num_walks=1500, min_length=2), chunk=100)
    assert pl.read_parquet(tmp_path / "w.parquet").equals(pl.read_parquet(tmp_path / "whole.parquet"))
