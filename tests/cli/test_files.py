from __future__ import annotations

import gzip
import json
import subprocess
import sys

import polars as pl
import pytest

import tadge
from tadge.cli import main
from tadge.config import options
from tadge.io.options import ReadOptions

S = 1_300_000_000
EDGES = f"ann,bob,{S}\nbob,cat,{S + 86400}\ncat,ann,{S + 2 * 86400}\nann,bob,{S + 3 * 86400}\n"


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text(EDGES)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tadge", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        return done.value.code or 0, out, err

    return call


def test_info_as_a_table_and_as_json(run):
    code, out, err = run("info", "edges.csv")
    assert code == 0
    for word in ("|V|", "mean ToE", "under a week", "occurrences"):
        assert word in out
    assert "edges.csv: text with commas" in err
    code, out, err = run("info", "edges.csv", "--json", "--quiet")
    assert err == ""
    found = json.loads(out)
    assert (found["nodes"], found["events"], found["events_with_toe"]) == (3, 4, 2)
    # bob joins at 0 and acts at 1; cat joins at 1, acts at 2; ann acts at 0: cat->ann has 2 days, ann->bob 2
    assert found["mean_toe_days"] == 2.0
    assert found["toe_histogram"]["under a week"] == 2
    assert sum(found["toe_histogram"].values()) == 2
    assert found["fraction_without_toe"] == 0.5
    assert found["read"]["rows"] == 4
    assert found["first"] == "2011-03-13 07:06:40"


def test_info_warns_in_plain_words(run, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b,7\nb,c,5\n")
    for arguments in (
        ("info", "odd.csv"),
        ("info", "odd.csv", "--quiet"),
        ("convert", "odd.csv", "out.parquet"),
        ("walk", "odd.csv", "--lengths"),
        ("fit", "odd.csv", "--out", "model", "--only", "forecasts", "--steps", 1, "--trees", 1),
        ("audit", "last act", "odd.csv", "--cuts", 1),
    ):
        _, _, err = run(*arguments)
        flat = " ".join(err.split())
        assert "warning: nothing says the unit of the times" in flat, arguments
        assert "earlier than the row before" in flat
    warnings = json.loads(run("info", "odd.csv", "--json")[1])["warnings"]
    assert any("nothing says the unit" in warning for warning in warnings)


def test_every_read_option_reaches_the_reader(run, tmp_path):
    (tmp_path / "odd.txt").write_text("# no comment;x;x\na;b;10/01/2015;2\n#c;b;11/01/2015;3\n")
    code, out, _ = run(
        *("info", "odd.txt", "--json", "--delimiter", ";", "--no-header", "--comments", "%", "--bad-rows", "report"),
        *("--src", 1, "--dst", 0, "--time", 2, "--weight", "none", "--time-format", "%d/%m/%Y", "--no-directed"),
        *("--tov", "any", "--bipartite", "--encoding", "latin-1"),
    )
    assert code == 0
    found = json.loads(out)
    assert found["read"]["rejected"] == 1
    assert (found["events"], found["directed"], found["bipartite"], found["tov_rule"]) == (2, False, True, "any")
    assert not found["weighted"]
    code, out, _ = run("info", "edges.csv", "--json", "--unit", "ms")
    assert json.loads(out)["span_days"] == pytest.approx(3 / 1000)
    code, out, _ = run("info", "--help-all")
    for one in options(ReadOptions):
        assert "--" + one.name.replace("_", "-") in out


@pytest.mark.parametrize("name", ["e.parquet", "e.jsonl", "e.csv.zst"])
def test_convert_there_and_back(run, tmp_path, name):
    code, out, _ = run("convert", "edges.csv", name, "--json")
    assert code == 0
    assert json.loads(out)["events"] == 4
    code, out, _ = run("convert", name, "back.csv", "--times", "dates")
    assert code == 0
    assert (tmp_path / "back.csv").read_text().splitlines()[1].startswith("ann,bob,2011-03-13T07:06:40")


def test_bad_input_is_one_sentence_and_exit_code_2(run, tmp_path):
    (tmp_path / "bad.csv").write_text(EDGES + "ann,bob,soon\n")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(EDGES.encode() * 50)[:40])
    for arguments, words in [
        (("info", "bad.csv"), "bad.csv, row 5: time"),
        (("info", "none.csv"), "no such file"),
        (("info", tmp_path), "a folder"),
        (("info", "cut.csv.gz"), "cut off or damaged"),
        (("info", "edges.csv", "--src", "nobody"), "no such column"),
        (("info", "edges.csv", "--tov", "x"), "unknown choice"),
        (("convert", "bad.csv", "out.csv"), "bad.csv, row 5"),
        (("convert", "edges.csv", "out.xlsx"), "unknown kind of file"),
        (("convert", "edges.csv", "out.csv", "--times", "moons"), "unknown form of times"),
        (("convert", "edges.csv", tmp_path), "kind of file|folder"),
        (("datasets", "path", "nonsense"), "nonsense"),
        (("synth", "--events", "-3", "--out", "s.csv"), "events"),
    ]:
        code, out, err = run(*arguments)
        assert code == 2, (arguments, err)
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1
        assert any(word in err for word in words.split("|")), err
        assert out == ""
    assert {path.name for path in tmp_path.iterdir()} == {"edges.csv", "bad.csv", "cut.csv.gz"}  # nothing half-written


def test_unknown_flags_are_exit_code_2(run):
    assert run("info", "edges.csv", "--nonsense")[0] == 2
    assert run("nonsense")[0] == 2


def test_ctrl_c_and_the_unforeseen(run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tadge.io.readers.read_with_report", interrupt)
    code, _, err = run("info", "edges.csv")
    assert code == 130
    assert "Traceback" not in err

    def fail(*_):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("tadge.io.readers.read_with_report", fail)
    code, _, err = run("info", "edges.csv")
    assert code == 1
    assert "unforeseen (ZeroDivisionError: oops)" in err
    monkeypatch.setenv("TADGE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        monkeypatch.setattr(sys, "argv", ["tadge", "info", "edges.csv"])
        main()


def test_walks_with_the_users_ids(run, tmp_path):
    code, out, err = run("walk", "edges.csv", "--out", "w.parquet", "--min-length", 2, "--max-length", 3, "--seed", 5)
    assert code == 0
    assert "starts are used up" in out  # fewer than 10,000: said in plain words
    frame = pl.read_parquet(tmp_path / "w.parquet")
    assert set(frame["nodes"].explode()) <= {"ann", "bob", "cat"}
    assert frame["length"].max() <= 3
    code, out, _ = run("walk", "edges.csv", "--out", "w.parquet", "--min-length", 2, "--num-walks", 1, "--json", "-q")
    assert (code, out) == (2, "")  # the file is there
    options = ("--min-length", 2, "--num-walks", 1, "--json", "-q", "--force")
    code, out, _ = run("walk", "edges.csv", "--out", "w.parquet", *options)
    found = json.loads(out)
    assert (found["walks"], found["complete"], found["resumed"]) == (1, True, 0)
    code, out, _ = run("walk", "edges.csv", "--lengths")
    assert "at most      1 nodes" in out
    code, out, _ = run("walk", "edges.csv", "--lengths", "--json")
    assert sum(json.loads(out)["counts"]) == json.loads(out)["starts"] == 6
    for arguments, words in [
        (("walk", "edges.csv"), "no file to write"),
        (("walk", "edges.csv", "--out", "w.csv"), "unknown kind of file"),
        (("walk", "edges.csv", "--out", "x.parquet", "--min-length", 9), "no walk can be that long"),
        (("walk", "edges.csv", "--out", "x.parquet", "--max-length", 1), "value too small"),
        (("walk", "edges.csv", "--out", "x.parquet", "--min-length", 5, "-q"), "no walk is long enough"),
        (("walk", "edges.csv", "--out", "x.parquet", "--seed", -1, "-q"), "not a seed"),
    ]:
        code, _, err = run(*arguments)
        assert code == 2, arguments
        assert words in err
        assert len(err.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"edges.csv", "w.parquet"}


def test_datasets_by_name(run, data_dir, monkeypatch):
    monkeypatch.setenv("TADGE_DATA", str(data_dir))
    code, out, _ = run("datasets", "list", "--json")
    listed = {one["name"]: one for one in json.loads(out)}
    assert listed["bitcoin-otc"]["path"]
    assert listed["bitcoin-otc"]["classes"] == 3
    code, out, _ = run("datasets", "list")
    assert "Transaction" in out
    code, out, _ = run("datasets", "path", "bitcoin-otc")
    assert code == 0
    code, out, _ = run("datasets", "get", "transaction", "--json")  # there already: nothing to download
    assert json.loads(out)["name"] == "bitcoin-otc"
    code, out, _ = run("info", "bitcoin-otc", "--json")
    found = json.loads(out)
    assert (found["nodes"], found["events"], found["classes"]) == (5881, 35592, 3)
    code, out, _ = run("info", "jodie-wikipedia", "--json", "--no-bipartite")
    assert json.loads(out)["nodes"] == 8227  # what is told wins over what is known


def test_it_runs_as_a_module_and_tells_its_version():
    done = subprocess.run([sys.executable, "-m", "tadge", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"tadge {tadge.__version__}"


def test_several_files_a_pattern_and_stdin(run, tmp_path, monkeypatch):
    (tmp_path / "days").mkdir()
    for k, line in enumerate(EDGES.splitlines(keepends=True)):
        (tmp_path / "days" / f"{k}.csv").write_text(line)
    expected = json.loads(run("info", "edges.csv", "--json", "--quiet")[1])
    for files in (["days/*.csv"], [f"days/{k}.csv" for k in (3, 1, 0, 2)]):
        code, out, err = run("info", *files, "--json")
        assert code == 0
        assert "4 files as one history" in err
        found = json.loads(out)
        assert {name: found[name] for name in found if name not in ("read", "warnings")} == {
            name: expected[name] for name in expected if name not in ("read", "warnings")
        }
    code, out, _ = run("convert", "days/0.csv", "days/1.csv", "both.csv")
    assert (code, out) == (0, "both.csv: 2 events written\n")
    with (tmp_path / "edges.csv").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, out, err = run("convert", "-", "copy.csv")
    assert (code, out) == (0, "copy.csv: 4 events written\n")
    assert err.startswith("stdin: text with commas")
    for files, sentence in [
        (["days"], "error: days: this is a folder; expected a file; name one file in it, or all of a kind"),
        (["days/*.tsv"], "error: days/*.tsv: no file has a name like that"),
        (["days/0.csv", "days/0.csv"], "error: days/0.csv: this file is named twice"),
    ]:
        code, out, err = run("info", *files)
        assert (code, out) == (2, "")
        assert err.startswith(sentence)
        assert err.count("\n") == 1


def test_a_terminal_is_told_nothing_that_it_would_obey(run, tmp_path):
    red, control = "\x1b[31m", "\x9b31m"
    name = f"e{red}.csv"
    (tmp_path / name).write_text(f"s{red}rc,dst{control},time\n{red}a,b,{S}\nb,{control}c,{S + 90_000}\n")
    columns = ("--src", "0", "--dst", "1")
    for arguments in (("info", name), ("info", name, "--json"), ("info", name, *columns, "--json"), ("info", name * 2)):
        _, out, err = run(*arguments)
        assert "\x1b" not in out + err
        assert "\x9b" not in out + err
    found = json.loads(run("info", name, *columns, "--json")[1])
    assert found["read"]["columns"]["dst"] == f"dst{control}"  # escaped on the screen alone
    (tmp_path / "model.csv").write_text(f"src,dst,time\n{red}a,b\n")
    _, out, err = run("info", "model.csv")
    assert "\x1b" not in out + err
