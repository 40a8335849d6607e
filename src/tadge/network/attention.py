"""Multi-head attention with its feed-forward network: one block of the encoder, the decoder or the structures.

Every head is as wide as the model, and heads are concatenated to H*D, as the paper has it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tadge.network.packing import Packing, PrefixTree

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries, keys, values, (R, H, D) each, to (R, H, D)


class Block(nn.Module):
    """Attend, add the queries, normalise, feed forward (Eq. 12 to 17; also 18 to 23 and 25 to 30).

    Args:
        dim: width D.
        heads: number of heads H.
        dropout: dropout probability of the feed-forward network's inner layer.
        query_dim: width of the rows that queries are projected from; D by default.
        residual: add these rows to the result, where they are as wide; the paper does not.
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
        z = _attend_widely(attend, q.view(shape), k.view(shape), v.view(shape)).reshape(q.shape)  # Eq. 12, 14, 19, 26
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
        dropout: dropout probability of the inner layer.
    """

    def __init__(self, inner: int, outer: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inner, inner), nn.Linear(inner, outer)
        self.norm, self.dropout = nn.LayerNorm(outer), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map rows, (R, inner) to (R, outer)."""
        return self.norm(self.second(self.dropout(functional.relu(self.first(x) + x))))  # type: ignore[no-any-return]


def within_walks(packing: Packing | PrefixTree) -> Attend:
    """Let every row attend to itself and the rows before it in its walk (the mask M).

    Walks of one length are taken at once, as they lie: nothing is padded. In a prefix tree every row has its own path.
    """
    if isinstance(packing, PrefixTree):
        return along_paths(packing)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        walks = zip(*(packing.by_length(rows) for rows in (q, k, v)), strict=True)  # (n, L, H, D) each
        parts = [_dot_product_attention(a, b, c, causal=True).flatten(0, 1) for a, b, c in walks]
        return torch.cat(parts)  # (R, H, D)

    return attend


def among_walks(packing: Packing, windows: Tensor) -> Attend:
    """Let the walks of a window attend to each other, at every step to their prefixes of at most as many steps.

    Args:
        packing: where the rows are.
        windows: (W, S) walks of each window; every walk is in one of them.
    """
    steps = len(packing.counts)
    last = packing.lengths[:, None] - 1  # (B, 1)
    by_then = packing.rows.gather(1, last.clamp(max=last.new_tensor(range(steps))[None, :]))  # (B, L)
    rows = by_then[windows].transpose(1, 2)  # (W, L, S): rows that attend to each other
    place = windows.new_empty(packing.lengths.numel())
    place[windows.reshape(-1)] = windows.new_tensor(range(windows.numel()))
    size = windows.shape[1]
    window, spot = (place // size)[packing.walk_of], (place % size)[packing.walk_of]  # (R,) each
    result_at = (window * steps + packing.step_of) * size + spot  # (R,) index of each row in the flattened (W, L, S)
    flat_rows = rows.reshape(-1)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (x.index_select(0, flat_rows).reshape(-1, size, *x.shape[1:]) for x in (q, k, v))  # (W * L, S, H, D)
        return _dot_product_attention(q, k, v).flatten(0, 1).index_select(0, result_at)  # (R, H, D)

    return attend


def along_paths(tree: PrefixTree) -> Attend:
    """Let every row of a prefix tree attend to the rows of its path, step by step: paths of a step are equally long."""
    paths = torch.split(tree.path, tree.counts)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        queries = torch.split(q, tree.counts)
        later = [
            _attend_to_rows(queries[step], k, v, paths[step][:, : step + 1], None) for step in range(1, len(paths))
        ]
        return torch.cat([v[: tree.counts[0]], *later])  # (R, H, D): the first rows see only themselves

    return attend


def among_rows(rows: Tensor, mask: Tensor) -> Attend:
    """Let every query attend to a list of rows.

    Args:
        rows: (n, S) the rows that each query attends to.
        mask: (n, S) bool, which of them count.
    """
    return lambda q, k, v: _attend_to_rows(q, k, v, rows, mask[:, None, None, :])


def _attend_to_rows(q: Tensor, k: Tensor, v: Tensor, rows: Tensor, mask: Tensor | None) -> Tensor:
    """Let queries, (n, H, D), attend to lists of rows, (n, S), of keys and values, (R, H, D)."""
    k, v = (x.index_select(0, rows.reshape(-1)).reshape(*rows.shape, *x.shape[1:]) for x in (k, v))  # (n, S, H, D)
    return _dot_product_attention(q[:, None], k, v, mask)[:, 0]  # (n, H, D)


def _dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """Attend, scaled by the root of D; (n, S, H, D) each."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # (n, H, S, D)
    return functional.scaled_dot_product_attention(q, k, v, mask, is_causal=causal).transpose(1, 2)


def _attend_widely(attend: Attend, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend in float32 where bfloat16 is slower: on a CPU, by 2 to 6 times for 5 to 10 rows."""
    if q.dtype != torch.bfloat16 or q.device.type != "cpu":
        return attend(q, k, v)
    with torch.autocast("cpu", enabled=False):
        return attend(q.float(), k.float(), v.float()).to(q.dtype)
