from __future__ import annotations

import pytest

import tadge
from tadge.running.cost import Stage, epochs_in, expected_seconds, make_plan, measured
from tadge.running.memory import MemoryPlan
from tadge.running.options import RunConfig, seconds_of
from tadge.units import duration_text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5_400), (" 1.5 H ", 5_400), ("1h 1m 1s", 3_661)]
)
def test_budgets_are_read_as_people_write_them(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "ten minutes", "10 x", "-5m", "m10", "1e3s"])
def test_other_budgets_are_one_sentence(text):
    with pytest.raises(tadge.ConfigError, match="budget: not a length of time; expected a length of time like 90s"):
        RunConfig(budget=text)


def test_lengths_of_time_are_written_as_people_do():
    assert [duration_text(value) for value in (0.42, 42, 600, 7_200, 5_460 + 3_600)] == [
        *("0.4 s", "42 s", "10 min", "2 h", "2 h 31 min")
    ]


def test_settings_are_what_decides_about_the_result():
    one, other = RunConfig(budget="1m"), RunConfig(budget="1h", device="cpu")
    assert one.settings() == other.settings()
    assert one.settings() != RunConfig(days=3.0).settings()
    assert one.settings() != RunConfig(seed=1).settings()


def test_costs_are_those_that_were_measured_and_grow_in_between():
    rows = measured()
    for row in rows:
        for stage, seconds in row["seconds"].items():
            assert expected_seconds(stage, row["events"]) == pytest.approx(seconds, rel=1e-6)
    largest = rows[-1]["events"]
    slope = expected_seconds("forecaster", 4 * largest) / expected_seconds("forecaster", 2 * largest)
    assert slope == pytest.approx(2.0)  # beyond all that was measured, in proportion


def test_a_plan_leaves_out_what_does_not_fit():
    asked = []

    def memory(vectors, judged):
        asked.append((vectors, judged))
        return MemoryPlan(1000, 200, 300, 400 * vectors, 10**9)

    roomy, tight = (make_plan(35_000, RunConfig(budget=budget), memory) for budget in ("10h", "1s"))
    assert asked == [(True, True), (False, False)]
    assert (roomy.memory_mb, tight.memory_mb) == (0.0016, 0.0015)
    assert roomy.epochs == RunConfig().training.epochs
    assert all(seconds is not None for seconds in roomy.seconds.values())
    assert tight.epochs == 0
    assert tight.seconds[Stage.FORECASTER] is not None  # never cut
    for stage in (Stage.JUDGING, Stage.VECTORS, Stage.JUDGING_VECTORS):
        assert tight.seconds[stage] is None
    assert any("left out: no time left" in line for line in tight.lines())
    assert "GB of memory" in tight.lines()[-1]


def test_a_slow_machine_gets_fewer_epochs():
    config = RunConfig()
    counts = [epochs_in(400.0, 35_000, config, slower) for slower in (0.5, 1.0, 2.0, 8.0, 100.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    assert counts[-1] == counts[-2]  # more than so much is a stall
