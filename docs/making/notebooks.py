"""Run the cells of notebooks as plain Python, in a folder of their own; a notebook keeps what its cells give."""

from __future__ import annotations

import ast
import json
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """List the cells of code of a notebook."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, object]) -> list[dict[str, Any]]:
    """Run a cell; give its outputs as a notebook keeps them: what it prints, and what its last line is."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out, value = StringIO(), None
    with redirect_stdout(out):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if out.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": out.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": 0, "metadata": {}, "output_type": "execute_result"})
    return outputs


def run_notebook(path: Path) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """Run a notebook in an empty folder; give it as it is, and the outputs of its cells of code as they come out."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "notebook"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        outputs = [run_cell("".join(cell["source"]), names) for cell in code_cells(notebook)]
    return notebook, outputs


def plain(outputs: list[dict[str, Any]]) -> list[str]:
    """Give outputs as people read them: the text of each."""
    return ["".join(one.get("text") or one["data"]["text/plain"]) for one in outputs]


def execute(path: Path) -> None:
    """Run a notebook, and write its outputs down in it."""
    notebook, outputs = run_notebook(path)
    for count, (cell, given) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
        for one in given:
            if "execution_count" in one:
                one["execution_count"] = count
        cell |= {"execution_count": count, "outputs": given}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
