"""Multi-head attention with its feed-forward network: one block of the encoder, the decoder or the structures.

Every head is as wide as the model, and heads are concatenated to H*D, as the paper has it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.network.packing import Forest, Packing

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries, keys, values, (R, H, D) each, to (R, H, D)


class Block(nn.Module):
    """Attend, add the queries, normalise, feed forward (Eq. 12 to 17; also 18 to 23 and 25 to 30).

    Args:
        dim: width D.
        heads: number of heads H.
        dropout: share of the feed-forward network's inner values that training leaves out.
        query_dim: width of what the queries are made of; D by default.
        residual: add what the queries are made of to the result, where it is as wide; the paper does not.
    """

    def __init__(
        self, dim: int, heads: int, dropout: float, query_dim: int | None = None, residual: bool = False
    ) -> None:
        super().__init__()
        self.dim, self.heads = dim, heads
        self.residual = residual and (query_dim or dim) == dim
        self.queries = nn.Linear(query_dim or dim, heads * dim, bias=False)
        self.keys = nn.Linear(dim, heads * dim, bias=False)
        self.values = nn.Linear(dim, heads * dim, bias=False)
        self.norm = nn.LayerNorm(heads * dim)
        self.feed_forward = FeedForward(heads * dim, dim, dropout)

    def attention(self, query_rows: Tensor, context: Tensor, attend: Attend) -> Tensor:
        """Return the normalised attention of rows, (R, Dq), over a context, (R, D), as (R, H*D)."""
        shape = (-1, self.heads, self.dim)
        q, k, v = self.queries(query_rows), self.keys(context), self.values(context)  # (R, H*D)     Eq. 13, 18, 25
        z = attend(q.view(shape), k.view(shape), v.view(shape)).reshape(q.shape)  # (R, H*D)    Eq. 12, 14, 19, 26
        return self.norm(z + q)  # type: ignore[no-any-return]  # (R, H*D)                             Eq. 16, 22, 29

    def forward(self, query_rows: Tensor, context: Tensor, attend: Attend) -> Tensor:
        """Return the embedding of every row, (R, D)."""
        return self.finish(query_rows, self.attention(query_rows, context, attend))

    def finish(self, query_rows: Tensor, attended: Tensor) -> Tensor:
        """Return the embedding of every row, (R, D), from its attention, (R, H*D), that was computed before."""
        result = self.feed_forward(attended)  # (R, D)                                                    Eq. 17, 23, 30
        return result + query_rows if self.residual else result  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """Two layers with the residual inside the ReLU, normalised (Eq. 17, 23, 30, 31).

    Args:
        inner: width of the input and of the inner layer.
        outer: width of the output.
        dropout: share of the inner values that training leaves out.
    """

    def __init__(self, inner: int, outer: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inner, inner), nn.Linear(inner, outer)
        self.norm, self.dropout = nn.LayerNorm(outer), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map rows, (R, inner) to (R, outer)."""
        return self.norm(self.second(self.dropout(functional.relu(self.first(x) + x))))  # type: ignore[no-any-return]


def within_walks(packing: Packing | Forest) -> Attend:
    """Let every row attend to itself and the rows before it in its walk (the mask M).

    Walks are aligned at their beginning, so what comes before a row that is there is there too: the causal mask alone
    keeps padding out. In a forest every row has its own path.
    """
    if isinstance(packing, Forest):
        return along_paths(packing)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (packing.pad(each).transpose(1, 2) for each in (q, k, v))  # (B, H, L, D)
        z = functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # scaled by the root of D
        return packing.pack(z.transpose(1, 2))  # (R, H, D)

    return attend


def among_walks(packing: Packing, windows: Tensor) -> Attend:
    """Let the walks of a window attend to each other, at every step to how they were by then.

    Args:
        packing: where the rows are.
        windows: (W, S) walks of each window; every walk is in one of them.
    """
    steps = len(packing.counts)
    last = packing.lengths[:, None] - 1  # (B, 1)
    by_then = packing.rows.gather(1, last.clamp(max=last.new_tensor(range(steps))[None, :]))  # (B, L)
    rows = by_then[windows].transpose(1, 2)  # (W, L, S): who is compared with whom
    place = windows.new_empty(packing.lengths.numel())
    place[windows.reshape(-1)] = windows.new_tensor(range(windows.numel()))
    size = windows.shape[1]
    window, spot = (place // size)[packing.walk_of], (place % size)[packing.walk_of]  # (R,) each
    answer = (window * steps + packing.step_of) * size + spot  # (R,) where among (W, L, S) each row is asked
    looked_at = rows.reshape(-1)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (
            each.index_select(0, looked_at).reshape(-1, size, *each.shape[1:]).transpose(1, 2) for each in (q, k, v)
        )
        z = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)  # (W * L, S, H, D)
        return z.flatten(0, 1).index_select(0, answer)  # (R, H, D)

    return attend


def along_paths(forest: Forest) -> Attend:
    """Let every row of a forest attend to the rows of its path, step by step: all paths of a step are as long."""
    paths = torch.split(forest.path, forest.counts)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        asking = torch.split(q, forest.counts)
        made = [_look(asking[step], k, v, paths[step][:, : step + 1], None) for step in range(1, len(paths))]
        return torch.cat([v[: forest.counts[0]], *made])  # (R, H, D): the first see only themselves

    return attend


def among_rows(rows: Tensor, there: Tensor) -> Attend:
    """Let every query attend to rows of its own.

    Args:
        rows: (n, S) what each query looks at.
        there: (n, S) bool, which of them count.
    """
    return lambda q, k, v: _look(q, k, v, rows, there[:, None, None, :])


def _look(q: Tensor, k: Tensor, v: Tensor, rows: Tensor, mask: Tensor | None) -> Tensor:
    """Let queries, (n, H, D), attend to rows of their own, (n, S), among keys and values, (R, H, D)."""
    shape = (*rows.shape, *k.shape[1:])
    k, v = (each.index_select(0, rows.reshape(-1)).reshape(shape).transpose(1, 2) for each in (k, v))  # (n, H, S, D)
    return functional.scaled_dot_product_attention(q[:, :, None], k, v, attn_mask=mask)[:, :, 0]  # (n, H, D)
