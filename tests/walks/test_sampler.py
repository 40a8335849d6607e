from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from exact import CENTRALITIES, DIRECTIONS, REACHES, chi_square_p, links, uniform_p
from graphs import graphs, hub_graph, random_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from test_probability import has_links

from tadge.config import WalkConfig
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.walks import PAD, iter_walks, sample_walks, walk_probabilities
from tadge.walks import index as index_module
from tadge.walks import pool as pool_module

FIELDS = ("nodes", "tov", "toe", "events", "lengths", "starts")

configs = st.builds(
    WalkConfig,
    num_walks=st.integers(1, 60),
    max_length=st.integers(2, 7),
    min_length=st.integers(1, 2),
    reach=st.sampled_from(REACHES),
    direction=st.sampled_from(DIRECTIONS),
    centrality=st.sampled_from(CENTRALITIES),
)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name in ("tov", "toe")) for name in FIELDS)


def glued(chunks):
    parts = list(chunks)
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in FIELDS}


def check_walks(graph, walks):
    """Everything that is true of every walk."""
    toe_of = {
        (k, actor): graph.toe[k] if actor == graph.src[k] else graph.toe_reverse[k] for k, actor, _, _ in links(graph)
    }
    steps = {(k, actor, target) for k, actor, target, _ in links(graph)}
    config = walks.config
    assert (
        walks.nodes.shape == walks.tov.shape == walks.toe.shape == walks.events.shape == (len(walks), config.max_length)
    )
    for row in range(len(walks)):
        n = walks.lengths[row]
        assert config.min_length <= n <= config.max_length
        nodes, tov, toe, events = (getattr(walks, name)[row] for name in FIELDS[:4])
        assert (nodes[:n] != PAD).all()
        assert (nodes[n:] == PAD).all()
        assert (events[n:] == PAD).all()
        assert np.isnan(tov[n:]).all()
        assert np.isnan(toe[n:]).all()
        assert events[0] == PAD
        assert np.isnan(toe[0])
        assert (np.diff(tov[:n]) > 0).all()
        start = n - 1 if config.direction == "backward" else 0
        assert graph.tov_times[walks.starts[row]] == tov[start]
        assert tov[start] in graph.tov(int(nodes[start]))
        for i in range(1, n):
            assert (events[i], nodes[i], nodes[i - 1]) in steps
            assert graph.time[events[i]] == tov[i]
            assert tov[i - 1] in graph.tov(int(nodes[i - 1]))
            assert toe[i] == tov[i] - tov[i - 1]
            if config.reach == "occurrence":
                assert toe[i] == toe_of[events[i], nodes[i]]
        assert toe[1:n].sum() == pytest.approx(tov[n - 1] - tov[0], abs=1e-9)


@settings(max_examples=120)
@given(graphs(), configs, st.integers(0, 2**70), st.sampled_from([1, 2, 4]), st.integers(1, 9))
def test_every_walk_keeps_every_promise(graph, config, seed, threads, chunk):
    if not has_links(graph):
        with pytest.raises(InputError, match="nothing to walk on; expected events with a ToE"):
            sample_walks(graph, config, seed)
        return
    walks = sample_walks(graph, config, seed, threads=threads)
    check_walks(graph, walks)
    assert len(np.unique(walks.starts)) == len(walks)
    assert walks.complete == (len(walks) == config.num_walks)
    assert walks.complete or walks.starts_used == graph.num_occurrences
    assert bool(walks.note) != walks.complete
    chunks = list(iter_walks(graph, config, seed, threads=2, chunk=chunk))
    assert all(
        np.array_equal(value, getattr(walks, name), equal_nan=value.dtype.kind == "f")
        for name, value in glued(chunks).items()
    )
    assert [len(part) for part in chunks[:-1]] == [chunk] * (len(chunks) - 1)
    assert (chunks[-1].starts_used, chunks[-1].note) == (walks.starts_used, walks.note)
    done = 0
    for i, part in enumerate(chunks[:-1]):  # stop after any chunk and go on in another call
        done += len(part)
        rest = glued(iter_walks(graph, config, seed, chunk=3, skip_walks=done, skip_starts=part.starts_used))
        assert rest["starts"].tolist() == walks.starts[done:].tolist()
        assert np.array_equal(rest["events"], walks.events[done:])
        if i == 3:
            break


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("reach", REACHES)
def test_threads_tasks_and_chunks_do_not_show(reach, direction, monkeypatch):
    graph = random_graph(200, 20_000, span=20_000, directed=False)
    config = WalkConfig(num_walks=30_000, max_length=6, min_length=2, reach=reach, direction=direction)
    expected = sample_walks(graph, config, 7, threads=1)
    assert len(expected) > 10_000
    for threads, rows in ((1, 33), (2, 1_000), (4, 500), (4, 1 << 14)):
        monkeypatch.setattr(pool_module, "TASK_ROWS", rows)
        assert same(sample_walks(graph, config, 7, threads=threads), expected)
        parts = glued(iter_walks(graph, config, 7, threads=threads, chunk=777))
        assert all(np.array_equal(parts[n], getattr(expected, n), equal_nan=n in ("tov", "toe")) for n in FIELDS)
    assert not same(sample_walks(graph, config, 8), expected)


def test_another_process_draws_the_same_walks():
    code = """
import sys, hashlib
sys.path.insert(0, {folder!r})
from graphs import random_graph
from tadge.config import WalkConfig
from tadge.walks import sample_walks
for reach in ("occurrence", "future"):
    walks = sample_walks(random_graph(), WalkConfig(reach=reach), 3)
    print(hashlib.sha256(walks.events.tobytes() + walks.tov.tobytes() + walks.nodes.tobytes()).hexdigest())
print([name for name in ("torch", "tadge.model") if name in sys.modules])
"""
    folder = str(Path(__file__).parent)
    runs = [subprocess.check_output([sys.executable, "-c", code.format(folder=folder)], text=True) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].splitlines()[-1] == "[]"


def test_nothing_is_compiled_at_import():
    code = "from tadge.walks import build, kernels; print(build.fill_steps.signatures, kernels.walk_steps.signatures)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[] []"


# -- the samples follow the probabilities -----------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("reach", REACHES)
def test_sampled_steps_follow_the_probabilities(reach, direction):
    """Chi-square over many seeds: no p-value below 1e-6, all of them together uniform; false alarm 1 in 1,000."""
    p_values = []
    for seed in range(40):
        graph = random_graph(12, 200, seed, span=60, directed=seed % 2 == 0)
        centrality = CENTRALITIES[seed % 3]
        counts = [len(_step(graph, place, reach, centrality, direction)) for place in range(graph.num_occurrences)]
        for place in np.argsort(counts)[[-1, -20]]:
            step = _step(graph, place, reach, centrality, direction)
            config = WalkConfig(max_length=2, min_length=2, reach=reach, direction=direction, centrality=centrality)
            walks = sample_walks(graph, config, seed, starts=np.full(4_000, place))
            drawn = walks.events[:, 1] * 1e6 + walks.tov[:, 0 if direction == "backward" else 1]
            names = step.events * 1e6 + step.tov
            assert set(drawn) <= set(names)
            p_values.append(chi_square_p([np.sum(drawn == name) for name in names], step.probability))
    p_values = np.array(p_values)
    assert p_values.min() > 1e-6
    assert uniform_p(p_values[p_values < 1]) > 1e-3


def _step(graph, place, reach, centrality, direction):
    node = int(np.searchsorted(graph.tov_start, place, side="right") - 1)
    return walk_probabilities(graph, node, graph.tov_times[place], reach, centrality, direction)


@pytest.mark.parametrize("reach", REACHES)
def test_two_steps_in_a_row_are_independent(reach):
    graph = random_graph(12, 200, 5, span=60)
    counts = [len(_step(graph, place, reach, "degree", "forward")) for place in range(graph.num_occurrences)]
    place = int(np.argmax(counts))
    first = _step(graph, place, reach, "degree", "forward")
    joint = {}
    for node, tov, event, p in zip(first.nodes, first.tov, first.events, first.probability, strict=True):
        second = walk_probabilities(graph, int(node), tov, reach)
        for other, q in zip(second.events, second.probability, strict=True):
            joint[event, other] = p * q
        if not len(second):
            joint[event, PAD] = p
    walks = sample_walks(graph, WalkConfig(max_length=3, min_length=2, reach=reach), 1, starts=np.full(200_000, place))
    pairs, counts = np.unique(walks.events[:, 1:], axis=0, return_counts=True)
    found = dict(zip(map(tuple, pairs.tolist()), counts.tolist(), strict=True))
    assert found.keys() <= joint.keys()
    assert chi_square_p([found.get(pair, 0) for pair in joint], list(joint.values())) > 1e-4
    choice = np.searchsorted(first.events, walks.events[:, 1])  # and neighbouring walks know nothing of each other
    table = np.zeros((len(first), len(first)))
    np.add.at(table, (choice[0::2], choice[1::2]), 1)
    assert chi_square_p(table.ravel(), np.outer(first.probability, first.probability).ravel()) > 1e-4


@pytest.mark.parametrize("reach", REACHES)
def test_centralities_of_very_different_size(reach):
    """A few candidates have nearly all of the mass, so that hundreds of the others share a part of the guide."""
    rng = np.random.default_rng(0)
    linking = np.append(np.arange(2, 602), np.full(3, 602))  # the last one is a hub itself
    busy = np.full(200_000, 602)
    src = np.concatenate([[0], rng.permutation(linking), busy])
    dst = np.concatenate([[1], np.zeros(linking.size, np.int64), np.full(busy.size, 1)])
    graph = TemporalGraph.from_arrays(src, dst, np.arange(src.size, dtype=float), unit="days")
    config = WalkConfig(max_length=2, min_length=2, reach=reach)
    walks = sample_walks(graph, config, starts=np.zeros(2_000_000, np.int64))
    step = walk_probabilities(graph, 0, 0.0, reach)
    assert step.probability[step.nodes != int(graph.numbers(602))].sum() < 0.002
    counts = np.bincount(np.searchsorted(step.events, walks.events[:, 1]), minlength=len(step))
    assert chi_square_p(counts, step.probability) > 1e-4


@pytest.mark.parametrize("reach", REACHES)
def test_a_hub_with_more_candidates_than_fit_15_bits(reach):
    graph = hub_graph(100_000)
    config = WalkConfig(max_length=2, min_length=2, reach=reach)
    walks = sample_walks(graph, config, starts=np.zeros(300_000, np.int64))
    step = walk_probabilities(graph, 0, graph.tov(0)[0], reach)
    at = np.searchsorted(step.events, walks.events[:, 1])
    assert np.array_equal(step.events[at], walks.events[:, 1])
    assert np.array_equal(step.nodes[at], walks.nodes[:, 1])
    bins = np.arange(len(step)) * 500 // len(step)
    heavy = step.nodes == 1
    for some in (heavy, ~heavy):
        share = np.bincount(bins[some], step.probability[some], 500)
        counts = np.bincount(bins[at][some[at]], minlength=500)
        assert chi_square_p(counts, share / share.sum()) > 1e-4
    expected = step.probability[heavy].sum()
    assert abs(heavy[at].mean() - expected) < 5 * np.sqrt(expected * (1 - expected) / at.size)
    through = sample_walks(graph, WalkConfig(max_length=3, min_length=2, reach=reach), starts=_into_the_hub(graph))
    assert (through.nodes[:, 1] == 0).all()
    assert (through.lengths == 3).any()


def _into_the_hub(graph):
    """Occurrences of node 1 that the hub acts on: the next step goes to the hub's own candidates."""
    tov = graph.tov(1)
    first = int(graph.tov_start[1])
    acts = graph.tov(0)
    return np.array([first + np.searchsorted(tov, act) - 1 for act in acts[1:]]).repeat(50)


# -- starts -----------------------------------------------------------------------------------------------------------


def test_given_starts_are_used_in_order():
    graph = random_graph()
    config = WalkConfig(num_walks=1, min_length=1)
    places = np.arange(graph.num_occurrences)[::-3]
    walks = sample_walks(graph, config, starts=places)
    assert walks.starts.tolist() == places.tolist()
    assert walks.complete
    nodes = np.searchsorted(graph.tov_start, places, side="right") - 1
    assert same(sample_walks(graph, config, starts=(nodes, graph.tov_times[places])), walks)
    assert walks.nodes[:, 0].tolist() == nodes.tolist()
    backward = sample_walks(graph, WalkConfig(min_length=1, direction="backward"), starts=places)
    assert backward.nodes[np.arange(len(backward)), backward.lengths - 1].tolist() == nodes.tolist()
    assert len(sample_walks(graph, config, starts=np.empty(0, np.int64))) == 0
    short = sample_walks(graph, WalkConfig(min_length=3), starts=places)
    assert short.starts_used == places.size
    assert f"{len(short):,} walks: all {places.size:,} starts are used up" in short.note


def test_starts_are_uniform_over_occurrences():
    graph = random_graph(10, 60, span=30)
    counts = np.zeros(graph.num_occurrences)
    for seed in range(3_000):
        counts[sample_walks(graph, WalkConfig(num_walks=5, min_length=1), seed).starts] += 1
    assert chi_square_p(counts, np.full(counts.size, 1 / counts.size)) > 1e-4


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ([0, 10**9], r"starts: unknown start; expected occurrences from 0 to [\d,]+; found 1000000000 at 1"),
        ([-1], "unknown start"),
        (([0], [0.123]), r"unknown start; expected a node and one of its ToVs; found node 0 at 0\.123 \(start 0\)"),
        (([999], [0.0]), "starts: unknown node; expected one of the graph's 30 ids; found 999"),
        (([0, 1], [0.0]), "starts do not fit"),
        ([[0, 1]], "starts do not fit"),
        ([0.5], "starts do not fit"),
    ],
)
def test_unknown_starts_are_one_sentence(starts, message):
    with pytest.raises(InputError, match=message):
        sample_walks(random_graph(), starts=starts)


# -- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input_is_one_sentence():
    empty = TemporalGraph.from_arrays([], [], [], ids=[1, 2])
    with pytest.raises(InputError, match="the graph is empty"):
        sample_walks(empty)
    no_toe = TemporalGraph.from_arrays([0, 1], [1, 2], [5, 5], unit="days")
    with pytest.raises(InputError, match="nothing to walk on; expected events with a ToE; found none"):
        sample_walks(no_toe)
    short = TemporalGraph.from_arrays([0, 1], [1, 0], [0, 1], unit="days")
    with pytest.raises(InputError, match="no walk is long enough; expected walks of at least 3 nodes; found none"):
        sample_walks(short)
    with pytest.raises(InputError, match="no walk is long enough"):
        list(iter_walks(short))
    graph = random_graph()
    for bad in (0, 1.5, True, "2"):
        with pytest.raises(ConfigError, match="threads: "):
            sample_walks(graph, threads=bad)
    with pytest.raises(ConfigError, match="seed: not a seed"):
        sample_walks(graph, seed=-1)
    with pytest.raises(ConfigError, match="chunk: value too small"):
        iter_walks(graph, chunk=0)
    with pytest.raises(ConfigError, match="skip_walks"):
        iter_walks(graph, skip_walks=-1)


def test_more_walks_than_can_be_had_is_a_note():
    graph = random_graph()
    walks = sample_walks(graph, WalkConfig(num_walks=10**9))
    assert not walks.complete
    assert walks.starts_used == graph.num_occurrences
    assert walks.note.startswith(
        f"{len(walks):,} walks instead of 1,000,000,000: all {graph.num_occurrences} starts are used up"
    )
    assert "Walks(" in repr(walks)
    assert not list(iter_walks(graph, WalkConfig(num_walks=5), skip_walks=5, skip_starts=9))


# -- the index --------------------------------------------------------------------------------------------------------


def test_the_index_is_built_once_and_goes_with_the_graph():
    graph = random_graph()
    index = index_module.walk_index(graph, "occurrence", "forward", "degree")
    assert index_module.walk_index(graph, "occurrence", "forward", "degree") is index
    assert index_module.walk_index(graph, "future", "forward", "degree") is not index
    gone = weakref.ref(index)
    del graph, index
    gc.collect()
    assert gone() is None


def test_the_index_is_small():
    graph = random_graph(5_000, 100_000, span=10**6)
    limits = {"occurrence": 64, "future": 104}
    for reach, limit in limits.items():
        assert index_module.walk_index(graph, reach, "forward", "degree").nbytes <= limit * graph.num_events


def test_a_view_walks_over_its_own_events_only():
    graph = random_graph()
    view = graph.between(*np.quantile(graph.time, [0.3, 0.8]))
    for reach in REACHES:
        walks = sample_walks(view, WalkConfig(reach=reach))
        check_walks(view, walks)
