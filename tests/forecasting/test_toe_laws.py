"""What is left of a ToE once some has passed, against plain sums over samples, integrals and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge.forecasting.toe_laws import ToeLaws

STATISTICS = {"mean": np.mean, "median": np.median}


def learned(prediction, toe, statistic, weight=None):
    return ToeLaws.learn(prediction, toe, np.ones(toe.size) if weight is None else weight, statistic).checked()


def spread(n=20_000, seed=0):
    """Predictions between 0.2 and 0.8, each followed by ToEs with that mean, and about that median, from 0 to 1."""
    rng = np.random.default_rng(seed)
    prediction = rng.uniform(0.2, 0.8, n)
    return prediction, rng.beta(4 * prediction, 4 * (1 - prediction))


@pytest.fixture(scope="module", params=STATISTICS)
def laws(request):
    return learned(*spread(), request.param)


def test_without_edges_the_law_is_uniform():
    """Half a Cauchy law in days: as much again is left as has passed, whatever was predicted."""
    passed = np.array([0.1, 0.5, 0.99])
    for statistic in STATISTICS:
        laws = learned(np.zeros(0), np.zeros(0), statistic)
        np.testing.assert_allclose(laws.given_passed(np.full(3, 0.5), passed), (1 + passed) / 2)


def test_what_was_quick_or_late_is_late_once_it_was_not_quick():
    toe = np.tile([0.1, 0.1, 0.1, 0.9], 5_000)
    for statistic, level in (("mean", 0.3), ("median", 0.1)):
        laws = learned(np.full(toe.size, level), toe, statistic)
        found = laws.given_passed(np.full(4, level), np.array([0.0, 0.11, 0.5, 0.89]))
        assert found[0] == level
        assert found[1:] == pytest.approx([0.9] * 3, abs=0.01)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_answers_are_those_of_the_samples_that_took_longer(statistic):
    """All that were predicted about as long, and were not over by then."""
    prediction, toe = spread(200_000)
    laws = learned(prediction, toe, statistic)
    for level in (0.3, 0.5, 0.7):
        near = toe[np.abs(prediction - level) < 0.01]
        guess = STATISTICS[statistic](near)
        for passed in (0.05, 0.3, 0.6, 0.9):
            expected = STATISTICS[statistic](near[near > passed])
            (found,) = laws.given_passed(np.array([guess]), np.array([passed]))
            assert found == pytest.approx(expected, abs=0.02)


def test_later_rows_weigh_more_where_they_are_said_to():
    prediction, toe = spread()
    half = np.arange(toe.size) < toe.size // 2
    other = np.where(half, toe, toe**4)
    for statistic in STATISTICS:
        one = learned(prediction, other, statistic, np.where(half, 1.0, 1e-9))
        two = learned(prediction[half], toe[half], statistic)
        asked = np.full(50, 0.5), np.linspace(0.01, 0.9, 50)
        np.testing.assert_allclose(one.given_passed(*asked), two.given_passed(*asked), atol=0.01)


@settings(max_examples=200, deadline=None)
@given(guess=st.floats(0, 1), passed=st.floats(0, 1))
def test_a_mixture_is_what_its_integral_says(laws, guess, passed):
    """Two laws whose mixture has the level that was predicted; then the statistic of what lies beyond."""
    grid = np.unique(np.concatenate([np.linspace(0, 1, 20_001), laws.knots, [passed]]))
    longer = np.array([np.interp(grid, laws.knots, law) for law in laws.longer])
    levels = laws.levels
    level = min(max(guess, levels[0]), levels[-1])
    lower = max(k for k in range(len(levels) - 1) if levels[k] <= level)

    def of_the_mixture(share, since):
        mixed = share * longer[lower] + (1 - share) * longer[lower + 1]
        beyond = grid >= since
        if laws.statistic == "mean":
            return since + np.trapezoid(mixed[beyond], grid[beyond]) / max(mixed[beyond][0], 1e-300)
        return np.interp(-mixed[beyond][0] / 2, -mixed[beyond], grid[beyond])

    low, high = 0.0, 1.0
    for _ in range(60):  # the more of the lower law, the lower the level
        middle = (low + high) / 2
        low, high = (middle, high) if of_the_mixture(middle, 0.0) > level else (low, middle)
    (found,) = laws.given_passed(np.array([guess]), np.array([passed]))
    assert found >= passed
    assert found == guess if passed == 0 else found == pytest.approx(of_the_mixture(low, passed), abs=1e-4)


def test_answers_begin_with_the_prediction_and_grow_without_a_jump(laws):
    largest = spread()[1].max()
    for guess in (0.0, 1e-7, 0.01, 0.2, 0.5, 0.77, 0.9, largest):
        passed = np.concatenate([[0.0], np.geomspace(1e-14, 1.0, 100_000)])
        answers = laws.given_passed(np.full(passed.size, guess), passed)
        assert answers[0] == guess
        assert answers[1] == pytest.approx(guess, abs=1e-6)
        assert ((np.diff(answers) > -1e-9) & (np.diff(answers) < 0.05)).all()
        assert (answers >= passed).all()
        assert answers[-1] == 1.0
    passed = np.full(10_000, 0.4)
    assert np.abs(np.diff(laws.given_passed(np.linspace(0.2, 1, 10_000), passed))).max() < 0.01


def test_what_is_asked_together_changes_nothing(laws):
    guess, passed = spread(100, 1)[0], np.linspace(0, 0.99, 100)
    alone = [laws.given_passed(guess[k : k + 1], passed[k : k + 1])[0] for k in range(100)]
    assert laws.given_passed(guess, passed).tolist() == alone
    assert laws.given_passed(guess[:0], passed[:0]).shape == (0,)


@pytest.mark.parametrize("n", [1, 2, 99, 200, 5_000])
def test_few_edges_make_fewer_groups(n):
    for statistic in STATISTICS:
        laws = learned(*spread(n), statistic)
        assert len(laws.longer) == 2 * (1 + 4) + max(1, min(16, n // 100))
        found = laws.given_passed(np.full(3, 0.4), np.array([0.0, 0.5, 0.999]))
        assert found[0] == 0.4
        assert (found[1:] > [0.5, 0.999]).all()


def put(name, place, value):
    def damage(laws):
        changed = getattr(laws, name).copy()
        changed[place] = value
        return {name: changed}

    return damage


DAMAGES = {
    "fewer knots": lambda laws: {"knots": laws.knots[:-1]},
    "one knot": lambda laws: {"knots": laws.knots[:1], "longer": laws.longer[:, :1]},
    "knots in two dimensions": lambda laws: {"knots": laws.knots[:, None]},
    "laws in one dimension": lambda laws: {"longer": laws.longer[1]},
    "too few laws": lambda laws: {"longer": laws.longer[:2]},
    "laws turned": lambda laws: {"longer": laws.longer[::-1].copy()},
    "halves": lambda laws: {"longer": laws.longer.astype(np.float32)},
    "knots that fall": lambda laws: {"knots": laws.knots[::-1].copy()},
    "the same knot twice": put("knots", 3, 0.0),
    "knots beyond 1": put("knots", -1, 2.0),
    "a knot that is no number": put("knots", 2, np.nan),
    "a fraction that is no number": put("longer", (1, 2), np.nan),
    "a fraction that grows": put("longer", (1, 5), 1.5),
    "not all": put("longer", (2, 0), 0.5),
    "some beyond the end": put("longer", (2, -1), 1e-3),
    "nothing left before the end": put("longer", (2, -2), 0.0),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_what_are_no_laws_is_refused(laws, case):
    with pytest.raises(ValueError, match="law"):
        replace(laws, **DAMAGES[case](laws)).checked()


def test_laws_survive_as_tensors(laws):
    parts = {name: torch.from_numpy(getattr(laws, name)).clone().numpy() for name in ("knots", "longer")}
    again = ToeLaws(**parts, statistic=laws.statistic).checked()
    asked = spread(100, 2)[0], np.linspace(0, 1, 100)
    assert again.given_passed(*asked).tobytes() == laws.given_passed(*asked).tobytes()
