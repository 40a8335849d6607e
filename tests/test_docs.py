"""What we show, we run; what we print, comes out."""

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
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
TINY = tadge.NetworkConfig(dim=8, heads=1, blocks=1), tadge.TrainConfig(epochs=1, init="random")
QUICK = tadge.ForecastConfig(steps=5, trees=5)
COMMANDS = "info|synth|convert|walk|fit|embed|within|when|next|rank|surprises|overdue|evaluate|audit"


def blocks(page: Path) -> list[tuple[str, str]]:
    """List the blocks of code of a page, in order, as (language, content)."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder as a user may have it: edges.csv, strings as ids and dates of 2015 and 2016, and fitted models."""
    place = tmp_path_factory.mktemp("example")
    graph = tadge.synthetic.forum(800, seed=0).graph
    when = np.datetime64("2015-01-01", "s") + ((graph.time - graph.time[0]) * 86_400).astype("timedelta64[s]")
    rows = zip(graph.src, graph.dst, when, strict=True)
    text = "".join(f"user{u},user{v},{t}Z\n" for u, v, t in rows)
    (place / "edges.csv").write_text("who,whom,when\n" + text)
    graph = tadge.read_events(place / "edges.csv", quiet=True)
    tadge.TADGE(tadge.WalkConfig(), *TINY).fit(graph, progress=False).save(place / "model")
    tadge.Forecaster(QUICK).fit(graph, progress=False).save(place / "model")
    return place


@pytest.fixture
def folder(example, tmp_path, monkeypatch):
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_command(monkeypatch, capsys, request):
    """Run a line of a shell as the command line would; give what it prints."""

    def run(line: str) -> str:
        if "bitcoin-otc" in line:
            monkeypatch.setenv("TADGE_DATA", str(request.getfixturevalue("data_dir")))
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        assert not done.value.code, err
        assert out, line
        return out

    return run


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_and_print_what_is_shown(page, folder, run_command, capsys):
    """Commands and Python run in the order of the page; a block of text after one of them is what it prints."""
    names: dict[str, object] = {}
    printed = None
    for language, content in blocks(page):
        if language == "python":
            capsys.readouterr()
            exec(compile(content, str(page), "exec"), names)
            printed = capsys.readouterr().out
        elif language == "bash":
            lines = [line for line in content.splitlines() if line.startswith("tadge ") and "datasets" not in line]
            printed = "".join(run_command(line) for line in lines)
        elif language == "text":
            assert printed is not None, "nothing printed this"
            assert [line.rstrip() for line in printed.splitlines()] == content.splitlines()
            printed = None


def inline_commands() -> list[str]:
    texts = [re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M) for page in PAGES]
    return sorted({line for text in texts for line in re.findall(rf"`(tadge (?:{COMMANDS}) \S[^`\n]*)`", text)})


@pytest.mark.parametrize("command", inline_commands())
def test_commands_run(command, folder, run_command):
    run_command(command)


def test_the_first_result_is_printed_by_line_25():
    head = README.read_text().splitlines()[:25]
    first = head.index("```text")
    assert "```" in head[first:]
    languages = [language for language, _ in blocks(README)]
    assert languages[: languages.index("text")] == ["bash", "python"]  # the block before it prints it: see above
    for words in ("make demo", "make test", "pip install"):
        assert words in README.read_text()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_the_architecture_names_every_file():
    text = (ROOT / "docs" / "architecture.md").read_text()
    for path in (ROOT / "src" / "tadge").glob("*/[a-z]*.py"):
        assert f"{path.parent.name}/{path.name}" in text, path


def test_the_pages_name_only_files_that_exist():
    for page in PAGES:
        for name in re.findall(r"`(\w+/\w+\.py)`", page.read_text()):
            assert (ROOT / "src" / "tadge" / name).exists() or (ROOT / name).exists(), f"{page.name}: {name}"


def test_the_pages_name_only_functions_that_exist():
    """In rows of tables, names after a file are defined in that file."""
    for page in PAGES:
        for files, names in re.findall(r"\| (`[^|]*\.py`(?:, `[^|]*\.py`)*) \| (`[^|]*`) \|$", page.read_text(), re.M):
            paths = [ROOT / "src" / "tadge" / name for name in re.findall(r"`([\w/]+\.py)`", files)]
            text = "".join(path.read_text() for path in paths if path.exists())
            for name in re.findall(r"`(?:\w+\.)*(\w+)`", names):
                assert re.search(rf"^\s*(?:def|class) {name}\b|^{name}\b.* = ", text, re.M), (page.name, files, name)


def test_make_targets_that_are_shown_exist():
    rules = (ROOT / "Makefile").read_text()
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"make (demo|test|lint|bench|clean)\b", page.read_text()):
            assert re.search(rf"^{target}:", rules, re.M)
