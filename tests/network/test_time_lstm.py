from __future__ import annotations

import numpy as np
import torch

from tadge.network.packing import Packing
from tadge.network.time_lstm import TimeLSTM

LENGTHS = torch.tensor([5, 4, 4, 2, 1])


def batch(dim=3, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    packing = Packing.of(LENGTHS)
    x = torch.randn(packing.num_rows, dim, dtype=dtype)
    toe = torch.rand(packing.num_rows, dtype=dtype) * (packing.step_of > 0)
    return packing, x, toe


def pad(packing, rows):
    """Lay rows out as walks, (B, L, ...), padded with zeros."""
    return torch.nn.utils.rnn.pad_sequence(torch.split(rows, packing.lengths.tolist()), batch_first=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_walk(module, x, toe):
    """Equations 2 to 11 for one walk, vertex by vertex and gate by gate."""
    weights = {name: value.detach().numpy() for name, value in module.named_parameters()}
    dim = x.shape[1]
    W = {gate: weights["inputs.weight"][i * dim : (i + 1) * dim] for i, gate in enumerate("fgoc")}
    U = {gate: weights["states.weight"][i * dim : (i + 1) * dim] for i, gate in enumerate("fgoc")}
    b = {gate: weights["inputs.bias"][i * dim : (i + 1) * dim] for i, gate in enumerate("fgoc")}
    h, c = np.zeros(dim), np.zeros(dim)
    states = []
    for i in range(len(x)):
        c_short = np.tanh(weights["short_term.weight"] @ c + weights["short_term.bias"])
        c_long = c - c_short
        c_adjusted = c_long + c_short / np.log(np.e + toe[i])
        f, g, o, candidate = (sigmoid(W[gate] @ x[i] + U[gate] @ h + b[gate]) for gate in "fgoc")
        c = f * c_adjusted + g * candidate
        h = o * np.tanh(c)
        states.append(h)
    return np.array(states)


def test_the_equations_walk_by_walk():
    packing, x, toe = batch()
    module = TimeLSTM(3).double()
    found = pad(packing, module(x, toe, packing)).detach().numpy()
    padded, deltas = pad(packing, x).numpy(), pad(packing, toe).numpy()
    for b, n in enumerate(LENGTHS.tolist()):
        np.testing.assert_allclose(found[b, :n], one_walk(module, padded[b, :n], deltas[b, :n]), rtol=1e-12)


def test_without_time_it_is_an_lstm():
    packing, x, _ = batch()
    module, plain = TimeLSTM(3, "tanh").double(), torch.nn.LSTM(3, 3).double()
    order = [1, 0, 3, 2]  # torch has input, forget, candidate, output; ours are forget, input, output, candidate
    with torch.no_grad():
        for ours, theirs in ((module.inputs.weight, plain.weight_ih_l0), (module.states.weight, plain.weight_hh_l0)):
            theirs.copy_(torch.cat([ours.chunk(4)[i] for i in order]))
        plain.bias_ih_l0.copy_(torch.cat([module.inputs.bias.chunk(4)[i] for i in order]))
        plain.bias_hh_l0.zero_()
    found = pad(packing, module(x, torch.zeros_like(x[:, 0]), packing))
    expected, _ = plain(pad(packing, x).transpose(0, 1))
    for b, n in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(found[b, :n], expected.transpose(0, 1)[b, :n], rtol=1e-10, atol=1e-12)


def test_a_longer_edge_leaves_less_of_the_short_term_memory():
    packing, x, toe = batch()
    module = TimeLSTM(3).double()
    before = module(x, toe, packing)
    later = module(x, toe * 0.5, packing)
    first = packing.step_of == 0
    assert torch.equal(before[first], later[first])
    assert not torch.allclose(before[~first], later[~first])


def test_gradients():
    packing, x, toe = batch()
    module = TimeLSTM(3).double()
    x.requires_grad_()
    toe.requires_grad_()
    names = list(dict(module.named_parameters()))

    def run(x, toe, *parameters):
        return torch.func.functional_call(module, dict(zip(names, parameters, strict=True)), (x, toe, packing))

    assert torch.autograd.gradcheck(run, (x, toe, *module.parameters()))


def test_nothing_later_changes_an_earlier_row():
    packing, x, toe = batch()
    module = TimeLSTM(3).double()
    before = module(x, toe, packing)
    for step in range(1, 5):
        later = packing.step_of >= step
        changed = module(torch.where(later[:, None], x + 1, x), torch.where(later, 1 - toe, toe), packing)
        assert torch.equal(changed[~later], before[~later])
