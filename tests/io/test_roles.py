"""Which column is which: no table is read wrongly without a word, and nearly all are read rightly at once."""

from __future__ import annotations

import random
import shlex
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tadge
from exports import EXPORTS, UNCLEAR
from held_exports import EXPORTS as HELD
from tadge.errors import InputError
from tadge.io.options import ReadOptions
from tadge.io.readers import read_with_report
from tadge.io.roles import find_columns
from tadge.io.words import side_of, time_words, two_kinds, weight_words, words_of

ROLES = ("src", "dst", "time", "weight")


def right(export):
    """The columns that are right; where the same people stand in two columns, either is."""
    same = {}
    for column in export.columns.split("|"):
        name, kind = (part.strip() for part in column.split("="))
        if kind.startswith("same as "):
            same[name] = kind.removeprefix("same as ")
    return {role: getattr(export, role) for role in ROLES if getattr(export, role) is not None}, same


def found_in(export, order, count=80):
    """Find the columns of an export, in another order; None where it is asked."""
    names = [export.names()[at] for at in order]
    rows = tuple(tuple(row[at] for at in order) for row in export.rows(count))
    try:
        columns = find_columns(tuple(names) if export.header else (), rows, len(names), ReadOptions(), export.name)
    except InputError as error:
        assert "not clear which column is which" in str(error)
        return None
    used = {"src": columns.src, "dst": columns.dst, "time": columns.time, "weight": columns.weight}
    return {role: names[at] for role, at in used.items() if at is not None}


def is_right(export, found):
    wanted, same = right(export)
    if same and found["src"] in same and found["dst"] in same.values():
        return False  # ids of one end, names of the other
    return {role: same.get(name, name) for role, name in found.items()} == wanted


def test_there_are_enough_tables():
    assert len(EXPORTS) >= 60


@pytest.mark.parametrize("count", [12, 80, 1000])
def test_no_table_is_read_wrongly_and_nearly_all_at_once(count):
    answers = {export.name: found_in(export, range(len(export.names())), count) for export in EXPORTS}
    wrong = [export.name for export in EXPORTS if answers[export.name] and not is_right(export, answers[export.name])]
    asked = [name for name, found in answers.items() if found is None]
    assert wrong == []
    assert len(asked) <= 0.1 * len(EXPORTS), asked


@pytest.mark.parametrize("export", HELD, ids=lambda export: export.name)
def test_further_tables_are_not_read_wrongly_either(export):
    found = found_in(export, range(len(export.names())))
    assert found is None or is_right(export, found)


@settings(max_examples=150, deadline=None)
@given(export=st.sampled_from([export for export in EXPORTS if export.header]), seed=st.integers(0, 2**32))
def test_the_order_of_named_columns_does_not_matter(export, seed):
    order = list(range(len(export.names())))
    random.Random(seed).shuffle(order)
    found = found_in(export, order)
    assert found is None or is_right(export, found)


@pytest.mark.parametrize("export", UNCLEAR, ids=lambda export: export.name)
def test_where_nobody_could_know_it_is_asked(export):
    assert found_in(export, range(len(export.names()))) is None


@pytest.mark.parametrize("export", EXPORTS[::4], ids=lambda export: export.name)
def test_files_and_tables_are_read_alike(tmp_path, export):
    path = tmp_path / "export.csv"
    path.write_text(export.text())
    fixed = {"time": None}  # times of all forms are another subject: here only the columns count
    names = export.names()
    numbers = [str(at) for at in range(len(names))]
    frame = pl.DataFrame(export.rows(), schema=names if export.header else numbers, orient="row")
    columns = []
    for source in (path, frame, frame.to_pandas()):
        try:
            columns.append(read_with_report(source, ReadOptions())[1].columns)
        except InputError as error:
            fixed["time"] = str(error)
    for one in columns:
        assert is_right(export, {role: name.removeprefix("column ") for role, name in one.items()})
    assert columns or "time" in fixed["time"]


def test_the_question_has_commands_that_work(tmp_path, monkeypatch, capsys):
    from tadge.cli import main

    path = tmp_path / "it's unclear.csv"
    path.write_text(UNCLEAR[0].text())
    with pytest.raises(InputError) as caught:
        tadge.read_events(path)
    calls = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert 2 <= len(calls) <= 3
    graphs = [eval(call, {"read_events": partial(tadge.read_events, quiet=True)}) for call in calls]
    assert graphs[0].fingerprint != graphs[1].fingerprint
    assert tadge.read_events(path, quiet=True, yes=True).fingerprint == graphs[0].fingerprint

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["tadge", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, capsys.readouterr()

    code, printed = run("info", str(path), "--json")
    assert code == 2
    command = shlex.split(printed.err.splitlines()[1])
    assert command[:4] == ["tadge", "info", str(path), "--json"]
    assert command[4:8] == ["--src", "author", "--dst", "reviewer"]
    assert run(*command[1:])[0] in (0, None)
    assert run("info", str(path), "--yes")[0] in (0, None)


def test_what_is_given_is_taken():
    rows = tuple(map(tuple, UNCLEAR[0].rows()))
    names = tuple(UNCLEAR[0].names())
    found = find_columns(names, rows, len(names), ReadOptions(src="reviewer"), "t")
    assert (names[found.src], names[found.dst]) == ("reviewer", "author")
    found = find_columns(names, rows, len(names), ReadOptions(dst="reviewer", time="mergedAt"), "t")
    assert (names[found.src], names[found.time]) == ("author", "mergedAt")


def test_ids_and_codes_are_no_weights(tmp_path):
    def columns(text):
        path = tmp_path / "w.csv"
        path.write_text(text)
        return read_with_report(path, ReadOptions())[1]

    rng = np.random.default_rng(0)
    rows = [(f"u{a}", f"v{b}", 1_400_000_000 + 86_400 * k) for k, (a, b) in enumerate(rng.integers(0, 9, (40, 2)))]
    zips = "".join(f"{u},{v},{t},{z:05d}\n" for (u, v, t), z in zip(rows, rng.integers(1000, 99999, 40), strict=True))
    report = columns(zips)
    assert "weight" not in report.columns
    assert any("no weight" in one for one in report.warnings)
    assert (
        columns("".join(f"{u},{v},{t},{k % 7}\n" for k, (u, v, t) in enumerate(rows))).columns["weight"] == "column 3"
    )
    two = "src,dst,time,amount_eur,amount_usd\n" + "".join(
        f"{u},{v},{t},{k}.5,{k}.7\n" for k, (u, v, t) in enumerate(rows)
    )
    report = columns(two)
    assert "weight" not in report.columns
    assert any("'amount_eur' or 'amount_usd'" in one for one in report.warnings)
    named = "src,dst,time,rating_id\n" + "".join(f"{u},{v},{t},{k % 7}\n" for k, (u, v, t) in enumerate(rows))
    assert "weight" not in columns(named).columns


def test_more_nodes_than_events_is_odd(tmp_path):
    path = tmp_path / "sparse.csv"
    path.write_text("src,dst,time\n" + "".join(f"a{k},b{k},{1_400_000_000 + k}\n" for k in range(30)))
    _, report = read_with_report(path, ReadOptions())
    assert any(one.startswith("more nodes (60) than events (30): are src and dst") for one in report.warnings)


def test_names_are_read_by_words():
    assert words_of("senderAccountID") == ("sender", "account", "id")
    assert words_of("Empfänger-Konto") == ("empfanger", "konto")
    assert words_of("HTTPServer name") == ("http", "server", "name")
    assert words_of("userid") == ("user", "id")
    for acts, acted_on in [
        ("sender_account", "receiver_account"),
        ("Auftraggeber", "Empfänger"),
        ("Kundennummer", "Artikelnummer"),
        ("expéditeur", "destinataire"),
        ("ordenante", "beneficiario"),
        ("caller", "callee"),
        ("user_name", "parent_user_name"),
        ("account_from", "account_to"),
        ("user", "page"),
    ]:
        assert side_of(acts) > 0 > side_of(acted_on)
    assert side_of("authority") == side_of("currency") == side_of("user_agent") == side_of("de") == 0
    assert side_of("De", ("De", "Para")) > 0 > side_of("Para", ("De", "Para"))
    assert side_of("node1", ("node1", "node2")) > 0 > side_of("node2", ("node1", "node2"))
    assert two_kinds("user_id", "item_id") and two_kinds("customer", "agent")
    assert not two_kinds("sender", "receiver") and not two_kinds("buyer", "seller")
    assert time_words("created_at") > time_words("updated_at")
    assert time_words("Buchungstag") > time_words("Valutadatum")
    assert weight_words("weight") < weight_words("amount_usd") and not weight_words("amount_type")


# -- two sides ---------------------------------------------------------------------------------------------------------


def sides_of(rows, names=("src", "dst"), **options):
    times = [86_400 * 15_000 + k for k, _ in enumerate(rows)]
    frame = pl.DataFrame({names[0]: [u for u, _ in rows], names[1]: [v for _, v in rows], "time": times})
    return read_with_report(frame, ReadOptions.of(options))


DESK = [(f"c{k * 7 % 23}", f"a{k % 5}") for k in range(60)]


def test_ends_that_share_no_value_are_two_sides():
    graph, report = sides_of(DESK)
    assert graph.bipartite and graph.num_sources == 23
    assert graph.ids.tolist() == sorted({u for u, _ in DESK}) + sorted({v for _, v in DESK})  # the user's own
    assert "src and dst share no value: read as two-sided" in report.line()
    graph, report = sides_of(DESK, bipartite=False)
    assert not graph.bipartite and report.sides == ""
    assert not sides_of(DESK, directed=False)[0].bipartite
    assert not sides_of([*DESK, ("a0", "c0")])[0].bipartite  # one is enough


def test_little_data_does_not_tell_sides():
    assert not sides_of(DESK[:15])[0].bipartite
    assert not sides_of([(f"c{k}", f"a{k}") for k in range(60)])[0].bipartite  # nobody comes again
    assert sides_of(DESK[:5], ("customer", "agent"))[0].bipartite  # but the names do


def test_numbers_of_two_kinds_are_not_one_node():
    rows = [(k * 7 % 23, k % 5) for k in range(60)]
    assert not sides_of(rows)[0].bipartite
    for names in (("customer_id", "agent_id"), ("userId", "movieId"), ("Kundennummer", "Artikelnummer")):
        graph, report = sides_of(rows, names)
        assert graph.bipartite and graph.num_nodes == 28
        assert f"{names[0]} and {names[1]} are of two kinds" in report.line()
    assert not sides_of(rows, ("sender_id", "receiver_id"))[0].bipartite
    assert not sides_of(rows, ("buyer", "seller"))[0].bipartite
    strings = [("anna", "anna"), ("ben", "carl"), ("anna", "ben")] * 10
    assert not sides_of(strings, ("customer", "agent"))[0].bipartite  # an agent who is a customer too
    assert sides_of(strings, ("user", "page"))[0].bipartite
