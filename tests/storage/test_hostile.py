"""Model folders that hold anything, with right checksums: refused in one sentence that names the part."""

from __future__ import annotations

import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest
import torch

from small import forum, network, training, walking
from tadge import TADGE, ForecastConfig, Forecaster
from tadge.errors import InputError
from tadge.storage.folder import read_folder, write_folder

KINDS = {"tadge": TADGE, "forecaster": Forecaster}
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with both estimators."""
    folder, graph = tmp_path_factory.mktemp("hostile"), forum(300)
    TADGE(walking(num_walks=50), network(), training(epochs=1)).fit(graph, progress=False).save(folder)
    config = ForecastConfig(steps=3, batch_events=32, trees=3, leaf_samples=5, hidden=8)
    Forecaster(config).fit(graph, progress=False).save(folder)
    return folder


def put(part, name, place, value):
    """Change one number of a tensor."""

    def change(parts, meta):
        tensor = parts[part][name].clone()
        tensor.view(-1)[place] = value
        parts[part][name] = tensor

    return change


def swap(part, name):
    """Turn a tensor round."""

    def change(parts, meta):
        parts[part][name] = parts[part][name].flip(0).clone()

    return change


def become(part, name, made):
    """Put another tensor in its place."""

    def change(parts, meta):
        parts[part][name] = made(parts[part][name]).clone()

    return change


def without(part, name=None):
    def change(parts, meta):
        del (parts if name is None else parts[part])[part if name is None else name]

    return change


def extra(part, name):
    def change(parts, meta):
        parts[part][name] = torch.zeros(3)

    return change


def say(*path, value):
    """Say something else in the JSON."""

    def change(parts, meta):
        for step in path[:-1]:
            meta = meta[step]
        meta[path[-1]] = value

    return change


def unsay(*path):
    def change(parts, meta):
        for step in path[:-1]:
            meta = meta[step]
        del meta[path[-1]]

    return change


def twice(parts, meta):
    ids = parts["graph"]["ids"].clone()
    ids[1] = ids[0]
    parts["graph"]["ids"] = ids


def float16(tensor):
    return tensor.to(torch.float16)


GRAPH = [  # of either estimator
    *(("graph", put("graph", name, 3, value)) for name in ("time", "tov_times") for value in (NAN, INF, -INF, -1e9)),
    *(("graph", put("graph", "toe", 3, value)) for value in (INF, -INF, -1.0)),
    *(("graph", put("graph", name, 3, value)) for name in ("src", "dst") for value in (-1, 10**6)),
    *(("graph", swap("graph", name)) for name in ("time", "tov_times", "tov_start")),
    *(("graph", without("graph", name)) for name in ("src", "dst", "time", "toe", "tov_start", "tov_times", "ids")),
    *(("graph", become("graph", name, lambda t: t[:-1])) for name in ("src", "time", "tov_start", "tov_times", "ids")),
    *(("graph", become("graph", name, lambda t: t.double() if t.dtype != torch.float64 else t.float()))
      for name in ("src", "time", "toe", "tov_start", "ids")),
    ("graph", twice),
    ("graph", put("graph", "tov_start", 2, 10**9)),
    ("graph", put("graph", "tov_start", 2, -5)),
    *(("graph", say("graph", "clock", value=value)) for value in ("moon", None, 3)),
    *(("graph", say("graph", "num_sources", value=value)) for value in (-1, 10**9, "two", 1.5, 20)),
    *(("graph", say("graph", "directed", value=value)) for value in ("yes", 2, None)),
    ("graph", say("graph", "tov_rule", value="never")),
    ("graph", say("graph", "ids", value="strings")),
    ("graph", unsay("graph", "clock")),
    ("graph", without("graph")),
]  # fmt: skip
OF_TADGE = [
    *(("table values", say("network", "dim", value=value)) for value in (20_000, 65_536, 7)),
    *(("dim", say("network", "dim", value=value)) for value in (0, -1, "8", 10**30, 8.5)),
    *(("weights", say("network", "heads", value=value)) for value in (1_024, 3)),
    *(("weights", say("network", "blocks", value=value)) for value in (400, 2)),
    ("heads", say("network", "heads", value=10**9)),
    ("blocks", say("network", "blocks", value=10**9)),
    ("weights", say("network", "structure", value=False)),
    ("max_length", say("walks", "max_length", value=10**9)),
    *(("table", put("table", "values", 5, value)) for value in (NAN, INF)),
    *(("toe_head", put("table", "toe_head", 2, value)) for value in (NAN, -INF)),
    ("weights", put("weights", "toe_weight", 1, NAN)),
    ("weights", become("weights", "toe_weight", float16)),
    ("weights", become("weights", "toe_weight", lambda t: t[:-1])),
    ("weights", without("weights", "toe_weight")),
    ("weights", extra("weights", "more")),
    ("table", become("table", "values", lambda t: t[:-1])),
    ("table", become("table", "values", float16)),
    ("table", without("table")),
    ("history", say("history", value="long")),
    ("stopped", say("stopped", value="never")),
    ("precision", say("precision", value="int8")),
    ("seed", say("seed", value=-1)),
    ("seed", say("seed", value="__import__('os')")),
    ("network", unsay("network")),
    ("Network", say("network", value=[1, 2])),
    ("layout", say("layout", value=99)),
    ("trick", say("network", "trick", value=1)),
]
OF_FORECASTER = [
    *(("links", say("forecast", "hidden", value=value)) for value in (65_536, 9)),
    ("hidden", say("forecast", "hidden", value=10**9)),
    *(("scales", put("learned", "scales", place, value)) for place, value in ((0, NAN), (1, 0.0), (2, -1.0), (1, INF))),
    ("edges", swap("learned", "edges")),
    ("ratio", put("learned", "ratio", 0, INF)),
    *(
        ("ranking", put("learned", "ranking", place, value))
        for place, value in ((0, -1.0), (2, 2.0), (0, INF), (1, NAN))
    ),
    ("usual", put("learned", "usual", 0, NAN)),
    *((name, put("learned", f"{name}.value", 0, INF)) for name in ("toe_mean", "toe_median")),
    ("toe_mean", put("learned", "toe_mean.threshold", 0, NAN)),
    ("toe_mean", put("learned", "toe_mean.left", 0, 0)),
    ("toe_mean", put("learned", "toe_mean.column", 0, 10**6)),
    ("toe_mean", put("learned", "toe_mean.start", 0, -1)),
    ("toe_mean", become("learned", "toe_mean.value", lambda t: t[:-1])),
    ("mean_laws", put("learned", "mean_laws.longer", 1, NAN)),
    ("median_laws", swap("learned", "median_laws.knots")),
    ("links", extra("learned", "links.more")),
    ("acts", without("learned", "acts.shape.bias")),
    ("pairs", put("learned", "pairs.shape.bias", 0, NAN)),
    *(("spread", put("learned", "links.normalise.spread", 0, value)) for value in (NAN, 0.0, -INF)),
    ("learned", without("learned")),
]
CASES = [
    *(("tadge", *case) for case in [*GRAPH, *OF_TADGE]),
    *(("forecaster", *case) for case in [*GRAPH[::5], *OF_FORECASTER]),
]


@cache
def content(folder, kind):
    return read_folder(folder, kind)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_it_is_refused_in_a_sentence_that_names_the_part(whole, tmp_path, number):
    kind, part, change = CASES[number]
    parts, meta = content(whole, kind)
    parts, meta = {name: dict(tensors) for name, tensors in parts.items()}, _deep(meta)
    change(parts, meta)
    write_folder(tmp_path, kind, parts, meta)
    tracemalloc.start()
    with warnings.catch_warnings(), pytest.raises(InputError) as error:
        warnings.simplefilter("error")
        KINDS[kind].load(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sentence = str(error.value)
    assert part in sentence.removeprefix(str(tmp_path)), sentence
    assert "\n" not in sentence and len(sentence) < 600 and str(tmp_path) in sentence
    assert peak < 50e6


def _deep(value):
    if isinstance(value, dict):
        return {name: _deep(each) for name, each in value.items()}
    return [_deep(each) for each in value] if isinstance(value, list) else value


def test_there_are_as_many_as_there_should_be():
    assert len(CASES) >= 81


def test_what_was_saved_is_read(whole):
    for kind in KINDS.values():
        assert np.isfinite(kind.load(whole).score_links([0, 1], [1, 2])).all()


def test_nothing_large_is_built_before_shapes_were_compared(whole, tmp_path, monkeypatch):
    """A network that a few bytes of JSON ask for would take gigabytes."""
    from tadge.network.training_model import TrainingModel

    built, real = [], TrainingModel.__init__

    def watched(self, *arguments):
        real(self, *arguments)
        built.append(next(self.parameters()).device.type)

    parts, meta = content(whole, "tadge")
    meta = _deep(meta)
    meta["network"]["blocks"] = 40
    write_folder(tmp_path, "tadge", parts, meta)
    monkeypatch.setattr(TrainingModel, "__init__", watched)
    with pytest.raises(InputError, match="other tensors than the options say"):
        TADGE.load(tmp_path)
    assert built == ["meta"]


def test_a_manifest_of_any_size_is_not_read(whole, tmp_path):
    with (tmp_path / "tadge.json").open("wb") as out:
        out.truncate(1 << 29)  # takes no room on the disk
    with pytest.raises(InputError, match=r"at most 268,435,456 bytes; found 536,870,912"):
        TADGE.load(tmp_path)
