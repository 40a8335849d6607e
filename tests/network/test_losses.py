from __future__ import annotations

import numpy as np
import pytest
import torch

import tadge
from tadge.config import check_windows, fewest_walks
from tadge.network import losses


def rand(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def printed(scores, target, allowed):
    """The paper's cross-entropy for one row, candidate by candidate."""
    total = sum(np.exp(scores[c]) for c in allowed)
    loss = 0.0
    for c in allowed:
        share = np.exp(scores[c]) / total
        loss -= np.log(share) if c == target else np.log(1 - share)
    return loss


def test_self_identification_is_a_loop_in_numpy():
    edges, vectors = rand(7, 4), rand(9, 4, seed=1)
    own = torch.tensor([0, 3, 3, 8, 1, 2, 0])
    expected = np.mean([printed((vectors @ edges[i]).numpy(), int(own[i]), range(9)) for i in range(7)])
    assert float(losses.self_identification(edges, vectors, own).loss) == pytest.approx(expected, rel=1e-10)


def test_edge_reconstruction_is_a_loop_in_numpy():
    nodes, negatives = rand(6, 4), rand(3, 4, seed=1)
    vertex = torch.tensor([10, 11, 12, 10, 13, 11])
    ends = torch.tensor([[0, 1], [1, 2], [3, 4], [4, 5]])
    for extra in (None, negatives):
        pool = nodes.numpy() if extra is None else np.vstack([nodes.numpy(), negatives.numpy()])
        terms = []
        for i, j in [(*e,) for e in ends.tolist()] + [(e[1], e[0]) for e in ends.tolist()]:
            scores = pool @ nodes[i].numpy()
            friends = {int(vertex[e[1 - e.index(i)]]) for e in ends.tolist() if i in e}
            allowed = [c for c in range(len(pool)) if c == j or (c != i and not (c < 6 and int(vertex[c]) in friends))]
            terms.append(printed(scores, j, allowed))
        found = float(losses.edge_reconstruction(nodes, ends, vertex, extra).loss)
        assert found == pytest.approx(np.mean(terms), rel=1e-10)


def test_edges_among_nodes_are_a_loop_in_numpy():
    nodes, vectors = rand(7, 4), rand(8, 4, seed=1)
    vertex, present = [0, 1, 2, 0, 3, 1, 1], 5  # node 4 has no edge, candidates 5 to 7 are no nodes of the batch
    nodes, vertex = torch.cat([nodes, rand(1, 4, seed=2)]), torch.tensor([*vertex, 4])
    ends = torch.tensor([[0, 1], [1, 2], [3, 4], [4, 5], [5, 6]])  # the last one links a node to itself
    pool = [nodes[vertex == node].mean(0).numpy() for node in range(present)] + list(vectors[present:].numpy())
    near = {frozenset((int(vertex[a]), int(vertex[b]))) for a, b in ends.tolist()}
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    terms, chosen = [], {}
    for u in range(present):
        scores = np.array([losses.SHARPNESS * cosine(pool[u], other) for other in pool])
        friends = {v for v in range(present) if v != u and frozenset((u, v)) in near}
        for v in sorted(friends):
            allowed = [c for c in range(len(pool)) if c != u and (c == v or c not in friends)]
            terms.append(printed(scores, v, allowed))
            chosen[u, v] = max(allowed, key=lambda c: scores[c])
    found = losses.edge_reconstruction_among_nodes(nodes, ends, vertex, vectors, present)
    assert len(terms) == 2 * 4  # pairs, both ways; one pair has two edges
    assert float(found.loss) == pytest.approx(np.mean(terms), rel=1e-10)
    assert found.target.tolist() == [v for _, v in chosen]
    assert found.predicted.tolist() == list(chosen.values())


def test_a_batch_without_edges_between_nodes_has_no_loss():
    nodes = rand(2, 4).requires_grad_()
    found = losses.edge_reconstruction_among_nodes(nodes, torch.tensor([[0, 1]]), torch.zeros(2, dtype=int), nodes, 1)
    found.loss.backward()
    assert float(found.loss.detach()) == 0.0
    assert not nodes.grad.any()


def test_toe_regression_is_a_loop_in_numpy():
    nodes, weight, toe = rand(6, 4), rand(4, seed=1), torch.rand(4, dtype=torch.float64)
    ends = torch.tensor([[0, 1], [1, 2], [3, 4], [4, 5]])
    errors = [
        (float(weight @ (nodes[i] + nodes[j])) - float(d)) ** 2 for (i, j), d in zip(ends.tolist(), toe, strict=True)
    ]
    assert float(losses.toe_regression(nodes, ends, toe, weight)) == pytest.approx(sum(errors) / (2 * 4))


def test_interval_regression_is_a_loop_in_numpy():
    structures, weight = rand(6, 4), rand(4, seed=1)
    begin = torch.tensor([14921.781385744907, 14921.8, 14925.0, 15000.0, 15000.5, 16825.05], dtype=torch.float64)
    windows = torch.tensor([[0, 2, 4], [5, 1, 3]])
    total = 0.0
    for window in windows.tolist():
        part = 0.0
        for a in range(3):
            for b in range(a):
                s, t = window[a], window[b]
                delta = 2 * np.arctan(abs(float(begin[s] - begin[t]))) / np.pi
                part += (float(weight @ (structures[s] + structures[t])) - delta) ** 2
        total += part / (3 * 2)
    assert float(losses.interval_regression(structures, begin, windows, weight)) == pytest.approx(total / 2)
    lone = losses.interval_regression(structures.requires_grad_(), begin, torch.arange(6)[:, None], weight)
    assert float(lone.detach()) == 0.0


def test_gradients():
    nodes, vectors = rand(5, 3).requires_grad_(), rand(6, 3, seed=1).requires_grad_()
    weight = rand(3, seed=2).requires_grad_()
    own, vertex = torch.tensor([0, 1, 5, 3, 3]), torch.tensor([0, 1, 0, 2, 3])
    ends, windows = torch.tensor([[0, 1], [3, 4]]), torch.tensor([[0, 1], [2, 3]])
    toe, begin = torch.rand(2, dtype=torch.float64), rand(5, seed=3)
    for loss in (
        lambda n, v, w: losses.self_identification(n, v, own).loss,
        lambda n, v, w: losses.edge_reconstruction(n, ends, vertex, v).loss,
        lambda n, v, w: losses.edge_reconstruction_among_nodes(n, ends, vertex, v, 4).loss,
        lambda n, v, w: losses.toe_regression(n, ends, toe, w),
        lambda n, v, w: losses.interval_regression(n, begin, windows, w),
    ):
        assert torch.autograd.gradcheck(loss, (nodes, vectors, weight))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 1e-5)])
@pytest.mark.parametrize("spread", [0.1, 2.0, 6.0])
def test_the_gradient_in_closed_form_is_that_of_the_formula_as_printed(dtype, tolerance, spread):
    scores, target = (spread * rand(40, 30)).to(dtype).requires_grad_(), torch.arange(40) % 30
    excluded = (rand(40, 30, seed=1) > 1).scatter(1, target[:, None], False)
    (found,) = torch.autograd.grad(losses.softmax_loss_with_negatives(scores, target, excluded).loss, scores)
    plain = scores.detach().double().requires_grad_()
    share = torch.where(excluded, 0.0, plain.exp())
    share = share / share.sum(1, keepdim=True)
    of_target = torch.zeros_like(share, dtype=torch.bool).scatter(1, target[:, None], True)
    (expected,) = torch.autograd.grad(-torch.where(of_target, share, 1 - share).log().sum() / 40, plain)
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)
    assert not found[excluded].any()


def test_a_sure_answer_has_finite_loss_and_gradient():
    for sure in (1e4, -1e4):
        scores = torch.tensor([[sure, 0.0, 0.0]], requires_grad=True)
        loss = losses.softmax_loss_with_negatives(scores, torch.tensor([0])).loss
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(scores.grad).all()


def test_lemma_2_and_the_overlap_are_checked():
    assert fewest_walks(10) == 74  # 100 - 30 + 3 = 73 < 74
    check_windows(10, 1)
    for step in (0, 10, 11):
        with pytest.raises(tadge.ConfigError, match="do not overlap"):
            check_windows(10, step)
    # what docs/method.md says of the lemma: 8 walks meet it for windows of 4, which have 60 / 2 pairs against 56 / 2
    assert fewest_walks(4) == 8
    assert (8 - 4 + 1) * 4 * 3 > 8 * 7
