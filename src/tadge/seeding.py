"""One seed in; named streams and numbers that depend only on (seed, walk, step) out.

A number is a hash of its counters, so it is the same in whatever order, thread or process it is asked for. The mixer
is the finaliser of SplitMix64 (Stafford's variant 13), applied twice: once per walk, once per draw.
`benchmarks/rng_battery.py` puts it through dieharder.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

import numba
import numpy as np

from tadge.errors import ConfigError

Made = TypeVar("Made")
_TORCH_GENERATOR = Lock()  # torch has one for the whole process

# Odd multipliers: steps that visit every 64-bit number before they repeat.
_PER_WALK = np.uint64(0x9E3779B97F4A7C15)
_PER_DRAW = np.uint64(0xD1342543DE82EF95)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_27, _30, _31, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


def check_seed(seed: int) -> int:
    """Return the seed as a plain integer, or refuse it."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0 or isinstance(seed, bool):
        cure = "the same seed gives the same answer"
        raise ConfigError("not a seed", expected="an integer from 0 up", found=repr(seed), cure=cure, where="seed")
    return number


def stream(seed: int, name: str) -> np.uint64:
    """Return the key of a named stream of this seed: streams of different names or seeds have nothing in common."""
    text = f"{check_seed(seed)}/{name}".encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))


def seeded(make: Callable[[], Made], seed: int, name: str) -> Made:
    """Make a torch module whose initial weights come from a named stream of this seed."""
    import torch

    with _TORCH_GENERATOR, torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, name) >> np.uint64(1)))
        return make()


@numba.njit(cache=True, inline="always")
def mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits, one to one: each bit in flips each bit out about half of the time."""
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return x ^ (x >> _31)


@numba.njit(cache=True, inline="always")
def walk_key(key: np.uint64, walk: int) -> np.uint64:
    """Return the key of one walk within a stream; walks of a stream never share a key."""
    return mix(key + _PER_WALK * (np.uint64(walk) + _ONE))  # type: ignore[no-any-return]


@numba.njit(cache=True, inline="always")
def draw(key: np.uint64, count: int) -> np.uint64:
    """Return the uniform 64-bit number of a walk's key and a counter."""
    return mix(key + _PER_DRAW * (np.uint64(count) + _ONE))  # type: ignore[no-any-return]


@numba.njit(cache=True, inline="always")
def unit(bits: np.uint64) -> float:
    """Turn 64 uniform bits into a number in [0, 1) with 53 of them."""
    return (bits >> _11) * (1.0 / 9007199254740992.0)
