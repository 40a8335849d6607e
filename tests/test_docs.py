"""What we show, we run."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import tadge
from tadge.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TINY = tadge.NetworkConfig(dim=8, heads=1, blocks=1), tadge.TrainConfig(epochs=1, init="random")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder as a user may have it: edges.csv, texts as ids and dates of 2015 and 2016, and a fitted model."""
    place = tmp_path_factory.mktemp("example")
    graph = tadge.synthetic.forum(800, seed=0).graph
    when = np.datetime64("2015-01-01", "s") + ((graph.time - graph.time[0]) * 86_400).astype("timedelta64[s]")
    rows = zip(graph.src, graph.dst, when, strict=True)
    text = "".join(f"user{u},user{v},{t}Z\n" for u, v, t in rows)
    (place / "edges.csv").write_text("who,whom,when\n" + text)
    tadge.TADGE(None, *TINY).fit(tadge.read_events(place / "edges.csv")).save(place / "model")
    return place


@pytest.fixture
def folder(example, tmp_path, monkeypatch):
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_snippets_run(page, folder):
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def commands() -> list[str]:
    found = []
    for page in PAGES:
        for block in blocks(page, "bash"):
            found += [line.split("  #")[0].strip() for line in block.splitlines()]
        found += re.findall(
            r"`(tadge (?:info|synth|convert|walk|fit|embed|evaluate|audit) \S[^`\n]*)`", page.read_text()
        )
    return sorted({re.sub(r"^\.venv/bin/", "", line) for line in found if "tadge" in line and "datasets" not in line})


@pytest.mark.parametrize("command", commands())
def test_commands_run(command, folder, monkeypatch, capsys, request):
    if "bitcoin-otc" in command:
        monkeypatch.setenv("TADGE_DATA", str(request.getfixturevalue("data_dir")))
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def test_the_first_result_comes_by_line_25():
    head = "\n".join((ROOT / "README.md").read_text().splitlines()[:25])
    assert "make demo" in head
    assert "tadge info edges.csv" in head


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_the_architecture_names_every_file():
    text = (ROOT / "docs" / "architecture.md").read_text()
    for path in (ROOT / "src" / "tadge").glob("*/[a-z]*.py"):
        assert f"{path.parent.name}/{path.name}" in text, path


def test_make_targets_that_are_shown_exist():
    rules = (ROOT / "Makefile").read_text()
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"make (demo|test|lint|bench|clean)\b", page.read_text()):
            assert re.search(rf"^{target}:", rules, re.M)
