"""The time-aware LSTM (Eq. 2 to 11): the longer an edge took, the less of the short-term memory is left."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.network.packing import Packing, PrefixTree

# How strongly the short-term memory depends on the memory at first. ToE only enters by shrinking it, by 24% at most:
# with usual small weights it would be lost beside the rest for many epochs.
SHORT_TERM = 4.0


class TimeLSTM(nn.Module):
    """Run the t-LSTM over packed walks.

    Args:
        dim: width D of inputs and states.
        candidate: activation of the candidate memory: "sigmoid", as the paper prints it, or "tanh", as LSTMs have it.
    """

    def __init__(self, dim: int, candidate: str = "sigmoid") -> None:
        super().__init__()
        self.activate_candidate = torch.tanh if candidate == "tanh" else torch.sigmoid
        self.inputs = nn.Linear(dim, 4 * dim)  # W and b of forget, input and output gate and candidate memory
        self.states = nn.Linear(dim, 4 * dim, bias=False)  # U of the same
        self.short_term = nn.Linear(dim, dim)  # W_d and b_d
        nn.init.normal_(self.short_term.weight, std=SHORT_TERM / math.sqrt(dim))

    def forward(self, x: Tensor, toe: Tensor, packing: Packing | PrefixTree) -> Tensor:
        """Return the hidden state of every row.

        Args:
            x: (R, D) inputs.
            toe: (R,) squashed ToE of the edge into each row; 0 in the first step, which makes it a plain LSTM's.
            packing: where the rows are.
        """
        gates = packing.by_step(self.inputs(x))  # (n, 4D) of each step, all at once
        decay = packing.by_step(1 / torch.log(math.e + toe))  # (n,) of each step                             Eq. 4
        hidden = memory = x.new_zeros(packing.counts[0], x.shape[1])  # (B, D)
        states = []
        for step in range(len(packing.counts)):
            previous = packing.previous_state(step, hidden), packing.previous_state(step, memory)
            hidden, memory = self._unit(gates[step], decay[step], *previous)
            states.append(hidden)
        return packing.from_steps(states)  # (R, D)

    def _unit(self, gates: Tensor, decay: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        short = torch.tanh(self.short_term(memory))  # (n, D)                                                  Eq. 2
        memory = memory - short + short * decay[:, None].to(short.dtype)  #                               Eq. 3 to 5
        f, g, o, c = (gates + functional.linear(hidden, self.states.weight)).chunk(4, dim=1)  # (n, D) each
        memory = torch.sigmoid(f) * memory + torch.sigmoid(g) * self.activate_candidate(c)  #            Eq. 6 to 10
        return torch.sigmoid(o) * torch.tanh(memory), memory  #                                               Eq. 11
