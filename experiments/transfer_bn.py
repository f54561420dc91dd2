"""Short fine-tunings of EfficientNet-Lite0 on PlantDoc: whose statistics should BN have?

    python experiments/transfer_bn.py RUN FOLDER      RUN: a finished transfer at 96 pixels, whose head is the start
                                                      FOLDER: keeps the trainings; it goes on where it was interrupted

24 steps of 32 images from the head that was fitted to four fifths of the training images, mirrored at random;
accuracies are on the other fifth. About 20 CPU-seconds each.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from record import Record

from supernetic.jobs.transfer.job import TransferJob
from supernetic.jobs.transfer.plan import TransferPlan
from supernetic.jobs.transfer.request import TransferRequest
from supernetic.jobs.transfer.train import ACCURACY, Trainings
from supernetic.networks.heads import read_head
from supernetic.progress import ignore
from supernetic.runs.directory import open_run, read_settings

STEPS, DECAY = 24, 1e-5
TRIED = ((True, 0.01), (True, 0.003), (True, 0.001), (False, 0.003))  # whether statistics are fixed, learning rate


def record(source: Path, folder: Path) -> Record:
    """Train what is not trained yet."""
    settings = read_settings(source)
    job = TransferJob.prepare(TransferRequest.from_record(settings["request"]), ignore)
    plan = replace(TransferPlan.from_settings(settings["plan"]), trial_steps=STEPS)
    found = {}
    with open_run(folder, {"experiment": "transfer_bn"}) as run:
        shutil.copy(source / "head.json", run.path / "head.json")
        shutil.copytree(source / "starts", run.path / "starts", dirs_exist_ok=True)
        head = read_head(run)["best"][ACCURACY]
        for fixed, rate in TRIED:
            recipe = replace(job.held_out.recipe, augment="flip", fixed_bn=fixed)
            trainings = Trainings(
                job.blueprint, replace(job.held_out, recipe=recipe), job.whole, plan, None, ignore
            )  # fmt: skip
            (trial,) = trainings._try(run, [(rate, DECAY)])
            found[f"{'fixed' if fixed else 'batch'} {rate:g}"] = round(trial[ACCURACY] or 0.0, 1)
    images = len(job.held_out.dataset.splits["valid"])
    return Record(
        name="transfer_bn",
        claim="A short fine-tuning from a fitted head must keep the statistics of BN",
        source="ours",
        expected="fixed statistics above those of each batch at the same rate",
        obtained={"head": round(head, 1), **found},
        n=images,
        held=found["fixed 0.003"] > found["batch 0.003"],
        sentence=f"{STEPS} steps at a rate of 0.003: {found['fixed 0.003']} % of {images} held-out images with fixed "
        f"statistics, {found['batch 0.003']} % with those of each batch; the head alone has {head:.1f} %.",
        seeds=[0],
        scale="EfficientNet-Lite0 at 96 pixels, one seed, no more than 24 steps",
        cpu_minutes=round(len(TRIED) * 0.4, 1),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case [source, folder]:
            record(Path(source), Path(folder)).write()
        case _:
            sys.exit(__doc__)
