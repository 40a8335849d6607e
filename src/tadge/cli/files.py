"""Commands about files of events: look at them, convert them, make them, fetch them."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from tadge.cli.frame import AsJson, EventsFile, Quiet, app, command, print_json, read_graph, takes
from tadge.io.options import ReadOptions

MOST_EVENTS_FOR_LINKS = 1_000_000  # the best link score replays the record once per community

datasets_app = typer.Typer(help="Known data sets: list them, fetch them, find them.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")


@command()
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


@command()
@takes(reading=ReadOptions)
def convert(
    file: EventsFile,
    out: Annotated[Path, typer.Argument(help="File to write: .csv, .tsv, .jsonl (also .gz, .zst) or .parquet.")],
    reading: ReadOptions,
    times: Annotated[str, typer.Option(help="Write times as 'days' (exact) or as 'dates' (UTC).")] = "days",
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


@command()
def synth(
    out: Annotated[
        Path | None, typer.Option(help="File of events: .csv, .tsv, .jsonl or .parquet; CSV on stdout by default.")
    ] = None,
    events: Annotated[int, typer.Option(help="Number of events, from 1e3 to 1e7 say.")] = 10_000,
    communities: Annotated[int, typer.Option(help="Number of communities, each with a pace of its own.")] = 8,
    days: Annotated[float, typer.Option(help="Days that the events span, about.")] = 730.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0,
    labels: Annotated[Path | None, typer.Option(help="File for the community of each node: id, label.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a forum-like graph whose ToE law is known, and say the best possible scores on it.

    Threads start at different times and evolve at different speeds; users return; replies follow a known law of
    delays. So a model's error can be set beside the best that any model could reach.

    Example: tadge synth --events 20000 --out forum.csv --labels labels.csv
    """
    import polars as pl

    from tadge import synthetic
    from tadge.io.export import form_of, to_polars, write_events, write_frame

    for path in (out, labels):
        if path is not None:
            form_of(path)
    made = synthetic.forum(events, communities=communities, days=days, seed=seed)
    if out is not None:
        write_events(made.graph, out)
    elif not as_json:
        to_polars(made.graph).write_csv(sys.stdout)
    if labels is not None:
        write_frame(pl.DataFrame({"id": made.graph.ids, "label": made.labels}), labels)
    toe = synthetic.best_toe_rmse(made)
    links = synthetic.best_link_mrr(made) if events <= MOST_EVENTS_FOR_LINKS else None
    if as_json:
        paths = {"written": str(out) if out else None, "labels": str(labels) if labels else None}
        sizes = {"events": made.graph.num_events, "nodes": made.graph.num_nodes}
        print_json({**paths, **sizes, "seed": seed, "toe_rmse": dataclasses.asdict(toe), "best_link_mrr": links})
        return
    lines = [f"{out or 'stdout'}: {made.graph.num_events:,} events of {made.graph.num_nodes:,} nodes, seed {seed}"]
    if labels is not None:
        lines.append(f"{labels}: the community of each node")
    lines += [
        f"ToE error, RMSE in squashed days: at best {toe.floor:.4f} (the thread's pace known), {toe.history:.4f} from",
        f"the thread's past, {toe.community:.4f} from the community's mean, {toe.constant:.4f} from one constant",
        "Links: tadge.synthetic.best_link_mrr tells the best possible score; it takes minutes at this size"
        if links is None
        else f"Links, MRR against 100 random others: at best {links:.4f}",
    ]
    print("\n".join(lines), file=sys.stdout if out else sys.stderr)


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
def datasets_get(name: Annotated[str, typer.Argument(help="Name, as in the list.")], as_json: AsJson = False) -> None:
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
def datasets_path(name: Annotated[str, typer.Argument(help="Name, as in the list.")], as_json: AsJson = False) -> None:
    """Print where a data set is: in the folder TADGE_DATA names, or in the cache.

    Example: tadge datasets path bitcoin-otc
    """
    from tadge import datasets

    place = datasets.path(name)
    if as_json:
        print_json({"name": datasets.find(name).name, "path": str(place)})
    else:
        print(place)
