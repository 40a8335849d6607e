"""The page is whole, asks for nothing, tells all sections in order, and shows ids as text whatever they are."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from small_run import HOSTILE, small_material
from tadge.evaluation.result import Result
from tadge.page.content import Material
from tadge.page.nodes import in_the_plane
from tadge.page.trust import best_rivals, main_measures
from tadge.page.write import SECTIONS, page_html
from tadge.plots.markup import VOID
from tadge.report.answers import id_text

GROUPS = [{"said": 0.02 * k, "true": 0.02 * k + 0.01, "questions": 50} for k in range(10)]
SLICES = [{"links": 20, "coverage 80": 0.8, "coverage 95": None if k == 3 else 0.9} for k in range(10)]


class Reader(HTMLParser):
    """Read a page: its tags, whether each is closed, texts by tag, attributes that could ask for something."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.asked, self.texts, self.tags = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "action", "srcset", "poster", "data", "xlink:href"):
                self.asked.append(value)
            assert not name.startswith("on"), (tag, name)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else None, data))


def figure(value):
    return {"value": value, "low": value - 0.01, "high": value + 0.01}


def judged() -> Result:
    """A result in which the Forecaster wins once and loses twice."""
    result = Result("forecast", kinds={"Forecaster": "model", "TADGE (vectors)": "model", "rule <b>": "rule"})
    shown = {"questions": 100, "targets": 5}
    result.tasks = {
        "links (random)": {"main": "mrr", "shown": ["mrr"], **shown},
        "toe": {"main": "rmse", "shown": ["rmse", "median days"], **shown},
        "within 7 days": {"main": "brier", "shown": ["brier"], **shown, "reliability": {"Forecaster": GROUPS}},
        "when": {"main": "c-index", "shown": ["c-index"], **shown, "links": 90, "slices": {"Forecaster": SLICES}},
    }
    both = ("Forecaster", "rule <b>")
    result.methods = {
        name: {
            "links (random)": {"mrr": figure(0.5), "hits@1": figure(0.4)},
            "toe": {"rmse": figure(0.2), "median days": figure(3.0)},
            "within 7 days": {name: figure(0.03) for name in ("brier", "gap", "said", "true")},
            "when": {"c-index": figure(0.8), "coverage 80": figure(0.81), "coverage 95": figure(0.94)},
        }
        for name in both
    }
    values = [("links (random)", "mrr", 0.5, 0.3, 0.1, 0.3), ("toe", "rmse", 0.2, 0.2, -0.1, 0.1)]
    values += [("toe", "median days", 3.0, 2.0, 0.5, 1.5), ("within 7 days", "brier", 0.03, 0.02, 0.005, 0.015)]
    result.comparisons = [
        dict(zip(("task", "metric", "value", "rival_value", "low", "high"), row, strict=True))
        | {"model": "Forecaster", "rival": "rule <b>"}
        for row in values
    ]
    result.notes = ["a note with <i>markup</i>"]
    return result


@pytest.fixture(scope="module")
def material():
    made = small_material()
    about = made.record["about_forecasts"]
    record = {
        "about_forecasts": about | {"all_targets": False, "found": 0.97},
        "source": "<file>.csv",
        "columns": {"src": "who"},
        "machine": {"system": "Linux", "cores": 2},
        "stages": {
            "forecaster": {"done": True, "seconds": 3.0, "cpu_seconds": 2.0, "peak_memory_mb": 500.0},
            "judging": {"done": False, "seconds": 0.0, "cpu_seconds": 0.0, "note": "no time <b>"},
        },
        "law": {"days": 7.0, "said": [0.1, 0.3], "law": [0.2, 0.3], "wait": {"said": 12.0, "law": 15.8}},
    }
    return Material(made.forecaster, made.vectors, made.forecasts, judged(), record, "<script>alert('name')</script>")


@pytest.fixture(scope="module")
def page(material):
    return page_html(material)


def test_the_page_is_whole_and_asks_for_nothing(page):
    reader = Reader(page)
    assert reader.open == []
    assert all(link.startswith("#") for link in reader.asked)
    assert not re.search(r"https?://|@import|url\(", page)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.asked} <= set(reader.ids)
    assert len(page.encode()) < 3_000_000


def test_sections_stand_in_their_order(page):
    reader = Reader(page)
    assert [name for name in reader.ids if name in SECTIONS] == list(SECTIONS)
    headings = [text for tag, text in reader.texts if tag == "h2"]
    assert headings[:3] == ["What the data are", "What will happen", "How far to trust it"]
    assert len(headings) == len(SECTIONS)
    assert reader.tags.count("svg") > 15


def test_hostile_ids_are_shown_as_text(page):
    reader = Reader(page)
    assert reader.tags.count("script") == 2  # what is said of nodes, and ours
    assert "bdi" in reader.tags
    shown = " ".join(text for tag, text in reader.texts if tag not in ("script", "style"))
    for name in HOSTILE:
        assert id_text(name)[:30] in shown
    assert "<script>alert('name')</script>" in shown
    scripts = [text for tag, text in reader.texts if tag == "script"]
    assert all("<" not in text or "use strict" in text for text in scripts)
    assert "\x1b" not in page


def test_what_is_lost_is_said(material, page):
    verdicts = {one["task"]: one["metric"] for one in main_measures(material.evaluation)}
    assert verdicts["toe"] == "median days"  # people ask in days
    assert len(best_rivals(material.evaluation)) == 4
    text = re.sub(r"<[^>]*>", "", page)
    assert "A simple rule is better on 2 of 3 questions" in text
    assert "how long an edge takes (rule &lt;b&gt;)" in text
    assert page.count('class="chip loses"') == 4  # in the table and in that of all measures
    assert "81%" in text


def test_models_alone_have_a_page(material):
    for part in (Material(material.forecaster), Material(None, material.vectors)):
        reader = Reader(page_html(part))
        assert [name for name in reader.ids if name in SECTIONS] == [name for name in SECTIONS if name != "law"]


@pytest.mark.parametrize("seed", [0, 1])
def test_maps_are_seeded_and_inside(seed):
    vectors = np.random.default_rng(seed).normal(size=(40, 8)).astype(np.float32)
    places = in_the_plane(vectors)
    assert places.shape == (40, 2)
    assert places.min() == 0.0
    assert places.max() == 1.0
    assert np.array_equal(places, in_the_plane(vectors))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_nodes_have_a_place_each(count):
    places = in_the_plane(np.eye(count, 4, dtype=np.float32))
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()


def test_near_vectors_are_near_on_the_map():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 40)
    vectors = rng.normal(size=(3, 16))[group] * 5 + rng.normal(size=(120, 16)) * 0.3
    places = in_the_plane(vectors.astype(np.float32))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(120)
    assert (group[distance.argmin(axis=1)] == group).all()


def test_a_large_graph_keeps_the_page_small(material, monkeypatch):
    """The map shows a sample, and says so."""
    from tadge.page import nodes

    monkeypatch.setattr(nodes, "MOST_NODES", 20)
    page = page_html(Material(material.forecaster, material.vectors, material.forecasts))
    assert "The 20 most active of" in page
    assert page.count('class="node ') == 20


def test_forecasts_without_rows_are_said_so(material):
    empty = material.forecasts.clear()
    assert isinstance(empty, pl.DataFrame)
    assert "There are no forecasts" in page_html(Material(material.forecaster, None, empty))
