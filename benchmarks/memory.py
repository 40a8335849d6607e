"""Is what `tadge fit` says of memory what it takes? Said beside taken, of whole processes, at several sizes.

    python benchmarks/memory.py [--sizes 2000 20000 100000 300000 1000000]

Each size is a process of its own, which learns both models from a synthetic forum with the default sizes of networks.
It is cut short where that changes no peak: a few steps, a few trees, a few walks, initial vectors at random, and of
the vectors that are made after training only the first blocks. Goal: said is from 0.9 to 1.25 times what is taken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

LOW, HIGH = 0.9, 1.25
SHORT = "--steps 3 --trees 3 --num-walks 450 --epochs 1 --init random".split()
BLOCKS = 4  # of vectors that are really made
CHILD = f"""
import sys
import numpy as np
import tadge.cli
import tadge.running.memory as memory
from tadge.embedding.inference import AsOf
from tadge.machine import peak_memory_mb

said, blocks, real, block = [], [], memory.memory_plan, AsOf._block

def plan(*given):
    said.append(real(*given))
    return said[-1]

def some(self, chains, occurrences):
    blocks.append(1)
    if len(blocks) > {BLOCKS}:
        return np.zeros((occurrences.size, self.table.shape[1]), np.float32)
    return block(self, chains, occurrences)

memory.memory_plan, AsOf._block = plan, some
try:
    tadge.cli.main()
finally:
    print(said[0].total / 1e6, peak_memory_mb(), file=sys.stderr)
"""


def measure(size: int, only: str | None) -> tuple[float, float]:
    """Learn from so many events: what was said, and what was taken, in megabytes."""
    with tempfile.TemporaryDirectory() as name:
        events = Path(name) / "e.parquet"
        made = [sys.executable, "-m", "tadge", "synth", "--events", str(size), "--out", str(events), "--json"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        command = [sys.executable, "-c", CHILD, "fit", str(events), "--out", str(Path(name) / "m"), "--json", *SHORT]
        command += [] if only is None else ["--only", only]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    said, taken = done.stderr.splitlines()[-1].split()
    return float(said), float(taken)


def main() -> None:
    """Print a row for each size, and whether the goal is met."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--only", choices=["vectors", "forecasts"], default=None)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    print(f"{'events':>10}{'said, MB':>12}{'taken, MB':>12}{'said / taken':>14}")
    rows = []
    for size in asked.sizes:
        said, taken = measure(size, asked.only)
        rows.append({"events": size, "said_mb": said, "taken_mb": taken, "ratio": said / taken})
        print(f"{size:>10,}{said:>12,.0f}{taken:>12,.0f}{said / taken:>14.2f}", flush=True)
    met = all(LOW <= row["ratio"] <= HIGH for row in rows)
    print(f"goal, {LOW} to {HIGH} at every size: {'met' if met else 'missed'}")
    if asked.json:
        print(json.dumps(rows))
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
