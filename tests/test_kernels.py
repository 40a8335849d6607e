from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tadge import kernels

floats = st.one_of(st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0, 1.0, 1e-300, -1e-300]))


@given(hnp.arrays(np.float64, st.integers(1, 200), elements=floats))
def test_time_order_is_the_stable_argsort(time):
    order = kernels.time_order(time)
    expected = np.argsort(time, kind="stable")
    if order is None:
        assert np.all(np.diff(time) >= 0)
    else:
        np.testing.assert_array_equal(order, expected)


@given(hnp.arrays(np.uint64, st.integers(1, 300)))
def test_radix_sort_of_any_keys(keys):
    np.testing.assert_array_equal(kernels.argsort_stable(keys), np.argsort(keys, kind="stable"))
