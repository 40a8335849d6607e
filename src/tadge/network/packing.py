"""Walks of different lengths without padding: the rows of a batch, step by step.

Walks stand in order of length, longest first. The rows of step 0 of all walks come first, then those of step 1 of the
walks that have one, and so on: every step is a slice, and linear layers see no padded row. Only attention, whose cost
does not count beside theirs, looks at the walks as (B, L) through an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


class _Take(torch.autograd.Function):
    """Take distinct rows; the gradient is `_Put`, with nothing to add up."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor) -> Tensor:
        ctx.places, ctx.size = places, len(rows)
        return rows.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return put(gradient, ctx.places, ctx.size), None


class _Put(torch.autograd.Function):
    """Put rows in distinct places among zeros; the gradient is `_Take`."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor, size: int) -> Tensor:
        ctx.places = places
        return put(rows, places, size)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient.index_select(0, ctx.places), None, None


def put(rows: Tensor, places: Tensor, size: int) -> Tensor:
    """Put rows, (R, ...), in distinct places among zeros, (size, ...)."""
    return rows.new_zeros(size, *rows.shape[1:]).index_copy_(0, places, rows)


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
    def starts(self) -> list[int]:
        """Give the first row of every step, and the number of rows at the end, (L+1,)."""
        first = [0]
        for count in self.counts:
            first.append(first[-1] + count)
        return first

    @cached_property
    def rows(self) -> Tensor:
        """Give the row of walk b at step i, (B, L); 0 beyond the end of a walk, see `mask`."""
        first = torch.tensor(self.starts[:-1], device=self.lengths.device)
        walk = torch.arange(self.lengths.numel(), device=self.lengths.device)
        return torch.where(self.mask, first[None, :] + walk[:, None], 0)

    @cached_property
    def mask(self) -> Tensor:
        """Tell which walks have which steps, (B, L) bool."""
        return torch.arange(len(self.counts), device=self.lengths.device)[None, :] < self.lengths[:, None]

    @cached_property
    def walk_of(self) -> Tensor:
        """Give the walk of every row, (R,)."""
        return torch.cat([torch.arange(count, device=self.lengths.device) for count in self.counts])

    @cached_property
    def step_of(self) -> Tensor:
        """Give the step of every row, (R,)."""
        counts = torch.tensor(self.counts, device=self.lengths.device)
        return torch.repeat_interleave(torch.arange(len(self.counts), device=self.lengths.device), counts)

    @cached_property
    def last_rows(self) -> Tensor:
        """Give the last row of every walk, (B,)."""
        first = torch.tensor(self.starts[:-1], device=self.lengths.device)
        walk = torch.arange(self.lengths.numel(), device=self.lengths.device)
        return first[self.lengths - 1] + walk

    @cached_property
    def edges(self) -> Tensor:
        """Give the rows of both ends of every edge, (M, 2): a row and the one before it in its walk."""
        later = torch.arange(self.counts[0], self.num_rows, device=self.lengths.device)
        return torch.stack([self.rows[self.walk_of[later], self.step_of[later] - 1], later], dim=1)

    @cached_property
    def places(self) -> Tensor:
        """Give the index of every row in the flattened (B, L), (R,)."""
        return self.walk_of * len(self.counts) + self.step_of

    def pack(self, padded: Tensor) -> Tensor:
        """Take the rows of `mask` out of a padded tensor, (B, L, ...) to (R, ...)."""
        taken: Tensor = _Take.apply(padded.flatten(0, 1), self.places)  # type: ignore[no-untyped-call]
        return taken

    def pad(self, packed: Tensor) -> Tensor:
        """Lay rows out as walks, (R, ...) to (B, L, ...), padded with zeros."""
        shape = self.lengths.numel(), len(self.counts)
        flat: Tensor = _Put.apply(packed, self.places, shape[0] * shape[1])  # type: ignore[no-untyped-call]
        return flat.reshape(*shape, *packed.shape[1:])

    def to(self, device: torch.device) -> Packing:
        """Move it to a device."""
        return Packing(self.lengths.to(device), self.counts)

    def previous_state(self, step: int, state: Tensor) -> Tensor:
        """Give the state of the previous step for the rows of a step: the walks that go on are the first ones."""
        return state[: self.counts[step]]

    def prefix_sums(self, rows: Tensor) -> Tensor:
        """Sum every walk from its first row to each of its rows, (R, D)."""
        return self.pack(self.pad(rows).cumsum(1))

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

    def previous_state(self, step: int, state: Tensor) -> Tensor:
        """Give the state of the previous step for the rows of a step."""
        if step == 0:
            return state
        first = sum(self.counts[:step])
        before = self.path[first : first + self.counts[step], step - 1] - sum(self.counts[: step - 1])
        return state.index_select(0, before)

    def prefix_sums(self, rows: Tensor) -> Tensor:
        """Sum every walk from its first row to each row, (R, D)."""
        along = rows.index_select(0, self.path.reshape(-1)).reshape(*self.path.shape, -1)  # (R, L, D)
        return (along * self.mask[:, :, None]).sum(1)
