"""ToE by a Transformer on tokens: the latest events of both ends, with no column made by hand."""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import nn

from study import in_unit
from tadge.config import ForecastConfig
from tadge.features.link_columns import log_time
from tadge.features.pairs import timed_pairs
from tadge.features.tables import Scales, make_tables, tables_of
from tadge.forecasting.learn import RESCALED, adamw_steps, later_weigh_more
from tadge.graph import TemporalGraph
from tadge.graph.past import end_of
from tadge.seeding import seeded, stream
from tadge.units import squash, unsquash

LATEST = 12  # events of each end
WIDTH = 8  # there, direction, is it the partner, log time since, log gap to the next, which end, ToE, has a ToE
ALIKE_WIDTH = WIDTH + 1  # and the weight of the event
EPOCHS, ROWS, MOST, STEPS = 10, 256, 40_000, ForecastConfig(forecast_lr=1e-3)


@numba.njit(cache=True)
def fill(tables, src, dst, at, found):
    """Write the latest events of dst, then of src, in any role: (n, 2 LATEST, WIDTH or ALIKE_WIDTH)."""
    for q in range(src.size):
        for which in range(2):
            node, partner = (dst[q], src[q]) if which == 0 else (src[q], dst[q])
            acts, links, unit = tables.outgoing, tables.incoming, tables.log_unit_days
            one = end_of(acts.time, acts.start[node], acts.start[node + 1], at[q]) - 1
            two = end_of(links.time, links.start[node], links.start[node + 1], at[q]) - 1
            after = at[q]
            for k in range(LATEST):
                acted, linked = one >= acts.start[node], two >= links.start[node]
                if not (acted or linked):
                    break
                act = acted and (not linked or acts.time[one] >= links.time[two])
                side, place = (acts, one) if act else (links, two)
                one, two = (one - 1, two) if act else (one, two - 1)
                token = found[q, which * LATEST + k]
                token[0], token[1], token[2] = 1.0, act, side.other[place] == partner
                token[3] = log_time(at[q] - side.time[place], unit) / 8
                token[4] = log_time(after - side.time[place], unit) / 8
                after = side.time[place]
                toe = tables.toe[side.reading[place]]
                token[5], token[7] = which, not np.isnan(toe)
                token[6] = 0.0 if np.isnan(toe) else toe
                if token.size > WIDTH and tables.weight.size:
                    weight = tables.weight[side.reading[place]]
                    token[8] = np.sign(weight) * np.log1p(np.abs(weight))


class Net(nn.Module):
    def __init__(self, token_width: int = WIDTH, width: int = 64) -> None:
        super().__init__()
        self.enter = nn.Linear(token_width, width)
        self.place = nn.Parameter(0.02 * torch.randn(2 * LATEST + 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        rows = nn.functional.pad(self.enter(tokens), (0, 0, 1, 0)) + self.place
        missing = nn.functional.pad(tokens[:, :, 0] == 0, (1, 0))
        return self.head(self.layers(rows, src_key_padding_mask=missing)[:, 0])[:, 0]


class Tokens:
    """A Transformer on tokens; `alike`: given the same history at other paces, weights and recency, as trees are."""

    def __init__(self, name: str, seed: int, alike: bool = False) -> None:
        self.name, self.seed, self.alike = name, seed, alike

    def tokens(self, tables, src, dst, at) -> torch.Tensor:
        found = np.zeros((src.size, 2 * LATEST, ALIKE_WIDTH if self.alike else WIDTH), np.float32)
        fill(tables, src, dst, at, found)
        return torch.from_numpy(found)

    def rows(self, graph: TemporalGraph) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Give tokens, squashed ToEs and how much each counts."""
        pairs = timed_pairs(graph, MOST, self.seed)
        tokens = self.tokens(tables_of(graph, self.scales), pairs.src, pairs.dst, pairs.at)
        if not self.alike:
            return tokens, torch.from_numpy(pairs.toe).float(), torch.ones(len(pairs.toe))
        rng, again = np.random.default_rng(int(stream(self.seed, "paces"))), torch.empty_like(tokens)
        factors = rng.choice(list(RESCALED), pairs.toe.size, p=list(RESCALED.values()))
        for factor in RESCALED:
            some = np.flatnonzero(factors == factor)
            tables = make_tables(graph, self.scales.rescaled(factor))
            again[some] = self.tokens(tables, pairs.src[some], pairs.dst[some], pairs.at[some])
        toe = np.concatenate([pairs.toe, squash(factors * unsquash(pairs.toe))])
        weight = np.tile(later_weigh_more(pairs.toe.size, ForecastConfig()), 2)
        return (
            torch.cat([tokens, again]),
            torch.from_numpy(toe).float(),
            torch.from_numpy(weight / weight.mean()).float(),
        )

    def fit(self, graph: TemporalGraph) -> Tokens:
        self.scales = Scales.of(graph)
        tokens, toe, weight = self.rows(graph)
        self.net = seeded(lambda: Net(tokens.shape[2]), self.seed, "tokens")
        rng = np.random.default_rng(self.seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            for _ in adamw_steps(self.net, STEPS, EPOCHS * len(toe) // ROWS, lambda done, total: None):
                some = torch.from_numpy(rng.integers(0, len(toe), ROWS))
                (weight[some] * (self.net(tokens[some]) - toe[some]) ** 2).mean().backward()
        self.net.eval()
        return self

    @torch.inference_mode()
    def predict_toe(self, src, dst, at, *, graph, unit="days", statistic="mean"):
        src, dst = (np.asarray(ends) for ends in (src, dst))
        parts = [slice(first, first + 4096) for first in range(0, src.size, 4096)]
        tables = tables_of(graph, self.scales)
        found = torch.cat([self.net(self.tokens(tables, src[part], dst[part], at[part])) for part in parts])
        return in_unit(found.double().numpy(), unit)
