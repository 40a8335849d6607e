"""Keep what a study came to, seed by seed, as records that the page of results is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tadge.arrays import Days
from tadge.evaluation.result import Result, combine
from tadge.units import unsquash


def in_unit(squashed: Days, unit: str) -> Days:
    """Give predictions of squashed ToEs, (n,), in the unit that was asked for."""
    squashed = squashed.clip(0.0, 1.0 - 1e-9)
    return squashed if unit == "squashed" else unsquash(squashed)


def keep(place: Path, text: str, seeds: Iterable[int], work: Callable[[int], Result]) -> None:
    """Write the result of all seeds with a text about it; one that is in results/studies is taken from there."""
    result = keep_seeds(place, seeds, work)
    result.notes.insert(0, text)
    result.to_json(place)


def keep_seeds(place: Path, seeds: Iterable[int], work: Callable[[int], Result]) -> Result:
    """Write the result of all seeds; one that is in results/studies is taken from there."""
    results, kept = [], Path("results/studies")
    kept.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        place_of_seed = kept / f"{place.stem}-seed{seed}.json"
        if not place_of_seed.exists():
            work(seed).to_json(place_of_seed)
            print(f"{place_of_seed}: written", flush=True)
        results.append(Result.from_json(place_of_seed))
    result = combine(results)
    place.parent.mkdir(parents=True, exist_ok=True)
    result.to_json(place)
    print(result)
    return result
