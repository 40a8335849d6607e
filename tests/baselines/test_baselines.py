"""All baselines: by name, and blind to what comes later."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from graphs import random_graph

from small import rebuilt
from tadge.baselines import BASELINES, make
from tadge.errors import ConfigError
from tadge.graph import TemporalGraph

NAMES = (
    *("mean", "median", "node mean", "additive", "reciprocity", "boosted trees"),
    *("EdgeBank", "popularity", "own recency", "global recency", "last seen"),
    *("last seen (former targets last)", "reverse recency", "own + reverse recency", "reverse + popularity"),
    *("last act", "last act + last seen", "own recency + decayed popularity", "co-visitation"),
    *("pair rates", "recency table", "boosted trees (within)", "one curve for all", "Cox"),
    *("majority", "degree + age", "DeepWalk"),
)


def test_they_have_names():
    assert tuple(BASELINES) == NAMES
    for name in NAMES:
        assert make(name, 7).name == name
        assert make(name, 7).seed == 7
    assert make(" edgebank").name == "EdgeBank"
    assert not any("," in name for name in NAMES)  # the command line takes names with commas between them


def test_an_unknown_name():
    with pytest.raises(ConfigError, match=r"unknown baseline; expected mean, .* found 'last acts'; did you mean 'last"):
        make("last acts")
    with pytest.raises(ConfigError, match="unknown baseline"):
        make("zzz")
    with pytest.raises(ConfigError, match="not a seed"):
        make("mean", -1)


def test_names_cost_little_to_import():
    heavy = "('sklearn', 'scipy.sparse', 'torch')"
    code = f"import sys, tadge.baselines\nprint(*(name for name in {heavy} if name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def answers(method, graph, src, dst, at):
    found = []
    if hasattr(method, "embed"):
        found.append(method.embed(src, at, graph=graph))
    if hasattr(method, "score_links"):
        found.append(method.score_links(src, dst, at, graph=graph))
    if hasattr(method, "predict_toe"):
        found += [method.predict_toe(src, dst, at, graph=graph, unit=unit) for unit in ("squashed", "days")]
    if hasattr(method, "within"):
        found.append(method.within(src, dst, [0.01, 1.0, 20.0], at, graph=graph))
    assert found
    for each in found:
        assert len(each) == len(src)
        assert np.isfinite(each).all()
    return [each.tobytes() for each in found]


def worlds(graph, now, rng):
    """The same graph until a moment, and afterwards: nothing, other events, and a longer time."""
    past = graph.time <= now
    later = int((~past).sum())
    yield graph.before(np.nextafter(now, np.inf))
    src, dst = rng.integers(0, graph.num_nodes, (2, later))
    yield rebuilt(graph, src=np.append(graph.src[past], src), dst=np.append(graph.dst[past], dst))
    time = np.where(past, graph.time, now + (graph.time - now) * 1_000)
    yield rebuilt(graph, src=np.append(graph.src[past], src), dst=np.append(graph.dst[past], dst), time=time)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_what_comes_later_changes_no_answer(name, directed):
    """Bit for bit, asked at events, right before them and between them."""
    rng = np.random.default_rng(0)
    graph = random_graph(num_nodes=25, num_events=400, span=150, directed=directed)
    method = make(name, 0).fit(graph.before(graph.time[280]))
    src, dst = np.divmod(np.arange(graph.num_nodes**2), graph.num_nodes)
    for now in (graph.time[290], np.nextafter(graph.time[330], -np.inf), graph.time[360] + 0.3, graph.time[200]):
        at = np.full(src.size, now)
        expected = answers(method, graph, src, dst, at)
        for other in worlds(graph, now, rng):
            assert answers(method, other, src, dst, at) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_answers(name):
    graph = random_graph(num_nodes=25, num_events=400)
    src, dst = np.divmod(np.arange(graph.num_nodes**2), graph.num_nodes)
    at = np.full(src.size, graph.time[-1])
    assert answers(make(name, 3).fit(graph), graph, src, dst, at) == answers(
        make(name, 3).fit(graph), graph, src, dst, at
    )


@pytest.mark.parametrize("name", NAMES)
def test_bipartite_graphs_and_nodes_without_events(name):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 9, 200), rng.integers(0, 4, 200)
    graph = TemporalGraph.from_arrays(src, dst, np.sort(rng.random(200)) * 50, unit="days", bipartite=True)
    method = make(name, 0).fit(graph.before(30.0))
    answers(method, graph, np.arange(9), np.full(9, 10), np.full(9, 40.0))
    answers(method, graph.before(graph.time[0]), np.arange(9), np.full(9, 10), np.full(9, 40.0))
