"""What `tadge run` takes: seconds of CPU and memory of the whole process, from 1,000 to 5,000,000 events.

    python benchmarks/run_cost.py [--sizes 1000 35000 500000 5000000] [--write] [--readme]

Every size is a process of its own, on a synthetic forum. Seconds are those of CPU, all threads together: a machine that
does nothing else takes at most as long. With --write the measurements go into src/tadge/running/costs.json, from which
`tadge run --dry-run` makes its plan; sizes that were not measured now stay as they are. With --readme nothing is
measured: the table in README.md is made anew from that file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COSTS = ROOT / "src" / "tadge" / "running" / "costs.json"
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- costs -->\n).*?(<!-- end of costs -->)", re.S)
FORECASTS_ONLY = 2_000_000  # events, from which on nothing is judged and no vectors are learned


def measure(events: int, threads: int) -> dict:
    """Run on a forum of so many events, and tell what its stages took."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        tadge = [sys.executable, "-m", "tadge"]
        subprocess.run([*tadge, "synth", "--events", str(events), "--out", place / "e.parquet"], check=True, stdout=2)
        budget = "1s" if events >= FORECASTS_ONLY else "100h"
        options = ["--budget", budget, "--epochs", "2", "--threads", str(threads)]
        subprocess.run([*tadge, "run", place / "e.parquet", "--out", place / "run", *options], check=True, stdout=2)
        record = json.loads((place / "run" / "run.json").read_text())
        history = (
            json.loads((place / "run" / "model" / "tadge.json").read_text())["meta"]["history"]
            if (place / "run" / "model" / "tadge.json").exists()
            else []
        )
    stages = {name: stage for name, stage in record["stages"].items() if stage["done"]}
    seconds = {name: stage["cpu_seconds"] for name, stage in stages.items() if not name.endswith("vectors")}
    memory = {"forecasts": max(stages[name]["peak_memory_mb"] for name in ("forecaster", "forecasts"))}
    if "judging" in stages:
        memory["judging"] = stages["judging"]["peak_memory_mb"]
    if "vectors" in stages:
        share = stages["vectors"]["cpu_seconds"] / stages["vectors"]["seconds"]
        epochs = [epoch["seconds"] * share for epoch in history]
        seconds["epoch"] = sum(epochs) / len(epochs)
        seconds["around epochs"] = max(stages["vectors"]["cpu_seconds"] - sum(epochs), 0.1)
        memory["vectors"] = max(stage["peak_memory_mb"] for stage in stages.values())
    wall = {name: round(stage["seconds"], 1) for name, stage in stages.items()}
    rounded = {name: round(value, 2) for name, value in seconds.items()}
    row = {"events": record["events"], "nodes": record["nodes"], "seconds": rounded}
    return row | {"memory_mb": {name: round(value) for name, value in memory.items()}, "wall": wall}


def table(rows: list[dict]) -> list[str]:
    """Lay the measurements out as Markdown."""
    lines = [
        "| events | nodes | first answers | forecasts of all | how good they are | an epoch of vectors | memory |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        seconds = row["seconds"]
        cells = [_time(seconds.get(name)) for name in ("forecaster", "forecasts", "judging", "epoch")]
        memory = f"{max(row['memory_mb'].values()) / 1e3:.1f} GB"
        lines.append(f"| {row['events']:,} | {row['nodes']:,} | {' | '.join(cells)} | {memory} |")
    return lines


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def main() -> None:
    """Measure, print, and keep where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 35_000, 500_000, 5_000_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--readme", action="store_true")
    asked = parser.parse_args()
    kept = json.loads(COSTS.read_text())
    for size in [] if asked.readme else asked.sizes:
        row = measure(size, asked.threads)
        print(json.dumps(row), flush=True)
        if asked.write:
            kept = json.loads(COSTS.read_text())
        others = [other for other in kept["rows"] if other["events"] != row["events"]]
        kept = {"machine": f"{os.cpu_count()} cores", "rows": sorted([*others, row], key=lambda one: one["events"])}
        if asked.write:
            COSTS.write_text(json.dumps(kept, indent=1) + "\n")
    print("\n".join(table(kept["rows"])))
    if asked.readme:
        README.write_text(
            BLOCK.sub(lambda found: found[1] + "\n".join(table(kept["rows"])) + "\n" + found[2], README.read_text())
        )


if __name__ == "__main__":
    main()
