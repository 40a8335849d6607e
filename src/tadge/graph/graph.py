"""TemporalGraph: timed events that cannot be changed, with joining times (ToV) and timespans of edges (ToE)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tadge.arrays import Days, Ints, NodeNumbers, Nodes, TypeCodes
from tadge.errors import ConfigError, InputError
from tadge.graph import kernels
from tadge.graph.event_types import NO_TYPES, EventTypes, encode_types
from tadge.graph.ids import Ids, as_id_column, as_lookup, encode, find_ids, nearest_ids
from tadge.units import (
    ABSURD_DAY,
    Moment,
    date_text,
    days_of_dates,
    is_unix,
    moment,
    squash,
    to_days,
    typical,
    unit_name,
)

TOV_RULES = ("source", "any")
CLOCKS = ("unix", "own")


@dataclass(frozen=True, eq=False, repr=False)
class TemporalGraph:
    """Hold the events of a dynamic graph in order of time (Definition 1 of the paper).

    Build one with `from_arrays` or `tadge.read_events`. Nothing in it can be changed; `before` and `between` give
    views with fewer events.

    Attributes:
        src: (E,) int32, the node that acts (the paper's upcoming vertex).
        dst: (E,) int32, the node it links to (the paper's existing vertex).
        time: (E,) float64 days on `clock`, ascending; events of one instant keep the order they came in.
        toe: (E,) float64 days since the latest ToV of `dst` strictly before `time`; NaN where there is none.
        weight: (E,) float64, or None.
        type: (E,) int16, the place of each event's type in `type_names`, -1 where it has none; or None.
        type_names: the types of events in sorted order; empty where `type` is None.
        ids: (N,) the user's own ids in order of node number: int64, or strings.
        clock: "unix" where day 0 is 1970-01-01 UTC, "own" where the numbers have a clock of their own.
        directed: False where every event counts in both directions.
        tov_rule: "source": a node joins when it acts and when it is first seen; "any": whenever it is seen.
        num_sources: in a bipartite graph nodes 0 .. num_sources-1 are the sources; else 0.
        reading: how its file was read, as options of `read_events`, so that the next file can be read alike; None where
            it came from arrays. Views have it too; it is no part of the fingerprint.
    """

    src: Nodes
    dst: Nodes
    time: Days
    toe: Days
    weight: Days | None
    ids: Ids
    clock: str
    directed: bool
    tov_rule: str
    num_sources: int
    tov_start: Ints  # (N+1,) node v's ToVs are tov_times[tov_start[v]:tov_start[v+1]]
    tov_times: Days  # (O,)
    type: TypeCodes | None = None
    type_names: tuple[str, ...] = ()
    reading: Mapping[str, str | bool] | None = None

    def __post_init__(self) -> None:
        events = (self.src, self.dst, self.time, self.toe, self.weight, self.type)
        for array in (*events, self.ids, self.tov_start, self.tov_times):
            if array is not None:
                array.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __copy__(self) -> TemporalGraph:
        return self  # nothing in it can be changed

    def __deepcopy__(self, memo: dict[int, Any]) -> TemporalGraph:
        return self

    @classmethod
    def from_arrays(
        cls,
        src: Any,
        dst: Any,
        time: Any,
        weight: Any = None,
        *,
        type: Any = None,
        unit: str = "s",
        ids: Any = None,
        clock: str | None = None,
        directed: bool = True,
        tov: str = "source",
        bipartite: bool = False,
    ) -> TemporalGraph:
        """Build a graph from columns of equal length, in any order.

        Args:
            src: (E,) ids of the acting nodes, integers or strings.
            dst: (E,) ids of the nodes they link to.
            time: (E,) numbers in `unit`, or datetime64.
            weight: (E,) numbers, or None.
            type: (E,) types of the events, strings or integers, None where one has none; or None.
            unit: ns, us, ms, s, min, h, days, weeks or years; not looked at for datetime64.
            ids: (N,) ids in order of node number; `src` and `dst` are then node numbers. This is how nodes without an
                event come in.
            clock: "unix" or "own"; by default Unix where numbers in ns, us, ms or s look like it.
            directed: False: every event counts in both directions.
            tov: "source" or "any", see `tov_rule`.
            bipartite: `src` and `dst` are separate ranges of ids.
        """
        if tov not in TOV_RULES:
            raise ConfigError("unknown rule for joining times", expected="source or any", found=repr(tov), where="tov")
        days, clock = _days(time, unit, clock)
        values = None if weight is None else _numbers(weight, "weight")
        types = NO_TYPES if type is None else encode_types(type)
        if ids is None:
            src_column, dst_column = as_id_column(src, "src"), as_id_column(dst, "dst")
            _check_lengths(src_column.len(), dst_column.len(), days, values, types)
            numbers = encode(src_column, dst_column, bipartite)
        else:
            if bipartite:
                raise ConfigError(
                    "ids are given", expected="bipartite=False", found="bipartite=True", where="bipartite"
                )
            known = _distinct_ids(ids)
            src_number, dst_number = _node_numbers(src, known.size, "src"), _node_numbers(dst, known.size, "dst")
            _check_lengths(src_number.size, dst_number.size, days, values, types)
            numbers = (src_number, dst_number, known, 0)
        return cls.from_numbers(*numbers, days, values, clock=clock, directed=directed, tov=tov, types=types)

    @classmethod
    def from_numbers(
        cls,
        src: Nodes,
        dst: Nodes,
        ids: Ids,
        num_sources: int,
        days: Days,
        weight: Days | None,
        *,
        clock: str,
        directed: bool = True,
        tov: str = "source",
        types: EventTypes = NO_TYPES,
    ) -> TemporalGraph:
        """Build a graph from node numbers and days that were checked before; arrays in order are kept, not copied."""
        types = types.take(np.argsort(days, kind="stable")) if types.code is not None else types
        src, dst, days, weight = kernels.in_time_order(src, dst, days, weight)
        every_role = tov == "any" or not directed
        toe, start, times = kernels.join_times(src, dst, days, ids.size, every_role)
        joins = clock, directed, tov, num_sources, start, times
        return cls(src, dst, days, toe, weight, ids, *joins, *types)

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """Count the nodes, those without an event included."""
        return int(self.ids.size)

    @property
    def num_events(self) -> int:
        """Count the events."""
        return int(self.time.size)

    @property
    def num_occurrences(self) -> int:
        """Count the pairs (node, ToV)."""
        return int(self.tov_times.size)

    @property
    def num_moments(self) -> int:
        """Count the distinct times."""
        return int(np.count_nonzero(self.time[1:] > self.time[:-1])) + bool(self.time.size)

    @property
    def bipartite(self) -> bool:
        """Tell whether sources and targets are separate ranges of ids."""
        return self.num_sources > 0

    @property
    def types(self) -> EventTypes:
        """Give the types of all events."""
        return EventTypes(self.type, self.type_names)

    @cached_property
    def degree(self) -> Ints:
        """Count the events each node takes part in, (N,); a self-link counts once."""
        degree = kernels.count_degrees(self.src, self.dst, self.num_nodes)
        degree.flags.writeable = False
        return degree  # type: ignore[no-any-return]

    @cached_property
    def toe_reverse(self) -> Days | None:
        """Give the ToE of every event read from dst to src, (E,); None in a directed graph."""
        if self.directed:
            return None
        toe = kernels.toe_from_index(self.src, self.time, self.tov_start, self.tov_times)
        toe.flags.writeable = False
        return toe  # type: ignore[no-any-return]

    def toe_values(self) -> Days:
        """Return every ToE there is; in an undirected graph those of both directions."""
        toe = self.toe if self.toe_reverse is None else np.concatenate([self.toe, self.toe_reverse])
        return toe[~np.isnan(toe)]

    def numbers(self, ids: Any, side: str = "any") -> NodeNumbers:
        """Find the node numbers of the user's ids: (n,), or () of a single id.

        Args:
            ids: one id or a list of them, integers or strings as in the file.
            side: in a bipartite graph "source" or "target"; "any" looks on both, and complains where both have an id.
        """
        numbers = self.find(ids, side)
        if (numbers < 0).any():
            unknown = np.atleast_1d(as_lookup(ids, self.ids, "ids"))[numbers < 0].tolist()[0]
            what = "unknown node" if side == "any" or not self.bipartite else f"unknown {side} node"
            part = slice(None) if side == "any" else self._sides()[side]
            known = f"one of the graph's {self.ids[part].size:,} ids"
            raise InputError(what, expected=known, found=repr(unknown), cure=nearest_ids(self.ids[part], unknown))
        return NodeNumbers(numbers[0] if np.ndim(ids) == 0 else numbers)

    def find(self, ids: Any, side: str = "any") -> Ints:
        """Find the node numbers of the user's ids as `numbers` does, always (n,); -1 where one is not in the graph."""
        if side not in ("any", "source", "target"):
            raise ConfigError("unknown side", expected="any, source or target", found=repr(side), where="side")
        wanted = as_lookup(ids, self.ids, "ids")
        sides, numbers = self._sides(), np.full(wanted.size, -1, np.int64)
        for name in (side,) if side != "any" else ("source", "target") if self.bipartite else ("source",):
            part = sides[name]
            place = find_ids(self.ids[part], self._id_order[name], wanted)
            twice = (numbers >= 0) & (place >= 0)
            if twice.any():
                shown = wanted[twice][:1].tolist()[0]
                cure = f"say which: graph.numbers({shown!r}, side='source') or side='target'"
                raise InputError("an id is on both sides of this graph", found=repr(shown), cure=cure)
            numbers = np.where(place >= 0, place + part.start, numbers)
        return numbers

    def _sides(self) -> dict[str, slice]:
        """Give the node numbers of sources and of targets."""
        cut = self.num_sources if self.bipartite else self.num_nodes
        return {"source": slice(0, cut), "target": slice(self.num_sources, self.num_nodes)}

    @cached_property
    def _id_order(self) -> dict[str, Ints | None]:
        """Give, for each side, the places of its ids in sorted order; None where they are sorted already."""
        orders: dict[str, Ints | None] = {}
        for side, part in self._sides().items():
            ids = self.ids[part]
            is_sorted = bool(np.all(ids[1:] > ids[:-1]))
            orders[side] = None if is_sorted else np.argsort(ids, kind="stable")
        return orders

    def tov(self, node: Any) -> Days:
        """Return the joining times of a node, ascending; `node` is one of the user's ids, or a `NodeNumbers`."""
        number = int(node if isinstance(node, NodeNumbers) else self.numbers(node))
        if not 0 <= number < self.num_nodes:
            expected = f"a node number from 0 to {self.num_nodes - 1}"
            raise InputError("unknown node", expected=expected, found=str(number))
        return self.tov_times[self.tov_start[number] : self.tov_start[number + 1]]

    @cached_property
    def fingerprint(self) -> str:
        """Give a short hash of all that the graph holds, by which results name their data."""
        digest = hashlib.blake2b(digest_size=12)
        digest.update(f"{self.clock} {self.directed} {self.tov_rule} {self.num_sources} {self.num_nodes}".encode())
        for array in (self.src, self.dst, self.time, self.toe, self.weight):
            digest.update(b"-" if array is None else array.tobytes())
        ids = self.ids if self.ids.dtype != object else np.frombuffer("\0".join(self.ids).encode(), np.uint8)
        digest.update(ids.tobytes())
        if self.type is not None:
            digest.update(self.type.tobytes() + "\0".join(self.type_names).encode())
        return digest.hexdigest()

    # -- views through time -------------------------------------------------------------------------------------------

    def before(self, t: Moment) -> TemporalGraph:
        """Keep what happened strictly before `t` (days on the graph's clock, or a date)."""
        return self.between(-np.inf, t)

    def between(self, a: Moment, b: Moment) -> TemporalGraph:
        """Keep the events with a <= time < b, the nodes all the same.

        ToE stay what they were when the events happened, and so every ToV before `b` is kept, those before `a` too.
        """
        start, end = moment(a, self.clock), moment(b, self.clock)
        if start > end:
            raise InputError("the interval is upside down", expected="a <= b", found=f"a = {start}, b = {end}")
        first, last = np.searchsorted(self.time, [start, end])
        tov_start, tov_times = kernels.keep_earlier(self.tov_start, self.tov_times, end)
        cut = slice(int(first), int(last))
        return replace(
            self,
            src=self.src[cut],
            dst=self.dst[cut],
            time=self.time[cut],
            toe=self.toe[cut],
            weight=None if self.weight is None else self.weight[cut],
            type=None if self.type is None else self.type[cut],
            tov_start=tov_start,
            tov_times=tov_times,
        )

    # -- what it looks like -------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Give Table 1's columns for this graph, and more; ToE statistics are over the events that have one.

        In an undirected graph every event counts with the ToE of both its directions.
        """
        return _describe(self)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"TemporalGraph({self.num_nodes:,} nodes, {self.num_events:,} events, {kind})"

    def _repr_html_(self) -> str:
        """Show the graph in a notebook: its size, its period, and its first and last events."""
        places = range(self.num_events) if self.num_events <= 6 else (0, 1, 2, -3, -2, -1)
        rows = [
            f"<tr><td>{escape(str(self.ids[self.src[k]]))}</td><td>{escape(str(self.ids[self.dst[k]]))}</td>"
            f"<td>{date_text(float(self.time[k]), self.clock)}</td><td>{self.toe[k]:,.4g}</td></tr>"
            for k in places
        ]
        head = "<tr><th>src</th><th>dst</th><th>time</th><th>ToE (days)</th></tr>"
        return f"<p>{escape(repr(self))}</p><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _describe(graph: TemporalGraph) -> dict[str, Any]:
    toe = graph.toe_values()
    has_toe = ~np.isnan(graph.toe)
    if graph.toe_reverse is not None:
        has_toe |= ~np.isnan(graph.toe_reverse)
    tied = np.concatenate([[False], graph.time[1:] == graph.time[:-1], [False]])
    low, high = np.minimum(graph.src, graph.dst).astype(np.int64), np.maximum(graph.src, graph.dst)
    pairs = pl.Series(low * graph.num_nodes + high).n_unique()
    ordered = (
        pl.Series(graph.src.astype(np.int64) * graph.num_nodes + graph.dst).n_unique() if graph.directed else pairs
    )
    quantiles = np.quantile(toe, [0.05, 0.25, 0.5, 0.75, 0.95]) if toe.size else np.full(5, np.nan)
    seen = graph.degree > 0

    def number(value: Any) -> float | None:
        return None if np.isnan(value) else float(value)

    return {
        "nodes": graph.num_nodes,
        "events": graph.num_events,
        "mean_degree": number(pairs / graph.num_nodes) if graph.num_nodes else None,
        "mean_toe_days": number(toe.mean()) if toe.size else None,
        "std_toe_days": number(toe.std()) if toe.size else None,
        "squashed_toe_mean": number(squash(toe).mean()) if toe.size else None,
        "squashed_toe_std": number(squash(toe).std()) if toe.size else None,
        "toe_quantiles_days": dict(zip(("5%", "25%", "50%", "75%", "95%"), map(number, quantiles), strict=True)),
        "events_with_toe": int(np.count_nonzero(has_toe)),
        "occurrences": graph.num_occurrences,
        "distinct_pairs": pairs,
        "distinct_ordered_pairs": ordered,
        "repeated_events": graph.num_events - ordered,
        "self_links": int(np.count_nonzero(graph.src == graph.dst)),
        "tied_events": int(np.count_nonzero(tied[1:] | tied[:-1])) if graph.num_events else 0,
        "isolated_nodes": int(np.count_nonzero(~seen)),
        "max_degree": int(graph.degree.max()) if graph.num_nodes else 0,
        "mean_events_per_node": number(graph.degree.mean()) if graph.num_nodes else None,
        "first_day": float(graph.time[0]) if graph.num_events else None,
        "last_day": float(graph.time[-1]) if graph.num_events else None,
        "span_days": float(graph.time[-1] - graph.time[0]) if graph.num_events else None,
        "clock": graph.clock,
        "directed": graph.directed,
        "bipartite": graph.bipartite,
        "weighted": graph.weight is not None,
        "types": list(graph.type_names),
        "tov_rule": graph.tov_rule,
    }


# -- checks at the door -----------------------------------------------------------------------------------------------


def _days(time: Any, unit: str, clock: str | None) -> tuple[Days, str]:
    if clock is not None and clock not in CLOCKS:
        raise ConfigError("unknown clock", expected="unix or own", found=repr(clock), where="clock")
    array = np.asarray(time.to_numpy() if hasattr(time, "to_numpy") else time)
    if array.dtype.kind == "M":
        days, found_clock = days_of_dates(array), "unix"
    else:
        numbers = _numbers(array, "time")
        days, found_clock = to_days(numbers, unit), "unix" if is_unix(typical(numbers), unit_name(unit)) else "own"
    wrong = ~(np.abs(days) < ABSURD_DAY)  # NaN is wrong too
    if wrong.any():
        row = int(np.argmax(wrong))
        expected, found = "times within ten million years", f"{array[row]} at {row}"
        raise InputError("a time makes no sense", expected=expected, found=found, where="time")
    return days, clock or found_clock


def _numbers(values: Any, name: str) -> Days:
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.ndim != 1 or (array.dtype.kind not in "iuf" and array.size):
        found = f"{array.ndim} dimensions of {array.dtype}"
        raise InputError("not a list of numbers", expected="one dimension of numbers", found=found, where=name)
    numbers = np.array(array, dtype=np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmax(~np.isfinite(numbers)))
        raise InputError("not a finite number", expected="numbers", found=f"{numbers[row]} at {row}", where=name)
    return numbers


def _check_lengths(src: int, dst: int, days: Days, weight: Days | None, types: EventTypes) -> None:
    lengths = {"src": src, "dst": dst, "time": days.size}
    lengths |= {name: more.size for name, more in (("weight", weight), ("type", types.code)) if more is not None}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise InputError("columns differ in length", expected="one value per event in each", found=found)


def _distinct_ids(ids: Any) -> Ids:
    column = as_id_column(ids, "ids")
    if column.n_unique() != column.len():
        twice = column.filter(column.is_duplicated())[0]
        raise InputError("an id stands twice", expected="distinct ids", found=repr(twice), where="ids")
    array: npt.NDArray[Any] = column.to_numpy()
    return array.copy() if array.dtype == np.int64 else array.astype(object)


def _node_numbers(values: Any, num_nodes: int, name: str) -> Nodes:
    column = as_id_column(values, name)
    low, high = column.min(), column.max()
    if column.len() and not (isinstance(low, int) and isinstance(high, int) and low >= 0 and high < num_nodes):
        expected = f"node numbers from 0 to {num_nodes - 1}, because ids are given"
        raise InputError("not a node number", expected=expected, found=f"{low!r} to {high!r}", where=name)
    return column.to_numpy().astype(np.int32)
