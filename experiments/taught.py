"""Does a teacher pay: a larger network that is trained first, and whose answers the small one learns from?

    python experiments/taught.py NAME ...    trains what is missing in runs/taught, one thread; `teacher` comes first
    python experiments/taught.py record      writes taught.toml

A search of an hour trains its winner until it hardly learns any more. Would part of that time be better spent on a
teacher beyond the limit on MACs? `teacher` is a ResNet of about 20 M MACs that is trained for as long as such a search
could spare. Its students have at most 3 M MACs. `answers` and `answers-long` learn mostly from its answers. `long` and
`longest` learn from labels alone: for as many steps as the second of these, and for about as long as teacher and
student together. `cutout` is `long` with squares cut out of its images, the other thing to try against learning by
heart. All have the recipe of a search; taught ones have no label smoothing, as the teacher's answers are smooth.
Validation images compare; test images are not used. One seed.
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
from supernetic.costs.macs import cost
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.time_plan import rescale_recipe
from supernetic.networks.controls import resnet
from supernetic.networks.taught import mixed_targets, read_targets, write_targets
from supernetic.networks.training import logits_of, measure, one_thread, training
from supernetic.nn.network import build
from supernetic.runs.directory import append_records, read_records
from supernetic.training.schedule import plan_of

TEACHER, ANSWERS, ANSWERS_LONG = "teacher", "answers", "answers-long"
LONG, LONGEST, CUTOUT = "long", "longest", "cutout"
STUDENT, TEACHER_MACS, SEED = "n1-p1.25x1-m0.75x2-p1.0x3", 20e6, 0
STEPS = {LONG: 28_000, CUTOUT: 28_000, LONGEST: 56_000, ANSWERS: 14_000, ANSWERS_LONG: 28_000}
TEACHER_SECONDS = 1500.0  # processor-seconds
TAUGHT = (ANSWERS, ANSWERS_LONG)
SHARE = 0.9  # that the teacher's answers have in what they learn from
RUNS = Path("runs/taught")


def trained(name: str) -> dict[str, Any]:
    """Train the teacher, which leaves its answers behind, or a student."""
    augment = "light+flip+cutout" if name == CUTOUT else "light+flip"
    data, recipe = dataset(), replace(network_recipe(None), augment=augment)
    space = catalog.space(SPACE)
    blueprint = resnet(TEACHER_MACS, 32, 10) if name == TEACHER else space.blueprint(space.parse(STUDENT))
    targets = None
    if name in TAUGHT:
        logits = read_targets(RUNS / "logits.safetensors").numpy()
        targets, recipe = mixed_targets(data, logits, SHARE), replace(recipe, label_smoothing=0.0)
    per_epoch = len(data.splits["train"]) // recipe.batch_size
    with one_thread():
        steps = STEPS[name] if name in STEPS else int(TEACHER_SECONDS / pace(recipe, blueprint, data))
        network, begin = build(blueprint, seed=SEED), process_time()
        by = rescale_recipe(recipe, plan_of(recipe, per_epoch), steps)
        for at in training(network, blueprint.resolution, data, by, SEED, targets=targets):
            if at.step % 1000 == 0:
                print(name, at.step, at.steps, float(at.loss), round(process_time() - begin), flush=True)
        found = measure(network.eval(), blueprint.resolution, data, ("valid/accuracy", "valid/cross_entropy"))
        answers = logits_of(network, blueprint.resolution, data, "train", mirrored=True)
        if name == TEACHER:
            write_targets(RUNS / "logits.safetensors", torch.from_numpy(answers))
        spent = process_time() - begin
    right = np.argmax(answers, axis=1) == data.labels[data.splits["train"]]
    return {
        "name": name, "macs": cost(blueprint).macs, "params": cost(blueprint).params,
        "steps": steps, "epochs": round(steps / per_epoch, 2), "train": round(100 * float(right.mean()), 2),
        "valid": round(found["valid/accuracy"], 2), "cross_entropy": round(found["valid/cross_entropy"], 4),
        "seconds": round(spent, 1),
    }  # fmt: skip


def record(done: dict[str, dict[str, Any]]) -> None:
    """Compare the best taught student with the one that had as long as teacher and student."""
    taught = max((done[n] for n in TAUGHT if n in done), key=lambda d: float(d["valid"]))
    gains = {n: round(taught["valid"] - done[n]["valid"], 2) for n in (LONG, CUTOUT, LONGEST) if n in done}
    images = len(dataset().splits["valid"])
    half = 1.96 * sqrt(2 * taught["valid"] * (100 - taught["valid"]) / images)  # as if they erred independently
    gain = gains[LONGEST]
    Record(
        name="taught",
        claim="in about the same time, a teacher and then its student give a better student than the student alone",
        source="ours",
        expected="validation accuracy of the taught student above that of the student that was trained for as long",
        obtained={"trainings": list(done.values()), "gains": gains},
        n=len(done),
        held=gain - half > 0,
        sentence=f"Taught, by {taught['name']}: " + ", ".join(f"{g:+.2f} points to `{n}`" for n, g in gains.items()),
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
    for name in names or (TEACHER, *STEPS):
        if name not in done:
            line = trained(name)
            append_records(RUNS / f"{name}.jsonl", [line])
            print(json.dumps(line), flush=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
