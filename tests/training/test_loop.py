import subprocess
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from supernetic.errors import InputError, SupernetError
from supernetic.nn.network import build
from supernetic.nn.run import NO_REGULARISATION, Regularisation
from supernetic.runs.directory import open_run
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw, SampledPath, Sampler, Step
from supernetic.samplers.strict_fair import StrictFair
from supernetic.samplers.uniform import Uniform
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.checkpoint import read, snapshots
from supernetic.training.loop import METRICS, Progress, fit
from supernetic.training.loss import label_loss, teacher_loss
from supernetic.training.recipe import Recipe

SPACE = Macro(channels=4, resolution=8, head=8)
PLAIN = Recipe(lr=1.0, momentum=0.0, schedule="constant", length="1 steps")
Make = Callable[..., Any]


def supernet() -> Supernet:
    return Supernet(SPACE, seed=0)


def precise() -> Supernet:
    return supernet().double()


@pytest.fixture
def exact(noise_batches: Make) -> Make:
    """Batches in float64: what float32 rounds differs between memory layouts and between processors."""

    def make() -> Any:
        source = noise_batches()
        single = source.batch

        def batch(step: int) -> tuple[Tensor, Tensor]:
            x, labels = single(step)
            return x.double(), labels

        source.batch = batch
        return source

    return make


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {n: p.detach().clone() for n, p in model.named_parameters()}


def drawn(sampler: Sampler, step: int = 0, seed: int = 0) -> Step:
    return sampler(SPACE, Draw(np.random.default_rng([seed, step]), step))


def gradient(model: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    grads = torch.autograd.grad(loss, parameters, allow_unused=True)
    return {n: torch.zeros_like(p) if g is None else g for n, p, g in zip(names, parameters, grads, strict=True)}


def moved(before: nn.Module, after: nn.Module) -> dict[str, Tensor]:
    """The gradient that a plain step of learning rate 1 has followed."""
    new = weights(after)
    return {n: p - new[n] for n, p in weights(before).items()}


def assert_same(a: dict[str, Tensor], b: dict[str, Tensor]) -> None:
    assert a.keys() == b.keys()
    for name, tensor in a.items():
        torch.testing.assert_close(tensor, b[name], rtol=1e-6, atol=1e-9, msg=name)


def run_to_end(*args: Any, **kwargs: Any) -> list[Progress]:
    return list(fit(*args, **kwargs))


# --- one step, against the same by hand -------------------------------------------------------------------------------


def test_strict_fairness_follows_the_mean_gradient(exact: Make) -> None:
    net, reference = precise(), precise().train()
    (progress,) = fit(net, exact(), StrictFair(), PLAIN)
    x, labels = exact().batch(0)
    losses = [label_loss(reference(x, p.arch), labels) for p in drawn(StrictFair()).paths]
    mean = torch.stack(losses).mean()
    assert_same(moved(reference, net), gradient(reference, mean))
    assert progress.loss == pytest.approx(float(mean.detach()), rel=1e-5)
    assert (progress.step, progress.steps, progress.lr) == (1, 1, 1.0)


def test_fresh_batches_and_sum(exact: Make) -> None:
    net, reference, source = precise(), precise().train(), exact()
    sampler = StrictFair(fresh_batch=True, reduction="sum")
    run_to_end(net, source, sampler, replace(PLAIN, length="2 steps", lr=1e-3))
    assert source.asked == [0, 1, 2, 3, 4, 5]
    net = precise()
    run_to_end(net, exact(), sampler, PLAIN)
    total = torch.zeros(())
    for k, path in enumerate(drawn(sampler).paths):
        x, labels = exact().batch(k)
        total = total + label_loss(reference(x, path.arch), labels)
    assert_same(moved(reference, net), gradient(reference, total))


def test_sandwich_teaches_in_place(exact: Make) -> None:
    net, reference = precise(), precise().train()
    run_to_end(net, exact(), Sandwich(), replace(PLAIN, label_smoothing=0.1))
    x, labels = exact().batch(0)
    first, *others = drawn(Sandwich()).paths
    logits = reference(x, first.arch)
    total = label_loss(logits, labels, 0.1)
    for path in others:
        total = total + teacher_loss(reference(x, path.arch), logits)
    assert_same(moved(reference, net), gradient(reference, total))


@dataclass(frozen=True)
class Twice:
    """The first option of layer 1 on two of three paths; everything else alike."""

    def __call__(self, space: Space, draw: Draw) -> Step:
        archs: list[Arch] = [(1, option, 1, 1, 1, 1, 1, 1) for option in (1, 1, 2)]
        return Step(tuple(SampledPath(a) for a in archs), reduction="mean", average_by_use=True)


def test_options_that_are_used_more_often_learn_no_faster(exact: Make) -> None:
    net, reference = precise(), precise().train()
    run_to_end(net, exact(), Twice(), PLAIN)
    x, labels = exact().batch(0)
    losses = [label_loss(reference(x, p.arch), labels) for p in drawn(Twice()).paths]
    expected = gradient(reference, torch.stack(losses).mean())
    for name, grad in expected.items():
        if name.startswith("layer1.MB3"):  # on two of the three paths
            grad /= 2
    assert expected["stem.CONV_K3.C4.conv.op.weight"].abs().max() > 0
    assert expected["layer1.MB3_K3.C8.project.op.weight"].abs().max() > 0
    assert_same(moved(reference, net), expected)


def test_only_the_path_moves(noise_batches: Make) -> None:
    net, before = supernet(), supernet()
    recipe = Recipe(lr=0.1, weight_decay=0.1, length="4 steps", momentum=0.9)
    for done, _ in enumerate(fit(net, noise_batches(), Uniform(), recipe)):
        arch = drawn(Uniform(), done).paths[0].arch
        chosen = {f"layer{i}.{SPACE.choices[i].options[g]}" for i, g in enumerate(arch)}
        places = {n: ".".join(n.split(".")[:2]) for n in weights(net)}
        blocks = {place for place in places.values() if ".MB" in place}
        assert len(blocks) == 8 * 2
        moving = {places[n] for n, g in moved(before, net).items() if g.any()}
        assert moving & blocks == chosen & blocks
        before = deepcopy(net)
    assert done == 3


def test_stem_and_head_after_every_path(exact: Make) -> None:
    """Against a loop by hand: two optimisers, the shared one stepping after each backward pass."""
    net, reference = precise(), precise().train()
    recipe = replace(PLAIN, lr=0.05, shared_update="path", shared_lr=0.5)
    run_to_end(net, exact(), StrictFair(), recipe)
    x, labels = exact().batch(0)
    paths = drawn(StrictFair()).paths
    total: dict[str, Tensor] = {}
    for path in paths:
        grads = gradient(reference, label_loss(reference(x, path.arch), labels))
        with torch.no_grad():
            for name, p in reference.named_parameters():
                if name.startswith(("stem", "head", "classifier")):
                    p.sub_(0.05 * 0.5 * grads[name])
                else:
                    total[name] = total.get(name, torch.zeros_like(p)) + grads[name] / len(paths)
    with torch.no_grad():
        for name, p in reference.named_parameters():
            if name in total:
                p.sub_(0.05 * total[name])
    assert_same(weights(net), weights(reference))


@pytest.mark.parametrize(
    ("recipe", "norm"), [(replace(PLAIN, clip_norm=1e-3), 2.0), (replace(PLAIN, clip_value=1e-3), float("inf"))]
)
def test_clipping(noise_batches: Make, recipe: Recipe, norm: float) -> None:
    net, before = supernet(), supernet()
    run_to_end(net, noise_batches(), Uniform(), recipe)
    flat = torch.cat([g.flatten() for g in moved(before, net).values()])
    assert float(flat.norm(norm)) == pytest.approx(1e-3, rel=0.01)


# --- scores -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asking:
    """Keeps what the score says."""

    answers: list[Sequence[float]]

    def __call__(self, space: Space, draw: Draw) -> Step:
        self.answers.append(draw.score([(1,) * 8, (2,) * 8]))
        return Uniform()(space, draw)


def test_scoring_changes_nothing(exact: Make) -> None:
    answers: list[Sequence[float]] = []
    recipe = replace(PLAIN, lr=0.1, length="3 steps", label_smoothing=0.1, dropout=0.5)
    nets = precise(), precise()
    run_to_end(nets[0], exact(), Asking(answers), recipe)
    run_to_end(nets[1], exact(), Uniform(), recipe)
    for name, tensor in nets[0].state_dict().items():
        assert torch.equal(tensor, nets[1].state_dict()[name]), name
    x, labels = exact().batch(0)
    fresh = precise().train()
    expected = [-float(label_loss(fresh(x, (g,) * 8), labels, 0.1).detach()) for g in (1, 2)]
    assert answers[1] == pytest.approx(expected, rel=1e-4)  # the first was a draw to see how many batches a step takes


@dataclass(frozen=True)
class Watched:
    """Keeps which networks another sampler compares and which paths it draws."""

    sampler: Sampler
    compared: list[Sequence[Arch]]
    steps: list[Step]

    def __call__(self, space: Space, draw: Draw) -> Step:
        def score(archs: Sequence[Arch]) -> Sequence[float]:
            self.compared.append(archs)
            return draw.score(archs)

        self.steps.append(self.sampler(space, draw._replace(score=score)))
        return self.steps[-1]


def test_attentive_trains_what_is_best_on_the_batch(exact: Make) -> None:
    """Of each step's batch, by the weights before it."""
    net, sampler = precise(), Watched(Sandwich(1, Attentive(k=3, rows=300)), [], [])
    before, places = deepcopy(net).train(), set[int]()
    for done, _ in enumerate(fit(net, exact(), sampler, replace(PLAIN, lr=0.01, length="6 steps"))):
        x, labels = exact().batch(done)
        losses = [float(label_loss(before(x, arch).detach(), labels)) for arch in sampler.compared[-1]]
        places.add(int(np.argmin(losses)))
        assert sampler.steps[-1].paths[1].arch == sampler.compared[-1][int(np.argmin(losses))]
        before = deepcopy(net).train()
    assert places == {0, 1, 2}


# --- noise, sides, averages -------------------------------------------------------------------------------------------


class Sided(nn.Module):
    """Stands in for a supernet with two sides; remembers how it was called."""

    slice_sides = ("left", "right")
    space = SPACE

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 10, dtype=torch.float64))
        self.calls: list[tuple[str, Regularisation]] = []

    def forward(
        self, x: Tensor, arch: Arch, regularisation: Regularisation = NO_REGULARISATION, slice_side: str = "left"
    ) -> Tensor:
        self.calls.append((slice_side, regularisation))
        return x.mean((2, 3)) @ self.weight * (1 if slice_side == "left" else 3)


def test_sides_take_turns_or_come_both(exact: Make) -> None:
    model = Sided()
    run_to_end(model, exact(), StrictFair(), replace(PLAIN, lr=0.1, length="2 steps"))
    assert [slice_side for slice_side, _ in model.calls] == ["left", "right", "left", "right", "left", "right"]
    model = Sided()
    run_to_end(model, exact(), Sandwich(0), replace(PLAIN, slice_sides="both"))
    assert [slice_side for slice_side, _ in model.calls] == ["left", "left", "right", "right"]
    x, labels = exact().batch(0)
    fresh = Sided()
    total = torch.zeros(())
    for slice_side in ("left", "right"):
        logits = fresh(x, (), NO_REGULARISATION, slice_side)
        total = (
            total + (label_loss(logits, labels) + teacher_loss(fresh(x, (), NO_REGULARISATION, slice_side), logits)) / 2
        )
    assert_same(moved(fresh, model), gradient(fresh, total))


def test_only_paths_that_may_be_are_regularised(exact: Make) -> None:
    model = Sided()
    run_to_end(model, exact(), Sandwich(1), replace(PLAIN, dropout=0.2, drop_connect=0.1))
    assert [n for _, n in model.calls] == [Regularisation(0.2, 0.1), NO_REGULARISATION, NO_REGULARISATION]


def test_averaged_weights_at_the_end(exact: Make) -> None:
    plain, averaged = precise(), precise()
    expected: dict[str, Tensor] = weights(plain)
    recipe = replace(PLAIN, lr=0.05, length="4 steps")
    for _ in fit(plain, exact(), Uniform(), recipe):
        expected = {n: 0.8 * e + 0.2 * weights(plain)[n] for n, e in expected.items()}
    run_to_end(averaged, exact(), Uniform(), replace(recipe, ema=0.8))
    assert_same(weights(averaged), expected)


def test_a_network_learns(noise_batches: Make) -> None:
    net = build(SPACE.blueprint((1,) * 8), seed=0)
    source = noise_batches(steps_per_epoch=4)
    source_batch = source.batch
    source.batch = lambda step: source_batch(step % 4)
    losses = [p.loss for p in fit(net, source, None, Recipe(lr=0.05, length="15 epochs", weight_decay=1e-4))]
    assert len(losses) == 60
    assert np.mean(losses[-4:]) < 0.8 * np.mean(losses[:4])


def test_refusals(noise_batches: Make) -> None:
    with pytest.raises(InputError, match="a sampler needs a supernet, got Network"):
        next(iter(fit(build(SPACE.blueprint((1,) * 8)), noise_batches(), Uniform(), PLAIN)))
    with pytest.raises(SupernetError, match="training diverged: the loss of step"):
        run_to_end(supernet(), noise_batches(), Uniform(), replace(PLAIN, lr=1e30, length="5 steps"))


# --- interruptions ----------------------------------------------------------------------------------------------------

LONG = Recipe(lr=0.05, length="7 steps", warmup="2 steps", weight_decay=1e-4, dropout=0.3, drop_connect=0.2, ema=0.9)


def record(path: Path) -> tuple[bytes, bytes]:
    newest = max((path / "checkpoints" / "training").iterdir())
    return newest.read_bytes(), (path / METRICS).read_bytes()


def test_stopping_after_any_step(tmp_path: Path, augmented: Any) -> None:
    def train(name: str, stop: int = 0) -> dict[str, Tensor]:
        net = supernet()
        with open_run(tmp_path / name, {}) as run:
            for p in fit(net, augmented, Sandwich(0), LONG, run, checkpoint_every=3, log_every=3, snapshots=(3, 5)):
                if p.step == stop:
                    break
        return net.state_dict()

    def kept(name: str) -> dict[int, bytes]:
        return {step: path.read_bytes() for step, path in snapshots(tmp_path / name).items()}

    straight = train("straight")
    assert list(kept("straight")) == [3, 5]
    for stop in range(1, 8):
        train(f"stop{stop}", stop)
        resumed = train(f"stop{stop}")
        assert all(torch.equal(resumed[n], t) for n, t in straight.items())
        assert record(tmp_path / f"stop{stop}") == record(tmp_path / "straight")
        assert kept(f"stop{stop}") == kept("straight")
    again = train("straight")  # nothing is left to do
    assert all(torch.equal(again[n], t) for n, t in straight.items())


@pytest.mark.parametrize("ema", [0.0, 0.8])
def test_snapshots_are_the_weights_that_a_training_would_end_with(
    tmp_path: Path, noise_batches: Make, ema: float
) -> None:
    recipe = Recipe(lr=0.05, schedule="constant", ema=ema, length="5 steps")
    with open_run(tmp_path / "run", {}) as run:
        run_to_end(supernet(), noise_batches(), Uniform(), recipe, run, snapshots=[2])
    short = supernet()
    run_to_end(short, noise_batches(), Uniform(), replace(recipe, length="2 steps"))
    ((step, path),) = snapshots(tmp_path / "run").items()
    tensors, notes = read(path)
    assert step == notes["step"] == 2
    assert tensors.keys() == short.state_dict().keys()
    assert all(torch.equal(tensors[n], t) for n, t in short.state_dict().items())


def test_metrics_are_means_over_intervals(tmp_path: Path, augmented: Any) -> None:
    with open_run(tmp_path / "run", {}) as run:
        run.append(METRICS, [{"task": "earlier", "step": 99, "loss": 1.0}])
        losses = [p.loss for p in fit(supernet(), augmented, Uniform(), LONG, run, log_every=4)]
        records = run.read(METRICS)
    assert records[0]["task"] == "earlier"
    assert [r["step"] for r in records[1:]] == [4, 7]
    means = [np.mean(losses[:4]), np.mean(losses[4:])]
    assert [r["loss"] for r in records[1:]] == pytest.approx(means)


def test_a_damaged_checkpoint_costs_steps_but_changes_nothing(tmp_path: Path, augmented: Any) -> None:
    def train(name: str) -> None:
        with open_run(tmp_path / name, {}) as run:
            run_to_end(supernet(), augmented, Uniform(), LONG, run, checkpoint_every=3, log_every=3)

    train("straight")
    train("broken")
    newest = max((tmp_path / "broken" / "checkpoints" / "training").iterdir())
    newest.write_bytes(newest.read_bytes()[:-100])
    with pytest.warns(UserWarning, match="going back to the checkpoint before it"):
        train("broken")
    assert record(tmp_path / "broken") == record(tmp_path / "straight")


SCRIPT = """
import sys, torch
torch.set_num_threads(1)
import numpy as np
from supernetic.datasets.augment import Augment
from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import Dataset
from supernetic.runs.directory import open_run
from supernetic.samplers.strict_fair import StrictFair
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.checkpoint import read, snapshots
from supernetic.training.loop import fit
from supernetic.training.recipe import Recipe

rng = np.random.default_rng(0)
splits = dict(zip(("train", "valid", "calibrate", "test"), np.split(np.arange(120), [90, 100, 110])))
images = rng.integers(0, 256, (120, 8, 8, 3), dtype=np.uint8)
data = Dataset("noise", images, rng.integers(0, 10, 120), tuple("abcdefghij"), splits, np.arange(120), "noise")
batches = Batches(data, batch_size=32, augment=Augment(shift=1, flip=True))
recipe = Recipe(lr=.05, length="20 steps", warmup="5 steps", dropout=.3, drop_connect=.2, ema=.9, weight_decay=1e-4)
net = Supernet(Macro(channels=4, resolution=8, head=8), seed=0)
with open_run(sys.argv[1], {}) as run:
    for p in fit(net, batches, StrictFair(), recipe, run, checkpoint_every=3, log_every=3):
        print(p.step, flush=True)
"""


def test_kill_9_and_resume_is_byte_identical(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / name)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    straight = start("straight")
    for last in (4, 11):  # kills that fall somewhere into the step after
        killed = start("killed")
        assert killed.stdout is not None
        first = int(killed.stdout.readline())
        assert first < last
        while int(killed.stdout.readline()) < last:
            pass
        killed.kill()
        assert killed.wait() == -9
        killed.stdout.close()
    finished = start("killed")
    for process in (finished, straight):
        output, _ = process.communicate()
        assert process.returncode == 0
        assert output.split()[-1] == "20"
    assert record(tmp_path / "killed") == record(tmp_path / "straight")
