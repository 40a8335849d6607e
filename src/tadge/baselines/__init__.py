"""The rivals that cost next to nothing: rules and small models behind the same few calls as TADGE.

Each has a `name`, `fit(graph)`, and those of `embed`, `score_links` and `predict_toe` that it can answer.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from tadge.baselines import classes, links, toe, vectors
from tadge.errors import ConfigError

_ALL: tuple[type[Any], ...] = (
    *(toe.Mean, toe.Median, toe.NodeMean, toe.Additive, toe.Reciprocity, toe.BoostedTrees),
    *(links.EdgeBank, links.Popularity, links.OwnRecency, links.GlobalRecency, links.LastSeen),
    *(links.ReverseRecency, links.ReversePopularity, links.LastAct, links.OwnThenPopular),
    *(classes.Majority, classes.DegreeAge, vectors.DeepWalk),
)
BASELINES: dict[str, type[Any]] = {each.name: each for each in _ALL}  # in the order of tables


def make(name: str, seed: int = 0) -> Any:
    """Make a baseline by its name, to be fitted.

    Args:
        name: one of BASELINES, in capitals or not.
        seed: a whole number from 0 up.
    """
    known = {each.lower(): each for each in BASELINES}
    wanted = str(name).strip().lower()
    if wanted not in known:
        near = get_close_matches(wanted, known, 1)
        cure = f"did you mean {known[near[0]]!r}?" if near else None
        raise ConfigError(
            "unknown baseline", expected=", ".join(BASELINES), found=repr(name), cure=cure, where="methods"
        )
    return BASELINES[known[wanted]](seed)
