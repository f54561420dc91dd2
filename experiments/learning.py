"""Which setting decides whether a tiny supernet learns? Judged by training loss and predicted accuracy alone.

    python experiments/learning.py train nasbench201 base "1 cell" ...   trains and scores, resumable; all by default
    python experiments/learning.py train macro
    python experiments/learning.py long nasbench201 12                   the recipe that learns, for 12 CPU-minutes
    python experiments/learning.py record                                writes learning_*.toml from what is there

Every setting changes one thing of the reduced studies' recipe and has the same processor time: its number of steps
follows from a few that are timed first. The predicted accuracy is the mean over random networks, on validation images.
No column of a benchmark is read but by `long`, which asks at the end whether the longer supernet orders random cells.
Runs go to `runs/learning/`. Needs CIFAR-10 (`supernetic data get cifar10`, or the sheets in `../shared/data`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from record import HERE, Record

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.datasets.augment import parse
from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import Dataset
from supernetic.datasets.loading import load
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.ranking.correlation import count_pairs
from supernetic.runs.directory import append_records, open_run, read_records
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet
from supernetic.training.loop import Progress, fit
from supernetic.training.recipe import Recipe, recipe

RUNS = Path("runs/learning")
SECONDS = 80  # of one thread, for each training
LONG_MINUTES = 4, 5, 12, 15  # of the longer trainings that a record looks for
ENOUGH = 0.3  # tau over random networks, before a supernet's order is taken as evidence
WARM_STEPS, TIMED_STEPS = 3, 12
LAST = 0.1  # the share of the steps whose mean loss is the training loss at the end
NETWORKS, LONG_NETWORKS, IMAGES = 200, 500, 500
FULL_SIZE = 32  # pixels of CIFAR-10, from which images of spaces with several resolutions are made
METRICS = ("valid/accuracy", "valid/cross_entropy")

FAIR = {"name": "strict_fair", "fresh_batch": True}
BASES: Mapping[str, tuple[str, dict[str, Any], dict[str, Any]]] = {  # space, its settings, the recipe
    "nasbench201": (
        "nasbench201",
        {"cells": 2, "channels": 8, "resolution": 16},
        {"batch_size": 64, "augment": "shift+flip", "lr": 0.1, "weight_decay": 3e-4, "sampler": FAIR},
    ),
    "macro": (
        "macro",
        {"channels": 8, "resolution": 16, "head": 160},
        {"batch_size": 64, "augment": "shift+flip", "lr": 0.1, "weight_decay": 3e-4, "sampler": "strict_fair"},
    ),
    "attentive": (
        "attentive",
        {"resolutions": 16, "width": 0.25, "classes": 10},
        {
            "batch_size": 64, "augment": "shift+flip", "lr": 0.05, "nesterov": True, "weight_decay": 1e-5,
            "warmup": "10%", "label_smoothing": 0.1, "dropout": 0.2, "drop_connect": 0.2, "clip_value": 1.0,
            "sampler": {"name": "sandwich", "n": 2},
        },
    ),
    "scalenet": (
        "scalenet",
        {"resolution": 16, "width": 0.25, "classes": 10},
        {
            "batch_size": 64, "augment": "shift+flip", "lr": 0.05, "nesterov": True, "weight_decay": 4e-5,
            "warmup": "10%", "label_smoothing": 0.1, "clip_norm": 5.0,
            "sampler": {"name": "hierarchical", "prior": "uniform"},
        },
    ),
}  # fmt: skip
UNREGULARISED = {"dropout": 0.0, "drop_connect": 0.0, "label_smoothing": 0.0}
TRUTH = {"nasbench201": "c10_valid_200", "macro": "mean_acc"}
TOGETHER = {"initial_weights": "torch", "lr": 0.3}
# By name: what changes in the space, and what in the recipe.
SETTINGS: Mapping[str, Mapping[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "nasbench201": {
        "base": ({}, {}),
        "1 cell": ({"cells": 1}, {}),
        "lr .03": ({}, {"lr": 0.03}),
        "lr .3": ({}, {"lr": 0.3}),
        "batch 32": ({}, {"batch_size": 32}),
        "batch 128": ({}, {"batch_size": 128}),
        "torch weights": ({}, {"initial_weights": "torch"}),
        "8 pixels": ({"resolution": 8}, {}),
        "16 channels": ({"channels": 16}, {}),
        "constant lr": ({}, {"schedule": "constant"}),
        "warm-up": ({}, {"warmup": "10%"}),
        "clip at 1": ({}, {"clip_norm": 1.0}),
        "sum of paths": ({}, {"sampler": {**FAIR, "reduction": "sum"}}),
        "one batch for all paths": ({}, {"sampler": "strict_fair"}),
        "uniform paths": ({}, {"sampler": "uniform"}),
        "together": ({"cells": 1}, TOGETHER),
        "together, lr .1": ({"cells": 1}, {"initial_weights": "torch"}),
    },
    "macro": {
        "base": ({}, {}),
        "lr .3": ({}, {"lr": 0.3}),
        "batch 32": ({}, {"batch_size": 32}),
        "torch weights": ({}, {"initial_weights": "torch"}),
        "uniform paths": ({}, {"sampler": "uniform"}),
        "together": ({}, TOGETHER),
    },
}
LIGHT = {"augment": "light+flip"}
ADAM = {"optimiser": "adam", "smoothing": 0.999, "lr": 0.002, "nesterov": False, "weight_decay": 0.0, "clip_value": 0.0}
SECOND: Mapping[str, Mapping[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "nasbench201": {
        "first recipe": ({}, {}),
        "together": ({"cells": 1}, TOGETHER),
        "together, flips alone": ({"cells": 1}, {**TOGETHER, "augment": "flip"}),
        "together, light shifts": ({"cells": 1}, TOGETHER | LIGHT),
        "together, no augmentation": ({"cells": 1}, {**TOGETHER, "augment": "none"}),
        "together, light shifts, lr .1": ({"cells": 1}, TOGETHER | LIGHT | {"lr": 0.1}),
        "together, light shifts, 2 cells": ({}, TOGETHER | LIGHT),
    },
    "macro": {
        "together": ({}, TOGETHER),
        "together, flips alone": ({}, {**TOGETHER, "augment": "flip"}),
        "together, light shifts": ({}, TOGETHER | LIGHT),
    },
    "attentive": {
        "first recipe": ({}, {}),
        "light shifts, no regularisation": ({}, LIGHT | UNREGULARISED),
        "light shifts, no regularisation, lr .2": ({}, LIGHT | UNREGULARISED | {"lr": 0.2}),
        "light shifts, no regularisation, Adam": ({}, LIGHT | UNREGULARISED | ADAM),
    },
    "scalenet": {
        "first recipe": ({}, {}),
        "light shifts": ({}, LIGHT),
        "light shifts, no smoothing, Adam": ({}, LIGHT | ADAM | {"label_smoothing": 0.0}),
        "light shifts, no smoothing, Adam, options start alike": (
            {}, LIGHT | ADAM | {"label_smoothing": 0.0, "initial_weights": "alike"}
        ),
    },
}  # fmt: skip
IMAGES_ROUND = "learning_images"  # what the second round is called in the records
CHOSEN = {"nasbench201": "together, light shifts", "macro": "together, light shifts"}  # for the longer training


def setting_of(name: str, label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What changes in the space and in the recipe."""
    return {**SETTINGS.get(name, {}), **SECOND[name]}[label]


def data(resolution: int) -> Dataset:
    """CIFAR-10 from wherever it is: 45,000 images to train on, 5,000 to validate on."""
    sheets = HERE.parents[1] / "shared/data/cifar10"
    return load(sheets if sheets.exists() else "cifar10", resolution=resolution, calibrate=0)


def few(images: Dataset, n: int) -> Dataset:
    """The same with `n` random validation images; the others are put aside."""
    rows = np.random.default_rng(0).permutation(images.splits["valid"])
    kept, rest = np.sort(rows[:n]), np.sort(rows[n:])
    return replace(images, splits={**images.splits, "valid": kept, "calibrate": rest})


def supernet_of(space: str, plan: Recipe) -> Supernet:
    """An untrained supernet with the recipe's first weights, as `train` makes it."""
    shared = catalog.space(space)
    return Supernet(shared, seed=0, zero_residual=shared.sharing == "elastic", weights=plan.initial_weights)


def steps_of(space: str, plan: Recipe, images: Dataset) -> Iterator[Progress]:
    """A training without a record, to be timed."""
    batches = Batches(images, "train", plan.batch_size, 0, parse(plan.augment))
    assert plan.sampler is not None
    return fit(supernet_of(space, plan), batches, plan.sampler, plan)


def planned(path: Path, space: str, table: Mapping[str, Any], images: Dataset, seconds: float) -> Recipe:
    """The recipe with so many steps as take `seconds`, timed once and kept."""
    file = path.with_name(f"{path.name}.plan.json")
    if not file.exists():
        warmup = table.get("warmup")
        endless = recipe({**table, "length": "1000000 steps", **({"warmup": "0 steps"} if warmup else {})})
        steps = steps_of(space, endless, images)
        for _ in islice(steps, WARM_STEPS):
            pass
        began = process_time()
        for _ in islice(steps, TIMED_STEPS):
            pass
        n = max(20, round(seconds * TIMED_STEPS / (process_time() - began)))
        length = {"length": f"{n} steps", **({"warmup": f"{n // 10} steps"} if warmup else {})}
        path.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"space": space, "recipe": {**table, **length}}))
    return recipe(json.loads(file.read_text())["recipe"])


def text_of(space: str, settings: Mapping[str, Any]) -> str:
    """A space and its settings."""
    return f"{space}:" + ",".join(f"{k}={v}" for k, v in settings.items())


def train(path: Path, name: str, space_change: dict[str, Any], change: dict[str, Any], seconds: float, n: int) -> None:
    """Train one setting as far as it still needs to be, and score random networks with it."""
    if (path / "scores.json").exists():
        return
    base, settings, table = BASES[name]
    settings = {**settings, **space_change}
    space = text_of(base, settings)
    images = few(data(int(settings.get("resolution", FULL_SIZE))), IMAGES)
    plan = planned(path, space, {**table, **change}, images, seconds)
    supernet = supernet_of(space, plan)
    batches = Batches(images, "train", plan.batch_size, 0, parse(plan.augment))
    began = process_time()
    spent = path.with_name(f"{path.name}.cpu.jsonl")  # a line for every piece, where the training was interrupted
    try:
        with open_run(path, {"space": space, "recipe": plan.settings(), "seed": 0}) as run:
            for p in fit(supernet, batches, plan.sampler, plan, run, log_every=10, checkpoint_every=200):
                if p.step % 200 == 0:
                    print(f"{path.name} {p.step}/{p.steps} loss {p.loss:.3f}", flush=True)
    finally:
        append_records(spent, [{"cpu_seconds": round(process_time() - began, 1)}])
    trained = sum(r["cpu_seconds"] for r in read_records(spent))
    began = process_time()
    archs, truth = networks(name, n)
    answers = SupernetEvaluator(supernet.eval(), images, METRICS, bn="batch")(archs)
    losses = [r["loss"] for r in read_records(path / "metrics.jsonl")]
    found = {
        "steps": int(plan.length.split()[0]),
        "planned_seconds": seconds,
        "cpu_seconds": round(trained, 1),
        "scoring_seconds": round(process_time() - began, 1),
        "loss": round(float(np.mean(losses[-max(1, round(LAST * len(losses))) :])), 4),
        **{m.removeprefix("valid/"): [a[m] for a in answers] for m in METRICS},
        "truth": truth,
        "macs": costs_of(supernet.space, np.array(archs, dtype=np.int8)).tolist(),
    }
    (path / "scores.json").write_text(json.dumps(found))
    accuracy, entropy = np.array(found["accuracy"]), np.array(found["cross_entropy"])
    print(f"{path.name}: loss {found['loss']:.3f}, accuracy {accuracy.mean():.2f}, cross-entropy {entropy.mean():.3f}, "
          f"{found['steps']} steps, {trained:.0f} + {found['scoring_seconds']:.0f} s", flush=True)  # fmt: skip


def networks(name: str, n: int) -> tuple[list[Arch], list[float]]:
    """Random networks of a space, and the truth where there is a benchmark; only the longer training looks at it."""
    if name not in TRUTH:
        space = catalog.space(text_of(*BASES[name][:2]))
        return [tuple(a) for a in space.sample(np.random.default_rng(0), n).tolist()], []
    table = catalog.table(name).unique() if name == "macro" else catalog.table(name)
    rows = np.random.default_rng(0).permutation(len(table))[:n]
    return [tuple(a) for a in table.archs[rows].tolist()], table[TRUTH[name]].values[rows].tolist()


def found(path: Path) -> dict[str, Any] | None:
    """What a training left."""
    file = path / "scores.json"
    return json.loads(file.read_text()) if file.exists() else None


def summary(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Of one setting: the training loss at the end, and the mean predicted accuracy and cross-entropy."""
    means = {m: round(float(np.mean(scores[m])), 3) for m in ("accuracy", "cross_entropy")}
    return {k: scores[k] for k in ("steps", "loss")} | means


def long_path(name: str, minutes: float) -> Path:
    """Where a longer training of the chosen setting is."""
    return RUNS / name / f"{CHOSEN[name]} for {minutes:g} minutes"


def taus_of(scores: Mapping[str, Any]) -> dict[str, list[float]]:
    """By score: tau with the truth, and its interval."""
    truth, taus = np.array(scores["truth"]), {}
    for score, sign in (("cross_entropy", -1), ("accuracy", 1), ("macs", 1)):
        pairs = count_pairs(sign * np.array(scores[score], dtype=float), truth)
        taus[score] = [round(float(v), 3) for v in (pairs.tau(), *pairs.interval())]
    return taus


def record(name: str, settings: Mapping[str, Any], label: str, base: str) -> None:
    """One record per space and round, from the settings that were trained."""
    trained = {s: f for s in settings if (f := found(RUNS / name / s))}
    if base not in trained or len(trained) < 2:
        return
    obtained: dict[str, Any] = {s: summary(f) for s, f in trained.items()}
    # Augmented images are harder, so rounds that change the augmentation are judged by validation images.
    worth = {s: o["cross_entropy"] if label == IMAGES_ROUND else o["loss"] for s, o in obtained.items()}
    best = min(worth, key=lambda s: worth[s])
    what = "Cross-entropy of validation images" if label == IMAGES_ROUND else "Training loss"
    seconds = sum(SECONDS + f["scoring_seconds"] for f in trained.values())
    sentence = (
        f"{what} after {SECONDS} CPU-seconds: "
        + ", ".join(f"{s} {x:.3f}" for s, x in sorted(worth.items(), key=lambda item: item[1]))
        + f"; predicted accuracy {obtained[base]['accuracy']:.1f} % with {base}, "
        f"{obtained[best]['accuracy']:.1f} % with {best}."
    )
    Record(
        f"{label}_{name}",
        "one setting of the reduced recipe decides whether a supernet learns",
        "ours: loss and predicted accuracy at equal processor time, no truth",
        f"{what.lower()} with one change at least .1 below that of {base}",
        obtained,
        n=len(trained),
        held=worth[best] < worth[base] - 0.1,
        sentence=sentence,
        spread="one training each",
        seeds=[0],
        scale=f"{text_of(*BASES[name][:2])}, CIFAR-10, {SECONDS} CPU-seconds of one thread each, by timing some steps "
        f"first; {NETWORKS} random networks on {IMAGES} validation images, batch statistics",
        cpu_minutes=round(seconds / 60, 1),
    ).write()


def record_longer(name: str) -> None:
    """Whether the chosen setting orders random networks once it is trained for longer."""
    trained = {m: f for m in LONG_MINUTES if (f := found(long_path(name, m)))}
    if not trained:
        return
    obtained: dict[str, Any] = {f"{m} minutes": summary(f) | {"tau": taus_of(f)} for m, f in trained.items()}
    sentence = " ".join(
        f"After {minutes}: loss {o['loss']:.3f}, accuracy {o['accuracy']:.1f} %, "
        + ", ".join(f"tau {tau[0]:.3f} by {score}" for score, tau in o["tau"].items())
        + "."
        for minutes, o in obtained.items()
    )
    last = obtained[f"{max(trained)} minutes"]["tau"]["cross_entropy"][0]
    Record(
        f"learning_longer_{name}",
        "the recipe that learns best orders random networks within 15 CPU-minutes",
        "ours",
        f"tau by cross-entropy above {ENOUGH}",
        obtained,
        n=LONG_NETWORKS,
        held=last > ENOUGH,
        sentence=sentence,
        spread="[tau, low, high], 95 % by jackknife over networks",
        seeds=[0],
        scale=f"{text_of(*BASES[name][:2])} with the changes of {CHOSEN[name]!r}, CIFAR-10, one thread; "
        f"{LONG_NETWORKS} random networks on {IMAGES} validation images, batch statistics, against {TRUTH[name]}",
        cpu_minutes=round(sum(m + f["scoring_seconds"] / 60 for m, f in trained.items()), 1),
    ).write()


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["train", name, *named]:
            for setting in named or {**SETTINGS.get(name, {}), **SECOND[name]}:
                train(RUNS / name / setting, name, *setting_of(name, setting), SECONDS, NETWORKS)
        case ["long", name, minutes]:
            change = setting_of(name, CHOSEN[name])
            train(long_path(name, float(minutes)), name, *change, 60 * float(minutes), LONG_NETWORKS)
        case ["record"]:
            for name in BASES:
                record(name, SETTINGS.get(name, {}), "learning", "base")
                record(name, SECOND[name], IMAGES_ROUND, next(iter(SECOND[name])))
                if name in CHOSEN:
                    record_longer(name)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
