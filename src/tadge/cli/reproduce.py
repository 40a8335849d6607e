"""The command that runs the paper's tables and figures again."""

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
    print_json,
    use_threads,
)

DIFFERS = 1  # the exit code of a check that finds other figures
SUBJECT_NAMES = ["all", *(f"table{number}" for number in range(1, 7)), *(f"fig{number}" for number in range(4, 10))]


@command(main=("data", "out", "seeds", "quick", "check", "force"), long=True)
def reproduce(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT...]",
            help="table1 to table6, fig4 to fig9, or all, which is the default.",
            autocompletion=lambda: SUBJECT_NAMES,
        ),
    ] = None,
    data: Annotated[str, typer.Option(help="A known data set's name.", autocompletion=data_set_names)] = "bitcoin-otc",
    out: Annotated[Path, typer.Option(help="Folder for records, tables, figures and the page.")] = Path("reproduction"),
    seeds: Annotated[int, typer.Option(help="Seeds of the methods that are compared.", min=1, max=1_000)] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="Everything on a small synthetic graph, in a few minutes.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Run everything again, and replace the records.")] = False,
    run: Annotated[
        bool, typer.Option(help="Whether to run what has no record, or only to write tables and figures of what has.")
    ] = True,
    check: Annotated[
        Path | None,
        typer.Option(help="Run one record of this folder again and compare; the quickest that learns, or --record."),
    ] = None,
    record: Annotated[str | None, typer.Option(help="With --check: the name of a record, without .json.")] = None,
    device: Device = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run section 5 of the paper again: its tables and figures, ours beside the printed ones.

    Every run leaves a record; what has one is not run again, so that a run that was cut off goes on where it stopped.
    The folder gets records/, figures/ (SVG and PNG), tables.md and report.html.

    Example: tadge reproduce table3 fig4 --data bitcoin-otc --seeds 3
    """
    from tadge.reproduction.run import check_records
    from tadge.reproduction.run import reproduce as run_again

    use_threads(threads)
    progress = False if quiet else None

    def say(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    if check is not None:
        cell, lines = check_records(check, record, device=device, progress=progress)
        if as_json:
            print_json({"cell": cell.to_dict(), "differences": lines})
        else:
            print(f"{cell}: {'the same figures' if not lines else f'{len(lines)} figures differ'}")
            for line in lines:
                print(f"  {line}")
        raise typer.Exit(DIFFERS if lines else 0)
    try:
        result = run_again(
            subjects or ["all"],
            data,
            out,
            seeds=seeds,
            quick=quick,
            force=force,
            run=run,
            device=device,
            progress=progress,
            say=say,
        )
    except KeyboardInterrupt:
        print(f"stopped; the runs that are done are in {out}, and the same command goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        grids = {grid.name: {"headings": grid.headings, "rows": grid.rows} for grid in result.grids}
        print_json({"folder": str(result.folder), "report": str(result.report), "tables": grids})
        return
    from tadge.reproduction.run import markdown

    for grid in result.grids:
        print(markdown(grid))
    print(f"{result.report}: all tables and figures")
