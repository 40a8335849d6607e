"""Measure the walks against their goals: python benchmarks/walks.py [--quick].

Everything is measured in one run on one machine: the naive scan, the machine's limit and the walkers. Times are the
best of several, in CPU seconds of one thread unless said otherwise. --quick leaves out the graph of 20M events.

Cache lines that have to be touched:
  occurrence  a step: 1 where the column drawn holds (its record says where it leads and how many candidates wait
              there), 2 where its alias is taken. A start: 1. Most starts lead nowhere or one step on, so that they are
              about half of the work: it is all charged to the steps in "% of the limit of 4 lines per step"
  future      a step: 2, the guide entry of the point drawn and the entry found there, which also tells what can be
              drawn next; 3 where the guide leaves a choice. A start: 2, where it stands and its entry

The goals were set on a graph of 1.5M events on which the naive scan was 4 times slower than on bitcoin-otc, in the
reach "future". That is what a skew of 0.58 gives, and the table says how much slower it is in this run. The shorter
lists of lower skews let the naive scan catch up, the longer ones of higher skews leave it behind: see the rows without
a goal.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np

from tadge.config import WalkConfig
from tadge.graph import TemporalGraph
from tadge.graph.kernels import prefetch
from tadge.graph.links import links_of
from tadge.seeding import draw, stream, unit, walk_key
from tadge.walks import iter_walks, sample_walks
from tadge.walks.index import WalkIndex, walk_index
from tadge.walks.kernels import LANES, Task, shuffled
from tadge.walks.pool import empty_rows

LENGTH = 10
TASK_SIZE = 3_276
REACHES = ("occurrence", "future")
LINES = {"occurrence": (1.0, 1.5), "future": (2.0, 2.0)}  # of a start, and of a step
SKEW = 0.58
KEY, START_KEY = stream(0, "walks"), stream(0, "starts")


# -- graphs -----------------------------------------------------------------------------------------------------------


def power_law(num_events: int, skew: float = SKEW, seed: int = 0) -> TemporalGraph:
    """15 events per node, both ends drawn with probability rank^-skew, uniform times in whole Unix seconds.

    The skew decides how long the lists are that the naive scan has to go through, and so how far it falls behind.
    """
    rng = np.random.default_rng(seed)
    num_nodes = num_events // 15
    share = np.cumsum(np.arange(1, num_nodes + 1) ** -skew)
    name = rng.permutation(num_nodes).astype(np.int32)
    src, dst = (name[np.searchsorted(share, rng.random(num_events) * share[-1])] for _ in range(2))
    days = np.sort(rng.integers(1_200_000_000, 1_500_000_000, num_events)) / 86_400
    return TemporalGraph.from_numbers(src, dst, np.arange(num_nodes), 0, days, None, clock="unix")


def hub(num_events: int, acts: int, seed: int = 0) -> TemporalGraph:
    """One node that is linked to num_events times and acts at its joining and `acts` times at random after it."""
    rng = np.random.default_rng(seed)
    num_nodes = max(num_events // 4, 2)
    src = np.concatenate([np.zeros(1 + acts, np.int32), rng.integers(1, num_nodes, num_events, dtype=np.int32)])
    dst = np.concatenate([np.ones(1 + acts, np.int32), np.zeros(num_events, np.int32)])
    seconds = rng.integers(1_200_000_001, 1_500_000_000, acts + num_events)
    days = np.concatenate([[1_200_000_000], seconds]) / 86_400
    return TemporalGraph.from_numbers(src, dst, np.arange(num_nodes), 0, days, None, clock="unix")


def bitcoin_otc() -> TemporalGraph | None:
    """Read the real graph where it is."""
    folder = Path(os.environ.get("TADGE_DATA") or Path(__file__).parents[2] / "shared" / "data")
    file = folder / "bitcoin-otc.csv.gz"
    if not file.exists():
        return None
    with gzip.open(file, "rt") as lines:
        table = np.array([line.split(",") for line in lines], dtype=np.float64)
    return TemporalGraph.from_arrays(table[:, 0], table[:, 1], table[:, 3], table[:, 2])


# -- the naive scan and the machine's limit ---------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def naive(
    first: Any, when: Any, who: Any, which: Any, degree: Any, tov_start: Any, tov: Any, node_of: Any, future: bool,
    task: Task,
) -> None:  # fmt: skip
    """Walk one by one; every step scans all events of the node twice: for the sums, and for the draw."""
    starts, key, number, max_length, cells, length = task
    for i in range(starts.size):
        v, t = node_of[starts[i]], tov[starts[i]]
        cell = cells[i, 0]
        cell.node, cell.time = v, t
        of_walk, at = walk_key(key, number + i), 1
        while at < max_length:
            end = np.inf
            if not future:
                for k in range(tov_start[v], tov_start[v + 1]):
                    if tov[k] > t:
                        end = tov[k]
                        break
            total, count, centrality, product = 0.0, 0, 0.0, 0.0
            for k in range(first[v], first[v + 1]):
                if t < when[k] <= end:
                    delta = when[k] - t
                    total += delta
                    count += 1
                    centrality += degree[who[k]]
                    product += degree[who[k]] * delta
            if count == 0:
                break
            left = unit(draw(of_walk, at)) * (centrality - product / total if count > 1 else 1.0)
            chosen = -1
            for k in range(first[v], first[v + 1]):
                if t < when[k] <= end:
                    left -= degree[who[k]] * (1 - (when[k] - t) / total) if count > 1 else 1.0
                    chosen = k
                    if left < 0:
                        break
            v, t = who[chosen], when[chosen]
            cell = cells[i, at]
            cell.node, cell.time, cell.event = v, t, which[chosen]
            at += 1
        length[i] = at


def naive_walker(graph: TemporalGraph, future: bool) -> Callable[[Task], None]:
    """Lay out what the naive scan reads: events into each node, in order of time."""
    which = np.flatnonzero(~np.isnan(graph.toe))
    which = which[np.argsort(graph.dst[which], kind="stable")].astype(np.uint32)
    first = np.concatenate([[0], np.cumsum(np.bincount(graph.dst[which], minlength=graph.num_nodes))])
    node_of = links_of(graph).node
    lists = first, graph.time[which], graph.src[which], which, graph.degree
    return lambda task: naive(*lists, graph.tov_start, graph.tov_times, node_of, future, task)


@numba.njit(cache=True, nogil=True)
def chase(line: Any, hops: int) -> int:
    """Follow LANES chains through lines of 64 bytes, all in flight at once."""
    base = np.uintp(line.ctypes.data)
    at = np.empty(LANES, np.int64)
    for lane in range(LANES):
        at[lane] = lane * (line.shape[0] // LANES)
    for _ in range(hops):
        for lane in range(LANES):
            at[lane] = line[at[lane], 0]
            prefetch(base + np.uintp(64) * np.uintp(at[lane]))
    return int(at.sum())


def line_ns(num_bytes: int) -> float:
    """Measure nanoseconds per cache line with LANES chains in flight through that many bytes."""
    lines = max(num_bytes // 64, LANES)
    raw = np.empty(lines * 8 + 8, np.int64)
    skip = -raw.ctypes.data % 64 // 8
    line = raw[skip : skip + lines * 8].reshape(lines, 8)
    order = np.random.default_rng(0).permutation(lines)
    line[order, 0] = np.roll(order, -1)
    hops = 50_000
    chase(line, 10)
    return best(lambda: chase(line, hops)) / (hops * LANES) * 1e9


# -- measuring --------------------------------------------------------------------------------------------------------


def best(work: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = time.thread_time) -> float:
    """Return the least seconds of several runs."""
    least = float("inf")
    for _ in range(repeats):
        began = clock()
        work()
        least = min(least, clock() - began)
    return least


def pace(
    walk: Callable[[Task], None], num_occurrences: int, num: int, starts: Any = None, repeats: int = 5
) -> tuple[float, float, float]:
    """Walk from `num` shuffled starts; return walks per second, steps per second and mean nodes."""
    cells, length = empty_rows(TASK_SIZE, LENGTH)
    place = np.empty(TASK_SIZE, np.int64)
    steps = 0

    def work() -> None:
        nonlocal steps
        steps = 0
        for number in range(0, num - TASK_SIZE + 1, TASK_SIZE):
            if starts is None:
                shuffled(START_KEY, number % max(num_occurrences - TASK_SIZE, 1), num_occurrences, place)
            else:
                place[:] = starts[number : number + TASK_SIZE]
            walk(Task(place, KEY, number, LENGTH, cells, length))
            steps += int(length[:TASK_SIZE].sum()) - TASK_SIZE

    work()
    seconds = best(work, repeats)
    walks = num // TASK_SIZE * TASK_SIZE
    return walks / seconds, steps / seconds, steps / walks + 1


class Table:
    """Print rows of goal against measured as they come."""

    def __init__(self) -> None:
        self.missed: list[str] = []
        print(f"{'':66s} {'measured':>12s}  {'goal':>14s}")

    def row(
        self, what: str, measured: float, goal: float | None = None, at_least: bool = True, form: str = ".2f"
    ) -> None:
        met = goal is None or (measured >= goal if at_least else measured <= goal)
        limit = "" if goal is None else f"{'>=' if at_least else '<='} {goal:g} {'ok' if met else 'MISSED'}"
        print(f"{what:66s} {measured:12{form}}  {limit:>14s}", flush=True)
        if not met:
            self.missed.append(what)


# -- what is measured -------------------------------------------------------------------------------------------------


def measure_graph(
    table: Table,
    name: str,
    graph: TemporalGraph,
    num: int,
    goal: float | None = None,
    slow: dict[str, float] | None = None,
) -> dict[str, float]:
    """Measure index and walkers on one graph, against the naive scan and the machine's limit.

    The goal is how many times faster than the naive scan they have to be; `slow` has that scan's pace on another graph.
    Its pace on this one is returned.
    """
    graph.degree  # noqa: B018 (counted before the clock runs)
    shuffled_times = np.random.default_rng(0).permutation(graph.time)
    sort = best(lambda: np.argsort(shuffled_times, kind="stable"), 3)
    scans = {}
    for reach in REACHES:
        label = f"{name}, {reach}"
        walk_index(replace(graph), reach, "forward", "degree")  # a graph of its own: nothing is known of it yet
        seconds = best(lambda reach=reach: walk_index(replace(graph), reach, "forward", "degree"), 3)  # type: ignore[misc]
        index = walk_index(graph, reach, "forward", "degree")
        most = 64 if reach == "occurrence" else 104
        table.row(f"{label}: index, argsorts of the events", seconds / sort, 3, at_least=False)
        table.row(f"{label}: index, bytes per event", index.nbytes / graph.num_events, most, at_least=False)
        walks, steps, mean = pace(index.walk, graph.num_occurrences, num)
        table.row(f"{label}: million starts walked per CPU second ({mean:.1f} nodes)", walks / 1e6)
        ns = line_ns(index.nbytes)
        table.row(f"{label}: ns per cache line, {LANES} in flight, {index.nbytes / 1e6:,.0f} MB", ns)
        limit, own = 4 * steps * ns / 1e9, (LINES[reach][0] * walks + LINES[reach][1] * steps) * ns / 1e9
        table.row(f"{label}: % of the limit of 4 lines per step", 100 * limit, 50 if goal else None, form=".0f")
        table.row(f"{label}: % of the limit of the lines it has to touch", 100 * own, form=".0f")
        scan = pace(naive_walker(graph, reach == "future"), graph.num_occurrences, min(num, 20 * TASK_SIZE), repeats=2)
        scans[reach] = scan[0]
        table.row(f"{label}: times the naive scan ({scan[0] / 1e6:.2f}M)", walks / scan[0], goal)
        if slow:
            table.row(f"{label}: naive scan, times slower than on bitcoin-otc", slow[reach] / scan[0])
        del index
        gc.collect()
    return scans


def measure_hubs(table: Table) -> None:
    """Measure a step from a hub, by its number of candidates."""
    for reach in REACHES:
        costs = []
        for degree in (1_000, 10_000, 100_000, 1_000_000):
            graph = hub(degree, 0 if reach == "occurrence" else degree // 10)
            index = walk_index(graph, reach, "forward", "degree")
            num = 100 * TASK_SIZE
            starts = np.zeros(num, np.int64)
            if reach == "future":
                starts = np.random.default_rng(0).integers(0, graph.tov(0).size * 9 // 10, num)
            rows = empty_rows(TASK_SIZE, 2)
            place = np.empty(TASK_SIZE, np.int64)

            def work(
                index: WalkIndex = index, starts: Any = starts, rows: Any = rows, place: Any = place, num: int = num
            ) -> None:
                for number in range(0, num, TASK_SIZE):
                    place[:] = starts[number : number + TASK_SIZE]
                    index.walk(Task(place, KEY, number, 2, *rows))

            work()
            costs.append(best(work) / num * 1e9)
            table.row(f"hub of {degree:,} events, {reach}: ns per step from it", costs[-1])
            table.row(f"    ns per cache line, {LANES} in flight, {index.nbytes / 1e6:,.1f} MB", line_ns(index.nbytes))
        table.row(f"hub of 1e3 to 1e6 events, {reach}: slowdown per step", costs[-1] / costs[0], 2.5, at_least=False)


def measure_threads(table: Table, graph: TemporalGraph) -> None:
    """Measure the whole call, output included, with one thread and with two."""
    for reach in REACHES:
        config = WalkConfig(num_walks=1_000_000, max_length=LENGTH, min_length=1, reach=reach)
        wall = {}
        for threads in (1, 2):
            sample_walks(graph, config, threads=threads)
            wall[threads] = best(lambda: sample_walks(graph, config, threads=threads), 5, time.perf_counter)  # noqa: B023
        table.row(f"1.5M, {reach}: sample_walks, million walks per second, 1 thread", 1 / wall[1])
        table.row(f"1.5M, {reach}: two threads against one (wall clock)", wall[1] / wall[2], 1.8)


FIRST_CALL = """
import time, numpy as np
from tadge.graph import TemporalGraph
rng = np.random.default_rng(0)
graph = TemporalGraph.from_arrays(rng.integers(0, 99, 999), rng.integers(0, 99, 999), rng.integers(0, 9**9, 999))
began = time.process_time()
from tadge.config import WalkConfig
from tadge.walks import sample_walks
sample_walks(graph, WalkConfig(reach="{reach}"))
print(time.process_time() - began)
"""


def measure_first_call(table: Table) -> None:
    """Measure the first call in a process, with an empty cache of compiled code and with a full one."""
    for reach in REACHES:
        with tempfile.TemporaryDirectory() as folder:
            code = FIRST_CALL.format(reach=reach)
            seconds = [
                min(
                    float(
                        subprocess.check_output(
                            [sys.executable, "-c", code], env=os.environ | {"NUMBA_CACHE_DIR": folder}
                        )
                    )
                    for _ in range(repeats)
                )
                for repeats in (1, 3)
            ]
        table.row(f"first call, {reach}, nothing compiled: CPU seconds", seconds[0], 10, at_least=False)
        table.row(f"first call, {reach}, compiled code cached: CPU seconds", seconds[1], 1.5, at_least=False)


def stream_memory(num_walks: int) -> float:
    """Stream walks in this process and return the peak resident megabytes."""
    graph = power_law(1_500_000)
    walks = iter_walks(graph, WalkConfig(num_walks=num_walks, max_length=LENGTH, min_length=1, reach="future"))
    made = sum(len(chunk) for chunk in walks)
    assert made == min(num_walks, graph.num_occurrences)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure_streaming(table: Table) -> None:
    """Measure the peak memory of streams of different lengths, each in a process of its own."""
    peak = [
        float(subprocess.check_output([sys.executable, __file__, "--stream", str(num)])) for num in (100_000, 1_500_000)
    ]
    table.row("streaming 100k walks of 1.5M events, future: peak MB", peak[0], form=".0f")
    table.row("streaming 1.5M walks, the same: peak MB", peak[1], form=".0f")


def main() -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the graph of 20M events")
    parser.add_argument("--stream", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stream:
        print(stream_memory(arguments.stream))
        return 0
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{machine}, Python {platform.python_version()}, numba {numba.__version__}, numpy {np.__version__}")
    table = Table()
    otc, slow = bitcoin_otc(), None
    if otc is not None:
        slow = measure_graph(table, "bitcoin-otc", otc, 10 * TASK_SIZE)
    graph = power_law(1_500_000)
    measure_graph(table, "1.5M", graph, 300 * TASK_SIZE, 16, slow)
    measure_threads(table, graph)
    del graph
    for skew in (0.5, 0.65):
        measure_graph(table, f"1.5M, skew {skew}", power_law(1_500_000, skew), 300 * TASK_SIZE, slow=slow)
    measure_hubs(table)
    measure_graph(table, "hub of 2M", hub(2_000_000, 200_000), 200 * TASK_SIZE)
    measure_first_call(table)
    measure_streaming(table)
    if not arguments.quick:
        measure_graph(table, "20M", power_law(20_000_000), 300 * TASK_SIZE, slow=slow)
    print("missed:", "; ".join(table.missed) or "nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
