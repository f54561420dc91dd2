"""Is there time for a teacher: a network beyond the limit on MACs, trained first, for the small one to learn from?

    python experiments/teacher.py    trains what is missing in runs/teacher, one thread, then writes teacher.toml

A teacher can only help if it knows more than its student would without it. So both are trained from labels for the same
processor-seconds, by the recipe of a search: a ResNet of about 20 M MACs, and a network of at most 3 M. Validation
images compare; test images are not used. One seed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from prospects import SPACE, dataset, pace
from record import Record

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import resnet
from supernetic.networks.training import logits_of, measure, one_thread, training
from supernetic.nn.network import build
from supernetic.runs.directory import append_records, read_records
from supernetic.training.schedule import plan_of

TEACHER, STUDENT = "teacher", "student"
STUDENT_NAME, TEACHER_MACS, SEED = "n1-p1.25x1-m0.75x2-p1.0x3", 20e6, 0
SECONDS = 490.0  # processor-seconds
LEAD = 2.0  # points that would make a teacher worth while
RUNS = Path("runs/teacher")


def blueprint_of(name: str) -> Blueprint:
    """The teacher's or the student's."""
    space = catalog.space(SPACE)
    return resnet(TEACHER_MACS, 32, 10) if name == TEACHER else space.blueprint(space.parse(STUDENT_NAME))


def trained(name: str) -> dict[str, Any]:
    """Train one of the two, and validate it."""
    data, recipe, blueprint = dataset(), replace(network_recipe(None), augment="light+flip"), blueprint_of(name)
    per_epoch = len(data.splits["train"]) // recipe.batch_size
    with one_thread():
        step = pace(recipe, blueprint, data)
        steps = int(SECONDS / step)
        by = rescale_recipe(recipe, plan_of(recipe, per_epoch), steps)
        network, begin = build(blueprint, seed=SEED), process_time()
        for _ in training(network, blueprint.resolution, data, by, SEED):
            pass
        spent = process_time() - begin
        found = measure(network.eval(), blueprint.resolution, data, ("valid/accuracy", "valid/cross_entropy"))
        answers = logits_of(network, blueprint.resolution, data, "train")
    right = np.argmax(answers, axis=1) == data.labels[data.splits["train"]]
    return {
        "name": name, "macs": cost(blueprint).macs, "params": cost(blueprint).params, "ms": round(1000 * step, 2),
        "steps": steps, "epochs": round(steps / per_epoch, 2), "train": round(100 * float(right.mean()), 2),
        "valid": round(found["valid/accuracy"], 2), "cross_entropy": round(found["valid/cross_entropy"], 4),
        "seconds": round(spent, 1),
    }  # fmt: skip


def record(teacher: dict[str, Any], student: dict[str, Any]) -> None:
    """Compare the two."""
    lead = round(teacher["valid"] - student["valid"], 2)
    images = len(dataset().splits["valid"])
    half = 1.96 * sqrt(2 * teacher["valid"] * (100 - teacher["valid"]) / images)
    Record(
        name="teacher",
        claim="a teacher of seven times the MACs is clearly ahead of its student after the same time of training",
        source="ours",
        expected=f"at least {LEAD:g} points of validation accuracy",
        obtained={"teacher": teacher, "student": student, "lead": lead},
        n=2,
        held=lead >= LEAD,
        sentence=f"The teacher leads by {lead:+.2f} points: {teacher['valid']:.2f} against {student['valid']:.2f} %.",
        interval=[round(lead - half, 2), round(lead + half, 2)],
        spread=f"95 % over {images:,} validation images, as if errors of the two were independent",
        scale=f"CIFAR-10, about {SECONDS:g} processor-seconds of one thread each",
        cpu_minutes=round((teacher["seconds"] + student["seconds"]) / 60, 1),
        seeds=[SEED],
    ).write()


def main() -> None:
    """Train what is missing, and record it."""
    RUNS.mkdir(parents=True, exist_ok=True)
    file = RUNS / "trainings.jsonl"
    done = {line["name"]: line for line in read_records(file)}
    for name in (TEACHER, STUDENT):
        if name not in done:
            done[name] = trained(name)
            append_records(file, [done[name]])
            print(json.dumps(done[name]), flush=True)
    record(done[TEACHER], done[STUDENT])


if __name__ == "__main__":
    main()
