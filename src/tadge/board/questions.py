"""A board: fixed questions about when links come, and what came, as plain files that anybody can read and answer.

A question is a pair as of a moment of the test period, chosen by its past alone: see `draw_pairs`. It asks how likely
src links to dst within each of a few horizons, and after how long, given that it does by the end of the history.
Questions follow from the data, the seed and a few numbers; checksums in `board.json` tell whether files are still they.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tadge.arrays import Days, Flags, Ints
from tadge.baselines.drawn_pairs import DrawnPairs, draw_pairs
from tadge.config import BOARD_MOMENTS, BOARD_TEST
from tadge.errors import ConfigError, InputError
from tadge.evaluation.within_questions import in_words
from tadge.features.tables import Scales
from tadge.forecasting.waits import next_links
from tadge.graph.graph import TemporalGraph
from tadge.graph.inputs import check_kind, node_numbers
from tadge.io.export import id_series, write_frame
from tadge.io.id_rows import as_id
from tadge.io.string_columns import numbers_in, read_strings
from tadge.seeding import check_seed
from tadge.storage.atomic import atomic_file
from tadge.version import __version__

FORMS = (".csv", ".csv.gz", ".parquet")
ABOUT, QUESTIONS, TRUTH = "board.json", "questions", "truth"
DIGITS = 8  # moments are written to about this fraction of the span, in powers of ten
QUESTION, HORIZON = "question", "horizon_days"
QUANTILES = {"q2.5": 0.025, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q97.5": 0.975}  # columns of answers, and their levels


@dataclass(frozen=True)
class BoardAbout:
    """Say what a board is made from, as plain values.

    Attributes:
        name: of the data.
        fingerprint: of the graph.
        nodes: how many.
        events: how many.
        clock: "unix": moments are days since 1970; "own": days on the data's own clock.
        seed: of the questions.
        moments: that were drawn.
        test: fraction of the events that the test period has.
        test_from: when it begins, in days; whoever answers has learned from nothing of then or later.
        end: when the history ends, in days.
        horizons: in days, of the probabilities that are asked for.
        questions: how many.
        questions_sha256: of the questions as CSV.
        truth_sha256: of the truth as CSV.
        version: of tadge, that drew them.
    """

    name: str
    fingerprint: str
    nodes: int
    events: int
    clock: str
    seed: int
    moments: int
    test: float
    test_from: float
    end: float
    horizons: tuple[float, ...]
    questions: int
    questions_sha256: str
    truth_sha256: str
    version: str

    @property
    def probability_columns(self) -> dict[str, float]:
        """Give the columns of answers that hold probabilities, and the horizon of each in days."""
        return {f"within_{in_words(days).replace(' ', '_')}": days for days in self.horizons}


@dataclass(frozen=True, eq=False)
class Board:
    """Hold the questions of a board and what came, Q each, in order of the moments.

    Attributes:
        about: what it is made from.
        src: (Q,) ids as strings.
        dst: (Q,) ids as strings.
        at: (Q,) days; what happened until then, that moment included, is known.
        horizon: (Q,) days from the moment to the end of the history.
        days: (Q,) until the link came, or to the end of the history.
        came: (Q,) whether it did.
    """

    about: BoardAbout
    src: npt.NDArray[Any]
    dst: npt.NDArray[Any]
    at: Days
    horizon: Days
    days: Days
    came: Flags

    def __len__(self) -> int:
        return int(self.at.size)

    @property
    def questions(self) -> Ints:
        """Give the number of each question, from 1."""
        return np.arange(1, len(self) + 1)

    def pairs(self, graph: TemporalGraph) -> tuple[Ints, Ints]:
        """Find the nodes of the questions in the graph that the board was made from, (Q,) node numbers each."""
        check_kind(graph, TemporalGraph, "graph")
        if graph.fingerprint != self.about.fingerprint:
            expected, found = f"{self.about.name}, fingerprint {self.about.fingerprint}", graph.fingerprint
            cure = "read the same data in the same way"
            raise InputError("other data than the board's", expected=expected, found=found, cure=cure, where="graph")
        ends = ((self.src, "src", "source"), (self.dst, "dst", "target"))
        src, dst = (node_numbers(graph, [as_id(graph, one) for one in ids], name, side) for ids, name, side in ends)
        return src, dst

    def question_frame(self) -> pl.DataFrame:
        """Give the questions as a table."""
        moment = "unix_days" if self.about.clock == "unix" else "time_days"
        ends = {"src": pl.Series(self.src, dtype=pl.String), "dst": pl.Series(self.dst, dtype=pl.String)}
        return pl.DataFrame({QUESTION: self.questions, **ends, moment: self.at, HORIZON: self.horizon})

    def truth_frame(self) -> pl.DataFrame:
        """Give what came as a table."""
        return pl.DataFrame({QUESTION: self.questions, "days": self.days, "came": self.came.astype(np.int8)})

    def write(self, folder: str | PathLike[str], form: str = FORMS[0]) -> None:
        """Write the board into a folder: `questions` and `truth` in a form such as .csv, and `board.json`."""
        place = Path(folder)
        if form not in FORMS:
            raise ConfigError("unknown kind of file", expected=", ".join(FORMS), found=repr(form), where="form")
        if place.exists() and not place.is_dir():
            raise InputError("this is not a folder", expected="a folder for the board", where=str(folder))
        others = [place / f"{part}{other}" for part in (QUESTIONS, TRUTH) for other in FORMS if other != form]
        kept = [str(other) for other in others if other.exists()]
        if kept:
            cure = "name another folder, or remove it"
            raise InputError("there is a board of another form", found=kept[0], cure=cure, where="out")
        write_frame(self.question_frame(), place / f"{QUESTIONS}{form}")
        write_frame(self.truth_frame(), place / f"{TRUTH}{form}")
        text = json.dumps(asdict(self.about), indent=1, ensure_ascii=False, allow_nan=False)
        with atomic_file(place / ABOUT, "w") as file:
            file.write(text + "\n")

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Board:
        """Read a board that `write` wrote; refuse files that are not those that were written."""
        place = Path(folder)
        about = _read_about(place / ABOUT)
        moment = "unix_days" if about.clock == "unix" else "time_days"
        questions, where = _read_part(place, QUESTIONS, ("src", "dst", moment, HORIZON))
        truth, where_truth = _read_part(place, TRUTH, ("days", "came"))
        at, horizon = (numbers_in(questions, name, where) for name in (moment, HORIZON))
        days, came = (numbers_in(truth, name, where_truth) for name in ("days", "came"))
        if at.size != days.size:
            expected, found = f"{at.size:,} rows, as there are questions", f"{days.size:,}"
            raise InputError("questions and truth differ", expected=expected, found=found, where=where_truth)
        ends = questions["src"].to_numpy(), questions["dst"].to_numpy()
        board = cls(about, *ends, at, horizon, days, came > 0)
        for checksum, frame, file in (
            (about.questions_sha256, board.question_frame(), where),
            (about.truth_sha256, board.truth_frame(), where_truth),
        ):
            if checksum_of(frame) != checksum:
                cure = "write the board anew"
                raise InputError("not what was written", expected=f"checksum {checksum[:12]}...", cure=cure, where=file)
        return board


def make_board(
    graph: TemporalGraph,
    name: str,
    *,
    seed: int = 0,
    moments: int = BOARD_MOMENTS.default,
    test: float = BOARD_TEST.default,
    horizons: Sequence[float] | None = None,
) -> Board:
    """Make the board of a graph; the same data and numbers give the same board.

    Args:
        graph: the whole history.
        name: of the data.
        seed: of the questions.
        moments: how many to draw; each has up to fourteen pairs.
        test: the fraction of the events, the last ones, that moments are drawn from.
        horizons: in days, ascending, of the probabilities to ask for; an hour, a day, a week and a month by default, or
            parts of the span where all is over in days, or takes ages.
    """
    check_kind(graph, TemporalGraph, "graph")
    moments, test = BOARD_MOMENTS.check(moments), BOARD_TEST.check(test)
    if graph.num_events < 2 or graph.time[0] == graph.time[-1]:
        raise InputError("nothing to ask about", expected="a history with several instants", found="one", where="graph")
    begin = float(graph.time[min(round(graph.num_events * (1 - test)), graph.num_events - 1)])
    known = graph.before(begin)
    if not known.num_events or begin == graph.time[-1]:
        cure = "choose another test fraction: events of one instant stay together"
        raise InputError("the test period cannot be told from the rest", found="one instant", cure=cure, where="test")
    asked = _checked_horizons(Scales.of(known).decay_days if horizons is None else horizons)
    pairs = _rounded(graph, draw_pairs(graph, check_seed(seed), "board", moments, begin, float(graph.time[-1])))
    if not pairs.src.size:
        raise InputError("no question could be drawn", cure="draw more moments", where="moments")
    ids = (id_series(graph, nodes).cast(pl.String).to_numpy() for nodes in (pairs.src, pairs.dst))
    end = float(graph.time[-1])
    sizes = {"nodes": graph.num_nodes, "events": graph.num_events, "clock": graph.clock, "seed": seed}
    periods = {"moments": moments, "test": test, "test_from": begin, "end": end, "horizons": asked}
    checksums = {"questions": pairs.src.size, "questions_sha256": "", "truth_sha256": "", "version": __version__}
    about: dict[str, Any] = {"name": name, "fingerprint": graph.fingerprint} | sizes | periods | checksums
    columns = *ids, pairs.at, pairs.left, pairs.passed, pairs.came
    board = Board(BoardAbout(**about), *columns)
    about["questions_sha256"] = checksum_of(board.question_frame())
    about["truth_sha256"] = checksum_of(board.truth_frame())
    return Board(BoardAbout(**about), *columns)


def checksum_of(frame: pl.DataFrame) -> str:
    """Compute the SHA-256 of a table as CSV."""
    return sha256(frame.write_csv().encode()).hexdigest()


def _rounded(graph: TemporalGraph, pairs: DrawnPairs) -> DrawnPairs:
    """Put moments in order, each a little later, so that they take few digits; never earlier than what chose the pair.

    What came is then found anew: an event in between is known, and no answer any more.
    """
    end = float(graph.time[-1])
    digits = max(0, DIGITS - math.floor(math.log10(end - float(graph.time[0]))))
    at = np.ceil(pairs.at * 10.0**digits) / 10.0**digits
    at = np.where(at < pairs.at, np.ceil(pairs.at * 10.0**digits + 1) / 10.0**digits, at)
    left = end - at
    chosen = np.argsort(at, kind="stable")
    chosen = chosen[left[chosen] > 0]
    src, dst, at, left = pairs.src[chosen], pairs.dst[chosen], at[chosen], left[chosen]
    wait = next_links(graph, src, dst, at)
    return DrawnPairs(src, dst, at, wait, left)


def _checked_horizons(horizons: Sequence[float]) -> tuple[float, ...]:
    given = np.asarray(horizons, np.float64)
    if given.ndim != 1 or not given.size or not (np.isfinite(given) & (given > 0)).all() or (np.diff(given) <= 0).any():
        expected = "numbers of days above 0, ascending"
        raise ConfigError("not horizons", expected=expected, found=repr(horizons)[:80], where="horizons")
    return tuple(given.tolist())


def _read_about(place: Path) -> BoardAbout:
    cure = "name a folder that tadge board write made"
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
        about = BoardAbout(**record | {"horizons": tuple(record["horizons"])})
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", cure=cure, where=str(place)) from None
    except (ValueError, TypeError, KeyError):
        raise InputError("not a board", expected=f"a {ABOUT} that was written", cure=cure, where=str(place)) from None
    return about


def _read_part(place: Path, part: str, names: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Read the questions or the truth, whatever their form, and say where."""
    found = next((file for form in FORMS if (file := place / f"{part}{form}").exists()), None)
    if found is None:
        cure = "write the board anew"
        raise InputError(f"there is no file of the {part}", expected=f"{part}.csv", cure=cure, where=str(place))
    return read_strings(found, (QUESTION, *names)), str(found)
