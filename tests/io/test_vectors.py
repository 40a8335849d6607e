"""Files of vectors: what is written is read back bit for bit; what cannot be taken gets one sentence."""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.io.vectors import ROWS_AT_A_TIME, VECTOR_FORMS, match_vectors, read_vectors, write_vectors

IDS = np.array([3, -1, 70])
VECTORS = np.array([[1.5, -2], [0.1, 3e-9], [-0.0, 7]], np.float32)
texts = st.text(min_size=1, max_size=8)
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


def same_bits(a, b):
    return a.dtype == b.dtype == np.float32 and a.shape == b.shape and a.tobytes() == b.tobytes()


@st.composite
def id_lists(draw, blanks=True):
    numbers = st.integers(-(2**63), 2**63 - 1)
    words = texts.map(lambda text: text.rstrip("\0") or "x")
    if not blanks:
        words = words.map(lambda text: re.sub(r"\s", "", text) or "x").filter(lambda text: not text.isdecimal())
    return draw(st.lists(draw(st.sampled_from([numbers, words])), min_size=1, max_size=6))


@pytest.mark.parametrize("form", [".parquet", ".npz", ".txt"])
@settings(max_examples=60)
@given(data=st.data())
def test_round_trip(form, data):
    ids = data.draw(id_lists(blanks=form in (".parquet", ".npz")))
    vectors = data.draw(arrays(np.float32, (len(ids), data.draw(st.integers(1, 5))), elements=floats))
    with tempfile.TemporaryDirectory() as folder:
        path = write_vectors(Path(folder) / f"vectors{form}", ids, vectors)
        found, back = read_vectors(path)
    assert found.tolist() == ids
    assert found.dtype == (np.int64 if isinstance(ids[0], int) else object)
    assert same_bits(back, vectors)
    assert back.flags.writeable
    assert back.flags.c_contiguous


@pytest.mark.parametrize("form", VECTOR_FORMS)
def test_many_rows(tmp_path, form):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2 * ROWS_AT_A_TIME + 17, 3)).astype(np.float32)
    ids = [f"node{i}" for i in range(len(vectors))]
    found, back = read_vectors(write_vectors(tmp_path / f"v{form}", ids, vectors))
    assert found.tolist() == ids
    assert same_bits(back, vectors)


@pytest.mark.parametrize("form", VECTOR_FORMS)
def test_no_rows(tmp_path, form):
    found, back = read_vectors(write_vectors(tmp_path / f"v{form}", np.empty(0, np.int64), np.empty((0, 4))))
    assert found.size == 0
    assert back.shape == (0, 4)


def test_what_other_programs_write_is_read(tmp_path):
    cases = {
        "word2vec.txt": b"2 2\na 0.5 -1 \nb 1e-3 2 \n",
        "returns.vec": b"2 2\r\na 0.5 -1\r\nb 1e-3 2\r\n",
        "tabs.w2v": b"2 2\na\t0.5  -1\n\nb\t1e-3 2",
    }
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    frame = pl.DataFrame({"x": [1, 2], "vector": [[0.5, -1.0], [1e-3, 2.0]], "id": ["a", "b"]})
    frame.write_parquet(tmp_path / "lists.parquet")
    frame.with_columns(pl.col("id").cast(pl.Categorical)).write_parquet(tmp_path / "categories.PARQUET")
    np.savez_compressed(tmp_path / "double.npz", ids=["a", "b"], vectors=np.array([[0.5, -1], [1e-3, 2]]))
    for name in (*cases, "lists.parquet", "categories.PARQUET", "double.npz"):
        ids, vectors = read_vectors(tmp_path / name)
        assert ids.tolist() == ["a", "b"], name
        assert same_bits(vectors, np.array([[0.5, -1], [1e-3, 2]], np.float32)), name


def test_gensim_form_of_numbers_and_texts(tmp_path):
    (tmp_path / "v.txt").write_text("3 1\n7 1\n07 2\n8 3\n")
    assert read_vectors(tmp_path / "v.txt")[0].tolist() == ["7", "07", "8"]
    (tmp_path / "v.txt").write_text("2 1\n7 1\n-8 3\n")
    assert read_vectors(tmp_path / "v.txt")[0].tolist() == [7, -8]


TEXT_CASES = {
    "no header": (b"a 1 2\nb 3 4\n", "row 1: no header of word2vec; expected two integers; found 'a 1 2'"),
    "letters": (b"two 2\n", "found 'two 2'"),
    "short row": (b"2 2\na 1 2\nb 3\n", "row 3: a row is not whole; expected an id and 2 numbers, .* found 2 cells"),
    "long row": (b"2 2\na 1 2 3\nb 3 4\n", "row 2: a row is not whole; .* found 4 cells"),
    "later long row": (b"2 2\na 1 2\nb 3 4 5\n", "row 3: a row is not whole; .* found 4 cells"),
    "blank ends": (b"2 2\na 1 2 \nb 3 4 5\n", "row 3: a row is not whole; .* found 4 cells"),
    "text": (b"2 2\na 1 2\nb 3 four\n", "row 3: not a finite number; expected finite float32; found 'four'"),
    "underscore": (b"2 2\na 1 2\nb 3 1_0\n", "row 3: not a finite number"),
    "nan": (b"2 2\na nan 2\nb 3 4\n", "row 2: not a finite number; .* found nan"),
    "inf": (b"2 2\na 1 2\nb -inf 4\n", "row 3: not a finite number; .* found -inf"),
    "too large": (b"2 2\na 1 2\nb 1e39 4\n", "row 3: not a finite number"),
    "cut": (b"3 2\na 1 2\nb 3 4\n", "the file is not whole; expected 3 rows after it, .* found 2"),
    "too many": (b"1 2\na 1 2\nb 3 4\n", "the file is not whole; expected 1 rows after it, .* found 2"),
    "huge width": (b"1 9999999999999\na 1 2\n", "row 2: a row is not whole; expected an id and 9999999999999 numbers"),
    "no width": (b"1 0\na\n", "the vectors are empty"),
    "latin-1": ("1 1\nä 1\n".encode("latin-1"), "row 2: an id is not UTF-8"),
    "packed": (gzip.compress(b"1 1\na 1\n"), "row 1: no header of word2vec"),
    "empty": (b"", "the file is empty"),
}


@pytest.mark.parametrize("case", TEXT_CASES)
def test_bad_texts(tmp_path, case):
    content, complaint = TEXT_CASES[case]
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))


ARRAYS = {
    "no ids": ({"vectors": VECTORS}, "an array is missing; expected the arrays ids and vectors; found vectors"),
    "fewer ids": ({"ids": IDS[:2], "vectors": VECTORS}, "differ in number; .* found 2 ids and 3 vectors"),
    "flat": ({"ids": IDS, "vectors": VECTORS[:, 0]}, "not a table of vectors; .* found 1 dimensions of float32"),
    "complex": ({"ids": IDS, "vectors": VECTORS * 1j}, "not a table of vectors"),
    "nan": ({"ids": IDS, "vectors": np.where(VECTORS > 5, np.nan, 0)}, "row 3: not a finite number; .* found nan"),
    "large": ({"ids": IDS, "vectors": np.where(VECTORS > 1, 1e300, 0)}, "row 1: not a finite number; .*1e.300"),
    "half ids": ({"ids": IDS + 0.5, "vectors": VECTORS}, "ids: an id is not an integer"),
    "objects": ({"ids": np.array([1, "a", 2], object), "vectors": VECTORS}, "not an npz file of plain arrays"),
    "table of ids": ({"ids": IDS[None], "vectors": VECTORS}, "ids must be a plain list"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_bad_npz(tmp_path, case):
    content, complaint = ARRAYS[case]
    np.savez(tmp_path / "bad.npz", **content)
    with pytest.raises(InputError, match=complaint) as caught:
        read_vectors(tmp_path / "bad.npz")
    assert "bad.npz" in str(caught.value)


def test_nothing_in_a_file_is_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return sys.exit, ()

    path = tmp_path / "trap.npz"
    np.savez(path, ids=np.array([Trap()], object), vectors=VECTORS[:1])
    with pytest.raises(InputError, match="plain arrays"):
        read_vectors(path)


@pytest.mark.parametrize("form", [".npz", ".parquet"])
def test_damaged_files(tmp_path, form, capfd):
    path = write_vectors(tmp_path / f"v{form}", IDS, VECTORS)
    whole = path.read_bytes()
    for content in (b"x", b"x" * 500, whole[: len(whole) // 2], whole[:-30], b"PK\x03\x04" + whole[:40]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"damaged|not an npz file"):
            read_vectors(path)
    with path.open("wb") as file:
        np.save(file, VECTORS)
    with pytest.raises(InputError, match=r"damaged|found a single array"):
        read_vectors(path)


FRAMES = {
    "no id": (pl.DataFrame({"name": [1], "vector": [[1.0]]}), "a column is missing; .*id and vector; found name, vec"),
    "numbers": (pl.DataFrame({"id": [1], "vector": [1.0]}), "vector is not a column of vectors; .* found Float64"),
    "texts": (pl.DataFrame({"id": [1], "vector": [["a"]]}), "vector is not a column of vectors"),
    "ragged": (pl.DataFrame({"id": [1, 2], "vector": [[1.0], [1.0, 2.0]]}), "row 2: not a vector; expected 1 .* 2 num"),
    "nothing": (pl.DataFrame({"id": [1, 2], "vector": [[1.0], None]}), "row 2: not a vector; .* found nothing"),
    "nothing first": (pl.DataFrame({"id": [1, 2], "vector": [None, [1.0]]}), "row 1: not a vector; .* found nothing"),
    "hole": (pl.DataFrame({"id": [1, 2], "vector": [[1.0, 2.0], [1.0, None]]}), "row 2: not a vector; .* empty place"),
    "no numbers": (pl.DataFrame({"id": [1], "vector": pl.Series([[]], dtype=pl.List(pl.Float32))}), "are empty"),
    "nan": (pl.DataFrame({"id": [1, 2], "vector": [[1.0], [float("nan")]]}), "row 2: not a finite number"),
    "no name": (pl.DataFrame({"id": ["a", None], "vector": [[1.0], [2.0]]}), "an id is missing"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_bad_parquet(tmp_path, case):
    frame, complaint = FRAMES[case]
    frame.write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match=complaint) as caught:
        read_vectors(tmp_path / "bad.parquet")
    assert "bad.parquet" in str(caught.value)


@pytest.mark.parametrize("name, complaint", [("none.npz", "there is no such file"), ("folder.txt", "this is a folder")])
def test_no_file(tmp_path, name, complaint):
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(InputError, match=complaint):
        read_vectors(tmp_path / name)


@pytest.mark.parametrize("call", [read_vectors, lambda path: write_vectors(path, IDS, VECTORS)])
def test_unknown_forms(tmp_path, call):
    with pytest.raises(ConfigError, match=r"unknown kind of file; expected .parquet, .npz, .*found v.pickle"):
        call(tmp_path / "v.pickle")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name, ids, vectors, complaint",
    [
        ("v.txt", ["a", "b c", "d"], VECTORS, "an id with a blank; .* found 'b c'; write .parquet or .npz"),
        ("v.txt", ["a", "", "d"], VECTORS, "an id with a blank; .* found ''"),
        ("v.txt", ["a", "b\u2028", "d"], VECTORS, "an id with a blank"),
        ("v.npz", ["a", "b\0", "d"], VECTORS, "null character"),
        ("v.npz", IDS, VECTORS[:2], "3 ids and 2 vectors"),
        ("v.npz", IDS, np.full((3, 2), np.inf), "vectors, row 1: not a finite number"),
        ("v.npz", IDS, VECTORS[0], "not a table of vectors"),
        ("v.npz", [1, 2.5, 3], VECTORS, "an id is not an integer"),
        ("v.parquet", IDS, VECTORS[:, :0], "the vectors are empty"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, ids, vectors, complaint):
    with pytest.raises(InputError, match=complaint):
        write_vectors(tmp_path / name, ids, vectors)
    assert not list(tmp_path.iterdir())


# -- vectors of a graph's nodes ---------------------------------------------------------------------------------------


def start_rows(graph, dim=2):
    return np.full((graph.num_nodes, dim), 0.25, np.float32)


def test_rows_go_to_their_ids_in_any_order():
    graph = TemporalGraph.from_arrays([0, 1], [1, 2], [0, 1], ids=["a", "b", "c", "alone", "known"])
    ids = np.array(["c", "nobody", "a", "known", "b"], object)
    vectors = np.arange(10, dtype=np.float32).reshape(5, 2)
    found = match_vectors(graph, ids, vectors, start_rows(graph), "file")
    assert found.tolist() == [[4, 5], [8, 9], [0, 1], [0.25, 0.25], [6, 7]]


@pytest.mark.parametrize("own, theirs", [([7, 8], ["8", "7"]), (["7", "8"], [8, 7])])
def test_numbers_and_texts_meet(own, theirs):
    graph = TemporalGraph.from_arrays(own[:1], own[1:], [0])
    column = np.array(theirs, object if isinstance(theirs[0], str) else np.int64)
    found = match_vectors(graph, column, np.array([[8, 8], [7, 7]], np.float32), start_rows(graph), "file")
    assert found[:, 0].tolist() == [7, 8]


def test_both_sides_of_a_bipartite_graph():
    graph = TemporalGraph.from_arrays([1, 2], [1, 3], [0, 1], bipartite=True)
    assert graph.ids.tolist() == [1, 2, 1, 3]
    vectors = np.array([[1, 1], [2, 2], [3, 3]], np.float32)
    found = match_vectors(graph, np.array([1, 2, 3]), vectors, start_rows(graph), "file")
    assert found[:, 0].tolist() == [1, 2, 1, 3]
    own = np.array([[1, 1], [2, 2], [9, 9], [3, 3]], np.float32)
    assert same_bits(match_vectors(graph, graph.ids, own, start_rows(graph), "file"), own)
    with pytest.raises(InputError, match="an id stands twice; expected one vector per id; found '1'"):
        match_vectors(graph, graph.ids[::-1], own, start_rows(graph), "file")


def test_what_does_not_fit():
    graph = TemporalGraph.from_arrays([5, 6], [6, 17], [0, 1])
    with pytest.raises(InputError) as caught:
        match_vectors(graph, np.array([5, 9]), VECTORS[:2], start_rows(graph), "my.npz")
    assert str(caught.value) == (
        "my.npz: ids do not fit; expected a vector for each of the graph's 3 ids; "
        "found 2 missing, the first is '6'; add them, or set init='deepwalk' or another method"
    )
    with pytest.raises(InputError, match=r"my.npz: wrong width; expected vectors of 4 numbers; found 2; set dim=2"):
        match_vectors(graph, IDS, VECTORS, start_rows(graph, 4), "my.npz")
