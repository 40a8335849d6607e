"""The commands that do everything at once: from a file to a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tadge.cli.frame import (
    INTERRUPTED,
    AsJson,
    Device,
    Quiet,
    Threads,
    command,
    data_set_names,
    flag,
    print_json,
    read_graph,
    takes,
    use_threads,
)
from tadge.config import AHEAD, BUDGET, TARGETS, ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.io.options import ReadOptions


@command(name="run", main=("out", "budget", "days", "src", "dst", "time", "dry_run", "resume", "force"), long=True)
@takes(reading=ReadOptions, forecasting=ForecastConfig, walking=WalkConfig, network=NetworkConfig, training=TrainConfig)
def run_everything(
    reading: ReadOptions,
    forecasting: ForecastConfig,
    walking: WalkConfig,
    network: NetworkConfig,
    training: TrainConfig,
    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="CSV or any other file of events; several, or a pattern in quotes, are one history; - for stdin; or a "
            "known data set's name; without one, a built-in example.",
            autocompletion=data_set_names,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for everything.")] = Path("run"),
    budget: Annotated[str, flag(BUDGET)] = BUDGET.default,
    days: Annotated[float, flag(AHEAD)] = AHEAD.default,
    k: Annotated[int, flag(TARGETS)] = TARGETS.default,
    seed: Annotated[
        int,
        typer.Option(
            help="The same seed gives the same models, where time allows; TADGE at the same number of threads."
        ),
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do, and what that takes.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run in the folder, once this is finished.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    device: Device = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Do everything: forecasts first, then how good they are, then vectors, and a page to show.

    The folder gets model/, forecasts.csv and forecasts.parquet (the next links of all active nodes), evaluation.json,
    vectors.parquet, run.json and report.html. Ctrl-C leaves what is finished, and --resume goes on. Every command that
    takes a model's folder takes this one.

    Example: tadge run edges.csv --out run/ --budget 10m
    """
    from tadge.cli.inputs import data_name
    from tadge.running.options import RunConfig
    from tadge.running.pipeline import RunSource, read_source, run_on

    config = RunConfig(budget, days, k, forecasting, walking, network, training, seed, device)
    use_threads(threads)
    if not file:
        source = read_source(None, reading, seed)
    else:
        graph, report, _ = read_graph(file, reading, quiet)
        source = RunSource(graph, data_name(file), report)

    def say(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr if as_json else sys.stdout, flush=True)

    options = {"force": force, "resume": resume, "dry_run": dry_run, "progress": False if quiet else None}
    try:
        result = run_on(source, out, config, **options, say=say)  # type: ignore[arg-type]
    except KeyboardInterrupt:
        words = "stopped; what is finished is in the folder, and --resume goes on from here"
        print(f"{words}{_finished(out)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        plan = {"seconds": result.plan.seconds, "epochs": result.plan.epochs, "memory_mb": result.plan.memory_mb}
        print_json({"folder": str(out), "report": str(result.report), "plan": plan, "record": result.record})


def _finished(out: Path) -> str:
    """Name the stages that a run has finished."""
    from tadge.errors import TadgeError
    from tadge.running.folder import read_record

    try:
        stages = read_record(out)["stages"]
    except TadgeError:
        return ""
    done = [name for name, stage in stages.items() if stage["done"]]
    return f" (finished: {', '.join(done) or 'nothing'})"


@command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder that tadge run or tadge fit made.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    quiet: Quiet = False,
) -> None:
    """Write the page of a folder: what was learned, what comes next, how far to trust it.

    It is one file that asks for nothing from outside.

    Example: tadge report model/ --out report.html
    """
    from tadge.running.reporting import write_report

    place = write_report(folder, out, progress=False if quiet else None)
    print(f"{place}: {place.stat().st_size / 1e6:,.1f} MB")
