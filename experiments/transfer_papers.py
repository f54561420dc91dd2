"""The papers' tables of transfer at the scale of a CPU: EfficientNet-Lite0, 1 and 2 in place of the papers' networks.

    python experiments/transfer_papers.py run ARM      one arm of ARMS; it goes on where it was interrupted
    python experiments/transfer_papers.py record       the records of all arms that are finished

Weights of AttentiveNAS's, ScaleNet's and SCARLET's networks are not at hand, nor are Flowers, Cars, Food and Aircraft.
What can be asked here is whether the larger and better network of a family is also the better one after transfer, and
how far the papers' recipes get in minutes. Every arm is one command with one process. Processor time is taken from the
operating system and added up over interruptions in `runs/transfer_papers/cpu.json`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from record import Record

from supernetic.ranking.trust import wilson
from supernetic.runs.predictions import read_predictions

FOLDER = Path("runs/transfer_papers")
PLANTDOC = str(Path(os.environ.get("SUPERNETIC_DATA", "../shared/data")) / "plantdoc")
LITES = "efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2"
SETS = {"plantdoc": PLANTDOC, "cifar10": "cifar10"}
ONE = ["--workers", "1", "--int8", "no", "--quiet"]
SMALL = ["--image-size", "96"]
LIMIT, CIFAR_LIMIT = "800", "2500"
ATTENTIVE_LENGTH = ["--recipe", "attentive", "--steps", "40", "--trials", "2"]  # both trials are as long
SHORT_LENGTH = ["--steps", "60", "--trials", "0"]
SCARLET_LENGTH = ["--recipe", "scarlet", "--steps", "40", "--trials", "0"]
TEACHER = str(FOLDER / "attentive-lite1/models/efficientnet-lite1")
ARMS: dict[str, list[str]] = {
    "table": [",".join(LITES), ",".join(SETS.values()), "--layers", "head", "--limit", LIMIT, *SMALL],
    "attentive-lite0": [LITES[0], PLANTDOC, *ATTENTIVE_LENGTH, *SMALL],
    "attentive-lite1": [LITES[1], PLANTDOC, *ATTENTIVE_LENGTH, *SMALL],
    "gradual": [LITES[0], PLANTDOC, "--layers", "gradual", *SHORT_LENGTH, *SMALL],
    "taught": [LITES[0], PLANTDOC, "--teacher", TEACHER, *SHORT_LENGTH, *SMALL],
    "scarlet": [LITES[0], "cifar10", "--limit", CIFAR_LIMIT, *SCARLET_LENGTH, *SMALL],
}
ATTENTIVE = {  # Table 5 of AttentiveNAS: MFLOPs, then % on Flowers, Cars, Food
    "EfficientNet-B0": [390, 96.9, 90.8, 87.6],
    "AttentiveNAS-A1": [279, 97.4, 91.3, 88.1],
    "EfficientNet-B1": [1050, 97.6, 92.1, 88.9],
    "AttentiveNAS-A6": [709, 98.6, 92.5, 89.6],
}
SCALENET = {  # Table 6 of ScaleNet: %, of S3, S4, S5; of EfficientNet-B0 and S0 on CIFAR
    "aircraft": [91.4, 92.8, 92.9],
    "cars": [94.4, 95.0, 95.1],
    "food": [91.2, 92.0, 92.2],
    "cifar10_b0_s0": [98.1, 98.3],
    "cifar100_b0_s0": [88.1, 88.4],
}
SCARLET = {"SCARLET-A": 98.05, "SCARLET-B": 97.93, "SCARLET-C": 97.91, "MixNet-M": 97.92}  # Table 4, CIFAR-10 at 224


def run(arm: str) -> None:
    """Take an arm to its end, or to an interruption."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "supernetic.cli", "transfer", *ARMS[arm], *ONE, "--out", str(FOLDER / arm)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(command, check=True)
    finally:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        spent = cpu()
        (FOLDER / "cpu.json").write_text(json.dumps({**spent, arm: spent.get(arm, 0.0) + seconds}) + "\n")


def cpu() -> dict[str, float]:
    """Seconds by arm."""
    ledger = FOLDER / "cpu.json"
    spent: dict[str, float] = json.loads(ledger.read_text()) if ledger.exists() else {}
    return spent


def minutes(*arms: str) -> float:
    """Of these arms together."""
    return round(sum(cpu()[arm] for arm in arms) / 60, 1)


def found(path: Path) -> dict[str, Any] | None:
    """What a finished run came to."""
    if not (path / "result.json").exists():
        return None
    result: dict[str, Any] = json.loads((path / "result.json").read_text())
    record = json.loads((path / "transfer.json").read_text())
    return {
        "accuracy": round(result["accuracy"], 1),
        "test_images": result["test_images"],
        "kept": record["kept"],
        "steps": record["steps"],
        "held_out_head": round(result["head"], 1),
        "trials": len(result["tried"]),
    }


def interval(of: dict[str, Any]) -> list[float]:
    """95 %, of its accuracy."""
    return [round(100 * end, 1) for end in wilson(of["accuracy"] / 100, of["test_images"])]


def right(path: Path, classes: int = 28) -> Any:
    """Which test images a run's network gets right."""
    predictions = read_predictions(path, classes)
    assert predictions is not None
    (network,) = predictions.networks.values()
    return network.predicted == predictions.labels


def attentive() -> Record | None:
    """Appendix G: rate and decay on a held-out fifth, then all layers."""
    arms = "attentive-lite0", "attentive-lite1"
    lite0, lite1 = (found(FOLDER / arm) for arm in arms)
    if lite0 is None or lite1 is None:
        return None
    differences = 100.0 * (right(FOLDER / arms[1]).astype(float) - right(FOLDER / arms[0]))
    gain = float(differences.mean())
    reach = float(1.96 * differences.std(ddof=1) / len(differences) ** 0.5)
    ends = [round(gain - reach, 1), round(gain + reach, 1)]
    others = {name: of for name in ("gradual", "taught") if (of := found(FOLDER / name)) is not None}
    return Record(
        name="transfer_attentive",
        claim="The network that is better on ImageNet is better after fine-tuning too, with learning rate and weight "
        "decay from a held-out fifth",
        source="AttentiveNAS, appendix G and Table 5",
        expected=ATTENTIVE,
        obtained={"gain": round(gain, 1), "EfficientNet-Lite0": lite0, "EfficientNet-Lite1": lite1, **others},
        n=lite0["test_images"],
        held=ends[0] > 0,
        sentence=f"PlantDoc at 96 pixels: Lite0 {lite0['accuracy']} %, Lite1 {lite1['accuracy']} %, a gain of "
        f"{gain:.1f} points [{ends[0]}, {ends[1]}] on the same images. {_handed_over(lite0, lite1)} AttentiveNAS's "
        "weights and the three data sets of its table are not here: its numbers were not repeated.",
        interval=ends,
        seeds=[0],
        scale="40 steps of 64 images (one epoch) in place of 150 epochs, two learning rates; 96 pixels; one process",
        cpu_minutes=minutes(*arms, *others),
    )


def _handed_over(*runs: dict[str, Any]) -> str:
    if any(of["kept"] != "head" for of in runs):
        return "All layers were trained."
    return (
        "After one epoch of this recipe all layers were worse on the held-out images than the new head alone, which "
        "was handed over."
    )


def scalenet() -> Record | None:
    """Appendix K: larger members of a family on several data sets."""
    cells = {
        name: [found(FOLDER / "table" / f"{lite}-on-{Path(source).name}") for lite in LITES]
        for name, source in SETS.items()
    }
    if any(of is None for row in cells.values() for of in row):
        return None
    shown = {name: [of["accuracy"] for of in row if of] for name, row in cells.items()}
    images = {name: row[0]["test_images"] for name, row in cells.items() if row[0]}
    rising = [name for name, row in shown.items() if row == sorted(row)]
    return Record(
        name="transfer_scalenet",
        claim="Larger members of a family are better after fine-tuning, on every data set",
        source="ScaleNet, appendix K and Table 6",
        expected=SCALENET,
        obtained={"lite0_lite1_lite2": shown, "test_images": images, "rising_on": rising},
        n=len(shown),
        held=len(rising) == len(shown),
        sentence="; ".join(
            f"{name} {', '.join(map(str, row))} % of {images[name]} test images" for name, row in shown.items()
        )
        + " with Lite0, Lite1, Lite2: too few to tell. A new head on frozen features alone: ScaleNet trains all layers "
        "for 300 epochs, on data and with weights that are not here.",
        seeds=[0],
        scale=f"{LIMIT} images of each data set in all, 96 pixels",
        cpu_minutes=minutes("table"),
    )


def scarlet() -> Record | None:
    """Section 5.3: CIFAR-10."""
    lite0 = found(FOLDER / "scarlet")
    if lite0 is None:
        return None
    least = min(SCARLET.values())
    return Record(
        name="transfer_scarlet",
        claim="A mobile network with weights from ImageNet gets 98 % on CIFAR-10",
        source="SCARLET-NAS, section 5.3 and Table 4",
        expected=SCARLET,
        obtained={"EfficientNet-Lite0": lite0},
        n=lite0["test_images"],
        held=lite0["accuracy"] >= least,
        sentence=f"{lite0['accuracy']} % of {lite0['test_images']:,} test images with Lite0 after {minutes('scarlet')} "
        f"CPU-minutes. This scale cannot reach the paper's: {CIFAR_LIMIT} images in place of 60,000, 96 pixels "
        "in place of 224, 40 steps in place of 200 epochs. SCARLET's weights are not here: A, B, C were not compared.",
        interval=interval(lite0),
        seeds=[0],
        scale=f"{CIFAR_LIMIT} images in all, 96 pixels, 40 steps of 128 images, one process",
        cpu_minutes=minutes("scarlet"),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", arm]:
            run(arm)
        case ["record"]:
            for record in (attentive(), scalenet(), scarlet()):
                if record is not None:
                    record.write()
        case _:
            sys.exit(__doc__)
