from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tadge.graph.ids import encode, split_sides

near = st.integers(-50, 50)
far = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(*(st.one_of(near, far),) * 2), min_size=1, max_size=60), st.booleans(), st.booleans())
def test_numbers_and_texts_are_numbered_in_sorted_order(pairs, as_text, bipartite):
    src, dst = (list(column) for column in zip(*pairs, strict=True))
    if as_text:
        src, dst = [str(x) for x in src], [str(x) for x in dst]
    dtype = pl.String if as_text else pl.Int64
    u, v, ids, num_sources = encode(pl.Series(src, dtype=dtype), pl.Series(dst, dtype=dtype), bipartite)
    if bipartite:
        assert ids.tolist() == sorted(set(src)) + sorted(set(dst))
        assert num_sources == len(set(src))
    else:
        assert ids.tolist() == sorted({*src, *dst})
        assert num_sources == 0
    assert [ids[i] for i in u] == src
    assert [ids[i] for i in v] == dst
    assert u.dtype == v.dtype == np.int32


def test_chunked_columns_are_one_column():
    src = pl.concat([pl.Series([5, 1]), pl.Series([9])], rechunk=False)
    u, v, ids, _ = encode(src, pl.Series([1, 1, 5]))
    assert src.n_chunks() == 2
    assert ids.tolist() == [1, 5, 9]
    assert u.tolist() == [1, 0, 2]
    assert v.tolist() == [0, 0, 1]


@given(st.lists(st.tuples(near, near), min_size=1, max_size=60), st.booleans())
def test_sides_that_share_nothing_are_numbered_apart(pairs, apart):
    src, dst = (pl.Series(column) for column in zip(*pairs, strict=True))
    dst = dst + 1000 if apart else dst
    found = split_sides(*encode(src, dst)[:3])
    if set(src) & set(dst):
        assert found is None
    else:
        for one, other in zip(found, encode(src, dst, bipartite=True), strict=True):
            assert np.array_equal(one, other)
