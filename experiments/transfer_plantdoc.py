"""What pretrained weights are worth on PlantDoc: EfficientNet-Lite0 fine-tuned against the best from scratch.

    python experiments/transfer_plantdoc.py run transfer FOLDER      one arm, as a user would call it; it goes on where
    python experiments/transfer_plantdoc.py run scratch FOLDER       it was interrupted
    python experiments/transfer_plantdoc.py record FOLDER            the record, once both are finished
    python experiments/transfer_plantdoc.py run head FOLDER          a new head alone, at 96 pixels: one CPU-minute
    python experiments/transfer_plantdoc.py record-head FOLDER

Each of the first two arms is one command with the same `--minutes` and one process. Processor time is taken from the
operating system and added up over interruptions in `FOLDER/cpu.json`.
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

DATA = Path(os.environ.get("SUPERNETIC_DATA", "../shared/data")) / "plantdoc"
MINUTES = os.environ.get("TRANSFER_MINUTES", "12")
COMMON = ["--minutes", MINUTES, "--workers", "1", "--int8", "no", "--quiet", "--json"]
ARMS = {
    "transfer": ["transfer", "efficientnet-lite0", str(DATA), *COMMON],
    "head": [
        "transfer",
        "efficientnet-lite0",
        str(DATA),
        "--layers",
        "head",
        "--image-size",
        "96",
        "--workers",
        "1",
        "--int8",
        "no",
        "--quiet",
        "--json",
    ],
    "scratch": ["search", str(DATA), "--where", "macs<=40M", "--image-size", "64", "--threads", "1", *COMMON],
}
REQUIRED = 15.0  # points
EARLIER = 27.2  # percent from scratch: `search` at 64 pixels, 6 minutes of two processors, measured before


def run(arm: str, folder: Path) -> None:
    """Take an arm to its end, or to an interruption."""
    folder.mkdir(parents=True, exist_ok=True)
    ledger = folder / "cpu.json"
    spent: dict[str, float] = json.loads(ledger.read_text()) if ledger.exists() else {}
    command = [sys.executable, "-m", "supernetic.cli", *ARMS[arm], "--out", str(folder / arm)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(command, check=True, stdout=(folder / f"{arm}.json").open("w"))
    finally:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ledger.write_text(json.dumps({**spent, arm: spent.get(arm, 0.0) + seconds}) + "\n")


def accuracy(path: Path) -> float:
    """Of the model that is handed over, on test images."""
    networks: list[dict[str, Any]] = json.loads((path / "networks.json").read_text())
    best = next(n for n in networks if n.get("recommended"))
    return float(best["test"]["test/accuracy"])


def record(folder: Path) -> Record:
    """Both arms side by side."""
    cpu = json.loads((folder / "cpu.json").read_text())
    arms = "transfer", "scratch"
    found = {arm: accuracy(folder / arm) for arm in arms}
    images = json.loads((folder / "transfer.json").read_text())["test_images"]
    low, high = wilson(found["transfer"] / 100, images)
    gain = found["transfer"] - found["scratch"]
    minutes = {arm: round(cpu[arm] / 60, 1) for arm in arms}
    return Record(
        name="transfer_plantdoc",
        claim="With few images, EfficientNet-Lite0 fine-tuned is at least 15 points better than the best from scratch",
        source="ours",
        expected=REQUIRED,
        obtained={"gain": round(gain, 1), **{k: round(v, 1) for k, v in found.items()}, "cpu_minutes": minutes},
        n=images,
        held=gain >= REQUIRED,
        sentence=f"{found['transfer']:.1f} % against {found['scratch']:.1f} % on {images} test images, after "
        f"{minutes['transfer']} and {minutes['scratch']} CPU-minutes.",
        interval=[round(100 * low, 1), round(100 * high, 1)],
        seeds=[0],
        scale=f"--minutes {MINUTES}, one process on a shared machine; from scratch at 64 pixels and at most 40 M MACs",
        cpu_minutes=round(sum(minutes.values()), 1),
    )


def record_head(folder: Path) -> Record:
    """A head alone, beside what was measured from scratch before."""
    minutes = json.loads((folder / "cpu.json").read_text())["head"] / 60
    images = json.loads((folder / "head.json").read_text())["test_images"]
    found = accuracy(folder / "head")
    low, high = wilson(found / 100, images)
    gain = found - EARLIER
    return Record(
        name="transfer_plantdoc_head",
        claim="A new head on frozen EfficientNet-Lite0 is at least 15 points better than a search from scratch",
        source="ours",
        expected=REQUIRED,
        obtained={"gain": round(gain, 1), "head": round(found, 1), "scratch": EARLIER},
        n=images,
        held=gain >= REQUIRED,
        sentence=f"{found:.1f} % on {images} test images after {minutes:.1f} CPU-minutes at 96 pixels; from scratch "
        f"{EARLIER} % after about 12 CPU-minutes at 64 pixels, measured earlier and not again.",
        interval=[round(100 * low, 1), round(100 * high, 1)],
        seeds=[0],
        scale="one process on a shared machine; not at equal time: the network from scratch had more",
        cpu_minutes=round(minutes, 1),
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", arm, folder]:
            run(arm, Path(folder))
        case ["record-head", folder]:
            record_head(Path(folder)).write()
        case ["record", folder]:
            record(Path(folder)).write()
        case _:
            sys.exit(__doc__)
