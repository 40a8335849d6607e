"""Commands that judge: how good methods are, and whether one looks ahead."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tadge.cli.frame import (
    INTERRUPTED,
    AsJson,
    Device,
    EventsFile,
    Quiet,
    Threads,
    command,
    flag,
    names_of,
    print_json,
    read_graph,
    takes,
    use_threads,
)
from tadge.config import (
    AGAINST,
    CUTS,
    MAX_LINKS,
    ORIGINS,
    QUERIES,
    REFRESH,
    TIME_LIMIT,
    TOLERANCE,
    ForecastConfig,
    NetworkConfig,
    TrainConfig,
    WalkConfig,
)
from tadge.io.options import ReadOptions

CALL_NAMES = "embed, score_links, predict_toe, within, when, rank, next, surprise and overdue"
LOOKS_AHEAD = 1  # the exit code of an audit that fails


@command(main=("out", "tasks", "methods", "labels", "model", "seeds", "resume", "force"), long=True)
@takes(
    reading=ReadOptions,
    walking=WalkConfig,
    network=NetworkConfig,
    training=TrainConfig,
    forecasting=ForecastConfig,
)
def evaluate(
    file: EventsFile,
    reading: ReadOptions,
    walking: WalkConfig,
    network: NetworkConfig,
    training: TrainConfig,
    forecasting: ForecastConfig,
    out: Annotated[Path, typer.Option(help="Folder for results, models and finished parts.")] = Path("results"),
    protocol: Annotated[
        str,
        typer.Option(
            help="forecast: by time, nothing is seen too early; reconstruction: of walks, against a wrong place each; "
            "or both. The paper's own tables are made by tadge reproduce.",
            autocompletion=lambda: ["forecast", "reconstruction", "both"],
        ),
    ] = "forecast",
    tasks: Annotated[
        str,
        typer.Option(help="Tasks, with commas. within: how likely a link is within a time, and when it comes."),
    ] = "toe,links,who-and-when,within,classes",
    labels: Annotated[
        Path | None, typer.Option(help="File of id,label; known data sets that have labels need none.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Baselines, with commas; all by default; or none.")] = None,
    against: Annotated[
        str,
        typer.Option(
            help="Negatives that true links are ranked against, with commas: random, historical, all, tgb (1,000, up "
            "to half of them former targets in training, as for tgbl-uci)."
        ),
    ] = ",".join(AGAINST),
    max_links: Annotated[int, flag(MAX_LINKS)] = MAX_LINKS.default,
    origins: Annotated[int, flag(ORIGINS)] = ORIGINS.default,
    refresh: Annotated[int, flag(REFRESH)] = REFRESH.default,
    seeds: Annotated[int, typer.Option(help="How many seeds; several give error bars.", min=1)] = 1,
    refit: Annotated[bool, typer.Option("--refit", help="Learn from the first 85% before the test, not 70%.")] = False,
    control: Annotated[bool, typer.Option(help="Whether to learn from shuffled times too; first seed only.")] = True,
    model: Annotated[
        Path | None, typer.Option(help="Folder that tadge fit made, of models that have seen nothing of the test.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take what is done, go on with the rest.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace results that are there, once all new ones are.")
    ] = False,
    device: Device = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Judge Forecaster and TADGE beside every baseline and beside themselves with shuffled times.

    The tables have a row for each: "Forecaster", "TADGE (vectors)", the baselines; plain sentences say where they lose.
    Every result is a JSON file in the folder as soon as it is there, one per protocol and seed, and one of all seeds.
    Ctrl-C stops; --resume takes what is finished and goes on. With --refresh every batch is a history of its own: cheap
    for baselines and Forecaster, slow for the vectors of TADGE.

    Example: tadge evaluate edges.csv --out results/ --seeds 3
    """
    from tadge.cli.inputs import data_name, estimator_maker, labels_of
    from tadge.evaluation.config import PROTOCOLS
    from tadge.evaluation.run import evaluate_seeds
    from tadge.report.evaluate import show

    use_threads(threads)
    graph, _, _ = read_graph(file, reading, quiet)
    try:
        results = evaluate_seeds(
            estimator_maker((walking, network, training), forecasting, model, device),
            graph,
            PROTOCOLS if protocol == "both" else (protocol,),
            seeds,
            out,
            name=data_name(file),
            resume=resume,
            force=force,
            tasks=names_of(tasks),
            labels=labels_of(file, labels, graph),
            methods=None if methods is None else names_of(methods) if methods != "none" else [],
            against=names_of(against),
            max_links=max_links,
            refresh=refresh,
            origins=origins,
            refit=refit,
            control=control,
            progress=False if quiet else None,
            say=lambda line: None if quiet else print(line, file=sys.stderr),
        )
    except KeyboardInterrupt:
        print("stopped; --resume goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json([result.to_dict() for result in results])
    else:
        show(results)


@command(long=True)
@takes(reading=ReadOptions)
def audit(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A folder that tadge fit made; a baseline's name, like 'last act'; or your own Python object as "
            "file.py:name or package.module:name.",
        ),
    ],
    file: EventsFile,
    reading: ReadOptions,
    cuts: Annotated[int, flag(CUTS)] = CUTS.default,
    queries: Annotated[int, flag(QUERIES)] = QUERIES.default,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cuts and questions.")] = 0,
    tolerance: Annotated[float, flag(TOLERANCE)] = TOLERANCE.default,
    time_limit: Annotated[float, flag(TIME_LIMIT)] = TIME_LIMIT.default,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh/--no-fresh",
            help="Ask each world in a process of its own. Without, what your object keeps in a module, in the cache of "
            "a function or in a file can hide that it looks ahead.",
        ),
    ] = True,
    calls: Annotated[
        str | None, typer.Option(help=f"What to ask of it, with commas; by default all that it has of {CALL_NAMES}.")
    ] = None,
    test_from: Annotated[
        str | None,
        typer.Option(help="When your test period begins (a date, or a number of days): nothing of it may be learned."),
    ] = None,
    fit: Annotated[
        bool, typer.Option("--fit/--no-fit", help="Whether to fit your own object first, to the first 70% of FILE.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Look for signs that a method looks ahead, and show where it does.

    It is asked the same questions as of many moments, once with all of FILE there and once without what comes later
    (deleted, scrambled, doubled, at the same instant, without the ids that nobody has seen by then), each time in a
    process of its own. Every answer must be the same, bit for bit but for rounding; and it must not be able to predict
    a future that was planted. Exit code 0: passed. 1: it looks ahead. 2: it could not be asked.

    A method of your own has some of: embed(nodes, at, *, graph), score_links(src, dst, at, *, graph) and
    predict_toe(src, dst, at, *, graph, unit, statistic), where src, dst and at are arrays; it may use the events of
    graph with time <= at. Calls about time, such as within(src, dst, days, at, *, graph), are asked too. A class or
    function is called to make one; then fit(graph) is called, but for --no-fit.

    Example: tadge audit my_method.py:MyMethod edges.csv
    """
    from tadge.auditing.audit import audit as run_audit
    from tadge.auditing.loading import find_methods
    from tadge.protocols import CALLS
    from tadge.units import moment

    graph, _, _ = read_graph(file, reading, quiet)
    until = None if test_from is None else moment(test_from, graph.clock)
    reports = [
        run_audit(
            *(method, graph),
            cuts=cuts,
            queries=queries,
            seed=seed,
            tolerance=tolerance,
            time_limit=time_limit,
            fresh=fresh,
            calls=CALLS if calls is None else names_of(calls),
            train=train,
            test_from=float(graph.time[train.num_events]) if until is None and train is not None else until,
            progress=False if quiet else None,
        )
        for method, train in find_methods(what, graph, until=until, seed=seed, fit=fit)
    ]
    if as_json:
        records = [report.to_dict() for report in reports]
        print_json(records if len(records) > 1 else records[0])
    else:
        from rich.console import Console
        from rich.text import Text

        text = Text("\n\n".join(map(str, reports)))
        text.highlight_words(["FAILED"], "bold red")
        text.highlight_words(["passed"], "green")
        Console().print(text, soft_wrap=True)
    failed = [report for report in reports if not report.passed]
    if failed and as_json:
        print("\n".join(report.headline() for report in failed), file=sys.stderr)
    if failed:
        raise typer.Exit(LOOKS_AHEAD)
