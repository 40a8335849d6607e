"""Lazy Adam, against torch's and a loop in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge.embedding.table import EmbeddingTable, with_own_rows

N, D = 9, 4


def steps(seed, count):
    """Random touched rows, gradients and learning rates."""
    rng = np.random.default_rng(seed)
    for step in range(1, count + 1):
        rows = rng.permutation(N - 1)[: rng.integers(1, N - 1)]  # the last row is never touched
        gradient = rng.standard_normal((rows.size, D)) * 10.0 ** rng.integers(-6, 3)
        yield step, rows, gradient.astype(np.float32), float(rng.uniform(1e-4, 1e-1))


@given(st.integers(0, 10_000), st.integers(1, 15))
def test_touched_rows_move_as_in_plain_adam_and_others_not_by_a_bit(seed, count):
    start = np.random.default_rng(seed + 1).standard_normal((N, D)).astype(np.float32)
    table = EmbeddingTable(torch.from_numpy(start.copy()))
    values, first, second = start.astype(np.float64), np.zeros((N, D)), np.zeros((N, D))
    for step, rows, gradient, lr in steps(seed, count):
        before = {name: tensor.clone() for name, tensor in table.tensors().items()}
        table.update(torch.from_numpy(rows), torch.from_numpy(gradient), lr, step)
        for row, g in zip(rows, gradient.astype(np.float64), strict=True):
            first[row] = 0.9 * first[row] + 0.1 * g
            second[row] = 0.999 * second[row] + 0.001 * g**2
            share = first[row] / (1 - 0.9**step), second[row] / (1 - 0.999**step)
            values[row] -= lr * share[0] / (np.sqrt(share[1]) + 1e-8)
        others = np.setdiff1d(np.arange(N), rows)
        for name, tensor in table.tensors().items():
            assert torch.equal(tensor[others], before[name][others])
    np.testing.assert_allclose(table.values.numpy(), values, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(table.first.numpy(), first, rtol=1e-4, atol=1e-5 * abs(first).max())
    np.testing.assert_allclose(table.second.numpy(), second, rtol=1e-4, atol=1e-5 * abs(second).max())
    assert torch.equal(table.values[-1], torch.from_numpy(start[-1]))


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_it_is_the_sparse_adam_of_torch(seed):
    torch.manual_seed(seed)
    start = torch.randn(N, D)
    table, weight = EmbeddingTable(start.clone()), start.clone().requires_grad_()
    optimiser = torch.optim.SparseAdam([weight], lr=0.01)
    for step, rows, _, lr in steps(seed, 12):
        gradient = torch.randn(rows.size, D)  # of order 1: torch adds its epsilon elsewhere
        weight.grad = torch.sparse_coo_tensor(torch.from_numpy(rows)[None], gradient, (N, D), check_invariants=True)
        optimiser.param_groups[0]["lr"] = lr
        optimiser.step()
        table.update(torch.from_numpy(rows), gradient, lr, step)
    torch.testing.assert_close(table.values, weight.detach(), rtol=1e-4, atol=1e-5)
    state = optimiser.state[weight]
    torch.testing.assert_close(table.first, state["exp_avg"])
    torch.testing.assert_close(table.second, state["exp_avg_sq"])


def test_what_is_taken_is_a_copy_that_gathers_gradients():
    table = EmbeddingTable(torch.arange(12.0).reshape(4, 3))
    rows = torch.tensor([2, 0])
    taken = table.take(rows)
    (taken * torch.tensor([[1.0], [2.0]])).sum().backward()
    assert torch.equal(taken.grad, torch.tensor([[1.0] * 3, [2.0] * 3]))
    with torch.no_grad():
        taken.zero_()
    assert table.values.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert not table.values.requires_grad


def test_a_gradient_of_zero_moves_nothing():
    table = EmbeddingTable(torch.ones(3, 2))
    table.update(torch.tensor([1]), torch.zeros(1, 2), 0.1, 1)
    assert table.values.tolist() == [[1, 1]] * 3
    table.update(torch.tensor([1]), torch.full((1, 2), 1e-30), 0.1, 2)  # squares vanish
    assert table.values == pytest.approx(torch.ones(3, 2))


def test_unknown_nodes_get_a_row_of_their_own_and_others_keep_theirs():
    table = torch.randn(7, 400, generator=torch.Generator().manual_seed(0))  # five nodes, the end, the unknown node
    rows = np.array([3, 6, 0, 6, 6, 1])
    ids = np.array(["a", "b", "c", "d", "e", "f"])
    longer, found = with_own_rows(table, rows, ids, 5)
    assert longer.shape == (10, 400)
    assert torch.equal(longer[found[[0, 2, 5]]], table[[3, 0, 1]])
    assert torch.equal(longer[-2:], table[-2:])  # the end and the unknown node stay the last ones
    own = longer[found[[1, 3, 4]]]
    assert len(set(found[[1, 3, 4]])) == 3
    torch.testing.assert_close(own @ own.T, torch.eye(3), rtol=0.3, atol=0.3)
    assert not torch.isclose(with_own_rows(table, rows, ids, 6)[0][found[1]], longer[found[1]]).all()
    fewer, place = with_own_rows(table, rows[[4, 0, 1]], ids[[4, 0, 1]], 5)  # the same, whoever else is there
    assert torch.equal(fewer[place], longer[found[[4, 0, 1]]])
    assert rows.tolist() == [3, 6, 0, 6, 6, 1]
