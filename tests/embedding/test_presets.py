"""The paper's settings, written down once more from its section 5.1, and changes to them."""

from __future__ import annotations

import numpy as np
import pytest

import tadge
from small import forum
from tadge import TADGE
from tadge.config import options
from tadge.embedding.presets import PAPER, PAPER_SIZES

SIZES = {  # heads, blocks, batch, walks, longest walk: section 5.1 and Table 2
    "transaction": (4, 3, 200, 10_000, 5),
    "hyperlink": (8, 6, 500, 200_000, 5),
    "discussion": (8, 6, 300, 300_000, 10),
}


@pytest.mark.parametrize("size", SIZES)
def test_the_papers_settings(size):
    model = TADGE.paper(size, 3, device="cpu")
    walks, network, train = model.walk_config, model.network_config, model.train_config
    assert (network.heads, network.blocks, train.batch_size, walks.num_walks, walks.max_length) == SIZES[size]
    assert (network.dim, walks.min_length, train.lr, train.weights) == (128, 3, 0.005, (1, 1, 1, 1))
    assert (network.queries, network.residual, network.skip, network.candidate) == ("next", False, False, "sigmoid")
    assert (network.timed, network.lstm_toe, network.structure, network.dropout) == (True, "squashed", True, 0.1)
    assert (train.warmup, train.schedule, train.clip, train.unknown, train.held_out) == (0, "constant", 0, 0, 0)
    assert (train.init, train.precision, train.edges, train.resample) == ("deepwalk", "float32", "rows", False)
    assert train.patience >= train.epochs
    assert (model.seed, model.device) == (3, "cpu")


def test_a_preset_leaves_nothing_to_the_defaults_but_windows():
    kinds = tadge.WalkConfig, tadge.NetworkConfig, tadge.TrainConfig
    names = {one.name for kind in kinds for one in options(kind)}
    for of_size in PAPER_SIZES.values():
        assert names - {*PAPER, *of_size} == {"window", "window_step"}  # which the paper does not give


def test_our_own_settings_for_the_papers_protocol():
    tuned, paper = TADGE.tuned("hyperlink", 2), TADGE.paper("hyperlink", 2)
    assert tuned.walk_config == paper.walk_config
    network, train = tuned.network_config, tuned.train_config
    assert (network.heads, network.blocks, train.batch_size, tuned.seed) == (8, 6, 500, 2)
    assert (network.queries, network.residual, network.skip, network.lstm_toe) == ("next", True, True, "days")
    assert (train.edges, train.new_nodes, train.init, train.precision) == ("both", "own", "random", "float32")
    assert train.weights == tadge.TrainConfig().weights
    assert TADGE.tuned(edges="nodes").train_config.edges == "nodes"


def test_changes_and_mistakes():
    model = TADGE.paper(lr=0.001, num_walks=50, blocks=1)
    assert (model.train_config.lr, model.walk_config.num_walks, model.network_config.blocks) == (0.001, 50, 1)
    assert TADGE.paper().about() != model.about()
    with pytest.raises(tadge.ConfigError, match="size: unknown choice; expected transaction or hyperlink or discuss"):
        TADGE.paper("large")
    with pytest.raises(tadge.ConfigError, match="unknown option; expected an option of WalkConfig"):
        TADGE.paper(learning_rate=0.1)
    with pytest.raises(tadge.ConfigError, match="lr: value too large"):
        TADGE.paper(lr=7)


def test_a_preset_learns_is_saved_and_loaded(tmp_path):
    small = {"num_walks": 150, "min_length": 2, "max_length": 4, "dim": 8, "heads": 2, "blocks": 1, "epochs": 2}
    model = TADGE.paper(**small, batch_size=80, window=5, window_step=4).fit(forum(), progress=False)
    assert [epoch["lr"] for epoch in model.history_] == [0.005, 0.005]
    assert "held_out" not in model.history_[0]
    model.save(tmp_path / "model")
    again = TADGE.load(tmp_path / "model")
    assert again.about() == model.about()
    np.testing.assert_array_equal(again.embed(), model.embed())
