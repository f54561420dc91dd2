"""Prospects: do networks that lead after seconds lead after minutes? Trainings on CIFAR-10 in the rounds of a race.

    python experiments/prospects.py           trains what is missing in runs/prospects.jsonl, then writes prospects.toml
    python experiments/prospects.py NAME ...  only these: `resnet`, `mobilenetv2`, or networks of the space `mixed`

All networks have at most 3 M MACs and the recipe of a search. Each is trained on one thread in rounds of 20, 33, 55 and
300 processor-seconds, each round with a schedule of its own, from the weights that it has. Validation images compare;
test images are not used.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

from record import Record

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.datasets import Dataset, load
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.search.forecast import later_error
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import mobilenet, resnet
from supernetic.networks.training import measure, one_thread, training
from supernetic.nn.network import build
from supernetic.runs.directory import append_records, read_records
from supernetic.training.recipe import Recipe
from supernetic.training.schedule import plan_of

ROUNDS = (20.0, 33.0, 55.0, 300.0)  # processor-seconds
MACS, SEED = 3e6, 0
WARM_UP_STEPS, TIMED_STEPS = 3, 25
LINES = Path("runs/prospects.jsonl")
CONTROLS = {"resnet": resnet, "mobilenetv2": mobilenet}
SPACE = "mixed:channels=16,resolution=32,classes=10,in_channels=3"
NAMES = (
    "resnet",
    "s2-p1.0x2-p1.0x2-p0.875x2",
    "s2-m0.75x3-m0.75x3-m0.5x3",
    "n1-p0.75x1-m0.75x3-m0.875x3-h4",
)


def curve(name: str) -> dict[str, Any]:
    """Train one network round by round, and validate it after each."""
    data, recipe = dataset(), replace(network_recipe(None), augment="light+flip")
    blueprint = _network(name)
    per_epoch = len(data.splits["train"]) // recipe.batch_size
    network, steps, points = build(blueprint, seed=SEED), 0, []
    with one_thread():
        step = pace(recipe, blueprint, data)
        for seconds in ROUNDS:
            length = max(1, int(seconds / step))
            begin = process_time()
            by = rescale_recipe(recipe, plan_of(recipe, per_epoch), length)
            for _ in training(network, blueprint.resolution, data, by, SEED):
                pass
            spent, steps = process_time() - begin, steps + length
            found = measure(network.eval(), blueprint.resolution, data, ("valid/accuracy",))["valid/accuracy"]
            points.append({"seconds": round(spent, 1), "epochs": round(steps / per_epoch, 2), "valid": round(found, 2)})
    return {"network": name, "macs": cost(blueprint).macs, "params": cost(blueprint).params, "rounds": points}


def _network(name: str) -> Blueprint:
    if name in CONTROLS:
        return CONTROLS[name](MACS, 32, 10)
    space = catalog.space(SPACE)
    return space.blueprint(space.parse(name))


def pace(recipe: Recipe, blueprint: Blueprint, data: Dataset) -> float:
    """Processor-seconds per step."""
    endless = replace(recipe, length="1_000_000 steps", warmup="0 steps", lr=1e-9, lr_end=0.0)
    steps = training(build(blueprint, seed=SEED), blueprint.resolution, data, endless, SEED)
    list(islice(steps, WARM_UP_STEPS))
    begin = process_time()
    list(islice(steps, TIMED_STEPS))
    return (process_time() - begin) / TIMED_STEPS


@lru_cache(maxsize=1)
def dataset() -> Dataset:
    """CIFAR-10, decoded once."""
    return load("cifar10")


def forecast(rounds: list[dict[str, Any]]) -> float:
    """The accuracy of the last round that a race would expect after the one before it."""
    growth = sum(ROUNDS) / sum(ROUNDS[:-1])
    return round(100 - later_error(100 - rounds[-2]["valid"], rounds[-2]["epochs"], growth), 2)


def main(names: list[str]) -> None:
    """Train what is missing, and record all."""
    LINES.parent.mkdir(exist_ok=True)
    done = {line["network"]: line for line in read_records(LINES)}
    for name in names or NAMES:
        if name not in done:
            done[name] = curve(name)
            append_records(LINES, [done[name]])
            print(json.dumps(done[name]), flush=True)
    curves = [{**line, "forecast": forecast(line["rounds"])} for line in done.values()]
    first, last = ([c["rounds"][i]["valid"] for c in curves] for i in (0, -1))
    leaders = [curves[max(range(len(v)), key=v.__getitem__)]["network"] for v in (first, last)]
    Record(
        name="prospects",
        claim="a network that leads after seconds need not lead after minutes",
        source="ours",
        expected="another network leads after 408 processor-seconds than after 20",
        obtained={"curves": curves, "leader_first": leaders[0], "leader_last": leaders[1]},
        n=len(curves),
        held=leaders[0] != leaders[1],
        sentence=f"After {ROUNDS[0]:.0f} processor-seconds {leaders[0]} leads, after {sum(ROUNDS):.0f} {leaders[1]}.",
        scale="CIFAR-10, at most 3 M MACs, one thread, rounds of 20, 33, 55 and 300 processor-seconds",
        cpu_minutes=round(sum(r["seconds"] for c in curves for r in c["rounds"]) / 60, 1),
        seeds=[SEED],
    ).write()


if __name__ == "__main__":
    main(sys.argv[1:])
