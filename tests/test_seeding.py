from __future__ import annotations

import numba
import numpy as np
import pytest

from tadge.errors import ConfigError
from tadge.seeding import draw, mix, stream, unit, walk_key

WALKS, DRAWS = 1 << 16, 16


@numba.njit
def table(key, walks, draws):
    out = np.empty((walks, draws), np.uint64)
    for walk in range(walks):
        of_walk = walk_key(key, walk)
        for count in range(draws):
            out[walk, count] = draw(of_walk, count)
    return out


@numba.njit
def units(bits):
    out = np.empty(bits.size)
    for i in range(bits.size):
        out[i] = unit(bits[i])
    return out


@numba.njit
def flips(inputs):
    """How often each bit out changes with each bit in, (64, 64)."""
    count = np.zeros((64, 64))
    for x in inputs:
        whole = mix(x)
        for i in range(64):
            changed = whole ^ mix(x ^ (np.uint64(1) << np.uint64(i)))
            for o in range(64):
                count[i, o] += (changed >> np.uint64(o)) & np.uint64(1)
    return count / inputs.size


@pytest.fixture(scope="module")
def numbers():
    return table(stream(0, "walks"), WALKS, DRAWS)


def test_streams_are_fixed_and_apart():
    assert stream(0, "walks") == np.uint64(0x50585F0B09962553)  # for ever
    assert len({int(stream(seed, name)) for seed in range(1_000) for name in ("walks", "starts", "split")}) == 3_000
    assert stream(2**100, "walks") != stream(2**100 + 1, "walks")


def test_numbers_are_uniform(numbers):
    values = units(numbers.ravel())
    assert values.min() >= 0
    assert values.max() < 1
    counts = np.bincount((values * 1024).astype(int), minlength=1024)
    expected = values.size / 1024
    chi = np.sum((counts - expected) ** 2 / expected)
    assert abs(chi - 1023) < 5 * np.sqrt(2 * 1023)
    low_bytes = np.bincount((numbers.ravel() & np.uint64(255)).astype(int), minlength=256)
    chi = np.sum((low_bytes - values.size / 256) ** 2 / (values.size / 256))
    assert abs(chi - 255) < 5 * np.sqrt(2 * 255)


def test_no_two_numbers_are_the_same(numbers):
    assert np.unique(numbers).size == numbers.size


def test_walks_draws_and_seeds_do_not_correlate(numbers):
    values = units(numbers.ravel()).reshape(numbers.shape) - 0.5
    limit = 5 / 12  # five standard errors of a mean of products of two uniforms, times sqrt(n)
    for lag in (1, 2, 3, 7):
        for a, b in ((values[:-lag], values[lag:]), (values[:, :-lag], values[:, lag:])):
            assert abs(np.mean(a * b)) < limit / np.sqrt(a.size)
    first = (
        units(np.array([table(stream(seed, "walks"), 8, 8).ravel() for seed in range(2_000)]).ravel()).reshape(
            2_000, 64
        )
        - 0.5
    )
    assert abs(np.mean(first[:-1] * first[1:])) < limit / np.sqrt(first[1:].size)
    assert np.abs(np.corrcoef(first.T) - np.eye(64)).max() < 6 / np.sqrt(2_000)


def test_every_bit_in_flips_every_bit_out_half_of_the_time():
    share = flips(np.random.default_rng(0).integers(0, 2**64, 4_000, dtype=np.uint64))
    assert np.abs(share - 0.5).max() < 6 * 0.5 / np.sqrt(4_000)
    counters = flips(np.arange(4_000, dtype=np.uint64))  # small counters too
    assert np.abs(counters - 0.5).mean() < 0.03


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None, True])
def test_bad_seeds_are_one_sentence(seed):
    with pytest.raises(ConfigError, match="seed: not a seed; expected an integer from 0 up"):
        stream(seed, "walks")
