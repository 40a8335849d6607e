from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from tadge.cli import app
from tadge.errors import InputError, MissingExtraError, TadgeError
from tadge.reproduction import run as running
from tadge.reproduction.cells import SUBJECTS, Cell, all_cells
from tadge.reproduction.records import RecordFolder, differences
from tadge.reproduction.run import check_records, reproduce, subjects_of
from tadge.reproduction.work import Workshop
from tiny_reproduction import tiny_material

SECTION = re.compile(r'<section id="(\w+)">')


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(running, "material_of", tiny_material)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(running, "material_of", tiny_material)
    out = tmp_path_factory.mktemp("reproduction") / "out"
    said: list[str] = []
    result = reproduce(["all"], out=out, quick=True, say=said.append, progress=False)
    patch.undo()
    return result, said


def test_everything_is_there(done):
    result, said = done
    page = result.report.read_text("utf-8")
    assert set(SECTION.findall(page)) == {"found", *SUBJECTS, "runs"}
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    for subject in SUBJECTS:
        for kind in ("svg", "png"):
            assert (result.folder / "figures" / f"{subject}.{kind}").exists() == subject.startswith("fig")
    assert (result.folder / "figures" / "fig4.png").read_bytes()[:4] == b"\x89PNG"
    assert any("left" in line for line in said)
    assert "left" not in said[-1]
    table = (result.folder / "tables.md").read_text("utf-8")
    assert "| TADGE as printed |" in table
    assert "random vectors" in table


def test_a_record_tells_what_was_run_by_which_code_on_what(done):
    result, _ = done
    record = json.loads((result.folder / "records" / "tadge-seed-0.json").read_text("utf-8"))
    assert record["cell"] == {"method": "TADGE", "seed": 0, "changes": {}, "epochs": None}
    assert record["config"]["network"]["dim"] == 8
    assert len(record["history"]) == 2
    assert record["seconds"] > 0
    assert record["peak_memory_mb"] > 0
    assert re.fullmatch("[0-9a-f]{12}", record["code"])
    about = json.loads((result.folder / "reproduction.json").read_text("utf-8"))
    assert about["fingerprint"] == tiny_material().graph.fingerprint


def test_what_is_done_is_not_run_again_and_a_cut_off_run_gives_the_same_records(done, tmp_path, monkeypatch):
    result, _ = done
    ran = []
    run = Workshop.run

    def counted(self, cell):
        if len(ran) == 3 and ran[-1] != "cut":
            ran.append("cut")
            raise KeyboardInterrupt
        ran.append(cell)
        return run(self, cell)

    monkeypatch.setattr(Workshop, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["table3"], out=tmp_path / "out", quick=True, progress=False, say=lambda line: None)
    said: list[str] = []
    again = reproduce(["table3"], out=tmp_path / "out", quick=True, progress=False, say=said.append)
    assert said[0].startswith("3 of ")
    for cell, record in again.records.items():
        assert differences(result.records[cell]["figures"], record["figures"]) == []
    ran.clear()
    reproduce(["table3", "table4"], out=tmp_path / "out", quick=True, progress=False, say=said.append)
    assert ran == []


def test_a_record_is_checked_by_running_it_again(done):
    result, _ = done
    cell, lines = check_records(result.folder, "tadge-seed-0", progress=False)
    assert (str(cell), lines) == ("TADGE, seed 0", [])
    place = result.folder / "records" / "random-vectors-seed-0.json"
    before = place.read_text("utf-8")
    record = json.loads(before)
    record["figures"]["toe"]["rmse"] += 0.01
    place.write_text(json.dumps(record), "utf-8")
    try:
        _, lines = check_records(result.folder, "random-vectors-seed-0", progress=False)
        outcome = CliRunner().invoke(app, ["reproduce", "--check", str(result.folder), "--record", place.stem])
    finally:
        place.write_text(before, "utf-8")
    assert len(lines) == 1
    assert lines[0].startswith("toe rmse: ")
    assert outcome.exit_code == 1
    assert "1 figures differ" in outcome.output
    with pytest.raises(InputError, match="no such record"):
        check_records(result.folder, "nobody", progress=False)


def test_records_of_other_code_are_pointed_out(done, tmp_path):
    out = tmp_path / "out"
    first = reproduce(["table1"], out=out, quick=True, progress=False, say=lambda line: None)
    place = out / "records" / "data-seed-0.json"
    record = json.loads(place.read_text("utf-8")) | {"code": "0123456789ab"}
    place.write_text(json.dumps(record), "utf-8")
    assert "other code" not in first.report.read_text("utf-8")
    page = reproduce(["table1"], out=out, quick=True, progress=False, say=lambda line: None).report.read_text("utf-8")
    assert "1 of 1 runs were made by other code than this page" in page


def test_a_folder_of_something_else_is_left_alone(done, tmp_path):
    result, _ = done
    about = result.folder / "reproduction.json"
    before = about.read_text("utf-8")
    about.write_text(json.dumps(json.loads(before) | {"version": "0.0.1"}), "utf-8")
    try:
        with pytest.raises(InputError, match=r"records of something else.*found tadge 0\.0\.1, tiny forum"):
            reproduce(["table1"], out=result.folder, quick=True, progress=False)
    finally:
        about.write_text(before, "utf-8")
    (tmp_path / "letter.txt").write_text("mine", "utf-8")
    with pytest.raises(InputError, match="the folder is in use"):
        reproduce(["table1"], out=tmp_path, quick=True, progress=False)
    (result.folder / "records" / "data-seed-0.json").read_text("utf-8")


def test_without_running_the_page_has_what_there_is(done, tmp_path):
    result, _ = done
    kept = [cell for cell in result.records if cell.method in ("data", "DeepWalk")]
    folder = RecordFolder(tmp_path / "out", tiny_material().about)
    folder.begin()
    for cell in kept:
        folder.write(cell, result.records[cell])
    again = reproduce(["all"], out=tmp_path / "out", quick=True, run=False, progress=False, say=lambda line: None)
    assert list(again.records) == kept
    assert set(SECTION.findall(again.report.read_text("utf-8"))) == {
        "found",
        "runs",
        "fig4",
        *(f"table{n}" for n in range(1, 7)),
    }


def test_force_runs_everything_again(tmp_path):
    quiet = {"quick": True, "progress": False, "say": lambda line: None}
    reproduce(["table1"], out=tmp_path / "out", **quiet)
    place = tmp_path / "out" / "records" / "data-seed-0.json"
    place.write_text("{", "utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        reproduce(["table1"], out=tmp_path / "out", **quiet)
    reproduce(["table1"], out=tmp_path / "out", force=True, **quiet)
    assert json.loads(place.read_text("utf-8"))["figures"]["classes"] == 2


def test_bad_names_are_one_sentence_and_exit_code_2(tmp_path, monkeypatch):
    assert subjects_of(["FIG4", "table1"]) == ["table1", "fig4"]
    outcome = CliRunner().invoke(app, ["reproduce", "table9", "--out", str(tmp_path / "out")])
    assert isinstance(outcome.exception, TadgeError)
    assert "unknown table or figure" in str(outcome.exception)
    monkeypatch.undo()
    outcome = CliRunner().invoke(app, ["reproduce", "table1", "--data", "bitcoin-otk", "--out", str(tmp_path / "out")])
    assert "did you mean bitcoin-otc?" in str(outcome.exception)
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_figures_say_which_extra_cures_it(tmp_path, monkeypatch):
    import builtins

    real = builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'tadge\[reproduce\]'"):
        reproduce(["fig4"], out=tmp_path / "out", quick=True, progress=False)
    assert not (tmp_path / "out").exists()


def test_the_command_prints_tables_and_json(tmp_path):
    arguments = ["reproduce", "table1", "--quick", "--out", str(tmp_path / "out"), "--quiet"]
    assert "Table 1. Statistics of the data" in CliRunner().invoke(app, arguments).output
    outcome = CliRunner().invoke(app, [*arguments, "--json"])
    assert json.loads(outcome.output)["tables"]["table1"]["rows"][0][0] == "tiny forum"


def test_every_cell_has_a_method(tmp_path):
    material = tiny_material()
    workshop = Workshop(material.graph, material.labels, material.size)
    for cell in all_cells(SUBJECTS, material.size, 1):
        if cell.method not in ("data", "free rules"):
            assert workshop.method(cell).name


def test_a_record_of_another_run_under_this_name_is_refused(tmp_path):
    material = tiny_material()
    folder = RecordFolder(tmp_path / "out", material.about)
    folder.begin()
    folder.write(Cell("DeepWalk"), {"figures": {}})
    (tmp_path / "out" / "records" / "deepwalk-seed-0.json").rename(tmp_path / "out" / "records" / "ctdne-seed-0.json")
    with pytest.raises(InputError, match="a record of another run"):
        folder.read(Cell("CTDNE"))
