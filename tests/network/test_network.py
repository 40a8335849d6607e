from __future__ import annotations

import numpy as np
import pytest
import torch

from tadge.config import NetworkConfig
from tadge.network.attention import within_walks
from tadge.network.network import Network
from tadge.network.packing import Packing

LENGTHS = torch.tensor([5, 4, 4, 3, 2, 1])
WINDOWS = torch.tensor([[3, 0, 5], [1, 4, 2]])
MAX_LENGTH = 6


def make(queries="next", structure=True, blocks=2, heads=2, dim=3, seed=0, **further):
    torch.manual_seed(seed)
    config = NetworkConfig(
        dim=dim, heads=heads, blocks=blocks, dropout=0.0, queries=queries, structure=structure, **further
    )
    network = Network(config, MAX_LENGTH).double()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if any(part in name for part in ("norm", "end_row", "bias", "skip")):
                parameter.add_(0.3 * torch.randn_like(parameter))  # at their initial values they would test nothing
    packing = Packing.of(LENGTHS)
    x = torch.randn(packing.num_rows, dim, dtype=torch.float64)
    toe = torch.rand(packing.num_rows, dtype=torch.float64) * (packing.step_of > 0)
    end = torch.randn(dim, dtype=torch.float64)
    return network, x, toe, end, packing


def pad(packing, rows):
    """Lay rows out as walks, (B, L, ...), padded with zeros."""
    return torch.nn.utils.rnn.pad_sequence(torch.split(rows, packing.lengths.tolist()), batch_first=True)


# -- the equations in plain numpy, walk by walk and vertex by vertex ---------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Plain:
    """The paper's formulas with the network's weights; every weight is looked up by name."""

    def __init__(self, network):
        self.w = {name: value.detach().numpy() for name, value in network.named_parameters()}
        self.config = network.config

    def norm(self, name, x):
        centred = x - x.mean(-1, keepdims=True)
        return (
            self.w[name + ".weight"] * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
            + self.w[name + ".bias"]
        )

    def lstm(self, x, toe):  # Eq. 2-11
        k = self.config.dim
        part = {gate: slice(i * k, (i + 1) * k) for i, gate in enumerate("fgoc")}
        h, c, states = np.zeros(k), np.zeros(k), []
        for i in range(len(x)):
            short = np.tanh(self.w["time_lstm.short_term.weight"] @ c + self.w["time_lstm.short_term.bias"])
            c = (c - short) + short / np.log(np.e + toe[i])
            gate = {
                name: sigmoid(
                    self.w["time_lstm.inputs.weight"][rows] @ x[i]
                    + self.w["time_lstm.states.weight"][rows] @ h
                    + self.w["time_lstm.inputs.bias"][rows]
                )
                for name, rows in part.items()
            }
            c = gate["f"] * c + gate["g"] * gate["c"]
            h = gate["o"] * np.tanh(c)
            states.append(h)
        return np.array(states)

    def attention(self, name, asking, context, masked):  # Eq. 12-16
        k = self.config.dim
        z, q_all = [], []
        for o in range(self.config.heads):
            rows = slice(o * k, (o + 1) * k)
            q = asking @ self.w[name + ".queries.weight"][rows].T
            key = context @ self.w[name + ".keys.weight"][rows].T
            value = context @ self.w[name + ".values.weight"][rows].T
            score = q @ key.T / np.sqrt(k)
            if masked:
                score = np.where(np.tril(np.ones_like(score)) > 0, score, -np.inf)
            z.append(softmax(score) @ value)
            q_all.append(q)
        return self.norm(name + ".norm", np.hstack(z) + np.hstack(q_all))

    def feed_forward(self, name, x):  # Eq. 17
        inner = np.maximum(0, x @ self.w[name + ".first.weight"].T + self.w[name + ".first.bias"] + x)
        return self.norm(name + ".norm", inner @ self.w[name + ".second.weight"].T + self.w[name + ".second.bias"])

    def block(self, name, asking, context, masked=True):
        return self.feed_forward(name + ".feed_forward", self.attention(name, asking, context, masked))

    def edges(self, x, toe, end):  # one walk: Eq. 2-23
        if self.config.queries == "next":
            states = self.lstm(np.vstack([x, end]), np.append(toe, 0.0))
            h, asking = states[:-1], states[1:]
        else:
            h = asking = self.lstm(x, toe)
        queries = self.attention("encoder.0", asking, asking, masked=True)
        for n in range(self.config.blocks):
            h = self.block(f"encoder.{n}", h, h) + self.config.residual * h
        for n in range(self.config.blocks):
            made = self.block(f"decoder.{n}", queries, h)
            queries = made + queries if n and self.config.residual else made
        return queries

    def around(self, x, i):  # ours: what goes around the blocks
        if not self.config.skip:
            return 0.0
        at, before, *after = self.w["skip"]
        total = at * x[i] + (before * x[i - 1] if i > 0 else 0.0)
        return total + after[0] * x[i + 1] if after and i + 1 < len(x) else total

    def structure_of(self, edges, i):  # Eq. 24 with rows after i replaced by the end's
        rows = [edges[j] if j <= i and j < len(edges) else self.w["end_row"] for j in range(MAX_LENGTH)]
        return np.sum(rows, axis=0)


@pytest.mark.parametrize("queries", ["next", "self"])
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("ours", [(), ("residual",), ("skip",)], ids=["printed", "residual", "skip"])
def test_every_equation_in_plain_numpy(queries, blocks, ours):
    network, x, toe, end, packing = make(queries, blocks=blocks, residual="residual" in ours, skip="skip" in ours)
    out = network(x, toe, end, packing, WINDOWS)
    plain = Plain(network)
    found = {name: pad(packing, getattr(out, name)).detach().numpy() for name in ("edges", "nodes")}
    inputs, deltas = pad(packing, x).numpy(), pad(packing, toe).numpy()
    lengths = LENGTHS.tolist()
    edges = [plain.edges(inputs[b, :n], deltas[b, :n], end.numpy()) for b, n in enumerate(lengths)]
    for b, n in enumerate(lengths):
        np.testing.assert_allclose(found["edges"][b, :n], edges[b], rtol=1e-9, atol=1e-11)
    for window in WINDOWS.tolist():
        for b in window:
            for i in range(lengths[b]):
                h = np.array([plain.structure_of(edges[other], i) for other in window])
                r_s = plain.block("structure", h, h, masked=False)[window.index(b)]  # Eq. 25-30
                fused = plain.feed_forward("fusion", (edges[b][i] + r_s)[None])[0]  # Eq. 31
                fused += plain.around(inputs[b, : lengths[b]], i)
                np.testing.assert_allclose(found["nodes"][b, i], fused, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(out.structures[b].detach().numpy(), r_s, rtol=1e-8, atol=1e-10)


def test_gradients_of_the_whole_network():
    network, x, toe, end, packing = make(heads=1, dim=2, blocks=1)
    names = list(dict(network.named_parameters()))
    inputs = [x.requires_grad_(), toe.requires_grad_(), end.requires_grad_()]

    def run(x, toe, end, *parameters):
        named = dict(zip(names, parameters, strict=True))
        out = torch.func.functional_call(network, named, (x, toe, end, packing, WINDOWS))
        return out.edges, out.structures, out.nodes

    assert torch.autograd.gradcheck(run, (*inputs, *network.parameters()), fast_mode=True)


@pytest.mark.parametrize("queries", ["next", "self"])
@pytest.mark.parametrize("residual", [False, True], ids=["printed", "residual"])
def test_one_attention_serves_encoder_and_decoder(queries, residual):
    """Block 0 attends once for "self"; values and gradients are as if it had attended twice."""
    network, x, toe, end, packing = make(queries, residual=residual)
    attend, calls = within_walks(packing), []

    def twice(x, toe, end):
        h = following = network.time_lstm(x, toe, packing)
        if queries == "next":
            h, following = network._with_end(x, toe, end, packing)
        asking, context = network.encoder[0].attention(following, following, attend), h
        for block in network.encoder:
            context = block(context, context, attend)
        for block in network.decoder:
            asking = block(asking, context, attend)
        return asking

    inputs = x.requires_grad_(), toe.requires_grad_(), end.requires_grad_()
    used = [*inputs[: 3 if queries == "next" else 2], *network.time_lstm.parameters(), *network.encoder.parameters()]
    expected = twice(*inputs)
    weights = torch.randn_like(expected)
    gradients = torch.autograd.grad((expected * weights).sum(), used)
    network.encoder[0].norm.register_forward_hook(lambda *_: calls.append(1))
    edges = network.edge_formation(*inputs, packing)
    assert len(calls) == (2 if queries == "next" else 1)
    torch.testing.assert_close(edges, expected, rtol=1e-12, atol=1e-12)
    for found, gradient in zip(torch.autograd.grad((edges * weights).sum(), used), gradients, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-10, atol=1e-12)


# -- behaviour ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("queries", "seen_ahead"), [("self", 0), ("next", 1)])
@pytest.mark.parametrize("skip", [False, True])
def test_what_a_row_sees_of_what_comes_later(queries, seen_ahead, skip):
    network, x, toe, end, packing = make(queries, skip=skip)
    before = network(x, toe, end, packing, WINDOWS)
    for step in range(1, 5):
        later = packing.step_of >= step
        changed = network(
            torch.where(later[:, None], x + 1, x), torch.where(later, 1 - toe, toe), end, packing, WINDOWS
        )
        blind = packing.step_of + seen_ahead < step
        assert torch.equal(changed.nodes[blind], before.nodes[blind])  # bit by bit
        sees = (packing.step_of == step - seen_ahead) & (packing.lengths[packing.walk_of] > step)
        if sees.any():
            assert not torch.isclose(changed.nodes[sees], before.nodes[sees]).all()


def test_permuting_the_walks_permutes_the_result():
    network, x, toe, end, packing = make()
    before = network(x, toe, end, packing, WINDOWS)
    order = torch.tensor([0, 2, 1, 3, 4, 5])  # the two walks of four vertices change places
    padded = {name: pad(packing, value)[order] for name, value in (("x", x), ("toe", toe))}
    place = torch.argsort(order)
    after = network(padded["x"][packing.mask], padded["toe"][packing.mask], end, packing, place[WINDOWS])
    torch.testing.assert_close(pad(packing, after.nodes), pad(packing, before.nodes)[order])
    torch.testing.assert_close(after.structures, before.structures[order])


def test_walks_of_other_windows_change_nothing():
    network, x, toe, end, packing = make()
    before = network(x, toe, end, packing, WINDOWS)
    second = torch.isin(packing.walk_of, WINDOWS[1])
    changed = network(torch.where(second[:, None], x * 2, x), toe, end, packing, WINDOWS)
    assert torch.equal(changed.nodes[~second], before.nodes[~second])
    assert not torch.isclose(changed.nodes[second], before.nodes[second]).all()


def test_walks_of_one_window_see_each_other_only_through_structures():
    network, x, toe, end, packing = make()
    before = network(x, toe, end, packing, WINDOWS)
    other = packing.walk_of == 0
    changed = network(torch.where(other[:, None], x * 2, x), toe, end, packing, WINDOWS)
    beside = torch.isin(packing.walk_of, torch.tensor([3, 5]))
    assert torch.equal(changed.edges[beside], before.edges[beside])
    assert not torch.isclose(changed.nodes[beside], before.nodes[beside]).all()
    plain, x, toe, end, packing = make(structure=False)
    one = plain(x, toe, end, packing, WINDOWS)
    two = plain(torch.where(other[:, None], x * 2, x), toe, end, packing, WINDOWS)
    assert one.structures is None
    assert torch.equal(one.nodes[~other], two.nodes[~other])


@pytest.mark.parametrize("queries", ["next", "self"])
def test_without_times_it_is_as_if_no_edge_took_any(queries):
    timed, x, toe, end, packing = make(queries)
    told = timed(x, toe, end, packing, WINDOWS)
    untold = timed(x, torch.zeros_like(toe), end, packing, WINDOWS)
    plain = make(queries, timed=False)[0](x, toe, end, packing, WINDOWS)
    assert torch.equal(plain.nodes, untold.nodes)
    assert not torch.isclose(plain.nodes, told.nodes).all()


def test_the_decay_of_days_is_that_of_days():
    network, x, toe, end, packing = make(lstm_toe="days")
    squashed, days = make()[0], torch.tan(toe * torch.pi / 2)
    expected = squashed(x, days, end, packing, WINDOWS)
    torch.testing.assert_close(network(x, toe, end, packing, WINDOWS).nodes, expected.nodes)
    assert torch.isfinite(network(x, torch.ones_like(toe), end, packing, WINDOWS).nodes).all()


def test_the_candidate_memory_is_the_one_asked_for():
    printed, x, toe, end, packing = make()
    usual = make(candidate="tanh")[0]
    assert not torch.isclose(
        printed(x, toe, end, packing, WINDOWS).nodes, usual(x, toe, end, packing, WINDOWS).nodes
    ).all()
    printed.time_lstm.activate_candidate = torch.tanh
    assert torch.equal(printed(x, toe, end, packing, WINDOWS).nodes, usual(x, toe, end, packing, WINDOWS).nodes)


def test_dropout_only_in_training():
    torch.manual_seed(0)
    network = Network(NetworkConfig(dim=8, heads=1, blocks=1, dropout=0.5), MAX_LENGTH)
    packing = Packing.of(LENGTHS)
    arguments = (torch.randn(packing.num_rows, 8), torch.zeros(packing.num_rows), torch.randn(8), packing, WINDOWS)
    assert not torch.equal(network(*arguments).nodes, network(*arguments).nodes)
    network.eval()
    assert torch.equal(network(*arguments).nodes, network(*arguments).nodes)
