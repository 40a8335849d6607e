"""What all commands share: the application, options that come from configs, reading a file."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from tadge.cli.manners import GIVEN, command_class, warn, with_manners
from tadge.config import Option, options
from tadge.errors import visible
from tadge.io.options import ReadOptions

BAD_INPUT, INTERRUPTED = 2, 130
UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")

app = typer.Typer(
    name="tadge",
    help="Time-aware dynamic graph embedding: who will connect with whom, and after how long.",
    epilog="Start with: tadge info FILE, for any CSV of who, with whom, when. "
    "Then: tadge fit FILE --out model/ learns vectors and forecasts.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr, only warnings.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ...; CUDA where there is one.")]
Threads = Annotated[int | None, typer.Option(help="Threads to compute with; one per core by default.", min=1)]

Preset = Annotated[
    str | None,
    typer.Option(
        help="Settings of TADGE by name; flags beside it override it. paper: what the paper prints; tuned: ours for "
        "the paper's protocol. Sizes are the paper's for each of its data sets, for others those of the smallest.",
        autocompletion=lambda: ["paper", "tuned"],
    ),
]


def data_set_names() -> list[str]:
    """List the names of known data sets, for the shell to complete."""
    from tadge.datasets.registry import list_datasets

    return [dataset.name for dataset in list_datasets()]


EventsFile = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, TSV, SNAP text, JSON lines, Parquet, packed or not, or Excel; several, or a pattern in quotes, are "
        "one history; - for stdin; or a known data set's name.",
        autocompletion=data_set_names,
    ),
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
    shown, choices = option.default is not None, option.choices
    completion = (lambda: list(choices)) if choices else None
    return typer.Option(*names, help=words, show_default=shown, rich_help_panel=panel, autocompletion=completion)


def _parameter(option: Option, panel: str) -> inspect.Parameter:
    kind: Any = option.kind | None if option.optional else option.kind
    if option.kind is tuple:
        kind = tuple[(float,) * len(option.default)]  # type: ignore[misc]
    annotation, keyword = Annotated[kind, flag(option, panel)], inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, keyword, default=option.default, annotation=annotation)


def takes(**configs: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some configs; it receives each config, built and checked, by name.

    Where the command has a `preset`, options that the user did not write are as in that preset.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True).parameters.values()
        added = {name: [_parameter(one, PANELS[name]) for one in options(config)] for name, config in configs.items()}

        @wraps(command)
        def run(**given: Any) -> None:
            settings = _preset_settings(given["preset"], given["file"]) if given.get("preset") else {}
            given |= {name: value for name, value in settings.items() if name not in GIVEN.get()}
            for name, config in configs.items():
                given[name] = config(**{p.name: given.pop(p.name) for p in added[name]})
            command(**given)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in signature if p.name not in configs]
        parameters = [*keyword, *(p for group in added.values() for p in group)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _preset_settings(preset: str, files: Sequence[str]) -> dict[str, Any]:
    """Give the settings of a preset, at the paper's size for the data set where it is one of the paper's."""
    from tadge import datasets
    from tadge.embedding.presets import preset_settings

    paper_name = datasets.find(files[0]).paper_name if len(files) == 1 and is_known_data(files[0]) else None
    return preset_settings(preset, (paper_name or "transaction").lower())


def command(
    commands: typer.Typer = app, name: str | None = None, *, main: tuple[str, ...] = (), long: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the command line.

    Args:
        commands: the group that it is a command of.
        name: the function's own by default.
        main: the options that `--help` shows, where that is not all but those of configs; `--help-all` shows the rest.
        long: whether it may take long, so that `--log-every` makes sense.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        return commands.command(name, cls=command_class(main))(with_manners(function, long=long))

    return add


# -- input and output -------------------------------------------------------------------------------------------------


def read_graph(
    files: str | Sequence[str], reading: ReadOptions, quiet: bool, learned: Any = None
) -> tuple[Any, Any, int | None]:
    """Read files, or a known data set by its name; say on stderr what it is and what looks odd.

    Args:
        files: paths or patterns, which together are one history, or a name.
        reading: what is told about how to read it.
        quiet: only warnings.
        learned: the graph of a model: the file is read as that graph's was, as far as nothing else is told.

    Returns:
        The graph, the reader's report, and how many classes the nodes of a known data set have.
    """
    from tadge import datasets
    from tadge.io.readers import read_like, read_with_report
    from tadge.progress import Bars

    source, classes = [files] if isinstance(files, str) else list(files), None
    file = source[0]
    if len(source) == 1 and is_known_data(file):
        dataset = datasets.find(file)
        source, classes = [str(datasets.path(dataset))], dataset.classes
        given = {one.name for one in options(reading) if getattr(reading, one.name) != one.default}
        known: dict[str, Any] = {name: value for name, value in dataset.reader.items() if name not in given}
        reading = dataclasses.replace(reading, **known)

    def read() -> tuple[Any, Any]:
        if learned is None or learned.reading is None:
            return read_with_report(source, reading)
        return read_like(source, reading, learned.reading)

    with Bars(False if quiet else None).part(f"reading {visible(file)}"):
        graph, report = _heeding_interrupts(read)
    if not quiet:
        print(report.line(), file=sys.stderr)
        if learned is not None and learned.reading is not None:
            how = "as the model's file was" if graph.reading == learned.reading else "otherwise than the model's file"
            print(visible(f"{report.source}: read {how}"), file=sys.stderr)
    for warning in report.warnings:
        warn(warning)
    return graph, report, classes


def _heeding_interrupts(work: Callable[[], Any]) -> Any:
    """Do a piece of work in a thread of its own, so that Ctrl-C need not wait for compiled code to return."""
    from tadge.forecasting.side_by_side import side_by_side

    return side_by_side([(lambda report: work(), lambda done, total: None)], lambda: None)[0]


def is_known_data(name: str) -> bool:
    """Tell the name of a known data set from that of a file."""
    from tadge import datasets

    return os.sep not in name and not Path(name).exists() and datasets.is_known(name)


def use_threads(threads: int | None) -> None:
    """Let torch compute with so many threads; as many as there are cores by default."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout; what a terminal would obey is written as JSON's own escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    print(UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text))


def names_of(value: str) -> list[str]:
    """Split a string at its commas."""
    return [name for part in value.split(",") if (name := part.strip())]
