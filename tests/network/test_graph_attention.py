"""Graph attention within walks against dense numpy, walk by walk."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from tadge.config import NetworkConfig
from tadge.errors import ConfigError, MissingExtraError
from tadge.network.network import Network
from tadge.network.packing import Packing

pytest.importorskip("torch_geometric", reason="the extra gnn is not installed")
LENGTHS = torch.tensor([5, 4, 4, 3, 2, 1])
WINDOWS = torch.tensor([[3, 0, 5], [1, 4, 2]])


def make(**changes):
    torch.manual_seed(0)
    config = NetworkConfig(**{"dim": 3, "heads": 2, "blocks": 3, "queries": "next", "encoder": "gat"} | changes)
    network = Network(config, 6).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # biases begin at zero and would test nothing
    packing = Packing.of(LENGTHS)
    return network, torch.randn(packing.num_rows, 3, dtype=torch.float64), packing


def dense_layer(weights, prefix, x, heads, last, residual):
    """Embed one walk, (l, F), by Eq. 1 to 6 of Velickovic et al.: a row hears itself and its neighbours."""
    of, to = weights[f"{prefix}.att_src"][0], weights[f"{prefix}.att_dst"][0]  # (H, D)
    h = (x @ weights[f"{prefix}.lin.weight"].T).reshape(len(x), heads, -1)
    near = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x)))) <= 1
    results = []
    for head in range(heads):
        score = (h[:, head] @ to[head])[:, None] + (h[:, head] @ of[head])[None, :]
        score = np.where(score > 0, score, 0.2 * score)
        weight = np.where(near, np.exp(score), 0)
        results.append(weight / weight.sum(1, keepdims=True) @ h[:, head])
    result = np.mean(results, axis=0) if last else np.concatenate(results, axis=1)
    if residual:
        result = result + x @ weights[f"{prefix}.res.weight"].T
    return result + weights[f"{prefix}.bias"]


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("residual", [False, True])
def test_layers_are_those_of_dense_numpy(blocks, residual):
    network, x, packing = make(blocks=blocks, residual=residual)
    weights = {name: value.detach().numpy() for name, value in network.named_parameters()}
    rows = network.edge_formation(x, x.new_zeros(len(x)), x[0], packing).detach().numpy()
    for walk, made in zip(
        np.split(x.numpy(), LENGTHS.cumsum(0)[:-1]), np.split(rows, LENGTHS.cumsum(0)[:-1]), strict=True
    ):
        expected = walk
        for number in range(blocks):
            expected = np.where(expected > 0, expected, np.expm1(expected)) if number else expected
            prefix = f"graph_attention.layers.{number}"
            expected = dense_layer(weights, prefix, expected, 2, number == blocks - 1, residual)
        np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-12)


def test_rows_see_both_ways_but_no_toe():
    network, x, packing = make(blocks=1)
    x.requires_grad_()
    toe = torch.rand(len(x), dtype=torch.float64, requires_grad=True)
    rows = network.edge_formation(x, toe, x[0].detach(), packing)
    heard, of_toe = torch.autograd.grad(rows[1].sum(), (x, toe), allow_unused=True)
    assert of_toe is None
    assert torch.nonzero(heard.abs().sum(1))[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("structure", [False, True])
def test_structures_come_on_top(structure):
    network, x, packing = make(structure=structure)
    made = network(x, x.new_zeros(len(x)), x[0], packing, WINDOWS)
    assert made.nodes.shape == (packing.num_rows, 3)
    assert (made.structures is not None) == structure
    names = {name.split(".")[0] for name, _ in network.named_parameters()}
    assert names == {"graph_attention", "fusion"} | ({"structure", "end_row"} if structure else set())


def test_bfloat16_around_it_changes_nothing_within():
    network, x, packing = make()
    network, x = network.float(), x.float()
    with torch.autocast("cpu", torch.bfloat16):
        rows = network.graph_attention(x.bfloat16().float(), packing)
    assert rows.dtype == torch.float32
    assert torch.equal(rows, network.graph_attention(x.bfloat16().float(), packing))


def test_a_network_that_sees_whole_walks_is_no_forecast():
    with pytest.raises(ConfigError, match="queries: no such variant; expected next where the encoder is gat"):
        NetworkConfig(encoder="gat")


def test_the_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(MissingExtraError) as caught:
        Network(NetworkConfig(encoder="gat", queries="next"), 5)
    expected = "the encoder gat needs torch_geometric; expected the extra gnn; pip install 'tadge[gnn]'"
    assert str(caught.value) == expected
    assert "graph_attention" not in dict(Network(NetworkConfig(dim=4, heads=1, blocks=1), 5).named_modules())
