"""Two processes on gloo against one that runs the two half-batches one after the other and averages."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw, Sampler
from supernetic.samplers.strict_fair import StrictFair
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.checkpoint import read
from supernetic.training.loss import label_loss, teacher_loss

SCRIPT = """
import os, sys, torch
torch.set_num_threads(1)
from pathlib import Path
from supernetic.runs.directory import open_run
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.strict_fair import StrictFair
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.checkpoint import write
from supernetic.training.devices import accelerator
from supernetic.training.loop import fit
from supernetic.training.recipe import Recipe

rank, place = int(os.environ["RANK"]), Path(sys.argv[1])
there = accelerator(cpu=True)

class Half:
    steps_per_epoch = 10
    def batch(self, step):
        generator = torch.Generator().manual_seed(step)
        x, y = torch.randn(16, 3, 8, 8, generator=generator), torch.randint(0, 10, (16,), generator=generator)
        return x[8 * rank : 8 * rank + 8], y[8 * rank : 8 * rank + 8]

def train(sampler, **settings):
    net = Supernet(Macro(channels=4, resolution=8, head=8), seed=0)
    recipe = Recipe(lr=1.0, momentum=0.0, schedule="constant", **settings)
    return net, fit(net, Half(), sampler, recipe, accelerator=there)

net, steps = train(Sandwich(2), length="1 step")
(p,) = steps
write(place / f"sandwich{rank}", dict(net.state_dict()), {"step": repr(p.loss)})

# Each option on one of three paths: most gradients exist before the last path, which brings them launch_ranks.
net, steps = train(StrictFair(), length="1 step")
(p,) = steps
write(place / f"strict_fair{rank}", dict(net.state_dict()), {"step": repr(p.loss)})

# What a process scores on its own half must not lead the processes to different paths.
net, steps = train(Sandwich(1, Attentive(k=3, rows=200)), length="3 steps", clip_norm=1.0)
list(steps)
write(place / f"attentive{rank}", {n: p.detach() for n, p in net.named_parameters()}, {"step": 3})

# Only the main process has the run; the others follow it when it resumes.
recipe = Recipe(lr=0.1, length="4 steps", momentum=0.9)
for stop in (2, 4):
    net = Supernet(Macro(channels=4, resolution=8, head=8), seed=rank)
    run = open_run(place / "run", {}) if rank == 0 else None
    seen = []
    for p in fit(net, Half(), StrictFair(), recipe, run, checkpoint_every=1, log_every=1, accelerator=there):
        seen.append(p.step)
        if p.step == stop:
            break
    if run:
        run.close()
    there.wait_for_everyone()
    print(rank, seen, flush=True)
write(place / f"resumed{rank}", {n: p.detach() for n, p in net.named_parameters()}, {"step": 4})
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(path)],
            env={**os.environ, **common, "RANK": str(r), "LOCAL_RANK": str(r)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for r in range(2)
    ]
    outputs = [r.communicate(timeout=300)[0] for r in ranks]
    assert [r.returncode for r in ranks] == [0, 0], outputs
    assert "0 [1, 2]" in outputs[0]
    for rank, output in enumerate(outputs):
        assert f"{rank} [3, 4]" in output
    return path


@pytest.mark.parametrize(("name", "sampler"), [("sandwich", Sandwich(2)), ("strict_fair", StrictFair())])
def test_gradients_are_those_of_the_half_batches(place: Path, name: str, sampler: Sampler) -> None:
    space = Macro(channels=4, resolution=8, head=8)
    net = Supernet(space, seed=0).train().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    generator = torch.Generator().manual_seed(0)
    x, labels = torch.randn(16, 3, 8, 8, generator=generator), torch.randint(0, 10, (16,), generator=generator)
    x = x.contiguous(memory_format=torch.channels_last)
    step = sampler(space, Draw(np.random.default_rng([0, 0])))
    share = len(step.paths) if step.reduction == "mean" else 1
    total, mean = torch.zeros(()), torch.zeros(())
    for half in (slice(0, 8), slice(8, 16)):
        teacher: Tensor | None = None
        for path in step.paths:
            logits = net(x[half], path.arch)
            taught = path.target != "label" and teacher is not None
            loss = teacher_loss(logits, teacher) if taught else label_loss(logits, labels[half])  # type: ignore[arg-type]
            teacher = logits if teacher is None else teacher
            total, mean = total + loss / 2 / share, mean + loss.detach() / 2 / len(step.paths)
    total.backward()  # type: ignore[no-untyped-call]
    for rank in range(2):
        got, notes = read(place / f"{name}{rank}")
        for parameter, p in net.named_parameters():
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            assert float((p.detach() - got[parameter] - grad).abs().max()) < 1e-6, parameter
        assert float(notes["step"]) == pytest.approx(float(mean), abs=1e-6)


@pytest.mark.parametrize("name", ["attentive", "resumed"])
def test_processes_stay_together(place: Path, name: str) -> None:
    first, second = (read(place / f"{name}{rank}")[0] for rank in range(2))
    assert all(torch.equal(first[n], second[n]) for n in first)
