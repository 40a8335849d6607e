from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from tadge.network.packing import Packing


@given(st.lists(st.integers(1, 7), min_size=1, max_size=12))
def test_rows_are_the_places_of_the_walks(lengths):
    lengths = torch.tensor(sorted(lengths, reverse=True))
    packing = Packing.of(lengths)
    expected = [(b, i) for i in range(int(lengths[0])) for b in range(len(lengths)) if i < lengths[b]]
    assert list(zip(packing.walk_of.tolist(), packing.step_of.tolist(), strict=True)) == expected
    assert packing.num_rows == int(lengths.sum())
    for row, (b, i) in enumerate(expected):
        assert packing.rows[b, i] == row
        assert packing.mask[b, i]
    assert int(packing.mask.sum()) == len(expected)
    assert packing.last_rows.tolist() == [expected.index((b, int(n) - 1)) for b, n in enumerate(lengths)]
    values = torch.randn(len(expected), 3)
    padded = packing.pad(values)
    assert torch.equal(packing.pack(padded), values)
    assert torch.equal(padded[~packing.mask], torch.zeros(int((~packing.mask).sum()), 3))
    longer, again = packing.with_end_token(), Packing.of(lengths + 1)
    assert longer.counts == again.counts
    assert torch.equal(longer.rows, again.rows)
