"""The same work by ours and by others, in turn, each in an environment of its own.

    python benchmarks/peers/compare.py [nsga2 sampling costs counting step cells] [--attentivenas DIR]

Environments are made once, under `runs/peers/`. Ratios are medians over pairs of rounds, ours and theirs one after the
other, in CPU time with one thread. Every comparison writes `experiments/peers_NAME.toml`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from supernetic import catalog
from supernetic.benchmarks.nasbench201 import load
from supernetic.costs import costs_of
from supernetic.pareto import hypervolume

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
from record import Record  # noqa: E402

PLACE = ROOT / "runs/peers"
TORCH = "torch==2.13.0"
ENVIRONMENTS = {  # what is installed in each
    "pymoo": ["pymoo==0.6.2"],
    "optuna": ["optuna==5.0.0"],
    "attentivenas": [TORCH, "numpy", "pyyaml"],
    "nni": [TORCH, "nni==3.0", "pytorch-lightning", "setuptools<81", "numpy<2"],
    "counters": ["-c", str(ROOT / "constraints.txt"), "fvcore", "ptflops", "thop", "-e", str(ROOT)],
}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SOURCE = "ours: benchmarks/peers/compare.py"
WINDOW = (275e6, 325e6)  # MACs; AttentiveNAS's own discretisation is 25M
RESOLUTIONS, SIDE, BATCH = [96, 112, 128], 128, 8  # of the supernet's step: small, for one thread of a CPU


class Missing(Exception):
    """Something that cannot be had here."""


def python_of(name: str) -> str:
    """The interpreter of an environment, which is made if it is not there."""
    place = PLACE / name
    python = place / "bin/python"
    if not (place / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *ENVIRONMENTS[name]],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Missing(f"{name} could not be installed: {done.stderr.strip().splitlines()[-1]}")
        (place / "made").touch()
    return str(python)


def work(python: str, file: str, *arguments: object, task: Any = None) -> Any:
    """The line of JSON that a file prints, given a task."""
    command = [python, str(HERE / file), *map(str, arguments)]
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, env=environment)
    if done.returncode:
        raise Missing(f"{file} failed in {python}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def spread(ratios: Sequence[float]) -> list[float]:
    """Quartiles."""
    return [round(float(q), 2) for q in np.quantile(ratios, [0.25, 0.75])]


def attentivenas() -> str:
    """The user's copy of AttentiveNAS's repository."""
    place = OPTIONS.attentivenas or os.environ.get("SUPERNETIC_ATTENTIVENAS", "")
    if not place:
        raise Missing("no copy of AttentiveNAS's repository was named (--attentivenas)")
    return str(Path(place).resolve())


# --- comparisons ------------------------------------------------------------------------------------------------------


def nsga2(pairs: int = 3) -> Record:
    """Whole searches of NAS-Bench-201: time, and the hypervolume of what was found."""
    table = load()
    archs = np.array(list(np.ndindex(*[5] * 6)), np.int8)
    values = np.column_stack([-table.lookup(archs, "c10_valid_200"), costs_of(table.space, archs)])
    file = PLACE / "nasbench201.npz"
    PLACE.mkdir(parents=True, exist_ok=True)
    np.savez(file, values=values)
    scale, worst = values.max(axis=0) - values.min(axis=0), values.max(axis=0)

    def volume(points: Any) -> float:
        return float(hypervolume((np.array(points) - worst) / scale + 1, np.ones(2)))

    pythons = {"ours": sys.executable, "pymoo": python_of("pymoo"), "optuna": python_of("optuna")}
    seconds: dict[str, list[float]] = {name: [] for name in pythons}
    volumes: dict[str, list[float]] = {name: [] for name in pythons}
    evaluations: dict[str, list[int]] = {name: [] for name in pythons}
    for seed in range(1, pairs + 1):
        for name, python in pythons.items():
            (one,) = work(python, "nsga2_work.py", name, file, seed)
            seconds[name].append(one["seconds"])
            volumes[name].append(volume(one["points"]))
            evaluations[name].append(len(one["points"]))
    best = volume(values)
    obtained: dict[str, Any] = {}
    for name in ("pymoo", "optuna"):
        ratios = [b / a for a, b in zip(seconds["ours"], seconds[name], strict=True)]
        obtained[f"{name}_time_ratio"] = round(median(ratios), 2)
        obtained[f"{name}_time_ratio_quartiles"] = spread(ratios)
    for name in pythons:
        obtained[f"{name}_seconds"] = round(median(seconds[name]), 4)
        obtained[f"{name}_evaluations"] = median(evaluations[name])
        obtained[f"{name}_hypervolume_share"] = round(median(volumes[name]) / best, 5)
    held = obtained["pymoo_time_ratio"] > 1 and obtained["optuna_time_ratio"] > 1
    return Record(
        name="peers_nsga2",
        claim="NSGA-II of 20 generations of 70 takes less CPU time than pymoo's and Optuna's, on the same table",
        source=SOURCE,
        expected="ratios above 1",
        obtained=obtained,
        n=pairs,
        held=held,
        sentence=(
            f"pymoo takes {obtained['pymoo_time_ratio']} times our time, Optuna {obtained['optuna_time_ratio']} times; "
            f"share of the best hypervolume: ours {obtained['ours_hypervolume_share']}, pymoo "
            f"{obtained['pymoo_hypervolume_share']}, Optuna {obtained['optuna_hypervolume_share']}."
        ),
        seeds=list(range(1, pairs + 1)),
    )


def sampling(pairs: int = 3) -> Record:
    """Architectures of AttentiveNAS's space within a window of MACs: exact drawing against its rejection."""
    python, place = python_of("attentivenas"), attentivenas()
    low, high = WINDOW
    ratios, trials, speeds, builds = [], [], [], []
    for seed in range(pairs):
        task = {"kind": "sampling", "low": low, "high": high, "seed": seed}
        mine = work(sys.executable, "supernetic_work.py", task={**task, "n": 200_000})
        theirs = work(python, "attentive_work.py", place, task={**task, "n": 30})
        ours, other = mine["seconds"] / mine["n"], theirs["seconds"] / theirs["n"]
        ratios.append(other / ours)
        trials.append(theirs["trials"] / theirs["n"])
        speeds.append((ours, other))
        builds.append(mine["build"])
    ours, other = (median(s) for s in zip(*speeds, strict=True))
    obtained: dict[str, Any] = {
        "time_ratio": round(median(ratios)),
        "time_ratio_quartiles": [round(q) for q in spread(ratios)],
        "trials_per_architecture": round(median(trials), 1),
        "our_microseconds": round(1e6 * ours, 3),
        "their_microseconds": round(1e6 * other, 1),
        "our_seconds_to_build": round(median(builds), 2),
        "architectures_until_building_pays": round(median(builds) / (other - ours)),
    }
    return Record(
        name="peers_sampling",
        claim="exact drawing within 275M..325M MACs takes less time than the rejection of AttentiveNAS's own code",
        source=SOURCE,
        expected="a ratio above 1",
        obtained=obtained,
        n=pairs,
        held=obtained["time_ratio"] > 1,
        sentence=(
            f"Rejection needs {obtained['trials_per_architecture']} trials and {obtained['their_microseconds']:,} µs "
            f"for an architecture, ours {obtained['our_microseconds']} µs after {obtained['our_seconds_to_build']} s "
            f"of building a table, which pays from {obtained['architectures_until_building_pays']} architectures on."
        ),
        seeds=list(range(pairs)),
    )


def costs(n: int = 2000) -> Record:
    """MACs of the same architectures by AttentiveNAS's own formula and by ours."""
    python, place = python_of("attentivenas"), attentivenas()
    space = catalog.space("attentive")
    archs = options_of(space, space.sample(np.random.default_rng(0), n))
    ratios, theirs, ours = [], {}, {}
    for _ in range(3):
        task = {"kind": "costs", "archs": archs}
        ours = work(sys.executable, "supernetic_work.py", task=task)
        theirs = work(python, "attentive_work.py", place, task=task)
        ratios.append(theirs["seconds"] / ours["seconds"])
    differences = np.array(theirs["macs"]) / np.array(ours["macs"]) - 1
    obtained: dict[str, Any] = {
        "time_ratio": round(median(ratios)),
        "largest_relative_difference": float(f"{np.abs(differences).max():.2g}"),
        "mean_relative_difference": float(f"{differences.mean():.2g}"),
    }
    return Record(
        name="peers_costs",
        claim="AttentiveNAS's own code counts the same MACs, and takes longer",
        source=SOURCE,
        expected={"largest_relative_difference": 0.01, "time_ratio": "above 1"},
        obtained=obtained,
        n=n,
        held=obtained["largest_relative_difference"] <= 0.01 and obtained["time_ratio"] > 1,
        sentence=(
            f"Counts of {n:,} architectures differ by at most {100 * obtained['largest_relative_difference']:.2g} %; "
            f"their code takes {obtained['time_ratio']:,} times as long, one architecture at a time."
        ),
    )


def counting(n: int = 6) -> Record:
    """MACs of the same networks by fvcore, ptflops, thop and torch."""
    found = work(python_of("counters"), "counting_work.py", attentivenas(), n, 0)
    ours = found.pop("ours")
    obtained: dict[str, Any] = {"our_ms": round(1e3 * median(ours["seconds"]), 2)}
    for name, other in found.items():
        ratios = [b / a for a, b in zip(ours["seconds"], other["seconds"], strict=True)]
        differences = np.array(other["macs"]) / np.array(ours["macs"]) - 1
        obtained[name] = {
            "time_ratio": round(median(ratios)),
            "least_difference": float(f"{differences.min():.2g}"),
            "largest_difference": float(f"{differences.max():.2g}"),
        }
    text = "; ".join(
        f"{name} takes {o['time_ratio']:,} times as long and differs by {100 * o['least_difference']:+.2g} to "
        f"{100 * o['largest_difference']:+.2g} %"
        for name, o in obtained.items()
        if isinstance(o, dict)
    )
    return Record(
        name="peers_counting",
        claim="counting from a blueprint is faster than running the network, and agrees with torch's own counter",
        source=SOURCE,
        expected={"torch": "no difference", "time_ratio": "above 1"},
        obtained=obtained,
        n=n,
        held=obtained["torch"]["least_difference"] == obtained["torch"]["largest_difference"] == 0
        and all(o["time_ratio"] > 1 for o in obtained.values() if isinstance(o, dict)),
        sentence=f"On {n} architectures of AttentiveNAS's space: {text}.",
    )


def step(rounds: int = 1, steps: int = 3) -> Record:
    """An update of AttentiveNAS's supernet by the sandwich rule, on the same four networks."""
    python, place = python_of("attentivenas"), attentivenas()
    space: Any = catalog.space("attentive:resolutions=" + "+".join(map(str, RESOLUTIONS)))
    middle = space.sample(np.random.default_rng(0), 2)
    largest = np.array([space.radices - 1], np.int8)
    archs = options_of(space, np.concatenate([largest, middle, np.zeros_like(largest)]))
    task = {"kind": "step", "resolutions": RESOLUTIONS, "batch": BATCH, "side": SIDE, "steps": steps, "archs": archs}
    pair = lambda: (  # noqa: E731
        work(sys.executable, "supernetic_work.py", task=task),
        work(python, "attentive_work.py", place, task=task),
    )
    return steps_record(
        "peers_step",
        "an update of the supernet of AttentiveNAS by the sandwich rule takes no longer than in its own code",
        "AttentiveNAS's own code",
        pair,
        rounds,
        f"Four networks of {BATCH} images at up to {SIDE} pixels",
    )


def cells(rounds: int = 1, steps: int = 8) -> Record:
    """A single-path update of a supernet of NAS-Bench-201, on the same cells, against NNI's one-shot."""
    python = python_of("nni")
    archs = catalog.space("nasbench201").sample(np.random.default_rng(0), steps).tolist()
    task = {"kind": "cells", "archs": archs, "batch": 64, "steps": steps}
    pair = lambda: (work(sys.executable, "supernetic_work.py", task=task), work(python, "nni_work.py", task=task))  # noqa: E731
    return steps_record(
        "peers_cells",
        "a single-path update of a supernet of NAS-Bench-201 takes no longer than with NNI's one-shot",
        "NNI 3.0",
        pair,
        rounds,
        f"{steps} cells, one after the other, 64 images each",
    )


def steps_record(
    name: str, claim: str, peer: str, pair: Callable[[], tuple[Any, Any]], rounds: int, what: str
) -> Record:
    """The record of updates that took turns."""
    ratios: list[float] = []
    ours: list[float] = []
    theirs: list[float] = []
    parameters = (0, 0)
    for _ in range(rounds):
        mine, other = pair()
        ratios += [b / a for a, b in zip(mine["seconds"], other["seconds"], strict=True)]
        ours, theirs = [*ours, *mine["seconds"]], [*theirs, *other["seconds"]]
        parameters = mine["parameters"], other["parameters"]
    obtained: dict[str, Any] = {
        "time_ratio": round(median(ratios), 2),
        "time_ratio_quartiles": spread(ratios),
        "our_seconds": round(median(ours), 3),
        "their_seconds": round(median(theirs), 3),
        "our_parameters": parameters[0],
        "their_parameters": parameters[1],
    }
    return Record(
        name=name,
        claim=claim,
        source=SOURCE,
        expected="a ratio of 1 or more",
        obtained=obtained,
        n=len(ratios),
        held=obtained["time_ratio"] >= 1,
        sentence=(
            f"{what}: {peer} takes {obtained['time_ratio']} times our time, {obtained['their_seconds']} s against "
            f"{obtained['our_seconds']} s an update with one thread."
        ),
    )


def options_of(space: Any, archs: Any) -> list[list[int]]:
    """The options taken at each choice, in place of their numbers."""
    return [[c.options[g] for c, g in zip(space.choices, arch, strict=True)] for arch in archs.tolist()]


COMPARISONS = {
    "nsga2": nsga2,
    "sampling": sampling,
    "costs": costs,
    "counting": counting,
    "step": step,
    "cells": cells,
}
OPTIONS: Any = None


def main() -> None:
    global OPTIONS
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*COMPARISONS, []])
    parser.add_argument("--attentivenas", default="")
    OPTIONS = parser.parse_args()
    for name in OPTIONS.names or COMPARISONS:
        before = cpu_seconds()
        try:
            record = COMPARISONS[name]()
        except Missing as error:
            print(f"{name}: left out: {error}")
            continue
        record.cpu_minutes = round((cpu_seconds() - before) / 60, 2)
        record.write()


def cpu_seconds() -> float:
    """Of this process and the ones that it started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
