"""Does a teacher pay: a larger network that is trained first, and whose answers the small one learns from?

    python experiments/teacher.py NAME ...    trains what is missing in runs/teacher, one thread; `teacher` comes first
    python experiments/teacher.py record      writes teacher.toml

A search of an hour trains its winner until it hardly learns any more. Would part of that time be better spent on a
teacher beyond the limit on MACs? The student is a network of at most 3 M MACs, trained by the recipe of a search.
`labels` and `long` learn from labels alone, for as many steps as a taught student and for about as long as teacher and
student together. `shared` and `answers` learn from labels and the teacher's answers in equal parts, and from its
answers alone, without label smoothing. Validation images compare; test images are not used. One seed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from math import sqrt
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from prospects import SPACE, dataset, pace
from record import Record

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import resnet
from supernetic.networks.taught import mixed_targets, read_targets, write_targets
from supernetic.networks.training import logits_of, measure, one_thread, training
from supernetic.nn.network import build
from supernetic.runs.directory import append_records, read_records
from supernetic.training.schedule import plan_of

TEACHER, LABELS, LONG, SHARED, ANSWERS = "teacher", "labels", "long", "shared", "answers"
SECONDS = {TEACHER: 480.0, LABELS: 500.0, LONG: 1000.0, SHARED: 500.0, ANSWERS: 500.0}  # processor-seconds
SHARES = {SHARED: 0.5, ANSWERS: 1.0}  # that the teacher's answers have in what a student learns from
STUDENT, TEACHER_MACS, SEED = "n1-p1.25x1-m0.75x2-p1.0x3", 20e6, 0
RUNS = Path("runs/teacher")


def blueprint_of(name: str) -> Blueprint:
    """The teacher's or the student's."""
    space = catalog.space(SPACE)
    return resnet(TEACHER_MACS, 32, 10) if name == TEACHER else space.blueprint(space.parse(STUDENT))


def trained(name: str) -> dict[str, Any]:
    """Train the teacher, which leaves its answers behind, or a student."""
    data, recipe, blueprint = dataset(), replace(network_recipe(None), augment="light+flip"), blueprint_of(name)
    targets = None
    if name in SHARES:
        logits = read_targets(RUNS / "logits.safetensors").numpy()
        targets, recipe = mixed_targets(data, logits, SHARES[name]), replace(recipe, label_smoothing=0.0)
    per_epoch = len(data.splits["train"]) // recipe.batch_size
    with one_thread():
        step = pace(recipe, blueprint_of(TEACHER if name == TEACHER else LABELS))
        steps = int(SECONDS[name] / step)
        network, begin = build(blueprint, seed=SEED), process_time()
        by = rescale_recipe(recipe, plan_of(recipe, per_epoch), steps)
        for at in training(network, blueprint.resolution, data, by, SEED, targets=targets):
            last = at
        found = measure(network.eval(), blueprint.resolution, data, ("valid/accuracy", "valid/cross_entropy"))
        answers = logits_of(network, blueprint.resolution, data, "train")
        if name == TEACHER:
            write_targets(RUNS / "logits.safetensors", torch.from_numpy(answers))
        spent = process_time() - begin
    right = np.argmax(answers, axis=1) == data.labels[data.splits["train"]]
    return {
        "name": name, "macs": cost(blueprint).macs, "params": cost(blueprint).params, "ms": round(1000 * step, 2),
        "steps": steps, "epochs": round(steps / per_epoch, 2), "train": round(100 * float(right.mean()), 2),
        "valid": round(found["valid/accuracy"], 2), "cross_entropy": round(found["valid/cross_entropy"], 4),
        "loss": round(float(last.loss), 4), "seconds": round(spent, 1),
    }  # fmt: skip


def record(done: dict[str, dict[str, Any]]) -> None:
    """Compare the best taught student with the one that had as long as teacher and student."""
    taught = max((done[n] for n in SHARES if n in done), key=lambda d: float(d["valid"]))
    gain, steps = (round(taught["valid"] - done[n]["valid"], 2) for n in (LONG, LABELS))
    images = len(dataset().splits["valid"])
    half = 1.96 * sqrt(2 * taught["valid"] * (100 - taught["valid"]) / images)  # as if they erred independently
    Record(
        name="teacher",
        claim="in the same time, a teacher and then its student give a better student than the student alone",
        source="ours",
        expected="validation accuracy of the taught student above that of the student that was trained for as long",
        obtained={"trainings": list(done.values()), "gain_in_equal_time": gain, "gain_in_equal_steps": steps},
        n=len(done),
        held=gain - half > 0,
        sentence=f"Taught, by {taught['name']}: {gain:+.2f} points in equal time, {steps:+.2f} in equal steps.",
        interval=[round(gain - half, 2), round(gain + half, 2)],
        spread=f"95 % over {images:,} validation images, as if errors of the two were independent",
        scale=f"CIFAR-10, a student of 2.9 M MACs, a ResNet of {TEACHER_MACS / 1e6:.0f} M as teacher, one thread",
        cpu_minutes=round(sum(d["seconds"] for d in done.values()) / 60, 1),
        seeds=[SEED],
    ).write()


def main(names: list[str]) -> None:
    """Train what is missing, or record what there is."""
    RUNS.mkdir(parents=True, exist_ok=True)
    done = {line["name"]: line for file in sorted(RUNS.glob("*.jsonl")) for line in read_records(file)}
    if names == ["record"]:
        return record(done)
    for name in names or SECONDS:
        if name not in done:
            line = trained(name)
            append_records(RUNS / f"{name}.jsonl", [line])
            print(json.dumps(line), flush=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
