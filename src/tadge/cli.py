"""The command line: one command is one public call.

Heavy imports stay inside the commands, so that help comes at once.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from tadge.config import ModelConfig, Option, TrainConfig, WalkConfig, options
from tadge.data.options import ReadOptions
from tadge.errors import ConfigError, TadgeError

BAD_INPUT, INTERRUPTED = 2, 130
LOOKS_AHEAD = 1  # the exit code of an audit that fails
MOST_EVENTS_FOR_LINKS = 1_000_000  # the best link score replays the record once per community

app = typer.Typer(
    name="tadge",
    help="Time-aware dynamic graph embedding: who will connect with whom, and after how long.",
    epilog="Start with: tadge info FILE, for any CSV of who, with whom, when.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
datasets_app = typer.Typer(help="Known data sets: list them, fetch them, find them.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not say on stderr what was found.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ...; CUDA where there is one.")]
Threads = Annotated[int | None, typer.Option(help="Threads to compute with; one per core by default.", min=1)]
EventsFile = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, TSV, SNAP text, JSON lines or Parquet; or a known data set's name.")
]


# -- options that are written once, as fields of a config -------------------------------------------------------------


PANELS = {
    "reading": "How to read the file",
    "walking": "How to walk",
    "network": "The network",
    "training": "How to train",
}


def _parameter(one: Option, panel: str) -> inspect.Parameter:
    flag = "--" + one.name.replace("_", "-")
    flags = [f"{flag}/--no-{flag[2:]}"] if one.kind is bool else [flag]
    words = one.help[0].upper() + one.help[1:] + "."
    if one.choices:
        words += f" One of: {', '.join(one.choices)}."
    kind: Any = one.kind | None if one.optional else one.kind
    if one.kind is tuple:
        kind = tuple[(float,) * len(one.default)]  # type: ignore[misc]
    shown = typer.Option(*flags, help=words, show_default=one.default is not None, rich_help_panel=panel)
    annotation = Annotated[kind, shown]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=annotation)


def takes(**configs: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some configs; it receives each config, built and checked, by name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name not in configs]
        added = {name: [_parameter(one, PANELS[name]) for one in options(config)] for name, config in configs.items()}

        @wraps(command)
        def run(**given: Any) -> None:
            for name, config in configs.items():
                given[name] = config(**{p.name: given.pop(p.name) for p in added[name]})
            command(**given)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        parameters = [*keyword, *(p for group in added.values() for p in group)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _read(file: str, reading: ReadOptions, quiet: bool) -> tuple[Any, Any, int | None]:
    """Read a file, or a known data set by its name; tell on stderr what was found."""
    from tadge.data import datasets
    from tadge.data.readers import read_with_report

    path, classes = Path(file), None
    if not path.exists() and os.sep not in file and datasets.is_known(file):
        dataset = datasets.find(file)
        path, classes = datasets.path(dataset), dataset.classes
        told = {one.name for one in options(reading) if getattr(reading, one.name) != one.default}
        known: dict[str, Any] = {name: value for name, value in dataset.reader.items() if name not in told}
        reading = dataclasses.replace(reading, **known)
    graph, report = read_with_report(path, reading)
    if not quiet:
        print(report.line(), file=sys.stderr)
    return graph, report, classes


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


# -- commands ---------------------------------------------------------------------------------------------------------


@app.command()
@takes(reading=ReadOptions)
def info(file: EventsFile, reading: ReadOptions, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show what a file of timed links holds: Table 1's row, the histogram of ToE, and what looks odd.

    Columns, header, delimiter, ids and time unit are found; say them where the guess is wrong.

    Example: tadge info edges.csv --time when --unit ms
    """
    from tadge.report.info import render, summary

    graph, report, classes = _read(file, reading, quiet)
    found = summary(graph, report, classes)
    if as_json:
        _print_json(found)
        return
    from rich.console import Console

    Console().print(render(found))


@app.command()
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
    from tadge.data.export import check_times, form_of, write_events

    form_of(out)
    check_times(times)
    graph, report, _ = _read(file, reading, quiet)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    written = write_events(graph, out, times)
    if as_json:
        _print_json({"written": str(written), "events": graph.num_events, "rows": report.rows})
    else:
        print(f"{written}: {graph.num_events:,} events written")


@app.command()
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

    from tadge.data import synthetic
    from tadge.data.export import form_of, to_polars, write_events, write_frame

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
        _print_json({**paths, **sizes, "seed": seed, "toe_rmse": dataclasses.asdict(toe), "best_link_mrr": links})
        return
    said = [f"{out or 'stdout'}: {made.graph.num_events:,} events of {made.graph.num_nodes:,} nodes, seed {seed}"]
    if labels is not None:
        said.append(f"{labels}: the community of each node")
    said += [
        f"ToE error, RMSE in squashed days: at best {toe.floor:.4f} (the thread's pace known), {toe.history:.4f} from",
        f"the thread's past, {toe.community:.4f} from the community's mean, {toe.constant:.4f} from one constant",
        "Links: tadge.synthetic.best_link_mrr tells the best possible score; it takes minutes at this size"
        if links is None
        else f"Links, MRR against 100 random others: at best {links:.4f}",
    ]
    print("\n".join(said), file=sys.stdout if out else sys.stderr)


@app.command()
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
    threads: Annotated[int | None, typer.Option(help="Threads to walk with; one per core by default.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Sample temporal walks: from a node's joining time on to those who linked to it, and on from there.

    One row of the file is one walk: nodes (your ids), their joining times, and for every step its ToE and its event.
    Ctrl-C leaves the finished parts readable in a folder beside the file; --resume goes on to the same result.

    Example: tadge walk edges.csv --out walks.parquet --num-walks 10000
    """
    from tadge.data.download import progress_bar
    from tadge.walks.store import check_name, write_walks

    if lengths:
        _walk_lengths(file, reading, walking, seed, threads, as_json, quiet)
        return
    if out is None:
        raise ConfigError("no file to write", cure="say --out walks.parquet, or --lengths for a report")
    check_name(out)
    graph, _, _ = _read(file, reading, quiet)
    with progress_bar("walks", not quiet, in_bytes=False) as show:
        written = write_walks(
            *(graph, out, walking, seed),
            resume=resume,
            threads=threads,
            report=lambda made, starts: show(made, walking.num_walks),
        )
    if as_json:
        _print_json({**dataclasses.asdict(written), "path": str(out), "seed": seed, "graph": graph.fingerprint})
        return
    print(f"{out}: {written.walks:,} walks from {written.starts_used:,} starts, seed {seed}")
    if written.resumed:
        print(f"{written.resumed:,} of them were made by an earlier run")
    if written.note:
        print(f"note: {written.note}")


def _walk_lengths(
    file: str, reading: ReadOptions, walking: WalkConfig, seed: int, threads: int | None, as_json: bool, quiet: bool
) -> None:
    from tadge.walks import free_length_distribution

    graph, _, _ = _read(file, reading, quiet)
    found = free_length_distribution(graph, walking, seed, threads=threads)
    if as_json:
        cut = found.at_most(walking.max_length)
        _print_json({"starts": found.num_starts, "counts": found.counts.tolist(), "share_within_max_length": cut})
    else:
        print(found)


@app.command()
@takes(reading=ReadOptions, walking=WalkConfig, network=ModelConfig, training=TrainConfig)
def fit(
    file: EventsFile,
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    reading: ReadOptions,
    walking: WalkConfig,
    network: ModelConfig,
    training: TrainConfig,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run stopped.")] = False,
    checkpoint_seconds: Annotated[float, typer.Option(help="Time between two checkpoints.", min=0.0)] = 60.0,
    device: Device = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn vectors from a file of timed links, and keep the model in a folder.

    The folder holds all that is needed later: the vectors, the network and the events. Ctrl-C stops and keeps the best
    so far; --resume then goes on, to the same model as if nothing had happened.

    Example: tadge fit edges.csv --out model/ --epochs 10
    """
    import torch

    from tadge.embedder import TADGE, fit_folder
    from tadge.report.fit import render, summary

    if threads is not None:
        torch.set_num_threads(threads)
    graph, _, _ = _read(file, reading, quiet)
    model = TADGE(walking, network, training, seed, device=device)
    progress = None if not quiet else False
    fit_folder(model, graph, out, resume=resume, checkpoint_seconds=checkpoint_seconds, progress=progress)
    found = summary(model) | {"path": str(out)}
    if as_json:
        _print_json(found)
    else:
        from rich.console import Console

        Console().print(render(found))
    if model.stopped_ == "interrupted":
        print("stopped; the best so far is kept, and --resume goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)


@app.command()
@takes(reading=ReadOptions)
def embed(
    model: Annotated[Path, typer.Argument(help="Folder of a model that tadge fit made.")],
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .npz, or .txt, .vec or .w2v for word2vec text.")],
    reading: ReadOptions,
    at: Annotated[
        str | None, typer.Option(help="As of this moment: a date, or a number of days on the graph's clock.")
    ] = None,
    events: Annotated[
        str | None, typer.Option(help="File of a longer history of the same kind; the model's own by default.")
    ] = None,
    latest: Annotated[int, typer.Option(help="Latest occurrences that a node is the mean of.", min=1)] = 5,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a vector for every node, with your ids, as of the end or of any moment.

    Only what happened until then is used. With --events the vectors come from a longer history than the model has
    learned from; nodes that are new in it are embedded through those that they link to.

    Example: tadge embed model/ --out vectors.parquet --at 2015-06-30
    """
    from tadge.embedder import TADGE
    from tadge.train.vectors import vector_form, write_vectors

    vector_form(out)
    fitted = TADGE.load(model)
    graph = fitted.graph_ if events is None else _read(events, reading, quiet)[0]
    vectors = fitted.embed(at=_moment_of(at), graph=graph, latest=latest, progress=False if quiet else None)
    write_vectors(out, graph.ids, vectors)
    if as_json:
        sizes = {"nodes": vectors.shape[0], "dim": vectors.shape[1]}
        _print_json({"written": str(out), **sizes, "at": at, "graph": graph.fingerprint})
    else:
        print(f"{out}: {vectors.shape[0]:,} vectors of {vectors.shape[1]} numbers")


def _moment_of(text: str | None) -> float | str | None:
    """Take a number as a number, anything else as a date."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


@app.command()
@takes(reading=ReadOptions, walking=WalkConfig, network=ModelConfig, training=TrainConfig)
def evaluate(
    file: EventsFile,
    reading: ReadOptions,
    walking: WalkConfig,
    network: ModelConfig,
    training: TrainConfig,
    out: Annotated[Path, typer.Option(help="Folder for results, models and finished parts.")] = Path("results"),
    protocol: Annotated[
        str, typer.Option(help="forecast: by time, nothing is seen too early; paper: as in the paper; or both.")
    ] = "forecast",
    tasks: Annotated[str, typer.Option(help="Tasks, with commas.")] = "toe,links,who-and-when,classes",
    labels: Annotated[
        Path | None, typer.Option(help="File of id,label; known data sets that have labels need none.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Baselines, with commas; all by default; or none.")] = None,
    against: Annotated[
        str, typer.Option(help="What true links are ranked against, with commas: random, historical, all.")
    ] = "random,historical",
    most: Annotated[
        int, typer.Option(help="Links asked about where the test has more, drawn by the seed; 0: all.", min=0)
    ] = 20_000,
    seeds: Annotated[int, typer.Option(help="How many seeds; several give error bars.", min=1)] = 1,
    refit: Annotated[bool, typer.Option("--refit", help="Learn from the first 85% before the test, not 70%.")] = False,
    control: Annotated[bool, typer.Option(help="Whether to learn from shuffled times too; first seed only.")] = True,
    model: Annotated[
        Path | None, typer.Option(help="Folder of a model that has seen nothing of the test; else one is fitted.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take what is done, go on with the rest.")] = False,
    device: Device = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Judge a model beside every free baseline and beside itself with shuffled times; say plainly where it loses.

    Every result is a JSON file in the folder as soon as it is there, one per protocol and seed, and one of all seeds.
    Ctrl-C stops; --resume takes what is finished and goes on.

    Example: tadge evaluate edges.csv --out results/ --seeds 3
    """
    from tadge.evaluate.run import PROTOCOLS, evaluate_seeds
    from tadge.report.evaluate import data_name, labels_of, model_maker, show

    graph, _, _ = _read(file, reading, quiet)
    try:
        results = evaluate_seeds(
            model_maker(walking, network, training, model, device, threads),
            graph,
            PROTOCOLS if protocol == "both" else (protocol,),
            seeds,
            out,
            name=data_name(file),
            resume=resume,
            tasks=_names(tasks),
            labels=labels_of(file, labels, graph),
            methods=None if methods is None else _names(methods) if methods != "none" else [],
            negatives=_names(against),
            most=most,
            refit=refit,
            control=control,
            progress=False if quiet else None,
            say=lambda text: None if quiet else print(text, file=sys.stderr),
        )
    except KeyboardInterrupt:
        print("stopped; --resume goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        _print_json([result.to_dict() for result in results])
    else:
        show(results)


def _names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


@app.command()
@takes(reading=ReadOptions)
def audit(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A model's folder; a baseline's name, like 'last act'; or your own Python object as file.py:name or "
            "package.module:name.",
        ),
    ],
    file: EventsFile,
    reading: ReadOptions,
    cuts: Annotated[int, typer.Option(help="Moments at which to cut the future off.", min=1)] = 100,
    queries: Annotated[int, typer.Option(help="Questions at each of them.", min=1)] = 64,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cuts and questions.")] = 0,
    tolerance: Annotated[float, typer.Option(help="Largest difference between two answers that passes.")] = 0.0,
    calls: Annotated[str, typer.Option(help="What to ask of it, with commas.")] = "embed,score_links,predict_toe",
    test_from: Annotated[
        str | None,
        typer.Option(help="When your test period begins (a date, or a number of days): nothing of it may be learned."),
    ] = None,
    refit: Annotated[
        bool, typer.Option("--fit/--no-fit", help="Whether to fit your own object first, to the first 70% of FILE.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Prove that a method does not look ahead, or show where it does.

    It is asked the same questions as of many moments, once with all of FILE there and once without what comes later
    (deleted, scrambled, doubled, at the same instant). Every answer must be the same, bit for bit; and it must not be
    able to guess a future that was planted. Exit code 0: passed. 1: it looks ahead. 2: it could not be asked.

    A method of your own has some of: embed(nodes, at, *, graph), score_links(src, dst, at, *, graph) and
    predict_toe(src, dst, at, *, graph, squashed), where src, dst and at are arrays; it may use the events of graph
    with time <= at. A class or function is called to make one; then fit(graph) is called, unless you say --no-fit.

    Example: tadge audit my_method.py:MyMethod edges.csv
    """
    from tadge.evaluate.audit import audit as run_audit
    from tadge.evaluate.loading import find_method
    from tadge.units import moment

    graph, _, _ = _read(file, reading, quiet)
    begin = _moment_of(test_from)
    until = None if begin is None else moment(begin, graph.clock)
    method, train = find_method(what, graph, until=until, seed=seed, fit=refit)
    if until is None and train is not None:
        until = float(graph.time[train.num_events])
    report = run_audit(
        *(method, graph),
        cuts=cuts,
        queries=queries,
        seed=seed,
        tolerance=tolerance,
        calls=_names(calls),
        train=train,
        test_from=until,
        progress=not quiet,
    )
    if as_json:
        _print_json(report.to_dict())
    else:
        from rich.console import Console
        from rich.text import Text

        text = Text(str(report))
        text.highlight_words(["FAILED"], "bold red")
        text.highlight_words(["passed"], "green")
        Console().print(text, soft_wrap=True)
    if not report.passed:
        if as_json:
            print(report.headline(), file=sys.stderr)
        raise typer.Exit(LOOKS_AHEAD)


@datasets_app.command("list")
def datasets_list(as_json: AsJson = False) -> None:
    """List the known data sets, and which of them are here."""
    from tadge.data import datasets

    rows = [datasets.as_dict(one) for one in datasets.list_datasets()]
    if as_json:
        _print_json(rows)
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
    """Fetch a data set into the cache, checked by size and checksum; go on where a download was cut."""
    from tadge.data import datasets

    place = datasets.get(name)
    if as_json:
        _print_json({"name": datasets.find(name).name, "path": str(place)})
    else:
        print(place)


@datasets_app.command("path")
def datasets_path(name: Annotated[str, typer.Argument(help="Name, as in the list.")], as_json: AsJson = False) -> None:
    """Print where a data set is: in the folder TADGE_DATA names, or in the cache."""
    from tadge.data import datasets

    place = datasets.path(name)
    if as_json:
        _print_json({"name": datasets.find(name).name, "path": str(place)})
    else:
        print(place)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tadge {version('tadge')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; one sentence and exit code 2 for bad input, 130 for Ctrl-C, never a traceback."""
    try:
        app()
    except TadgeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        print("error: not enough memory; use a smaller file or a larger machine", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("TADGE_DEBUG"):
            raise
        print(
            f"error: something unforeseen ({type(error).__name__}: {error}); TADGE_DEBUG=1 shows where", file=sys.stderr
        )
        sys.exit(1)
