"""What all commands share: the application, options that come from configs, reading a file."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from tadge.config import Option, options
from tadge.io.options import ReadOptions

BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    name="tadge",
    help="Time-aware dynamic graph embedding: who will connect with whom, and after how long.",
    epilog="Start with: tadge info FILE, for any CSV of who, with whom, when.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not say on stderr what was found.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ...; CUDA where there is one.")]
Threads = Annotated[int | None, typer.Option(help="Threads to compute with; one per core by default.", min=1)]
EventsFile = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, TSV, SNAP text, JSON lines or Parquet; or a known data set's name.")
]


# -- options that are written once, as fields of a config -------------------------------------------------------------


PANELS = {
    "reading": "How to read the file",
    "walking": "How to walk",
    "network": "The network",
    "training": "How to train",
}


def _parameter(one: Option, panel: str) -> inspect.Parameter:
    flag = "--" + one.name.replace("_", "-")
    flags = [f"{flag}/--no-{flag[2:]}"] if one.kind is bool else [flag]
    words = one.help[0].upper() + one.help[1:] + "."
    if one.choices:
        words += f" One of: {', '.join(one.choices)}."
    kind: Any = one.kind | None if one.optional else one.kind
    if one.kind is tuple:
        kind = tuple[(float,) * len(one.default)]  # type: ignore[misc]
    shown = typer.Option(*flags, help=words, show_default=one.default is not None, rich_help_panel=panel)
    annotation = Annotated[kind, shown]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=annotation)


def takes(**configs: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some configs; it receives each config, built and checked, by name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name not in configs]
        added = {name: [_parameter(one, PANELS[name]) for one in options(config)] for name, config in configs.items()}

        @wraps(command)
        def run(**given: Any) -> None:
            for name, config in configs.items():
                given[name] = config(**{p.name: given.pop(p.name) for p in added[name]})
            command(**given)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        parameters = [*keyword, *(p for group in added.values() for p in group)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


# -- questions and answers --------------------------------------------------------------------------------------------


def read_graph(file: str, reading: ReadOptions, quiet: bool) -> tuple[Any, Any, int | None]:
    """Read a file, or a known data set by its name; tell on stderr what was found."""
    from tadge import datasets
    from tadge.io.readers import read_with_report

    path, classes = Path(file), None
    if not path.exists() and os.sep not in file and datasets.is_known(file):
        dataset = datasets.find(file)
        path, classes = datasets.path(dataset), dataset.classes
        told = {one.name for one in options(reading) if getattr(reading, one.name) != one.default}
        known: dict[str, Any] = {name: value for name, value in dataset.reader.items() if name not in told}
        reading = dataclasses.replace(reading, **known)
    graph, report = read_with_report(path, reading)
    if not quiet:
        print(report.line(), file=sys.stderr)
    return graph, report, classes


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def moment_of(text: str | None) -> float | str | None:
    """Take a number as a number, anything else as a date."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def names_of(text: str) -> list[str]:
    """Take a text with commas apart."""
    return [name for part in text.split(",") if (name := part.strip())]
