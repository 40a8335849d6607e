"""A run that is to replace what a folder holds: whatever kills it, the folder is as it was, or as it is to be."""

from __future__ import annotations

import os

import pytest
import torch

from tadge.errors import ConfigError, InputError
from tadge.storage import folder as folders
from tadge.storage.folder import has_folder, read_folder, write_folder
from tadge.storage.replacement import (
    CHECKPOINT,
    ESTIMATORS,
    begin_results,
    begin_run,
    check_free,
    current_place,
    end_results,
    end_run,
)

KINDS = (*ESTIMATORS, CHECKPOINT)


def put(folder, value, kinds=ESTIMATORS):
    for kind in kinds:
        write_folder(folder, kind, {"values": {"x": torch.full((50,), float(value))}}, {"value": value})


def state(folder):
    """What readers find: the value of every kind; that the tensors are those of the manifest is checked on the way."""
    found = {}
    for kind in ESTIMATORS:
        parts, meta = read_folder(current_place(folder, kind), kind)
        assert parts["values"]["x"].tolist() == [meta["value"]] * 50
        found[kind] = meta["value"]
    return found


def old_and_new(folder):
    """A folder with models, and a run within it that is done but not yet known to be."""
    put(folder, 1)
    run = begin_run(folder, KINDS, force=True)
    assert run != folder
    put(run, 2)
    return run


def test_an_empty_folder_is_written_into(tmp_path):
    for options in ({}, {"resume": True}, {"force": True}):
        assert begin_run(tmp_path / "new", KINDS, **options) == tmp_path / "new"


def test_a_used_folder_is_refused_unless_told_otherwise(tmp_path):
    put(tmp_path, 1)
    with pytest.raises(InputError, match=r"there is a model in this folder already; found tadge.json and forecaster"):
        begin_run(tmp_path, KINDS)
    assert begin_run(tmp_path, KINDS, resume=True) == tmp_path
    with pytest.raises(ConfigError, match="two ways to begin"):
        check_free(tmp_path, KINDS, resume=True, force=True)
    put(tmp_path, 1, [CHECKPOINT])
    with pytest.raises(InputError, match="there is a run in this folder that is not done; say resume=True to go on"):
        check_free(tmp_path, KINDS)
    check_free(tmp_path, ["other"])  # what is not to be written does not matter


def test_the_old_stays_until_the_new_is_whole(tmp_path):
    run = old_and_new(tmp_path)
    put(tmp_path, 1, [CHECKPOINT])  # of the run before
    (tmp_path / "notes.txt").write_text("mine")
    assert state(tmp_path) == {"tadge": 1, "forecaster": 1}
    with pytest.raises(InputError, match="that is not done"):
        begin_run(tmp_path, KINDS)
    assert begin_run(tmp_path, KINDS, resume=True) == run
    end_run(tmp_path)
    assert state(tmp_path) == {"tadge": 2, "forecaster": 2}
    left = {path.name.partition("-")[0] for path in tmp_path.iterdir()}
    assert left == {"tadge", "forecaster", "tadge.json", "forecaster.json", "notes.txt"}
    assert len(list(tmp_path.iterdir())) == 5


def test_one_model_is_replaced_and_the_other_and_its_run_stay(tmp_path):
    put(tmp_path, 1)
    put(tmp_path, 1, [CHECKPOINT])
    put(begin_run(tmp_path, ["forecaster"], force=True), 2, ["forecaster"])
    end_run(tmp_path)
    assert state(tmp_path) == {"tadge": 1, "forecaster": 2}
    assert has_folder(tmp_path, CHECKPOINT)


def test_force_begins_anew_though_a_run_is_not_done(tmp_path):
    run = old_and_new(tmp_path)
    assert begin_run(tmp_path, KINDS, force=True) == run
    assert not list(run.iterdir())


class Killed(BaseException):
    """Stands for a kill."""


CALLS = ("replace", "rename", "unlink", "rmdir", "link", "fsync", "open", "mkdir")


def test_killed_at_any_call_of_the_system_it_is_the_old_or_the_new(tmp_path, monkeypatch):
    """Every call that changes the disk may be the last. What is read then is all old or all new; then it goes on."""
    outcomes = []
    for after in range(1000):
        place = tmp_path / str(after)
        old_and_new(place)
        killed = ended_after(after, place, monkeypatch)
        found = set(state(place).values())
        assert found in ({1}, {2})
        assert killed or found == {2}
        outcomes.append(found)
        monkeypatch.setattr(folders, "_threads", folders.threading.RLock())  # a new process has its own
        end_run(place, whole=found == {2})
        assert set(state(place).values()) == found
        assert (place / ".new").exists() == (found == {1})
        names = sorted(path.name.partition("-")[0] for path in place.iterdir() if path.name != folders.LOCK)
        assert names == [".new"] * (found == {1}) + ["forecaster", "forecaster.json", "tadge", "tadge.json"]
        if not killed:
            break
    assert outcomes.count({1}) >= 2
    assert outcomes.count({2}) >= 10


def ended_after(calls, place, monkeypatch):
    """End a run, killed after so many calls; tell whether it was."""
    count = [0]

    def counted(real):
        def call(*arguments, **options):
            count[0] += 1
            if count[0] > calls:
                raise Killed
            return real(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            end_run(place)
        except Killed:
            return True
    return False


def test_where_there_are_no_hard_links_files_are_copied(tmp_path, monkeypatch):
    old_and_new(tmp_path)

    def none(*_):
        raise OSError("no hard links here")

    monkeypatch.setattr(os, "link", none)
    end_run(tmp_path)
    assert state(tmp_path) == {"tadge": 2, "forecaster": 2}


# -- results -----------------------------------------------------------------------------------------------------------


def test_results_are_replaced_once_all_new_ones_are_there(tmp_path):
    assert begin_results(tmp_path, ["a", "b"]) == tmp_path
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "part").write_text("old")
    with pytest.raises(InputError, match=r"a\.json: there is an evaluation in this folder; say resume=True"):
        begin_results(tmp_path, ["a", "b"])
    assert begin_results(tmp_path, ["b"]) == tmp_path
    run = begin_results(tmp_path, ["a", "b"], force=True)
    (run / "a.json").write_text("new")
    (run / "a").mkdir()
    assert (tmp_path / "a.json").read_text() == "old"
    assert begin_results(tmp_path, ["a", "b"], resume=True) == run
    end_results(tmp_path, whole=False)
    assert (tmp_path / "a.json").read_text() == "old"
    end_results(tmp_path)
    assert (tmp_path / "a.json").read_text() == "new"
    assert not list((tmp_path / "a").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a.json"}
