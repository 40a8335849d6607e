"""The command line: one command is one public call.

Heavy imports stay inside the commands, so that help comes at once.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import Annotated, NoReturn

import typer

from tadge.cli import run, files, synth  # noqa: F401 # isort: skip (commands come with them, in the order of the help)
from tadge.cli import learn, ask, understand, vectors, score, board, reproduce  # noqa: F401 # isort: skip
from tadge.cli.frame import BAD_INPUT, INTERRUPTED, app
from tadge.errors import InputError, TadgeError, bounded, visible
from tadge.storage.atomic import disk_trouble, system_number


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tadge {version('tadge')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; one sentence and exit code 2 for bad input, 130 for Ctrl-C, never a traceback."""
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where a full disk gets its sentence
    except TadgeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except MemoryError:
        print("error: not enough memory; use a smaller file or a larger machine", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        if system_number(error) == errno.EPIPE:  # the reader of our output went away
            _silence()
            sys.exit(0)
        trouble = disk_trouble(error)
        if trouble is None:
            _fail(error)
        print(f"error: {_unwritten(error, trouble)}", file=sys.stderr)
        _silence()
        sys.exit(BAD_INPUT)


def _silence() -> None:
    """Let nothing more be written to stdout, as Python would when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unwritten(error: Exception, trouble: OSError) -> InputError:
    """Say what a disk has no room for, where it is none of the files that were asked for."""
    what = f"cannot be written ({trouble.strerror})"
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == "numba.core.caching":
            cure = "make room, or name a folder that has room in NUMBA_CACHE_DIR"
            return InputError(what, cure=cure, where="compiled code")
    return InputError(what, where="stdout")


def _fail(error: Exception) -> NoReturn:
    """End with one sentence about what nobody has foreseen; TADGE_DEBUG asks for all of it."""
    if os.environ.get("TADGE_DEBUG"):
        raise error
    words = bounded(visible(f"{type(error).__name__}: {error}"))
    print(f"error: something unforeseen ({words}); TADGE_DEBUG=1 shows where", file=sys.stderr)
    sys.exit(1)
