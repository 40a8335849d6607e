"""The methods of the paper's Tables 3 to 5, made from one seed and TADGE's own configs, and two controls."""

from __future__ import annotations

from dataclasses import replace

from tadge.baselines.ctdne import CTDNE
from tadge.baselines.graphsage import GraphSAGE
from tadge.baselines.of_parts import (
    DegreeAgeVectors,
    NeighbourSums,
    OfWalks,
    PartMethod,
    RandomVectors,
    StaticDeepWalk,
)
from tadge.config import NetworkConfig, TrainConfig, WalkConfig
from tadge.embedding.estimator import TADGE


def paper_methods(
    walk_config: WalkConfig,
    network_config: NetworkConfig,
    train_config: TrainConfig,
    seed: int = 0,
    progress: bool | None = None,
    device: str | None = None,
) -> dict[str, PartMethod]:
    """Make all methods by name, in the order of the paper's tables, to be fitted; the controls come last.

    Args:
        walk_config: how the walks of the parts were made.
        network_config: TADGE's own; its variants differ from it as the paper says, and GAT reads whole walks.
        train_config: how the networks over walks are trained.
        seed: of all of them.
        progress: whether those networks show how far they are.
        device: where they are trained.
    """

    def of_walks(name: str, network: NetworkConfig) -> OfWalks:
        return OfWalks(name, TADGE(walk_config, network, train_config, seed, device=device), progress)

    dim, gat = network_config.dim, replace(network_config, encoder="gat", queries="next")
    methods: list[PartMethod] = [
        StaticDeepWalk(seed, dim),
        CTDNE(seed, dim),
        GraphSAGE(seed, dim),
        of_walks("GAT", replace(gat, structure=False)),
        of_walks("GAT-strc", replace(gat, structure=True)),
        of_walks("TADGE-tTran", replace(network_config, structure=False)),
        of_walks("TADGE", replace(network_config, structure=True)),
        RandomVectors(seed, dim),
        NeighbourSums(seed, dim),
        DegreeAgeVectors(seed),
    ]
    return {method.name: method for method in methods}
