"""Commands about files of events: look at them, convert them, fetch them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tadge.cli.frame import AsJson, EventsFile, Quiet, app, command, data_set_names, print_json, read_graph, takes
from tadge.io.options import ReadOptions

DataSet = Annotated[str, typer.Argument(help="Name, as in the list.", autocompletion=data_set_names)]

datasets_app = typer.Typer(help="Known data sets: list them, fetch them, find them.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")


@command(main=("src", "dst", "time", "unit", "bipartite", "as_json"))
@takes(reading=ReadOptions)
def info(file: EventsFile, reading: ReadOptions, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show what a file of timed links holds: Table 1's row, the histogram of ToE, and what looks odd.

    Columns, header, delimiter, ids and time unit are found; give them where what was found is wrong.

    Example: tadge info edges.csv --time when --unit ms
    """
    from tadge.report.info import graph_summary, graph_tables

    graph, report, classes = read_graph(file, reading, quiet)
    figures = graph_summary(graph, report, classes)
    if as_json:
        print_json(figures)
        return
    from rich.console import Console

    Console().print(graph_tables(figures))


@command(main=("src", "dst", "time", "unit", "times", "force", "as_json"))
@takes(reading=ReadOptions)
def convert(
    file: EventsFile,
    out: Annotated[Path, typer.Argument(help="File to write: .csv, .tsv, .jsonl (also .gz, .zst) or .parquet.")],
    reading: ReadOptions,
    times: Annotated[
        str,
        typer.Option(
            help="Write times as 'days' (exact) or as 'dates' (UTC).", autocompletion=lambda: ["days", "dates"]
        ),
    ] = "days",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Turn a file of timed links into another form: sorted by time, with ToE, the ids as they were.

    Example: tadge convert edges.csv.gz edges.parquet
    """
    from tadge.io.export import check_times, form_of, write_events

    form_of(out)
    check_times(times)
    graph, report, _ = read_graph(file, reading, quiet)
    written = write_events(graph, out, times)
    if as_json:
        print_json({"written": str(written), "events": graph.num_events, "rows": report.rows})
    else:
        print(f"{written}: {graph.num_events:,} events written")


@datasets_app.command("list")
def datasets_list(as_json: AsJson = False) -> None:
    """List the known data sets, and which of them are here.

    Example: tadge datasets list
    """
    from tadge import datasets

    rows = [datasets.as_dict(dataset) for dataset in datasets.list_datasets()]
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in ("name", "in the paper", "nodes", "events", "classes", "here"):
        table.add_column(name, justify="right" if name in ("nodes", "events", "classes") else "left")
    for row in rows:
        counts = (f"{row[key]:,}" if row[key] is not None else "-" for key in ("nodes", "events", "classes"))
        table.add_row(row["name"], row["paper_name"] or "-", *counts, row["path"] or "no")
    Console().print(table)


@datasets_app.command("get")
def datasets_get(name: DataSet, as_json: AsJson = False) -> None:
    """Fetch a data set into the cache, checked by size and checksum.

    Example: tadge datasets get bitcoin-otc
    """
    from tadge import datasets

    place = datasets.get(name)
    if as_json:
        print_json({"name": datasets.find(name).name, "path": str(place)})
    else:
        print(place)


@datasets_app.command("path")
def datasets_path(name: DataSet, as_json: AsJson = False) -> None:
    """Print where a data set is: in the folder TADGE_DATA names, or in the cache.

    Example: tadge datasets path bitcoin-otc
    """
    from tadge import datasets

    place = datasets.path(name)
    if as_json:
        print_json({"name": datasets.find(name).name, "path": str(place)})
    else:
        print(place)
