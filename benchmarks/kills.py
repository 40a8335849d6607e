"""Kill fit, walk, evaluate and run with SIGKILL, again and again, and go on: nothing may be lost, mixed or left behind.

Each run is a real command in a process of its own. It is killed at a random moment, or right before the n-th call that
brings bytes to the disk or gives a file its name, the first time half-way: so many fall into a save, some into the very
last one. After every
kill what is in the folder must load, and be as it was before the run or as it is after it. `--resume` (for `fit
--force` and `run --force` too) must then end in the bytes of a run that was never killed, with no other file left.

    python benchmarks/kills.py --kills 100 [--only fit,walk]

tests/cli/test_kills.py is a short form of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch._dynamo  # the optimiser's: it takes long to load, and is loaded once, before the children

import tadge.cli
import tadge.cli.fitting
import tadge.evaluation.run
import tadge.io.readers
import tadge.report.evaluate
import tadge.report.fit
import tadge.running.pipeline
import tadge.walks.store
from tadge import TADGE, Forecaster, sample_walks, synthetic
from tadge.graph.chains import chains_of
from tadge.running.folder import RECORD, read_record
from tadge.storage.folder import has_folder, read_folder

torch.set_num_threads(1)
MODEL = "--num-walks 150 --min-length 2 --max-length 4 --dim 8 --heads 1 --blocks 1 --batch-size 60 --window 5".split()
MODEL += "--window-step 4 --init random --precision float32 --threads 1 --steps 4 --batch-events 16 --trees 2".split()
FIT = ["--quiet", *MODEL, "--epochs", "3", "--checkpoint-seconds", "0"]
WALK, WALKS_PER_PART = "--quiet --num-walks 400000 --min-length 2 --max-length 3".split(), 40
EVALUATE = ["--quiet", *MODEL, *"--epochs 1 --tasks toe --methods mean --no-control --seeds 2".split()]
RUN = "--quiet --budget 1s --steps 4 --batch-events 16 --trees 2".split()
DISK_CALLS = ("fsync", "replace", "rename", "unlink", "rmdir", "link")
OF_THE_MOMENT = ("seconds", "times", "walks_per_second", "peak_memory_mb", "digest", "memory", "began", "cpu_seconds")
OF_THE_MOMENT += ("expected_memory_mb", "version")  # of a repository: with its commit


class Case(NamedTuple):
    """Hold one command to kill.

    Attributes:
        name: of the row.
        out: the name of what it writes.
        command: its arguments, but for `--out`.
        before: what makes the place before the first run, from its path.
        how: gives the arguments of the next run, from what is in the place.
        check: looks at the place after a kill: complains where something is lost or mixed; tells whether there is a
            beginning to go on from.
    """

    name: str
    out: str
    command: list[str]
    before: Callable[[Path], object]
    how: Callable[[Path], list[str]]
    check: Callable[[Path], bool]


# -- one run ----------------------------------------------------------------------------------------------------------


def run(arguments: list[str], delay: float | None = None, calls: int | None = None) -> tuple[int, int]:
    """Run a command in a child, killed after a time or right before a call to the disk: exit code, calls made."""
    seen, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(arguments, calls, tell)
    os.close(tell)
    if delay is not None:
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(seen, "rb") as stream:
        made = len(stream.read())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), made


def _child(arguments: list[str], calls: int | None, tell: int) -> None:
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    count = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            os.write(tell, b".")
            if count == calls:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **options)

        return call

    for name in DISK_CALLS:
        setattr(os, name, counted(getattr(os, name)))
    sys.argv = ["tadge", *arguments]
    code: Any = 70
    try:
        tadge.cli.main()
    except SystemExit as done:
        code = done.code or 0
    finally:
        os._exit(code)


# -- what is there ----------------------------------------------------------------------------------------------------


def files(folder: Path) -> dict[str, bytes]:
    """Read all files in a folder, by name; of JSON that holds times and memory, what does not depend on them."""
    return {str(path.relative_to(folder)): _plain(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def _plain(path: Path) -> bytes:
    if path.suffix != ".json":
        return path.read_bytes() if path.suffix not in (".npz", ".html") else b""  # these hold the seconds that it took

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without(inner) for name, inner in value.items() if name not in OF_THE_MOMENT}
        return [without(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(without(json.loads(path.read_text())), sort_keys=True).encode()


def models(place: Path) -> set[str]:
    """Load whichever models a folder holds: the graphs that they have learned from."""
    graphs = set()
    for kind in (Forecaster, TADGE):
        try:
            graphs.add(kind.load(place).graph_.fingerprint)
        except tadge.InputError as error:
            missing = ("there is no", "not a folder of")
            if not any(words in str(error) for words in missing):
                raise
    return graphs


# -- all runs of a case -----------------------------------------------------------------------------------------------


def kill_again_and_again(case: Case, folder: Path, kills: int, chance: random.Random) -> Counter[str]:
    """Kill a command until there were enough kills; count kills and what was wrong after them."""
    tally: Counter[str] = Counter()
    whole, place = _prepared(case, folder / "whole"), folder / "cut" / case.out
    began = time.monotonic()
    code, calls = _run_on(case, whole)
    length, expected = time.monotonic() - began, files(whole.parent)
    if code != 0:
        raise SystemExit(f"{case.name}: exit code {code} without a kill")
    while tally["kills"] < kills:
        shutil.rmtree(place.parent, ignore_errors=True)
        _prepared(case, place.parent)
        for _ in range(chance.randint(1, 4)):
            late = max(1, calls - chance.randint(0, 25))
            ways = {"delay": chance.uniform(0, length)}, {"calls": chance.randint(1, calls)}, {"calls": late}
            how: dict[str, Any] = chance.choice(ways) if tally["kills"] else {"calls": calls // 2}
            if _run_on(case, place, **how)[0] != -signal.SIGKILL:
                break
            tally["kills"] += 1
            tally["at a call to the disk"] += "calls" in how
            tally[_found(case, place)] += 1
        code, _ = _run_on(case, place)
        tally["runs"] += 1
        tally["ended otherwise"] += code != 0
        found = files(place.parent)
        differing = [name for name in sorted(found.keys() | expected) if found.get(name) != expected.get(name)]
        tally["other bytes or files"] += bool(differing)
        if differing:
            print(f"{case.name}: differs in {', '.join(differing)}", file=sys.stderr)
    return tally


def _prepared(case: Case, folder: Path) -> Path:
    folder.mkdir(parents=True)
    case.before(folder / case.out)
    return folder / case.out


def _run_on(case: Case, place: Path, **how: Any) -> tuple[int, int]:
    return run([*case.command, "--out", str(place), *case.how(place)], **how)


def _found(case: Case, place: Path) -> str:
    """Look at what a kill has left."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "with a beginning" if case.check(place) else "without one"
    except Exception as error:
        print(f"{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return "lost or mixed"


def _is_run_of(place: Path, graph: str) -> bool:
    return (place / RECORD).exists() and read_record(place)["graph"] == graph


def cases(folder: Path) -> list[Case]:
    """List the commands that are killed."""
    for name, seed in (("old", "1"), ("new", "0")):  # in children: polars' threads do not outlive a fork
        made = ["synth", "--events", "400", "--seed", seed, "--out", str(folder / f"{name}.csv")]
        if run(made)[0] != 0:
            raise SystemExit("no events")
    fit, runs = ["fit", str(folder / "new.csv"), *FIT], ["run", str(folder / "new.csv"), *RUN]

    @cache
    def former(name: str, *options: str) -> Path:
        """Make what is to be replaced, of the old events."""
        place = folder / f"former {name}"
        if run([name, str(folder / "old.csv"), *options, "--out", str(place)])[0] != 0:
            raise SystemExit(f"no {name} to replace")
        return place

    def resume(place: Path) -> list[str]:
        return ["--resume"]

    def force(place: Path) -> list[str]:
        """Go on where a run has begun, or is over."""
        begun, old = place / ".new", models(former("fit", *FIT))
        return ["--resume"] if begun.exists() or models(place) != old else ["--force"]

    def whole(place: Path) -> bool:
        """Load what is there; a checkpoint that is not whole is complained about too."""
        models(place)
        return has_folder(place, "checkpoint") and bool(read_folder(place, "checkpoint"))

    def one_of_two(place: Path) -> bool:
        loaded = [kind.load(place).graph_.fingerprint for kind in (Forecaster, TADGE)]
        if loaded[0] != loaded[1]:
            raise ValueError("models of two graphs")
        return whole(place / ".new")

    def readable(place: Path) -> bool:
        for path in [place, *Path(f"{place}.parts").glob("part-*.parquet")]:
            if path.exists() and path.read_bytes()[-4:] != b"PAR1":  # the last bytes of a whole file
                raise ValueError(f"{path}: not whole")
        return Path(f"{place}.parts", "state.json").exists()

    def results(place: Path) -> bool:
        return bool([tadge.Result.from_json(path) for path in place.rglob("*-seed*.json")])

    def force_run(place: Path) -> list[str]:
        """Go on where a run has begun beside the old one, or has taken its place."""
        begun, old = place.with_name(f".{place.name}.new") / RECORD, read_record(former("run", *RUN))["graph"]
        return ["--resume"] if begun.exists() or not _is_run_of(place, old) else ["--force"]

    def one_run(place: Path) -> bool:
        """Look for a finished run: in its place, or between two renamings in that of the old one."""
        there = place if (place / RECORD).exists() else place.with_name(f".{place.name}.old")
        if not read_record(there)["finished"] or not models(there / "model"):
            raise ValueError("no whole run")
        return (place.with_name(f".{place.name}.new") / RECORD).exists()

    def nothing(place: Path) -> None:
        pass

    walk, evaluate = (["walk", str(folder / "new.csv"), *WALK], ["evaluate", str(folder / "new.csv"), *EVALUATE])
    return [
        Case("fit", "model", fit, nothing, resume, whole),
        Case("fit --force", "model", fit, lambda place: shutil.copytree(former("fit", *FIT), place), force, one_of_two),
        Case("walk", "walks.parquet", walk, nothing, resume, readable),
        Case("evaluate", "results", evaluate, nothing, resume, results),
        Case(
            *("run --force", "run", runs),
            lambda place: shutil.copytree(former("run", *RUN), place),
            *(force_run, one_run),
        ),
    ]


def main() -> None:
    """Print a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100, help="how many, of all commands together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of commands, with commas")
    given = parser.parse_args()
    small = synthetic.forum(200).graph  # compiled code is loaded once, before the children
    sample_walks(small, tadge.WalkConfig(min_length=2, max_length=4), threads=1)
    chains_of(small)
    tadge.walks.store.write_walks = partial(tadge.walks.store.write_walks, chunk=WALKS_PER_PART)  # several parts
    chance, wrong = random.Random(given.seed), 0
    faults = ("lost or mixed", "ended otherwise", "other bytes or files")
    columns = ("kills", "at a call to the disk", "with a beginning", "runs", *faults)
    print(f"{'command':12}" + "".join(f"{name:>23}" for name in columns))
    with tempfile.TemporaryDirectory() as place:
        listed = [case for case in cases(Path(place)) if not given.only or case.name in given.only.split(",")]
        for number, case in enumerate(listed):
            kills = given.kills // len(listed) + (number < given.kills % len(listed))
            tally = kill_again_and_again(case, Path(place) / case.name.replace(" ", ""), kills, chance)
            print(f"{case.name:12}" + "".join(f"{tally[name]:>23,}" for name in columns), flush=True)
            wrong += sum(tally[name] for name in faults)
    print(f"wrong in all: {wrong} (expected: 0)")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
