"""Which targets the same sources chose, against a plain count over the lists of all sources."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given, settings

from futures import all_kinds, other_futures
from small import forum
from tadge.features.choices import CHOICES, chosen_together, count_together, list_chosen
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of


def pairs_by(graph, events):
    """Count the sources that chose both of two targets among the first events, each with the 8 targets before it."""
    acts = {}
    for u, v in zip(graph.src[:events].tolist(), graph.dst[:events].tolist(), strict=True):
        acts.setdefault(u, []).append(v)
        if not graph.directed and u != v:
            acts.setdefault(v, []).append(u)
    found = Counter()
    for targets in acts.values():
        for k, target in enumerate(targets):
            if target not in targets[:k]:
                found.update(
                    tuple(sorted((target, other))) for other in list(dict.fromkeys(reversed(targets[:k])))[:CHOICES]
                )
    return found


@given(all_kinds(60))
@settings(max_examples=60)
def test_sources_that_chose_both_are_counted_as_of_any_event(graph):
    chosen, directions = chosen_together(graph), past_of(graph).directions
    for events in {0, graph.num_events // 2, graph.num_events}:
        expected = pairs_by(graph, events)
        for one, other in combinations(range(graph.num_nodes), 2):
            assert count_together(chosen, one, other, directions * events) == expected[one, other]
            assert count_together(chosen, other, one, directions * events) == expected[one, other]


def test_counts_as_of_an_event_are_the_same_whatever_comes_later():
    graph = forum(300)
    now = float(graph.time[200])
    bound = int(np.searchsorted(graph.time, now, side="right")) * past_of(graph).directions
    ends = [(u, v) for u in range(0, graph.num_nodes, 3) for v in range(1, graph.num_nodes, 4)]
    before = [count_together(chosen_together(graph), u, v, bound) for u, v in ends]
    assert any(before)
    for other in other_futures(graph, now, np.random.default_rng(0)):
        assert [count_together(chosen_together(other), u, v, bound) for u, v in ends] == before


def test_memory_is_bounded_by_the_first_links():
    """A source that links to ever the same two adds one pair, one that links to ever new targets eight of each."""
    alternating = TemporalGraph.from_arrays([0] * 50, [1, 2] * 25, range(50), unit="days")
    assert list_chosen(past_of(alternating).outgoing).key.size == 1
    wandering = TemporalGraph.from_arrays([0] * 50, range(1, 51), range(50), unit="days")
    assert list_chosen(past_of(wandering).outgoing).key.size == CHOICES * 50 - CHOICES * (CHOICES + 1) // 2
    assert np.diff(list_chosen(past_of(wandering).outgoing).start).max() == CHOICES
