"""The command line: one command is one public call.

Heavy imports stay inside the commands, so that help comes at once.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, NoReturn

import typer

from tadge.cli import run, files, synth  # noqa: F401 # isort: skip (commands come with them, in the order of the help)
from tadge.cli import learn, ask, understand, vectors, score, board, reproduce  # noqa: F401 # isort: skip
from tadge.cli.frame import BAD_INPUT, INTERRUPTED, app
from tadge.errors import TadgeError, bounded, visible


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
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        print("error: not enough memory; use a smaller file or a larger machine", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            _fail(error)
        print("error: stdout: cannot be written (no space left on the device)", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BAD_INPUT)
    except Exception as error:
        _fail(error)


def _fail(error: Exception) -> NoReturn:
    """End with one sentence about what nobody has foreseen; TADGE_DEBUG asks for all of it."""
    if os.environ.get("TADGE_DEBUG"):
        raise error
    words = bounded(visible(f"{type(error).__name__}: {error}"))
    print(f"error: something unforeseen ({words}); TADGE_DEBUG=1 shows where", file=sys.stderr)
    sys.exit(1)
