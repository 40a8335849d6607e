from __future__ import annotations

import numpy as np
import pytest

from tadge.errors import InputError
from tadge.reproduction.judge import judge_parts, judge_rules, true_toe
from tadge.units import squash
from tadge.walks.parts import walk_parts
from tiny_reproduction import SIZE, tiny_material


class Known:
    """Answers with what it is told."""

    name = "known"

    def __init__(self, vectors, toe=None, rows=None):
        self.given, self.said, self.row_vectors = vectors, toe, rows

    def fit(self, parts):
        return self

    def nodes(self, part):
        return self.given

    def rows(self, part):
        return self.row_vectors

    def toe(self, part):
        return self.said


@pytest.fixture(scope="module")
def material():
    return tiny_material()


@pytest.fixture(scope="module")
def parts(material):
    return walk_parts(material.graph, SIZE.walks, 0)


def test_toe_that_is_right_has_no_error_and_every_edge_found_counts(parts):
    test = parts["test"]
    vectors = np.random.default_rng(0).normal(size=(parts.graph.num_nodes, 4)).astype(np.float32)
    toe = squash(test.walks.toe[:, 1:])
    figures = judge_parts(Known(vectors, toe), parts, None, 10)
    assert figures["toe"] == {"rmse": 0.0, "median error, days": pytest.approx(0.0, abs=1e-9)}
    assert figures["time-aware edges among nodes"] == [figures["edges among nodes"]["micro-f1"]] * 10
    assert "edges among rows" not in figures
    off = judge_parts(Known(vectors, toe + 0.12), parts, None, 10)
    assert off["toe"]["rmse"] == pytest.approx(0.12)
    assert off["time-aware edges among nodes"][:2] == [0.0, 0.0]
    assert off["time-aware edges among nodes"][2:] == figures["time-aware edges among nodes"][2:]


def test_toe_is_regressed_on_vectors_where_none_is_said(parts):
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(parts.graph.num_nodes, 3)).astype(np.float32)
    figures = judge_parts(Known(vectors), parts, None, 10)
    constant = judge_rules(parts, None)["toe"]["rmse"]
    assert constant == pytest.approx(float(np.std(true_toe(parts["test"]))), rel=0.05)
    assert figures["toe with a constant"]["rmse"] == pytest.approx(constant, rel=0.1)  # these vectors know nothing
    assert figures["toe"]["rmse"] > 1.2 * constant  # and without a constant they predict about 0


def test_classes_of_nodes_in_both_parts_are_looked_up_and_those_of_others_are_not(parts):
    """Random vectors, the same in all parts: what is known of a node is known in the test too."""
    labels = np.random.default_rng(2).integers(0, 2, parts.graph.num_nodes)
    vectors = np.random.default_rng(3).normal(size=(parts.graph.num_nodes, 64)).astype(np.float32)
    figures = judge_parts(Known(vectors), parts, labels, 10)
    overlap = figures["classes as printed"]["in training too"]
    assert overlap > 0.5
    assert figures["classes as printed"]["micro-f1"] > overlap
    assert figures["classes of other nodes"]["micro-f1"] < 0.65  # at chance: no node is in both


def test_vectors_that_hold_the_class_classify_other_nodes(parts):
    labels = np.random.default_rng(4).integers(0, 2, parts.graph.num_nodes)
    vectors = np.stack([labels, 1 - labels], axis=1).astype(np.float32)
    figures = judge_parts(Known(vectors), parts, labels, 10)
    assert figures["classes of other nodes"] == {"micro-f1": 1.0, "macro-f1": 1.0}


def test_rules_choose_the_commonest_class_and_the_busiest_node(parts):
    labels = np.zeros(parts.graph.num_nodes, np.int64)
    labels[::5] = 1
    figures = judge_rules(parts, labels)
    asked = labels[parts["test"].nodes]
    assert figures["classes as printed"]["micro-f1"] == pytest.approx((asked == 0).mean())
    assert 0 < figures["edges among nodes"]["micro-f1"] < 1


def test_answers_that_are_no_numbers_are_one_sentence(parts):
    vectors = np.full((parts.graph.num_nodes, 4), np.nan, np.float32)
    with pytest.raises(InputError, match="known answers with what is no number"):
        judge_parts(Known(vectors, squash(parts["test"].walks.toe[:, 1:])), parts, None, 10)
