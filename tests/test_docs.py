"""What we show, we run; what we print, comes out."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import notebooks
import pytest
import shown
from typer.main import get_command

import tadge
from tadge.cli import app

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [*shown.OTHERS, shown.TUTORIAL, *shown.HOWTO]
COMMANDS = "|".join(
    set(get_command(app).commands) - {"datasets", "board"}
)  # these want downloads, or somebody's answers


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder as a user may have it: edges.csv, strings as ids and dates of 2015 and 2016, and fitted models."""
    place = tmp_path_factory.mktemp("example")
    shown.make_example(place)
    return place


@pytest.fixture
def folder(example, tmp_path, monkeypatch):
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", shown.OTHERS, ids=lambda page: page.name)
def test_blocks_run_and_print_what_is_shown(page, folder):
    """Commands and Python run in the order of the page; a block of text after one of them is what it prints."""
    shown.check_page(page, folder)


def test_the_tutorial_and_the_how_to_pages_that_go_on_from_it_print_what_they_show(example, tmp_path):
    """One test, so that what the tutorial learns is learned once."""
    (tmp_path / "tutorial").mkdir()
    shutil.copy(example / "edges.csv", tmp_path / "tutorial")
    shown.check_page(shown.TUTORIAL, tmp_path / "tutorial")
    for page in shown.HOWTO:
        shown.check_page(page, Path(shutil.copytree(tmp_path / "tutorial", tmp_path / page.stem)))


@pytest.mark.parametrize("name", shown.OPTIONAL)
def test_blocks_that_need_another_library_are_run_where_it_is(name):
    """They run with their page: here it only shows whether they do."""
    asking = [page for page in PAGES for block in shown.blocks(page) if f"import {name}\n" in block.content]
    assert asking
    pytest.importorskip(name, reason=f"{name} is not needed, and not installed: what pages show of it is not run")


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_give_what_they_show(path):
    notebook, outputs = notebooks.run_notebook(path)
    cells = notebooks.code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell, given in zip(cells, outputs, strict=True):
        assert notebooks.plain(given) == notebooks.plain(cell["outputs"]), "".join(cell["source"])
    assert path.stat().st_size < 100_000


def test_a_page_that_shows_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    for text, wrong in (("2\n", False), ("3\n", True)):
        page.write_text(f"```python\nprint(1 + 1)\n```\n\n```text\n{text}```\n")
        if wrong:
            with pytest.raises(shown.DifferentError, match="but this comes out"):
                shown.check_page(page, tmp_path)
            shown.rewrite(page, tmp_path)
        shown.check_page(page, tmp_path)
    page.write_text("```bash\ntadge info nothing.csv\n```\n")
    with pytest.raises(shown.DifferentError, match="exit code 2"):
        shown.check_page(page, tmp_path)


def inline_commands() -> list[str]:
    texts = [re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M) for page in PAGES]
    return sorted({line for text in texts for line in re.findall(rf"`(tadge (?:{COMMANDS}) \S[^`\n]*)`", text)})


@pytest.mark.parametrize("command", inline_commands())
def test_commands_run(command, folder, request, monkeypatch):
    if "bitcoin-otc" in command:
        monkeypatch.setenv("TADGE_DATA", str(request.getfixturevalue("data_dir")))
    shown.run_command(command)


def test_the_first_result_is_printed_by_line_25():
    head = README.read_text().splitlines()[:25]
    first = head.index("```text")
    assert "```" in head[first:]
    languages = [block.language for block in shown.blocks(README)]
    assert set(languages[: languages.index("text")]) <= {"bash", "python"}  # the block before it prints it: see above
    assert len(README.read_text().splitlines()) <= 120
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
        for target in re.findall(r"make (demo|test|lint|docs|shown|bench|clean)\b", page.read_text()):
            assert re.search(rf"^{target}:", rules, re.M)


def test_every_public_name_has_its_place_in_the_pages_of_python():
    text = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    assert sorted(re.findall(r"^::: tadge\.(\w+)$", text, re.M)) == sorted(set(tadge.__all__) - {"__version__"})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as make docs builds it; a warning is an error there."""
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


class Requests(HTMLParser):
    """Collect what a page fetches by itself: scripts, styles, pictures, frames; not links that people follow."""

    def __init__(self):
        super().__init__()
        self.fetched = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.fetched += [given["src"]] if given.get("src") else []
        self.fetched += [given["href"]] if tag == "link" and given.get("rel") != "canonical" else []


def test_the_site_fetches_nothing_from_outside(site):
    pages = sorted(site.rglob("*.html"))
    assert {"index.html", "tutorial.html", "estimators.html", "two-sided.html"} <= {page.name for page in pages}
    for page in pages:
        reader = Requests()
        reader.feed(page.read_text())
        assert reader.fetched
        for name in reader.fetched:
            assert not re.match(r"(\w+:)?//", name), (page.name, name)
            if page.name != "404.html":  # its paths are those of the root of a server
                assert (page.parent / name.partition("?")[0]).exists(), (page.name, name)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet.name


def test_the_site_lists_options_from_where_they_are_written(site):
    text = (site / "api" / "estimators.html").read_text()
    for listed in tadge.config.options(tadge.ForecastConfig):
        assert f"<code>{listed.name}</code>" in text
