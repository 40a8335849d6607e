"""Files of ids and of pairs to ask about."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from tadge.errors import InputError, MissingFileError
from tadge.graph import TemporalGraph
from tadge.io.id_rows import as_id, read_ids

NAMES = TemporalGraph.from_arrays(["a", "b", "17"], ["b", "src", "a"], [1, 2, 3], unit="days")
NUMBERS = TemporalGraph.from_arrays([1, 2, 17], [2, 3, 1], [1, 2, 3], unit="days")
PAIRS = ("src", "dst")


def read(tmp_path, text, roles=PAIRS, graph=NAMES, name="pairs.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_ids(path, roles, graph)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nb,17\n",
        "src,dst\na,b\nb,17\n",
        "from;to\na;b\nb;17",
        "Target\tSource\nb\ta\n17\tb\n",
        "a b\n\nb   17\n",
        "# a comment\n\na,b\r\nb,17\r\n",
        'src,note,dst\na,"one, two",b\nb,,17\n',
        '{"src": "a", "dst": "b"}\n{"dst": 17, "src": "b"}\n',
    ],
)
def test_pairs_in_many_forms(tmp_path, text):
    assert read(tmp_path, text) == [["a", "b"], ["b", "17"]]
    assert read(tmp_path, gzip.compress(text.encode()), name="pairs.gz") == [["a", "b"], ["b", "17"]]


def test_parquet(tmp_path):
    for frame in (
        pl.DataFrame({"src": [1, 2], "dst": [17, 3]}),
        pl.DataFrame({"dst": ["17", "3"], "day": [0.5, 1.5], "src": ["1", "2"]}),
        pl.DataFrame({"one": [1.0, 2.0], "other": [17.0, 3.0]}),
    ):
        frame.write_parquet(tmp_path / "pairs.parquet")
        assert read_ids(tmp_path / "pairs.parquet", PAIRS, NUMBERS) == [[1, 2], [17, 3]]
    pl.DataFrame({"src": [1, None], "dst": [17, 3]}).write_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(InputError, match=r"pairs.parquet, row 2: an id is missing"):
        read_ids(tmp_path / "pairs.parquet", PAIRS, NUMBERS)
    pl.DataFrame({"x": [1], "y": [17], "src": [4]}).write_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(InputError, match=r"there is no column of dst; expected columns src and dst; found 'x', 'y'"):
        read_ids(tmp_path / "pairs.parquet", PAIRS, NUMBERS)
    (tmp_path / "pairs.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="the Parquet file is damaged"):
        read_ids(tmp_path / "pairs.parquet", PAIRS, NUMBERS)


def test_integers_where_the_graph_has_integers(tmp_path):
    assert read(tmp_path, "who,whom\n1, 17\n99,2\n", graph=NUMBERS) == [[1, 99], [17, 2]]
    assert read(tmp_path, "node a,node b\n1,17\n", graph=NUMBERS) == [[1], [17]]  # a header, for ids are integers
    assert read(tmp_path, "1,17\n", graph=NAMES) == [["1"], ["17"]]
    assert [as_id(NUMBERS, text) for text in ("17", " 17 ", "-3", "017", "9" * 19, "x", 4.0, None)] == [
        *(17, 17, -3, "017", "9" * 19, "x", 4, "")
    ]
    assert as_id(NAMES, "17") == "17"


def test_one_column(tmp_path):
    assert read(tmp_path, "a\nb\nx y\n", ("src",)) == [["a", "b", "x y"]]
    assert read(tmp_path, "id\na\nb\n", ("src",)) == [["a", "b"]]
    assert read(tmp_path, "src\na\n", ("src",)) == [["src", "a"]]  # it is a node of this graph
    assert read(tmp_path, "name,age\na,3\nb,5\n", ("src",)) == [["a", "b"]]


@pytest.mark.parametrize(
    ("text", "graph", "sentence"),
    [
        ("a,b\nb\n", NAMES, r"pairs.csv, row 2: not a row of ids; expected two cells, src and dst; found 1"),
        ("a,b\nb,a,3\n", NAMES, r"row 2: not a row of ids; .*found 3; name the columns in a header: src and dst"),
        (
            "a,b\n\n,b\n",
            NAMES,
            r"row 3: an id is missing; expected an id in every cell; write one row for each: src,dst",
        ),
        ("1,2\n1,x\n", NUMBERS, r"row 2: an id of another type; expected ids that are integers, .*; found 'x'"),
        ("1,2\n1,2.5\n", NUMBERS, r"row 2: an id of another type; .*found '2.5'"),
        ("src,dst\n", NAMES, "there is nothing in it to ask about; expected at least one row"),
        ("", NAMES, "the file is empty; expected at least one row; write one row for each: src,dst"),
        ('a,b\n"b,a\n', NAMES, r"row 2: cannot be read"),
        ('{"src": "a", "dst": "b"}\n[1]\n', NAMES, r"row 2: not a JSON object; expected {\"src\": ..., \"dst\": ...}"),
        ('{"src": "a"}\n', NAMES, r"row 1: there is no column of dst"),
        (b"a,b\n\xff\xfea,b\n", NAMES, "row 2: not UTF-8 text"),
    ],
)
def test_bad_rows_are_one_sentence(tmp_path, text, graph, sentence):
    with pytest.raises(InputError, match=sentence):
        read(tmp_path, text, graph=graph)


def test_a_missing_file(tmp_path):
    with pytest.raises(MissingFileError, match="there is no such file"):
        read_ids(tmp_path / "nowhere.csv", PAIRS, NAMES)
