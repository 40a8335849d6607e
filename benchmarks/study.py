"""Keep what a study came to, seed by seed, as records that the page of results is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tadge.arrays import Days
from tadge.evaluation.result import Result, combine
from tadge.units import unsquash


def in_unit(guess: Days, squashed: bool) -> Days:
    """Give guesses of squashed ToEs, (n,), as they were asked for."""
    guess = guess.clip(0.0, 1.0 - 1e-9)
    return guess if squashed else unsquash(guess)


def keep(place: Path, text: str, seeds: Iterable[int], work: Callable[[int], Result]) -> None:
    """Write the result of all seeds; one that is in results/studies is taken from there."""
    results, kept = [], Path("results/studies")
    kept.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        own = kept / f"{place.stem}-seed{seed}.json"
        if not own.exists():
            work(seed).to_json(own)
            print(f"{own}: written", flush=True)
        results.append(Result.from_json(own))
    found = combine(results)
    found.notes.insert(0, text)
    place.parent.mkdir(parents=True, exist_ok=True)
    found.to_json(place)
    print(found)
