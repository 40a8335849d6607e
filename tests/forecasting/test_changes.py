"""What is new since a moment, beside plain loops; on a law that does not change, and where a change was planted."""

from __future__ import annotations

import numpy as np
import pytest

from futures import other_futures, with_events
from small import forum
from tadge import synthetic
from tadge.forecasting.changes import Periods, changed_paces, drift_of, new_nodes, new_pairs, silent_pairs

KINDS = [True, False]


def periods_of(graph, quantile=0.7, until=0.95):
    since, end = np.quantile(graph.time, [quantile, until])
    return Periods.of(graph, float(since), float(end))


@pytest.mark.parametrize("directed", KINDS)
def test_new_nodes_and_pairs_are_those_of_a_plain_loop(directed):
    graph = forum(directed=directed)
    periods = periods_of(graph)
    first, seen, counts, events = {}, {}, {}, {}
    for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True):
        if t > periods.until:
            break
        pair = (u, v) if directed else (min(u, v), max(u, v))
        first.setdefault(pair, t)
        counts[pair] = counts.get(pair, 0) + 1
        for node in {u, v}:
            seen.setdefault(node, t)
            events[node] = events.get(node, 0) + 1
    table = new_nodes(graph, periods)
    expected = {graph.ids[node]: events[node] for node, t in seen.items() if t >= periods.since}
    assert dict(zip(table["node"].tolist(), table["events"].tolist(), strict=True)) == expected != {}
    table = new_pairs(graph, periods)
    listed = zip(*(table[name].tolist() for name in ("src", "dst", "events", "known")), strict=True)
    ids = graph.ids
    assert set(listed) == {
        (ids[u], ids[v], counts[u, v], max(seen[u], seen[v]) < periods.since)
        for (u, v), t in first.items()
        if t >= periods.since
    }
    assert (np.diff(table["first"]) >= np.timedelta64(0)).all()


@pytest.mark.parametrize("directed", KINDS)
def test_drift_is_that_of_a_plain_loop(directed):
    graph = forum(directed=directed)
    periods = periods_of(graph)
    table = drift_of(graph, periods, {"said": (0.1, 0.2)})
    figures = {name: pair for name, *pair in zip(*table.values(), strict=True)}
    assert figures["said"] == [0.1, 0.2]
    past, repeats, answers = set(), [0, 0], [0, 0]
    size = [0, 0]
    for t in np.unique(graph.time[graph.time <= periods.until]):
        now = [(u, v) for u, v in zip(graph.src[graph.time == t], graph.dst[graph.time == t], strict=True)]
        for u, v in now if t >= periods.begin else []:
            side = int(t >= periods.since)
            size[side] += 1
            forth, back = (u, v) in past or (not directed and (v, u) in past), (v, u) in past
            repeats[side] += forth
            answers[side] += back and not forth
        past |= set(now)
    for side, days in enumerate((periods.since - periods.begin, periods.until - periods.since)):
        assert figures["links per day"][side] == pytest.approx(size[side] / days)
        assert figures["fraction of repeats"][side] == pytest.approx(repeats[side] / size[side])
        if directed:
            assert figures["fraction of answers"][side] == pytest.approx(answers[side] / size[side])
    assert ("fraction of answers" in figures) == directed


def test_a_constant_law_has_no_changes_of_pace():
    listed = 0
    for seed in range(8):
        graph = synthetic.desk(customers=120, agents=6, seed=seed).graph
        periods = Periods.of(graph, float(graph.time[0]) + 300, float(graph.time[-1]))
        listed += len(changed_paces(graph, periods, 0.05)["node"]) > 0
        listed += len(silent_pairs(graph, periods, 0.05)["src"]) > 0
    assert listed <= 2  # of 16


def test_a_planted_change_is_found_and_little_else():
    law = synthetic.desk(customers=120, agents=6, rate=0.2, seed=3)
    graph, rng = law.graph, np.random.default_rng(0)
    since = float(graph.time[0]) + 280
    periods = Periods.of(graph, since, float(graph.time[-1]))
    busy = np.flatnonzero((graph.degree > 60) & np.char.startswith(graph.ids.astype(str), "customer"))
    risen, stopped = busy[:5], busy[5:10]
    late = graph.time >= since
    kept = np.flatnonzero(~(late & np.isin(graph.src, stopped)))
    more = np.repeat(np.flatnonzero(late & np.isin(graph.src, risen)), 3)
    place = np.concatenate([kept, more])
    time = np.concatenate([graph.time[kept], rng.uniform(since, periods.until, more.size)])
    changed = with_events(graph, graph.src[place], graph.dst[place], time)
    table = changed_paces(changed, periods, 0.05)
    acts = {
        node: change
        for node, role, change in zip(table["node"], table["role"], table["change"], strict=True)
        if role == "links to others"
    }
    assert {graph.ids[node] for node in risen} <= {node for node, change in acts.items() if change == "rose"}
    assert {graph.ids[node] for node in stopped} <= {node for node, change in acts.items() if change == "fell"}
    assert len(acts) <= 12
    silent = silent_pairs(changed, periods, 0.05)
    assert set(silent["src"]) <= {graph.ids[node] for node in stopped} and len(silent["src"]) >= 3
    assert (silent["expected"] > 3).all() and (silent["p_value"] <= 0.05).all()


def test_nothing_after_the_end_is_looked_at():
    graph = forum()
    periods = periods_of(graph)

    def everything(world):
        tables = new_nodes(world, periods), new_pairs(world, periods), changed_paces(world, periods, 0.5)
        more = silent_pairs(world, periods, 0.5), drift_of(world, periods, {})
        return repr([[column.tolist() for column in table.values()] for table in (*tables, *more)])

    expected = everything(graph)
    for future in other_futures(graph, periods.until, np.random.default_rng(0)):
        assert everything(future) == expected
