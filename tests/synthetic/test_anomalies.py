"""Planted anomalies: as many as asked for, marked, true to their laws, and not given away by how they are written."""

from __future__ import annotations

import numpy as np
import pytest

from small import rebuilt
from tadge import synthetic
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.graph.past import past_of

CHAIN, TAKE_OVER, BURST = range(3)
HOUR = 1 / 24


@pytest.fixture(scope="module")
def forum():
    return synthetic.forum(50_000, seed=3).graph


@pytest.fixture(scope="module")
def planted(forum):
    return synthetic.plant_anomalies(forum, seed=1)


def weighted(graph, step=60.0):
    """Put the events on a grid of so many seconds, with a weight that tells the source and the event."""
    seconds = np.floor(graph.time * 86_400 / step) * step
    weight = graph.src * 1e6 + np.arange(graph.num_events)
    return TemporalGraph.from_arrays(graph.src, graph.dst, seconds, weight, ids=graph.ids, clock="unix")


def shop():
    rng = np.random.default_rng(0)
    users, items = rng.integers(1, 40, 3_000), rng.integers(1, 30, 3_000)
    return TemporalGraph.from_arrays(users, items, rng.uniform(0, 90, 3_000), unit="days", bipartite=True)


def incidents(planted, kind):
    """List the events of each incident of a kind."""
    numbers = np.unique(planted.incident[planted.kind == kind])
    return [np.flatnonzero(planted.incident == number) for number in numbers]


def check_original(planted, graph):
    """Without what was planted, the graph is what it was."""
    for name in ("src", "dst", "time"):
        assert np.array_equal(getattr(planted.graph, name)[~planted.mask], getattr(graph, name))
    if graph.weight is not None:
        assert np.array_equal(planted.graph.weight[~planted.mask], graph.weight)
    assert planted.graph.ids is graph.ids
    same = ("clock", "directed", "tov_rule", "num_sources")
    assert all(getattr(planted.graph, name) == getattr(graph, name) for name in same)
    assert np.all(np.diff(planted.graph.time) >= 0)


# -- counts and marks -------------------------------------------------------------------------------------------------


def test_as_many_as_asked_for_all_marked(forum, planted):
    check_original(planted, forum)
    assert planted.graph.num_events == forum.num_events + np.count_nonzero(planted.mask)
    assert np.array_equal(planted.mask, planted.kind >= 0)
    assert np.array_equal(planted.mask, planted.incident >= 0)
    assert planted.num_incidents == 60
    for kind in range(3):
        sizes = [events.size for events in incidents(planted, kind)]
        assert len(sizes) == 20
        assert min(sizes) >= 3 and max(sizes) <= 13 and 8 <= np.mean(sizes) <= 11
    assert "of 60 incidents planted, seed 1" in repr(planted)
    assert len(synthetic.KINDS) == 3


def test_they_lie_in_the_last_part(forum, planted):
    assert planted.graph.time[planted.mask].min() >= forum.time[42_500]
    assert planted.graph.time[planted.mask].max() <= forum.time[-1]
    late = synthetic.plant_anomalies(forum, last_fraction=0.05, seed=1)
    assert late.graph.time[late.mask].min() >= forum.time[47_500]


def test_toe_follows_from_all_events(planted):
    whole = rebuilt(planted.graph)
    assert np.array_equal(whole.toe, planted.graph.toe, equal_nan=True)


def test_a_seed_is_a_choice(forum, planted):
    again, other = (synthetic.plant_anomalies(forum, seed=seed) for seed in (1, 2))
    assert again.graph.fingerprint == planted.graph.fingerprint != other.graph.fingerprint
    for name in ("mask", "kind", "incident"):
        assert np.array_equal(getattr(again, name), getattr(planted, name))
        assert not getattr(again, name).flags.writeable


def test_never_more_than_one_in_fifty():
    graph = synthetic.forum(6_000, seed=1).graph
    few = synthetic.plant_anomalies(graph, seed=0)
    check_original(few, graph)
    assert 0.015 * 6_000 < np.count_nonzero(few.mask) <= 0.02 * 6_000
    counts = [len(incidents(few, kind)) for kind in range(3)]
    assert min(counts) >= 3 and max(counts) - min(counts) <= 1
    only = synthetic.plant_anomalies(graph, chains=0, take_overs=0, bursts=2, size=20, seed=0)
    assert [len(incidents(only, kind)) for kind in range(3)] == [0, 0, 2]
    assert all(14 <= events.size <= 26 for events in incidents(only, BURST))


# -- the laws ---------------------------------------------------------------------------------------------------------


def test_chains_pass_on_within_hours_to_strangers(forum, planted):
    graph, past = planted.graph, past_of(forum)
    for events in incidents(planted, CHAIN):
        src, dst, time = graph.src[events], graph.dst[events], graph.time[events]
        node = dst[0]
        out = src == node
        assert 2 <= np.count_nonzero(out) <= 4
        assert np.all(np.isin(src[1:], [node, *dst[out]]))
        for receiver in dst[out]:
            assert np.all(time[src == receiver] >= time[dst == receiver])
            assert np.count_nonzero(src == receiver) <= 2
        assert np.all(past.count_links(src[1:], dst[1:], np.inf) == 0)
        assert np.unique(dst).size == dst.size
        assert time[-1] - time[0] < 48 * HOUR
        assert np.all(past.count_incoming(dst, time) > 0)
        assert np.all(past.count_outgoing(src, time) > 0)
    lengths = [np.ptp(graph.time[events]) for events in incidents(planted, CHAIN)]
    assert 2 * HOUR < np.median(lengths) < 16 * HOUR


def test_take_overs_copy_targets_and_pace_of_another(forum, planted):
    period = slice(42_500, None)
    graph = planted.graph
    src, dst, time = forum.src[period], forum.dst[period], forum.time[period]
    for events in incidents(planted, TAKE_OVER):
        node = np.unique(graph.src[events])
        assert node.size == 1
        targets, gaps = graph.dst[events].tolist(), np.diff(graph.time[events])
        models = [model for model in np.unique(src[dst == targets[0]]) if model != node[0]]
        matches = 0
        for model in models:
            acts = np.flatnonzero(src == model)
            kept = [k for k in acts if dst[k] in targets]
            starts = [i for i in range(len(kept)) if dst[kept[i : i + len(targets)]].tolist() == targets]
            matches += any(np.allclose(np.diff(time[kept[i : i + len(targets)]]), gaps, atol=1e-9) for i in starts)
        assert matches >= 1
        assert np.count_nonzero(forum.src[:42_500] == node[0]) >= 3  # and its own acts go on
        assert np.count_nonzero(src == node[0]) >= 1
    strange = np.concatenate(
        [
            past_of(forum).count_links(graph.src[events], graph.dst[events], np.inf) == 0
            for events in incidents(planted, TAKE_OVER)
        ]
    )
    assert strange.mean() > 0.9


def test_bursts_are_short_and_go_to_few_strangers(forum, planted):
    graph, past = planted.graph, past_of(forum)
    for events in incidents(planted, BURST):
        assert np.unique(graph.src[events]).size == 1
        assert np.unique(graph.dst[events]).size <= 3
        assert np.ptp(graph.time[events]) <= HOUR
        assert np.all(past.count_links(graph.src[events], graph.dst[events], np.inf) <= 1)
        assert np.all(graph.src[events] != graph.dst[events])


# -- nothing gives them away ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1.0, 20.0, 60.0, 3_600.0])
def test_times_and_weights_are_those_of_the_graph(forum, step):
    graph = weighted(forum, step)
    planted = synthetic.plant_anomalies(graph, seed=4)
    check_original(planted, graph)
    seconds = np.round(planted.graph.time * 86_400)
    assert np.array_equal(seconds / 86_400, planted.graph.time)  # bit for bit as the others
    assert np.all(seconds % step == 0)
    owner, event = np.divmod(planted.graph.weight[planted.mask], 1e6)
    kinds = planted.kind[planted.mask]
    assert np.array_equal(owner[kinds != TAKE_OVER], planted.graph.src[planted.mask][kinds != TAKE_OVER])
    assert not np.any(owner[kinds == TAKE_OVER] == planted.graph.src[planted.mask][kinds == TAKE_OVER])
    before = graph.time[event.astype(int)] <= planted.graph.time[planted.mask]
    assert np.all(before[kinds != TAKE_OVER])


def test_shared_moments_are_shared(forum):
    """Where events come by the month, so do those that are planted; among their moment's events they stand anywhere."""
    month = np.floor(forum.time / 30.4)
    graph = rebuilt(forum, time=month * 30.4)
    planted = synthetic.plant_anomalies(graph, seed=4)
    check_original(planted, graph)
    assert np.all(np.isin(planted.graph.time[planted.mask], graph.time))
    time = planted.graph.time
    low, high = (np.searchsorted(time, time[planted.mask], side=side) for side in ("left", "right"))
    place = (np.flatnonzero(planted.mask) - low) / (high - low)
    assert 0.35 < place.mean() < 0.65 and place.min() < 0.1 and place.max() > 0.9
    for events in incidents(planted, CHAIN):
        assert np.all(np.isin(planted.graph.src[events][1:], planted.graph.dst[events]))


def test_a_graph_without_ties_has_none_after(forum, planted):
    assert forum.num_moments == forum.num_events
    assert planted.graph.num_moments == planted.graph.num_events


def test_a_graph_without_repeated_pairs_has_none_after(forum):
    pair = forum.src.astype(np.int64) * forum.num_nodes + forum.dst
    once = np.sort(np.unique(pair, return_index=True)[1])
    graph = rebuilt(forum, forum.src[once], forum.dst[once], forum.time[once])
    planted = synthetic.plant_anomalies(graph, seed=5)
    assert planted.num_incidents == 60
    src, dst = planted.graph.src[planted.mask], planted.graph.dst[planted.mask]
    assert np.all(past_of(graph).count_links(src, dst, np.inf) == 0)
    assert past_of(planted.graph).pairs.target.size == planted.graph.num_events


# -- graphs that do not do --------------------------------------------------------------------------------------------


def test_a_bipartite_graph_has_no_chains_but_the_rest():
    graph = shop()
    with pytest.raises(
        InputError, match=r"^chains: no node for a chain; .*; found none in a bipartite graph; say chai"
    ):
        synthetic.plant_anomalies(graph)
    planted = synthetic.plant_anomalies(graph, chains=0, seed=1)
    check_original(planted, graph)
    assert planted.graph.bipartite
    assert planted.graph.src.max() < graph.num_sources <= planted.graph.dst.min()
    assert [bool(incidents(planted, kind)) for kind in range(3)] == [False, True, True]


def test_customers_are_never_linked_to():
    graph = synthetic.desk(seed=0).graph
    with pytest.raises(InputError, match=r"^chains: no node .*; found none in a bipartite graph; say chains=0"):
        synthetic.plant_anomalies(graph)
    planted = synthetic.plant_anomalies(graph, chains=0)
    check_original(planted, graph)
    assert np.all(np.isin(planted.graph.dst, graph.dst))


def test_what_cannot_be_done_is_one_sentence(forum):
    with pytest.raises(InputError, match="who acts is not known; expected a directed graph; found an undirected one"):
        synthetic.plant_anomalies(rebuilt(forum, directed=False))
    with pytest.raises(
        InputError, match="too few events to hide anomalies in; expected at least 2,100 for one incident"
    ):
        synthetic.plant_anomalies(synthetic.forum(1_000).graph)
    with pytest.raises(InputError, match="too few events"):
        synthetic.plant_anomalies(TemporalGraph.from_arrays([], [], []))
    with pytest.raises(InputError, match="graph: wrong kind of value"):
        synthetic.plant_anomalies("edges.csv")
    with pytest.raises(ConfigError, match="nothing to plant"):
        synthetic.plant_anomalies(forum, chains=0, take_overs=0, bursts=0)
    newcomers = TemporalGraph.from_arrays(np.arange(3_000), np.zeros(3_000, int), np.arange(3_000), unit="h")
    for option in ("take_overs", "bursts"):
        others = {name: 0 for name in ("chains", "take_overs", "bursts") if name != option}
        with pytest.raises(InputError, match=f"^{option}: no node for a .*; say {option}=0$"):
            synthetic.plant_anomalies(newcomers, **others)


@pytest.mark.parametrize(
    ("option", "value"), [("chains", -1), ("size", 3), ("last_fraction", 0), ("bursts", 1.5), ("seed", -1)]
)
def test_bad_options_are_named(forum, option, value):
    with pytest.raises(ConfigError, match=f"^{option}: .*; expected .*; found "):
        synthetic.plant_anomalies(forum, **{option: value})
