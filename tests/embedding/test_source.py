"""Walks to train on and walks held out: what is the same in every epoch, what differs, and what never meets."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from small import forum, training, walking
from tadge import sample_walks
from tadge.embedding.source import WalkSource
from tadge.graph import TemporalGraph


def make(graph=None, seed=0, walks=None, given=None, **changes):
    return WalkSource(graph or forum(), walking(**walks or {}), training(**changes), seed, given)


def starts(sequences):
    """The occurrences that forward walks begin at."""
    return set(zip(sequences.rows[:, 0].tolist(), sequences.begin.tolist(), strict=True))


def contents(sequences):
    rows = zip(sequences.rows, sequences.lengths, sequences.begin, strict=True)
    return [(begin, tuple(row[:length])) for row, length, begin in rows]


def as_set(walks):
    return {(tov[0], tuple(nodes[:n])) for nodes, tov, n in zip(walks.nodes, walks.tov, walks.lengths, strict=True)}


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.05, 0.1, 0.3, 0.5]), st.integers(2, 8), st.booleans())
def test_held_out_windows_share_no_start_with_training_in_any_epoch(seed, share, window, few):
    walks = {"num_walks": 80 if few else 10_000}
    source = make(seed=seed, walks=walks, held_out=share, window=window, window_step=1, resample=True)
    every = sample_walks(forum(), walking(**walks), seed)
    out = starts(source.held_out)
    assert len(source.held_out) == len(out) == round(share * (len(every) // window)) * window
    assert len(source.train_walks) + len(source.held_out) == len(every)
    assert set(contents(source.train_walks)) | set(contents(source.held_out)) == as_set(every)
    seen = []
    for epoch in range(4):
        sequences = source.epoch(epoch)
        assert not starts(sequences) & out
        assert (np.diff(sequences.begin) >= 0).all()
        seen.append(contents(sequences))
        assert contents(source.epoch(epoch)) == seen[-1]  # asked again: the same
    assert all(seen[a] != seen[b] for a in range(4) for b in range(a))


def test_held_out_walks_are_whole_windows_in_order_of_time():
    source = make(held_out=0.2)
    walks = sample_walks(forum(), walking(), 0)
    order = sorted(range(len(walks)), key=lambda k: walks.tov[k, 0])  # ties stay in the order of walks
    blocks = [order[k : k + 5] for k in range(0, len(order), 5)]
    out = [source.held_out.order[k : k + 5].tolist() for k in range(0, len(source.held_out), 5)]
    places = [blocks.index(block) for block in out]
    assert len(places) == round(0.2 * len(blocks))
    assert places == sorted(places)


def test_kept_walks_are_the_same_in_every_epoch():
    source = make()
    assert contents(source.epoch(0)) == contents(source.epoch(1)) == contents(source.epoch(7))
    assert contents(make(seed=1).epoch(0)) != contents(source.epoch(0))
    assert starts(make(seed=1).held_out) != starts(source.held_out)


def test_resampled_epochs_differ_from_each_other_but_are_as_large():
    source = make(resample=True)
    epochs = [contents(source.epoch(k)) for k in range(3)]
    assert epochs[0] == contents(source.train_walks)
    shared = len(set(epochs[0]) & set(epochs[1])) / len(epochs[0])
    assert shared < 0.9
    assert abs(len(epochs[1]) / len(epochs[0]) - 1) < 0.2


def test_nothing_held_out():
    source = make(held_out=0.0)
    assert len(source.held_out) == 0
    assert len(source.train_walks) == len(sample_walks(forum(), walking(), 0))


def test_walks_that_are_given_are_taken_in_every_epoch():
    walks = sample_walks(forum(), walking(num_walks=120), 9)
    source = make(given=walks, resample=True)
    assert set(contents(source.train_walks)) | set(contents(source.held_out)) == as_set(walks)
    assert contents(source.epoch(3)) == contents(source.epoch(0))


def test_given_walks_that_begin_alike_are_not_on_both_sides():
    graph = forum()
    once = sample_walks(graph, walking(num_walks=120), 0)
    walks = sample_walks(graph, walking(), 1, starts=np.repeat(once.starts, 3))
    source = make(given=walks, held_out=0.3)
    assert len(source.held_out)
    assert not starts(source.held_out) & starts(source.train_walks)


def none_of(walks):
    parts = {f.name: getattr(walks, f.name) for f in dataclasses.fields(walks)}
    return dataclasses.replace(walks, **{n: v[:0] for n, v in parts.items() if isinstance(v, np.ndarray)})


def test_too_few_walks_for_a_window():
    for walks in (20, 43):
        with pytest.raises(tadge.TadgeError, match=rf"at least 44 walks along the events; found {walks} walks"):
            make(walks={"num_walks": walks}, window=8, held_out=0.0)
    make(walks={"num_walks": 44}, window=8, held_out=0.0)
    with pytest.raises(tadge.TadgeError, match="at least 44 walks along the events; found 40 walks"):
        make(walks={"num_walks": 48}, window=8, held_out=0.2)  # those held out do not count
    with pytest.raises(tadge.TadgeError, match="found 0 walks"):
        make(given=none_of(sample_walks(forum(), walking(), 0)))


def test_no_walks_at_all():
    graph = TemporalGraph.from_arrays([0, 2], [1, 1], [0.0, 1.0], unit="days")
    with pytest.raises(tadge.InputError, match="no walk is long enough"):
        make(graph, walks={"min_length": 3})
    with pytest.raises(tadge.InputError, match="nothing to walk on"):
        make(TemporalGraph.from_arrays([0, 1], [1, 2], [0.0, 1.0], unit="days"))


def test_an_epoch_with_too_few_walks_for_a_window_is_told():
    """Whether a walk gets to three vertices is a matter of luck here: in some epochs hardly any does."""
    joins = [(n, n, 0.0) for n in range(8)]  # eight vertices join
    dead = [(10 + 10 * n + k, n, 1.0 + k / 100) for n in range(8) for k in range(5)]  # those nobody ever links to
    alive = [(100 + n, n, 2.0) for n in range(8)] + [(200 + n, 100 + n, 3.0) for n in range(8)]
    columns = (np.array(column) for column in zip(*joins, *dead, *alive, strict=True))
    graph = TemporalGraph.from_arrays(*columns, unit="days")
    config = training(window=3, window_step=1, held_out=0.0, resample=True)
    how = walking(min_length=3, max_length=3)
    told = 0
    for seed in range(60):
        try:
            source = WalkSource(graph, how, config, seed)
        except tadge.TadgeError:
            continue
        for epoch in range(1, 6):
            try:
                assert len(source.epoch(epoch)) >= 3
            except tadge.TadgeError as error:
                few = re.search("at least 3 walks along the events; found [12] walks along 64 events", str(error))
                assert few or "no walk is long enough" in str(error)
                told += few is not None
    assert told


@pytest.mark.parametrize("count", [4, 20, 60, 200])
def test_few_walks_have_smaller_windows_by_default(count):
    config = tadge.TrainConfig()
    source = WalkSource(forum(), walking(num_walks=count), config, 0)
    left = len(source.train_walks)
    assert left >= source.window**2 - 3 * source.window + 4  # Lemma 2
    if source.window < config.window:
        larger = source.window + 1
        assert left < larger**2 - 3 * larger + 4 + larger  # hardly any larger one would do
        assert f"windows of {source.window} walks instead of 10" in source.note
    assert (source.window == config.window) == (count == 200)
    assert 1 <= source.step < source.window
