"""The figures that the paper prints: Yang et al., TKDE 2023, section 5."""

from __future__ import annotations

from typing import Final

# Table 1: nodes, events, mean degree, mean ToE, standard deviation of ToE (days), classes
STATISTICS: Final[dict[str, tuple[float | None, ...]]] = {
    "Transaction": (5_881, 35_592, 3.665, 30.693, 72.848, 3),
    "Hyperlink": (54_075, 571_927, 7.701, 58.350, 121.937, 2),
    "Discussion": (194_085, 1_443_339, 3.987, 76.575, 218.925, None),
}

# Table 2: walks, most and fewest nodes in a walk
WALKS: Final = {"Transaction": (10_000, 5, 3), "Hyperlink": (200_000, 5, 3), "Discussion": (300_000, 10, 3)}

# Table 3: RMSE of the squashed ToE
TOE: Final = {
    "Transaction": {
        "DeepWalk": 0.5586,
        "CTDNE": 0.4397,
        "GraphSAGE": 0.4465,
        "GAT": 0.4304,
        "GAT-strc": 0.4025,
        "TADGE-tTran": 0.3959,
        "TADGE": 0.3795,
    },
    "Hyperlink": {
        "DeepWalk": 0.4667,
        "CTDNE": 0.4582,
        "GraphSAGE": 0.4464,
        "GAT": 0.4125,
        "GAT-strc": 0.4099,
        "TADGE-tTran": 0.4073,
        "TADGE": 0.4004,
    },
    "Discussion": {
        "DeepWalk": 0.4602,
        "CTDNE": 0.4718,
        "GraphSAGE": 0.4748,
        "GAT": 0.3394,
        "GAT-strc": 0.3317,
        "TADGE-tTran": 0.3298,
        "TADGE": 0.3170,
    },
}

# Table 4: Micro- and Macro-F1 of static edges
EDGES: Final = {
    "Transaction": {
        "DeepWalk": (0.8783, 0.7012),
        "CTDNE": (0.5177, 0.4103),
        "GraphSAGE": (0.6132, 0.5157),
        "GAT": (0.8300, 0.8033),
        "GAT-strc": (0.8787, 0.8627),
        "TADGE-tTran": (0.9111, 0.8864),
        "TADGE": (0.9133, 0.8939),
    },
    "Hyperlink": {
        "DeepWalk": (0.8587, 0.6476),
        "CTDNE": (0.7253, 0.4527),
        "GraphSAGE": (0.7114, 0.3732),
        "GAT": (0.9362, 0.9071),
        "GAT-strc": (0.9389, 0.9140),
        "TADGE-tTran": (0.9536, 0.9328),
        "TADGE": (0.9732, 0.9612),
    },
    "Discussion": {
        "DeepWalk": (0.8486, 0.5115),
        "CTDNE": (0.6897, 0.3839),
        "GraphSAGE": (0.6125, 0.3788),
        "GAT": (0.7140, 0.6794),
        "GAT-strc": (0.7377, 0.7050),
        "TADGE-tTran": (0.8060, 0.7721),
        "TADGE": (0.8799, 0.8567),
    },
}

# Table 5: Micro- and Macro-F1 of classes
CLASSES: Final = {
    "Transaction": {
        "DeepWalk": (0.5889, 0.3721),
        "CTDNE": (0.5969, 0.3680),
        "GraphSAGE": (0.6037, 0.3711),
        "GAT": (0.5952, 0.4256),
        "GAT-strc": (0.6173, 0.4424),
        "TADGE-tTran": (0.6042, 0.4122),
        "TADGE": (0.6302, 0.4644),
    },
    "Hyperlink": {
        "DeepWalk": (0.7179, 0.5185),
        "CTDNE": (0.7119, 0.4653),
        "GraphSAGE": (0.7939, 0.7361),
        "GAT": (0.7156, 0.6705),
        "GAT-strc": (0.8067, 0.7562),
        "TADGE-tTran": (0.7596, 0.7247),
        "TADGE": (0.8140, 0.7634),
    },
}

# Table 6, on Hyperlink alone: static edges (Micro, Macro), classes (Micro, Macro), RMSE of ToE
INITIALISATION: Final = {
    "random": (0.9649, 0.9511, 0.8276, 0.7550, 0.4029),
    "deepwalk": (0.9732, 0.9612, 0.8140, 0.7634, 0.4004),
    "node2vec": (0.9666, 0.9534, 0.8123, 0.7598, 0.3984),
    "line": (0.9631, 0.9485, 0.8246, 0.7703, 0.4007),
}

SCALABILITY: Final = "The paper: 141 s per epoch at 20% of Discussion, 686 s at all of it, on a graphics card."
