"""What learning takes in all is said before it starts; how near that is to the truth is for benchmarks/memory.py."""

from __future__ import annotations

from small import forum, network, training, walking
from tadge import ForecastConfig
from tadge.embedding.estimator import TADGE
from tadge.machine import held_memory
from tadge.running.memory import MemoryPlan, memory_plan, num_weights


def test_the_whole_process_counts():
    graph, models = forum(), (walking(), network(), training())
    before = held_memory()
    both, forecasts, vectors = (
        memory_plan(graph, *of) for of in ((ForecastConfig(), models), (ForecastConfig(), None), (None, models))
    )
    assert both.held >= 0.9 * before
    assert forecasts.vectors == 0 and vectors.forecaster == 0
    assert both.forecaster == forecasts.forecaster
    assert both.vectors > vectors.vectors  # what is kept of the Forecaster counts
    assert both.total == both.held + both.code + max(both.forecaster, both.vectors)
    judged = memory_plan(graph, ForecastConfig(), None, judged=True)
    assert judged.forecaster > forecasts.forecaster


def test_what_makes_it_grow():
    graph = forum()

    def of(**changed):
        return memory_plan(graph, ForecastConfig(**changed), None).forecaster

    assert of(batch_events=1280) > of() > 0
    assert of(hidden=1280) > of()
    wide = memory_plan(graph, None, (walking(), network(dim=256), training())).vectors
    assert wide > memory_plan(graph, None, (walking(), network(), training())).vectors


def test_a_container_that_is_too_small_is_told(monkeypatch, capsys):
    plan = MemoryPlan(400_000_000, 100_000_000, 300_000_000, 200_000_000, 350_000_000)
    assert plan.total == 800_000_000 and not plan.fits
    assert str(plan).startswith("about 800 MB of memory in all (held now 400, code 100, forecasts 300, vectors 200)")
    assert plan._replace(available=400_000_000).fits


def test_weights_are_counted_without_being_made():
    model = TADGE(walking(), network(), training())
    assert num_weights(network(), walking().max_length) == sum(w.numel() for w in model._tasks().parameters())
