"""Silence for panics of packages written in Rust, which print pages on stderr before they become errors."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2


def is_panic(error: BaseException) -> bool:
    """Tell a panic, which is no `Exception`, from what else ends a program."""
    return type(error).__name__ == "PanicException"


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold back what is written to stderr in the block: it is dropped where the block panics, else shown after it."""
    try:
        terminal = os.dup(STDERR)
    except OSError:  # there is no stderr
        yield
        return
    with tempfile.TemporaryFile() as held:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(held.fileno(), STDERR)
        panicked = False
        try:
            yield
        except BaseException as error:
            panicked = is_panic(error)
            raise
        finally:
            os.dup2(terminal, STDERR)
            os.close(terminal)
            held.seek(0)
            if not panicked and (text := held.read()):
                os.write(STDERR, text)
