"""The stages of a run, each of which leaves its part in the folder: forecasts first, then figures, then vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from tadge.baselines import BASELINES
from tadge.embedding.estimator import TADGE
from tadge.errors import ConfigError, InputError, TrainingError
from tadge.evaluation.result import Result
from tadge.evaluation.run import evaluate
from tadge.forecasting.estimator import Forecaster
from tadge.graph.graph import TemporalGraph
from tadge.graph.split import split_by_time
from tadge.io.export import write_frame
from tadge.io.spreadsheets import apostrophes_note, write_answers
from tadge.io.vectors import write_vectors
from tadge.progress import Bars
from tadge.running import cost
from tadge.running.cost import Stage
from tadge.running.folder import (
    EVALUATION,
    FORECAST_CSV,
    FORECAST_TABLE,
    JUDGING_FOLDER,
    VECTOR_TABLE,
    RunFolder,
)
from tadge.running.forecasts import forecast_all
from tadge.running.options import RunConfig
from tadge.units import duration_text

NOT_FREE = ("DeepWalk", "majority", "degree + age")  # these learn vectors, or answer about classes alone
RULES = tuple(name for name in BASELINES if name not in NOT_FREE)
JUDGED_TASKS = ("toe", "links", "within")  # ToE not of two-sided data: there it is the age of the target
MOST_LINKS = 5_000  # test events asked about
ABOUT_FORECASTS = "about_forecasts"  # in the record


@dataclass
class Work:
    """Hold what all stages need.

    Attributes:
        graph: what happened.
        config: what the run is asked for.
        folder: where everything goes.
        deadline: when the budget is over, on the clock of `time.monotonic`.
        progress: whether to show bars; None: where people can see them.
        say: is told what is done, line by line.
    """

    graph: TemporalGraph
    config: RunConfig
    folder: RunFolder
    deadline: float
    progress: bool | None
    say: Callable[[str], None]

    @property
    def left(self) -> float:
        """Give the seconds that are left of the budget."""
        return self.deadline - time.monotonic()

    @property
    def slower(self) -> float:
        """Tell how much longer the Forecaster took to learn than was expected."""
        took = self.folder.record["stages"][Stage.FORECASTER]["seconds"]
        return float(took) / cost.expected_seconds(Stage.FORECASTER, self.graph.num_events)


# -- forecasts --------------------------------------------------------------------------------------------------------


def learn_forecaster(work: Work) -> Forecaster:
    """Fit the Forecaster to the whole history, or take the one that is in the folder."""
    forecaster = Forecaster(work.config.forecasting, work.config.seed)
    if work.folder.done(Stage.FORECASTER):
        return forecaster.fit_folder(work.graph, work.folder.model, resume=True, progress=work.progress)
    with work.folder.stage(Stage.FORECASTER):
        forecaster.fit_folder(work.graph, work.folder.model, resume=True, progress=work.progress)
    return forecaster


def write_forecasts(work: Work, forecaster: Forecaster) -> pl.DataFrame:
    """Forecast the next links of all active nodes, into a Parquet file and a CSV."""
    place, table = work.folder.place, FORECAST_TABLE
    if work.folder.done(Stage.FORECASTS) and (place / table).is_file() and (place / FORECAST_CSV).is_file():
        return pl.read_parquet(place / table)
    config = work.config
    with (
        work.folder.stage(Stage.FORECASTS) as about,
        Bars(work.progress) as bars,
        bars.part("next links of active nodes") as report,
    ):
        made = forecast_all(forecaster, config.days, config.k, config.seed, report)
        write_frame(made.table, place / table)
        formulas = write_answers(made.table, place / FORECAST_CSV)
        about["about"] = made.about
    if formulas:
        work.say(apostrophes_note(place / FORECAST_CSV, formulas))
    work.folder.record[ABOUT_FORECASTS] = made.about
    work.folder.write()
    return made.table


# -- figures ----------------------------------------------------------------------------------------------------------


def judge(work: Work, vectors: TADGE | None = None) -> Result | None:
    """Judge the Forecaster, and vectors where they are given, on the last 15% of the events, beside simple rules.

    What the Forecaster and the rules have answered is kept until the end of the run, so that nothing is asked twice.
    None where the history is too short to be judged, or the budget is over.
    """
    folder, stage = work.folder, Stage.JUDGING if vectors is None else Stage.JUDGING_VECTORS
    if folder.done(stage) and (folder.place / EVALUATION).is_file():
        return Result.from_json(folder.place / EVALUATION)
    models: list[Any] = [Forecaster(work.config.forecasting, work.config.seed)]
    if vectors is not None:
        models.append(vectors)
    elif not _in_time(work, stage, cost.expected_seconds(stage, work.graph.num_events)):
        return None
    try:
        with folder.stage(stage) as about:
            result = evaluate(
                models,
                work.graph,
                seed=work.config.seed,
                methods=RULES,
                folder=folder.place / JUDGING_FOLDER,
                progress=work.progress,
                tasks=[task for task in JUDGED_TASKS if not (task == "toe" and work.graph.bipartite)],
                max_links=MOST_LINKS,
                control=False,
                name=folder.record["name"],
            )
            result.to_json(folder.place / EVALUATION)
            if vectors is not None:
                about["note"] = _judged_epochs(vectors)
    except InputError as error:
        folder.skip(stage, f"this history is too short to be judged ({error.what})")
        work.say(f"not judged: {folder.note(stage)}")
        return None
    return result


def _judged_epochs(vectors: TADGE) -> str:
    count = len(vectors.history_)
    return f"the vectors that were judged had {count} epoch{'s' * (count != 1)} on the first 70% of the events"


def _in_time(work: Work, stage: str, seconds: float) -> bool:
    """Tell whether a stage fits into what is left of the budget; where not, say and write down so."""
    needed = seconds * min(max(work.slower, 1 / cost.SLOWEST), cost.SLOWEST)
    if needed <= work.left:
        return True
    left = duration_text(max(work.left, 0.0))
    why = f"it would take about {duration_text(needed)}, and {left} of the budget are left"
    work.folder.skip(stage, why)
    work.say(f"left out: {cost.STAGES_IN_WORDS[stage]}; {why}")
    return False


# -- vectors ----------------------------------------------------------------------------------------------------------


def learn_vectors(work: Work) -> TADGE | None:
    """Learn vectors of all nodes for as many epochs as the budget leaves time for, and write them into a file.

    None where there is no time for an epoch, or where the history has no walks to learn from.
    """
    folder, config, events = work.folder, work.config, work.graph.num_events
    epochs = folder.record.get("epochs") or cost.epochs_in(work.left, events, config, work.slower)
    if not epochs and not _in_time(work, Stage.VECTORS, cost.vector_seconds(1, events, config) / cost.FINAL_PART):
        return None
    folder.record["epochs"] = epochs = max(epochs, 1)
    folder.write()
    model = _tadge(config, epochs)
    if folder.done(Stage.VECTORS) and (folder.place / VECTOR_TABLE).is_file():
        return TADGE.load(folder.model, device=config.device)
    try:
        with folder.stage(Stage.VECTORS) as about:
            seconds = max(work.left * cost.FINAL_PART, 1.0)
            model.fit_folder(work.graph, folder.model, resume=True, seconds=seconds, progress=work.progress)
            if model.stopped_ == "interrupted":
                raise KeyboardInterrupt
            write_vectors(folder.place / VECTOR_TABLE, work.graph.ids, model.embed(progress=False))
            about["stopped"], about["epochs"] = model.stopped_, len(model.history_)
            if model.stopped_ == "budget":
                about["note"] = f"the budget was over after {len(model.history_)} of {epochs} epochs"
    except (ConfigError, InputError, TrainingError) as error:
        why = "this history has too few walks to learn from"
        why = f"training failed, {error.what}" if isinstance(error, TrainingError) else why
        folder.skip(Stage.VECTORS, why)
        work.say(f"no vectors: {why}; the forecasts do not need them")
        return None
    return model


def learn_judged_vectors(work: Work, vectors: TADGE) -> TADGE | None:
    """Learn vectors from the first 70% of the events, to be judged; with as many epochs as the others had."""
    folder, epochs = work.folder, max(len(vectors.history_), 1)
    if not folder.done(Stage.JUDGING):
        return None
    needed = cost.vector_seconds(1, work.graph.num_events, work.config)
    if not folder.done(Stage.JUDGING_VECTORS) and not _in_time(work, Stage.JUDGING_VECTORS, needed):
        return None
    model, early = _tadge(work.config, epochs), split_by_time(work.graph).train
    try:
        place = folder.place / JUDGING_FOLDER / "vectors"
        model.fit_folder(early, place, resume=True, seconds=max(0.7 * work.left, 1.0), progress=work.progress)
    except (ConfigError, InputError, TrainingError):
        folder.skip(Stage.JUDGING_VECTORS, "the first 70% of the events are too few to learn vectors from")
        return None
    if model.stopped_ == "interrupted":
        raise KeyboardInterrupt
    return model


def _tadge(config: RunConfig, epochs: int) -> TADGE:
    training = replace(config.training, epochs=epochs)
    return TADGE(config.walking, config.network, training, config.seed, device=config.device)
