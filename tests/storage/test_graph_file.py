"""A graph comes back from its tensors bit for bit."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.storage.folder import read_folder, write_folder
from tadge.storage.graph_file import graph_arrays, graph_from


def same(one: TemporalGraph, other: TemporalGraph) -> bool:
    """Compare every field, NaN and all."""
    for field in dataclasses.fields(TemporalGraph):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            texts = a.dtype == object
            if a.dtype != b.dtype or a.shape != b.shape or b.flags.writeable:
                return False
            if (a.tolist() != b.tolist()) if texts else (a.tobytes() != b.tobytes()):
                return False
        elif type(a) is not type(b) or a != b:
            return False
    return one.fingerprint == other.fingerprint


def kept(graph: TemporalGraph, folder) -> TemporalGraph:
    """Send a graph through a folder."""
    tensors, meta = graph_arrays(graph)
    write_folder(folder, "model", {"graph": tensors}, {"graph": meta})
    parts, meta = read_folder(folder, "model")
    return graph_from(parts["graph"], meta["graph"])


numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from("aäß日🦊\0")


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 12))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    ids = [draw(st.sampled_from([numbers, texts])) for _ in range(2)]
    graph = TemporalGraph.from_arrays(
        *(np.array(column(each), dtype=object if each is texts else np.int64) for each in ids),
        column(st.integers(0, 8)),
        column(st.floats(-1, 1)) if draw(st.booleans()) else None,
        unit=draw(st.sampled_from(["days", "s"])),
        clock=draw(st.sampled_from(["unix", "own"])),
        directed=draw(st.booleans()),
        tov=draw(st.sampled_from(["source", "any"])),
        bipartite=draw(st.booleans()),
    )
    a, b = sorted(draw(st.tuples(st.integers(0, 9), st.integers(0, 9))))
    return graph.between(float(a), float(b)) if draw(st.booleans()) else graph


@settings(max_examples=100)
@given(graphs())
def test_there_and_back(graph):
    tensors, meta = graph_arrays(graph)
    back = graph_from({name: tensor.copy() for name, tensor in tensors.items()}, meta)
    assert same(graph, back)
    assert back.describe() == graph.describe()


@pytest.mark.parametrize("ids", [np.arange(5) * 10, np.array(["a", "", "日本", "a\0b", "🦊"], dtype=object)])
@pytest.mark.parametrize("weight", [None, [0.0, 0.0, 0.5]])
def test_through_a_folder(tmp_path, ids, weight):
    graph = TemporalGraph.from_arrays([0, 1, 4], [1, 0, 1], [5, 7, 9], weight, unit="days", ids=ids)
    for each in (graph, graph.before(8.0), graph.between(6.0, 8.0), graph.before(0.0), graph.between(9.0, 20.0)):
        assert same(each, kept(each, tmp_path))


def test_a_view_keeps_joining_times_that_its_events_do_not_show(tmp_path):
    view = TemporalGraph.from_arrays([0, 1, 2], [1, 0, 1], [1, 2, 3], unit="days").between(3.0, 9.0)
    back = kept(view, tmp_path)
    assert back.num_events == 1
    assert [back.tov(node).tolist() for node in range(3)] == [[1.0], [1.0, 2.0], [3.0]]
    assert same(back.before(2.5), view.before(2.5))


def test_no_nodes_at_all(tmp_path):
    for ids in (np.empty(0, np.int64), np.empty(0, object)):
        graph = TemporalGraph.from_arrays([], [], [], ids=ids)
        assert graph.ids.dtype == ids.dtype
        assert same(graph, kept(graph, tmp_path))


def test_memory_is_shared():
    graph = TemporalGraph.from_arrays([0, 1], [1, 0], [1, 2], [1.0, 2.0])
    tensors, meta = graph_arrays(graph)
    for name, tensor in tensors.items():
        assert np.shares_memory(tensor, getattr(graph, name)), name
    back = graph_from(tensors, meta)
    assert np.shares_memory(back.time, graph.time)
    assert not any(array.flags.writeable for array in (graph.time, back.time, graph.ids, back.ids))
    del graph, back
    assert tensors["src"].tolist() == [0, 1]  # the arrays keep the memory


def test_what_does_not_fit_together():
    tensors, meta = graph_arrays(TemporalGraph.from_arrays([0, 1, 2], [1, 0, 1], [1, 2, 3], [1, 1, 1]))
    for name, tensor in tensors.items():
        for bad in (tensor[:-1], tensor[None], tensor.astype(np.float16)):
            with pytest.raises(InputError, match="graph: the stored graph does not fit together; found"):
                graph_from(tensors | {name: bad}, meta)
        if name != "weight":
            with pytest.raises(InputError, match=f"graph: the stored graph is incomplete; found no {name}$"):
                graph_from({other: tensors[other] for other in tensors if other != name}, meta)
    starts = [torch.tensor(values) for values in ([0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 2, 9])]
    for change in [
        {"src": torch.tensor([0, 3, 1], dtype=torch.int32)},
        {"dst": torch.tensor([0, -1, 1], dtype=torch.int32)},
    ]:
        with pytest.raises(InputError, match="found nodes without an id"):
            graph_from(tensors | change, meta)
    for start in starts:
        with pytest.raises(InputError, match="found joining times of other nodes"):
            graph_from(tensors | {"tov_start": start}, meta)
    for change in [{"clock": "x"}, {"tov_rule": "x"}, {"num_sources": 4}, {"num_sources": "1"}]:
        with pytest.raises(InputError, match="does not fit together"):
            graph_from(tensors, meta | change)
    with pytest.raises(InputError, match="found no ids"):
        graph_from(tensors, {name: value for name, value in meta.items() if name != "ids"})


def test_texts_that_do_not_fit_together():
    tensors, meta = graph_arrays(TemporalGraph.from_arrays(["ä", "b"], ["b", "ä"], [1, 2]))
    with pytest.raises(InputError, match="found other starts of the ids"):
        graph_from(tensors | {"id_bytes": tensors["id_bytes"][:-1]}, meta)
    with pytest.raises(InputError, match="an id is not UTF-8"):
        graph_from(tensors | {"id_bytes": torch.full((3,), 255, dtype=torch.uint8)}, meta)
