"""Commands that walk, learn and embed."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tadge.cli.answering import read_history
from tadge.cli.frame import (
    INTERRUPTED,
    AsJson,
    Device,
    EventsFile,
    Preset,
    Quiet,
    Threads,
    command,
    flag,
    print_json,
    read_graph,
    takes,
    use_threads,
)
from tadge.cli.manners import Force, check_unused
from tadge.config import LATEST, ForecastConfig, NetworkConfig, TrainConfig, WalkConfig
from tadge.errors import ConfigError
from tadge.io.options import ReadOptions

if TYPE_CHECKING:
    from tadge.forecasting.estimator import Forecaster


@command(main=("out", "num_walks", "max_length", "lengths", "seed", "resume", "force"), long=True)
@takes(reading=ReadOptions, walking=WalkConfig)
def walk(
    file: EventsFile,
    reading: ReadOptions,
    walking: WalkConfig,
    out: Annotated[Path | None, typer.Option(help="Parquet file of walks to write.")] = None,
    lengths: Annotated[
        bool, typer.Option("--lengths", help="Only report how long walks get where nothing cuts them.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same walks.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was interrupted.")] = False,
    force: Force = False,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Sample temporal walks: from a node's joining time on to those who linked to it, and on from there.

    One row of the file is one walk: nodes (your ids), their joining times, and for every step its ToE and its event.
    Ctrl-C leaves the finished parts readable in a folder beside the file; --resume goes on to the same result.

    Example: tadge walk edges.csv --out walks.parquet --num-walks 10000
    """
    from tadge.progress import Bars
    from tadge.walks.store import check_name, write_walks

    if lengths:
        _walk_lengths(file, reading, walking, seed, threads, as_json, quiet)
        return
    if out is None:
        raise ConfigError("no file to write", cure="say --out walks.parquet, or --lengths for a report")
    check_name(out)
    if not (resume or force):
        check_unused(out)
    graph, _, _ = read_graph(file, reading, quiet)
    with Bars(False if quiet else None).part("walks") as tell:
        written = write_walks(
            *(graph, out, walking, seed),
            resume=resume,
            force=force,
            threads=threads,
            report=lambda made, starts: tell(made, walking.num_walks),
        )
    if as_json:
        print_json({**dataclasses.asdict(written), "path": str(out), "seed": seed, "graph": graph.fingerprint})
        return
    print(f"{out}: {written.walks:,} walks from {written.starts_used:,} starts, seed {seed}")
    if written.resumed:
        print(f"{written.resumed:,} of them were made by an earlier run")
    if written.note:
        print(f"note: {written.note}")


def _walk_lengths(
    file: list[str],
    reading: ReadOptions,
    walking: WalkConfig,
    seed: int,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from tadge.walks import uncut_length_distribution

    graph, _, _ = read_graph(file, reading, quiet)
    lengths = uncut_length_distribution(graph, walking, seed, threads=threads)
    if as_json:
        cut = lengths.at_most(walking.max_length)
        counts = lengths.counts.tolist()
        print_json({"starts": lengths.num_starts, "counts": counts, "fraction_within_max_length": cut})
    else:
        print(lengths)


@command(main=("out", "only", "preset", "epochs", "src", "dst", "time", "resume", "force"), long=True)
@takes(
    reading=ReadOptions,
    walking=WalkConfig,
    network=NetworkConfig,
    training=TrainConfig,
    forecasting=ForecastConfig,
)
def fit(
    file: EventsFile,
    out: Annotated[Path, typer.Option(help="Folder for what is learned.")],
    reading: ReadOptions,
    walking: WalkConfig,
    network: NetworkConfig,
    training: TrainConfig,
    forecasting: ForecastConfig,
    only: Annotated[
        str | None,
        typer.Option(
            help="Learn only the 'vectors' (TADGE) or only the 'forecasts' (Forecaster).",
            autocompletion=lambda: ["vectors", "forecasts"],
        ),
    ] = None,
    preset: Preset = None,
    seed: Annotated[
        int, typer.Option(help="The same seed gives the same models; TADGE at the same number of threads.")
    ] = 0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Take what is done, go on where a run stopped; with more --epochs, lengthen it."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the model that is there, once the new one is whole.")
    ] = False,
    checkpoint_seconds: Annotated[float, typer.Option(help="Time between two checkpoints of TADGE.", min=0.0)] = 60.0,
    device: Device = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a file of timed links, and keep what is learned in a folder.

    Two models are learned, each of which loads alone. Forecaster, in a minute or so: who links to whom next, and after
    how long. Then TADGE, the paper's network: a vector for every node, as of any moment. Where there are too few events
    for vectors, one sentence says so, and the forecasts are kept.

    Ctrl-C keeps what is there, of TADGE the best state so far; --resume goes on, to the same models as if nothing had
    happened. A folder that holds a model is refused: --force replaces it, once the new one is whole.

    --resume with more --epochs lengthens a run, also one that is done. The further epochs have the learning rates of a
    run that was begun so long; the earlier ones had those of the shorter run, so that the vectors differ from those of
    one long run. Of a run that is done only the best state is kept: it goes on from there, with new moments of Adam.

    Example: tadge fit edges.csv --out model/ --epochs 10

    Example: tadge fit edges.csv --out model/ --only forecasts

    Example: tadge fit bitcoin-otc --out model/ --only vectors --preset paper --epochs 20
    """
    from tadge.cli.fitting import fit_models, fitted_kinds
    from tadge.embedding.estimator import TADGE
    from tadge.forecasting.estimator import Forecaster
    from tadge.report.fit import fit_summary, show_fit
    from tadge.running.memory import memory_plan
    from tadge.storage.replacement import check_free

    if only not in (None, "vectors", "forecasts"):
        raise ConfigError("unknown choice", expected="vectors or forecasts", found=repr(only), where="only")
    check_free(out, fitted_kinds(only != "forecasts", only != "vectors"), resume=resume, force=force)
    use_threads(threads)
    graph, _, _ = read_graph(file, reading, quiet)
    forecaster = None if only == "vectors" else Forecaster(forecasting, seed)
    tadge = None if only == "forecasts" else TADGE(walking, network, training, seed, device=device)
    memory = memory_plan(
        graph,
        None if forecaster is None else forecasting,
        None if tadge is None else (walking, network, training),
    )
    if not quiet:
        print(f"learning takes {memory}", file=sys.stderr)
    if not memory.fits:
        print("warning: that may be more memory than there is; other programs can be closed", file=sys.stderr)
    try:
        outcome = fit_models(
            *(graph, out, tadge, forecaster),
            resume=resume,
            force=force,
            checkpoint_seconds=checkpoint_seconds,
            progress=False if quiet else None,
        )
    except KeyboardInterrupt:
        print(f"stopped; {_kept(forecaster, out, force=force)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    report = fit_summary(graph, out, outcome.tadge, forecaster, outcome.no_vectors)
    if as_json:
        print_json(report)
    else:
        show_fit(report, graph, whole=outcome.whole)
    if outcome.tadge is not None and outcome.tadge.stopped_ == "interrupted":
        kept = "the best so far is kept" if outcome.whole else "the model that was there stays as it is"
        print(f"stopped; {kept}, and --resume goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


def _kept(forecaster: Forecaster | None, out: Path, *, force: bool) -> str:
    """Say what is left of learning that was interrupted."""
    from tadge.storage.estimator_folder import has_estimator
    from tadge.storage.replacement import ESTIMATORS

    stays = any(has_estimator(out, kind) for kind in ESTIMATORS)
    if forecaster is not None and hasattr(forecaster, "graph_"):
        return "the forecasts are kept, and --resume goes on from here"
    old = "the model that was there stays as it is" if force and stays else "nothing is kept yet"
    return f"{old}; the same command, or --resume, begins anew"


@command(long=True)
@takes(reading=ReadOptions)
def embed(
    model: Annotated[Path, typer.Argument(help="Folder that tadge fit made.")],
    out: Annotated[
        Path, typer.Option(help="File to write: .parquet, .npz, .csv, .tsv, or .txt, .vec or .w2v for word2vec text.")
    ],
    reading: ReadOptions,
    at: Annotated[
        str | None,
        typer.Option(help="As of this moment: a date (2015-06-30, 2015, yesterday), or days on the graph's clock."),
    ] = None,
    events: Annotated[
        str | None, typer.Option(help="File of a longer history of the same kind; the model's own by default.")
    ] = None,
    latest: Annotated[int, flag(LATEST)] = LATEST.default,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a vector for every node, with your ids, as of the end or of any moment.

    Only what happened until then is used. With --events the vectors come from a longer history than the model has
    learned from; nodes that are new in it are embedded through those that they link to.

    Example: tadge embed model/ --out vectors.parquet --at 2015-06-30
    """
    from tadge.embedding.estimator import TADGE
    from tadge.io.vectors import vector_form, write_vectors

    vector_form(out)
    fitted = TADGE.load(model)
    graph = fitted.graph_ if events is None else read_history(events, reading, fitted.graph_, quiet)
    vectors = fitted.embed(at=at, graph=graph, latest=latest, progress=False if quiet else None)
    write_vectors(out, graph.ids, vectors)
    if as_json:
        sizes = {"nodes": vectors.shape[0], "dim": vectors.shape[1]}
        print_json({"written": str(out), **sizes, "at": at, "graph": graph.fingerprint})
    else:
        print(f"{out}: {vectors.shape[0]:,} vectors of {vectors.shape[1]} numbers")
