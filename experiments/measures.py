"""What is each part of a search worth? The same search, without one part of it or with another one in its place.

    python experiments/measures.py [NAME ...]    searches what measures.toml does not have yet, and adds it there

CIFAR-10, at most 3 M MACs, five minutes on all processors. Each search is the command that a user would type, with its
settings in a file. They share nothing, and nothing else should run on the machine. Validation images compare; the test
accuracy is printed beside them and decides nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from record import HERE, Record

from supernetic.ranking.trust import wilson
from supernetic.runs.directory import read_records

RUNS, NAME = Path("runs/measures"), "measures"
MINUTES, VALID_IMAGES = 5, 5000
SEARCH: dict[str, Any] = {"data": "cifar10", "where": ["macs<=3M"], "minutes": MINUTES, "seed": 0}
DEFAULT = "as it is"
OLD_RECIPE = {  # of finished networks, until short trainings were looked at
    "length": "30 epochs", "batch_size": 128, "augment": "flip", "lr": 0.2, "nesterov": True, "weight_decay": 5e-4,
    "schedule": "cosine", "warmup": "2 epochs", "label_smoothing": 0.1, "clip_norm": 5.0,
}  # fmt: skip
CHANGES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "a supernet of the whole space, whose weights networks start from": {
        "supernet": "yes",
        "retrain": "inherit",
        "sampler": "sandwich",
    },
    "a supernet within the limit, whose weights networks start from": {"supernet": "yes", "retrain": "inherit"},
    "a supernet within the limit, and networks from scratch": {"supernet": "yes", "retrain": "scratch"},
    "controls trained to the end": {"evidence": "full"},
    "the space of NAS-Bench-Macro": {"space": "macro:channels=6"},
    "the recipe of before": {"retrain_recipe": OLD_RECIPE},
}


def search(name: str) -> dict[str, Any]:
    """The recommended model of one search."""
    directory = RUNS / name.replace(" ", "-").replace(",", "")
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "search.toml"
    file.write_text(tomli_w.dumps(SEARCH | CHANGES[name]))
    command = [sys.executable, "-m", "supernetic.cli", "search", str(file), "--out", str(directory / "run"), "--json"]
    with (directory / "progress.txt").open("w") as progress:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=progress, text=True, check=True)
    model = next(n for n in json.loads(done.stdout)["networks"] if n.get("recommended"))
    inherited = model.get("weights") == "inherited"
    timings = [r for r in read_records(directory / "run" / "timings.jsonl") if "task" in r and "step" not in r]
    return {
        "network": model["label"],
        "steps": model["steps"] or 0,
        "weights": model.get("weights", ""),
        "valid_accuracy": round(float((model["trained"] or model["score"])["valid/accuracy"]), 2),
        "test_accuracy": round(float((model["inherited"] if inherited else model["test"])["test/accuracy"]), 2),
        "seconds": round(sum(float(r["seconds"]) for r in timings), 1),
    }


def record(found: dict[str, dict[str, Any]]) -> Record:
    """Whether any other search is shown better than the default one."""
    best = max(found, key=lambda name: float(found[name]["valid_accuracy"]))
    low, high = (100 * float(share) for share in wilson(found[best]["valid_accuracy"] / 100, VALID_IMAGES))
    apart = (high - low) / 2 * 2**0.5
    gap = found[best]["valid_accuracy"] - found[DEFAULT]["valid_accuracy"]
    missing = len(CHANGES) - len(found)
    return Record(
        name=NAME,
        claim="no part of a search of minutes is better left out or replaced",
        source="ours; docs/findings/search.md",
        expected=f"no other search is shown better: a gap of at most {apart:.1f} points",
        obtained=found,
        n=len(found),
        held=gap <= apart,
        sentence=f"As it is, a search has {found[DEFAULT]['valid_accuracy']:.2f} %; the best, {best}, "
        f"{found[best]['valid_accuracy']:.2f} %.{f' {missing} are still to be run.' if missing else ''}",
        seeds=[0],
        scale=f"CIFAR-10, at most 3 M MACs, {MINUTES} minutes of two processors, {VALID_IMAGES:,} validation images",
        cpu_minutes=round(2 * sum(line["seconds"] for line in found.values()) / 60, 1),
    )


def main(names: list[str]) -> None:
    """Search what is missing, the default first, and write the record after each."""
    file = HERE / f"{NAME}.toml"
    found: dict[str, Any] = tomllib.loads(file.read_text())["obtained"] if file.exists() else {}
    for name in dict.fromkeys((DEFAULT, *(names or CHANGES))):
        if name not in found:
            found[name] = search(name)
            record(found).write()


if __name__ == "__main__":
    main(sys.argv[1:])
