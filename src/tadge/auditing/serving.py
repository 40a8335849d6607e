"""What runs in a process of its own: it is sent a method, then worlds to ask it in, and knows nothing else.

The process that starts it writes messages to its standard input and reads replies from its standard output, one after
the other. First comes a `Method`, then for each world `BEGIN`, any number of `Task`s and `END`. Where the system can
fork, every world has a process of its own that comes out of this one before the method was asked anything.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from dataclasses import dataclass, field, replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from tadge.auditing.answers import Answer
from tadge.auditing.asking import Asker
from tadge.auditing.worlds import Questions
from tadge.errors import InputError, TadgeError
from tadge.graph.graph import TemporalGraph

BEGIN, END = "begin a world", "end it"
LENGTH = 8  # bytes that say how long a message is
NOT_STATE = (".pyc", ".nbi", ".nbc", ".so")  # files of compiled code

Answers = dict[str, Answer | TadgeError]


class PlainPickler(ForkingPickler):
    """Copy whatever is sent; torch would share the memory of tensors, through which worlds could talk."""

    _extra_reducers: dict[type, Any] = {}  # noqa: RUF012


@dataclass(frozen=True, eq=False)
class Modules:
    """Hold what must be there before a method can be unpacked.

    Attributes:
        files: names of modules that cannot be imported by name, with the files that they are in.
        threads: how many torch works with; 0 where it is not loaded.
        compiled: load compiled loops once, before worlds are made: it takes seconds, which a long audit saves again.
    """

    files: list[tuple[str, str]]
    threads: int
    compiled: bool


@dataclass(frozen=True, eq=False)
class Task:
    """Hold what is asked at one cut: which calls, in which graph, which questions."""

    calls: list[str]
    graph: TemporalGraph
    questions: Questions


@dataclass(frozen=True, eq=False)
class Reply:
    """Hold the answers to a task, and the files that were written and read meanwhile."""

    answers: Answers
    written: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)


# -- messages ---------------------------------------------------------------------------------------------------------


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message."""
    content = memoryview(PlainPickler.dumps(message))
    stream.write(content.nbytes.to_bytes(LENGTH, "little"))
    stream.write(content)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; an EOFError where the other end is gone."""
    size = int.from_bytes(_exactly(stream, LENGTH), "little")
    return ForkingPickler.loads(_exactly(stream, size))


def _exactly(stream: BinaryIO, size: int) -> bytearray:
    content = bytearray(size)
    view, have = memoryview(content), 0
    while have < size:
        count = stream.readinto(view[have:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        have += count
    return content


# -- the other end ----------------------------------------------------------------------------------------------------


def answer_all(asker: Asker, method: Any, task: Task) -> Answers:
    """Ask every call of a task; what goes wrong in one is its answer."""
    answers: Answers = {}
    for call in task.calls:
        try:
            answers[call] = asker.ask(method, call, task.graph, task.questions)
        except TadgeError as error:
            answers[call] = error
    return answers


def main() -> None:
    """Serve the process that started this one until it closes the line."""
    with contextlib.suppress(EOFError, BrokenPipeError):
        _serve(*_streams())


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the line for messages: what a method prints goes to stderr, and there is nothing for it to read."""
    lines = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(lines[0], "rb", buffering=0), os.fdopen(lines[1], "wb", buffering=0)


def _serve(inward: BinaryIO, outward: BinaryIO) -> None:
    outward = _Whole(outward)  # type: ignore[assignment]
    modules = receive(inward)
    try:
        for name, file in modules.files:
            _load(name, file)
        method, asker = receive(inward)
        _prepare(modules)
    except EOFError:
        raise
    except BaseException as error:
        send(outward, f"{type(error).__name__}: {error}")
        return
    send(outward, "")
    while receive(inward) == BEGIN:
        if not hasattr(os, "fork"):
            _world(inward, outward, method, asker)
            return
        child = os.fork()
        if not child:
            _leave(lambda: _world(inward, outward, method, asker))
        if os.waitpid(child, 0)[1]:
            return  # it was killed: the other end sees the line close


def _prepare(modules: Modules) -> None:
    """Do once what every world would do first: set the number of threads, and load loops that were compiled before."""
    if modules.threads:
        os.environ["OMP_NUM_THREADS"] = str(modules.threads)  # where torch comes in later
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(modules.threads)
    _ = TemporalGraph.from_arrays([0], [1], [0.0], unit="days").degree  # numba takes its time over the first loop
    if modules.compiled:
        from numba.core.dispatcher import Dispatcher

        rooms = [module for name, module in sys.modules.items() if name.startswith("tadge.")]
        for loop in [value for room in rooms for value in vars(room).values() if isinstance(value, Dispatcher)]:
            with contextlib.suppress(Exception):  # numba's own affair: without it, each world loads what it needs
                for signature, *_ in loop._cache._cache_file._load_index():  # type: ignore[attr-defined]
                    loop.compile(signature)


def _leave(work: Any) -> NoReturn:
    """Do some work and leave at once, as a fork has to."""
    code = 1
    try:
        work()
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class _Whole:
    """Write all of what is given to a raw stream, which may take less at a time."""

    def __init__(self, raw: BinaryIO) -> None:
        self.raw = raw

    def write(self, content: Any) -> None:
        view = memoryview(content)
        while view.nbytes:
            view = view[self.raw.write(view) :]

    def flush(self) -> None:
        """Do nothing: a raw stream keeps nothing back."""


def _world(inward: BinaryIO, outward: BinaryIO, method: Any, asker: Asker) -> None:
    """Ask the method one task after the other in one world."""
    watch = FileWatch()
    sys.addaudithook(watch)
    while isinstance(task := receive(inward), Task):
        task = replace(task, graph=replace(task.graph))  # its arrays cannot be written to, as everywhere
        watch.begin()
        try:
            answers = answer_all(asker, method, task)
        except MemoryError:
            answers = {call: InputError("not enough memory", where=f"{asker.name}.{call}") for call in task.calls}
        send(outward, Reply(answers, *watch.end()))


def _load(name: str, file: str) -> None:
    """Execute a file as the module of this name, as the process that started this one did."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"no Python code in {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


class FileWatch:
    """Take note of the files that Python code opens while a method answers; see `sys.addaudithook`."""

    def __init__(self) -> None:
        self.on = False
        self.written: set[str] = set()
        self.read: set[str] = set()

    def begin(self) -> None:
        """Take note from now on."""
        self.written, self.read, self.on = set(), set(), True

    def end(self) -> tuple[set[str], set[str]]:
        """Give what was written and what was read since `begin`, as absolute paths."""
        self.on = False
        return self.written, self.read

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of one event, as Python tells of it."""
        if not self.on:
            return
        if event == "open":
            path, _, flags = arguments
            how = flags & (os.O_WRONLY | os.O_RDWR) if isinstance(flags, int) else os.O_RDONLY
            self._note(path, reads=how != os.O_WRONLY, writes=how != os.O_RDONLY)
        elif event == "os.rename":
            self._note(arguments[1], reads=False, writes=True)
        elif event == "sqlite3.connect":
            self._note(arguments[0], reads=True, writes=True)

    def _note(self, path: Any, *, reads: bool, writes: bool) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # a number: it was opened before
        name = str(Path(os.fsdecode(path)).resolve())
        if name.endswith(NOT_STATE) or name.startswith(("/dev/", "/proc/", "/sys/")):
            return
        if writes:
            self.written.add(name)
        if reads:
            self.read.add(name)
