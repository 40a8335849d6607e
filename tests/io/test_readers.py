from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from tadge.io.options import ReadOptions
from tadge.io.readers import read_events, read_with_report

S = 1_300_000_000


def read(tmp_path, content, name="edges.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_with_report(path, ReadOptions.of(options))


def rows_of(graph):
    """Events as the user would write them: ids and seconds."""
    ids = graph.ids.tolist()
    return [
        (ids[u], ids[v], round(t * 86400, 6))
        for u, v, t in zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True)
    ]


ROWS = [("ann", "bob", S), ("bob", "cat", S + 60), ("cat", "ann", S + 3600)]
NUMBERED = [(1, 2, S), (2, 30, S + 60), (30, 1, S + 3600)]


def lines(rows, separator):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


@pytest.mark.parametrize("rows", [ROWS, NUMBERED])
@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " ", "   ", ", "])
@pytest.mark.parametrize("header", ["", "src{0}dst{0}time\n"])
@pytest.mark.parametrize("comments", ["", "# made by hand\n% twice\n"])
def test_text_of_every_form_gives_the_same_events(tmp_path, rows, separator, header, comments):
    text = comments + header.format(separator) + lines(rows, separator)
    for content in (text, text.replace("\n", "\r\n"), text.rstrip("\n"), "\ufeff" + text):
        graph, report = read(tmp_path, content, "edges.txt")
        assert rows_of(graph) == rows
        assert (report.rows, report.events, report.rejected) == (3, 3, 0)
        assert graph.clock == "unix"


def test_ragged_blanks_and_comments_among_the_rows(tmp_path):
    text = "# head\n 1  2\t1300000000\n\n2 30    1300000060  \n# note\n30\t1 1300003600\n\n"
    graph, report = read(tmp_path, text, "snap.txt")
    assert rows_of(graph) == NUMBERED
    assert (report.rows, report.comments, report.blank) == (3, 2, 2)


@pytest.mark.parametrize("name", ["e.csv.gz", "e.csv.zst", "no-suffix"])
def test_packed_files_are_known_by_content(tmp_path, name):
    text = lines(ROWS, ",").encode()
    packed = zstandard.compress(text) * 2 if "zst" in name else gzip.compress(text) + gzip.compress(text)
    graph, _ = read(tmp_path, packed, name)  # two members one after the other
    assert sorted(rows_of(graph)) == sorted(ROWS * 2)


def test_json_lines_and_parquet(tmp_path):
    text = "".join(json.dumps({"from": u, "to": v, "timestamp": t, "extra": [1]}) + "\n" for u, v, t in ROWS)
    assert rows_of(read(tmp_path, text, "e.jsonl")[0]) == ROWS
    pl.DataFrame(ROWS, schema=["source", "target", "ts"], orient="row").write_parquet(tmp_path / "e.parquet")
    assert rows_of(read_events(tmp_path / "e.parquet", quiet=True)) == ROWS
    dates = pl.DataFrame({"u": [1, 2], "v": [2, 3], "date": pl.Series([S * 10**6, (S + 1) * 10**6]).cast(pl.Datetime)})
    dates.write_parquet(tmp_path / "d.parquet")
    assert rows_of(read_events(tmp_path / "d.parquet", quiet=True)) == [(1, 2, S), (2, 3, S + 1)]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (["1300000000", "1300000060"], [S, S + 60]),
        (["1300000000.25", "1300000060.5"], [S + 0.25, S + 60.5]),
        (["1300000000250", "1300000060500"], [S + 0.25, S + 60.5]),
        (["1300000000250000", "1300000060500000"], [S + 0.25, S + 60.5]),
        (["1300000000250000000", "1300000060500000000"], [S + 0.25, S + 60.5]),
        (["2011-03-13", "2011-03-14"], [1299974400, 1300060800]),
        (["2011/03/13", "2011/03/14"], [1299974400, 1300060800]),
        (["2011-03", "2011-04"], [1298937600, 1301616000]),
        (["20110313", "20110314"], [1299974400, 1300060800]),
        (["2011-03-13 07:06:40", "2011-03-13 07:07:40.5"], [S, S + 60.5]),
        (["2011-03-13T07:06", "2011-03-13T07:07"], [S - 40, S + 20]),
        (["2011-03-13T07:06:40Z", "2011-03-13T07:07:40Z"], [S, S + 60]),
        (["2011-03-13T07:06:40+00:00", "2011-03-13T09:07:40+02:00"], [S, S + 60]),
        (["2011-03-13T07:06:40-0000", "2011-03-13T02:07:40-0500"], [S, S + 60]),
        (["1960-01-01", "1960-01-02"], [-315619200, -315532800]),
    ],
)
def test_times_however_written(tmp_path, written, seconds):
    graph, _ = read(tmp_path, f"a,b,{written[0]}\nb,c,{written[1]}\n")
    assert [t for *_, t in rows_of(graph)] == pytest.approx(seconds, abs=1e-5)
    assert graph.clock == "unix"


def test_date_and_time_of_day_in_two_columns(tmp_path):
    for text in (
        "a b 2011-03-13 07:06:40\nb c 2011-03-13 07:07:40\n",
        "Time,who,Date,whom\n07:06:40,a,2011-03-13,b\n07:07:40,b,2011-03-13,c\n",
    ):
        graph, report = read(tmp_path, text)
        assert rows_of(graph) == [("a", "b", S), ("b", "c", S + 60)]
        assert "day_time" in report.columns


def test_times_that_must_be_told(tmp_path):
    text = "a,b,5\nb,c,7\n"
    for unit, per_day in (("days", 1), ("h", 24), ("weeks", 1 / 7), ("s", 86400), ("ms", 86_400_000)):
        graph, report = read(tmp_path, text, unit=unit)
        assert graph.time.tolist() == [5 / per_day, 7 / per_day]
        assert graph.clock == "own"
        assert not any("unit of the times" in one for one in report.warnings)
    graph, report = read(tmp_path, text)
    assert graph.time.tolist() == [5 / 86400, 7 / 86400]  # seconds, and it says so
    assert "taken as seconds" in report.line()
    assert any("nothing says the unit" in one for one in report.warnings)
    graph, _ = read(tmp_path, "a,b,31/12/2015 10:30\nb,c,01/01/2016 00:00\n", time_format="%d/%m/%Y %H:%M")
    assert graph.time.tolist() == [16800 + 10.5 / 24, 16801.0]
    graph, _ = read(tmp_path, "citing,cited,year\np,q,1999\nq,r,2004\n")
    assert graph.time.tolist() == [10592.0, 12418.0]
    graph, _ = read(tmp_path, "src,dst,time_ms\na,b,5\nb,c,7\n")
    assert graph.time.tolist() == [5 / 86_400_000, 7 / 86_400_000]


def test_columns_are_found_by_name_place_and_look(tmp_path):
    def columns(text, **options):
        return read(tmp_path, text, **options)[1].columns

    assert columns(f"6,2,4,{S}.5\n1,6,-3,{S}.7\n") == {
        "src": "column 0",
        "dst": "column 1",
        "time": "column 3",
        "weight": "column 2",
    }
    assert columns(f"when,who,whom\n{S},a,b\n{S},b,c\n")["src"] == "who"
    assert columns(f"{S},a,b\n{S},b,c\n") == {"src": "column 1", "dst": "column 2", "time": "column 0"}
    assert columns(f"id,to,from,w,t\n1,a,b,0.5,{S}\n2,b,c,0.7,{S}\n") == {
        "src": "from",
        "dst": "to",
        "time": "t",
        "weight": "w",
    }
    told = columns(f"x,y,z,q\n1,2,3,{S}\n4,5,6,{S}\n", src="z", dst=0, time="q", weight="y")
    assert told == {"src": "z", "dst": "x", "time": "q", "weight": "y"}
    assert "weight" not in columns(f"1,2,5,{S}\n3,4,6,{S}\n", weight="none")
    graph, _ = read(tmp_path, "user_id,item_id,timestamp,state_label\n0,0,0.0,0\n1,0,36.5,0\n")
    assert graph.bipartite
    assert graph.num_nodes == 3
    features = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
    features += "0,0,0,0,0.1,0.2,0.3\n1,0,36.5,0,0.1,0.2,0.3\n"
    assert read(tmp_path, features)[0].num_events == 2


def test_ids_keep_their_identity(tmp_path):
    graph, _ = read(tmp_path, f"007,7,{S}\n7,+7,{S}\n")
    assert graph.ids.tolist() == ["+7", "007", "7"]  # not one node
    graph, _ = read(tmp_path, f'"a,1","say ""hi""",{S}\n"line\nbreak",b,{S}\n')
    assert set(graph.ids) == {"a,1", 'say "hi"', "line\nbreak", "b"}
    graph, report = read(tmp_path, "".join(f"{i},{i + 1},{S + i}\n" for i in range(300)) + f"x9,1,{S + 999}\n")
    assert "x9" in graph.ids
    assert any("taken as strings" in one for one in report.warnings)
    graph, report = read(tmp_path, f"a,NaN,{S}\nb,a,{S + 1}\n")
    assert any("missing value" in one for one in report.warnings)
    huge = 2**63
    graph, _ = read(tmp_path, f"{huge},1,{S}\n2,3,{S}\n")
    assert str(huge) in graph.ids
    graph, _ = read(tmp_path, f"{10**17},1,{S}\n2,-3,{S}\n")
    assert graph.ids.tolist() == [-3, 1, 2, 10**17]
    graph, _ = read(tmp_path, f'5" disk,b,{S}\nb,c,{S}\n')
    assert '5" disk' in graph.ids


def test_warnings_in_plain_words(tmp_path):
    _, report = read(tmp_path, f"a,b,{S + 5}\nb,c,{S}\nb,c,{S + 90_000}\n")
    assert any(one.startswith("1 rows are earlier") for one in report.warnings)
    _, report = read(tmp_path, f"a,b,{S}\nb,c,{S + 1}\nb,c,9999999999\n")
    assert any("in the future" in one for one in report.warnings)
    _, report = read(tmp_path, "a,b,1999\nb,c,2004\n")
    assert any("look like years" in one for one in report.warnings)
    _, report = read(tmp_path, f"a,b,0\nb,c,{S}\nb,c,{S + 90_000}\n")
    assert any("1970-01-01" in one for one in report.warnings)
    _, report = read(tmp_path, f"a,b,{S}000000000\nb,c,{S}000000001\nb,c,{S + 90_000}000000000\n")
    assert any("became equal" in one for one in report.warnings)


BAD = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \n\n", "only blank lines"),
    "comments": (b"# a\n% b\n", "only comments"),
    "header only": (b"src,dst,time\n", "no event in it"),
    "one event": (b"src,dst,time\na,b,5\n", "row 2: there is only one event"),
    "two columns": (b"a,b\nc,d\n", "a column is missing"),
    "short row": (b"a,b,5\nc,d\ne,f,6\n", r"row 2: expected 3 cells, found 2"),
    "long row": (b"a,b,5\nc,d,6,7\ne,f,6\n", r"row 2: expected 3 cells, found 4"),
    "short row of blanks": (b"1 2 5\n3 4\n5 6 7\n", r"row 2: expected 3 cells, found 2"),
    "empty src": (b"src,dst,time\na,b,5\n,d,6\n", r"row 3: src \(src\): expected an id, found an empty cell"),
    "empty dst": (b'src,dst,time\na,"",5\nc,d,6\n', r"row 2: dst \(dst\): expected an id, found an empty cell"),
    "empty number": (b"src,dst,time\n1,2,5\n3,,6\n", r"row 3: dst \(dst\): expected an id, found an empty cell"),
    "empty time": (b"src,dst,time\na,b,5\nc,d,\n", r"row 3: time \(time\): expected numbers.* found an empty cell"),
    "empty weight": (b"src,dst,time,weight\na,b,5,1\nc,d,6,\n", r"row 3: weight .* found an empty cell"),
    "nan": (b"1,2,1300000000\n3,4,nan\n", r"row 2: time .* found nan"),
    "inf": (b"1,2,1300000000.5\n3,4,inf\n", r"row 2: time .* found inf"),
    "negative": (b"1,2,1300000000\n3,4,-5\n", r"row 2: time .* found -5"),
    "absurd": (b"1,2,1300000000\n3,4,1300000001\n5,6,1300000000000000\n", r"row 3: time .* the year 3000"),
    "absurd plain": (b"1,2,1\n3,4,1e300\n", r"row 2: time"),
    "mixed time": (b"1,2,1300000000\n3,4,1300000001\n3,4,soon\n", r"row 3: time .* found 'soon'"),
    "mixed time first": (b"a,b,soon\nb,c,1300000000\na,c,1300000001\n", r"row 1: time .* found 'soon'"),
    "two formats": (b"a,b,2015-01-02\nc,d,1300000000\nc,d,2015-01-03\n", r"row 2: time .* like 2015-01-02"),
    "two date forms": (b"a,b,2015-01-02\nc,d,03/04/2015\n", r"row 2: time .* found '03/04/2015'"),
    "zone and none": (b"a,b,2015-01-02T10:00:00Z\nb,c,2015-01-02T10:00:00\n", r"row 2: time"),
    "day 32": (b"a,b,2015-01-02\nb,c,2015-01-32\n", r"row 2: time"),
    "json array": (b'[{"src":1,"dst":2,"time":3}, {"src":1,"dst":2,"time":3}]', "one JSON array"),
    "latin-1": ("a,b,5\né,b,6\n".encode("latin-1"), r"row 2: not UTF-8"),
    "utf-16": ("a,b,5\n".encode("utf-16"), "UTF-16"),
    "binary": (bytes(range(256)) * 8, "binary file"),
    "late nul": (b"a,b,5\n" * 2000 + b"c\0c,d,6\n", r"row 2001: a NUL byte"),
    "cut gzip": (gzip.compress(os.urandom(5000))[:3000], "cut off or damaged"),
    "cut zstd": (zstandard.compress(os.urandom(5000))[:3000], "cut off or damaged"),
    "endless id": (b"a,b,5\n" + b"x" * 10**6 + b",b,6\n", r"row 2: an id is too long"),
    "named twice": (b"src,dst,src,time\na,b,c,5\na,b,c,6\n", "named twice"),
    "header misfit": (b"src,dst,time\n1,a,b,5\n2,c,d,6\n", "header does not fit"),
    "open quote": (b'a,b,5\n"c,d,6\n', r"row 2: a quote is opened"),
    "stray quote": (b'"a",b,5\nc"c,d,6\n', r"row 2: a quote inside"),
    "behind a quote": (b'"a"b,c,5\nc,d,6\n', r"row 1: a quote inside"),
    "hashtags": (b"a,b,1300000000\n#x,b,1300000001\n", r"row 2: a comment among the rows"),
    "json list": (b'{"src":1,"dst":2,"time":3}\n[1,2,3]\n', r"row 2: expected a JSON object"),
    "json cut": (b'{"src":1,"dst":2,"time":3}\n{"src":1,\n', r"row 2: expected a JSON object"),
    "json mixed": (b'{"src":1,"dst":2,"time":3}\n{"src":"a","dst":2,"time":4}\n', r"row 2: src has mixed types"),
    "json missing": (b'{"src":1,"dst":2,"time":3}\n{"src":1,"time":4}\n', r"row 2: dst .* an empty cell"),
    "json endless id": (
        b'{"src":"a","dst":"b","time":3}\n{"src":"' + b"x" * 10**6 + b'","dst":"b","time":4}\n',
        "too long",
    ),
    "parquet": (b"PAR1 and no more", "Parquet file is damaged"),
    "first hashtag": (b"#x,b,1300000000\na,b,1300000001\nb,c,1300000002\n", r"row 1: a first row that begins with #"),
    "hashtag after the header": (
        b"src,dst,time\n%a,b,2015-01-02\na,b,2015-01-03\nc,d,2015-01-04\n",
        r"row 2: a first row that begins with % .* say comments='none' if it is data",
    ),
    "return in an id": (b"src,dst,time\n\rq,b,1300000000\nq,b,1300000001\n", r"row 2: a carriage return inside"),
    "return behind an id": (b"src,dst,time\nq,b,1300000000\nq\r,b,1300000001\n", r"row 3: a carriage return inside"),
    "return in a time": (b"src,dst,time\nq,b,1300\r000000\nq,b,1300000001\n", r"row 2: a carriage return inside"),
    "blank in a clock": (
        b"src,dst,time\na,b,2014-01-01 10: 05:00\na,b,2014-01-01 10:05:00\n",
        r"row 2: time .* found '2014-01-01 10: 05:00'",
    ),
    "bad day among two": (b"src,dst,time\na,b,20150630\nb,c,20159999\n", r"row 3: time .* found 20159999"),
    "bad year": (b"src,dst,year\na,b,2015\nb,c,2016.5\nc,d,2016\n", r"row 3: time .* found 2016.5"),
    "header without end": (",".join(f"c{k}" for k in range(30_000)).encode() + b"\n", "and 29,988 more"),
    "many columns": (b",".join([b"x"] * 200_000) + b"\n1" + b",1" * 199_999 + b"\n", "too many columns|named twice"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_meet_one_clear_sentence(tmp_path, name):
    content, sentence = BAD[name]
    with pytest.raises(tadge.TadgeError, match=sentence) as caught:
        read(tmp_path, content)
    text = str(caught.value)
    assert "edges.csv" in text
    assert "\n" not in text
    assert len(text) < 400


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    for missing in (tmp_path / "none.csv", tmp_path / "none" / "none.csv"):
        with pytest.raises(tadge.InputError, match=f"^{missing}: there is no such file; check the name") as caught:
            read_events(missing)
        assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(tadge.InputError, match="a folder"):
        read_events(tmp_path)
    path = tmp_path / "shut.csv"
    path.write_text("a,b,5\n")

    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)  # root may read everything: chmod would prove nothing
    with pytest.raises(tadge.InputError, match="no permission"):
        read_events(path)


def test_bad_rows_can_be_reported_instead(tmp_path):
    text = f"a,b,{S}\nc,d\n,x,{S}\ne,f,soon\ng,h,{S + 1}\n"
    graph, report = read(tmp_path, text, bad_rows="report")
    assert rows_of(graph) == [("a", "b", S), ("g", "h", S + 1)]
    assert (report.rows, report.events, report.rejected) == (5, 2, 3)
    assert [reason.split(":")[0] for reason in report.reasons] == ["row 2", "row 3", "row 4"]
    assert "3 of 5 rows REJECTED" in report.line()
    with pytest.raises(tadge.InputError, match="row 1"):
        read(tmp_path, "a,b,soon\nc,d,never\n", bad_rows="report")


def test_unknown_options_are_refused(tmp_path):
    for options, sentence in [
        ({"dest": 1}, "did you mean 'dst'"),
        ({"src": "nobody"}, "no such column for src"),
        ({"time": 7}, "no such column for time"),
        ({"src": 0, "dst": 0}, "one column for two roles"),
        ({"unit": "moon"}, "unknown time unit"),
        ({"delimiter": "ab"}, "between cells"),
        ({"encoding": "klingon"}, "unknown encoding"),
        ({"encoding": "\0"}, "unknown encoding"),
        ({"max_unpacked": -1.0}, "value too small"),
        ({"tov": "x"}, "unknown choice"),
        ({"header": "yes"}, "wrong kind"),
        ({"comments": "abc"}, "unknown comments"),
    ]:
        with pytest.raises(tadge.TadgeError, match=sentence):
            read(tmp_path, lines(ROWS, ","), **options)


def test_encoding_can_be_told(tmp_path):
    for encoding in ("latin-1", "utf-16"):
        graph, _ = read(tmp_path, f"é,b,{S}\nb,é,{S + 1}\n".encode(encoding), encoding=encoding)
        assert graph.ids.tolist() == ["b", "é"]


def test_what_was_found_is_told_on_stderr(tmp_path, capsys):
    path = tmp_path / "e.csv"
    path.write_text(lines(ROWS, ","))
    read_events(path)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    for word in ("commas", "no header", "time = column 2", "Unix time in s", "3 events"):
        assert word in err
    read_events(path, quiet=True)
    assert capsys.readouterr().err == ""


def test_what_looks_odd_is_a_warning(tmp_path, capsys):
    path = tmp_path / "e.csv"
    path.write_text("a,b,50000\nb,c,70000\nc,a,60000\n")
    with pytest.warns(tadge.TadgeWarning) as caught:
        graph = read_events(path)
    messages = [str(warning.message) for warning in caught]
    assert messages[0] == f"{path}: 1 rows are earlier than the row before them; events were sorted by time"
    assert messages[1].startswith(
        f"{path}: nothing says the unit of the times: taken as seconds; if they are not, say "
    )
    assert "say unit='days' or the like" in messages[1]
    assert {warning.filename for warning in caught} == {__file__}  # the caller's line
    assert len(capsys.readouterr().err.splitlines()) == 1
    read_events(path, quiet=True)  # warns of nothing
    frame = pl.read_csv(path, has_header=False)
    for source, read_frame in ((frame, tadge.from_polars), (frame.to_pandas(), tadge.from_pandas)):
        with pytest.warns(tadge.TadgeWarning) as caught:
            assert read_frame(source).time.tolist() == graph.time.tolist()
        assert [str(warning.message).split(": ", 1)[1] for warning in caught] == [
            message.removeprefix(f"{path}: ") for message in messages
        ]
        assert {warning.filename for warning in caught} == {__file__}


def test_cures_name_arguments(tmp_path):
    for content, cure in [
        (b"a,b,5\nc,d\ne,f,6\n", "or say bad_rows='report' to go on without"),
        (b"a,b,1300000000\n#x,b,1300000001\n", "say comments='#' .* if it is one"),
        ("a,b,5\né,b,6\n".encode("latin-1"), "say encoding='latin-1' or the like"),
        (b"a,b\nc,d\n", "say src=.*, dst=.* and time=.*, or delimiter="),
    ]:
        with pytest.raises(tadge.InputError, match=cure):
            read(tmp_path, content)


def test_a_large_text_is_scanned_by_two_threads_as_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tadge.io.scan.TWO_THREADS", 1000)
    good = "".join(f"u{i},v{i % 7},{S + i}\n" for i in range(500))
    graph, report = read(tmp_path, good)
    assert (graph.num_events, report.rows) == (500, 500)
    for at in (3, 400):
        rows = good.splitlines(keepends=True)
        rows[at] = "short,row\n"
        with pytest.raises(tadge.InputError, match=f"row {at + 1}: expected 3 cells"):
            read(tmp_path, "".join(rows))
        rows[at] = "# a note\n\n" + f"x,y,{S}\n"
        graph, report = read(tmp_path, "".join(rows))
        assert (graph.num_events, report.comments, report.blank) == (500, 1, 1)
        rows[at] = f'"a\nb",y,{S}\n'
        graph, _ = read(tmp_path, "".join(rows))
        assert "a\nb" in graph.ids


def test_comments_that_may_be_rows(tmp_path):
    rows = lines(ROWS, ",")
    assert read(tmp_path, "#src,dst,time\n" + rows)[1].comments == 1
    assert read(tmp_path, "#x,b,1300000000\n" + rows, comments="#")[1].events == 3
    assert read(tmp_path, "#x,b,1300000000\n" + rows, comments="none")[1].events == 4
    _, report = read(tmp_path, "# x,b,1300000000\n" + rows)
    assert any("1 lines at the top that begin with # or % have all the cells" in one for one in report.warnings)
    _, report = read(tmp_path, "% 30 40 50\n" + lines(NUMBERED, " "))
    assert report.comments == 1
    assert not any("at the top" in one for one in report.warnings)


def test_byte_order_marks_where_files_were_joined(tmp_path):
    text = "src,dst,time\n" + lines(ROWS, ",")
    for content in (
        "\ufeff\ufeff" + text,
        text.replace("\nann", "\n\ufeffann"),
        text.replace("\ncat", '\n\ufeff"cat"'),
    ):
        graph, report = read(tmp_path, content)
        assert rows_of(graph) == ROWS
        marks = content.lstrip("\ufeff").count("\ufeff")
        assert any("byte order mark" in one for one in report.warnings) == (marks > 0)


def test_returns_that_mean_nothing_are_let_be(tmp_path):
    noted = "src,dst,time,note\n" + "".join(f"{u},{v},{t},a\rb\n" for u, v, t in ROWS)
    assert rows_of(read(tmp_path, noted)[0]) == ROWS
    assert rows_of(read(tmp_path, lines(ROWS, ",").replace("\n", "\r\r\n"))[0]) == ROWS
    assert rows_of(read(tmp_path, lines(ROWS, " ").replace("cat ", "cat\r "), "snap.txt")[0]) == ROWS  # a blank
    graph, _ = read(tmp_path, f'"a\rb",c,{S}\nc,"a\rb",{S + 1}\n')
    assert graph.ids.tolist() == ["a\rb", "c"]


def test_rows_and_comments_longer_than_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("tadge.io.sniff.SAMPLE_BYTES", 1000)
    monkeypatch.setattr("tadge.io.sniff.PIECE", 1000)
    noted = "src,dst,time,note\n" + "".join(f"{u},{v},{t},{'x' * 5000}\n" for u, v, t in ROWS)
    comments = "# and so on\n" * 500
    for text in (noted, comments + noted, comments + lines(ROWS, ",")):
        graph, report = read(tmp_path, text)
        assert rows_of(graph) == ROWS
        assert report.comments == text.count("#")
    with pytest.raises(tadge.InputError, match="row 503: expected 4 cells, found 3"):
        read(tmp_path, comments + noted.replace(f"cat,{S + 60},", "cat,"))
    monkeypatch.setattr("tadge.io.sniff.LONGEST_ROW", 4000)
    with pytest.raises(tadge.InputError, match="row 2: a row is longer than"):
        read(tmp_path, noted)


def test_quoted_and_padded_ids_keep_their_zeros(tmp_path):
    for content in (f'"007","7",{S}\n"7","8",{S + 1}\n', f" 007, 7,{S}\n7, 8,{S + 1}\n"):
        assert read(tmp_path, content)[0].ids.tolist() == ["007", "7", "8"]


PARQUET_TIMES = {
    "decimal": (pl.Series(["1300000000", "1300000060", "1300003600"]).cast(pl.Decimal(20, 2)), None),
    "int128": (pl.Series([S, S + 60, S + 3600], dtype=pl.Int128), None),
    "binary": (pl.Series([b"1300000000", b"1300000060", b"1300003600"]), None),
    "categorical": (pl.Series(["1300000000", "1300000060", "1300003600"]).cast(pl.Categorical), None),
    "list": (pl.Series([[S], [S], [S]]), "not a column of times; .* found List"),
    "struct": (pl.Series([{"a": S}] * 3), "not a column of times; .* found Struct"),
    "bool": (pl.Series([True, False, True]), "not a column of times"),
    "duration": (pl.Series([timedelta(days=k) for k in range(3)]), "not a column of times; .* found Duration"),
    "null": (pl.Series([None, None, None]), "an empty cell"),
    "bytes": (pl.Series([b"\xff", b"\xfe", b"\xfd"]), "time is a column of bytes"),
}


@pytest.mark.parametrize("name", PARQUET_TIMES)
def test_parquet_times_of_every_type(tmp_path, name):
    column, sentence = PARQUET_TIMES[name]
    ends = {"src": [row[0] for row in ROWS], "dst": [row[1] for row in ROWS]}
    pl.DataFrame(ends | {"time": column}).write_parquet(tmp_path / "e.parquet")
    if sentence is None:
        assert rows_of(read_events(tmp_path / "e.parquet", quiet=True, time="time")) == ROWS
    else:
        with pytest.raises(tadge.InputError, match=sentence):
            read_events(tmp_path / "e.parquet", time="time")


PARQUET_WEIGHTS = {
    "decimal": (pl.Series(["1", "2", "3"]).cast(pl.Decimal(20, 2)), True),
    "int128": (pl.Series([1, 2, 3], dtype=pl.Int128), True),
    "categorical": (pl.Series(["1", "2", "3"]).cast(pl.Categorical), True),
    "list": (pl.Series([[1], [2], [3]]), False),
    "struct": (pl.Series([{"a": 1}] * 3), False),
    "binary": (pl.Series([b"1", b"2", b"3"]), False),
    "date": (pl.Series([date(2015, 1, 1)] * 3), False),
    "duration": (pl.Series([timedelta(days=1)] * 3), False),
}


@pytest.mark.parametrize("name", PARQUET_WEIGHTS)
def test_parquet_weights_of_every_type(tmp_path, name):
    column, fine = PARQUET_WEIGHTS[name]
    frame = pl.DataFrame(ROWS, schema=["src", "dst", "time"], orient="row").with_columns(weight=column)
    frame.write_parquet(tmp_path / "e.parquet")
    if fine:
        assert read_events(tmp_path / "e.parquet", quiet=True, weight="weight").weight.tolist() == [1.0, 2.0, 3.0]
    else:
        with pytest.raises(tadge.InputError, match=r"the weight is not a number; .* say weight='none'"):
            read_events(tmp_path / "e.parquet", weight="weight")


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        (pl.Series([2**70, 2, 3], dtype=pl.Int128), ["2", "3", str(2**70)]),
        (pl.Series([1, 2, 3], dtype=pl.Int128), [1, 2, 3]),
        (pl.Series(["1", "2", "3"]).cast(pl.Decimal(20, 2)), [1, 2, 3]),
        (pl.Series([b"a", b"b", "é".encode()]), ["a", "b", "é"]),
        (pl.Series(["1.5", "2", "3"]).cast(pl.Decimal(20, 2)), "not a column of ids"),
        (pl.Series([[1], [2], [3]]), "not a column of ids"),
    ],
)
def test_parquet_ids_of_every_type(tmp_path, column, ids):
    frame = pl.DataFrame({"src": column, "dst": column.reverse(), "time": [S, S + 60, S + 3600]})
    frame.write_parquet(tmp_path / "e.parquet")
    told = {"src": "src", "dst": "dst", "quiet": True}
    if isinstance(ids, str):
        with pytest.raises(tadge.InputError, match=ids):
            read_events(tmp_path / "e.parquet", **told)
    else:
        assert sorted(read_events(tmp_path / "e.parquet", **told).ids.tolist()) == sorted(ids)


def test_ids_that_are_large_floats_are_told(tmp_path):
    frame = pl.DataFrame({"src": [2.0**60, 1.0], "dst": [1.0, 2.0], "time": [S, S + 90_000]})
    with pytest.warns(tadge.TadgeWarning, match="ids are floats above"):
        read_events(frame)


def test_damaged_parquet_prints_no_pages(tmp_path, capfd):
    path = tmp_path / "e.parquet"
    pl.DataFrame({"src": ["a", "b", "c"] * 50, "dst": ["c", "d", "e"] * 50, "time": range(S, S + 150)}).write_parquet(
        path
    )
    whole, draw, refused = path.read_bytes(), random.Random(3), 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(3):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(bytes(data))
        try:
            read_events(path, quiet=True)
        except tadge.TadgeError:
            refused += 1
    assert refused > 50
    assert capfd.readouterr().err == ""


def test_a_parquet_file_of_more_rows_than_memory_holds(tmp_path, monkeypatch):
    pl.DataFrame(ROWS * 9, schema=["src", "dst", "time"], orient="row").write_parquet(tmp_path / "e.parquet")
    monkeypatch.setattr("tadge.io.table.available_memory", lambda: 600)
    with pytest.raises(tadge.InputError, match="27 rows need more than"):
        read_events(tmp_path / "e.parquet")


def test_nothing_is_obeyed_by_a_terminal(tmp_path, capsys):
    red = "\x1b[31m"
    path = tmp_path / f"e{red}.csv"
    path.write_text(f"s{red}rc,dst,time\n{red}a,b,{S}\nb,NaN,{S + 1}\n")
    with pytest.warns(tadge.TadgeWarning) as caught:
        graph = read_events(path, src=0, dst=1)
    assert graph.reading["src"] == f"s{red}rc"  # as it is, only not on the screen
    messages = [capsys.readouterr().err.rstrip("\n"), *(str(warning.message) for warning in caught)]
    path.write_text(f"s{red}rc,dst,time\n{red}a,b\n")
    for options in ({}, {"src": f"{red}x"}, {"encoding": f"{red}"}):
        with pytest.raises(tadge.TadgeError) as error:
            read_events(path, **options)
        messages.append(str(error.value))
    assert all(message.isprintable() for message in messages)
    assert "e\\x1b[31m.csv" in messages[0]


# -- mutated files: no traceback, no silent loss ----------------------------------------------------------------------

BASES = [
    lines(ROWS * 3, ","),
    "src,dst,time,weight\n" + lines([(*row, 0.5) for row in NUMBERED * 3], ","),
    "# SNAP\n" + lines(NUMBERED * 4, " "),
    "a\tb\t2015-01-02T10:00:00Z\n" * 4 + "b\tc\t2015-01-03T10:00:00Z\n" * 3,
    "".join(json.dumps({"src": u, "dst": v, "time": t}) + "\n" for u, v, t in ROWS * 3),
    '"x y","say ""hi""",1300000000\n"z,1",b,1300000007\n' * 3,
]
PIECES = [
    b",",
    b"\n",
    b"\r\n",
    b'"',
    b"\x00",
    b"\xff",
    b"#",
    b" ",
    b"\t",
    b"-",
    b"e",
    b"9" * 20,
    b"nan",
    b"NULL",
    b"{",
    b"2015-01-02",
]


def mutate(content: bytes, random: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(random.randint(1, 4)):
        if not data:
            break
        at = random.randrange(len(data))
        kind = random.randrange(5)
        if kind == 0:
            data[at : at + 1] = b""
        elif kind == 1:
            data[at:at] = random.choice(PIECES)
        elif kind == 2:
            data[at] = random.randrange(256)
        elif kind == 3:
            data[at : at + random.randint(1, 30)] = b""
        else:
            other = random.randrange(len(data))
            data[at:at] = data[other : other + random.randint(1, 40)]
    return bytes(data)


def plain_rows(content: bytes) -> list[list[str]] | None:
    """Read the rows of a text with Python's own csv reader, where the text is too simple for dispute."""
    text = content.decode("utf-8", errors="replace")
    if '"' in text or "\r" in text or "\x00" in text or "\x0b" in text or "\x0c" in text:
        return None
    return [row for row in csv.reader(io.StringIO(text)) if row and "".join(row).strip()]


@settings(max_examples=2500)
@given(base=st.sampled_from(BASES), seed=st.integers(0, 2**32), report_rows=st.booleans())
def test_mutated_files_never_crash_and_never_lose_a_row(tmp_path_factory, base, seed, report_rows):
    content = mutate(base.encode(), random.Random(seed))
    path = tmp_path_factory.getbasetemp() / "mutated"
    path.write_bytes(content)
    try:
        graph, report = read_with_report(path, ReadOptions(bad_rows="report" if report_rows else "error"))
    except tadge.TadgeError as error:
        assert "\n" not in str(error) or "not clear which" in error.what
        assert "mutated" in str(error)
        return
    assert report.rows == report.events + report.rejected
    assert report.events == graph.num_events > 0
    assert report_rows or report.rejected == 0
    assert np.isfinite(graph.time).all()
    assert (graph.degree > 0).all()
    rows = plain_rows(content)
    if rows is None:
        return
    header = "header" in report.form and "no header" not in report.form
    assert report.rows + report.comments + header == len(rows)
    if "commas, no header" in report.form and not report.rejected:
        src, dst = (int(report.columns[end].removeprefix("column ")) for end in ("src", "dst"))
        rows = [row for row in rows if row[0][:1] not in ("#", "%")]
        expected = sorted((row[src].strip(" \t"), row[dst].strip(" \t")) for row in rows)
        assert expected == sorted((str(u), str(v)) for u, v, _ in rows_of(graph))


@pytest.mark.parametrize(
    ("rows", "events"),
    [
        ("0,1,2\na,b,1700000000\nb,c,1700000900\n", 2),  # as pandas writes columns without names
        (",0,1,2\n" + "".join(f"{k},a{k % 3},a{k % 4},{1700000000 + k}\n" for k in range(12)), 12),
        ("0,1,2\n5,6,2024-01-01\n6,5,2024-01-02\n", 2),
        ("0,1,2\n5,6,1700000000\n6,5,1700000900\n", 2),
        ("0,1,2\n1,2,3\n2,0,5\n", 3),  # events on a clock of their own
    ],
)
def test_a_header_that_counts_columns_is_no_event(tmp_path, rows, events):
    (tmp_path / "table.csv").write_text(rows)
    assert read_events(tmp_path / "table.csv", quiet=True).num_events == events
