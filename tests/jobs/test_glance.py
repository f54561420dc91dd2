"""What a dry run finds out about this machine in a second."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from supernetic.datasets import load
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.glance import BESIDE_OTHERS, FEW, MORE, WORKER_START_S, Part, _line, glance, pass_seconds
from supernetic.jobs.speed import measure
from supernetic.samplers.strict_fair import StrictFair
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.recipe import Recipe


@pytest.fixture
def supernet() -> Supernet:
    return Supernet(Macro(channels=16, resolution=16, in_channels=1, head=64), seed=0)


def test_a_look_changes_nothing_and_comes_near_to_a_measurement(supernet: Supernet) -> None:
    dataset = load(limit=400, resolution=16)
    before = {name: tensor.clone() for name, tensor in supernet.state_dict().items()}
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    space, recipe, retrain = supernet.space, Recipe(batch_size=64, sampler=StrictFair()), Recipe(batch_size=64)
    archs = [tuple(a) for a in space.sample(np.random.default_rng(0), 8).tolist()]
    evaluate = SupernetEvaluator(supernet, dataset, ["valid/cross_entropy"], images=64)
    look = glance(space, supernet, dataset, recipe, retrain, [Part(evaluate, 2.0)], archs, measuring=3.0)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads
    assert all(torch.equal(t, before[n]) for n, t in supernet.state_dict().items())
    assert all(p.grad is None for p in supernet.parameters())
    speed = measure(space, supernet, dataset, recipe, retrain, evaluate, archs, seconds=0.2)
    for name in ("supernet_step", "network_step", "largest_step", "test"):
        assert 1 / 6 < getattr(look, name) / getattr(speed, name) < 6, name  # other work slows the measurement
    assert look.measuring == 3.0
    assert look.start == 0.0


def test_several_workers_are_slower_and_have_to_start(supernet: Supernet) -> None:
    dataset, space = load(limit=200, resolution=16), supernet.space
    look = glance(space, None, dataset, Recipe(), Recipe(batch_size=8), [], [(0,) * 8, (1,) * 8], workers=2)
    assert look.supernet_step == 0
    assert look.start == look.measuring == WORKER_START_S
    assert BESIDE_OTHERS > 1


def test_more_images_follow_from_a_line() -> None:
    assert _line(lambda n: 1 + 0.5 * n, 100) == pytest.approx(51)
    assert _line(lambda n: 1 + 0.5 * n, 7) == pytest.approx(4.5)
    assert _line(lambda n: {FEW: 2.0, MORE: 1.0}[n], 100) == 1.0  # never faster with more


def test_more_images_take_longer(supernet: Supernet) -> None:
    blueprint = supernet.space.blueprint((2,) * 8)
    assert pass_seconds(blueprint, 64) > pass_seconds(blueprint, 2)


def test_a_dry_run_starts_no_worker_and_loads_no_compiler(tmp_path: object) -> None:
    code = (
        "import subprocess, sys\n"
        "def refuse(*a, **k): raise AssertionError('a process was started')\n"
        "subprocess.Popen.__init__ = refuse\n"
        "from supernetic import search\n"
        "found = search(minutes=5, space='macro:channels=4,resolution=8,head=16', limit=300, workers=2, threads=1,\n"
        "               supernet='yes', dry_run=True)\n"
        "assert found.planned.plan['limit'] == 300\n"
        "print('torch._dynamo' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=str(tmp_path))
    assert done.stdout == "False\n", done.stderr[-2000:]
