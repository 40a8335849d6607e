"""`run`: read, say what was understood, forecast first, judge, learn vectors while there is time, write a page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from tadge.embedding.estimator import TADGE
from tadge.errors import InputError
from tadge.evaluation.result import Result
from tadge.forecasting.estimator import Forecaster
from tadge.graph.graph import TemporalGraph
from tadge.io.export import write_events
from tadge.io.options import ReadOptions
from tadge.io.paths import files_name
from tadge.io.readers import ReadReport, read_with_report
from tadge.page.content import Material
from tadge.page.parts import plural
from tadge.page.write import write_page
from tadge.running import stages
from tadge.running.cost import Plan, Stage, make_plan
from tadge.running.example import EXAMPLE, beside_the_law
from tadge.running.folder import PAGE_FILE, open_run
from tadge.running.memory import MemoryPlan, memory_plan
from tadge.running.options import RunConfig
from tadge.running.words import first_answers, questions_to_paste, understood
from tadge.synthetic import Desk, desk
from tadge.units import duration_text

DEFAULT_RUN = RunConfig()
LAW = "law"  # in the record: how near forecasts come to a known law


@dataclass(frozen=True, eq=False)
class RunResult:
    """Hold what a run came to.

    Attributes:
        folder: where everything is.
        graph: what happened.
        plan: what was to be expected of the run.
        forecaster: who links to whom, how likely and when; None of a dry run.
        vectors: the TADGE; None where there was no time for it, or nothing to learn from.
        forecasts: the next links of all active nodes; None of a dry run.
        evaluation: how good both are on the last 15% of the events; None where that was not judged.
        record: what `run.json` holds: settings, stages with seconds and memory, versions.
    """

    folder: Path
    graph: TemporalGraph
    plan: Plan
    forecaster: Forecaster | None = None
    vectors: TADGE | None = None
    forecasts: pl.DataFrame | None = None
    evaluation: Result | None = None
    record: dict[str, Any] | None = None

    @property
    def report(self) -> Path:
        """Give the page."""
        return self.folder / PAGE_FILE

    def __repr__(self) -> str:
        made = [("forecasts", self.forecaster), ("figures", self.evaluation), ("vectors", self.vectors)]
        parts = ", ".join(name for name, part in made if part is not None) or "a plan"
        return f"RunResult({self.graph!r}: {parts} in {self.folder})"


@dataclass(frozen=True, eq=False)
class RunSource:
    """Hold what is run on: the events, what they are called, how they were read, and their law where it is known."""

    graph: TemporalGraph
    name: str
    reading: ReadReport | None = None
    law: Desk | None = None


def run(
    source: str | PathLike[str] | TemporalGraph | Any | None = None,
    out: str | PathLike[str] = "run",
    *,
    config: RunConfig = DEFAULT_RUN,
    force: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] = print,
    **options: Any,
) -> RunResult:
    """Go from events to models, forecasts, figures and a page, in one folder.

    The Forecaster comes first; its first answers are told at once. Then the next links of all active nodes are
    forecast, the Forecaster is judged beside simple rules, and vectors are learned as far as the budget goes. A run
    that was interrupted leaves what is finished, and goes on with `resume`.

    Args:
        source: a file, a pattern, a list of files, a DataFrame or a graph; None: the built-in example, a support desk
            whose law is known.
        out: the folder; one that is in use is refused.
        config: budget, horizon and so on, and how the models learn.
        force: replace the run that is in the folder, once the new one is finished.
        resume: go on with the run that is in the folder, of the same events and settings.
        dry_run: only plan.
        progress: whether to show bars; by default where people can see them.
        say: is told what is understood, planned and done, line by line.
        **options: fields of `tadge.RunConfig` to change (budget="30m", days=1, seed=3, ...) and of `tadge.ReadOptions`
            (src="sender", ...).
    """
    config, reading = _settled(config, options)
    given = read_source(source, reading, config.seed)
    return run_on(given, out, config, force=force, resume=resume, dry_run=dry_run, progress=progress, say=say)


def read_source(source: Any, reading: ReadOptions, seed: int) -> RunSource:
    """Read what is to be run on; None is the built-in example of a seed."""
    if source is None:
        law = desk(seed=seed)
        return RunSource(law.graph, EXAMPLE, law=law)
    if isinstance(source, TemporalGraph):
        return RunSource(source, "graph")
    graph, report = read_with_report(source, reading)
    is_file = isinstance(source, (str, PathLike, list, tuple))
    return RunSource(graph, files_name(source) if is_file else "table", report)


def run_on(
    source: RunSource,
    out: str | PathLike[str],
    config: RunConfig,
    *,
    force: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    progress: bool | None = None,
    say: Callable[[str], None] = print,
) -> RunResult:
    """Run on what was read; arguments as in `run`."""
    began, graph = time.monotonic(), source.graph
    if not graph.num_events:
        raise InputError("nothing to learn from", expected="a history with events", found="none", where="source")
    models = config.walking, config.network, config.training

    def memory(vectors: bool, judged: bool) -> MemoryPlan:
        return memory_plan(graph, config.forecasting, models if vectors else None, judged=judged)

    plan = make_plan(graph.num_events, config, memory)
    for line in [*understood(source.graph, source.name, source.reading), "plan:", *plan.lines()]:
        say(line)
    if dry_run:
        return RunResult(Path(out), graph, plan)
    about = {
        "name": source.name,
        "source": None if source.reading is None else source.reading.source,
        "columns": None if source.reading is None else source.reading.columns,
        "graph": graph.fingerprint,
        "nodes": graph.num_nodes,
        "events": graph.num_events,
        "budget": config.budget,
        "settings": config.settings(),
        "expected_seconds": plan.total,
        "expected_memory_mb": plan.memory_mb,
    }
    with open_run(out, about, force=force, resume=resume) as folder:
        work = stages.Work(graph, config, folder, began + config.seconds, progress, say)
        result = _work(work, source, plan, Path(out))
    say(f"{result.report}: the page; everything else is beside it, after {duration_text(time.monotonic() - began)}")
    for line in questions_to_paste(result.forecasts, out):
        say(line)
    return result


def _work(work: stages.Work, source: RunSource, plan: Plan, out: Path) -> RunResult:
    """Do all stages; each leaves its part in the folder before the next begins."""
    folder, began = work.folder, time.monotonic()
    if source.law is not None:
        write_events(work.graph, folder.place / "events.csv", "dates")
    forecaster = stages.learn_forecaster(work)
    for line in first_answers(forecaster, work.config.days, time.monotonic() - began):
        work.say(line)
    forecasts = stages.write_forecasts(work, forecaster)
    about = folder.record[stages.ABOUT_FORECASTS]
    count = plural(about["nodes"], "active node")
    work.say(f"forecasts: the next links of {count}, in forecasts.csv and forecasts.parquet")
    if source.law is not None:
        folder.record[LAW] = beside_the_law(source.law, forecaster, about["days"], work.config.seed)
    evaluation = stages.judge(work)
    if evaluation is not None:
        work.say("judged: " + next(iter(evaluation.sentences("links (random)")), "no links were asked about"))
    _page(work, forecaster, None, forecasts, evaluation)
    vectors = stages.learn_vectors(work)
    if vectors is not None:
        sizes = f"{plural(work.graph.num_nodes, 'node')}, after {plural(len(vectors.history_), 'epoch')}"
        work.say(f"vectors: of {sizes}, in vectors.parquet")
        if not folder.done(Stage.JUDGING_VECTORS):
            judged = stages.learn_judged_vectors(work, vectors)
            evaluation = stages.judge(work, judged) if judged is not None else evaluation
    with folder.stage(Stage.PAGE):
        _page(work, forecaster, vectors, forecasts, evaluation)
    folder.finish()
    return RunResult(out, work.graph, plan, forecaster, vectors, forecasts, evaluation, folder.record)


def _page(
    work: stages.Work,
    forecaster: Forecaster,
    vectors: TADGE | None,
    forecasts: pl.DataFrame,
    evaluation: Result | None,
) -> None:
    record = work.folder.record
    material = Material(forecaster, vectors, forecasts, evaluation, record, record["name"])
    write_page(material, work.folder.place / PAGE_FILE, progress=work.progress)


def _settled(config: RunConfig, options: dict[str, Any]) -> tuple[RunConfig, ReadOptions]:
    """Tell options of the run from those of reading."""
    known = {field.name for field in fields(RunConfig)}
    changed = {name: value for name, value in options.items() if name in known}
    return replace(config, **changed), ReadOptions.of({k: v for k, v in options.items() if k not in known})
