"""Answer for pairs as of any moment, once learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from tadge.arrays import Days, Ints
from tadge.features.memory import NUM_SCALES, WIDTH, Scales, memory_of, pair_columns
from tadge.features.timing import toe_columns
from tadge.forecasting.learn import learn_links, learn_toe
from tadge.forecasting.link_scorer import LinkHead
from tadge.forecasting.trees import Trees
from tadge.graph import TemporalGraph

AT_ONCE = 1 << 14  # pairs answered for at once: bounds the memory
ROWS = 16  # scored together: products of matrices may round what is left over otherwise, and who is alike would differ

Part = Callable[[str], Any]  # a context that shows a piece of work by its title and gives a Report


@dataclass(frozen=True, eq=False)
class Forecaster:
    """Hold what was learned about pairs.

    Attributes:
        scales: what is a short and what is a long time.
        links: scores links.
        toe: guess squashed ToEs, their mean.
        toe_median: guess their median: half of such links come sooner.
    """

    scales: Scales
    links: LinkHead
    toe: Trees
    toe_median: Trees

    @classmethod
    def learn(cls, graph: TemporalGraph, steps: int, seed: int, part: Part) -> Forecaster:
        """Learn from a graph; the network that scores links in at most as many steps."""
        scales = Scales.of(graph)
        with part("who links to whom") as report:
            links = learn_links(graph, scales, steps, seed, report)
        with part("how long edges take"):
            toe = learn_toe(graph, scales, seed)
        return cls(scales, links, *toe)

    @torch.inference_mode()
    def score_links(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> npt.NDArray[np.float32]:
        """Score links as of moments, (n,) each, as (n,) float32: higher is likelier."""
        memory, found, threads = memory_of(graph, self.scales), np.empty(src.size, np.float32), torch.get_num_threads()
        for cut in _cuts(src.size):
            columns = torch.from_numpy(pair_columns(memory, src[cut], dst[cut], at[cut], threads))
            filled = functional.pad(columns, (0, 0, 0, -len(columns) % ROWS))
            found[cut] = self.links(filled)[: len(columns)].numpy()
        return found

    def guess_toe(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days, *, median: bool = False) -> Days:
        """Guess squashed ToEs, (n,), of src -> dst, where dst has joined last at or before `at`."""
        trees, found = self.toe_median if median else self.toe, np.empty(src.size)
        for cut in _cuts(src.size):
            asked = src[cut], dst[cut], at[cut]
            found[cut] = trees.guess(toe_columns(graph, self.scales, *asked, torch.get_num_threads()))
        return found

    # -- disk ---------------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Give all that was learned as tensors."""
        found = {"scales": torch.tensor([self.scales.tick, *self.scales.lately], dtype=torch.float64)}
        found |= {f"links.{key}": value for key, value in self.links.state_dict().items()}
        for name in ("toe", "toe_median"):
            trees = getattr(self, name)
            found |= {f"{name}.{one.name}": torch.from_numpy(getattr(trees, one.name)) for one in fields(Trees)}
        return found

    @classmethod
    def of(cls, tensors: dict[str, Tensor]) -> Forecaster:
        """Build it again from `tensors`; a ValueError, KeyError, TypeError or RuntimeError where they do not fit."""

        def own(name: str) -> dict[str, Tensor]:
            return {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{name}.")}

        times = tensors["scales"]
        if times.shape != (1 + NUM_SCALES,) or not bool((torch.isfinite(times) & (times > 0)).all()):
            raise ValueError("not scales")
        tick, *lately = times.tolist()
        links = LinkHead(WIDTH)
        links.load_state_dict(own("links"))
        toe, median = (
            Trees(**{part: value.numpy() for part, value in own(name).items()}).checked()
            for name in ("toe", "toe_median")
        )
        return cls(Scales(tick, tuple(lately)), links.eval(), toe, median)


def _cuts(size: int) -> Iterator[slice]:
    return (slice(first, min(first + AT_ONCE, size)) for first in range(0, size, AT_ONCE))
