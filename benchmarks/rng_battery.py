"""Put the counter-based generator of the walks through dieharder: python benchmarks/rng_battery.py [--quick].

The numbers go to dieharder's standard input as raw bits, in the orders in which they are used:
  walk   walk by walk, ten draws each, as one walker sees them
  step   the first draw of every walk, then the second of every walk, ..., as walkers side by side see them
  seed   the first draws of seed 0, 1, 2, ...: neighbouring seeds must have nothing in common
A test fails where dieharder says FAILED (p below 1e-6 or above 1 - 1e-6). WEAK (p outside 0.005 .. 0.995) is expected
about once in a hundred p-values, so a weak test is run again on two other seeds, and fails where it is weak on both.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import threading
import time
from typing import Any

import numba
import numpy as np

from tadge.seeding import draw, stream, walk_key

DRAWS = 10
BLOCK = 1 << 16
ORDERS = ("walk", "step", "seed")
QUICK = [0, 1, 2, 3, 8, 10, 15, 100, 101, 102]


@numba.njit(cache=True)
def fill_walks(key: Any, first: int, out: Any) -> None:
    """Fill (walks, draws) with the draws of consecutive walks."""
    for walk in range(out.shape[0]):
        of_walk = walk_key(key, first + walk)
        for count in range(out.shape[1]):
            out[walk, count] = draw(of_walk, count)


@numba.njit(cache=True)
def fill_one_draw(key: Any, first: int, count: int, out: Any) -> None:
    """Fill (walks,) with one draw of consecutive walks."""
    for walk in range(out.size):
        out[walk] = draw(walk_key(key, first + walk), count)


def numbers(order: str, seed: int) -> Any:
    """Yield raw blocks for ever."""
    if order == "walk":
        rows = np.empty((BLOCK, DRAWS), np.uint64)
        first = 0
        while True:
            fill_walks(stream(seed, "walks"), first, rows)
            first += BLOCK
            yield rows.tobytes()
    flat = np.empty(BLOCK * DRAWS, np.uint64)
    if order == "step":
        walks = 1 << 24
        start = 0
        while True:
            for count in range(DRAWS):
                for first in range(start, start + walks, flat.size):
                    fill_one_draw(stream(seed, "walks"), first, count, flat)
                    yield flat.tobytes()
            start += walks
    row = np.empty((256, DRAWS), np.uint64)
    while True:
        fill_walks(stream(seed, "walks"), 0, row)
        seed += 1
        yield row.tobytes()


def run(order: str, seed: int, test: list[str]) -> list[tuple[str, float, str]]:
    """Run some tests of dieharder on one order; return (name, p, verdict) of each."""
    command = ["dieharder", "-g", "200", "-c", ",", "-D", "test_name", "-D", "ntuple", "-D", "pvalues"]
    with subprocess.Popen(
        [*command, "-D", "assessment", *test], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def feed() -> None:
            try:
                for block in numbers(order, seed):
                    process.stdin.write(block)  # type: ignore[union-attr]
            except (BrokenPipeError, ValueError):
                return

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        text = process.stdout.read().decode()  # type: ignore[union-attr]
        process.wait()
        feeder.join()
    verdicts = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) >= 4 and cells[-1] in ("PASSED", "WEAK", "FAILED"):
            verdicts.append((f"{cells[0]}[{cells[1]}]", float(cells[2]), cells[-1]))
    return verdicts


def still_weak(order: str, seed: int, name: str) -> bool:
    """Run a weak test again on two other seeds; tell whether it is weak, or gave no answer, on both."""
    test, size = name.rstrip("]").split("[")
    verdicts = [run(order, seed + more, ["-d", test, "-n", size]) for more in (1, 2)]
    verdicts = [[v for v in found if v[0] == name] for found in verdicts]
    for more, found in enumerate(verdicts, 1):
        print(
            f"      again {name}, seed {seed + more}: {', '.join(f'p = {p:.3g} {verdict}' for _, p, verdict in found)}"
        )
    return all(not found or any(verdict != "PASSED" for _, _, verdict in found) for found in verdicts)


def main() -> int:
    """Run the battery on every order and print the verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"only dieharder tests {QUICK}")
    parser.add_argument("--order", choices=ORDERS, action="append", help="only this order; may be given more than once")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if shutil.which("dieharder") is None:
        print("dieharder is not installed; on Debian: apt-get install dieharder")
        return 2
    worst = 0
    for order in arguments.order or ORDERS:
        started = time.perf_counter()
        tests = [["-d", str(number)] for number in QUICK] if arguments.quick else [["-a"]]
        verdicts = [verdict for test in tests for verdict in run(order, arguments.seed, test)]
        counts = {word: sum(v[2] == word for v in verdicts) for word in ("PASSED", "WEAK", "FAILED")}
        spent = time.perf_counter() - started
        print(
            f"{order:5s} order, seed {arguments.seed}: {len(verdicts)} p-values, {counts}, {spent:,.0f} s", flush=True
        )
        for name, p, verdict in verdicts:
            if verdict != "PASSED":
                print(f"      {verdict:6s} {name} p = {p:.3g}", flush=True)
        worst += counts["FAILED"]
        for name in sorted({name for name, _, verdict in verdicts if verdict == "WEAK"}):
            worst += still_weak(order, arguments.seed, name)
    print("verdict:", "FAILED" if worst else "passed")
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
