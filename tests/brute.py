"""Definition 1 in plain loops: what the compiled code is checked against."""

from __future__ import annotations

import math


def joining_times(events, num_nodes, rule="source", directed=True):
    """ToV sets: times a node acts and the time it is first seen; with "any", every time it is seen."""
    tov = [set() for _ in range(num_nodes)]
    first = [math.inf] * num_nodes
    for u, v, t in events:
        for node in (u, v):
            first[node] = min(first[node], t)
        tov[u].add(t)
        if rule == "any" or not directed:
            tov[v].add(t)
    for node, t in enumerate(first):
        if t < math.inf:
            tov[node].add(t)
    return [sorted(times) for times in tov]


def toe_of(node, t, tov):
    """Time since the node's latest ToV strictly before t; None without one."""
    earlier = [one for one in tov[node] if one < t]
    return t - max(earlier) if earlier else None
