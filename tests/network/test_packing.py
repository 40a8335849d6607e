from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from tadge.network.packing import Packing


@given(st.lists(st.integers(1, 7), min_size=1, max_size=12))
def test_rows_are_the_places_of_the_walks(lengths):
    lengths = torch.tensor(sorted(lengths, reverse=True))
    packing = Packing.of(lengths)
    expected = [(b, i) for b in range(len(lengths)) for i in range(int(lengths[b]))]
    assert list(zip(packing.walk_of.tolist(), packing.step_of.tolist(), strict=True)) == expected
    assert packing.num_rows == int(lengths.sum())
    for row, (b, i) in enumerate(expected):
        assert packing.rows[b, i] == row
        assert packing.mask[b, i]
    assert int(packing.mask.sum()) == len(expected)
    assert packing.last_rows.tolist() == [expected.index((b, int(n) - 1)) for b, n in enumerate(lengths)]
    assert packing.edges.tolist() == [[row - 1, row] for row, (_, i) in enumerate(expected) if i]
    values = torch.randn(len(expected), 3)
    walks = [values[[row for row, (of, _) in enumerate(expected) if of == b]] for b in range(len(lengths))]
    alike = packing.by_length(values)
    assert all(torch.equal(one, other) for one, other in zip((w for part in alike for w in part), walks, strict=True))
    steps = packing.by_step(values)
    for i, step in enumerate(steps):
        assert torch.equal(step, torch.stack([walk[i] for walk in walks if i < len(walk)]))
    assert torch.equal(packing.from_steps([*steps]), values)
    torch.testing.assert_close(packing.prefix_sums(values), torch.cat([walk.cumsum(0) for walk in walks]))
    longer, again = packing.with_end_token(), Packing.of(lengths + 1)
    assert longer.counts == again.counts
    assert torch.equal(longer.rows, again.rows)
