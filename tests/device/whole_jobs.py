"""Whole jobs on the CPU and then on the pretend device, in a process of its own; their numbers are printed as JSON.

    python whole_jobs.py FOLDER JOB [DEVICE]

Each job is as small as it can be and still take all of its steps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import pretend  # before supernetic
import torch
from safetensors.torch import load_file

from supernetic import hardware
from supernetic.commands.derive import derive
from supernetic.commands.rank.command import rank
from supernetic.commands.robustness import robustness
from supernetic.datasets import load
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.subset_training import SubsetTrainingEvaluator
from supernetic.hardware import settle_hardware
from supernetic.jobs.compare import last_training
from supernetic.jobs.finish import train as finish_training
from supernetic.jobs.finish.job import finish
from supernetic.jobs.scale.job import scale
from supernetic.jobs.search import race, teacher
from supernetic.jobs.search.job import SearchJob, search
from supernetic.jobs.search.plan import SearchPlan
from supernetic.jobs.select.job import select
from supernetic.jobs.select.trainings import RECIPE
from supernetic.jobs.train.job import train
from supernetic.jobs.train.prepare import loading_of, prepare_training
from supernetic.lab.job import study
from supernetic.networks.training import training
from supernetic.nn.network import build
from supernetic.proxies import PROXIES
from supernetic.runs.directory import read_records
from supernetic.runs.files import TARGETS
from supernetic.spaces.macro import Macro
from supernetic.training.checkpoint import read
from supernetic.training.recipe import Recipe

hardware.DEVICE_COUNTS[pretend.KIND] = lambda: 1

TINY = "macro:channels=4,resolution=8,head=16"
MACRO = Macro(channels=4, resolution=8, head=16, in_channels=1)
SHORT = Recipe(title="short", length="3 steps", batch_size=16, lr=0.05, augment="shift+flip", ema=0.5, clip_norm=1.0)
SEARCH: dict[str, Any] = {
    "space": TINY, "where": ["macs<=60K"], "steps": 4, "network_steps": 3, "population": 4, "generations": 2, "keep": 1,
    "limit": 300, "workers": 1, "threads": 1, "augment": "light+flip", "retrain": "inherit", "stabiliser": "skip",
}  # fmt: skip
SCALE: dict[str, Any] = {
    "space": TINY, "stages": 1, "extrapolate": 0, "steps": 3, "network_steps": 2, "bases": 1, "rounds": 1,
    "population": 2, "generations": 1, "order": 3, "limit": 300, "workers": 1, "threads": 1,
}  # fmt: skip
STUDY = """
title = "Tiny"
source = "ours"
seeds = [0]
[base]
space = "macro:channels=4,resolution=8,head=16"
limit = 300
recipe = { length = "3 steps", batch_size = 16, lr = 0.1 }
[measure]
kind = "ranking"
truth = "mean_acc"
valid = 20
images = 32
random = 4
sizes = [4]
[grid.stabiliser]
none = {}
identity = { stabiliser = "skip:identity" }
"""


def run_train(device: str, out: Path) -> dict[str, Any]:
    """A supernet in two runs of other seeds, one of them with a snapshot: robustness; rank; derive in both ways."""
    for seed in range(2):
        train(
            TINY, steps=3, limit=300, seed=seed, threads=1, snapshots="50%", device=device, recipe=SHORT,
            out=out / f"run{seed}",
        )  # fmt: skip
    return {f"seed {seed}": _sizes(read(out / f"run{seed}" / "supernet.safetensors")[0]) for seed in range(2)}


def run_robustness(device: str, out: Path) -> dict[str, Any]:
    """Of these two runs."""
    run_train(device, out)
    result = robustness([out / "run0", out / "run1"], n=4, images=32, device=device)
    return {str((m.seed, m.step)): [m.mean, m.best] for m in result.measurements}


def run_rank(device: str, out: Path) -> dict[str, Any]:
    """By a supernet, all proxies, the angle and trainings on a subset."""
    run_train(device, out)
    run = str(out / "run0")
    few: dict[str, Any] = {"sample": 4, "sample_top": 0, "top": (2,), "truth": "mean_acc", "device": device}
    scores = f"{run}+{run}:angle+{'+'.join(PROXIES)}"
    found = rank(f"{TINY},in_channels=1", score=scores, against="subset:size=40,epochs=1", **few).to_json()
    data = load("embedded", limit=300, resolution=8)
    archs = [(0, 1, 2, 0, 1, 2, 0, 1), (2,) * 8]
    proxies = ProxyEvaluator(MACRO, data, tuple(PROXIES), images=8, device=device)(archs)
    recipe = replace(RECIPE, length="1 epoch", batch_size=18)  # BN of two images would make much of roundings
    subset = SubsetTrainingEvaluator(MACRO, data, recipe, 40, hardware=settle_hardware(device))(archs)
    metrics = {str(r["arch"]): r["metrics"] for r in read_records(out / "run0" / "scores.jsonl")}
    return {"scores": metrics, "proxies": proxies, "subset": subset, "n": found["n"], "tau": found["tau"]}


def run_derive(device: str, out: Path) -> dict[str, Any]:
    """With the supernet's weights, and trained further from them."""
    train(TINY, steps=3, limit=300, threads=1, device=device, recipe=SHORT, stabiliser="skip", out=out / "run")
    plain = derive(out / "run", "10210012", retrain="none", device=device, name="plain")
    further = derive(out / "run", "10210012", retrain="inherit", recipe=SHORT, device=device, name="further")
    weights = [_sizes(load_file(Path(r.model) / "model.safetensors")) for r in (plain, further)]
    fold = plain.fold["relative"] < 1e-3 if plain.fold else None
    return {"score": plain.score, "trained": further.trained, "weights": weights, "fold": fold}


def run_search(device: str, out: Path) -> dict[str, Any]:
    """All steps, with a supernet; networks start from its weights."""
    search(**SEARCH, device=device, out=out / "run")
    return {**_networks(out / "run"), "trials": _trials(out / "run"), "device": _device(out / "run")}


def run_race(device: str, out: Path) -> dict[str, Any]:
    """All steps of a search within a time limit, whose clock always says the same: rounds, a teacher, the finish."""
    plan = SearchPlan(
        supernet_steps=0, population=4, generations=3, networks=3, network_steps=0, workers=1, models=1,
        rounds=(0.2, 0.2), sizes=(3, 2), cheaper=0.2, finish=0.2, teacher=0.2, limit=40.0,
    )  # fmt: skip
    SearchJob._plan_work = lambda *_: plan  # type: ignore[method-assign]
    for module in (race, teacher):
        setattr(module, "step_seconds", lambda networks, *_, **__: [0.1] * len(networks))  # noqa: B010
    setattr(race, "later_error", lambda *_, **__: 100.0)  # noqa: B010 - any teacher knows more
    race.Race._pace = lambda *_: 0.1  # type: ignore[method-assign]
    race.Race._left = lambda *_: 0.2  # type: ignore[method-assign]
    last_training.MIN_ROUND_STEPS = 2
    few = {"space": "mixed:channels=4,resolution=8", "where": ["macs<=100K"], "limit": 300, "threads": 1, "workers": 1}
    search(**few, minutes=1, augment="light", device=device, out=out / "run")  # type: ignore[arg-type]
    assert (out / "run" / TARGETS).exists()
    return {**_networks(out / "run"), "trials": _trials(out / "run")}


def run_finish(device: str, out: Path) -> dict[str, Any]:
    """A model that is trained further, tested and written back."""
    few = {"space": "mixed:channels=4,resolution=8", "where": ["macs<=100K"], "limit": 300, "threads": 1, "workers": 1}
    short = {"supernet": "no", "network_steps": 3, "population": 4, "generations": 2, "keep": 1, "evidence": "none"}
    search(**few, **short, augment="light", device=device, out=out / "run")  # type: ignore[arg-type]
    last_training.MIN_ROUND_STEPS = 2
    setattr(finish_training, "step_seconds", lambda *_, **__: [1.0])  # noqa: B010 - the clock always says the same
    finishes = [
        finish(out / "run", "model-1", steps=8, device=device),
        finish(out / "run", "model-1", minutes=0.01, workers=1, device=device),
    ]
    return {
        **_networks(out / "run"),
        "finishes": [[f.replaced, f.steps, dict(f.tried)] for f in finishes],
        "device": _device(out / "run"),
    }


def run_plan(device: str, out: Path) -> dict[str, Any]:
    """What is measured before the first step: whether images may be mirrored, and how fast everything is."""
    few = {"space": TINY, "limit": 300, "threads": 1, "workers": 1, "supernet": "yes", "network_steps": 4}
    found = search(**few, minutes=0.5, device=device, dry_run=True)  # type: ignore[arg-type]
    assert found.planned is not None
    return {"augment": found.planned.plan["augment"], "reason": found.planned.plan["augment_reason"]}


def run_scale(device: str, out: Path) -> dict[str, Any]:
    """All steps."""
    scale(**SCALE, device=device, out=out / "run")
    return {**_networks(out / "run"), "trials": _trials(out / "run")}


def run_select(device: str, out: Path) -> dict[str, Any]:
    """Learning rates, trainings, decision."""
    recipe = out / "short.toml"
    out.mkdir(parents=True, exist_ok=True)
    recipe.write_text('length = "1 epoch"\nbatch_size = 64\noptimiser = "adam"\nsmoothing = 0.999\n')
    select(
        models="logistic,mlp:width=8,depth=1,convnet:width=2,depth=1", sizes="40,80", seeds=1, recipe=recipe, limit=300,
        workers=1, device=device, out=out / "run",
    )  # fmt: skip
    rows = (out / "run" / "trainings.csv").read_text().splitlines()
    return {"trainings": [_numbers(row) for row in rows]}


def run_study(device: str, out: Path) -> dict[str, Any]:
    """Two trainings, measured by how they rank networks."""
    file = out / "tiny.toml"
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(STUDY)
    study(file, device=device, out=out / "study")
    return {"measures": [_numbers(row) for row in (out / "study" / "measures.csv").read_text().splitlines()]}


def run_waits(device: str, out: Path) -> dict[str, Any]:
    """For what the host waits in each training step: of a supernet, and of a network."""
    settled = settle_hardware(device, threads=1)
    prepared = prepare_training(TINY, loading_of("embedded", 300, 0), hardware=settled, recipe=SHORT, steps=3)
    network = build(MACRO.blueprint((0,) * 8), seed=0)
    steps = training(network, 8, prepared.dataset, SHORT, 0, None, settled)
    choosy = prepare_training(
        TINY, loading_of("embedded", 300, 0), hardware=settled, recipe=SHORT, steps=3, sampler="attentive:k=2"
    )
    return {
        "supernet": _waits_of(prepared.steps(None)),
        "network": _waits_of(steps),
        "attentive": _waits_of(choosy.steps(None)),
    }


def _waits_of(steps: Any) -> list[list[str]]:
    found: list[list[str]] = []
    while True:
        with pretend.counted_waits() as waited:
            if next(steps, None) is None:
                return found
        found.append(waited)


def _sizes(weights: Mapping[str, torch.Tensor]) -> dict[str, float]:
    return {name: float(t.double().abs().sum()) for name, t in weights.items()}


def _networks(run: Path) -> dict[str, Any]:
    records = json.loads((run / "networks.json").read_text())
    kept = ("score", "trained", "test", "first_test", "inherited", "steps", "macs")
    models = sorted(p.parent.name for p in run.glob("models/*/model.safetensors"))
    return {"networks": {r["name"]: {k: r.get(k) for k in kept} for r in records}, "models": models}


def _trials(run: Path) -> list[Any]:
    return [[r["arch"], r["metrics"]] for r in read_records(run / "trials.jsonl")]


def _device(run: Path) -> list[str]:
    """The devices that the run and the trainings of its networks record."""
    files = [run / "run.toml", *sorted(run.glob("networks/*/run.toml"))]
    return sorted({line for f in files for line in f.read_text().splitlines() if line.startswith("device")})


def _numbers(row: str) -> list[Any]:
    """The cells of a CSV row, without those that are times or names of files."""
    return [float(cell) if cell.replace(".", "").replace("-", "").isdigit() else cell for cell in row.split(",")]


JOBS: Mapping[str, Callable[[str, Path], dict[str, Any]]] = {
    name.removeprefix("run_"): job for name, job in globals().items() if name.startswith("run_")
}


def main(folder: Path, job: str, devices: tuple[str, ...]) -> None:
    """Run a job on each device."""
    torch.set_num_threads(1)
    found = {}
    for device in devices:
        with pretend.PretendDevice() if device == pretend.KIND else nullcontext():
            found[device] = JOBS[job](device, folder / job / device)
        found[device]["left behind"] = sorted(pretend.left_behind)
    pretend.print_and_leave(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:]) or ("cpu", pretend.KIND))
