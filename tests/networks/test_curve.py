from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supernetic.datasets import load
from supernetic.datasets.batches import Batches
from supernetic.networks.curve import COST_SHARE, FORWARD_SHARE, MOST_POINTS, validation
from supernetic.networks.training import training
from supernetic.nn.network import build
from supernetic.runs.directory import open_run, read_records
from supernetic.spaces.macro import Macro
from supernetic.training.checkpoint import checksum
from supernetic.training.recipe import Recipe

DATA = load("embedded", limit=1000, resolution=12)
NETWORK = Macro(channels=4, resolution=12, classes=10, in_channels=1, head=16).blueprint((1, 0, 1, 0, 0, 1, 0, 0))
RECIPE = Recipe(length="120 steps", batch_size=32, lr=0.1, augment="shift+flip", dropout=0.2)
KILLED = """
import os, signal, sys
from test_curve import train
from pathlib import Path
train(Path(sys.argv[1]), killed_at=70)
"""


def train(path: Path, recipe: Recipe = RECIPE, *, curve: bool = True, killed_at: int = 0) -> tuple[str, list[Any]]:
    """The checksum of the trained weights, and the points of the curve."""
    network = build(NETWORK, seed=0)
    with open_run(path, {"job": "test"}) as run:
        for p in training(network, 12, DATA, recipe, 0, run, curve=curve):
            if p.step == killed_at:
                os.kill(os.getpid(), 9)
    return checksum(dict(network.state_dict())), [r for r in read_records(path / "metrics.jsonl") if "loss" not in r]


@pytest.mark.parametrize("recipe", [RECIPE, replace(RECIPE, ema=0.9)], ids=["plain", "averaged"])
def test_a_curve_changes_no_bit_of_the_weights(recipe: Recipe, tmp_path: Path) -> None:
    with_curve, points = train(tmp_path / "with", recipe)
    without, none = train(tmp_path / "without", recipe, curve=False)
    assert with_curve == without
    assert none == []
    assert len(points) >= 2
    assert [r["step"] for r in points] == sorted({r["step"] for r in points})
    assert all(0 < r["step"] < 120 and 0 <= r["valid/accuracy"] <= 100 for r in points)
    assert points[-1]["valid/cross_entropy"] < points[0]["valid/cross_entropy"]
    losses = [[r for r in read_records(tmp_path / n / "metrics.jsonl") if "loss" in r] for n in ("with", "without")]
    assert losses[0] == losses[1]


def test_a_point_is_the_accuracy_of_the_weights_at_that_step(tmp_path: Path) -> None:
    """A training that ends there has the same weights, as the learning rate does not fall."""
    constant = replace(RECIPE, schedule="constant")
    _, points = train(tmp_path / "whole", constant)
    step = points[-1]["step"]
    network = build(NETWORK, seed=0)
    for _ in training(network, 12, DATA, replace(constant, length=f"{step} steps"), 0):
        pass
    found = validation(Batches(DATA, batch_size=32, resolution=12), 120)
    assert found is not None
    assert dict(found[1](network.eval())) == {k: v for k, v in points[-1].items() if k not in ("task", "step")}


def test_killed_and_resumed_it_records_the_same_curve(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "killed")], env=environment, check=False)
    assert done.returncode == -9
    assert train(tmp_path / "killed") == train(tmp_path / "whole")
    records = [(tmp_path / n / "metrics.jsonl").read_text() for n in ("killed", "whole")]
    assert records[0] == records[1]
    assert all(json.loads(line) for line in records[0].splitlines())


@pytest.mark.parametrize("steps", [1, 2, 20, 150, 5000])
@pytest.mark.parametrize("valid", [80, 3000])
def test_the_cost_is_bounded(steps: int, valid: int) -> None:
    data = load("embedded", limit=None, valid=valid)
    batches = Batches(data, batch_size=64)
    found = validation(batches, steps)
    trained = steps * 64
    if found is None:
        assert trained * COST_SHARE / FORWARD_SHARE < 100
        return
    at, validate = found
    images = validate(build(Macro(resolution=28, in_channels=1, channels=4, head=8).blueprint((0,) * 8), seed=0).eval())
    assert len(at) <= MOST_POINTS
    assert max(at) < steps
    assert len(at) * images["valid/images"] * FORWARD_SHARE <= COST_SHARE * trained
