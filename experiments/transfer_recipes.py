"""Which recipe fine-tunes a pretrained network in minutes? EfficientNet-Lite0 on PlantDoc, judged by held-out images.

    python experiments/transfer_recipes.py train RUN FOLDER [NAME ...]   RUN: a transfer at 96 pixels, whose head is the
                                                                         start; goes on where it was interrupted
    python experiments/transfer_recipes.py record RUN FOLDER             writes the record of what has been trained

Each recipe changes something of `short` and has the same number of steps. Accuracies are of the fifth of the training
images that is held out; test images are not read.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from record import Record

from supernetic.jobs.transfer.job import TransferJob
from supernetic.jobs.transfer.plan import TransferPlan
from supernetic.jobs.transfer.request import TransferRequest
from supernetic.jobs.transfer.train import ACCURACY, Trainings
from supernetic.networks.heads import read_head
from supernetic.networks.pool import training_seconds
from supernetic.progress import ignore
from supernetic.runs.directory import open_run, read_settings
from supernetic.runs.files import NETWORK_TRAININGS
from supernetic.training.recipe import recipe

STEPS = 240
BEFORE = {
    "length": "10 epochs", "batch_size": 32, "augment": "flip", "lr": 0.00316, "nesterov": True, "weight_decay": 1e-5,
    "warmup": "0.2 epochs", "label_smoothing": 0.1, "fixed_bn": True,
}  # fmt: skip
ADAM = {"optimiser": "adam", "nesterov": False, "smoothing": 0.999}
RECIPES: Mapping[str, dict[str, Any]] = {
    "SGD .003, flip": {},
    "SGD .01, flip": {"lr": 0.01},
    "SGD .01, zoom+flip": {"lr": 0.01, "augment": "zoom+flip"},
    "Adam .0003, zoom+flip": {**ADAM, "lr": 0.0003, "augment": "zoom+flip"},
    "Adam .001, zoom+flip": {**ADAM, "lr": 0.001, "augment": "zoom+flip"},
    "Adam .0003, flip": {**ADAM, "lr": 0.0003},
    "Adam .0003, zoom+flip, BN of each batch": {**ADAM, "lr": 0.0003, "augment": "zoom+flip", "fixed_bn": False},
}


def train(source: Path, folder: Path, names: list[str]) -> dict[str, Any]:
    """Train what is not trained yet; by name, held-out accuracy and seconds. The head's is among them."""
    settings = read_settings(source)
    job = TransferJob.prepare(TransferRequest.from_record(settings["request"]), ignore)
    plan = replace(TransferPlan.from_settings(settings["plan"]), trial_steps=STEPS)
    found: dict[str, Any] = {}
    with open_run(folder, {"experiment": "transfer_recipes"}) as run:
        shutil.copy(source / "head.json", run.path / "head.json")
        shutil.copytree(source / "starts", run.path / "starts", dirs_exist_ok=True)
        found["the head alone"] = {"accuracy": round(read_head(run)["best"][ACCURACY], 1)}
        for name in names:
            tried = recipe(BEFORE | RECIPES[name])
            trainings = Trainings(
                job.blueprint, replace(job.held_out, recipe=tried), job.whole, plan, None, ignore
            )  # fmt: skip
            (trial,) = trainings._try(run, [(tried.lr, tried.weight_decay)])
            seconds, _ = training_seconds(run.path / NETWORK_TRAININGS / trial["key"])
            found[name] = {"accuracy": round(trial[ACCURACY] or 0.0, 1), "seconds": round(seconds)}
            print(name, found[name], flush=True)
    return found


def record(found: Mapping[str, Any], images: int) -> Record:
    """All recipes side by side."""
    tried = {name: f["accuracy"] for name, f in found.items() if name in RECIPES}
    best = max(tried, key=lambda name: tried[name])
    before = next(iter(RECIPES))
    return Record(
        name="transfer_recipes",
        claim="A recipe fine-tunes better than the one before, SGD at .003 with mirrored images",
        source="ours",
        expected="held-out accuracy above that recipe's",
        obtained=dict(found),
        n=images,
        held=best != before,
        sentence=f"{STEPS} steps, held-out accuracy: " + ", ".join(f"{n} {a} %" for n, a in tried.items())
        + f"; the head alone {found['the head alone']['accuracy']} %.",
        seeds=[0],
        scale=f"EfficientNet-Lite0 on PlantDoc at 96 pixels, {STEPS} steps of 32 images, one seed",
        cpu_minutes=round(sum(f.get("seconds", 0) for f in found.values()) / 60, 1),
    )  # fmt: skip


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["train", source, folder, *names]:
            train(Path(source), Path(folder), names or list(RECIPES))
        case ["record", source, folder]:
            settings = read_settings(Path(source))
            job = TransferJob.prepare(TransferRequest.from_record(settings["request"]), ignore)
            record(train(Path(source), Path(folder), list(RECIPES)), len(job.held_out.dataset.splits["valid"])).write()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
