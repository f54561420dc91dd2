"""Do small subsets rank models as all the data do? `python experiments/selection.py [names]`.

Writes one `selection_*.toml` per claim beside this file; runs are kept in `runs/selection-NAME` and resumed there. A
name may say how many minutes its run is fitted into: `cifar10=120`. CIFAR-10 and Fashion-MNIST are looked for where
`SUPERNETIC_DATA` says, by default in `../shared/data`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import numpy as np
from record import Record

import supernetic
from supernetic import catalog
from supernetic.benchmarks import nasbench201
from supernetic.datasets import load
from supernetic.evaluators.subset_training import SubsetTrainingEvaluator
from supernetic.jobs.select.trainings import RECIPE, recipe_for
from supernetic.ranking.correlation import count_pairs
from supernetic.runs.directory import TIMINGS, read_records

MODELS = "logistic,mlp:depth=1+3,convnet,resnet,inception,s3ta,nb101-1"
SMALL = "250,500,1000,2000,4000"  # images; the question is what these sizes tell
CLAIM = "on small subsets the ranking by calibrated cross-entropy is closer to the last one than that by error rate"
CELLS, SIZE = 20, 1000


def claim_of(name: str, data: str, minutes: float, **settings: Any) -> Record:
    """The claim of "Small data, big decisions", section 2, on one data set: taus of both rankings by subset size."""
    out = Path("runs") / f"selection-{name}"
    result = supernetic.select(
        data, minutes=minutes, out=out, on_event=lambda event: print(event, file=sys.stderr), **settings
    )
    record = json.loads((out / "select.json").read_text())
    own = next(c for c in record["contests"] if c["target"] == "own")
    obtained: dict[str, Any] = {
        c["target"]: {k: c[k] if k == "verdict" else round(c[k], 3) for k in ("value", "low", "high", "verdict")}
        for c in record["contests"]
    }
    for a in record["agreements"]:
        against = "" if a["metric"] == a["target"] else "_against_error"
        numbers = {k: round(a[k], 3) for k in ("tau", "low", "high", "sure")} | {"same_best": a["top"]}
        obtained.setdefault(a["metric"] + against, {})[str(a["size"])] = numbers
    obtained["decision"] = list(result.sentences)
    obtained["bits_per_label"] = {
        x["model"]: round(x["total"] / x["labels"] / np.log(2), 3) for x in record["decision"]["lengths"]
    }
    taus = {
        metric: ", ".join(f"{a['tau']:.2f}" for a in record["agreements"] if a["metric"] == a["target"] == metric)
        for metric in ("calibrated_cross_entropy", "error")
    }
    seconds = sum(r["seconds"] for f in out.glob(f"trainings/*/{TIMINGS}") for r in read_records(f))
    return Record(
        f"selection_{name}",
        CLAIM,
        "Small data, big decisions, section 2",
        {"tau of calibrated cross-entropy minus tau of error rate": "above 0"},
        obtained,
        len(result.models),
        own["verdict"] == "closer",
        f"tau at {', '.join(map(str, result.sizes[:-1]))} images: {taus['calibrated_cross_entropy']} by calibrated "
        f"cross-entropy, {taus['error']} by error rate; {own['value']:+.3f} [{own['low']:+.3f}, {own['high']:+.3f}] on "
        f"average: {own['verdict']}. {result.sentences[0]}",
        interval=[round(own["low"], 3), round(own["high"], 3)],
        spread="95 % of draws of seeds and test images, for these models",
        seeds=list(range(max(result.seeds))),
        scale=f"{', '.join(result.models)}; {', '.join(map(str, result.sizes))} images with "
        f"{', '.join(map(str, result.seeds))} seeds; {'; '.join(result.notes) or 'nothing given up'}",
        cpu_minutes=round(seconds / 60, 1),
    )


def cells_of_nb201(minutes: float) -> Record:
    """Random cells in a CPU size, trained on 1,000 images of CIFAR-10, against the table's accuracies."""
    table = nasbench201.load()
    rows = np.random.default_rng(0).choice(len(table), CELLS, replace=False)
    space = catalog.space("nasbench201:cells=1,channels=8")
    recipe = replace(recipe_for(RECIPE, SIZE), title="", source="")
    before = getrusage(RUSAGE_CHILDREN).ru_utime  # workers do the work
    evaluate = SubsetTrainingEvaluator(space, load("cifar10"), recipe, SIZE, seeds=2, workers=2)
    found = evaluate([tuple(map(int, table.archs[r])) for r in rows])
    truth = table["c10_test_200"].values[rows]
    obtained: dict[str, Any] = {}
    for metric in evaluate.metrics:
        sign = 1 if metric.endswith("accuracy") else -1
        pairs = count_pairs([sign * m[metric] for m in found], truth)
        obtained[metric] = {"tau": round(pairs.tau(), 3), "interval": [round(v, 3) for v in pairs.interval()]}
    first = obtained["valid/calibrated_cross_entropy"]
    return Record(
        "selection_nb201",
        "calibrated cross-entropy on 1,000 images ranks NAS-Bench-201 cells as the table does",
        "Small data, big decisions; c10_test_200",
        "tau above 0",
        obtained,
        CELLS,
        first["interval"][0] > 0,
        "; ".join(f"{m.partition('/')[2]}: tau {o['tau']:+.2f} {o['interval']}" for m, o in obtained.items()) + ".",
        interval=first["interval"],
        spread="jackknife over the cells",
        seeds=[0, 1],
        scale=f"{CELLS} random cells, one per stage of 8 channels, 2 subsets of {SIZE} images each",
        cpu_minutes=round((getrusage(RUSAGE_CHILDREN).ru_utime - before) / 60, 1),
    )


larger = partial(claim_of, models=MODELS)
JOBS: dict[str, Any] = {  # and the minutes that each is fitted into, unless given otherwise
    "embedded": (partial(claim_of, "embedded", "embedded", sizes=SMALL), 8),
    "fashion_mnist": (partial(larger, "fashion_mnist", "fashion-mnist", sizes=f"{SMALL},60000"), 90),
    "cifar10": (partial(larger, "cifar10", "cifar10", sizes=f"{SMALL},10000"), 60),
    "nb201": (cells_of_nb201, 15),
}


def main() -> None:
    """All of them, or those named."""
    os.environ.setdefault("SUPERNETIC_DATA", "../shared/data")
    for text in sys.argv[1:] or JOBS:
        name, _, minutes = text.partition("=")
        job, usual = JOBS[name]
        job(minutes=float(minutes or usual)).write()


if __name__ == "__main__":
    main()
