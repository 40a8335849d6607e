"""Manners of all commands: nothing is overwritten unasked, warnings and progress are lines, help is short at first."""

from __future__ import annotations

import inspect
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from tadge.cli.flags import in_flags, text_in_flags
from tadge.errors import InputError, TadgeError, TadgeWarning

FEW_NEED = {"before", "checkpoint_seconds", "device", "log_every", "quiet", "threads"}  # not in short help
WHOLE_HELP = "whole help"  # in the context's notes: all options are to be shown
SECONDS = 30.0
GIVEN: ContextVar[frozenset[str]] = ContextVar("given", default=frozenset())  # options that the user wrote, by name
FLAGS: ContextVar[Mapping[str, str]] = ContextVar("flags", default=MappingProxyType({}))  # of the command that runs

Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]
LogEvery = Annotated[
    float,
    typer.Option(help="Where stderr is no terminal: seconds between two lines that say how far it is.", min=0.01),
]


# -- what every command does ------------------------------------------------------------------------------------------


def with_manners(function: Callable[..., None], *, long: bool = False) -> Callable[..., None]:
    """Give a command what all have in common.

    One that writes a file, `out`, refuses a name that is taken, unless there is `--force`. Warnings are lines on
    stderr. Where nobody looks at it, lines of the log tell how far the work is, but for `--quiet`.

    Args:
        function: the command.
        long: whether it may take long: then there is `--log-every`.
    """
    parameters = dict(inspect.signature(function, eval_str=True).parameters)
    guards = "out" in parameters and "force" not in parameters
    added: dict[str, tuple[Any, Any]] = {"help_all": (_HelpAll, False)}
    if guards:
        added["force"] = Force, False
    if long:
        added["log_every"] = LogEvery, SECONDS
    for name, (annotation, default) in added.items():
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters[name] = inspect.Parameter(name, keyword, default=default, annotation=annotation)

    @wraps(function)
    def run(**given: Any) -> None:
        given.pop("help_all")
        force, log_every = given.pop("force") if guards else True, given.pop("log_every") if long else SECONDS
        if not force:
            check_unused(given["out"])
        with _warnings_as_lines(), _log_as_lines(bool(given.get("quiet")), log_every):
            function(**given)

    kinds = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters.values()]
    run.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in kinds}
    return run


def check_unused(path: Path | None) -> None:
    """Refuse a file that is there already."""
    if path is not None and path.is_file():
        cure = "say force=True to replace it, or choose another name"
        raise InputError("this file is there already", cure=cure, where=str(path))


def check_empty(folder: Path, force: bool) -> None:
    """Refuse a folder to write into that has something in it already, unless it is to be replaced."""
    if folder.is_file():
        raise InputError("this is not a folder", expected="the name of a folder to write to", where=str(folder))
    if not force and folder.is_dir() and any(folder.iterdir()):
        cure = "say force=True to replace what is in it, or choose another name"
        raise InputError("this folder is not empty", cure=cure, where=str(folder))


def warn(message: str) -> None:
    """Print a warning as a line on stderr; where it names arguments, the line names flags."""
    print(f"warning: {text_in_flags(message, FLAGS.get(), sys.argv[1:])}", file=sys.stderr)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings of tadge as lines on stderr, each once."""
    with warnings.catch_warnings():
        show, said = warnings.showwarning, set()

        def as_line(message: Any, category: Any, *place: Any) -> None:
            if not issubclass(category, TadgeWarning):
                show(message, category, *place)
            elif str(message) not in said:
                said.add(str(message))
                warn(str(message))

        warnings.simplefilter("always", TadgeWarning)
        warnings.filterwarnings("ignore", ".*beyond what could be checked")  # commands say it above their answers
        warnings.showwarning = as_line  # type: ignore[assignment]
        yield


@contextmanager
def _log_as_lines(quiet: bool, seconds: float) -> Iterator[None]:
    """Print what the library tells its log as lines on stderr, where no bars are shown there."""
    if quiet or sys.stderr is None:
        yield
        return
    from tadge.progress import Bars, is_seen

    if is_seen():
        yield
        return
    logger, every = logging.getLogger("tadge"), Bars.log_every
    handler, level = logging.StreamHandler(sys.stderr), logger.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    Bars.log_every = seconds
    try:
        yield
    finally:
        Bars.log_every = every
        logger.setLevel(level)
        logger.removeHandler(handler)


# -- help and errors --------------------------------------------------------------------------------------------------


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[WHOLE_HELP] = True
        print(ctx.get_help(), end="")
        raise typer.Exit


_HelpAll = Annotated[
    bool, typer.Option("--help-all", help="Show all options and exit.", is_eager=True, callback=_show_all)
]


class MannerlyCommand(TyperCommand):
    """A command with short help, whose errors name its flags where Python would name arguments.

    Attributes:
        common: the options that short help shows; empty: all but those of configs and those that few need.
    """

    common: tuple[str, ...] = ()

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        names = {parameter.name: parameter.opts[0] for parameter in self.params if parameter.name is not None}
        flags = {name: flag for name, flag in names.items() if flag.startswith("--")}
        written = (name for name in names if not ctx.get_parameter_source(name).name.startswith("DEFAULT"))
        token, given = FLAGS.set(flags), GIVEN.set(frozenset(written))
        try:
            return super().invoke(ctx)
        except TadgeError as error:
            raise in_flags(error, flags, sys.argv[1:]) from error
        finally:
            FLAGS.reset(token)
            GIVEN.reset(given)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write help: the options that most people need, or all."""
        rest = [] if ctx.meta.get(WHOLE_HELP) else [one for one in self.params if self._is_for_few(one)]
        epilog = self.epilog
        try:
            for parameter in rest:
                parameter.hidden = True  # type: ignore[attr-defined]
            if rest:
                self.epilog = f"{len(rest)} more options: {ctx.command_path} --help-all"
            super().format_help(ctx, formatter)
        finally:
            self.epilog = epilog
            for parameter in rest:
                parameter.hidden = False  # type: ignore[attr-defined]

    def _is_for_few(self, parameter: Any) -> bool:
        if not isinstance(parameter, TyperOption) or parameter.hidden or parameter.name == "help_all":
            return False
        if self.common:
            return parameter.name not in self.common
        return parameter.name in FEW_NEED or parameter.rich_help_panel is not None


def command_class(common: tuple[str, ...]) -> type[MannerlyCommand]:
    """Give the class of a command whose short help shows these options."""
    return type("Command", (MannerlyCommand,), {"common": common})
