"""The losses on a batch of real walks, from the network's outputs in plain numpy."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from small import forum, network
from tadge import sample_walks
from tadge.config import WalkConfig
from tadge.embedding.batches import Sequences, pack_batch
from tadge.network import losses
from tadge.network.training_model import LOSSES, TrainingModel

WINDOWS = np.array([[0, 1, 2, 3], [7, 8, 9, 10], [3, 4, 5, 6]])  # one walk is in two windows


def make(negatives=15, hidden=0.0, seed=0, **changes):
    """TrainingModel with random weights, a batch of real walks, and its rows of a random table."""
    graph = forum(700)
    walks = sample_walks(graph, WalkConfig(num_walks=300, min_length=2, max_length=4), seed)
    sequences = Sequences.of(walks)
    rng = np.random.default_rng(seed)
    batch = pack_batch(sequences, WINDOWS, graph.num_nodes, negatives=negatives, hidden=hidden, rng=rng)
    torch.manual_seed(seed)
    tasks = TrainingModel(network(**changes), 4).eval()
    with torch.no_grad():
        for weight in (tasks.interval_weight, tasks.toe_weight):
            weight.normal_(std=0.3)  # at zero they would test nothing
    table = torch.randn(graph.num_nodes + 2, tasks.network.config.dim)
    chosen = [
        (walks.nodes[k, : walks.lengths[k]].tolist(), walks.tov[k, : walks.lengths[k]])
        for k in sequences.order[WINDOWS.reshape(-1)]
    ]
    return tasks, batch, table, chosen


def rows_of(batch):
    """The rows of every walk, in order of the windows, from the lengths alone."""
    lengths = batch.packing.lengths.tolist()
    return [[sum(lengths[:place]) + i for i in range(lengths[place])] for place in batch.windows.reshape(-1).tolist()]


def printed(scores, right):
    """The paper's cross-entropy of one question: the scores of the candidates, and which is right."""
    share = np.exp(scores - scores.max())
    share /= share.sum()
    return -np.log(share[right]) - sum(np.log(1 - p) for c, p in enumerate(share) if c != right)


def recomputed(tasks, batch, table, walks, made):
    """All losses, walk by walk, vertex by vertex."""
    edges, nodes = made.edges.detach().double().numpy(), made.nodes.detach().double().numpy()
    table = table.double().numpy()
    names = batch.rows.tolist()
    hidden = batch.hidden.tolist()
    rows = rows_of(batch)
    vertex = {
        row: node for own, (walk, _) in zip(rows, walks, strict=True) for row, node in zip(own, walk, strict=True)
    }
    identity = [
        printed(table[names[:-2]] @ edges[row], names.index(node)) for row, node in vertex.items() if not hidden[row]
    ]
    neighbours = {row: set() for row in vertex}
    for own in rows:
        for one, other in pairwise(own):
            neighbours[one].add(other)
            neighbours[other].add(one)
    negatives = table[names[batch.present : -2]]
    linked = []
    for row, others in neighbours.items():
        barred = {vertex[other] for other in others}
        pool = [c for c in vertex if c != row and vertex[c] not in barred]
        for right in others:
            candidates = np.concatenate([nodes[[right]], nodes[pool], negatives])
            linked.append(printed(candidates @ nodes[row], 0))
    toe_weight, interval_weight = (w.detach().double().numpy() for w in (tasks.toe_weight, tasks.interval_weight))
    toe = [
        ((nodes[own[i]] + nodes[own[i - 1]]) @ toe_weight - 2 * math.atan(tov[i] - tov[i - 1]) / math.pi) ** 2 / 2
        for own, (_, tov) in zip(rows, walks, strict=True)
        for i in range(1, len(own))
    ]
    interval = [0.0]
    if made.structures is not None:
        structures = made.structures.detach().double().numpy()
        interval, places, size = [], batch.windows.tolist(), WINDOWS.shape[1]
        for w, window in enumerate(places):
            begin = [walks[w * size + s][1][0] for s in range(size)]
            total = sum(
                (
                    (structures[window[a]] + structures[window[b]]) @ interval_weight
                    - 2 * math.atan(abs(begin[a] - begin[b])) / math.pi
                )
                ** 2
                for a in range(size)
                for b in range(a)
            )
            interval.append(total / (size * (size - 1)))
    found = {"self": np.mean(identity), "interval": np.mean(interval), "edge": np.mean(linked), "toe": np.mean(toe)}
    return found | ahead(tasks, nodes, table, names[:-2], rows, walks)


def ahead(tasks, nodes, table, names, rows, walks):
    """What is asked of every edge's target, in which nothing later is seen: who acts, and after how long."""
    if tasks.network.config.queries == "next":
        return {"who": 0.0, "when": 0.0}
    weight, constant = tasks.when.weight.detach().double().numpy()[0], float(tasks.when.bias.detach())
    who, when = [], []
    for own, (walk, tov) in zip(rows, walks, strict=True):
        for i in range(1, len(own)):
            target, toe = nodes[own[i - 1]], 2 * math.atan(tov[i] - tov[i - 1]) / math.pi
            share = np.exp(table[names] @ target)
            who.append(-np.log(share[names.index(walk[i])] / share.sum()))
            shown = table[walk[i]] * math.sqrt(table.shape[1])
            when.append((np.append(target, shown) @ weight + constant - toe) ** 2 / 2)
    return {"who": np.mean(who), "when": np.mean(when)}


@pytest.mark.parametrize(("structure", "queries"), [(True, "next"), (False, "next"), (True, "self")])
@pytest.mark.parametrize(("negatives", "hidden"), [(15, 0.0), (15, 0.3), (-1, 0.1), (0, 0.0)])
def test_the_losses_in_plain_numpy(structure, queries, negatives, hidden):
    tasks, batch, table, walks = make(negatives, hidden, structure=structure, queries=queries)
    vectors = table[batch.rows]
    made = tasks.embed(batch, vectors)
    outcome = tasks.compute_losses(batch, vectors, made)
    expected = recomputed(tasks, batch, table, walks, made)
    found = dict(zip(LOSSES, outcome.losses.tolist(), strict=True))
    assert found == pytest.approx(expected, rel=2e-5)
    assert (expected["interval"] > 0) == structure
    if negatives == -1:
        assert sorted(batch.rows.tolist()) == list(range(len(table)))  # every vertex is a candidate


def test_the_likeliest_candidates_are_chosen():
    tasks, batch, table, _ = make(15, 0.2)
    vectors = table[batch.rows]
    made = tasks.embed(batch, vectors)
    outcome = tasks.compute_losses(batch, vectors, made)
    shown = np.flatnonzero(~batch.hidden.numpy())
    scores = made.edges.detach().numpy()[shown] @ vectors[:-2].numpy().T
    assert outcome.identity.predicted.tolist() == scores.argmax(1).tolist()
    assert outcome.identity.target.tolist() == batch.candidate.numpy()[shown].tolist()
    ends = batch.packing.edges.tolist()
    nodes = made.nodes.detach().numpy()
    pool = np.concatenate([nodes, vectors.numpy()[batch.present : -2]])
    vertex = batch.candidate.tolist()
    names = [*vertex, *range(batch.present, len(vectors) - 2)]  # the candidate that each of the pool is
    assert outcome.edges.target.tolist() == [vertex[b] for _, b in ends] + [vertex[a] for a, _ in ends]
    for k, (one, right) in enumerate(ends + [end[::-1] for end in ends]):
        barred = {vertex[b] for a, b in ends if a == one} | {vertex[a] for a, b in ends if b == one}
        score = pool @ nodes[one]
        for c in range(len(nodes)):
            if c != right and (c == one or vertex[c] in barred):
                score[c] = -np.inf
        assert int(outcome.edges.predicted[k]) in {names[c] for c in np.flatnonzero(score >= score.max() - 1e-5)}


def test_edges_are_asked_among_rows_nodes_or_both():
    tasks, batch, table, _ = make(15, 0.2)
    vectors = table[batch.rows]
    made = tasks.embed(batch, vectors)
    found = {kind: tasks.compute_losses(batch, vectors, made, kind) for kind in ("rows", "nodes", "both")}
    edge = {kind: float(outcome.losses[LOSSES.index("edge")].detach()) for kind, outcome in found.items()}
    alone = losses.edge_reconstruction_among_nodes(
        made.nodes, batch.packing.edges, batch.candidate, vectors[:-2], batch.present
    )
    assert edge["nodes"] == pytest.approx(float(alone.loss.detach()))
    assert edge["both"] == pytest.approx((edge["rows"] + edge["nodes"]) / 2)
    assert torch.equal(found["both"].edges.predicted, alone.predicted)


# -- hidden vertices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queries", ["next", "self"])
def test_a_hidden_vertex_is_not_shown_and_not_asked_for(queries):
    tasks, batch, table, _ = make(queries=queries)
    target = int(batch.candidate[0])
    batch = batch._replace(hidden=batch.candidate == target)
    vectors = table[batch.rows]
    before = tasks.embed(batch, vectors)
    for candidate in range(len(vectors)):
        changed = vectors.clone()
        changed[candidate] += 1
        after = tasks.embed(batch, changed)
        seen = not torch.equal(after.nodes, before.nodes)
        # the network sees all vertices of the batch but the hidden one; the unknown one (the last) instead, and
        # where the next vertex asks, the end of the sequence (the one before the last)
        end = candidate == len(vectors) - 2 and queries == "next"
        inside = candidate < batch.present and candidate != target
        assert seen == (inside or end or candidate == len(vectors) - 1), candidate
    identity = tasks.compute_losses(batch, vectors, before).identity
    assert identity.target.tolist() == batch.candidate[batch.candidate != target].tolist()


def test_a_row_that_shows_the_unknown_vertex_equals_one_that_has_its_vector():
    tasks, batch, table, _ = make(hidden=0.3)
    assert 0 < int(batch.hidden.sum()) < len(batch.hidden)
    vectors = table[batch.rows]
    made = tasks.embed(batch, vectors)
    # a batch in which those rows are of one more vertex, not hidden, whose vector is the unknown one's
    place = len(vectors) - 2
    twin = torch.cat([vectors[:place], vectors[-1:], vectors[place:]])
    other = batch._replace(
        rows=torch.cat([batch.rows[:place], batch.rows[-1:], batch.rows[place:]]),
        candidate=torch.where(batch.hidden, place, batch.candidate),
        hidden=torch.zeros_like(batch.hidden),
    )
    assert torch.equal(tasks.embed(other, twin).nodes, made.nodes)


def test_hidden_rows_that_are_shown_as_given_vectors_equal_rows_that_have_them():
    tasks, batch, table, _ = make()
    batch = batch._replace(hidden=batch.candidate % 3 == 0)
    vectors = table[batch.rows]
    given = torch.randn(len(vectors) - 2, vectors.shape[1], generator=torch.Generator().manual_seed(1))
    shown = torch.where((torch.arange(len(given)) % 3 == 0)[:, None], given, vectors[:-2])
    other = batch._replace(hidden=torch.zeros_like(batch.hidden))
    expected = tasks.embed(other, torch.cat([shown, vectors[-2:]])).nodes
    assert torch.equal(tasks.embed(batch, vectors, given).nodes, expected)


def test_where_nothing_is_asked_the_loss_is_zero():
    """Every vertex hidden; walks of one vertex, which have no edges."""
    tasks, batch, table, _ = make()
    vectors = table[batch.rows].requires_grad_()
    batch = batch._replace(hidden=torch.ones_like(batch.hidden))
    outcome = tasks.compute_losses(batch, vectors, tasks.embed(batch, vectors))
    assert torch.isfinite(outcome.losses).all()
    assert float(outcome.losses[0].detach()) == 0.0
    outcome.losses.sum().backward()
    assert torch.isfinite(vectors.grad).all()


def test_walks_of_one_vertex_ask_for_no_edge():
    graph = forum(700)
    sequences = Sequences.of(sample_walks(graph, WalkConfig(num_walks=300, min_length=1, max_length=4), 0))
    short = sequences.take(sequences.lengths == 1)
    batch = pack_batch(short, np.arange(8).reshape(2, 4), graph.num_nodes)
    tasks = make()[0]
    vectors = torch.randn(len(batch.rows), 8, requires_grad=True)
    outcome = tasks.compute_losses(batch, vectors, tasks.embed(batch, vectors))
    assert torch.isfinite(outcome.losses).all()
    assert outcome.losses[2:].tolist() == [0.0] * (len(LOSSES) - 2)
    outcome.losses.sum().backward()
    assert torch.isfinite(vectors.grad).all()
