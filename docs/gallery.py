"""The gallery: small real runs, their reports and drawings of what they found.

    python docs/gallery.py [NAME ...]    runs what is not in runs/gallery yet; copies reports into docs/gallery

The photographs of `leaves` are five classes of PlantDoc (CC BY 4.0), from SUPERNETIC_DATA/plantdoc; `transfer` has all
of them, `cells` has BCCD's blood cells (MIT), from SUPERNETIC_DATA/bccd. Everything else uses the embedded images. All
runs together take about twenty minutes on one processor. Lengths of training of `leaves` depend on the machine,
as those of all jobs with a time limit do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNS, GALLERY = ROOT / "runs/gallery", ROOT / "docs/gallery"
LEAVES = ("Blueberry leaf", "Corn leaf blight", "Peach leaf", "Raspberry leaf", "Squash Powdery mildew leaf")
LARGEST = 1_000_000  # bytes of a file that is kept
ONE = ("--workers", "1", "--threads", "1")
DATA = Path(os.environ.get("SUPERNETIC_DATA", "../shared/data"))
LITE = "efficientnet-lite0"

MODELS = "logistic,mlp:width=16+64+256,depth=1"
JOBS: dict[str, tuple[str, ...]] = {
    "leaves": ("search", "leaves", "--image-size", "64", "--where", "macs<=10M", "--minutes", "5", *ONE),
    "scale": (
        *("scale", "embedded", "--limit", "2500", "--stages", "2", "--steps", "120", "--network-steps", "60", *ONE),
        *("--population", "8", "--generations", "2", "--bases", "4", "--rounds", "2", "--order", "30"),
    ),
    "select": (
        "select",
        "embedded",
        "--models",
        MODELS,
        "--sizes",
        "100,200,400",
        "--seeds",
        "2",
        "--workers",
        "1",
    ),
    "study": ("study", str(GALLERY / "study.toml")),
    "transfer": (
        *("transfer", LITE, str(DATA / "plantdoc"), "--recipe", "attentive", "--steps", "40", "--trials", "2"),
        *("--image-size", "96", "--workers", "1", "--int8", "no"),
    ),
    "cells": ("detect", LITE, str(DATA / "bccd"), "--steps", "500"),
}
TITLES = {  # of the drawings, in their order
    "leaves-model-1": "model-1 of the leaves: found in five minutes",
    "attentive-a1": "AttentiveNAS-A1",
    "scarlet-a": "SCARLET-A",
    "macro-best": "the best network of NAS-Bench-Macro",
    "nasbench201-best": "the best cell of NAS-Bench-201, by validation accuracy on CIFAR-10",
}
DRAWN = {  # architectures by the name of their drawing
    "attentive-a1": ("attentive", "attentive-a1"),
    "scarlet-a": ("scarlet-s2", "scarlet-a"),
    "macro-best": ("macro", "macro-best"),
    "nasbench201-best": (
        "nasbench201",
        "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|",
    ),
}


def photographs() -> None:
    """Five classes of PlantDoc as a folder of one's own: one folder per class."""
    source = Path(os.environ["SUPERNETIC_DATA"]) / "plantdoc"
    for leaf in LEAVES:
        folder = RUNS / "leaves" / leaf.replace(" ", "-").lower()
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("train", "test"):
            for file in sorted((source / part / leaf).iterdir()):
                shutil.copyfile(file, folder / file.name)


def run(name: str) -> None:
    """A job, and the commands that follow it in the tutorial; what they print is kept."""
    RUNS.mkdir(parents=True, exist_ok=True)
    if name == "leaves" and not (RUNS / "leaves").exists():
        photographs()
    printed = _command(*JOBS[name], "--out", f"runs/{name}", "--quiet")
    (GALLERY / f"{name}.txt").write_text(_nowhere(printed), encoding="utf-8")
    _keep(RUNS / "runs" / name / "report.html", GALLERY / f"{name}.html")


def _command(*arguments: str) -> str:
    command = [sys.executable, "-m", "supernetic.cli", *arguments]
    return subprocess.run(
        command, cwd=RUNS, text=True, check=True, stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "120"}
    ).stdout


def _keep(report: Path, place: Path) -> None:
    size = report.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{report} has {size:,} bytes; at most {LARGEST:,} are kept")
    place.write_text(_nowhere(report.read_text(encoding="utf-8")), encoding="utf-8")


def _nowhere(text: str) -> str:
    """Without the folders of this machine: it is nobody's business where we worked."""
    return text.replace(f"{ROOT}{os.sep}", "").replace(f"{DATA}{os.sep}", "")


def drawings() -> None:
    """Architectures as the report draws them, and the model that was found in the leaves."""
    from supernetic import load_space
    from supernetic.blueprint import Blueprint, Layer
    from supernetic.reports.drawing import draw

    found = {}
    for name, (text, arch) in DRAWN.items():
        space = load_space(text)
        found[name] = space.blueprint(space.parse(arch))
    model = RUNS / "runs/leaves/models/model-1/model.json"
    if model.exists():
        layers = json.loads(model.read_text(encoding="utf-8"))["blueprint"]
        found["leaves-model-1"] = Blueprint(tuple(Layer(**{**r, "inputs": tuple(r["inputs"])}) for r in layers))
    style = (ROOT / "src/supernetic/reports/templates/style.css").read_text(encoding="utf-8")
    parts = [
        f'<h2>{TITLES[name]}</h2>\n<div class="drawing">{draw(found[name])}</div>' for name in TITLES if name in found
    ]
    page = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Drawings of architectures</title>\n'
    page += '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    style += "\nh2 { font-size: 1rem; margin: 1.8rem 0 .4rem; }"
    page += f"<style>{style}</style>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    (GALLERY / "drawings.html").write_text(page, encoding="utf-8")


PARTS: dict[str, Callable[[], None]] = {"drawings": drawings}

if __name__ == "__main__":
    for part in sys.argv[1:] or [*JOBS, *PARTS]:
        if part in PARTS:
            PARTS[part]()
        else:
            run(part)
