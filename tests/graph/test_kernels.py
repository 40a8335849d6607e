from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tadge.graph import kernels

floats = st.one_of(st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0, 1.0, 1e-300, -1e-300]))


@given(hnp.arrays(np.float64, st.integers(1, 200), elements=floats), st.booleans())
def test_events_come_into_order_of_time_and_ties_keep_theirs(time, weighted):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 2**31 - 1, (2, time.size)).astype(np.int32)
    weight = rng.random(time.size) if weighted else None
    order = np.argsort(time, kind="stable")
    found = kernels.in_time_order(src, dst, time, weight)
    for column, expected in zip(found, (src, dst, time, weight), strict=True):
        if expected is None:
            assert column is None
        else:
            np.testing.assert_array_equal(column, expected[order])
            assert column.dtype == expected.dtype


@given(hnp.arrays(np.uint64, st.integers(1, 300)))
def test_radix_sort_of_any_keys(keys):
    found, load = kernels.sort_by_key(keys.copy(), np.arange(keys.size, dtype=np.uint64))
    np.testing.assert_array_equal(load, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(found, np.sort(keys))
