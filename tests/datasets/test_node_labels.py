"""Labels come to the right nodes, from any file, and what is wrong with them is one sentence."""

from __future__ import annotations

import gzip
import re
import shutil
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tadge import datasets, synthetic
from tadge.cli import main
from tadge.datasets.node_labels import known_labels, labels_for, read_labels
from tadge.errors import DatasetError, InputError
from tadge.graph import TemporalGraph

TEXTS = TemporalGraph.from_arrays(["ann", "bob", "cat"], ["bob", "cat", "dan"], [1, 2, 3], unit="days")
NUMBERS = TemporalGraph.from_arrays([7, 8, -9], [8, 12, 7], [1, 2, 3], unit="days")  # nodes -9, 7, 8, 12
SHOP = TemporalGraph.from_arrays(["a", "b", "c"], ["b", "x", "x"], [1, 2, 3], unit="days", bipartite=True)  # a b c, b x


def written(tmp_path, text, name="labels.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


FORMS = {
    "csv": "ann,red\ncat,blue\n",
    "header": "id,label\nann,red\ncat,blue\n",
    "other way round": "Label,Node ID\nred,ann\nblue,cat\n",
    "one known name": "trader,class\nann,red\ncat,blue\n",
    "more columns": "n,label,node\n1,red,ann\n2,blue,cat\n",
    "tabs": "ann\tred\ncat\tblue\n",
    "semicolons": "ann;red\ncat;blue",
    "blanks": "ann   red\n cat blue \n",
    "quotes": '"ann","red"\n"cat","blue"\n',
    "windows": "id,label\r\nann,red\r\ncat,blue\r\n",
    "mark": "\ufeffid,label\nann,red\ncat,blue\n",
    "comments": "# who they are\n\nann,red\n\ncat , blue\n",
    "twice the same": "ann,red\ncat,blue\nann,red\n",
    "packed": gzip.compress(b"id,label\nann,red\ncat,blue\n"),
    "jsonl": '{"id": "ann", "label": "red"}\n\n{"label": "blue", "id": "cat", "more": 1}\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(tmp_path, form):
    found = read_labels(written(tmp_path, FORMS[form]), TEXTS)
    assert found.classes == ["blue", "red"]
    assert found.values.tolist() == [1, -1, 0, -1]
    assert found.values.dtype == np.int64


def test_parquet(tmp_path):
    pl.DataFrame({"label": [3, 20, 100], "node": [7, -9, 12]}).write_parquet(tmp_path / "labels.parquet")
    found = read_labels(tmp_path / "labels.parquet", NUMBERS)
    assert found.classes == ["3", "20", "100"]  # in order of number
    assert found.values.tolist() == [1, 0, -1, 2]


def test_numbers_are_ids_too(tmp_path):
    found = read_labels(written(tmp_path, "7,1\n-9,0\n012,10\n"), NUMBERS)
    assert found.classes == ["0", "1", "10"]
    assert found.values.tolist() == [0, 1, -1, 2]


def test_ids_that_look_like_names_or_comments(tmp_path):
    graph = TemporalGraph.from_arrays(["#x", "user", "id"], ["user", "id", "#x"], [1, 2, 3], unit="days")
    found = read_labels(written(tmp_path, "#x,red\nuser,blue\nid,red\n"), graph)
    assert found.values.tolist() == [found.classes.index(name) for name in ("red", "red", "blue")]
    found = read_labels(written(tmp_path, "id,label\n#x,red\nid,blue\n"), graph)
    assert dict(zip(graph.ids, found.values.tolist(), strict=True)) == {"#x": 1, "id": 0, "user": -1}


def test_in_a_bipartite_graph_sources_come_first(tmp_path):
    found = read_labels(written(tmp_path, "b,red\nx,blue\n"), SHOP)
    assert found.values.tolist() == [-1, 1, -1, -1, 0]
    assert np.flatnonzero(found.values >= 0).tolist() == [int(SHOP.numbers("b", "source")), int(SHOP.numbers("x"))]


WRONG = {
    "the file is empty; expected at least two rows; write one row per node: id,label": "",
    "the file is empty once unpacked; expected at least two rows": gzip.compress(b""),
    "there are no labels in it; expected at least two rows; write one row": "id,label\n",
    "there are no labels in it; .*": "# nothing\n\n",
    "row 3: labels of unknown nodes; expected ids of the graph's 4 nodes; found 2 of 4, the first 'eve'; take": (
        "id,label\nann,red\neve,red\nbob,blue\nzoe,red\n"
    ),
    "row 1: labels of unknown nodes; .* found 1 of 3, the first 'trader'; .* call the columns id and label if": (
        "trader,kind\nann,red\nbob,blue\n"
    ),
    "row 3: two labels for one node; expected one; found 'ann': 'red' in row 1 and 'blue'": (
        "ann,red\nbob,red\nann,blue\n"
    ),
    "there is only one class; expected two or more; found 'red'": "ann,red\nbob,red\n",
    "row 2: a label is missing; found 'bob'; leave the row out": "ann,red\nbob,\n",
    "row 2: not a row of labels; expected two cells, id and label; found 1": "ann,red\nbob\ncat,blue\n",
    "row 1: not a row of labels; expected two cells, id and label; found 1; write one row per node": "ann\nbob\n",
    "row 1: not a row of labels; .* found 3; name the columns in a header": "1,ann,red\n2,bob,blue\n",
    "there is no column of labels; expected columns id and label; found 'id', 'colour', 'size'": (
        "id,colour,size\nann,1,2\n"
    ),
    "there is no column of ids": "who,label,size\nann,1,2\n",
    "row 2: cannot be read .unexpected end of data.": 'ann,red\nbob,"blue\n',
    "row 2: not UTF-8 text": b"ann,red\nb\xffb,blue\n",
    "row 2: not a JSON object": '{"id": "ann", "label": 1}\n[3]\n',
    "row 1: there is no column of labels; .* found 'id', 'a', 'b'": '{"id": "ann", "a": 1, "b": 2}\n',
    "this is a binary file": b"\x00\x01\x02",
    "the Parquet file is damaged": b"PAR1 nothing PAR1",
}


@pytest.mark.parametrize("sentence", WRONG)
def test_bad_files_are_one_sentence(tmp_path, sentence):
    path = written(tmp_path, WRONG[sentence])
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}(: |, ){sentence}"):
        read_labels(path, TEXTS)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_labels(tmp_path / "nothing.csv", TEXTS)


# -- labels from lists ------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-1, 4), min_size=4, max_size=4))
def test_labels_for_and_back(values):
    ids = [one for one, value in zip(NUMBERS.ids.tolist(), values, strict=True) if value >= 0]
    names = [f"class {value}" for value in values if value >= 0]
    if len(set(names)) < 2:
        with pytest.raises(InputError):
            labels_for(NUMBERS, ids, names)
        return
    found = labels_for(NUMBERS, ids, names)
    assert found.classes == sorted(set(names))
    back = [found.classes[value] if value >= 0 else None for value in found.values.tolist()]
    assert back == [f"class {value}" if value >= 0 else None for value in values]


def test_labels_for_takes_what_a_dict_holds():
    given = {np.int64(7): 1, 8: np.int64(2)}
    assert labels_for(NUMBERS, list(given), list(given.values())).values.tolist() == [-1, 0, 1, -1]
    with pytest.raises(
        InputError, match="labels: ids and labels differ in length; expected as many; found 2 ids and 1"
    ):
        labels_for(NUMBERS, [7, 8], ["x"])
    with pytest.raises(InputError, match=r"labels, row 2: labels of unknown nodes; .* found 1 of 2, the first '99'"):
        labels_for(NUMBERS, [7, 99], ["x", "y"])
    with pytest.raises(InputError, match="labels, row 2: a label is missing"):
        labels_for(NUMBERS, [7, 8], ["x", None])
    with pytest.raises(ValueError, match="read-only"):
        labels_for(NUMBERS, [7, 8], ["x", "y"]).values[0] = 1


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl.gz", "parquet"])
def test_what_synth_writes_is_read(tmp_path, monkeypatch, capsys, ending):
    paths = tmp_path / "forum.csv", tmp_path / f"labels.{ending}"
    arguments = ["tadge", "synth", "--events", "1000", "--out", str(paths[0]), "--labels", str(paths[1])]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        main()
    assert "labels" in capsys.readouterr().out
    made = synthetic.forum(1000)
    found = read_labels(paths[1], made.graph)
    assert [int(found.classes[value]) for value in found.values] == made.labels.tolist()


# -- known data sets --------------------------------------------------------------------------------------------------


@pytest.fixture
def real(data_dir, cache, monkeypatch):
    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    return data_dir


def as_dict(graph, found):
    return {
        one: found.classes[value] for one, value in zip(graph.ids.tolist(), found.values, strict=True) if value >= 0
    }


def place_of(name):
    try:
        return datasets.path(name)
    except DatasetError as error:
        pytest.skip(str(error))


def test_known_labels_by_name_and_by_content(real, tmp_path, monkeypatch):
    place = place_of("bitcoin-otc")
    graph = datasets.load("bitcoin-otc", quiet=True)
    expected = dict(zip(*datasets.labels("bitcoin-otc"), strict=True))
    assert as_dict(graph, known_labels("bitcoin-otc", graph)) == expected
    assert as_dict(graph, known_labels("transaction", graph)) == expected
    monkeypatch.delenv("TADGE_DATA")  # from here on only the file itself is there
    shutil.copy(place, tmp_path / "mine.csv.gz")
    (tmp_path / "mine.csv").write_bytes(gzip.decompress(place.read_bytes()))
    for name in ("mine.csv.gz", "mine.csv"):
        assert as_dict(graph, known_labels(tmp_path / name, graph)) == expected
    (tmp_path / "other.csv").write_bytes((tmp_path / "mine.csv").read_bytes()[:-1] + b"x")
    assert known_labels(tmp_path / "other.csv", graph) is None
    with pytest.raises(DatasetError, match="not on this machine"):
        known_labels("bitcoin-otc", graph)


def test_known_labels_with_a_file_of_their_own(real, tmp_path, monkeypatch):
    place = place_of("htne-dblp")
    graph = datasets.load("htne-dblp", quiet=True)
    own = next(real / name for name in datasets.find("htne-dblp").labels_file.accepted_names if (real / name).exists())
    monkeypatch.delenv("TADGE_DATA")
    shutil.copy(place, tmp_path / "links.txt.gz")
    assert known_labels(tmp_path / "links.txt.gz", graph) is None  # its labels are not here
    shutil.copy(own, tmp_path / own.name)
    found = known_labels(tmp_path / "links.txt.gz", graph)
    assert found.classes == [str(number) for number in range(10)]
    assert (found.values >= 0).all()


def test_what_has_no_labels(real, tmp_path):
    assert known_labels("college-msg", TEXTS) is None
    assert known_labels("nothing-like-it", TEXTS) is None
    assert known_labels(written(tmp_path, "a,b,1\n"), TEXTS) is None
    assert known_labels(place_of("college-msg"), TEXTS) is None
