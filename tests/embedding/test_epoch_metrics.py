"""F1 scores against scikit-learn, errors and means against numpy."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from small import trainer
from tadge.embedding.epoch_metrics import EpochMetrics
from tadge.network.losses import Classification
from tadge.network.training_model import LOSSES, LossOutput


def batches(count=4, hidden=0.2, seed=0):
    """Batches of real walks with random answers: the right ones for a third of the questions."""
    run = trainer(train={"batch_size": 15})
    rng = np.random.default_rng(seed)
    for number, windows in enumerate(run.batches[:count]):
        batch = run._pack(run.sequences, windows[: 1 + number % 3], np.random.default_rng(number), hidden)
        own, ends = batch.candidate[~batch.hidden], batch.packing.edges
        vertices = len(batch.rows) - 2
        right = batch.candidate[torch.cat([ends[:, 1], ends[:, 0]])]
        choices = []
        for answers in (own, right, batch.candidate[ends[:, 1]]):
            drawn = torch.from_numpy(rng.integers(0, vertices, len(answers)))
            known = torch.from_numpy(rng.random(len(answers)) < 0.3)
            choices.append(Classification(torch.zeros(()), torch.where(known, answers, drawn), answers))
        yield batch, LossOutput(torch.from_numpy(rng.uniform(0.1, 5, len(LOSSES))), *choices)


def named(batch, outcome):
    """Vertices that were right and chosen, of all tasks that choose."""
    names = batch.rows.tolist()
    for choice in (outcome.identity, outcome.edges, outcome.who):
        yield [names[c] for c in choice.target], [names[c] for c in choice.predicted]


def test_f1_scores_are_those_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    metrics, answers, micro = EpochMetrics(500), ([], [], []), ([], [], [])
    for batch, outcome in batches():
        metrics.add(batch, outcome)
        for task, pair in enumerate(named(batch, outcome)):
            answers[task].append(pair)
        for task, choice in enumerate((outcome.identity, outcome.edges, outcome.who)):
            micro[task].append((choice.target.tolist(), choice.predicted.tolist()))
    figures = metrics.figures()
    for task, name in enumerate(("self", "edge", "who")):
        right, chosen = (np.concatenate([pair[side] for pair in answers[task]]) for side in (0, 1))
        assert len(right) > 50
        macro = sklearn.f1_score(right, chosen, average="macro")
        assert figures[f"{name}_macro_f1"] == pytest.approx(macro)
        right, chosen = (np.concatenate([pair[side] for pair in micro[task]]) for side in (0, 1))
        assert figures[f"{name}_f1"] == pytest.approx(sklearn.f1_score(right, chosen, average="micro"))


def test_losses_are_means_over_questions_and_errors_their_roots():
    metrics, sums, asked, toe = EpochMetrics(), np.zeros(len(LOSSES)), np.zeros(len(LOSSES)), []
    sizes = set()
    for batch, outcome in batches():
        metrics.add(batch, outcome)
        lengths = batch.packing.lengths.tolist()
        edges = sum(n - 1 for n in lengths)
        pairs = len(batch.windows) * 10  # of five walks each
        count = {"self": int((~batch.hidden).sum()), "interval": pairs, "edge": 2 * edges}
        number = np.array([count.get(name, edges) for name in LOSSES])
        sums += outcome.losses.numpy() * number
        asked += number
        sizes.add(edges)
        toe += [value for walk in torch.split(batch.toe, lengths) for value in walk[1:].tolist()]
    assert len(sizes) > 1
    figures = metrics.figures()
    for name, mean in zip(LOSSES, sums / asked, strict=True):
        assert figures[f"{name}_loss"] == pytest.approx(mean)
        if f"{name}_rmse" in figures:
            assert figures[f"{name}_rmse"] == pytest.approx(np.sqrt(2 * mean))
    assert {"interval_rmse", "toe_rmse", "when_rmse"} <= figures.keys()
    assert figures["toe_constant_rmse"] == pytest.approx(np.std(toe))


def test_errors_are_those_of_the_model_over_all_batches():
    """The root of the mean squared error over all edges, and over all pairs of walks, whatever batches they are in."""
    run = trainer()
    with torch.no_grad():
        for weight in (run.tasks.interval_weight, run.tasks.toe_weight):
            weight.normal_(std=0.3)
    metrics, toe, apart = EpochMetrics(), [], []
    for batch_windows in run.batches:
        batch = run._pack(run.sequences, batch_windows, np.random.default_rng(0), 0.0)
        vectors = run.table.values[batch.rows]
        with torch.no_grad():
            made = run.tasks.embed(batch, vectors)
            metrics.add(batch, run.tasks.compute_losses(batch, vectors, made))
            ends, windows = batch.packing.edges, batch.windows
            guess = (made.nodes[ends[:, 0]] + made.nodes[ends[:, 1]]) @ run.tasks.toe_weight
            toe += (guess - batch.toe[ends[:, 1]]).tolist()
            score = made.structures @ run.tasks.interval_weight
        for window in windows.tolist():
            for a in window:
                for b in window:
                    delta = 2 * np.arctan(abs(float(batch.begin[a] - batch.begin[b]))) / np.pi
                    apart += [float(score[a] + score[b]) - delta] if a < b else []
    figures = metrics.figures()
    assert figures["toe_rmse"] == pytest.approx(np.sqrt(np.mean(np.square(toe))), rel=1e-5)
    assert figures["interval_rmse"] == pytest.approx(np.sqrt(np.mean(np.square(apart))), rel=1e-5)


def test_a_tally_goes_on_from_its_state():
    whole, first = EpochMetrics(), EpochMetrics()
    given = list(batches())
    for batch, outcome in given:
        whole.add(batch, outcome)
    for batch, outcome in given[:2]:
        first.add(batch, outcome)
    second = EpochMetrics()
    second.restore(json.loads(json.dumps(first.state())))
    for batch, outcome in given[2:]:
        second.add(batch, outcome)
    assert second.figures() == whole.figures()  # to the last bit


def test_what_is_not_asked_has_no_score():
    metrics = EpochMetrics(500)
    for batch, outcome in batches():
        losses = outcome.losses.clone()
        losses[LOSSES.index("who") :] = 0.0
        metrics.add(batch, outcome._replace(losses=losses, who=None))
    figures = metrics.figures()
    assert not {"who_f1", "who_macro_f1", "when_rmse"} & figures.keys()
    assert figures["who_loss"] == figures["when_loss"] == 0.0
    assert figures["edge_f1"] > 0


def test_nothing_asked():
    assert set(EpochMetrics().figures().values()) == {0.0}
