"""Commands that ask a TADGE: who is alike, how a node moved; and that hand its vectors to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tadge.cli.answering import answering, as_of, give, ids_given, load_vectors
from tadge.cli.ask import At, Before, Events, Model, NodesFile, Out
from tadge.cli.frame import AsJson, Quiet, command, flag, print_json, takes
from tadge.config import STEPS, TOP, Option
from tadge.io.options import ReadOptions

NEIGHBOURS = Option("k", int, 5, "how many of the nearest neighbours, then and now, are compared", low=1)

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of nodes.")]


@command()
@takes(reading=ReadOptions)
def similar(
    model: Model,
    reading: ReadOptions,
    ids: Ids = None,
    k: Annotated[int, typer.Option("--k", "-k", help="How many neighbours.")] = TOP.default,
    nodes: NodesFile = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List the nodes that are most like each ID, by the cosine of their vectors about the mean.

    Example: tadge similar model/ user3 -k 5
    """
    with answering(out):
        from tadge.report.answers import Column, id_column

        fitted, graph = load_vectors(model, events, reading, quiet)
        asked = ids_given(graph, ids, nodes, "ID")
        moment = {"at": at, "before": before}
        table = fitted.similar(asked, k, **moment, graph=graph)
        columns = [
            *([id_column("id")] if len(asked) > 1 else []),
            id_column("neighbour"),
            Column("similarity", lambda row: f"{row['similarity']:.3f}"),
        ]
        give(table, columns, f"Who is most alike, {as_of(graph, **moment)}", out, as_json)


@command()
@takes(reading=ReadOptions)
def trajectory(
    model: Model,
    reading: ReadOptions,
    ids: Ids = None,
    steps: Annotated[int, flag(STEPS)] = STEPS.default,
    k: Annotated[int, typer.Option("--k", "-k", help="How many neighbours, then and now.")] = NEIGHBOURS.default,
    nodes: NodesFile = None,
    since: Annotated[str | None, typer.Option(help="The first moment; when each was first seen by default.")] = None,
    at: At = None,
    events: Events = None,
    out: Out = None,
    plot: Annotated[Path | None, typer.Option(help="File to draw it into: .svg.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell how far each ID moved, when, and towards whom, beside how far others moved in the same time.

    Distances are 1 less the cosine: 0 is the same place. A node moves by links of its own alone; "typical" is the
    median of others that had links in the same time, "surpassed" the fraction of them that moved less. JSON has both
    tables; --out writes that of the steps.

    Example: tadge trajectory model/ user3 --steps 6
    """
    with answering(out):
        from tadge.io.export import write_frame
        from tadge.report.answers import as_polars, records
        from tadge.report.trajectory import check_plot, print_trajectory, write_plot

        if plot is not None:
            check_plot(plot)
        fitted, graph = load_vectors(model, events, reading, quiet)
        asked = ids_given(graph, ids, nodes, "ID")
        ends = {"since": since, "at": at}
        found = fitted.trajectory(asked, steps, k=k, **ends, graph=graph)
        tables = {"steps": as_polars(found.steps), "neighbours": as_polars(found.neighbours)}
        if plot is not None:
            write_plot(plot, tables["steps"])
        if out is not None:
            write_frame(tables["steps"], out)
        written = [str(file) for file in (out, plot) if file is not None]
        if as_json:
            print_json(
                {name: records(table) for name, table in tables.items()} | ({"written": written} if written else {})
            )
        elif out is not None:
            print(f"{out}: {len(tables['steps']):,} rows")
        else:
            print_trajectory(tables["steps"], tables["neighbours"], len(asked) > 1)
        if plot is not None and not as_json:
            print(f"{plot}: drawn")


@command()
@takes(reading=ReadOptions)
def export(
    model: Model,
    reading: ReadOptions,
    out: Annotated[Path, typer.Option(help="File to write.")],
    form: Annotated[
        str | None,
        typer.Option("--format", help="parquet, csv, npz, word2vec, pyg, networkx or atlas; else by the file's name."),
    ] = None,
    at: At = None,
    before: Before = None,
    events: Events = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the vectors of all nodes, and where the form has a place for it the graph, for other programs.

    parquet, csv, npz and word2vec hold vectors under your ids; pyg (.safetensors) and networkx (.json) the events too;
    atlas (.parquet) a map of the nodes for embedding-atlas. The moment and the model are named inside where the form
    allows it. Nothing in such a file is code; the output says how to load it.

    Example: tadge export model/ --format atlas --out atlas.parquet
    """
    with answering(None):
        from tadge.embedding.likeness import nearest
        from tadge.graph.inputs import moments_of
        from tadge.io.exchange import export_format, write_export
        from tadge.units import date_text

        chosen = export_format(out, form)
        fitted, graph = load_vectors(model, events, reading, quiet)
        moment = {"at": at, "before": before}
        now = float(moments_of(graph, moment["at"], 1, moment["before"])[0])
        vectors = fitted.embed(at=now, graph=graph, progress=False if quiet else None)
        about = {"model": fitted.name, "moment": date_text(now, graph.clock), "fingerprint": graph.fingerprint}
        write_export(out, chosen, graph, vectors, now, about, nearest)
        sizes = {"nodes": vectors.shape[0], "dim": vectors.shape[1]}
        if as_json:
            print_json({"written": str(out), "format": chosen, **sizes, **about})
        else:
            print(f"{out}: {vectors.shape[0]:,} vectors of {vectors.shape[1]} numbers, {as_of(graph, **moment)}")
            print(f"to load it: {LOADING[chosen].format(out=out)}")


LOADING = {
    "parquet": "polars.read_parquet('{out}'), or DuckDB, pandas",
    "csv": "polars.read_csv('{out}'), or any spreadsheet",
    "npz": "file = numpy.load('{out}'); file['ids'], file['vectors']",
    "word2vec": "gensim.models.KeyedVectors.load_word2vec_format('{out}')",
    "pyg": "safetensors.torch.load_file('{out}'); its src, dst, t and msg are TemporalData's",
    "networkx": "networkx.node_link_graph(json.load(open('{out}')), edges='edges')",
    "atlas": "embedding-atlas {out} --x x --y y --neighbors neighbors",
}
