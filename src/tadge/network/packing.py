"""Walks of different lengths without padding: the rows of a batch, walk by walk.

Walks stand in order of length, longest first, so walks of one length lie beside each other: attention sees them as
(n, L, ...) without a copy, and no layer sees a padded row. Only the t-LSTM goes step by step, through an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Packing:
    """Tell which row belongs to which step of which walk.

    Attributes:
        lengths: (B,) int64, descending.
        counts: walks that have a step, for every step; a plain list, so that loops over steps need no device.
    """

    lengths: Tensor
    counts: list[int]

    @classmethod
    def of(cls, lengths: Tensor) -> Packing:
        """Pack walks of these lengths, (B,), which must descend."""
        steps = int(lengths[0])
        counts = (lengths[None, :] > torch.arange(steps, device=lengths.device)[:, None]).sum(1)
        return cls(lengths, counts.tolist())

    @property
    def num_rows(self) -> int:
        """Count the rows."""
        return sum(self.counts)

    @cached_property
    def first_rows(self) -> Tensor:
        """Give the first row of every walk, (B,)."""
        return self.lengths.cumsum(0) - self.lengths

    @cached_property
    def last_rows(self) -> Tensor:
        """Give the last row of every walk, (B,)."""
        return self.lengths.cumsum(0) - 1

    @cached_property
    def rows(self) -> Tensor:
        """Give the row of walk b at step i, (B, L); 0 beyond the end of a walk, see `mask`."""
        steps = torch.arange(len(self.counts), device=self.lengths.device)
        return torch.where(self.mask, self.first_rows[:, None] + steps, 0)

    @cached_property
    def mask(self) -> Tensor:
        """Tell which walks have which steps, (B, L) bool."""
        return torch.arange(len(self.counts), device=self.lengths.device)[None, :] < self.lengths[:, None]

    @cached_property
    def walk_of(self) -> Tensor:
        """Give the walk of every row, (R,)."""
        return torch.repeat_interleave(self.lengths, output_size=self.num_rows)

    @cached_property
    def step_of(self) -> Tensor:
        """Give the step of every row, (R,)."""
        return torch.arange(self.num_rows, device=self.lengths.device) - self.first_rows[self.walk_of]

    @cached_property
    def edges(self) -> Tensor:
        """Give the rows of both ends of every edge, (M, 2): a row and the one before it in its walk."""
        later = torch.nonzero(self.step_of)[:, 0]
        return torch.stack([later - 1, later], dim=1)

    @cached_property
    def step_order(self) -> Tensor:
        """Give the rows of step 0 of all walks, then those of step 1 of the walks that have one, and so on, (R,)."""
        return self.rows.T[self.mask.T]

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Give the number of walks of every length there is, and the length, longest first."""
        ending = [count - after for count, after in zip(self.counts, [*self.counts[1:], 0], strict=True)]
        return [(ending[length - 1], length) for length in range(len(ending), 0, -1) if ending[length - 1]]

    def by_length(self, rows: Tensor) -> list[Tensor]:
        """See rows, (R, ...), as the walks of each length, (n, L, ...), longest first."""
        parts = torch.split(rows, [number * length for number, length in self.runs])
        return [part.reshape(*run, *rows.shape[1:]) for part, run in zip(parts, self.runs, strict=True)]

    def by_step(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Take rows, (R, ...), apart into those of each step, (n, ...)."""
        return torch.split(rows.index_select(0, self.step_order), self.counts)

    def from_steps(self, parts: list[Tensor]) -> Tensor:
        """Put the rows of each step together again, (R, ...)."""
        place = torch.empty_like(self.step_order)
        place[self.step_order] = torch.arange(self.num_rows, device=place.device)
        return torch.cat(parts).index_select(0, place)

    def to(self, device: torch.device) -> Packing:
        """Move it to a device."""
        return Packing(self.lengths.to(device), self.counts)

    def previous_state(self, step: int, state: Tensor) -> Tensor:
        """Give the state of the previous step for the rows of a step: the walks that go on are the first ones."""
        return state[: self.counts[step]]

    def prefix_sums(self, rows: Tensor) -> Tensor:
        """Sum every walk from its first row to each of its rows, (R, D)."""
        return torch.cat([walks.cumsum(1).flatten(0, 1) for walks in self.by_length(rows)])

    def shift(self, rows: Tensor, later: bool = False) -> Tensor:
        """Give every row that before it in its walk, (R, D), or that after it; 0 where there is none."""
        of, given = (0, 1) if later else (1, 0)  # columns of `edges`
        return torch.zeros_like(rows).index_copy(0, self.edges[:, of], rows.index_select(0, self.edges[:, given]))

    def with_end_token(self) -> Packing:
        """Give the same walks with one more step each, for the end of the sequence."""
        return Packing(self.lengths + 1, [self.counts[0], *self.counts])


@dataclass(frozen=True, eq=False)
class PrefixTree:
    """Lay out walks with common prefixes: each distinct prefix is one row.

    Valid where a row depends on the rows before it alone. Rows are in order of their step.

    Attributes:
        counts: rows of every step.
        path: (R, L) the row of every step up to and including this row; arbitrary beyond.
        step_of: (R,) step of every row.
    """

    counts: list[int]
    path: Tensor
    step_of: Tensor

    def to(self, device: torch.device) -> PrefixTree:
        """Move it to a device."""
        return PrefixTree(self.counts, self.path.to(device), self.step_of.to(device))

    @cached_property
    def mask(self) -> Tensor:
        """Tell which entries of `path` count, (R, L) bool."""
        return torch.arange(self.path.shape[1], device=self.path.device)[None, :] <= self.step_of[:, None]

    def by_step(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Take rows, (R, ...), apart into those of each step, (n, ...)."""
        return torch.split(rows, self.counts)

    def from_steps(self, parts: list[Tensor]) -> Tensor:
        """Put the rows of each step together again, (R, ...)."""
        return torch.cat(parts)

    def previous_state(self, step: int, state: Tensor) -> Tensor:
        """Give the state of the previous step for the rows of a step."""
        if step == 0:
            return state
        first = sum(self.counts[:step])
        before = self.path[first : first + self.counts[step], step - 1] - sum(self.counts[: step - 1])
        return state.index_select(0, before)

    def shift(self, rows: Tensor) -> Tensor:
        """Give every row that before it on its path, (R, D); 0 where there is none."""
        before = self.path.gather(1, (self.step_of - 1).clamp(min=0)[:, None])[:, 0]  # (R,)
        return rows.index_select(0, before) * (self.step_of > 0)[:, None]

    def prefix_sums(self, rows: Tensor) -> Tensor:
        """Sum every walk from its first row to each row, (R, D)."""
        along = rows.index_select(0, self.path.reshape(-1)).reshape(*self.path.shape, -1)  # (R, L, D)
        return (along * self.mask[:, :, None]).sum(1)
