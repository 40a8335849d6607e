"""Where worlds are asked: each in a process that has seen no other, or all in this one.

In a fresh process nothing of another world is left: no global variable, no cache of a function, no object that was
thrown away. The graph of the question is the only one there but for what the method keeps itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Protocol

from tadge.auditing.asking import Asker
from tadge.auditing.serving import BEGIN, END, Answers, Modules, Reply, Task, answer_all, receive, send
from tadge.errors import InputError, TadgeError
from tadge.graph.graph import TemporalGraph

START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from tadge.auditing.serving import main; main()"
MANY_CUTS = 50  # from which on it pays to load all compiled loops before the first world
IN_THIS_PROCESS = (
    "asked in this process: what it keeps in a module, in the cache of a function or in a file can hide that it looks "
    "ahead"
)


class Worlds(Protocol):
    """Opens worlds, one after the other; each is a function that asks a method a task."""

    notes: list[str]
    shared_files: dict[str, None]  # that were written in one world and read in another

    def world(self) -> Any:
        """Give a context in which a method answers that knows of no other world."""

    def close(self) -> None:
        """End whatever was started."""


class SameProcess:
    """Ask copies of a method in this process: one copy for each world; graphs need no copy."""

    def __init__(self, method: Any, asker: Asker) -> None:
        self.method, self.asker = method, asker
        self.notes = [IN_THIS_PROCESS]
        self.shared_files: dict[str, None] = {}

    @contextmanager
    def world(self) -> Iterator[Any]:
        """Give a function that asks a copy of the method."""
        twin = self._twin()
        yield lambda task: answer_all(self.asker, twin, task)

    def close(self) -> None:
        """Do nothing: nothing was started."""

    def _twin(self) -> Any:
        attributes = getattr(self.method, "__dict__", {}).values()
        try:
            return deepcopy(self.method, {id(value): value for value in attributes if isinstance(value, TemporalGraph)})
        except MemoryError:
            raise
        except Exception:
            name = self.asker.name
            note = f"{name} cannot be copied: what it remembers from one world may hide a leak in another"
            if note not in self.notes:
                self.notes.append(note)
            return self.method


class FreshProcesses:
    """Ask a method in processes of their own, one for each world.

    Args:
        method: what is asked; it is sent over once, before it was asked anything.
        asker: how.
        seconds: how long one task may take.
        cuts: how many tasks each world has.
    """

    def __init__(self, method: Any, asker: Asker, seconds: float, cuts: int) -> None:
        self.method, self.asker, self.seconds, self.cuts = method, asker, seconds, cuts
        self.notes: list[str] = []
        self.shared_files: dict[str, None] = {}
        self._written: set[str] = set()  # in earlier worlds
        self._process: subprocess.Popen[bytes] | None = None
        self._start()  # complain before anything else is done

    @contextmanager
    def world(self) -> Iterator[Any]:
        """Give a function that asks the method in a process that has seen no other world."""
        if self._process is None:
            self._start()
        written: set[str] = set()
        self._send(BEGIN)
        try:
            yield lambda task: self._ask(task, written)
            if self._process is not None:
                self._send(END)
        except BaseException:
            self.close()
            raise
        finally:
            self._written |= written
            if not hasattr(os, "fork"):
                self.close()

    def close(self) -> None:
        """End the process and all that came out of it."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        _kill(process)
        process.wait()

    def _ask(self, task: Task, written: set[str]) -> Answers:
        """Ask one task; a process that does not answer is a complaint about every call of it."""
        if self._process is None:
            self._start()  # it died over an earlier task of this world
            self._send(BEGIN)
        process, late = self._process, threading.Event()
        assert process is not None

        def stop() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(self.seconds, stop)
        timer.start()
        try:
            self._send(task)
            reply: Reply = receive(process.stdout)  # type: ignore[arg-type]
        except (EOFError, OSError):
            self.close()
            found = f"no answer within {self.seconds:g} s" if late.is_set() else "its process died"
            cure = "raise time_limit" if late.is_set() else None
            where = self.asker.name
            return {
                call: InputError("cannot answer", found=found, cure=cure, where=f"{where}.{call}")
                for call in task.calls
            }
        finally:
            timer.cancel()
        self.shared_files |= dict.fromkeys(sorted(reply.read & self._written))
        written |= reply.written
        return reply.answers

    def _send(self, message: Any) -> None:
        send(self._process.stdin, message)  # type: ignore[arg-type, union-attr]

    def _start(self) -> None:
        """Start a process and send the method over."""
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch is not None else 0
        is_ours = any(kind.__module__.startswith("tadge.") for kind in type(self.method).__mro__)
        modules = Modules(_unknown_by_name(self.method), threads, is_ours or self.cuts >= MANY_CUTS)
        command = [sys.executable, "-c", START, json.dumps([str(Path(place).absolute()) for place in sys.path])]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            self._send(modules)
            self._send((self.method, self.asker))
            trouble = receive(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, BrokenPipeError):
            self.close()
            trouble = "its process died"
        except (TadgeError, MemoryError):
            self.close()
            raise
        except Exception as error:  # anything that a method's own way to be packed can raise
            self.close()
            trouble = f"{type(error).__name__}: {error}"
        if trouble:
            self.close()
            cure = (
                "put its class into a module of its own (a .py file) and import it from there; or say fresh=False: it "
                f"is then {IN_THIS_PROCESS}"
            )
            what = "the method cannot be sent to a fresh process"
            raise InputError(what, found=" ".join(trouble.split())[:200], cure=cure, where=self.asker.name)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that came out of it."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _unknown_by_name(method: Any) -> list[tuple[str, str]]:
    """List the modules of a method's classes that another process would not find by name, with their files."""
    files = {}
    for kind in reversed(type(method).__mro__):
        name = kind.__module__
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None or name == "__main__":
            continue
        spec = PathFinder.find_spec(name.partition(".")[0])
        if spec is None or ("." not in name and spec.origin != file):
            files[name] = str(Path(file).absolute())
    return list(files.items())
