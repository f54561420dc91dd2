"""Recipes for short trainings: one network on CIFAR-10, each recipe for the same processor-seconds of one thread.

    python experiments/recipes.py              trains what is missing in runs/recipes.jsonl, then writes recipes.toml
    python experiments/recipes.py default lr=.8    only these
    python experiments/recipes.py --long [...]     the same for longer trainings: runs/recipes_long.jsonl

In short trainings, of 100 processor-seconds, the network is the ResNet that a search races with at 3 M MACs. In longer
ones, of 490, it is a network with bottlenecks, such as win searches of 20 minutes or more. Validation images compare;
test images are not used.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

from record import Record

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.datasets import Dataset, load
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import resnet
from supernetic.networks.training import measure, one_thread, training
from supernetic.nn.network import build
from supernetic.runs.directory import append_records, read_records
from supernetic.training.recipe import Recipe
from supernetic.training.schedule import plan_of

MACS, SEED = 3e6, 0
TIMED_STEPS = 40
DEFAULT, RESNET, LONG_OPTION = "default", "ResNet", "--long"
METRICS = ("valid/accuracy", "valid/cross_entropy")
LEARNT = "train/accuracy"
CHANGES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "cosine": {"schedule": "cosine"},
    "cosine, as before": {"schedule": "cosine", "lr": 0.2, "augment": "flip"},
    "lr=.2": {"lr": 0.2},
    "lr=.8": {"lr": 0.8},
    "batch=64": {"batch_size": 64},
    "batch=256, lr=.8": {"batch_size": 256, "lr": 0.8},
    "flip": {"augment": "flip"},
    "shift+flip": {"augment": "shift+flip"},
    "light+flip+cutout": {"augment": "light+flip+cutout"},
    "no label smoothing": {"label_smoothing": 0.0},
    "decay=2e-4": {"weight_decay": 2e-4},
    "decay=1e-3": {"weight_decay": 1e-3},
    "norms decay too": {"decay_all": True},
    "average=.998": {"ema": 0.998},
    "no clipping": {"clip_norm": 0.0},
    "decay=1e-4": {"weight_decay": 1e-4},
    "decay=2e-4, no label smoothing": {"weight_decay": 2e-4, "label_smoothing": 0.0},
    "half of it at 24 pixels": {},
    "half of it at 16 pixels": {},
}
ONLY_LONG = ("decay=1e-4", "decay=2e-4, no label smoothing")
LONG_CHANGES = (DEFAULT, "shift+flip", "light+flip+cutout", "no label smoothing", "decay=2e-4", *ONLY_LONG)
SMALL_AT_FIRST = {"half of it at 24 pixels": 24, "half of it at 16 pixels": 16}  # pixels in the first half of the time


@dataclass(frozen=True)
class Length:
    """How long networks are trained, which network, and by which recipes."""

    name: str
    seconds: float
    network: str  # of the space `mixed`, or RESNET
    recipes: tuple[str, ...]
    metrics: tuple[str, ...] = METRICS

    @property
    def file(self) -> Path:
        """A line for each recipe that was tried."""
        return Path(f"runs/{self.name}.jsonl")

    def blueprint(self, data: Dataset) -> Blueprint:
        """The network that is trained."""
        if self.network == RESNET:
            return resnet(MACS, data.resolution, len(data.classes), data.channels)
        space = catalog.space("mixed:channels=16")
        return space.blueprint(space.parse(self.network))


SHORT = Length("recipes", 100.0, RESNET, tuple(name for name in CHANGES if name not in ONLY_LONG))
LONG = Length("recipes_long", 490.0, "n1-p1.25x1-m0.75x2-p1.0x3", LONG_CHANGES, (*METRICS, LEARNT))


def accuracy(name: str, of: Length) -> dict[str, Any]:
    """Train by one recipe for the processor-seconds, and validate."""
    data = dataset()
    recipe = replace(network_recipe(None), augment="light+flip")
    recipe = replace(recipe, **CHANGES[name])
    blueprint = of.blueprint(data)
    network, steps, seconds = build(blueprint, seed=SEED), 0, 0.0
    with one_thread():
        for part, pixels, share in _parts(name, recipe, blueprint.resolution):
            length = max(1, int(share * of.seconds / _pace(part, blueprint, pixels)))
            schedule = plan_of(part, len(data.splits["train"]) // part.batch_size)
            begin = process_time()
            for _ in training(network, pixels, data, rescale_recipe(part, schedule, length), SEED):
                pass
            steps, seconds = steps + length, seconds + process_time() - begin
        found = measure(network.eval(), blueprint.resolution, data, of.metrics)
    return {
        "recipe": name,
        "steps": steps,
        "seconds": round(seconds, 1),
        **{m.replace("/", "_"): round(value, 4 if "entropy" in m else 2) for m, value in found.items()},
    }


def _parts(name: str, recipe: Recipe, pixels: int) -> list[tuple[Recipe, int, float]]:
    """Recipe, image size and share of the time of each part; two parts have one linear schedule between them."""
    if name not in SMALL_AT_FIRST:
        return [(recipe, pixels, 1.0)]
    first = replace(recipe, lr_end=recipe.lr / 2)
    second = replace(recipe, lr=recipe.lr / 2, warmup="0 steps")
    return [(first, SMALL_AT_FIRST[name], 0.5), (second, pixels, 0.5)]


def _pace(recipe: Recipe, blueprint: Any, pixels: int) -> float:
    """Processor-seconds per step."""
    endless = replace(recipe, length="1_000_000 steps", warmup="0 steps", lr=1e-9, lr_end=0.0)
    steps = training(build(blueprint, seed=SEED), pixels, dataset(), endless, SEED)
    next(steps)
    begin = process_time()
    for _ in range(TIMED_STEPS):
        next(steps)
    return (process_time() - begin) / TIMED_STEPS


@lru_cache
def dataset() -> Dataset:
    """CIFAR-10."""
    return load("cifar10")


def record(lines: list[dict[str, Any]], of: Length) -> Record:
    """Whether the default recipe is as good as any of the others."""
    found = {line["recipe"]: line for line in lines}
    best = max(lines, key=lambda line: float(line["valid_accuracy"]))
    images = len(dataset().splits["valid"])
    share = best["valid_accuracy"] / 100
    error = 1.96 * (2 * share * (1 - share) / images) ** 0.5 * 100
    gap = best["valid_accuracy"] - found[DEFAULT]["valid_accuracy"]
    return Record(
        name=of.name,
        claim="no other recipe that was tried is better in a training of this length than the default one",
        source="ours; docs/findings/recipes.md",
        expected=f"no other is shown better: a gap of at most {error:.1f} points",
        obtained={line["recipe"]: {k: v for k, v in line.items() if k != "recipe"} for line in lines},
        n=len(lines),
        held=gap <= error,
        sentence=f"The default has {found[DEFAULT]['valid_accuracy']:.2f} %, the best, {best['recipe']}, "
        f"{best['valid_accuracy']:.2f} %.",
        seeds=[SEED],
        scale=f"{of.network}, at most 3 M MACs, {of.seconds:g} processor-seconds of one thread, {images:,} images",
        cpu_minutes=round(sum(line["seconds"] for line in lines) / 60, 1),
    )


def main(words: list[str]) -> None:
    """Train what is missing, then write the record."""
    of = LONG if LONG_OPTION in words else SHORT
    of.file.parent.mkdir(exist_ok=True)
    for name in [word for word in words if word != LONG_OPTION] or of.recipes:
        if name not in {line["recipe"] for line in read_records(of.file)}:
            line = accuracy(name, of)
            append_records(of.file, [line])
            print(json.dumps(line), flush=True)
    lines = read_records(of.file)
    if {line["recipe"] for line in lines} >= set(of.recipes):
        record(lines, of).write()


if __name__ == "__main__":
    main(sys.argv[1:])
