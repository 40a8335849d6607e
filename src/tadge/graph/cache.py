"""What is found out about a graph once, and kept as long as the graph lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from tadge.graph.graph import TemporalGraph

Found = TypeVar("Found")
Key = ParamSpec("Key")


def per_graph(
    build: Callable[Concatenate[TemporalGraph, Key], Found],
) -> Callable[Concatenate[TemporalGraph, Key], Found]:
    """Call a function once per graph and further arguments (positional, hashable), and keep what it returns.

    What is kept must not hold the graph itself, or neither is ever let go.
    """
    kept: WeakKeyDictionary[TemporalGraph, dict[tuple[Hashable, ...], Found]] = WeakKeyDictionary()

    @wraps(build)
    def once(graph: TemporalGraph, /, *key: Key.args, **named: Key.kwargs) -> Found:
        known = kept.setdefault(graph, {})
        if key not in known:
            known[key] = build(graph, *key, **named)
        return known[key]

    return once


class GraphCache(WeakKeyDictionary[TemporalGraph, Found]):
    """Keep something of each graph for as long as the graph lives; a copy of it, wherever it goes, begins empty."""

    def __reduce__(self) -> tuple[type[GraphCache[Found]], tuple[()]]:
        return type(self), ()

    def __deepcopy__(self, memo: object) -> GraphCache[Found]:
        return type(self)()
