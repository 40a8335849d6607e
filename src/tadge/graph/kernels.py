"""Compiled loops over the arrays of a graph: sorting by time, renumbering ids, ToV and ToE.

Axes: E events in order of time, N nodes, O occurrences (node, ToV).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tadge.arrays import Days, Ints, Nodes

AHEAD = 24  # events: how far ahead of its use a cache line is asked for
SIGN = np.uint64(1 << 63)
DIGIT = 11  # bits per pass of the radix sort: 2,048 counters stay in the first-level cache


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Ask for the cache line of an address, and do not wait for it."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, *[number] * 3])
        )
        pointer = builder.inttoptr(arguments[0], byte)
        builder.call(fetch, [pointer, *(ir.Constant(number, value) for value in (0, 3, 1))])  # read, keep, data
        return context.get_dummy_value()

    return types.void(types.uintp), codegen


@numba.njit(cache=True)
def sort_by_key(
    keys: npt.NDArray[np.uint64], load: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Sort keys, (E,), and the load that goes with each, (E,); equal keys keep their order. Both arrays are used up.

    Radix sort from the least significant digit. The load travels with its key, so that every pass reads in order and
    only its writes are scattered.
    """
    n = keys.size
    low, high = keys.min(), keys.max()
    mask = np.uint64((1 << DIGIT) - 1)
    key, next_key = keys, np.empty_like(keys)
    next_load = np.empty_like(load)
    for i in range(n):
        key[i] -= low
    shift = np.uint64(0)
    while shift < 64 and (high - low) >> shift:
        start = np.zeros((1 << DIGIT) + 1, np.int64)
        for one in key:
            start[np.int64((one >> shift) & mask) + 1] += 1
        for k in range(1 << DIGIT):
            start[k + 1] += start[k]
        for i in range(n):
            digit = np.int64((key[i] >> shift) & mask)
            to = start[digit]
            start[digit] = to + 1
            next_key[to] = key[i]
            next_load[to] = load[i]
        key, next_key = next_key, key
        load, next_load = next_load, load
        shift += np.uint64(DIGIT)
    for i in range(n):
        key[i] += low
    return key, load


@numba.njit(cache=True)
def _time_keys(time: Days) -> npt.NDArray[np.uint64]:
    """Turn floats, (E,), into integers of the same order."""
    bits = time.view(np.uint64)
    keys = np.empty(time.size, np.uint64)
    for i in range(time.size):
        key = np.uint64(0) if time[i] == 0.0 else bits[i]  # -0.0 is 0.0
        keys[i] = ~key if key & SIGN else key | SIGN
    return keys


@numba.njit(cache=True)
def _pair_up(src: Nodes, dst: Nodes) -> npt.NDArray[np.uint64]:
    """Put the two nodes of every event into one number, (E,)."""
    pairs = np.empty(src.size, np.uint64)
    for i in range(src.size):
        pairs[i] = np.uint64(src[i]) << np.uint64(32) | np.uint64(dst[i])
    return pairs


@numba.njit(cache=True)
def _take_apart(
    keys: npt.NDArray[np.uint64], pairs: npt.NDArray[np.uint64], src: Nodes, dst: Nodes
) -> npt.NDArray[np.uint64]:
    """Write the nodes of pairs to src and dst, (E,) each, and return the bits of the times that keys were made of."""
    for i in range(pairs.size):
        src[i], dst[i] = np.int32(pairs[i] >> np.uint64(32)), np.int32(pairs[i] & np.uint64(0xFFFF_FFFF))
        keys[i] = keys[i] ^ SIGN if keys[i] & SIGN else ~keys[i]
    return keys


def in_time_order(src: Nodes, dst: Nodes, time: Days, weight: Days | None) -> tuple[Nodes, Nodes, Days, Days | None]:
    """Bring the columns of events, (E,) each, into order of time; events of one instant keep their order."""
    if np.all(time[1:] >= time[:-1]):
        return src, dst, time, weight
    if weight is not None:
        order = sort_by_key(_time_keys(time), np.arange(time.size, dtype=np.uint64))[1].view(np.int64)
        return src[order], dst[order], time[order], weight[order]
    keys, pairs = sort_by_key(_time_keys(time), _pair_up(src, dst))  # the nodes travel with their time
    src, dst = np.empty_like(src), np.empty_like(dst)
    return src, dst, _take_apart(keys, pairs, src, dst).view(np.float64), None


@numba.njit(cache=True)
def mark_used(values: Ints, low: int, used: npt.NDArray[np.bool_]) -> None:
    """Set `used[value - low]` for every value."""
    for value in values:
        used[value - low] = True


@numba.njit(cache=True)
def renumber(values: Ints, low: int, number: Nodes, out: Nodes) -> None:
    """Write `number[value - low]` of every value to `out`, with no temporary of the values' size."""
    for i in range(values.size):
        out[i] = number[values[i] - low]


@numba.njit(cache=True)
def join_times(src: Nodes, dst: Nodes, time: Days, num_nodes: int, every_role: bool) -> tuple[Days, Ints, Days]:
    """Find ToE of events and ToV of nodes (Definition 1) in two passes over the events in order of time.

    An event's ToE reaches back to the latest ToV of its target strictly before it: events of one instant do not see
    each other, so the ToEs of an instant are read before its ToVs are written.

    Returns:
        toe: (E,), NaN where the target had not joined before.
        start: (N+1,), node v's ToVs are `tov[start[v]:start[v+1]]`.
        tov: (O,), ascending within a node.
    """
    num_events = time.size
    toe = np.empty(num_events)
    joins = np.zeros(num_events, np.uint8)  # 1: the source joins by this event, 2: the target does
    state = np.zeros((num_nodes, 2))  # latest ToV and number of ToVs, side by side: one cache miss for both
    state[:, 0] = np.nan
    state_at = np.uintp(state.ctypes.data)
    i = 0
    while i < num_events:
        t = time[i]
        end = i
        while end < num_events and time[end] == t:
            if end + AHEAD < num_events:
                prefetch(state_at + np.uintp(16) * np.uintp(src[end + AHEAD]))
                prefetch(state_at + np.uintp(16) * np.uintp(dst[end + AHEAD]))
            toe[end] = t - state[dst[end], 0]
            end += 1
        for k in range(i, end):
            u, v = src[k], dst[k]
            if state[u, 0] != t:  # NaN (never seen) differs from everything
                state[u, 0] = t
                state[u, 1] += 1
                joins[k] = 1
            if np.isnan(state[v, 0]) or (every_role and state[v, 0] != t):
                state[v, 0] = t
                state[v, 1] += 1
                joins[k] |= 2
        i = end

    start = np.zeros(num_nodes + 1, np.int64)
    for v in range(num_nodes):
        start[v + 1] = start[v] + np.int64(state[v, 1])
    free = start[:-1].copy()
    tov = np.empty(start[num_nodes])
    free_at, tov_at = np.uintp(free.ctypes.data), np.uintp(tov.ctypes.data)
    for k in range(num_events):
        if k + AHEAD < num_events:
            prefetch(free_at + np.uintp(8) * np.uintp(src[k + AHEAD]))
            prefetch(tov_at + np.uintp(8) * np.uintp(free[src[k + AHEAD // 2]]))
        if joins[k] & 1:
            tov[free[src[k]]] = time[k]
            free[src[k]] += 1
        if joins[k] & 2:
            tov[free[dst[k]]] = time[k]
            free[dst[k]] += 1
    return toe, start, tov


@numba.njit(cache=True)
def toe_from_index(node: Nodes, time: Days, start: Ints, tov: Days) -> Days:
    """Return t minus the latest ToV of the node strictly before t, for events in order of time; NaN without one."""
    toe = np.empty(time.size)
    at = start[:-1].copy()  # per node, the first ToV not known to be earlier than now
    for k in range(time.size):
        v, t = node[k], time[k]
        while at[v] < start[v + 1] and tov[at[v]] < t:
            at[v] += 1
        toe[k] = t - tov[at[v] - 1] if at[v] > start[v] else np.nan
    return toe


@numba.njit(cache=True)
def keep_earlier(start: Ints, tov: Days, end: float) -> tuple[Ints, Days]:
    """Cut a ToV index to what lies strictly before `end`."""
    num_nodes = start.size - 1
    kept_start = np.zeros(num_nodes + 1, np.int64)
    for v in range(num_nodes):
        kept_start[v + 1] = kept_start[v] + np.searchsorted(tov[start[v] : start[v + 1]], end)
    kept = np.empty(kept_start[num_nodes])
    for v in range(num_nodes):
        n = kept_start[v + 1] - kept_start[v]
        kept[kept_start[v] : kept_start[v + 1]] = tov[start[v] : start[v] + n]
    return kept_start, kept


@numba.njit(cache=True)
def count_degrees(src: Nodes, dst: Nodes, num_nodes: int) -> Ints:
    """Count the events each node takes part in, (N,); a self-link counts once."""
    degree = np.zeros(num_nodes, np.int64)
    for k in range(src.size):
        degree[src[k]] += 1
        if src[k] != dst[k]:
            degree[dst[k]] += 1
    return degree
