"""Why does ScaleNet's super-supernet stay at the accuracy of chance, and do options that start alike help?

    python experiments/alike.py     trains it seven times for 300 steps, and writes alike.toml

Each training draws paths that differ in some choices alone; the others are those of one random network. Weights start
by He's rule and blocks as their shortcuts, but for two trainings: by He's rule alone, and alike. What counts is the
mean training loss of the last 50 steps; by chance it is 2.30. Needs CIFAR-10, and seven CPU-minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np
import torch
import torch.nn.functional as F
from record import Record

from supernetic import catalog
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.errors import ArchError
from supernetic.space import Arch, Space
from supernetic.supernets.supernet import Supernet
from supernets import few_images, full_data

SPACE = "scalenet:resolution=16,width=0.25,classes=10,released=true"
STEPS, WARM_STEPS, LAST, BATCH, RATE = 300, 25, 50, 64, 0.002
SHORTCUTS, HE, ALIKE = "blocks as shortcuts", "He's rule alone", "alike"


def is_scale(name: str) -> bool:
    """Whether a choice is one of the strategy."""
    return name.startswith("scale.")


def is_depth(name: str) -> bool:
    """Whether it is the depth of a stage."""
    return name.startswith("stage") and name.endswith(".depth")


TRAININGS: dict[str, tuple[Callable[[str], bool], str]] = {  # which choices differ from path to path, and the start
    "nothing": (lambda name: False, SHORTCUTS),
    "depths of stages": (is_depth, SHORTCUTS),
    "scaling": (is_scale, SHORTCUTS),
    "kernels": (lambda name: not is_scale(name) and not is_depth(name), SHORTCUTS),
    "everything": (lambda name: True, SHORTCUTS),
    "everything, He's rule alone": (lambda name: True, HE),
    "everything, alike": (lambda name: True, ALIKE),
}


def drawn(space: Space, free: list[bool], fixed: Arch, rng: np.random.Generator) -> Arch:
    """A random path that differs from the fixed one in the free choices alone."""
    while True:
        genes = space.sample(rng, 1)[0].tolist()
        try:
            return space.check(tuple(g if f else kept for g, f, kept in zip(genes, free, fixed, strict=True)))
        except ArchError:  # blocks that the depth of a stage does not have
            continue


def loss_of(differs: Callable[[str], bool], start: str) -> float:
    """The training loss at the end."""
    space, images = catalog.space(SPACE), few_images(full_data(), 5000)
    free = [differs(choice.name) for choice in space.choices]
    fixed: Arch = tuple(space.sample(np.random.default_rng(1), 1)[0].tolist())
    weights = "alike" if start == ALIKE else "he"
    supernet = Supernet(space, seed=0, zero_residual=start == SHORTCUTS, weights=weights).train()
    optimiser = torch.optim.Adam(supernet.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, (step + 1) / WARM_STEPS))
    batches, rng = Batches(images, "train", BATCH, 0, parse("light+flip")), np.random.default_rng(0)
    losses = []
    for step in range(STEPS):
        x, y = batches.batch(step)
        optimiser.zero_grad()
        loss = F.cross_entropy(supernet(x, drawn(space, free, fixed, rng)), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return round(float(np.mean(losses[-LAST:])), 3)


def main() -> None:
    """All trainings, and the record."""
    torch.set_num_threads(1)
    began, found = process_time(), {}
    for name, (differs, start) in TRAININGS.items():
        found[name] = loss_of(differs, start)
        print(name, found[name], flush=True)
    Record(
        "alike",
        "ScaleNet's super-supernet learns within 300 steps if its options start alike, and not otherwise",
        "ours",
        "a loss at least .1 below that of every other start",
        found,
        n=len(found),
        held=found["everything, alike"] <= min(found["everything"], found["everything, He's rule alone"]) - 0.1,
        sentence=f"Training loss after {STEPS} steps, by what differs from path to path: "
        + ", ".join(f"{name} {loss:.2f}" for name, loss in found.items())
        + ".",
        spread="one training each",
        seeds=[0],
        scale=f"{SPACE}, CIFAR-10, {STEPS} steps of {BATCH} images by Adam at {RATE}, mean of the last {LAST}",
        cpu_minutes=round((process_time() - began) / 60, 1),
    ).write()


if __name__ == "__main__":
    main()
