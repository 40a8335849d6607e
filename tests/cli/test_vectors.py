"""tadge similar, trajectory, export: the public calls, for people, for programs and as files that others load."""

from __future__ import annotations

import json
import re
import warnings
from xml.etree import ElementTree

import networkx
import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file
from safetensors.torch import load_file as load_tensors

import tadge
from small import forum, network, rebuilt, training, walking
from tadge import TADGE

ODD = "=1+1 [b]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("vectors")
    graph = forum(400)
    names = np.array([ODD, *(f"user{number}" for number in range(1, graph.num_nodes))], object)
    model = TADGE(walking(), network(), training(epochs=1)).fit(rebuilt(graph, ids=names), progress=False)
    model.save(place / "model")
    (place / "ids.txt").write_text("user5\nuser8\nuser5\n")
    return place


@pytest.fixture
def model(folder):
    return TADGE.load(folder / "model")


def test_similar_for_programs_people_and_files(run, model, folder):
    code, out, err = run("similar", "model", "user5", "user8", "-k", 3, "--json")
    assert (code, err) == (0, "")
    expected = model.similar(["user5", "user8"], 3)
    rows = json.loads(out)
    for name in ("id", "neighbour"):
        assert [row[name] for row in rows] == expected[name].tolist()
    assert [row["similarity"] for row in rows] == pytest.approx(expected["similarity"].tolist(), abs=1e-6)
    _, out, _ = run("similar", "model", "--nodes", "ids.txt", "-k", 3, "--out", "near.csv")
    assert out == "near.csv: 6 rows\n"
    frame = pl.read_csv(folder / "near.csv")
    assert frame["neighbour"].to_list() == expected["neighbour"].tolist()
    _, out, _ = run("similar", "model", ODD, "-k", 1000)
    assert "Who is most alike, as of" in out and "user8" in out
    code, out, err = run("similar", "model", "user500")
    assert (code, out) == (2, "") and "ID: unknown node" in err and "did you mean 'user50'" in err
    code, _, err = run("similar", "model")
    assert code == 2 and "who is asked about; expected ID, or --nodes FILE; found neither" in err


def test_trajectory_for_programs_people_and_a_drawing(run, model, folder):
    code, out, err = run("trajectory", "model", "user5", ODD, "--steps", 4, "-k", 2, "--plot", "way.svg", "--json")
    assert (code, err) == (0, "")
    answer, expected = json.loads(out), model.trajectory(["user5", ODD], 4, k=2)
    assert [row["moved"] for row in answer["steps"]] == [None if np.isnan(x) else x for x in expected.steps["moved"]]
    assert [row["neighbour"] for row in answer["neighbours"]] == expected.neighbours["neighbour"].tolist()
    drawing = ElementTree.parse(folder / "way.svg").getroot()
    lines = [one for one in drawing.iter() if one.tag.endswith("polyline")]
    assert len(lines) == 4
    assert all(0 <= float(number) <= 720 for one in lines for number in re.findall(r"[\d.]+", one.get("points")))
    assert any(ODD in (one.text or "") for one in drawing.iter())
    code, out, _ = run("trajectory", "model", "user5", "--steps", 4)
    assert code == 0 and "typical" in out and "Who came nearer, and who went farther" in out
    assert max(map(len, out.splitlines())) <= 80
    code, _, err = run("trajectory", "model", "user5", "--plot", "way.png")
    assert code == 2 and "unknown kind of drawing; expected .svg" in err
    code, _, err = run("trajectory", "model", "user5", "--since", 1e5)
    assert code == 2 and "has no past to look at" in err


def test_vectors_go_out_and_come_back(run, model, folder):
    from tadge.io.vectors import read_vectors

    for name in ("v.csv", "v.tsv", "v.npz", "v.parquet"):
        code, out, _ = run("export", "model", "--out", name, "--json")
        assert code == 0 and json.loads(out)["nodes"] == model.graph_.num_nodes
        ids, vectors = read_vectors(folder / name)
        assert ids.tolist() == model.graph_.ids.tolist() and np.array_equal(vectors, model.embed())
    metadata = pl.read_parquet_metadata(folder / "v.parquet")
    assert metadata["model"] == "TADGE (vectors)" and metadata["fingerprint"] == model.graph_.fingerprint
    assert str(np.load(folder / "v.npz")["moment"]) == metadata["moment"]
    code, out, _ = run("embed", "model", "--out", "w.csv", "-q")
    assert code == 0 and np.array_equal(read_vectors(folder / "w.csv")[1], model.embed())
    code, _, err = run("export", "model", "--format", "word2vec", "--out", "v.txt")
    assert code == 2 and "an id with a blank" in err


def test_networkx_reads_what_was_written(run, model, folder):
    code, out, _ = run("export", "model", "--format", "networkx", "--out", "graph.json")
    assert code == 0 and "networkx.node_link_graph(" in out
    read = networkx.node_link_graph(json.loads((folder / "graph.json").read_text()), edges="edges")
    expected = tadge.to_networkx(model.graph_)
    assert sorted(read.edges(data="time")) == sorted(expected.edges(data="time"))
    assert set(read.nodes) == set(expected.nodes)
    assert np.allclose(read.nodes[ODD]["vector"], model.embed(ODD)[0])


def test_pyg_takes_what_was_written(run, model, folder):
    with warnings.catch_warnings(action="ignore"):
        from torch_geometric.data import TemporalData

    cut = float(model.graph_.time[200])
    code, _, _ = run("export", "model", "--format", "pyg", "--out", "graph.safetensors", "--at", repr(cut))
    assert code == 0
    tensors = load_tensors(folder / "graph.safetensors")
    data = TemporalData(**{name: tensors[name] for name in ("src", "dst", "t")})
    known = model.graph_.time <= cut  # nothing later is written
    assert data.num_events == known.sum() and np.array_equal(data.t.numpy(), model.graph_.time[known])
    arrays = load_file(folder / "graph.safetensors")
    start, joined = arrays["id_start"], arrays["id_bytes"].tobytes()
    assert joined[start[0] : start[1]].decode() == ODD
    assert np.array_equal(arrays["x"], model.embed(at=cut))


def test_an_atlas_is_a_map_with_neighbours(run, model, folder):
    code, out, _ = run("export", "model", "--format", "atlas", "--out", "atlas.parquet")
    assert code == 0 and "embedding-atlas atlas.parquet --x x --y y --neighbors neighbors" in out
    frame, graph = pl.read_parquet(folder / "atlas.parquet"), model.graph_
    assert frame["id"].to_list() == graph.ids.tolist() and frame["links"].to_list() == graph.degree.tolist()
    places, vectors = frame.select("x", "y").to_numpy(), model.embed()
    spread = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(places, axis=0), spread, rtol=1e-3)
    near = model.similar(graph.ids[7], 10)
    assert graph.ids[frame["neighbors"][7]["ids"]].tolist() == near["neighbour"].tolist()
    assert frame["first"].null_count() == (graph.degree == 0).sum()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["--out", "v.abc"], "v.abc: unknown kind of file"),
        (["--out", "new.npz", "--format", "pyg"], "not a name for pyg; expected .safetensors; found new.npz; call it"),
        (["--out", "new.npz", "--format", "xml"], "--format: unknown format; expected parquet, csv"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(run, line, sentence):
    code, out, err = run("export", "model", *line)
    assert (code, out) == (2, "") and sentence in err and err.count("\n") == 1


@pytest.mark.parametrize("command", ["similar", "trajectory", "export"])
def test_help_teaches(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0 and f"Example: tadge {command} model/" in " ".join(out.split())
