"""From the users' own ids to node numbers 0 .. N-1, in sorted order of id."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from tadge.arrays import Ints, Nodes
from tadge.errors import InputError
from tadge.graph.kernels import mark_used, renumber

Ids = npt.NDArray[Any]  # int64, or object holding str


def as_id_column(values: Any, name: str) -> pl.Series:
    """Take a one-dimensional column of integers or strings, (E,), as Int64 or String; refuse others."""
    if isinstance(values, pl.Series) and (
        values.dtype in (pl.Int64, pl.String) or isinstance(values.dtype, pl.Categorical)
    ):
        column = values
    else:
        array = values.to_numpy() if isinstance(values, pl.Series) else np.asarray(values)
        if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
            array = np.array(
                values, dtype=object
            )  # numpy turns 1 among strings into "1": look at the values themselves
        if array.ndim != 1:
            raise InputError("ids must be a plain list", expected="one dimension", found=f"{array.ndim}", where=name)
        is_object = array.dtype.kind in "OUT"
        column = _from_objects(array, name) if is_object else pl.Series(_integers(array, name))
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise InputError("an id is missing", expected="an integer or a string", found=f"nothing at {row}", where=name)
    return column


def _from_objects(array: npt.NDArray[Any], name: str) -> pl.Series:
    kinds = {type(value) for value in array}
    if all(issubclass(kind, str) for kind in kinds):
        return pl.Series(array.astype(object), dtype=pl.String)
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return pl.Series(_integers(np.array(array.tolist()), name))
    found = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError("ids of mixed or unknown types", expected="all integers or all strings", found=found, where=name)


def _integers(array: npt.NDArray[Any], name: str) -> Ints:
    if array.dtype.kind == "f" and array.size:
        bad = ~np.isfinite(array) | (array != np.floor(array))
        if bad.any():
            row = int(np.argmax(bad))
            found = f"{array[row]} at {row}"
            raise InputError("an id is not an integer", expected="integers or strings", found=found, where=name)
    elif array.dtype.kind not in "iuf":
        raise InputError("ids of an unknown type", expected="integers or strings", found=str(array.dtype), where=name)
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError("an id is too large", found=str(array.max()), cure="pass such ids as strings", where=name)
    return np.ascontiguousarray(array, dtype=np.int64)


def encode(src: pl.Series, dst: pl.Series, bipartite: bool = False) -> tuple[Nodes, Nodes, Ids, int]:
    """Number the nodes of two id columns, each (E,).

    Args:
        src: ids of the acting end; Int64, String or Categorical.
        dst: ids of the other end; where only one column holds strings, both are read as strings.
        bipartite: the two columns are separate ranges (item 7 is not user 7); sources are numbered first.

    Returns:
        Node numbers of src and of dst, (E,) int32 each; ids in order of node number, (N,); and the number of sources
        (0 where the graph is not bipartite).
    """
    if bipartite:
        src_number, src_ids = _number([src])
        dst_number, dst_ids = _number([dst])
        shifted = dst_number[0] + np.int32(src_ids.size)
        if src_ids.dtype != dst_ids.dtype:
            src_ids, dst_ids = _as_strings(src_ids), _as_strings(dst_ids)
        return src_number[0], shifted, np.concatenate([src_ids, dst_ids]), src_ids.size
    if src.dtype != dst.dtype:
        src, dst = src.cast(pl.String), dst.cast(pl.String)
    (src_number_, dst_number_), ids = _number([src, dst])
    return src_number_, dst_number_, ids, 0


def _as_strings(ids: Ids) -> Ids:
    """Write integers as strings; strings stay as they are (a numpy string would lose NULs at its end)."""
    return ids if ids.dtype == object else ids.astype(str).astype(object)


def split_sides(src: Nodes, dst: Nodes, ids: Ids) -> tuple[Nodes, Nodes, Ids, int] | None:
    """Number sources first and then targets, as `encode` does for bipartite graphs; None where a node is on both sides.

    Args:
        src: (E,) node numbers.
        dst: (E,) node numbers.
        ids: (N,) ids in order of node number; every node has an event.
    """
    acts, acted_on = np.zeros(ids.size, np.bool_), np.zeros(ids.size, np.bool_)
    acts[src] = True
    acted_on[dst] = True
    if (acts & acted_on).any():
        return None
    order = np.concatenate([np.flatnonzero(acts), np.flatnonzero(acted_on)])
    number = np.empty(ids.size, np.int32)
    number[order] = np.arange(ids.size, dtype=np.int32)
    return number[src], number[dst], ids[order], int(acts.sum())


def _number(columns: list[pl.Series]) -> tuple[list[Nodes], Ids]:
    """Number the distinct values of some columns of one type in sorted order."""
    if columns[0].dtype != pl.Int64:
        return _number_strings(columns)
    if not any(column.len() for column in columns):
        return [np.empty(0, np.int32) for _ in columns], np.empty(0, np.int64)
    low = min(cast(int, column.min()) for column in columns if column.len())
    high = max(cast(int, column.max()) for column in columns if column.len())
    if high - low > 4 * sum(column.len() for column in columns) + (1 << 20):
        return _number_scattered(columns)
    used = np.zeros(high - low + 1, np.bool_)
    for column in columns:
        for chunk in chunks(column):
            mark_used(chunk, low, used)
    number = np.cumsum(used, dtype=np.int32)
    number -= 1
    numbers = []
    for column in columns:
        out = np.empty(column.len(), np.int32)
        at = 0
        for chunk in chunks(column):
            renumber(chunk, low, number, out[at : at + chunk.size])
            at += chunk.size
        numbers.append(out)
    return numbers, np.flatnonzero(used) + low


def chunks(column: pl.Series) -> Iterator[npt.NDArray[Any]]:
    """Give a numeric column piece by piece, without a copy."""
    for chunk in column.get_chunks():
        yield chunk.to_numpy()


def _number_scattered(columns: list[pl.Series]) -> tuple[list[Nodes], Ids]:
    """Number integers that are too far apart for a table of all values between."""
    distinct = pl.concat([column.unique() for column in columns]).unique().sort()
    table = pl.DataFrame({"id": distinct, "number": pl.int_range(distinct.len(), dtype=pl.Int32, eager=True)})
    numbers = [
        column.to_frame("id").join(table, on="id", how="left", maintain_order="left")["number"].to_numpy()
        for column in columns
    ]
    return numbers, distinct.to_numpy()


def _number_strings(columns: list[pl.Series]) -> tuple[list[Nodes], Ids]:
    """Number strings; codes of the categories come first, so that each string is hashed once."""
    if not isinstance(columns[0].dtype, pl.Categorical):
        own = pl.Categorical(pl.Categories.random())
        columns = [column.cast(own) for column in columns]
    distinct = pl.concat([column.unique() for column in columns]).unique()
    table = pl.DataFrame({"code": distinct.to_physical(), "id": distinct.cast(pl.String)}).sort("id")
    code = table["code"].to_numpy()
    number = np.zeros(int(code.max()) + 1 if code.size else 0, np.int32)
    number[code] = np.arange(code.size, dtype=np.int32)
    return [number[column.to_physical().to_numpy()] for column in columns], table["id"].to_numpy().astype(object)


# -- from ids back to node numbers ------------------------------------------------------------------------------------

NEIGHBOURS = 100  # ids in sorted order, to either side, among which similar ones are looked for


def as_lookup(values: Any, ids: Ids, where: str) -> Ids:
    """Take one id or a list of them, (n,), in the type of the graph's ids; offer the nearest for another type."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError:
        raise InputError("rows of different lengths", expected="a list", found=repr(values)[:80], where=where) from None
    if array.ndim != 1:
        raise InputError("not ids", expected="one id or a list", found=f"{array.ndim} dimensions", where=where)
    if array.dtype.kind == "U" and not isinstance(values, (str, np.ndarray)):
        array = np.array(list(values), dtype=object)  # numpy turns 1 among strings into "1"
    if array.dtype == object and all(isinstance(value, (int, np.integer)) for value in array):
        array = np.array(array.tolist()) if array.size else np.empty(0, np.int64)
    strings = ids.dtype == object
    fits = array.dtype.kind in ("UO" if strings else "iu") and (
        not strings or all(isinstance(value, str) for value in array)
    )
    if fits or not array.size:
        return array.astype(object) if strings else array.astype(np.int64)
    wrong = next((value for value in array.tolist() if isinstance(value, str) != strings), array.tolist()[0])
    expected = "ids that are strings, as in the graph" if strings else "ids that are integers, as in the graph"
    cure = nearest_ids(ids, wrong)
    raise InputError("an id of another type", expected=expected, found=repr(wrong), cure=cure, where=where)


def find_ids(ids: Ids, order: Ints | None, wanted: Ids) -> Ints:
    """Find ids, (n,), among all of a graph, (N,): (n,) places, -1 where one is unknown.

    Args:
        ids: distinct.
        order: (N,) places in sorted order of id; None where they are sorted.
        wanted: of the same type.
    """
    if not ids.size:
        return np.full(wanted.size, -1, np.int64)
    ordered = ids if order is None else ids[order]
    place = np.minimum(np.searchsorted(ordered, wanted), ids.size - 1)
    known = (ordered[place] == wanted).astype(np.bool_)
    return np.where(known, place if order is None else order[place], -1)


def close_ids(ids: Ids, wanted: Any) -> list[str]:
    """List ids, strings, that are much like one that is unknown; a number next to a number is not."""
    return get_close_matches(str(wanted), _neighbours(ids, str(wanted))[0], 3) if ids.dtype == object else []


def _neighbours(ids: Ids, text: str) -> tuple[list[str], int]:
    """List the ids, strings, around where another would stand in order, and how many of them are before it."""
    ordered = np.sort(ids)
    place = int(np.searchsorted(ordered, text))
    return ordered[max(0, place - NEIGHBOURS) : place + NEIGHBOURS].tolist(), min(place, NEIGHBOURS)


def nearest_ids(ids: Ids, wanted: Any) -> str | None:
    """Write which ids are most like one that is unknown; None without any."""
    if not ids.size:
        return None
    if ids.dtype == object:
        near, before = _neighbours(ids, str(wanted))
        similar: list[Any] = close_ids(ids, wanted) or near[before:][:1] or near[-1:]
    else:
        try:
            number = int(wanted)
        except (TypeError, ValueError):
            return f"such as {ids[0]}"
        similar = ids[np.argsort(np.abs(ids.astype(np.float64) - number), kind="stable")[:3]].tolist()
    return "did you mean " + " or ".join(repr(one) for one in similar) + "?"
