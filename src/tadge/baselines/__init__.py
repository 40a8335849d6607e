"""Baselines that cost next to nothing: heuristics and small models behind the same interface as the estimators.

Each has a `name`, `fit(graph)`, and those of `embed`, `score_links`, `predict_toe` and `within` that it can answer.
"""

from __future__ import annotations

from difflib import get_close_matches

from tadge.baselines import classes, links, survival, toe, vectors, within
from tadge.errors import ConfigError

AnyBaseline = toe.ToeRule | links.LinkRule | within.WithinRule | classes.Majority | classes.DegreeAge | vectors.DeepWalk

_ALL: tuple[type[AnyBaseline], ...] = (
    *(toe.Mean, toe.Median, toe.NodeMean, toe.Additive, toe.Reciprocity, toe.BoostedTrees),
    *(links.EdgeBank, links.Popularity, links.OwnRecency, links.GlobalRecency, links.LastSeen),
    *(links.LastSeenFormerLast, links.ReverseRecency, links.OwnReverseRecency, links.ReversePopularity),
    *(links.LastAct, links.LastActThenSeen, links.OwnThenPopular, links.CoVisitation),
    *(within.PairRates, within.RecencyTable, within.BoostedTreesWithin, survival.OneCurve, survival.Cox),
    *(classes.Majority, classes.DegreeAge, vectors.DeepWalk),
)
BASELINES: dict[str, type[AnyBaseline]] = {baseline.name: baseline for baseline in _ALL}  # in the order of tables


def make(name: str, seed: int = 0) -> AnyBaseline:
    """Make a baseline by its name, to be fitted.

    Args:
        name: one of BASELINES, in capitals or not.
        seed: an integer from 0 up.
    """
    known = {baseline.lower(): baseline for baseline in BASELINES}
    wanted = str(name).strip().lower()
    if wanted not in known:
        near = get_close_matches(wanted, known, 1)
        cure = f"did you mean {known[near[0]]!r}?" if near else None
        raise ConfigError(
            "unknown baseline", expected=", ".join(BASELINES), found=repr(name), cure=cure, where="methods"
        )
    return BASELINES[known[wanted]](seed)
