"""The commands of the board for "when": to write questions, to answer them, to score answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tadge.cli.frame import AsJson, EventsFile, Quiet, app, command, flag, names_of, print_json, read_graph, takes
from tadge.cli.manners import Force, check_empty
from tadge.config import BOARD_MOMENTS, BOARD_TEST, SEQUENCE_EVENTS, ForecastConfig
from tadge.errors import ConfigError
from tadge.io.options import ReadOptions

DEFAULT_METHOD = "Forecaster"  # the method that is no baseline

board_app = typer.Typer(
    help='A board for "when": fixed questions as plain files, answers by anybody, scores.', no_args_is_help=True
)
app.add_typer(board_app, name="board")

BoardFolder = Annotated[Path, typer.Argument(metavar="BOARD", help="Folder that tadge board write made.")]
Out = Annotated[Path, typer.Option(help="Folder to write to.")]


@command(board_app)
@takes(reading=ReadOptions)
def write(
    file: EventsFile,
    reading: ReadOptions,
    out: Out,
    moments: Annotated[int, flag(BOARD_MOMENTS)] = BOARD_MOMENTS.default,
    test: Annotated[float, flag(BOARD_TEST)] = BOARD_TEST.default,
    horizons: Annotated[
        str | None,
        typer.Option(help="Horizons in days, with commas; by default an hour, a day, a week and a month."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed and data give the same questions.")] = 0,
    form: Annotated[str, typer.Option(help="Form of the files: .csv, .csv.gz or .parquet.")] = ".csv",
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the questions of a file or a known data set, and what came, into a folder.

    questions.csv has pairs as of moments of the test period, chosen by their past alone: question, src, dst, the moment
    in days, and horizon_days, how long the history goes on. truth.csv has, by question, the days until the link came
    (came 1) or to the end of the history (came 0). board.json says what they are made from, with checksums.

    Example: tadge board write bitcoin-otc --out board/bitcoin-otc
    """
    from dataclasses import asdict

    from tadge.board.questions import make_board
    from tadge.cli.inputs import data_name

    check_empty(out, force)
    graph, _, _ = read_graph(file, reading, quiet)
    asked = None if horizons is None else _numbers(horizons)
    made = make_board(graph, data_name(file), seed=seed, moments=moments, test=test, horizons=asked)
    made.write(out, form)
    if as_json:
        print_json(asdict(made.about))
    else:
        came, checksum = int(made.came.sum()), made.about.questions_sha256[:12]
        print(f"{out}: {len(made):,} questions, {came:,} links came; checksum {checksum}")


@command(board_app)
@takes(reading=ReadOptions, forecasting=ForecastConfig)
def answer(
    board: BoardFolder,
    file: EventsFile,
    reading: ReadOptions,
    forecasting: ForecastConfig,
    out: Annotated[Path, typer.Option(help="File of answers to write: .csv, .tsv or .parquet.")],
    method: Annotated[
        str,
        typer.Option(
            help="Forecaster; a baseline's name, like 'recency table' or Cox; a folder that tadge fit made; or your "
            "own Python object with within, as file.py:name."
        ),
    ] = DEFAULT_METHOD,
    seed: Annotated[int, typer.Option(help="Of the method.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let a method answer a board: it learns from what is before the test period, and is asked as of each moment.

    FILE is the data that the board was made from. A sheet of your own needs no tadge: see docs/board.md.

    Example: tadge board answer board/bitcoin-otc bitcoin-otc --method 'recency table' --out recency.csv
    """
    from tadge.board.answers import answers_of
    from tadge.board.questions import Board
    from tadge.io.export import form_of
    from tadge.progress import Bars

    form_of(out)
    questions = Board.read(board)
    graph, _, _ = read_graph(file, reading, quiet)
    questions.pairs(graph)  # complains about other data before anything is learned
    fitted = _fitted(method, graph.before(questions.about.test_from), forecasting, seed, quiet)
    with Bars(False if quiet else None).part("questions") as report:
        sheet = answers_of(fitted, questions, graph, report)
    sheet.write(questions, out)
    if as_json:
        print_json({"written": str(out), "rows": len(questions)})
    else:
        print(f"{out}: {len(questions):,} answers")


@command(board_app)
def score(
    board: BoardFolder,
    answers: Annotated[
        list[str], typer.Argument(metavar="ANSWERS...", help="Files of answers, each as FILE or NAME=FILE.")
    ],
    record: Annotated[Path | None, typer.Option(help="Also keep the scores as a JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score files of answers: every question once, every cell checked; the first is compared with the others.

    Tables: the Brier score of probabilities at each horizon; the C-index of all questions, censored ones too; and, of
    the links that came, the errors of the median, the pinball loss of the quantiles, and their coverage.

    Example: tadge board score board/bitcoin-otc mine.csv 'recency table=recency.csv'
    """
    from tadge.board.answers import read_answers
    from tadge.board.questions import Board
    from tadge.board.scoring import score_answers
    from tadge.report.evaluate import show

    questions = Board.read(board)
    sheets = {}
    for given in answers:
        name, _, path = given.partition("=") if "=" in given and not Path(given).exists() else ("", "", given)
        name = name or Path(path).name.split(".")[0]
        if name in sheets:
            expected, cure = "different names", "name them: NAME=FILE"
            raise ConfigError("two files have one name", expected=expected, found=repr(name), cure=cure)
        sheets[name] = read_answers(path, questions)
    result = score_answers(questions, sheets)
    if record is not None:
        result.to_json(record)
    if as_json:
        print_json(result.to_dict())
    else:
        show([result])


@command(board_app)
@takes(reading=ReadOptions)
def sequences(
    board: BoardFolder,
    file: EventsFile,
    reading: ReadOptions,
    out: Out,
    latest_events: Annotated[int, flag(SEQUENCE_EVENTS)] = SEQUENCE_EVENTS.default,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a board as sequences of marked events, in the JSON form that EasyTPP reads: train, dev, test.

    Marks: 0 src to dst, which is asked about; 1 dst to src; 2 src to others; 3 others to src. In test.json seq_idx is
    the number of the question.

    Example: tadge board sequences board/bitcoin-otc bitcoin-otc --out sequences/
    """
    from tadge.board.questions import Board
    from tadge.board.sequences import write_sequences

    check_empty(out, force)
    questions = Board.read(board)
    graph, _, _ = read_graph(file, reading, quiet)
    sizes = write_sequences(questions, graph, out, latest_events)
    if as_json:
        print_json(sizes)
    else:
        print(f"{out}: " + ", ".join(f"{name}.json with {count:,} sequences" for name, count in sizes.items()))


def _fitted(method: str, known: Any, forecasting: ForecastConfig, seed: int, quiet: bool) -> Any:
    """Find a method by what a user calls it, fitted to what is before the test period where it is not fitted yet."""
    from tadge.auditing.loading import find_methods

    if not quiet:
        print(f"learning from {known.num_events:,} events before the test period", file=sys.stderr)
    if method.lower() == DEFAULT_METHOD.lower():
        from tadge.forecasting.estimator import Forecaster

        return Forecaster(forecasting, seed).fit(known, progress=False if quiet else None)
    return find_methods(method, known, seed=seed, part=1.0)[0][0]


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in names_of(text)]
    except ValueError:
        expected = "numbers of days, with commas"
        raise ConfigError("not horizons", expected=expected, found=repr(text), where="horizons") from None
