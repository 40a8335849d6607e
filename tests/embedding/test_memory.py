"""How much memory training takes: said before it starts, refused where it cannot fit, and not far from the truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import tadge
from small import forum, network, training, walking
from tadge import TADGE
from tadge.embedding.memory import MemoryEstimate, check_memory, estimate

GB = 10**9


@pytest.mark.parametrize(
    ("parts", "advice"),
    [
        ((9 * GB, GB, GB), "lower dim, or keep fewer nodes"),
        ((GB, 9 * GB, GB), "lower dim, heads or blocks"),
        ((GB, GB, 9 * GB), "lower batch_size, or negatives where it is -1"),
    ],
)
def test_a_refusal_says_how_much_where_and_what_to_do(parts, advice):
    need = MemoryEstimate(*parts)
    with pytest.raises(tadge.ConfigError) as caught:
        check_memory(need, 4 * GB)
    said = str(caught.value)
    assert said.startswith("training does not fit into memory; expected about 11,000 MB beside the graph (table ")
    assert said.endswith(f"; found 4,000 MB that are free; {advice}")
    for name, part in zip(("table", "weights", "batch"), parts, strict=True):
        assert f"{name} {part // 10**6:,}" in said
    check_memory(need, 11 * GB)


def test_what_makes_the_parts_grow():
    def parts(nodes=1000, weights=1000, shape=None, **train):
        return estimate(nodes, weights, network(**shape or {}), training(**train), 3.0)

    base = parts()
    assert parts(nodes=2000).table / base.table == pytest.approx(2, rel=0.01)
    assert parts(shape={"dim": 16}).table == 2 * base.table
    assert parts(weights=3000).weights == 3 * base.weights
    assert parts(batch_size=160).batch > 2 * base.batch  # questions and candidates both grow
    assert parts(negatives=-1, nodes=10**6).batch > 100 * base.batch
    assert parts(nodes=10**6).batch == base.batch
    assert base.total == base.table + base.weights + base.batch
    # 3 copies at the very least: values and two moments
    assert base.table >= 3 * 1002 * 8 * 4


def test_a_fit_that_cannot_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr("tadge.embedding.loop.Trainer.run", lambda *_: pytest.fail("it has begun to train"))
    monkeypatch.setattr("tadge.embedding.estimator.initial_table", lambda *_: pytest.fail("it has begun"))
    monkeypatch.setattr("tadge.embedding.estimator.available_memory", lambda: 10**5)
    model = TADGE(walking(), network(), training())
    with pytest.raises(tadge.ConfigError, match=r"does not fit into memory; .*; found 0 MB that are free; lower"):
        model.fit(forum(), progress=False)


def test_it_is_said_before_the_training(capfd):
    TADGE(walking(), network(), training(epochs=1)).fit(forum(), progress=True)
    told = capfd.readouterr().err
    assert "training takes about" in told
    assert told.index("training takes about") < told.index("epoch 1:")


MEASURE = """
import json
import torch

torch.set_num_threads(1)
import tadge
from tadge import synthetic
from tadge.embedding.estimator import TADGE
from tadge.embedding.memory import estimate
from tadge.embedding.progress import TrainingBars
from tadge.embedding.source import WalkSource
from tadge.machine import peak_memory_mb

def make(**shape):
    train = tadge.TrainConfig(
        batch_size=400, init="random", precision="float32", window=5, window_step=4, epochs=1
    )
    return TADGE(tadge.WalkConfig(num_walks=1000, min_length=2), tadge.NetworkConfig(**shape), train)

def resident():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

graph = synthetic.forum(4000).graph
make(dim=4, heads=1, blocks=1).fit(graph, progress=False)  # all code is loaded
model = make(dim=64, heads=4, blocks=2)
length = WalkSource(graph, model.walk_config, model.train_config, 0).mean_length
weights = sum(weight.numel() for weight in model._tasks().parameters())
need = estimate(graph.num_nodes, weights, model.network_config, model.train_config, length)
before = resident()
trainer = model._trainer(graph, None, None, TrainingBars(False))
for _ in range(2):
    trainer._next_step()
print(json.dumps({"estimate": need.total, "grown": peak_memory_mb() * 1e6 - before}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_estimate_is_not_far_above_what_is_taken():
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", MEASURE], check=True, capture_output=True, text=True, env=environment)
    found = json.loads(done.stdout)
    assert found["grown"] > 5e7  # large enough for other things not to matter
    assert found["grown"] <= found["estimate"] <= 3 * found["grown"], found
