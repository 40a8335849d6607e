"""tadge within, when, next, rank, surprises, overdue: the public calls, for people, for programs and as files."""

from __future__ import annotations

import csv
import json
import math
import re

import numpy as np
import polars as pl
import pytest

import tadge
from answering import ranked
from small import forum
from tadge import ForecastConfig, Forecaster, TemporalGraph

COMMANDS = ("within", "when", "next", "rank", "surprises", "overdue")
CONFIG = ForecastConfig(steps=10, trees=5, leaf_samples=5)
RED, BOLD = "\x1b[31mred", "[bold]x[/bold]"


def name(number):
    return {0: RED, 1: BOLD}.get(number, f"user {number}")


def write(path, graph):
    rows = zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True)
    text = "".join(f"{name(u)},{name(v)},{t * 86400:.3f}\n" for u, v, t in rows)
    path.write_text("who,whom,when\n" + text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models: of strings on the calendar, with a longer history; and of integers on a clock of their own."""
    place = tmp_path_factory.mktemp("ask")
    write(place / "events.csv", forum().before(float(forum().time[500])))
    write(place / "longer.csv", forum())
    graph = tadge.read_events(place / "events.csv", quiet=True)
    Forecaster(CONFIG).fit(graph, progress=False).save(place / "model")
    rng = np.random.default_rng(0)
    src, dst, time = rng.integers(1, 20, 300), rng.integers(1, 20, 300), np.sort(rng.uniform(0, 40, 300))
    numbers = TemporalGraph.from_arrays(src, dst, time, unit="days")
    Forecaster(CONFIG).fit(numbers, progress=False).save(place / "numbers")
    return place


@pytest.fixture
def model(folder):
    return Forecaster.load(folder / "model")


@pytest.fixture
def ask(run):
    """Run a command that must succeed in silence; give its JSON."""

    def call(*arguments):
        code, out, err = run(*arguments, "--json", "-q")
        assert (code, err) == (0, ""), err
        return json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))

    return call


# -- answers are those of the library ---------------------------------------------------------------------------------


def test_within(ask, model):
    rows = ask("within", "model", "user 5", "user 8", "--days", "0.5,7")
    expected = model.within("user 5", "user 8", [0.5, 7.0])[0]
    assert [(row["src"], row["dst"], row["days"]) for row in rows] == [
        ("user 5", "user 8", days) for days in (0.5, 7.0)
    ]
    assert [row["probability"] for row in rows] == expected.tolist()
    rows = ask("within", "model", "user 5", "user 8")
    assert [row["days"] for row in rows] == [1, 7, 30] and model.horizon_ > 30
    end = model.graph_.time[-1]
    at = str(np.datetime64("1970-01-01") + np.timedelta64(int(end) - 100, "D"))
    rows = ask("within", "model", "user 5", "user 8", "--days", 3, "--at", at)
    assert rows[0]["probability"] == model.within("user 5", "user 8", 3.0, at=at)
    moment = repr(float(model.graph_.time[300]))
    known, unknown = (ask("within", "model", "user 5", "user 8", flag, moment) for flag in ("--at", "--before"))
    assert known[0]["probability"] == model.within("user 5", "user 8", 1.0, at=float(moment))
    assert unknown[0]["probability"] == model.within("user 5", "user 8", 1.0, before=float(moment))


def test_horizons_are_those_that_can_be_trusted(ask, folder):
    numbers = Forecaster.load(folder / "numbers")
    assert 7 < numbers.horizon_ < 30
    assert [row["days"] for row in ask("within", "numbers", 1, 2)] == [1, 7]
    week = Forecaster(CONFIG).fit(numbers.graph_.before(2.0), progress=False)
    week.save(folder / "short")
    assert [row["days"] for row in ask("within", "short", 1, 2)] == [week.horizon_]
    rows = ask("next", "short", 1, "-k", 2)
    assert [row["probability"] for row in rows] == week.next(1, 2, week.horizon_)["probability"].tolist()


def test_when(ask, model):
    (row,) = ask("when", "model", "user 5", "user 8")
    expected = model.when("user 5", "user 8").iloc[0]
    for column in ("median_wait", "low_80", "high_80", "low_95", "high_95", "never"):
        assert row[column] == expected[column]
    assert (row["src"], row["dst"], row["known"]) == ("user 5", "user 8", True)
    wait = np.datetime64(row["median_date"]) - np.datetime64("1970-01-01")
    assert wait / np.timedelta64(1, "D") == pytest.approx(model.graph_.time[-1] + row["median_wait"], abs=1e-6)


def test_next_and_someone_new(ask, model):
    rows = ask("next", "model", "user 5", "user 8", "-k", 3, "--days", 2)
    expected = model.next(["user 5", "user 8"], 3, 2.0)
    assert [(row["src"], row["target"], row["probability"]) for row in rows] == list(
        zip(expected["src"], expected["target"], expected["probability"], strict=True)
    )
    rows = ask("next", "model", "user 5", "-k", 3, "--new")
    assert [row["target"] is None for row in rows] == [False, False, False, True]
    assert rows[3]["probability"] == model.next("user 5", 3, new=True)["probability"].iloc[3]


def test_rank(ask, model):
    rows = ask("rank", "model", "user 5", "-k", 4, "--new")
    assert [(row["target"], row["probability"]) for row in rows] == ranked(model.rank("user 5", k=4, new=True))
    assert {row["src"] for row in rows} == {"user 5"}


def test_surprises(ask, model, folder):
    rows = ask("surprises", "model", "--top", 7)
    expected = model.surprise().sort_values("surprise", ascending=False, kind="stable")
    assert [row["surprise"] for row in rows] == expected["surprise"].tolist()[:7]
    for row in rows:
        assert (
            row["surprise"] == pytest.approx(-math.log10(row["probability"])) == pytest.approx(row["who"] + row["when"])
        )
    later = ask("surprises", "model", "--events", "longer.csv", "--top", 1000)
    whole = tadge.read_events(folder / "longer.csv", quiet=True)
    assert len(later) == whole.num_events
    alone = model.surprise(whole)["surprise"]
    assert sorted(row["surprise"] for row in later) == sorted(alone)


def test_overdue(ask, model):
    rows = ask("overdue", "model", "--level", 0.4, "--least", 0.01, "--top", 1000)
    expected = model.overdue(level=0.4, least=0.01)
    assert len(rows) == len(expected) > 20
    assert [(row["src"], row["dst"], row["late"]) for row in rows] == list(
        zip(expected["src"], expected["dst"], expected["late"], strict=True)
    )
    assert rows == sorted(rows, key=lambda row: -row["late"])
    assert ask("overdue", "model", "--level", 0.4, "--least", 0.01, "--top", 3) == rows[:3]
    assert ask("overdue", "model", "--least", 1.0) == []


def test_a_longer_history(ask, model, folder, run):
    """What happened since the fit is known, and the answers are as of its end."""
    longer = tadge.read_events(folder / "longer.csv", quiet=True)
    end = model.graph_.time[-1] + 0.05 * (model.graph_.time[-1] - model.graph_.time[0])
    at = repr(float(end))
    more = ("--events", "longer.csv", "--at", at)
    assert longer.time[-1] > end
    pair = "user 5", "user 8"
    within, when = ask("within", "model", *pair, *more), ask("when", "model", *pair, *more)
    horizons = [row["days"] for row in within]
    assert [row["probability"] for row in within] == model.within(*pair, horizons, at=end, graph=longer)[0].tolist()
    assert within[0]["probability"] != model.within(*pair, horizons)[0, 0]
    assert when[0]["median_wait"] == model.when(*pair, at=end, graph=longer)["median_wait"].iloc[0]
    rows = ask("next", "model", "user 5", "-k", 2, *more)
    assert [row["target"] for row in rows] == model.next("user 5", 2, at=end, graph=longer)["target"].tolist()
    rows = ask("rank", "model", "user 5", "-k", 2, *more)
    assert [(row["target"], row["probability"]) for row in rows] == ranked(model.rank("user 5", end, 2, graph=longer))
    rows = ask("overdue", "model", "--level", 0.4, "--least", 0.01, "--top", 9, *more)
    assert [row["late"] for row in rows] == model.overdue(end, 0.4, least=0.01, graph=longer)["late"].tolist()[:9]
    late = repr(float(2 * model.graph_.time[-1] - model.graph_.time[0]))  # long after the fit
    code, _, err = run("when", "model", *pair, "--events", "longer.csv", "--at", late, "-q")
    assert code == 0
    assert err.startswith("warning: the Forecaster has learned from what happened until 20") and err.count("\n") == 1


# -- ids and files ----------------------------------------------------------------------------------------------------


def test_ids_that_are_integers(ask, folder):
    numbers = Forecaster.load(folder / "numbers")
    assert ask("within", "numbers", "17", "3")[0] == {
        **{"src": 17, "dst": 3, "days": 1.0},
        **{"probability": numbers.within(17, 3, 1.0), "known": True, "checked": True},
    }
    (row,) = ask("when", "numbers", "17", "3")
    assert "median_date" not in row  # on a clock of its own
    rows = ask("next", "numbers", "17", "3", "-k", 1, "--new")
    assert [row["src"] for row in rows] == [17, 17, 3, 3] and isinstance(rows[0]["target"], int)
    assert isinstance(ask("surprises", "numbers", "--top", 1)[0]["time"], float)


def test_pairs_and_nodes_from_files(ask, run, model, folder):
    (folder / "pairs.csv").write_text("dst,src\nuser 8,user 5\nuser 3,user 4\n")
    src, dst = ["user 5", "user 4"], ["user 8", "user 3"]
    rows = ask("within", "model", "--pairs", "pairs.csv", "--days", "7,1")
    assert np.array_equal(
        np.array([row["probability"] for row in rows]).reshape(2, 2), model.within(src, dst, [7.0, 1.0])
    )
    rows = ask("when", "model", "--pairs", "pairs.csv")
    assert [row["median_wait"] for row in rows] == model.when(src, dst)["median_wait"].tolist()
    (folder / "nodes.csv").write_text("user 5\nuser 4\nuser 5\n")
    rows = ask("next", "model", "--nodes", "nodes.csv", "-k", 1)
    assert [row["src"] for row in rows] == src  # each once
    (folder / "bad.csv").write_text("user 5,user 8\nuser 5\n")
    for command in ("within", "when"):
        code, out, err = run(command, "model", "--pairs", "bad.csv")
        assert (code, out) == (2, "")
        assert err == "error: bad.csv, row 2: not a row of ids; expected two cells, src and dst; found 1\n"
    (folder / "bad.csv").write_text("1,2\n3,x\n")
    code, _, err = run("within", "numbers", "--pairs", "bad.csv")
    assert code == 2 and "bad.csv, row 2: an id of another type; expected ids that are integers" in err


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_whole_tables_go_to_files(run, ask, folder, form):
    code, out, err = run("surprises", "model", "--top", 2, "--out", f"table.{form}")
    assert (code, err) == (0, "") and out == f"table.{form}: 500 rows\n"
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[form]
    frame = read(folder / f"table.{form}")
    rows = ask("surprises", "model", "--top", 1000)
    assert frame["surprise"].to_list() == [row["surprise"] for row in rows]
    assert frame["src"].to_list() == [row["src"] for row in rows]
    code, out, _ = run("next", "model", "user 5", "-k", 2, "--new", "--out", f"next.{form}", "--json")
    assert json.loads(out) == {"written": f"next.{form}", "rows": 3}
    assert read(folder / f"next.{form}")["target"].to_list()[-1] in (None, "")
    assert not list(folder.glob("*.tmp*"))


def test_a_csv_of_probabilities_is_plain(run, folder):
    assert run("within", "model", "user 5", "user 8", "--days", "1,7", "--out", "within.csv")[0] == 0
    with (folder / "within.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["days"] for row in rows] == ["1.0", "7.0"]
    assert all(0 < float(row["probability"]) < 1 for row in rows)


# -- what people see --------------------------------------------------------------------------------------------------

SHOWN = [
    (["within", "model", RED, BOLD], ["1 day", "7 days", "30 days", "%"]),
    (["when", "model", RED, BOLD], ["median wait", "80%, 95% of waits", " to ", "never", "median date"]),
    (["next", "model", RED, BOLD, "-k", "2", "--new"], ["in 7 days", "someone new", "80% of waits"]),
    (["rank", "model", RED, "--new", "-k", "100"], ["probability", "someone new"]),
    (["surprises", "model", "--top", "500"], ["surprise", "who", "when", "time"]),
    (["overdue", "model", "--level", "0.3", "--least", "0.01", "--top", "500"], ["late", "due", "since", "still"]),
]


@pytest.mark.parametrize(("line", "words"), SHOWN, ids=lambda value: value[0])
def test_tables_fit_80_columns_and_print_ids_as_they_are(run, monkeypatch, line, words):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run(*line)
    assert (code, err) == (0, "")
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    for word in words:
        assert word in plain
    assert max(map(len, plain.splitlines())) <= 80
    assert "…" not in plain
    assert "\x1b[31m" not in out
    monkeypatch.setenv("COLUMNS", "200")  # long ids are not folded
    _, out, _ = run(*line)
    assert "\x1b[31m" not in out
    assert ("\\x1b[31mred" in out) or line[0] == "rank"
    assert (BOLD in out) or line[0] in ("surprises", "overdue")


def test_a_table_says_what_the_json_says(run, ask, model):
    (row,) = ask("when", "model", "user 5", "user 8")
    _, out, _ = run("when", "model", "user 5", "user 8")
    assert row["median_date"].replace("T", " ")[:16] in out
    assert f"{row['median_wait']:,.1f} days" in out and f"{row['high_95']:,.1f} days" in out
    probability = ask("within", "model", "user 5", "user 8", "--days", 7)[0]["probability"]
    _, out, _ = run("within", "model", "user 5", "user 8", "--days", 7)
    shown = out.splitlines()[-1].split()[-1]
    assert float(shown.removesuffix("%")) / 100 == pytest.approx(probability, rel=0.06)
    _, out, _ = run("overdue", "model", "--least", 1.0)
    assert out.startswith("No pair is overdue, as of 20") and out.count("\n") == 1


def test_nodes_that_were_never_seen(run):
    for line in (
        ["within", "model", "user 5", RED + "!"],
        ["when", "model", "nobody", "user 5"],
        ["next", "model", "no"],
        ["rank", "model", "no"],
    ):
        code, out, err = run(*line)
        assert code == 0 and " known" in out
        assert out.splitlines()[-1].rstrip().endswith(" no") or line[0] == "when"
        assert err.startswith("warning: ") and "never seen in this history" in err and err.count("\n") == 1
        assert "\x1b" not in err
        records = json.loads(run(*line, "--json")[1])
        assert all(record["known"] is False for record in records)
    _, out, err = run("next", "model", "user 05", "zebra", "user 5", "-k", 1, "--json")
    assert [record["known"] for record in json.loads(out)] == [False, False, True]
    assert "src 'user 05' (did you mean 'user" in err and ", src 'zebra'; answered" in err
    assert "known" not in run("next", "model", "user 5")[1]


# -- what cannot be asked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            ["within", "model", "user 5", "user 8", "--days", "0"],
            "--days: a horizon that cannot be trusted; expected from",
        ),
        (
            ["within", "model", "user 5", "user 8", "--days", "1,99999"],
            "--days: a horizon that cannot be trusted; .*found 99,999",
        ),
        (
            ["within", "model", "user 5", "user 8", "--days", "soon"],
            "--days: not horizons; expected numbers of days, with commas",
        ),
        (["next", "model", "user 5", "--days", "-1"], "--days: a horizon that cannot be trusted"),
        (["surprises", "model", "--by", "luck"], "--by: unknown order; expected surprise or who or when or lately"),
        (
            ["within", "model", "user 5"],
            "which pairs are asked about; expected SRC and DST, or --pairs FILE; found one id",
        ),
        (["when", "model"], "which pairs are asked about.*found neither"),
        (["when", "model", "user 5", "user 8", "--pairs", "events.csv"], "which pairs are asked about.*found both"),
        (["when", "model", "--pairs", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["next", "model"], "who is asked about; expected SRC, or --nodes FILE; found neither"),
        (["rank", "numbers", "x"], "SRC: an id of another type; expected ids that are integers, as in the graph"),
        (["within", "numbers", "1", "x"], "DST: an id of another type; .*found 'x'"),
        (["rank", "model", "user 5", "-k", "0"], "--k: value too small; expected an integer of at least 1"),
        (["overdue", "model", "--level", "2"], "--level: value too large"),
        (["overdue", "model", "--top", "0"], "--top: value too small"),
        (
            ["when", "model", "user 5", "user 8", "--at", "1999-01-01"],
            "--at: nothing had happened by then; expected 20",
        ),
        (["when", "model", "user 5", "user 8", "--at", "1e9"], "--at: a moment far after the last event"),
        (["when", "model", "user 5", "user 8", "--at", "soon"], "not a date; expected an ISO date; found 'soon'"),
        (["when", "numbers", "1", "2", "--at", "2015-01-01"], "this graph has no calendar"),
        (["overdue", "model", "--at", "14000", "--before", "14000"], "--before: two moments"),
        (["overdue", "events.csv"], "events.csv: this is not a folder; expected a folder that tadge fit made"),
        (["overdue", "nowhere"], "nowhere: "),
        (["rank", "model", "user 5", "--out", "table.txt"], "table.txt: unknown kind of file; expected .csv, .tsv"),
        (
            ["when", "numbers", "1", "2", "--events", "longer.csv"],
            "longer.csv: another kind of events than .*found strings",
        ),
        (
            ["overdue", "model", "--events", "longer.csv", "--no-directed"],
            "longer.csv: another kind of events .*; expected directed; found undirected; say --directed",
        ),
    ],
)
def test_bad_input_is_one_sentence(run, line, sentence):
    code, out, err = run(*line, "-q")
    assert (code, out) == (2, ""), err
    assert re.match("error: ", err) and re.search(sentence, err), err
    assert err.count("\n") == 1


def test_events_that_are_not_of_the_history(run, folder):
    rows = (folder / "longer.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join([rows[0], *rows[-50:]]) + "\n")
    code, out, err = run("surprises", "model", "--events", "new.csv", "--json", "-q")
    assert (code, err) == (0, "") and len(json.loads(out)) == 20  # later ones: no whole history is needed
    code, _, err = run("overdue", "model", "--events", "new.csv", "-q")
    assert code == 0
    assert "warning: new.csv: begins after all that the model has learned from; give the whole history" in err
    (folder / "other.csv").write_text("\n".join([rows[0], f"user 5,user 8,{rows[3].split(',')[2]}", *rows[-3:]]) + "\n")
    code, _, err = run("surprises", "model", "--events", "other.csv", "-q")
    assert code == 2 and "--events: an event that is not in the history" in err and "graph=" not in err


def test_a_folder_without_a_forecaster(run, folder):
    from small import network, training, walking

    tadge.TADGE(walking(), network(), training(epochs=1)).fit(forum(), progress=False).save(folder / "vectors")
    code, _, err = run("overdue", "vectors")
    assert code == 2 and "there is no Forecaster in this folder" in err and err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(run, command):
    code, out, _ = run(command, "--help")
    flat = " ".join(out.split())
    assert code == 0 and f"Example: tadge {command} model/" in flat
    for option in ("--json", "--out", "--events"):
        assert option in flat
