"""Answers for pairs: as of their moments and of nothing later, the same in any way they are asked and kept."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tadge.features.memory import WIDTH, Scales, memory_of, pair_columns
from tadge.features.timing import toe_columns

from futures import other_futures, random_ends, with_events
from small import forum
from tadge.features import memory
from tadge.forecasting import estimator as forecaster
from tadge.forecasting.estimator import Forecaster
from tadge.graph import TemporalGraph


@contextmanager
def part(title):
    yield lambda done, total: None


def shop():
    """Buyers and things, in a bipartite graph."""
    graph, rng = forum(), np.random.default_rng(0)
    return TemporalGraph.from_arrays(graph.src, rng.integers(0, 50, graph.num_events), graph.time, bipartite=True)


GRAPHS = {"directed": forum, "undirected": lambda: forum(directed=False), "bipartite": shop}
_known = {}


def known(kind):
    """Learn from the first six tenths of a graph, once."""
    if kind not in _known:
        graph = GRAPHS[kind]()
        train = graph.before(float(np.quantile(graph.time, 0.6)))
        _known[kind] = graph, train, Forecaster.learn(train, 10, 0, part)
    return _known[kind]


def some(graph, count, seed=0):
    rng = np.random.default_rng(seed)
    return *random_ends(graph, count, rng), rng.uniform(graph.time[0], graph.time[-1], count)


def answers(model, graph, asked):
    found = (
        model.score_links(graph, *asked),
        model.guess_toe(graph, *asked),
        model.guess_toe(graph, *asked, median=True),
    )
    assert [each.dtype for each in found] == [np.float32, np.float64, np.float64]
    assert all(each.shape == asked[0].shape for each in found)
    assert all(np.isfinite(each).all() for each in found)
    return found


def same(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_are_those_of_the_parts(kind):
    graph, train, model = known(kind)
    assert model.scales == Scales.of(train)
    asked = some(graph, 200)
    columns = pair_columns(memory_of(graph, model.scales), *asked)
    with torch.no_grad():
        scores = model.links(torch.from_numpy(columns)).numpy()
    found = answers(model, graph, asked)
    np.testing.assert_allclose(found[0], scores, rtol=1e-5, atol=1e-5)
    columns = toe_columns(graph, model.scales, *asked)
    assert found[1].tobytes() == model.toe.guess(columns).tobytes()
    assert found[2].tobytes() == model.toe_median.guess(columns).tobytes()
    assert scores.std() > 0.05


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_survive_as_tensors(kind):
    graph, _, model = known(kind)
    tensors = model.tensors()
    assert all(isinstance(each, torch.Tensor) for each in tensors.values())
    again = Forecaster.of({name: tensor.clone() for name, tensor in tensors.items()})
    assert again.scales == model.scales
    assert not again.links.training
    asked = some(graph, 300)
    assert same(answers(again, graph, asked), answers(model, graph, asked))
    assert {name: tensor.tolist() for name, tensor in again.tensors().items()} == {
        name: tensor.tolist() for name, tensor in tensors.items()
    }


@settings(max_examples=25)
@given(st.sampled_from(sorted(GRAPHS)), st.floats(0, 1), st.booleans(), st.integers(0, 1000))
def test_what_is_later_changes_no_bit(kind, share, between, seed):
    graph, _, model = known(kind)
    rng = np.random.default_rng(seed)
    now = float(np.quantile(graph.time, share)) if between else float(graph.time[int(share * (graph.num_events - 1))])
    asked = *random_ends(graph, 40, rng), np.full(40, now)
    expected = answers(model, graph, asked)
    for other in other_futures(graph, now, rng):
        assert same(answers(model, other, asked), expected)


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_blocks_change_nothing(at_once, monkeypatch):
    graph, _, model = known("directed")
    asked = some(graph, 100)
    scores, *toe = answers(model, graph, asked)
    monkeypatch.setattr(forecaster, "AT_ONCE", at_once)
    monkeypatch.setattr(memory, "AT_ONCE", max(1, at_once // 2))
    found = answers(model, graph, asked)
    np.testing.assert_allclose(found[0], scores, rtol=1e-5, atol=1e-5)  # up to the rounding of the network
    assert same(found[1:], toe)


def test_no_pairs_have_no_answers():
    graph, _, model = known("directed")
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    assert [each.size for each in answers(model, graph, none)] == [0, 0, 0]


@pytest.mark.parametrize("kind", GRAPHS)
def test_nodes_that_are_new_are_answered_for(kind):
    """By what they did since: nothing is known by number."""
    graph, train, model = known(kind)
    new = np.flatnonzero((train.degree == 0) & (graph.degree > 0))
    assert new.size > 5
    end, rng = float(graph.time[-1]), np.random.default_rng(0)
    side = new[new < (graph.num_sources or graph.num_nodes)]
    src = side if side.size else new
    asked = src, random_ends(graph, src.size, rng)[1], np.full(src.size, end)
    assert len(set(np.round(answers(model, graph, asked)[0], 4))) > src.size // 2
    renamed = rng.permutation(graph.num_sources or graph.num_nodes)
    renamed = np.append(renamed, renamed.size + rng.permutation(graph.num_nodes - renamed.size))
    other = with_events(graph, renamed[graph.src], renamed[graph.dst], graph.time)
    assert same(
        answers(model, other, (renamed[asked[0]], renamed[asked[1]], end + 0 * asked[2])), answers(model, graph, asked)
    )


@pytest.mark.parametrize("count", [1, 3, 30, 101])
def test_who_is_alike_has_the_same_score(count):
    """To the last bit, wherever it stands: else it would be ranked by its place."""
    graph, _, model = known("directed")
    empty = graph.before(graph.time[0])
    asked = np.full(count, 3), 4 + np.arange(count), np.full(count, 5.0)  # nobody is known
    for found in answers(model, empty, asked):
        assert np.unique(found).size == 1


def test_the_same_seed_gives_the_same_answers():
    train = forum(300)
    one, two, three = (Forecaster.learn(train, 5, seed, part) for seed in (1, 1, 2))
    asked = some(train, 50)
    assert same(answers(one, train, asked), answers(two, train, asked))
    assert not np.allclose(answers(three, train, asked)[0], answers(one, train, asked)[0])


def put(**changes):
    return lambda tensors: tensors.update({name.replace("__", "."): value for name, value in changes.items()})


DAMAGES = {
    "nothing": lambda tensors: tensors.clear(),
    "no scales": lambda tensors: tensors.pop("scales"),
    "no layer": lambda tensors: tensors.pop("links.layers.2.bias"),
    "no spread": lambda tensors: tensors.pop("links.standard.spread"),
    "no trees": lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("toe")],
    "no values": lambda tensors: tensors.pop("toe.value"),
    "one scale": put(scales=torch.ones(2, dtype=torch.float64)),
    "one number": put(scales=torch.tensor(1.0, dtype=torch.float64)),
    "no scale at all": put(scales=torch.zeros(0, dtype=torch.float64)),
    "a table of scales": put(scales=torch.ones(5, 1, dtype=torch.float64)),
    "no time": put(scales=torch.zeros(5, dtype=torch.float64)),
    "not a number": put(scales=torch.full((5,), torch.nan, dtype=torch.float64)),
    "all time": put(scales=torch.full((5,), torch.inf, dtype=torch.float64)),
    "other weights": put(links__layers__0__weight=torch.zeros(128, WIDTH + 1)),
    "further weights": put(links__more=torch.zeros(1)),
    "further arrays": put(toe__more=torch.zeros(1)),
    "short trees": put(toe__left=torch.zeros(1, dtype=torch.int64)),
    "trees of fractions": put(toe__column=torch.zeros(2)),
    "deep trees": put(toe__column=torch.zeros(2, 2, dtype=torch.int64)),
    "halves": put(toe__value=torch.zeros(2, dtype=torch.bfloat16)),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_tensors_that_do_not_fit_are_refused(case):
    tensors = known("directed")[2].tensors()
    DAMAGES[case](tensors)
    with pytest.raises((ValueError, KeyError, TypeError, RuntimeError)):
        Forecaster.of(tensors)
