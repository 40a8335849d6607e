"""A folder in use is never lost; a run goes on only with what it began with; one at a time."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

import tadge
from tadge.running.folder import RECORD, open_run, read_record
from tadge.storage.folder import one_writer

ABOUT = {"name": "x", "graph": "f00", "settings": {"seed": 0, "days": 7.0}}


def make(folder, *, finished=True, about=ABOUT, **how):
    with open_run(folder, about, **how) as run:
        with run.stage("first") as told:
            told["note"] = "done it"
            (run.place / "result.txt").write_text(json.dumps(about))
        if finished:
            run.finish()
    return run


def test_stages_are_written_down_with_what_they_took(tmp_path):
    run = make(tmp_path / "run")
    record = read_record(tmp_path / "run")
    stage = record["stages"]["first"]
    assert stage["done"]
    assert stage["note"] == run.note("first") == "done it"
    assert stage["cpu_seconds"] >= 0
    assert 0 <= stage["seconds"] <= record["seconds"]
    assert record["peak_memory_mb"] > 10
    assert record["finished"]
    assert run.done("first")
    assert not run.done("second")


def test_a_used_folder_is_refused(tmp_path):
    make(tmp_path / "run")
    with pytest.raises(tadge.InputError, match=r"there is a run in this folder; .*force=True to replace it$"):
        make(tmp_path / "run")
    make(tmp_path / "half", finished=False)
    with pytest.raises(tadge.InputError, match=r"that is not finished; .*resume=True to go on with it$"):
        make(tmp_path / "half")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    for how in ({}, {"force": True}, {"resume": True}):  # what is not a run is never touched
        with pytest.raises(tadge.InputError, match="something else than a run in this folder"):
            make(tmp_path / "mine", **how)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    (tmp_path / "file").write_text("x")
    with pytest.raises(tadge.InputError, match="this is not a folder"):
        make(tmp_path / "file")
    with pytest.raises(tadge.InputError, match="replace the run or go on with it"):
        make(tmp_path / "run", force=True, resume=True)


def test_an_empty_folder_will_do(tmp_path):
    (tmp_path / "run").mkdir()
    assert make(tmp_path / "run").record["finished"]


def test_the_old_run_stays_until_the_new_one_is_finished(tmp_path):
    make(tmp_path / "run")
    new = {**ABOUT, "graph": "f11"}
    with pytest.raises(KeyboardInterrupt), open_run(tmp_path / "run", new, force=True) as run, run.stage("first"):
        (run.place / "result.txt").write_text("half of it")
        raise KeyboardInterrupt
    assert read_record(tmp_path / "run")["graph"] == "f00"
    assert json.loads((tmp_path / "run" / "result.txt").read_text())["graph"] == "f00"
    make(tmp_path / "run", about=new, force=True)
    assert read_record(tmp_path / "run")["graph"] == "f11"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_goes_on_only_with_the_same(tmp_path):
    make(tmp_path / "run", finished=False)
    with open_run(tmp_path / "run", ABOUT, resume=True) as run:
        assert run.done("first")
        assert not run.record["finished"]
    with pytest.raises(tadge.InputError, match="of other events; expected f00; found f99"):
        make(tmp_path / "run", about={**ABOUT, "graph": "f99"}, resume=True)
    with pytest.raises(tadge.InputError, match=r"of other settings; expected days = 7.0; found days = 3.0"):
        make(tmp_path / "run", about={**ABOUT, "settings": {"seed": 0, "days": 3.0}}, resume=True)


def test_a_forced_run_that_was_interrupted_goes_on(tmp_path):
    make(tmp_path / "run")
    new = {**ABOUT, "graph": "f11"}
    make(tmp_path / "run", about=new, force=True, finished=False)
    assert read_record(tmp_path / "run")["graph"] == "f00"
    with open_run(tmp_path / "run", new, resume=True) as run:
        assert run.done("first")
        run.finish()
    assert read_record(tmp_path / "run")["graph"] == "f11"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("calls", range(6))
@pytest.mark.parametrize("resume", [True, False])
def test_killed_while_it_takes_the_place_of_the_old_one(tmp_path, monkeypatch, calls, resume):
    """After so many calls that change folders: what is there is the new run or the old one, and nothing is left."""
    make(tmp_path / "run")
    new, made = {**ABOUT, "graph": "f11"}, []

    def counted(real):
        def call(*given, **options):
            if len(made) == calls:
                raise Killed
            made.append(real)
            return real(*given, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", counted(Path.rename))
        patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
        with contextlib.suppress(Killed):
            make(tmp_path / "run", about=new, force=True)
    options = {"resume": True} if resume else {"force": True}
    with open_run(tmp_path / "run", new, **options) as run:
        assert run.done("first") or calls <= 1 or not resume
        with run.stage("first"):
            pass
        run.finish()
    assert read_record(tmp_path / "run")["graph"] == "f11"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_full_disk_leaves_no_empty_folder(tmp_path, monkeypatch):
    def full(*_):
        raise tadge.InputError("cannot be written (No space left on device)")

    monkeypatch.setattr("tadge.running.folder.RunFolder.write", full)
    with pytest.raises(tadge.InputError, match="No space left"):
        make(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_what_was_left_out_is_tried_again(tmp_path):
    with open_run(tmp_path / "run", ABOUT) as run:
        run.skip("second", "no time")
    assert read_record(tmp_path / "run")["stages"]["second"]["note"] == "no time"
    assert not run.done("second")


def test_a_damaged_record_is_one_sentence(tmp_path):
    make(tmp_path / "run")
    for text in ("{", "[]", '{"format": "other"}'):
        (tmp_path / "run" / RECORD).write_text(text)
        with pytest.raises(tadge.InputError, match="not the record of a run"):
            make(tmp_path / "run", resume=True)


def test_two_processes_do_not_write_one_run(tmp_path):
    import subprocess
    import sys

    code = (
        "from tadge.running.folder import open_run\nimport tadge\n"
        "try:\n    open_run(r'{}', {{'graph': 'f', 'settings': {{}}}}).__enter__()\n"
        "except tadge.InputError as error:\n    print(error)"
    ).format(tmp_path / "run")
    with one_writer(tmp_path / "run"):
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "another process is writing into this folder" in told
