"""Scorers beside rules: ranks against a plain loop, and the warning where a rule is better."""

from __future__ import annotations

import numpy as np
import pytest

import tadge
from small import forum
from tadge import ForecastConfig, Forecaster
from tadge.features.columns import LINK_COLUMNS
from tadge.features.tables import Scales
from tadge.forecasting import fitting
from tadge.forecasting.rules import RuleCheck, check_rules, rule_questions
from tadge.graph.past import past_of
from tadge.validation import standard_error

BEGIN = 560


def answer_recency(columns):
    """Score those who linked to src last highest."""
    return -columns[..., LINK_COLUMNS.index("since dst to src")]


def known_links(graph, at):
    return [(int(u), int(v), float(t)) for u, v, t in zip(graph.src, graph.dst, graph.time, strict=True) if t <= at]


def test_questions_are_those_of_their_kind():
    graph = forum()
    first, kinds = past_of(graph).first, set()
    for kind, against, asked in rule_questions(graph, 0, BEGIN):
        kinds.add((kind, against))
        assert (asked.candidate[:, 0] >= 0).all()
        for u, at, row in zip(asked.src[:20], asked.at[:20], asked.candidate[:20], strict=True):
            links = known_links(graph, at)
            targets = {v for a, v, _ in links if a == u}
            senders = {a for a, v, _ in links if v == u}
            true, others = row[0], row[1:][row[1:] >= 0].tolist()
            assert true not in others
            assert len(set(others)) == len(others) > 0
            assert (first[others] <= at).all()
            if kind != "all":
                expected = "repeat" if true in targets else "answer" if true in senders else "first contact"
                assert kind == expected
            if against == "former":
                assert set(others) <= targets
            if (kind, against) == ("answer", "alike"):
                assert set(others) <= senders - targets
            if (kind, against) == ("first contact", "alike"):
                assert not set(others) & (senders | targets)
    assert {("all", "random"), ("all", "former"), ("repeat", "former"), ("answer", "alike")} <= kinds


def test_a_scorer_that_is_a_rule_is_level_with_it():
    """By plain loops: reciprocal ranks of answer recency, ties shared."""
    graph = forum()
    scales, config = Scales.of(graph), ForecastConfig()
    checks = {
        (check.kind, check.against): check for check in check_rules(answer_recency, graph, scales, config, 0, BEGIN)
    }
    for kind, against, asked in rule_questions(graph, 0, BEGIN):
        reciprocal = []
        for u, at, row in zip(asked.src, asked.at, asked.candidate, strict=True):
            last = {}
            for a, v, t in known_links(graph, at):
                if v == u:
                    last[a] = t
            scores = [last.get(int(v), -np.inf) for v in row if v >= 0]
            above, equal = sum(s > scores[0] for s in scores), sum(s == scores[0] for s in scores) - 1
            reciprocal.append(1 / (1 + above + equal / 2))
        check = checks[kind, against]
        assert check.questions == len(reciprocal)
        assert check.mrr == pytest.approx(np.mean(reciprocal), abs=0.02)  # times near each other are one in float32
        assert check.rule_mrr >= check.mrr - 1e-9
        assert check.low <= check.mrr - check.rule_mrr <= check.high
        if check.rule == "answer recency":
            assert (check.low, check.high) == (0, 0)


def below(**changes):
    return RuleCheck("answer", "random", 300, 0.5, "answer recency", 0.7, -0.3, -0.1)._replace(**changes)


def test_only_what_is_clear_is_said():
    assert below().is_below
    assert not below(questions=150).is_below
    assert not below(high=0.01).is_below
    assert not below(mrr=0.695, high=-0.001).is_below
    assert below().sentence() == "answer among random nodes: answer recency 0.700, the model 0.500"


def test_a_model_below_a_rule_warns_and_keeps_the_figures(tmp_path, monkeypatch):
    graph, config = forum(), ForecastConfig(steps=3, trees=5, hidden=8)
    monkeypatch.setattr(fitting, "check_rules", lambda *_: (below(), below(kind="repeat", high=0.2)))
    with pytest.warns(tadge.TadgeWarning, match=r"a simple rule .*: answer among random nodes.*0.500"):
        model = Forecaster(config).fit(graph, progress=False)
    table = model.validation_
    assert list(table.columns) == list(RuleCheck._fields)
    assert table["kind"].tolist() == ["answer", "repeat"]
    model.save(tmp_path)
    again = Forecaster.load(tmp_path)
    assert again.checks_ == model.checks_


def test_figures_are_of_the_scorer_of_the_earlier_events():
    graph = forum()
    model = Forecaster(ForecastConfig(steps=3, trees=5, hidden=8)).fit(graph, progress=False)
    assert len(model.validation_) == len(model.checks_) > 4
    assert all(0 < check.mrr <= 1 and check.questions > 0 for check in model.checks_)
    tiny = graph.before(float(graph.time[1]))
    assert len(Forecaster(ForecastConfig(steps=2, trees=2, hidden=4)).fit(tiny, progress=False).validation_) == 0


def test_chance_is_told_from_a_difference():
    """Where values of a group go together, the interval is that of as many groups."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(100), 20)
    together = np.repeat(rng.normal(size=100), 20)
    assert standard_error(together, group) == pytest.approx(together[::20].std(ddof=1) / 10, rel=1e-6)
    apart = rng.normal(size=2000)
    assert standard_error(apart, np.arange(2000)) == pytest.approx(apart.std(ddof=1) / np.sqrt(2000), rel=1e-6)
