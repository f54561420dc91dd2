"""Detection on BCCD: EfficientNet-Lite0 as a backbone, the same at half its MACs, and SCARLET's networks beside them.

    python experiments/detection.py            runs what is missing in runs/detection, then writes the records
    python experiments/detection.py lite0      only this run; the others: half, and the four of NETWORKS
    python experiments/detection.py record     writes the records of what has been run so far

Every run can be interrupted and goes on. What tuning there was went by the validation images; test images were read
once, by the runs here. Processor time is that of the training steps on one thread.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from record import Record

import supernetic
from supernetic.runs.directory import read_records
from supernetic.runs.files import BACKBONE, DETECT, TIMINGS
from supernetic.training.checkpoint import read

DATA = Path(os.environ.get("SUPERNETIC_DATA", "../shared/data")) / "bccd"
RUNS = Path("runs/detection")
LITE = "efficientnet-lite0"
STEPS, HALF_STEPS = 500, 650  # in about as much processor time
NETWORK_STEPS, NETWORK_SIZE = 120, 320  # of the networks with fresh weights
NETWORKS = {"scarlet-a": "SCARLET-A", "scarlet-b": "SCARLET-B", "scarlet-c": "SCARLET-C", "mobilenetv2": "MobileNetV2"}
# Table 5 of SCARLET-NAS: COCO, 12 epochs, weights from ImageNet. The paper has neither SCARLET-C nor MobileNetV2 there.
PUBLISHED = {
    "SCARLET-A": {"ap": 0.314, "ap50": 0.512, "macs": 365},
    "SCARLET-B": {"ap": 0.312, "ap50": 0.512, "macs": 329},
    "MnasNet-A2": {"ap": 0.305, "ap50": 0.502, "macs": 340},
    "MobileNetV3": {"ap": 0.299, "ap50": 0.493, "macs": 219},
    "Single-Path NAS": {"ap": 0.307, "ap50": 0.498, "macs": 365},
}
REQUIRED, LONGEST = 0.55, 30.0  # AP50, CPU-minutes
CALLS: dict[str, dict[str, Any]] = {
    "lite0": {"backbone": LITE, "steps": STEPS},
    "half": {"backbone": LITE, "steps": HALF_STEPS, "shrink": 0.5},
    **{n: {"backbone": n, "steps": NETWORK_STEPS, "image_size": NETWORK_SIZE} for n in NETWORKS},
}


def run(name: str) -> None:
    """One detector."""
    call = dict(CALLS[name])
    result = supernetic.detect(call.pop("backbone"), DATA, **call, out=RUNS / name, on_event=_say)
    print(result)


def _say(event: Any) -> None:
    if not event.total or event.done % 50 == 0:
        print(event, flush=True)


def measured(name: str) -> dict[str, Any] | None:
    """What a finished run found; None if it is not finished."""
    path = RUNS / name
    if not (path / DETECT).exists():
        return None
    record = json.loads((path / DETECT).read_text())
    seconds = sum(r["cpu_seconds"] for r in read_records(path / TIMINGS) if r["task"] == "updates")
    found = {
        "ap": round(record["test"]["ap"], 3),
        "ap50": round(record["test"]["ap50"], 3),
        "ap75": round(record["test"]["ap75"], 3),
        "valid_ap50": round(record["valid"]["ap50"], 3),
        "by_class_ap50": {k: round(v["ap50"], 3) for k, v in record["by_class"].items()},
        "steps": record["steps"],
        "training_cpu_minutes": round(seconds / 60, 1),
        "backbone_mmacs": round(record["macs"]["body"] / 1e6, 1),
        "detector_mmacs": round(record["macs"]["all"] / 1e6, 1),
    }
    if record["backbone"]["cuts"]:
        found["share_of_macs"] = round(record["backbone"]["macs"] / record["backbone"]["asked_macs"], 3)
        found["cuts"] = json.loads(str(read(path / BACKBONE)[1]["cuts"]))
    return found


def lite0() -> Record | None:
    """The requirement."""
    obtained = measured("lite0")
    if obtained is None:
        return None
    held = obtained["ap50"] >= REQUIRED and obtained["training_cpu_minutes"] <= LONGEST
    return Record(
        name="detection_lite0",
        claim="RetinaNet on EfficientNet-Lite0 learns BCCD's three classes on a CPU in half an hour",
        source="ours",
        expected={"ap50": REQUIRED, "training_cpu_minutes": LONGEST},
        obtained=obtained,
        n=72,
        held=held,
        sentence=f"AP50 {obtained['ap50']:.3f} and AP {obtained['ap']:.3f} on the test images after "
        f"{obtained['training_cpu_minutes']:g} CPU-minutes of training.",
        seeds=[0],
        scale="205 training, 87 validation, 72 test images of 320 x 240; tuned on validation images only",
        cpu_minutes=obtained["training_cpu_minutes"],
    )


def half() -> Record | None:
    """Half the MACs, in as much time."""
    whole, obtained = measured("lite0"), measured("half")
    if whole is None or obtained is None:
        return None
    return Record(
        name="detection_half",
        claim="A backbone of half Lite0's MACs, cut out of it where its maps change least, is as good in as much time",
        source="ours",
        expected={"ap50": whole["ap50"], "ap": whole["ap"]},
        obtained=obtained,
        n=72,
        held=obtained["ap50"] >= whole["ap50"],
        sentence=f"AP50 {obtained['ap50']:.3f} (all of Lite0: {whole['ap50']:.3f}) and AP {obtained['ap']:.3f} "
        f"({whole['ap']:.3f}) with {obtained['share_of_macs']:.0%} of the backbone's MACs, after "
        f"{obtained['training_cpu_minutes']:g} CPU-minutes ({whole['training_cpu_minutes']:g}).",
        seeds=[0],
        scale="as detection_lite0",
        cpu_minutes=obtained["training_cpu_minutes"],
    )


def networks() -> Record | None:
    """SCARLET's table, at reduced scale."""
    obtained = {label: found for name, label in NETWORKS.items() if (found := measured(name)) is not None}
    if not obtained:
        return None
    pending = [label for label in NETWORKS.values() if label not in obtained]
    best = max(obtained, key=lambda label: float(obtained[label]["ap50"]))
    said = ", ".join(f"{label} {found['ap50']:.3f}" for label, found in obtained.items())
    return Record(
        name="detection_scarlet",
        claim="SCARLET-A and B are better backbones of a RetinaNet than others of their size",
        source="SCARLET-NAS, section 5.4 and Table 5",
        expected=PUBLISHED,
        obtained={**obtained, **({"pending": pending} if pending else {})},
        n=72,
        held=not pending and best in ("SCARLET-A", "SCARLET-B"),
        sentence=f"AP50 on BCCD from fresh weights, {NETWORK_STEPS} steps: {said}."
        + (f" Not run yet: {', '.join(pending)}." if pending else ""),
        seeds=[0],
        scale=f"BCCD in place of COCO, fresh weights in place of ImageNet's, {NETWORK_STEPS} steps of 4 images in "
        "place of 12 epochs: says little about the paper's table",
        cpu_minutes=round(sum(float(f["training_cpu_minutes"]) for f in obtained.values()), 1),
    )


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for each in CALLS if not wanted else [n for n in wanted if n != "record"]:
        run(each)
    for record in (lite0(), half(), networks()):
        if record is not None:
            record.write()
