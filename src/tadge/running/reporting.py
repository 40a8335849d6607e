"""`write_report`: the page of an existing folder, that of a run or one of models."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from tadge.embedding.estimator import TADGE
from tadge.errors import InputError
from tadge.evaluation.result import Result
from tadge.forecasting.estimator import Forecaster
from tadge.page.content import Material
from tadge.page.write import write_page
from tadge.progress import Bars
from tadge.running.folder import EVALUATION, FORECAST_TABLE, RECORD, read_record
from tadge.running.forecasts import forecast_all
from tadge.running.options import RunConfig
from tadge.running.stages import ABOUT_FORECASTS
from tadge.storage.estimator_folder import has_estimator, model_folder
from tadge.storage.replacement import FORECASTER, VECTORS


def write_report(
    folder: str | PathLike[str], path: str | PathLike[str] = "report.html", *, progress: bool | None = None
) -> Path:
    """Write the page of a folder that `tadge run` or `tadge fit` made, and return where it is.

    Of a folder of models alone, the next links are forecast now, and nothing is judged.

    Args:
        folder: of a run, or of models.
        path: the HTML file to write.
        progress: whether to show bars; by default where people can see them.
    """
    place, target = Path(folder), Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        cure = "give the file such a name"
        raise InputError("not the name of a page", expected="a file .html", found=target.name, cure=cure, where="path")
    write_page(material_of(place, progress=progress), target, progress=progress)
    return target


def material_of(place: Path, *, progress: bool | None = None) -> Material:
    """Gather what the page of a folder tells about."""
    models = model_folder(place)
    forecaster = Forecaster.load(models) if has_estimator(models, FORECASTER) else None
    vectors = TADGE.load(models) if forecaster is None or has_estimator(models, VECTORS) else None
    record: dict[str, Any] = read_record(place) if (place / RECORD).is_file() else {}
    evaluation = Result.from_json(place / EVALUATION) if (place / EVALUATION).is_file() else None
    name = str(record.get("name") or place.resolve().name)
    forecasts = None
    if forecaster is not None and (place / FORECAST_TABLE).is_file():
        forecasts = _read_forecasts(place / FORECAST_TABLE)
    elif forecaster is not None:
        config = RunConfig()
        with Bars(progress) as bars, bars.part("next links of active nodes") as report:
            made = forecast_all(forecaster, config.days, config.k, forecaster.seed, report)
        forecasts, record = made.table, record | {ABOUT_FORECASTS: made.about}
    return Material(forecaster, vectors, forecasts, evaluation, record, name)


def _read_forecasts(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError):
        cure = "tadge run with --resume makes it anew where it is removed"
        raise InputError("the forecasts cannot be read", cure=cure, where=str(path)) from None
