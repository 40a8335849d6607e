"""Run what the pages show, in the order of each page; compare what is printed with the page, or write it down anew.

A block of `bash` runs its lines that begin with `tadge`; one of `python` runs as it stands, and keeps its names for
the rest of the page. A block of `text` after one of these is what it prints. A block with a title is also a file.
A line that ends in `2>&1` also shows its notes, and one that ends in `# exit code 2` is to fail so, and shows why.

    python docs/making/shown.py [PAGE ...]      writes the blocks of text, and the outputs of notebooks, anew
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
HOWTO = sorted((DOCS / "howto").glob("*.md"))
OTHERS = [ROOT / "README.md", *sorted(page for page in DOCS.glob("*.md") if page != TUTORIAL)]
SURROUNDINGS = {"COLUMNS": "88", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
OPTIONAL = ("duckdb", "faiss")  # shown, not needed: blocks that import them are run where they are installed
CHANGING = re.compile(r"[\d,.]+ (?:s|MB)\b| \([0-9a-f]{7,}\+?\)")  # what a clock, the system or git says
EXIT_CODE = re.compile(r"#\s*exit code (\d+)\s*$")


@dataclass(frozen=True)
class Block:
    """Hold a block of code of a page: its language, the file it is (or ""), its content and where that lies."""

    language: str
    title: str
    content: str
    start: int
    end: int


class DifferentError(AssertionError):
    """What a page shows is not what comes out."""


def blocks(page: Path) -> list[Block]:
    """List the blocks of code of a page, in order."""
    pattern = r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$'
    found = re.finditer(pattern, page.read_text(encoding="utf-8"), re.S | re.M)
    return [Block(match[1], match[2] or "", match[3], match.start(3), match.end(3)) for match in found]


@contextmanager
def surroundings() -> Iterator[None]:
    """Let commands print as wide as pages are, and without colours."""
    before = {name: os.environ.get(name) for name in SURROUNDINGS}
    os.environ.update(SURROUNDINGS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_command(line: str) -> str:
    """Run a line of a shell as the command line would; give what it prints."""
    from tadge.cli import main

    wanted = EXIT_CODE.search(line)
    notes = wanted is not None or line.rstrip().endswith("2>&1")
    out = StringIO()
    err = out if notes else StringIO()
    before, sys.argv = sys.argv, shlex.split(line.replace("2>&1", ""), comments=True)
    code: object = 0
    try:
        with surroundings(), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as done:
        code = done.code or 0
    finally:
        sys.argv = before
    if code != (int(wanted[1]) if wanted else 0):
        raise DifferentError(f"{line}: exit code {code}\n{err.getvalue()}")
    if not out.getvalue():
        raise DifferentError(f"{line}: prints nothing")
    return out.getvalue()


def missing(block: Block) -> list[str]:
    """List the libraries that a block of Python shows, that tadge can do without, and that are not here."""
    shown = re.findall(r"^import (\w+)", block.content, re.M) if block.language == "python" else []
    return [name for name in shown if name in OPTIONAL and find_spec(name) is None]


def run_block(block: Block, names: dict[str, object], page: Path) -> str | None:
    """Run one block in the present folder; give what it prints, or None where it is not run."""
    if block.title:
        Path(block.title).write_text(block.content, encoding="utf-8")
    if block.language == "python":
        if missing(block):
            return None
        out = StringIO()
        with surroundings(), redirect_stdout(out):
            exec(compile(block.content, str(page), "exec"), names)
        return out.getvalue()
    if block.language == "bash":
        lines = [line for line in block.content.splitlines() if line.startswith("tadge ") and "datasets" not in line]
        return "".join(map(run_command, lines))
    return None


def run_page(page: Path, folder: Path) -> list[tuple[Block, str]]:
    """Run a page in a folder; give its blocks of text, each with what is really printed."""
    names: dict[str, object] = {"__name__": "page"}
    printed, answers, left_out = None, [], False
    with chdir(folder):
        for block in blocks(page):
            if block.language != "text":
                printed, left_out = run_block(block, names, page), bool(missing(block))
            elif left_out:
                continue
            elif printed is None:
                raise DifferentError(f"{page.name}: nothing prints this: {block.content[:80]}")
            else:
                answers.append((block, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())))
                printed = None
    return answers


def check_page(page: Path, folder: Path) -> None:
    """Run a page; complain where it shows what does not come out."""
    for block, printed in run_page(page, folder):
        if CHANGING.sub("", printed) != CHANGING.sub("", block.content):
            raise DifferentError(f"{page.name} shows\n{block.content}\nbut this comes out (make shown):\n{printed}")


def make_example(place: Path) -> None:
    """Fill a folder as a user may have it: edges.csv, strings as ids and dates of 2015 and 2016, and fitted models."""
    import numpy as np

    import tadge

    graph = tadge.synthetic.forum(800, seed=0).graph
    when = np.datetime64("2015-01-01", "s") + ((graph.time - graph.time[0]) * 86_400).astype("timedelta64[s]")
    rows = zip(graph.src, graph.dst, when, strict=True)
    text = "".join(f"user{u},user{v},{t}Z\n" for u, v, t in rows)
    (place / "edges.csv").write_text("who,whom,when\n" + text)
    graph = tadge.read_events(place / "edges.csv", quiet=True)
    tiny = tadge.NetworkConfig(dim=8, heads=1, blocks=1), tadge.TrainConfig(epochs=1, init="random")
    tadge.TADGE(tadge.WalkConfig(), *tiny).fit(graph, progress=False).save(place / "model")
    tadge.Forecaster(tadge.ForecastConfig(steps=5, trees=5)).fit(graph, progress=False).save(place / "model")


def rewrite(page: Path, folder: Path) -> None:
    """Run a page, and write down what it prints."""
    text = page.read_text(encoding="utf-8")
    for block, printed in reversed(run_page(page, folder)):
        text = text[: block.start] + printed + text[block.end :]
    page.write_text(text, encoding="utf-8")


def main(chosen: list[Path]) -> None:
    """Write the pages anew: the tutorial first, as how-to pages go on from its files, each in a folder of its own."""
    from notebooks import NOTEBOOKS, execute

    with tempfile.TemporaryDirectory() as place:
        starts = {name: Path(place, name) for name in ("tutorial", "example")}
        for folder in starts.values():
            folder.mkdir()
        make_example(starts["example"])
        shutil.copy(starts["example"] / "edges.csv", starts["tutorial"])
        for page in (TUTORIAL, *HOWTO, *OTHERS):
            if chosen and page not in chosen and page != TUTORIAL:
                continue
            folder = starts["tutorial"] if page in (TUTORIAL, *HOWTO) else starts["example"]
            if page != TUTORIAL:
                folder = Path(shutil.copytree(folder, Path(place, page.name)))
            print(page.relative_to(ROOT), flush=True)
            rewrite(page, folder)
    for notebook in NOTEBOOKS:
        if not chosen or notebook in chosen:
            print(notebook.relative_to(ROOT), flush=True)
            execute(notebook)


if __name__ == "__main__":
    os.environ.update(SURROUNDINGS)
    main([Path(name).resolve() for name in sys.argv[1:]])
