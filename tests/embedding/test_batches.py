"""Windows and packed batches, against plain loops over the walks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from graphs import graphs, random_graph
from hypothesis import assume, given
from hypothesis import strategies as st

from small import forum, trainer
from tadge import sample_walks
from tadge.config import WalkConfig
from tadge.embedding.batches import Sequences, batch_windows, pack_batch, window_starts


@st.composite
def sizes(draw):
    window = draw(st.integers(2, 12))
    return draw(st.integers(window, 150)), window, draw(st.integers(1, window))


@given(sizes(), st.integers(2, 60))
def test_windows_cover_every_walk_and_batches_every_window(size, batch_size):
    num_walks, window, step = size
    starts = window_starts(num_walks, window, step)
    covered = {walk for start in starts.tolist() for walk in range(start, start + window)}
    assert covered == set(range(num_walks))
    assert (np.diff(starts) > 0).all()
    assert (np.diff(starts)[:-1] == step).all()
    order = np.random.default_rng(0).permutation(starts)
    batches = batch_windows(order, window, batch_size)
    assert all(batch.size <= max(batch_size, window) for batch in batches)
    assert all(batch.size > max(batch_size, window) - window for batch in batches[:-1])  # as many as fit
    rows = [row.tolist() for batch in batches for row in batch]
    assert rows == [list(range(start, start + window)) for start in order.tolist()]


def plain_walks(walks):
    """Walks in order of their start: (nodes, squashed ToEs, begin) each."""
    found = []
    for k in np.argsort(walks.tov[:, 0], kind="stable"):
        n = walks.lengths[k]
        toe = [0.0] + [2 * math.atan(walks.tov[k, i] - walks.tov[k, i - 1]) / math.pi for i in range(1, n)]
        found.append((walks.nodes[k, :n].tolist(), toe, walks.tov[k, 0]))
    return found


@given(graphs(max_events=40), st.integers(2, 5), st.integers(1, 4), st.integers(0, 100))
def test_a_packed_batch_is_a_plain_loop_over_its_walks(graph, window, num_windows, seed):
    assume(graph.toe_values().size and graph.num_occurrences >= window)
    walks = sample_walks(graph, WalkConfig(num_walks=60, min_length=1, max_length=4), seed)
    rng = np.random.default_rng(seed)
    windows = rng.integers(0, len(walks) - window + 1, num_windows)[:, None] + np.arange(window)
    batch = pack_batch(Sequences.of(walks), windows, graph.num_nodes)
    expected = [plain_walks(walks)[k] for k in windows.reshape(-1)]
    nodes, toe, begin = batch.rows[batch.candidate].tolist(), batch.toe.tolist(), batch.begin.tolist()
    lengths = batch.packing.lengths.tolist()
    assert sorted(lengths, reverse=True) == lengths
    assert len(nodes) == len(toe) == sum(lengths) == sum(len(walk[0]) for walk in expected)  # no padding
    assert sorted(batch.windows.reshape(-1).tolist()) == list(range(windows.size))
    for place, walk in zip(batch.windows.reshape(-1).tolist(), expected, strict=True):
        rows = [sum(lengths[:place]) + i for i in range(lengths[place])]  # after all rows of earlier walks
        assert [nodes[row] for row in rows] == walk[0]
        assert [toe[row] for row in rows] == pytest.approx(walk[1], abs=1e-6)
        assert begin[place] == walk[2]
    assert batch.rows[: batch.present].tolist() == sorted({node for walk in expected for node in walk[0]})
    assert batch.rows[batch.present :].tolist() == [graph.num_nodes, graph.num_nodes + 1]
    assert not batch.hidden.any()


def test_the_rows_of_the_table_can_be_others():
    graph = random_graph()
    walks = sample_walks(graph, WalkConfig(num_walks=40), 0)
    rows = np.random.default_rng(0).permutation(graph.num_nodes)
    rows[:10] = graph.num_nodes + 1  # unknown vertices
    windows = np.arange(40).reshape(4, 10)
    one = pack_batch(Sequences.of(walks), windows, graph.num_nodes)
    other = pack_batch(Sequences.of(walks, rows), windows, graph.num_nodes)
    assert (other.rows[other.candidate].numpy() == rows[one.rows[one.candidate].numpy()]).all()
    assert (other.hidden == (one.rows[one.candidate] < 10)).all()


@given(st.integers(0, 2**30), st.integers(1, 200), st.booleans())
def test_wrong_answers_are_never_vertices_of_the_batch(seed, negatives, some):
    graph = random_graph(num_nodes=60)
    rng = np.random.default_rng(seed)
    walks = Sequences.of(sample_walks(graph, WalkConfig(num_walks=40), 0))
    windows = rng.integers(0, 35, 2)[:, None] + np.arange(5)
    pool = np.arange(0, 60, 2) if some else np.arange(60)
    batch = pack_batch(walks, windows, 60, negatives=negatives, drawn_from=pool if some else None, rng=rng)
    inside, others = set(batch.rows[batch.candidate].tolist()), batch.rows[batch.present : -2].tolist()
    assert inside == set(batch.rows[: batch.present].tolist())
    assert len(set(others)) == len(others) <= negatives
    assert set(others) <= set(pool.tolist()) - inside
    if negatives >= 20:
        assert others
    every = pack_batch(walks, windows, 60, negatives=-1)
    assert set(every.rows[batch.present : -2].tolist()) == set(range(60)) - inside
    assert len(every.rows) == 62


def test_wrong_answers_are_drawn_evenly():
    graph = random_graph(num_nodes=60)
    walks = Sequences.of(sample_walks(graph, WalkConfig(num_walks=40), 0))
    count, rng, tries = np.zeros(60), np.random.default_rng(0), 3000
    for _ in range(tries):
        batch = pack_batch(walks, np.arange(5)[None], 60, negatives=10, rng=rng)
        count[batch.rows[batch.present : -2].numpy()] += 1
    expected = tries * (1 - (59 / 60) ** 10)
    others = count[count > 0]
    assert others.size == 60 - batch.present
    assert abs(others - expected).max() < 5 * math.sqrt(expected)


def test_the_share_of_hidden_vertices():
    graph = forum(1500)
    walks = Sequences.of(sample_walks(graph, WalkConfig(num_walks=400, min_length=2), 0))
    windows = np.arange(len(walks) // 10 * 10).reshape(-1, 10)
    hidden = pack_batch(walks, windows, graph.num_nodes, hidden=0.3, rng=np.random.default_rng(0)).hidden.double()
    assert float(hidden.mean()) == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / len(hidden)))


def test_whole_nodes_can_be_hidden():
    graph = forum()
    walks = Sequences.of(sample_walks(graph, WalkConfig(num_walks=200, min_length=2, max_length=4), 0))
    windows, rng = np.arange(200)[None], np.random.default_rng(0)
    batch = pack_batch(walks, windows, graph.num_nodes, hidden=0.3, hide_nodes=True, rng=rng)
    node, hidden = batch.candidate.numpy(), batch.hidden.numpy()
    fraction = np.bincount(node, hidden) / np.bincount(node)
    assert set(fraction) == {0.0, 1.0}
    assert fraction.mean() == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / fraction.size))


def test_an_epoch_is_all_windows_shuffled_with_their_walks_together():
    run = trainer()
    walks, plans = run.source.train_walks, [run._epoch_plan(epoch) for epoch in range(3)]
    orders = []
    for sequences, batches in plans:
        assert (np.diff(sequences.begin) >= 0).all()
        rows = np.concatenate(batches)
        assert (rows == rows[:, :1] + np.arange(5)).all()  # consecutive, in order of start
        orders.append(rows[:, 0].tolist())
        assert sorted(orders[-1]) == window_starts(len(walks), 5, 4).tolist()
        assert sorted(orders[-1]) != orders[-1]
    assert orders[0] != orders[1] != orders[2]
    assert [order.tolist() for order in run._epoch_plan(1)[1]] == [order.tolist() for order in plans[1][1]]
