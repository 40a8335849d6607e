"""What `tadge fit` does with both models: into one folder, which stays as it was until all of it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tadge.cli.flags import in_flags
from tadge.config import TrainConfig, WalkConfig, options
from tadge.embedding.estimator import TADGE
from tadge.errors import InputError, TooFewWalksError
from tadge.forecasting.estimator import Forecaster
from tadge.graph import TemporalGraph
from tadge.storage.estimator_folder import NAMES, others_of_other_events
from tadge.storage.folder import one_writer
from tadge.storage.replacement import CHECKPOINT, FORECASTER, VECTORS, begin_run, end_run, give_up_run

FLAGS = {one.name: "--" + one.name.replace("_", "-") for config in (WalkConfig, TrainConfig) for one in options(config)}


class FitOutcome(NamedTuple):
    """Hold what came of it.

    Attributes:
        tadge: the fitted TADGE; None where none was asked for, or where there are too few events for one.
        no_vectors: why there is none, in the second case.
        whole: the folder holds what was learned; False where an interrupted run is yet to replace what is there.
    """

    tadge: TADGE | None
    no_vectors: str | None
    whole: bool


def fitted_kinds(vectors: bool, forecasts: bool) -> list[str]:
    """List the kinds of files that learning of vectors and forecasts writes."""
    return [FORECASTER] * forecasts + [VECTORS, CHECKPOINT] * vectors


def fit_models(
    graph: TemporalGraph,
    out: Path,
    tadge: TADGE | None,
    forecaster: Forecaster | None,
    *,
    resume: bool,
    force: bool,
    checkpoint_seconds: float,
    progress: bool | None,
) -> FitOutcome:
    """Learn one model or both into a folder.

    Args:
        graph: what happened.
        out: the folder.
        tadge: what is to learn vectors, if anything.
        forecaster: what is to learn forecasts, if anything.
        resume: as in `TADGE.fit_folder`.
        force: as in `TADGE.fit_folder`, of both at once.
        checkpoint_seconds: as in `TADGE.fit`.
        progress: as in `TADGE.fit`.
    """
    kinds = fitted_kinds(tadge is not None, forecaster is not None)
    with one_writer(out):
        _check_others(out, kinds, graph)
        place = begin_run(out, kinds, resume=resume, force=force)
        try:
            if tadge is not None:
                tadge.check_folder(graph, place, resume=resume)  # before the Forecaster takes its time
            if forecaster is not None:
                forecaster.fit_folder(graph, place, resume=resume, progress=progress)
            no_vectors = None
            if tadge is not None:
                options = {"resume": resume, "checkpoint_seconds": checkpoint_seconds, "progress": progress}
                try:
                    tadge.fit_folder(graph, place, **options)  # type: ignore[arg-type]
                except TooFewWalksError as error:
                    if forecaster is None:
                        raise
                    tadge, no_vectors = None, str(in_flags(error, FLAGS))
        finally:
            give_up_run(out)
        whole = tadge is None or tadge.stopped_ != "interrupted"
        if place != out and whole:
            end_run(out)
    return FitOutcome(tadge, no_vectors, whole or place == out)


def _check_others(out: Path, kinds: list[str], graph: TemporalGraph) -> None:
    """Refuse to put models of two different graphs into one folder."""
    for other in others_of_other_events(out, kinds, graph):
        what, cure = f"the {NAMES[other]} in this folder has learned from other events", "name another folder"
        raise InputError(what, cure=f"{cure}, or learn both models with force=True and without --only", where=str(out))
