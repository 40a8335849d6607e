from __future__ import annotations

import subprocess
import sys

import tadge

PUBLIC = {
    "ConfigError",
    "DatasetError",
    "ForecastConfig",
    "Forecaster",
    "InputError",
    "MissingExtraError",
    "NetworkConfig",
    "NodeNumbers",
    "NotFittedError",
    "TADGE",
    "TrainConfig",
    "TrainingError",
    "ReadOptions",
    "Reproduction",
    "Result",
    "RunConfig",
    "TadgeError",
    "TadgeWarning",
    "TemporalGraph",
    "WalkConfig",
    "Walks",
    "__version__",
    "audit",
    "baselines",
    "board",
    "check_records",
    "datasets",
    "evaluate",
    "uncut_length_distribution",
    "from_networkx",
    "from_pandas",
    "from_polars",
    "from_pyg",
    "iter_walks",
    "read_events",
    "reproduce",
    "run",
    "sample_walks",
    "split_by_time",
    "split_by_walks",
    "synthetic",
    "to_networkx",
    "to_pandas",
    "to_polars",
    "to_pyg",
    "walk_probabilities",
    "write_events",
    "write_report",
    "write_vectors",
    "write_walks",
}


def test_the_public_names_are_these():
    assert set(tadge.__all__) == PUBLIC
    assert set(dir(tadge)) == PUBLIC
    for name in PUBLIC:
        assert getattr(tadge, name) is not None


def imported_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(' '.join(sys.modules), file=sys.__stderr__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_help_and_import_stay_light():
    heavy = {"torch", "numba", "polars", "numpy", "pandas"}
    assert not imported_by("import tadge") & heavy
    call = "with contextlib.suppress(SystemExit): tadge.cli.app()"
    code = f"import tadge.cli, contextlib\nsys.argv = ['tadge', '--help']\n{call}"
    assert not imported_by(code) & heavy


def test_reading_a_file_needs_no_torch(tmp_path):
    (tmp_path / "e.csv").write_text("a,b,1300000000\nb,c,1300000001\n")
    code = f"import tadge; tadge.read_events({str(tmp_path / 'e.csv')!r}, quiet=True)"
    assert not imported_by(code) & {"torch", "pandas", "networkx"}
