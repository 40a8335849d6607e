"""Skip-gram on given sequences: which pairs it learns, and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest

from tadge import seeding
from tadge.deepwalk.sequences import sequence_vectors
from tadge.deepwalk.skipgram import RATE, alias_table, train_walks
from tadge.seeding import stream

KEY = stream(0, "pairs")
SMALL = 1e-3  # so small that all sigmoids are a half


def padded_sequences(count, num_nodes, longest, seed=0):
    rng = np.random.default_rng(seed)
    sequences = rng.integers(0, num_nodes, (count, longest)).astype(np.int32)
    sequences[np.arange(longest) >= rng.integers(1, longest + 1, count)[:, None]] = -1
    return sequences


@pytest.mark.parametrize("window", [1, 2, 10])
def test_pairs_are_those_of_brute_force_windows(window):
    """The context of a centre moves by about half the rate times the sum of the vectors that it was paired with."""
    nodes, sequences, pairs = 20, padded_sequences(100, 20, 5), 0
    noise = alias_table(np.append(np.zeros(nodes), 1.0))  # all negatives are a node that stands nowhere
    for number, sequence in enumerate(sequences):
        table, context = np.eye(nodes + 1, 32, dtype=np.float32), np.zeros((nodes + 1, 32), np.float32)
        train_walks(SMALL * table, context, sequence[None], noise, KEY, number, 1 << 40, window)
        walk = [node for node in sequence.tolist() if node >= 0]
        key, expected = np.uint64(seeding.walk_key(KEY, number)), np.zeros((nodes, nodes))
        for i, centre in enumerate(walk):
            reach = 1 + (((int(seeding.draw(key, 6 * i)) >> 32) * window) >> 32)
            assert 1 <= reach <= window
            for j, other in enumerate(walk):
                expected[centre, other] += 0 < abs(i - j) <= reach
        moved = context[:nodes, :nodes] / (0.5 * RATE * SMALL)
        np.testing.assert_array_equal(np.rint(moved), expected)
        pairs += expected.sum()
    assert pairs > 100
    if window == 1:  # every centre has its neighbours, no more
        assert pairs == 2 * ((sequences >= 0).sum(1) - 1).sum()


def test_planted_communities_come_out():
    rng = np.random.default_rng(1)
    community = rng.integers(0, 4, 3_000)
    sequences = (rng.integers(0, 15, (3_000, 5)) * 4 + community[:, None]).astype(np.int32)
    sequences[::3, 3:] = -1
    vectors = sequence_vectors(sequences, 60, 32, 0, window=10, epochs=10)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -1)
    assert (cosine.argmax(1) % 4 == np.arange(60) % 4).all()


def test_the_seed_decides_and_absent_nodes_have_zeros():
    sequences = padded_sequences(50, 20, 5) * 2  # -1 becomes -2: the end all the same; odd nodes stand nowhere
    one, again, other = (sequence_vectors(sequences, 40, 8, seed, window=3, epochs=2) for seed in (1, 1, 2))
    assert one.shape == (40, 8)
    assert one.tobytes() == again.tobytes()
    assert not np.isclose(one[::2], other[::2]).all(axis=1).any()
    assert (one[1::2] == 0).all()
    assert (np.abs(one[::2]).sum(1) > 0).all()
    assert not sequence_vectors(np.full((3, 4), -1), 5, 8, 0, window=2).any()


def test_epochs_go_on_where_the_last_one_ended():
    """Twice over the same sequences is once over the sequences and themselves."""
    sequences = padded_sequences(40, 10, 4)
    twice = sequence_vectors(sequences, 10, 8, 3, window=4, epochs=2)
    doubled = sequence_vectors(np.concatenate([sequences, sequences]), 10, 8, 3, window=4)
    assert twice.tobytes() == doubled.tobytes()
