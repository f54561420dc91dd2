"""What cases are given: finished runs of every kind, made once by the command line itself, and small sets of images."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
from harness import forked
from PIL import Image

TINY = "macro:channels=4,resolution=8,head=16"
SPACE = ("--space", TINY)
SMALL = (*SPACE, "--steps", "2", "--network-steps", "2", "--population", "4", "--generations", "1", "--limit", "200")
ALONE = ("--workers", "1", "--threads", "1")
STUDY = """
title = "Tiny"
source = "ours"
seeds = [0]
[base]
space = "macro:channels=4,resolution=8,head=16"
limit = 300
recipe = { length = "2 steps", batch_size = 16, lr = 0.1 }
[measure]
kind = "ranking"
truth = "mean_acc"
valid = 20
random = 20
sizes = [5, 10]
points = 20
[grid.stabiliser]
none = {}
identity = { stabiliser = "skip:identity" }
"""
COMMANDS = {  # by the run's name
    "train": ("train", TINY, "--steps", "3", "--limit", "300", "--threads", "1"),
    "search": ("search", *SMALL, "--where", "macs<=60K", "--keep", "1", *ALONE),
    "table": ("search", "--table", "nasbench201", "--evaluations", "60"),
    "select": (
        "select", "--models", "logistic,mlp", "--sizes", "40,80", "--seeds", "1", "--limit", "300", "--rates", "0.01",
        "--workers", "1",
    ),
    "study": ("study", "study.toml"),
}  # fmt: skip


def make(kept: Path, *names: str) -> None:
    """Make runs that are not there yet.

    Args:
        kept: The folder of all of them.
        *names: Keys of `COMMANDS`.
    """
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "study.toml").write_text(STUDY, encoding="utf-8")
    images(kept / "images")
    for name in names:
        if not (kept / name / "result.json").exists():
            shutil.rmtree(kept / name, ignore_errors=True)
            out, err = kept / ".out", kept / ".err"
            code, _, _ = forked([*COMMANDS[name], "-q", "--out", name], kept, out, err, limits=False)
            if code != 0:
                raise RuntimeError(f"the run {name} could not be made: {err.read_text()[-2000:]}")


def images(folder: Path, classes: int = 2, count: int = 30, side: int = 8) -> None:
    """A folder of images that say their class by their brightness; an existing one is left as it is."""
    rng = np.random.default_rng(0)
    for c in range(classes):
        place = folder / f"class{c}"
        if place.exists():
            continue
        place.mkdir(parents=True)
        for i in range(count):
            pixels = np.clip(rng.normal(60 + 120 * c, 30, (side, side)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(place / f"{i:02}.png")


def take(kept: Path, name: str, into: str = "run") -> Path:
    """A copy of a run, in the folder that a case runs in."""
    shutil.copytree(kept / name, into, ignore=shutil.ignore_patterns(".lock"))
    for root, _, files in os.walk(into):
        for file in files:
            os.utime(os.path.join(root, file))
    return Path(into)
