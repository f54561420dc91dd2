"""Which model suits PlantDoc: EfficientNet-Lite0 with weights from ImageNet, the same from scratch, a small ResNet.

python experiments/selection_pretrained.py run       as a user would call it; it goes on where it was interrupted
python experiments/selection_pretrained.py record    the record of the finished run
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

from supernetic.jobs.select.trainings import PRETRAINED_RATES as TRIED

FOLDER = Path("runs/selection_pretrained")
DATA = Path(os.environ.get("SUPERNETIC_DATA", "../shared/data")) / "plantdoc"
PRETRAINED, SCRATCH, OTHER = "pretrained:efficientnet-lite0", "efficientnet-lite0", "resnet"
RECIPE = 'length = "4 epochs"\noptimiser = "adam"\nsmoothing = 0.999\nbatch_size = 32\n'
CALL = ["--models", f"{PRETRAINED},{SCRATCH},{OTHER}", "--image-size", "96", "--sizes", "250,500", "--seeds", "1"]


def run() -> None:
    """The comparison."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "short.toml").write_text(RECIPE)
    command = [sys.executable, "-m", "supernetic.cli", "select", str(DATA), *CALL, "--workers", "1", "--quiet"]
    command += ["--recipe", str(FOLDER / "short.toml"), "--out", str(FOLDER / "plantdoc")]
    ledger = FOLDER / "cpu.json"
    spent = json.loads(ledger.read_text()) if ledger.exists() else 0.0
    try:
        subprocess.run(command, check=True)
    finally:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        ledger.write_text(json.dumps(spent + used.ru_utime + used.ru_stime) + "\n")


def record() -> Record:
    """What it found."""
    found: dict[str, Any] = json.loads((FOLDER / "plantdoc/select.json").read_text())
    decision, errors = found["decision"], found["table"]["error"]
    leads = {r["model"]: [round(r[k], 3) for k in ("difference", "low", "high")] for r in decision["rivals"]}
    best = decision["model"]
    edge = " Its learning rate is the largest that was tried." if found["rates"][PRETRAINED] == max(TRIED) else ""
    nats = found["table"]["calibrated_cross_entropy"]
    return Record(
        name="selection_pretrained",
        claim="With a few hundred photographs, a pretrained network is the better start, and subsets of 250 show it",
        source="ours",
        expected=PRETRAINED,
        obtained={
            "model": best,
            "lead_low_high_nats": leads,
            "calibrated_nats": {m: [round(v, 3) for v in row] for m, row in nats.items()},
            "error": {m: [round(v, 1) for v in row] for m, row in errors.items()},
            "rates": found["rates"],
        },
        n=found["scored"],
        held=best == PRETRAINED and decision["significant_from"] == found["sizes"][0],
        sentence=f"Take {best}: {errors[best][-1]:.1f} % errors after {found['sizes'][-1]} images; {SCRATCH} from "
        f"scratch {errors[SCRATCH][-1]:.1f} %, {OTHER} {errors[OTHER][-1]:.1f} %." + edge,
        interval=leads[SCRATCH][1:],
        seeds=[0, 1],
        scale="250 and 500 images at 96 pixels, 4 epochs of Adam in batches of 32, two seeds and one; one process",
        cpu_minutes=round(json.loads((FOLDER / "cpu.json").read_text()) / 60, 1),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run"]:
            run()
        case ["record"]:
            record().write()
        case _:
            sys.exit(__doc__)
