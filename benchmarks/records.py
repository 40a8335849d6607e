"""Records of forecasts by a Forecaster beside all baselines and its control, for the page of results.

    python benchmarks/records.py bitcoin-otc|college-msg|jodie-wikipedia [--seeds 1] [--origins 4]
    python benchmarks/records.py bitcoin-otc|college-msg|jodie-wikipedia|sx-mathoverflow --within

Links against random, historical and tgb negatives (users and items: every item), ToE, who and when. The vectors of
TADGE are not asked here: they take hours. --origins: the same in so many test periods, each learned for anew.
--within: links within a time instead, with reliability, skill, order and coverage. The data are read where they are
(TADGE_DATA). What a seed came to is kept in results/studies and not made again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tadge
from study import keep_seeds
from tadge.evaluation.result import Result

SIDED = ("jodie-wikipedia",)  # users and items, read in both directions
AGAINST = ("random", "historical", "tgb")
WITHIN = {"tasks": "within", "max_links": 5_000, "control": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("bitcoin-otc", "college-msg", *SIDED, "sx-mathoverflow"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--origins", type=int, default=1)
    parser.add_argument("--within", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    asked = parser.parse_args()
    sided = asked.data in SIDED and not asked.within
    graph = tadge.datasets.load(asked.data, quiet=True, **({"directed": False} if sided else {}))
    options = {"tasks": "links", "against": "all"} if sided else {"tasks": ("toe", "links", "who-and-when")}
    if asked.within:
        options = WITHIN
    elif not sided:
        options["against"] = AGAINST if asked.origins == 1 else AGAINST[:2]
    if asked.origins > 1:
        options = options | {"origins": asked.origins, "control": False}

    name = "within" if asked.within else "forecast"
    suffix = f"{'within-' * asked.within}origins-{asked.origins}" if asked.origins > 1 else name

    def work(seed: int) -> Result:
        kept = Path("results/records") / f"{asked.data}-{name}-{asked.origins}-{seed}"
        return tadge.evaluate(tadge.Forecaster(seed=seed), graph, seed=seed, name=asked.data, folder=kept, **options)

    keep_seeds(asked.out / f"{asked.data}-{suffix}.json", range(asked.seeds), work)


if __name__ == "__main__":
    main()
