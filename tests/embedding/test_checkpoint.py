"""A run that was stopped, killed or interrupted goes on to the same weights, bit for bit."""

from __future__ import annotations

import errno
import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import tadge
from small import assert_same, forum, network, nothing, plain, snapshot, trainer, training, walking
from tadge.embedding.checkpoint import Saver, read_checkpoint, restore, write_checkpoint
from tadge.embedding.estimator import TADGE
from tadge.storage.folder import has_folder, read_folder
from tadge.walks import sample_walks

ABOUT = {"seed": 0}


class Stop(Exception):
    """Something that ends a run right after a checkpoint."""


# -- stopped between two steps -----------------------------------------------------------------------------------------


def stopped(folder, stops, options):
    """Run, stop after these steps, each time with a new trainer that goes on from the folder, to the end."""
    while True:
        run = trainer(**options)
        if has_folder(folder, "checkpoint"):
            restore(run, *read_checkpoint(folder, ABOUT))
        limit = next((stop for stop in stops if stop > run.position.total), None)

        def save(run, limit=limit):
            write_checkpoint(folder, run, ABOUT)
            if run.position.total == limit:
                raise Stop

        try:
            return run, run.run(nothing, save)
        except Stop:
            continue


CASES = {
    "plain": {},
    "resampled": {"train": {"resample": True}},
    "dropout": {"model": {"dropout": 0.4}, "train": {"unknown": 0.2}},
    "bfloat16": {"train": {"precision": "bfloat16"}},
    "next, no structures": {"model": {"queries": "next", "structure": False}},
    "self": {"model": {"queries": "self"}, "train": {"held_out": 0.0}},
    "early": {"train": {"epochs": 12, "lr": 0.3, "patience": 1}},
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, monkeypatch, case):
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    options = CASES[case]
    expected = trainer(**options)
    reason = expected.run(nothing, nothing)
    last = expected.position.total
    ends = [k * len(expected.batches) for k in range(1, 4)]  # at the end of an epoch, right before and right after it
    stops = {1, ends[0], ends[1] - 1, ends[1] + 1, *random.Random(case).sample(range(1, last), 2)}
    found, again = stopped(tmp_path, sorted(stops), options)
    assert again == reason
    assert_same(snapshot(found), snapshot(expected))
    assert_same(found.best, expected.best)
    assert plain(found.position.history) == plain(expected.position.history)
    for name in ("epoch", "step", "total", "best", "best_epoch"):
        assert getattr(found.position, name) == getattr(expected.position, name)
    for run in (found, expected):
        run.keep_best()
    assert_same(found.tasks.state_dict(), expected.tasks.state_dict())
    assert (case == "early") == (reason == "early")


def test_a_run_that_is_done_stays_done(tmp_path):
    first = trainer(train={"epochs": 1})
    first.run(nothing, lambda run: write_checkpoint(tmp_path, run, ABOUT))
    again = trainer(train={"epochs": 1})
    restore(again, *read_checkpoint(tmp_path, ABOUT))
    assert again.finished
    assert again.run(lambda run: pytest.fail("nothing was left to do"), nothing) == "done"
    assert_same(snapshot(again), snapshot(first))


def test_a_checkpoint_before_the_first_step(tmp_path):
    write_checkpoint(tmp_path, trainer(), ABOUT)
    found, expected = trainer(), trainer()
    with torch.no_grad():
        found.table.values.zero_()
    restore(found, *read_checkpoint(tmp_path, ABOUT))
    for run in (found, expected):
        run.run(nothing, nothing)
    assert_same(snapshot(found), snapshot(expected))


def test_time_between_checkpoints(tmp_path, monkeypatch):
    clock, written = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def slow(folder, trainer, about):
        written.append(clock[0])
        clock[0] += 5  # writing takes its time: it counts from the end

    monkeypatch.setattr("tadge.embedding.checkpoint.write_checkpoint", slow)
    save = Saver(tmp_path, ABOUT, 10)
    for _ in range(40):
        clock[0] += 1
        save(None)
    assert written == [10, 25, 40, 55]
    Saver(None, ABOUT, 0)(None)
    assert len(written) == 4
    every = Saver(tmp_path, ABOUT, 0)
    for _ in range(3):
        every(None)
    assert len(written) == 7


# -- what it is refused for --------------------------------------------------------------------------------------------


def model(seed=0, walks=None, shape=None, **changes):
    return TADGE(walking(**walks or {}), network(**shape or {}), training(**changes), seed)


@pytest.fixture(scope="module")
def halfway(tmp_path_factory):
    """A folder with a run that was stopped after its second step."""
    folder = tmp_path_factory.mktemp("halfway")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Saver, "__call__", stop_after(2, Saver.__call__))
        with pytest.raises(Stop):
            model().fit(forum(), checkpoint=folder, checkpoint_seconds=0)
    return folder


def stop_after(steps, save):
    def call(self, run):
        save(self, run)
        if run.position.total == steps:
            raise Stop

    return call


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: model(seed=1).fit, "another seed; expected 0; found 1"),
        (lambda: model(lr=0.5).fit, "another train; expected lr = 0.003; found lr = 0.5"),
        (
            lambda: model(epochs=2, patience=2).fit,
            "another train; expected epochs = 3, patience = 5; found epochs = 2, ",
        ),
        (lambda: model(shape={"dim": 4}).fit, "another network; expected dim = 8; found dim = 4"),
        (lambda: model(walks={"max_length": 3}).fit, "another walks; expected max_length = 4; found max_length = 3"),
    ],
)
def test_a_checkpoint_of_other_options_is_refused(halfway, other, words):
    with pytest.raises(tadge.InputError) as caught:
        other()(forum(), checkpoint=halfway, resume=True)
    assert words in str(caught.value)
    assert "say the same options, or start anew in another folder" in str(caught.value)
    assert str(halfway) in str(caught.value)


def test_a_checkpoint_of_other_data_is_refused(halfway):
    with pytest.raises(
        tadge.InputError, match=r"what is in this folder has another graph; expected '\w+'; found '\w+'"
    ):
        model().fit(forum(seed=1), checkpoint=halfway, resume=True)
    walks = sample_walks(forum(), walking(), 3)
    with pytest.raises(tadge.InputError, match="what is in this folder has another given walks; expected None"):
        model().fit(forum(), walks=walks, checkpoint=halfway, resume=True)
    assert read_folder(halfway, "checkpoint")[1]["position"]["total"] == 2  # it is as it was


def test_given_walks_are_told_apart(tmp_path, monkeypatch):
    one, other = (sample_walks(forum(), walking(), seed) for seed in (3, 4))
    monkeypatch.setattr(Saver, "__call__", stop_after(1, Saver.__call__))
    with pytest.raises(Stop):
        model().fit(forum(), walks=one, checkpoint=tmp_path, checkpoint_seconds=0)
    with pytest.raises(tadge.InputError, match="another given walks"):
        model().fit(forum(), walks=other, checkpoint=tmp_path, resume=True)
    monkeypatch.undo()
    found = model().fit(forum(), walks=one, checkpoint=tmp_path, resume=True)
    assert torch.equal(found.table_, model().fit(forum(), walks=one).table_)


def test_a_run_that_goes_on_holds_no_more_than_a_new_one(halfway, tmp_path, monkeypatch):
    """Values, two moments, the best: what was read is let go."""
    shutil.copytree(halfway, tmp_path, dirs_exist_ok=True)
    held = []

    def count(self, report, save, deadline):
        gc.collect()
        tables = [each for each in gc.get_objects() if type(each) is torch.Tensor and each.shape == (192, 8)]
        held.append(len({each.data_ptr() for each in tables}))
        return "done"

    monkeypatch.setattr("tadge.embedding.loop.Trainer.run", count)
    assert forum().num_nodes + 2 == 192
    model().fit(forum(), checkpoint=tmp_path, resume=False)
    model().fit(forum(), checkpoint=tmp_path, resume=True)
    assert held[1] <= held[0]


def test_without_resume_it_begins_anew(halfway, tmp_path):
    found = model().fit(forum(), checkpoint=tmp_path, resume=True)  # there is nothing to go on from
    assert torch.equal(found.table_, model().fit(forum()).table_)


# -- a run that is given more epochs -----------------------------------------------------------------------------------


def test_a_longer_run_goes_on_as_one_that_was_begun_so_long(tmp_path):
    """From a checkpoint: the very steps of a trainer whose plan is changed on the way."""
    expected = trainer()
    with pytest.raises(Stop):
        expected.run(nothing, stop_at(2 * len(expected.batches) + 1))
    write_checkpoint(tmp_path, expected, ABOUT | {"train": {"epochs": 3}})
    expected.config = training(epochs=5)
    expected.run(nothing, nothing)
    found = trainer(train={"epochs": 5})
    restore(found, *read_checkpoint(tmp_path, ABOUT | {"train": {"epochs": 5}}))
    assert found.position.lengthened == [3]
    found.run(nothing, nothing)
    assert_same(snapshot(found), snapshot(expected))
    begun_so_long = trainer(train={"epochs": 5})
    begun_so_long.run(nothing, nothing)
    rates = [[figures["lr"] for figures in run.position.history] for run in (found, begun_so_long)]
    assert rates[0][3:] == rates[1][3:]  # the same from there on
    assert rates[0][0] < rates[1][0]  # and not before


def stop_at(steps):
    def save(run):
        if run.position.total == steps:
            raise Stop

    return save


def test_a_model_that_is_done_is_trained_on(tmp_path):
    """From the best state in the folder, by `fit` and `fit_folder` alike; the first epochs stay in its history."""
    first = model(epochs=2).fit_folder(forum(), tmp_path / "run", progress=False)
    longer = model(epochs=4).fit_folder(forum(), tmp_path / "run", resume=True, progress=False)
    assert (longer.stopped_, longer.lengthened_) == ("done", [2])
    assert plain(longer.history_[:2]) == plain(first.history_)
    assert [figures["epoch"] for figures in longer.history_] == [1, 2, 3, 4]
    assert longer.history_[2]["lr"] == pytest.approx(model(epochs=4).fit(forum(), progress=False).history_[2]["lr"])
    assert TADGE.load(tmp_path / "run").lengthened_ == [2]
    first.save(tmp_path / "python")
    same = model(epochs=4).fit(forum(), checkpoint=tmp_path / "python", resume=True, progress=False)
    assert torch.equal(same.table_, longer.table_)
    taken = model(epochs=4).fit_folder(forum(), tmp_path / "run", resume=True, progress=False)
    assert torch.equal(taken.table_, longer.table_)
    with pytest.raises(tadge.InputError, match="another train; expected epochs = 4; found epochs = 3"):
        model(epochs=3).fit_folder(forum(), tmp_path / "run", resume=True, progress=False)
    with pytest.raises(tadge.InputError, match=r"another train; expected lr = 0\.003"):
        model(epochs=9, lr=0.1).fit_folder(forum(), tmp_path / "run", resume=True, progress=False)


def test_the_first_step_of_a_longer_run_is_a_first_step_of_adam(tmp_path):
    """With moments of zero no row moves further than the learning rate."""
    model(epochs=1).fit_folder(forum(), tmp_path, progress=False)
    before = TADGE.load(tmp_path).table_.clone()
    moved = []

    def one_step(self, run):
        moved.append((run.table.values - before).abs().max().item() / run.optimiser.param_groups[0]["lr"])
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Saver, "__call__", one_step)
        model(epochs=3).fit(forum(), checkpoint=tmp_path, resume=True, progress=False)
    assert moved[0] == pytest.approx(1.0, abs=0.01)


def test_a_run_that_stopped_early_waits_anew(tmp_path):
    options = {"lr": 0.3, "patience": 1}
    early = model(epochs=12, **options).fit_folder(forum(), tmp_path, progress=False)
    assert early.stopped_ == "early"
    longer = model(epochs=20, **options).fit_folder(forum(), tmp_path, resume=True, progress=False)
    assert len(longer.history_) > len(early.history_)


# -- trouble with the disk ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_disk_is_told_and_the_checkpoint_before_is_whole(tmp_path, monkeypatch, number):
    """The third checkpoint cannot be written; what the second says is enough to get to the same model."""
    real, written = os.fsync, []

    def full(handle):
        if len(written) == 2:
            raise OSError(number, os.strerror(number), "somewhere")
        real(handle)

    def count(folder, kind, parts, meta):
        from tadge.storage.folder import write_folder

        write_folder(folder, kind, parts, meta)
        written.append(meta["position"]["total"])

    monkeypatch.setattr("tadge.embedding.checkpoint.write_folder", count)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(tadge.InputError, match=r"cannot be written \(.*\); choose a folder that .* has room"):
        model().fit_folder(forum(), tmp_path, checkpoint_seconds=0)
    monkeypatch.undo()
    assert written == [1, 2]
    assert read_folder(tmp_path, "checkpoint")[1]["position"]["total"] == 2
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]
    model().fit_folder(forum(), tmp_path / "other")
    model().fit_folder(forum(), tmp_path, resume=True)
    assert files(tmp_path) == files(tmp_path / "other")
    assert not has_folder(tmp_path, "checkpoint")


def test_a_folder_that_cannot_be_written_is_told_before_training(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("tadge.embedding.loop.Trainer.run", lambda *_: pytest.fail("it has begun to train"))
    for folder in (tmp_path / "file", tmp_path / "file" / "inside", "/proc/none"):
        with pytest.raises(tadge.InputError):
            model().fit_folder(forum(), folder)


def files(folder):
    """The model's tensors; the names hold digests of the bytes."""
    names = sorted(path.name for path in Path(folder).glob("tadge-*.safetensors"))
    assert len(names) == 4
    return names


def test_what_a_killed_end_leaves_behind_goes_with_the_next_resume(tmp_path, monkeypatch):
    """Killed when the model was saved and the list of the checkpoint's files was gone, but not yet the files."""
    model().fit_folder(forum(), tmp_path)
    (tmp_path / f"checkpoint-table-{'a' * 16}.safetensors").write_bytes(b"left")
    model().fit_folder(forum(), tmp_path, resume=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [*files(tmp_path), "tadge.json"]


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def test_an_interrupted_fit_keeps_the_best_and_goes_on_to_the_same_model(tmp_path, monkeypatch):
    model().fit_folder(forum(), tmp_path / "whole")

    def interrupt(self, run):
        if run.position.total == 2 * len(run.batches) + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Saver, "__call__", interrupt)
    stopped = model().fit_folder(forum(), tmp_path / "cut")
    assert stopped.stopped_ == "interrupted"
    assert len(stopped.history_) == 2
    words = "interrupted after 2 of 3 epochs: its vectors are the best until then; resume the fit to go on"
    with pytest.warns(tadge.TadgeWarning, match=words):
        loaded = TADGE.load(tmp_path / "cut")
    with pytest.warns(tadge.TadgeWarning, match=words):
        assert np.array_equal(loaded.embed(), stopped.embed())
    for answer in (loaded.score_links, loaded.predict_toe):
        with pytest.warns(tadge.TadgeWarning, match=words):
            answer(3, 8)
    monkeypatch.undo()
    done = model().fit_folder(forum(), tmp_path / "cut", resume=True)
    assert done.stopped_ == "done"
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert not has_folder(tmp_path / "cut", "checkpoint")


def test_an_interrupt_in_the_first_epoch_keeps_the_beginning(tmp_path, monkeypatch):
    def interrupt(self, run):
        raise KeyboardInterrupt

    monkeypatch.setattr(Saver, "__call__", interrupt)
    stopped = model().fit_folder(forum(), tmp_path)
    assert stopped.history_ == []
    with pytest.warns(tadge.TadgeWarning, match="in its first epoch: its vectors hold nothing of when things happened"):
        assert np.isfinite(TADGE.load(tmp_path).embed()).all()


# -- the command line, interrupted -------------------------------------------------------------------------------------

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "POLARS_ALLOW_FORKING_THREAD": "1"}
OPTIONS = [
    *"--num-walks 150 --min-length 2 --max-length 4 --dim 8 --heads 1 --blocks 1 --dropout 0.1".split(),
    *"--epochs 4 --batch-size 60 --window 5 --window-step 4 --init random --precision float32 --resample".split(),
    *"--only vectors --seed 3 --threads 1 --checkpoint-seconds 0 --quiet --json".split(),
]


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """A file of events."""
    folder = tmp_path_factory.mktemp("killed")
    tadge.write_events(forum(500), folder / "events.csv")
    return folder


def test_ctrl_c_as_a_real_signal(events):
    folder = events / "interrupted"
    arguments = [sys.executable, "-m", "tadge", "fit", str(events / "events.csv"), "--out", str(folder), *OPTIONS]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | ENVIRONMENT
    )
    deadline = time.monotonic() + 60
    while not has_folder(folder, "checkpoint") and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped; the best so far is kept, and --resume goes on from here" in err
    assert "Traceback" not in err
    assert json.loads(out)["vectors"]["stopped"] == "interrupted"
    with pytest.warns(tadge.TadgeWarning, match="the training of this TADGE was interrupted"):
        assert np.isfinite(TADGE.load(folder).embed()).all()
    graph = tadge.read_events(events / "events.csv", quiet=True)
    done = same_model().fit_folder(graph, folder, resume=True)
    assert done.stopped_ == "done"
    same_model().fit_folder(graph, events / "never interrupted")
    assert files(folder) == files(events / "never interrupted")


def same_model():
    """What OPTIONS say."""
    train = {"epochs": 4, "batch_size": 60, "window": 5, "window_step": 4, "init": "random", "precision": "float32"}
    return TADGE(
        tadge.WalkConfig(num_walks=150, min_length=2, max_length=4),
        tadge.NetworkConfig(dim=8, heads=1, blocks=1, dropout=0.1),
        tadge.TrainConfig(**train, resample=True),
        seed=3,
    )
