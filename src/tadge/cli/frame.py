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
from typer.core import TyperCommand

from tadge.cli.flags import in_flags
from tadge.config import Option, options
from tadge.errors import TadgeError
from tadge.io.options import ReadOptions

BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    name="tadge",
    help="Time-aware dynamic graph embedding: who will connect with whom, and after how long.",
    epilog="Start with: tadge info FILE, for any CSV of who, with whom, when. "
    "Then: tadge fit FILE --out model/ learns vectors and forecasts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr, only warnings.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ...; CUDA where there is one.")]
Threads = Annotated[int | None, typer.Option(help="Threads to compute with; one per core by default.", min=1)]
EventsFile = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, TSV, SNAP text, JSON lines or Parquet; or a known data set's name.")
]


# -- options that are written once, as fields of a config -------------------------------------------------------------


PANELS = {
    "reading": "How to read the file",
    "walking": "Walks",
    "network": "TADGE: network",
    "training": "TADGE: training",
    "forecasting": "Forecaster",
    "auditing": "How to audit",
}


def flag(option: Option, panel: str | None = None) -> Any:
    """Describe an option to the command line; its default, `option.default`, is given where this is used."""
    name = "--" + option.name.replace("_", "-")
    names = [f"{name}/--no-{name[2:]}"] if option.kind is bool else [name]
    words = option.help[0].upper() + option.help[1:] + "."
    if option.choices:
        words += f" One of: {', '.join(option.choices)}."
    return typer.Option(*names, help=words, show_default=option.default is not None, rich_help_panel=panel)


def _parameter(option: Option, panel: str) -> inspect.Parameter:
    kind: Any = option.kind | None if option.optional else option.kind
    if option.kind is tuple:
        kind = tuple[(float,) * len(option.default)]  # type: ignore[misc]
    annotation, keyword = Annotated[kind, flag(option, panel)], inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, keyword, default=option.default, annotation=annotation)


def takes(**configs: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some configs; it receives each config, built and checked, by name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True).parameters.values()
        added = {name: [_parameter(one, PANELS[name]) for one in options(config)] for name, config in configs.items()}

        @wraps(command)
        def run(**given: Any) -> None:
            for name, config in configs.items():
                given[name] = config(**{p.name: given.pop(p.name) for p in added[name]})
            command(**given)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature if p.name not in configs]
        parameters = [*keyword, *(p for group in added.values() for p in group)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


class _Command(TyperCommand):
    """A command whose errors name its flags, where Python would name arguments."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except TadgeError as error:
            names = {parameter.name: parameter.opts[0] for parameter in self.params if parameter.name is not None}
            raise in_flags(error, {name: flag for name, flag in names.items() if flag.startswith("--")}) from error


def command(
    commands: typer.Typer = app, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the command line, under its own name by default."""
    return commands.command(name, cls=_Command)


# -- input and output -------------------------------------------------------------------------------------------------


def read_graph(file: str, reading: ReadOptions, quiet: bool) -> tuple[Any, Any, int | None]:
    """Read a file, or a known data set by its name; say on stderr what it is and what looks odd.

    Returns:
        The graph, the reader's report, and how many classes the nodes of a known data set have.
    """
    from tadge import datasets
    from tadge.io.readers import read_with_report

    path, classes = Path(file), None
    if not path.exists() and os.sep not in file and datasets.is_known(file):
        dataset = datasets.find(file)
        path, classes = datasets.path(dataset), dataset.classes
        given = {one.name for one in options(reading) if getattr(reading, one.name) != one.default}
        known: dict[str, Any] = {name: value for name, value in dataset.reader.items() if name not in given}
        reading = dataclasses.replace(reading, **known)
    graph, report = read_with_report(path, reading)
    if not quiet:
        print(report.line(), file=sys.stderr)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return graph, report, classes


def use_threads(threads: int | None) -> None:
    """Let torch compute with so many threads; as many as there are cores by default."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def moment_of(value: str | None) -> float | str | None:
    """Take a number as a number, anything else as a date."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return value


def names_of(value: str) -> list[str]:
    """Split a string at its commas."""
    return [name for part in value.split(",") if (name := part.strip())]
