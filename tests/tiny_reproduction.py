"""A workshop so small that every run takes a moment."""

from __future__ import annotations

from dataclasses import replace

from tadge.config import WalkConfig
from tadge.reproduction.run import Material
from tadge.reproduction.sizes import QUICK
from tadge.synthetic import forum

SIZE = replace(
    QUICK,
    walks=WalkConfig(num_walks=260),
    dim=8,
    heads=1,
    batch=60,
    epochs=2,
    study_epochs=1,
    timed_epochs=1,
    blocks_tried=(1,),
    heads_tried=(1,),
    dims_tried=(8,),
    fractions_tried=(0.5, 0.75, 1.0),
)


def tiny_material(data: str = "", *, quick: bool = True) -> Material:
    made = forum(1_200, seed=1)
    labels = (made.graph.degree > 3).astype("int64")
    return Material("tiny forum", None, made.graph, labels, SIZE, True)
