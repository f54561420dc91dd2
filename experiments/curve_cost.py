"""What validation curves cost: the share of a training's processor time that goes into validating on the way.

python experiments/curve_cost.py         writes curve_cost.toml; needs cifar10
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import torch
from record import Record
from torch import nn

from supernetic.datasets import Dataset, load
from supernetic.jobs.time_plan import NETWORK_RECIPE
from supernetic.networks import curve
from supernetic.networks.controls import plain_network, resnet
from supernetic.networks.training import training
from supernetic.nn.network import build
from supernetic.runs.directory import open_run
from supernetic.training.recipe import recipe

TASKS = {"embedded": 4e5, "cifar10": 3e6}  # MACs by data
NETWORKS = {"plain": plain_network, "resnet": resnet}
STEPS = 120


class Clock:
    """Adds up the processor time that validating takes."""

    def __init__(self) -> None:
        self.seconds, self.points, self.validate = 0.0, 0, curve._metrics

    def __call__(self, network: nn.Module, *images: object) -> Mapping[str, float]:
        """Validate."""
        begin = process_time()
        found = self.validate(network, *images)  # type: ignore[arg-type]
        self.seconds += process_time() - begin
        self.points += 1
        return found


def share(data: Dataset, macs: float, make: object) -> tuple[float, int]:
    """Percent of the processor time of a training, and points of the curve."""
    how = recipe({**NETWORK_RECIPE, "length": f"{STEPS} steps", "warmup": "10 steps"})
    blueprint = make(macs, data.resolution, len(data.classes), data.channels)  # type: ignore[operator]
    clock = Clock()
    curve._metrics = clock  # type: ignore[assignment]
    try:
        with TemporaryDirectory() as place, open_run(Path(place) / "run", {"job": "network"}) as run:
            begin = process_time()
            for _ in training(build(blueprint, seed=0), data.resolution, data, how, 0, run, curve=True):
                pass
            return 100 * clock.seconds / (process_time() - begin), clock.points
    finally:
        curve._metrics = clock.validate


def main() -> None:
    """Train all and write the record."""
    torch.set_num_threads(1)
    start, obtained = process_time(), {}
    for name, macs in TASKS.items():
        data = load(name)
        for kind, make in NETWORKS.items():
            percent, points = share(data, macs, make)
            obtained[f"{name}, {kind}"] = {"percent": round(percent, 2), "points": points}
    most = max(o["percent"] for o in obtained.values())
    Record(
        "curve_cost",
        "validation curves take at most about 2 % of a training's processor time",
        "ours; docs/diagnostics.md",
        "at most 3 %",
        obtained,
        n=len(obtained),
        held=most <= 3,
        sentence=f"Validating on the way takes {min(o['percent'] for o in obtained.values()):.1f} to {most:.1f} % of "
        "the processor time.",
        scale=f"{STEPS} steps of 128 images, one thread; networks of 0.4M MACs (embedded) and 3M MACs (CIFAR-10)",
        cpu_minutes=round((process_time() - start) / 60, 1),
    ).write()


if __name__ == "__main__":
    main()
