"""Errors name arguments in Python and flags on the command line."""

from __future__ import annotations

import inspect

import pytest

import tadge
from tadge.cli.flags import in_flags
from tadge.cli.frame import takes
from tadge.config import options
from tadge.errors import InputError

NAMES = ("at", "bad_rows", "comments", "directed", "resume", "unit", "window", "window_step")
FLAGS = {name: "--" + name.replace("_", "-") for name in NAMES}


@pytest.mark.parametrize(
    ("cure", "flags"),
    [
        ("say bad_rows='report' to go on without", "say --bad-rows report to go on without"),
        ("say comments='#' (or '%') if it is one", "say --comments '#' (or '%') if it is one"),
        ("say resume=True to go on", "say --resume to go on"),
        ("say directed=False: targets never act", "say --no-directed: targets never act"),
        ("say at='2015-06-30 12:00'", "say --at '2015-06-30 12:00'"),
        ("lower window_step or raise window", "lower --window-step or raise --window"),
        ("a window of 5 at 3 directed units", "a window of 5 at 3 directed units"),
        ("write other_name=3 or some_name", "write other_name=3 or some_name"),
    ],
)
def test_a_cure_in_flags(cure, flags):
    assert in_flags(InputError("trouble", cure=cure), FLAGS).cure == flags


def test_the_place_in_flags():
    error = in_flags(InputError("trouble", expected="below window_step", found="window_step", where="window"), FLAGS)
    assert str(error) == "--window: trouble; expected below --window-step; found window_step"
    assert in_flags(InputError("trouble", where="a/window"), FLAGS).where == "a/window"


def test_each_side_names_its_own(tmp_path, monkeypatch, capsys):
    from tadge.cli import main

    (tmp_path / "bad.csv").write_text("a,b,1300000000\nb,c,soon\n")
    with pytest.raises(InputError, match=r"or say bad_rows='report' to go on without"):
        tadge.read_events(tmp_path / "bad.csv")
    monkeypatch.setattr("sys.argv", ["tadge", "info", str(tmp_path / "bad.csv")])
    with pytest.raises(SystemExit):
        main()
    assert "or say --bad-rows report to go on without" in capsys.readouterr().err


def test_no_two_options_of_a_command_have_one_name():
    configs = tadge.ReadOptions, tadge.WalkConfig, tadge.NetworkConfig, tadge.TrainConfig, tadge.ForecastConfig
    names = [option.name for config in configs for option in options(config)]
    assert len(set(names)) == len(names)

    def command(reading, forecasting):
        pass

    parameters = inspect.signature(
        takes(reading=tadge.ReadOptions, forecasting=tadge.ForecastConfig)(command)
    ).parameters
    assert {"src", "steps"} <= parameters.keys()
    assert parameters["steps"].default == tadge.ForecastConfig().steps


def test_every_command_shows_an_example():
    import typer

    from tadge.cli import app

    groups = [typer.main.get_command(app)]
    commands = {}
    while groups:
        for name, command in groups.pop().commands.items():
            (groups.append(command) if hasattr(command, "commands") else commands.update({name: command}))
    assert {"info", "fit", "embed", "evaluate", "audit", "list"} <= commands.keys()
    for name, command in commands.items():
        assert "Example: tadge " in command.help, name


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def test_warnings_name_flags_too(run, folder):
    rows = "".join(f"t{k},a{k % 5},b{k % 3},{k}.5,{k}.25,{1_700_000_000 + 900 * k}\n" for k in range(30))
    (folder / "chain.csv").write_text("tx,from,to,value_in,value_out,time\n" + rows)
    code, _, err = run("info", "chain.csv", "--quiet")
    assert code == 0
    assert "warning: the weight might be 'value_in' or 'value_out': none was taken; say --weight value_in for it" in err
