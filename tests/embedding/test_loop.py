"""The training loop: learning rates, clipping, early stopping, trouble, Ctrl-C, and the same weights twice."""

from __future__ import annotations

import math
import signal
import threading

import numpy as np
import pytest
import torch

import tadge
from small import assert_same, forum, nothing, plain, snapshot, trainer
from tadge.embedding import device as precision
from tadge.embedding.device import faster_precision
from tadge.embedding.loop import LAST_LR, Trainer
from tadge.network.training_model import LOSSES


def states_by_epoch(kept):
    """A report that copies what is trained at the end of every epoch; 0 is the beginning."""

    def report(run):
        if run.position.step == 0:
            kept[run.position.epoch] = trained(run)

    return report


def trained(run):
    return {name: value for name, value in snapshot(run).items() if name.startswith(("weights", "table.values"))}


def all_finite(run):
    return all(bool(torch.isfinite(value).all()) for value in snapshot(run).values())


# -- steps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warmup", [0.0, 0.25, 1.0])
def test_the_learning_rate_rises_in_a_line_and_falls_along_a_cosine(warmup):
    run = trainer(train={"epochs": 4, "warmup": warmup, "lr": 0.01})
    found = []
    run.run(lambda run: found.append(run.optimiser.param_groups[0]["lr"]), nothing)
    total = 4 * len(run.batches)
    assert len(found) == total
    rising = int(warmup * total)
    assert rising == warmup * total
    assert found[:rising] == pytest.approx([0.01 * (k + 1) / (rising + 1) for k in range(rising)])
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([weight], lr=0.01)
    if rising < total:
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, total - rising, eta_min=0.01 * LAST_LR)
        for lr in found[rising:]:
            assert lr == pytest.approx(falling.get_last_lr()[0], rel=1e-6)
            optimiser.step()
            falling.step()
    assert max(found) <= 0.01


def test_a_constant_learning_rate_after_the_warm_up():
    run, found = trainer(train={"epochs": 2, "warmup": 0.25, "lr": 0.01, "schedule": "constant"}), []
    run.run(lambda run: found.append(run.optimiser.param_groups[0]["lr"]), nothing)
    rising = math.ceil(0.25 * len(found))
    assert found[rising:] == [0.01] * (len(found) - rising)
    assert found[:rising] == sorted(found[:rising])


def gradients(clip):
    """The gradients that one step hands to its optimisers, end to end."""
    run, found = trainer(train={"clip": clip}), []
    update = run.table.update

    def spy_network():
        found.extend(weight.grad.clone().reshape(-1) for weight in run.tasks.parameters() if weight.grad is not None)

    def spy_table(rows, gradient, lr, step):
        found.append(gradient.clone().reshape(-1))
        update(rows, gradient, lr, step)

    run.optimiser.step, run.table.update = spy_network, spy_table
    run._next_step()
    return torch.cat(found).double()


def test_long_gradients_are_shortened_and_short_ones_left():
    free, cut, long = gradients(1e6), gradients(0.01), gradients(1.0)
    length = float(free.norm())
    assert length > 1.0
    assert float(cut.norm()) == pytest.approx(0.01, rel=1e-3)
    assert float(long.norm()) == pytest.approx(1.0, rel=1e-3)
    torch.testing.assert_close(cut * (length / 0.01), free, rtol=1e-3, atol=1e-6)  # the direction is the same
    assert torch.equal(gradients(2 * length), free)


def test_the_joint_loss_is_the_weighted_sum():
    weights = (0.5, 2.0, 3.0, 0.25)
    run = trainer(train={"weights": weights, "epochs": 2})
    run.run(nothing, nothing)
    of = {"self": 0.5, "interval": 2.0, "edge": 3.0, "toe": 0.25, "who": 3.0, "when": 0.25}
    for figures in run.position.history:
        for shown in (figures, figures["held_out"]):
            assert shown["loss"] == pytest.approx(sum(of[name] * shown[f"{name}_loss"] for name in LOSSES))


def test_the_gradient_is_that_of_the_weighted_sum():
    def first_gradient(weights):
        run = trainer(train={"weights": weights, "clip": 1e9})
        run.optimiser.step = lambda: None
        run.optimiser.zero_grad = lambda set_to_none: None
        run._next_step()
        return torch.cat(
            [w.grad.reshape(-1) if w.grad is not None else w.reshape(-1) * 0 for w in run.tasks.parameters()]
        )

    single = [first_gradient([float(k == one) for k in range(4)]) for one in range(4)]
    joint = first_gradient((0.5, 2.0, 3.0, 0.25))
    expected = 0.5 * single[0] + 2 * single[1] + 3 * single[2] + 0.25 * single[3]
    torch.testing.assert_close(joint.detach(), expected.detach(), rtol=1e-4, atol=1e-5)
    assert all(float(one.detach().abs().sum()) > 0 for one in single)


def test_the_loss_falls():
    run = trainer(train={"epochs": 12, "lr": 0.01})
    assert run.run(nothing, nothing) == "done"
    losses = [figures["loss"] for figures in run.position.history]
    held_out = [figures["held_out"]["loss"] for figures in run.position.history]
    assert losses[-1] < 0.85 * losses[0]
    assert held_out[-1] < 0.9 * held_out[0]
    assert run.position.history[-1]["self_f1"] > 3 * run.position.history[0]["self_f1"]
    assert run.position.total == 12 * len(run.batches)
    assert all_finite(run)
    assert not run.tasks.training


@pytest.mark.parametrize("queries", ["next", "self"])
def test_vertices_that_no_walk_visits_stay_unchanged(queries):
    run = trainer(model={"queries": queries}, train={"negatives": 0, "unknown": 0.0, "epochs": 2})
    before = run.table.values.clone()
    run.run(nothing, nothing)
    there = np.arange(4) < run.source.train_walks.lengths[:, None]
    visited = set(run.source.train_walks.rows[there].tolist())
    if queries == "next":
        visited.add(len(before) - 2)  # the end of a sequence asks too
    for row in range(len(before)):
        assert torch.equal(run.table.values[row], before[row]) == (row not in visited)


# -- the same twice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"resample": True}], ids=["kept", "resampled"])
def test_the_same_seed_gives_the_same_bits(changes):
    runs = []
    for seed in (3, 3, 4):
        run = trainer(train=changes, model={"dropout": 0.2}, seed=seed)
        torch.manual_seed(len(runs))  # what the caller's generator is at does not matter
        run.run(nothing, nothing)
        runs.append(run)
    assert_same(snapshot(runs[0]), snapshot(runs[1]))
    assert plain(runs[0].position.history) == plain(runs[1].position.history)
    assert not torch.equal(runs[0].table.values, runs[2].table.values)


def test_dropout_and_wrong_answers_are_drawn_anew_in_every_step():
    run, seen = trainer(model={"dropout": 0.5}, train={"batch_size": 10_000, "unknown": 0.3}), []
    forward = run._forward

    def spy(batch, vectors):
        if run.tasks.training:
            seen.append((batch.rows[batch.present :].tolist(), batch.hidden.tolist(), float(torch.rand(()))))
        return forward(batch, vectors)

    run._forward = spy
    run.run(nothing, nothing)
    assert len(seen) == 3
    for part in range(3):
        assert seen[0][part] != seen[1][part] != seen[2][part]


def test_the_callers_random_state_is_left_alone():
    torch.manual_seed(7)
    before, own = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    run = trainer(model={"dropout": 0.3})
    assert faster_precision(torch.device("cpu")) in ("float32", "bfloat16")
    run.run(nothing, nothing)
    assert torch.equal(torch.get_rng_state(), before)
    assert (np.random.get_state()[1] == own).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"avx2", "avx512f"}, "float32"),
        ({"avx2", "avx512_bf16"}, "bfloat16"),
        ({"amx_bf16"}, "bfloat16"),
        ({"asimd", "bf16"}, "bfloat16"),
        (set(), "float32"),
    ],
)
def test_the_format_is_what_the_processor_can_multiply(monkeypatch, flags, expected):
    monkeypatch.setattr(precision, "processor_flags", lambda: frozenset(flags))
    assert {faster_precision(torch.device("cpu")) for _ in range(3)} == {expected}
    assert faster_precision(torch.device("meta")) == "float32"


def test_bfloat16_trains_too():
    run = trainer(train={"epochs": 10, "lr": 0.01, "precision": "bfloat16"})
    run.run(nothing, nothing)
    losses = [figures["loss"] for figures in run.position.history]
    assert losses[-1] < 0.9 * losses[0]
    assert all_finite(run)
    exact = trainer(train={"epochs": 10, "lr": 0.01})
    exact.run(nothing, nothing)
    assert losses[0] == pytest.approx(exact.position.history[0]["loss"], rel=0.01)
    assert losses != [figures["loss"] for figures in exact.position.history]
    assert all(weight.dtype == torch.float32 for weight in run.tasks.parameters())


# -- when it stops -----------------------------------------------------------------------------------------------------


def judged(monkeypatch, losses):
    """Let the held-out walks come to these losses, epoch by epoch."""
    given = iter(losses)

    class Fixed:
        def figures(self):
            return {f"{name}_loss": next(given) if name == "self" else 0.0 for name in LOSSES}

    monkeypatch.setattr(Trainer, "validate", lambda self, sequences: Fixed())


@pytest.mark.parametrize(
    ("losses", "patience", "reason", "epochs", "best"),
    [
        ([5, 3, 4, 3.5, 3.2, 1, 1], 3, "early", 5, 2),
        ([5, 3, 4, 2, 3, 3, 9], 2, "early", 6, 4),
        ([5, 4, 3, 2, 1, 0.5, 0.4], 1, "done", 7, 7),
        ([5, 5, 5, 5, 5, 5, 5], 1, "early", 2, 1),  # equal is not better
        ([1, 2, 3, 4, 5, 6, 7], 6, "early", 7, 1),
        ([1, 2, 3, 4, 5, 6, 7], 7, "done", 7, 1),
    ],
)
def test_early_stopping_waits_and_keeps_the_best(monkeypatch, losses, patience, reason, epochs, best):
    judged(monkeypatch, map(float, losses))
    run, kept = trainer(train={"epochs": 7, "patience": patience}), {}
    assert run.run(states_by_epoch(kept), nothing) == (reason if epochs < 7 else "done")
    assert len(run.position.history) == epochs
    assert (run.position.best_epoch, run.position.best) == (best, losses[best - 1])
    assert_same(trained(run), kept[epochs])
    run.keep_best()
    assert_same(trained(run), kept[best])
    if best != epochs:
        assert not torch.equal(kept[best]["table.values"], kept[epochs]["table.values"])


@pytest.mark.parametrize("held_out", [0.2, 0.0])
def test_the_best_epoch_is_that_of_the_history(held_out):
    run, kept = trainer(train={"epochs": 25, "lr": 0.1, "patience": 2, "held_out": held_out}), {}
    reason = run.run(states_by_epoch(kept), nothing)
    losses = [figures.get("held_out", figures)["loss"] for figures in run.position.history]
    best = int(np.argmin(losses)) + 1
    assert (run.position.best_epoch, run.position.best) == (best, losses[best - 1])
    assert ("held_out" in run.position.history[0]) == (held_out > 0)
    if held_out:
        assert reason == "early"
        assert len(losses) == best + 2
    run.keep_best()
    assert_same(trained(run), kept[best])


def test_judging_learns_nothing_and_says_the_same_again():
    run = trainer(model={"dropout": 0.5})
    run.run(nothing, nothing)
    before = snapshot(run)
    one, other = (run.validate(run.source.held_out).figures() for _ in range(2))
    assert one == other
    assert_same(snapshot(run), before)
    assert one["self_loss"] == run.position.history[-1]["held_out"]["self_loss"]
    assert 0 <= one["edge_macro_f1"] <= 1


# -- trouble -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_named_and_the_best_state_kept(name, value):
    run, kept = trainer(train={"epochs": 5}), {0: None}
    kept[0] = trained(run)
    ask, steps = run.tasks.compute_losses, 2 * len(run.batches) + 1

    def spoilt(*batch):
        outcome = ask(*batch)
        factor = torch.ones(len(LOSSES))
        if run.position.total == steps:
            factor[LOSSES.index(name)] = value
        return outcome._replace(losses=outcome.losses * factor + (factor - 1).nan_to_num(value, value, value))

    run.tasks.compute_losses = spoilt
    with pytest.raises(
        tadge.TrainingError, match=rf"^the {name} loss is not finite any more; found epoch 3, step 2; lower"
    ):
        run.run(states_by_epoch(kept), nothing)
    assert_same(trained(run), kept[run.position.best_epoch])
    assert run.position.best_epoch in (1, 2)
    assert all_finite(run)


def test_a_loss_that_is_not_finite_at_once():
    run = trainer(train={"lr": 1.0, "warmup": 0.0, "clip": 1e9})
    before = trained(run)
    with torch.no_grad():
        run.tasks.toe_weight.fill_(1e30)
    with pytest.raises(
        tadge.TrainingError, match=r"the toe loss .* epoch 1, step 1; lower lr \(it is 1\) or raise warmup"
    ):
        run.run(nothing, nothing)
    assert_same(trained(run), before)


def test_a_gradient_that_is_not_finite():
    run, kept = trainer(train={"epochs": 4}), {}
    weight = run.tasks.network.fusion.second.weight
    weight.register_hook(lambda gradient: gradient * (math.inf if run.position.total == len(run.batches) + 1 else 1))
    with pytest.raises(tadge.TrainingError, match="the gradient is not finite any more; found epoch 2, step 2"):
        run.run(states_by_epoch(kept), nothing)
    assert_same(trained(run), kept[1])
    assert all_finite(run)


def test_high_learning_rates_either_train_or_are_told():
    run = trainer(train={"lr": 1.0, "warmup": 0.0, "clip": 1e6, "epochs": 6, "patience": 6})
    try:
        run.run(nothing, nothing)
    except tadge.TrainingError as error:
        assert "lower lr" in str(error)
    run.keep_best()
    assert all_finite(run)


def test_every_vertex_hidden_is_no_trouble():
    run = trainer(walks={"num_walks": 60}, train={"unknown": 0.9, "batch_size": 5, "epochs": 1})
    assert run.run(nothing, nothing) == "done"


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def test_an_interrupt_stops_and_keeps_the_best():
    run, kept = trainer(train={"epochs": 5}), {}
    copy = states_by_epoch(kept)

    def report(run):
        copy(run)
        if run.position.total == 2 * len(run.batches) + 2:
            raise KeyboardInterrupt

    assert run.run(report, nothing) == "interrupted"
    assert run.position.total == 2 * len(run.batches) + 2
    run.keep_best()
    assert_same(trained(run), kept[run.position.best_epoch])
    assert run.run(copy, nothing) == "done"


PLACES = [
    *[("before", "tasks", "embed"), ("after", "tasks", "compute_losses"), ("before", "optimiser", "step")],
    *[
        ("after", "optimiser", "step"),
        ("after", "table", "update"),
        ("before", "run", "validate"),
        ("after", "run", "validate"),
    ],
]


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_ctrl_c_in_the_middle_of_a_step_leaves_a_whole_one(place):
    """After a real signal at any point, the run goes on as if nothing had happened."""
    when, part, name = place
    expected = trainer(train={"epochs": 2})
    expected.run(nothing, nothing)
    run = trainer(train={"epochs": 2})
    owner = {"tasks": run.tasks, "optimiser": run.optimiser, "table": run.table, "run": run}[part]
    real, calls = getattr(owner, name), []

    def call(*arguments, **options):
        calls.append(name)
        sent = len(calls) == (1 if part == "run" else 3)
        if sent and when == "before":
            signal.raise_signal(signal.SIGINT)
        answer = real(*arguments, **options)
        if sent and when == "after":
            signal.raise_signal(signal.SIGINT)
        return answer

    setattr(owner, name, call)
    handler = signal.getsignal(signal.SIGINT)
    assert run.run(nothing, nothing) == "interrupted"
    assert signal.getsignal(signal.SIGINT) is handler
    assert run.run(nothing, nothing) == "done"
    assert_same(snapshot(run), snapshot(expected))
    assert plain(run.position.history) == plain(expected.position.history)


def test_a_signal_that_is_ignored_stays_ignored():
    run = trainer(train={"epochs": 1})
    judge = run.validate

    def call(sequences):
        signal.raise_signal(signal.SIGINT)
        return judge(sequences)

    run.validate = call
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup does
    try:
        assert run.run(nothing, nothing) == "done"
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_runs_in_another_thread():
    run, reason = trainer(train={"epochs": 1}), []
    thread = threading.Thread(target=lambda: reason.append(run.run(nothing, nothing)))
    thread.start()
    thread.join()
    assert reason == ["done"]


def test_undirected_graphs_train_too():
    run = trainer(forum(500, directed=False), train={"epochs": 2})
    assert run.run(nothing, nothing) == "done"
    assert all_finite(run)
