"""Answer for pairs as of any moment, once learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tadge.forecast import tokens
from tadge.forecast.heads import LinkHead, ToeHead
from tadge.forecast.learn import Report, learn_links, learn_toe
from tadge.forecast.memory import WIDTH, Memory, Scales, memory_of, pair_columns
from tadge.graph import TemporalGraph
from tadge.kernels import Days, Ints

AT_ONCE = 1 << 14  # pairs answered for at once: bounds the memory
MEMBERS = 2  # networks whose guesses of ToE are averaged

Part = Callable[[str], Any]  # a context that shows a piece of work by its title and gives a Report


@dataclass(frozen=True, eq=False)
class Forecaster:
    """Hold what was learned about pairs.

    Attributes:
        scales: what is a short and what is a long time.
        links: scores links.
        toe: networks that guess ToE; the guess is their mean.
    """

    scales: Scales
    links: LinkHead
    toe: tuple[ToeHead, ...]

    @classmethod
    def learn(cls, graph: TemporalGraph, steps: int, seed: int, part: Part) -> Forecaster:
        """Learn from a graph in as many steps for each network."""
        scales = Scales.of(graph)
        with part("who links to whom") as report:
            links = learn_links(graph, scales, steps, seed, report)
        with part("how long edges take") as report:
            toe = tuple(
                learn_toe(graph, scales, steps, seed, member, _share(report, member)) for member in range(MEMBERS)
            )
        return cls(scales, links, toe)

    @torch.inference_mode()
    def score_links(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Any:
        """Score links as of moments, (n,) each, as (n,) float32: higher is likelier."""
        memory, found = memory_of(graph, self.scales), np.empty(src.size, np.float32)
        for cut in _cuts(src.size):
            columns = self._columns(memory, src[cut], dst[cut], at[cut])
            found[cut] = self.links(columns).numpy()
        return found

    @torch.inference_mode()
    def guess_toe(self, graph: TemporalGraph, src: Ints, dst: Ints, at: Days) -> Days:
        """Guess squashed ToEs, (n,), of src -> dst, where dst has joined last at or before `at`."""
        memory, found = memory_of(graph, self.scales), np.empty(src.size)
        for cut in _cuts(src.size):
            pairs = src[cut], dst[cut], at[cut]
            columns, seen = self._columns(memory, *pairs), torch.from_numpy(tokens.pair_tokens(memory, *pairs))
            found[cut] = torch.stack([head(columns, seen) for head in self.toe]).mean(0).numpy()
        return found

    def _columns(self, memory: Memory, src: Ints, dst: Ints, at: Days) -> Tensor:
        return torch.from_numpy(pair_columns(memory, src, dst, at, torch.get_num_threads()))

    # -- disk ---------------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Give all that was learned as tensors."""
        found = {"scales": torch.tensor([self.scales.tick, *self.scales.lately], dtype=torch.float64)}
        heads: dict[str, nn.Module] = {"links": self.links} | {
            f"toe{number}": head for number, head in enumerate(self.toe)
        }
        return found | {
            f"{name}.{key}": value for name, head in heads.items() for key, value in head.state_dict().items()
        }

    @classmethod
    def of(cls, tensors: dict[str, Tensor]) -> Forecaster:
        """Build it again from `tensors`; a ValueError, KeyError or RuntimeError where they do not fit."""
        tick, *lately = tensors["scales"].tolist()
        links = LinkHead(WIDTH)
        toe: list[ToeHead] = []
        while any(key.startswith(f"toe{len(toe)}.") for key in tensors):
            toe.append(ToeHead(WIDTH, tokens.WIDTH, tokens.NUM_TOKENS))
        for name, head in _named(links, toe):
            own = {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(f"{name}.")}
            head.load_state_dict(own)
            head.eval()
        return cls(Scales(tick, tuple(lately)), links, tuple(toe))


def _named(links: LinkHead, toe: Sequence[ToeHead]) -> list[tuple[str, nn.Module]]:
    return [("links", links), *((f"toe{number}", head) for number, head in enumerate(toe))]


def _cuts(size: int) -> Iterator[slice]:
    return (slice(first, min(first + AT_ONCE, size)) for first in range(0, size, AT_ONCE))


def _share(report: Report, member: int) -> Report:
    return lambda done, total: report(member * total + done, MEMBERS * total)
