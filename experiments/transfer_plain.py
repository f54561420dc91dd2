"""What would one have got without us? EfficientNet-Lite0 fine-tuned on PlantDoc by a plain loop of PyTorch.

    python experiments/transfer_plain.py MINUTES [SIZE]     processor-minutes of one thread; 96 pixels by default

The recipe is a customary one and was not tuned: AdamW at 5e-4 with a cosine, label smoothing, random parts of the
images, mirroring. Of ours it has only the weights.
"""

from __future__ import annotations

import math
import os
import sys
import tomllib
from pathlib import Path
from time import process_time

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from record import HERE, Record
from torch import Tensor, nn

from supernetic.pretrained import load_pretrained
from supernetic.ranking.trust import wilson

DATA = Path(os.environ.get("SUPERNETIC_DATA", "../shared/data")) / "plantdoc"
PIXELS, BATCH, RATE, WARM, TIMED = 160, 32, 5e-4, 50, (15, 40)
AFTER_S = 10.0  # processor-seconds for the test


def read(split: str) -> tuple[Tensor, Tensor]:
    """Images as bytes, and labels."""
    images, labels = [], []
    for label, folder in enumerate(sorted((DATA / split).iterdir())):
        for file in sorted(folder.glob("*.jpg")):
            images.append(np.asarray(Image.open(file).convert("RGB").resize((PIXELS, PIXELS))))
            labels.append(label)
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous(), torch.tensor(labels)


def resized(images: Tensor, size: int) -> Tensor:
    """Smaller."""
    return F.interpolate(images.float(), size=(size, size), mode="bilinear", antialias=True, align_corners=False)


def varied(images: Tensor, size: int, rng: np.random.Generator) -> Tensor:
    """A random square of 35 to 100 % of each image, mirrored half of the time."""
    out = torch.empty(len(images), 3, size, size)
    for i, image in enumerate(images):
        side = int(PIXELS * math.sqrt(rng.uniform(0.35, 1)))
        top, left = rng.integers(0, PIXELS + 1 - side, 2)
        part = resized(image[None, :, top : top + side, left : left + side], size)[0]
        out[i] = part.flip(-1) if rng.random() < 0.5 else part
    return (out - 127) / 128


def main(minutes: float, size: int) -> None:
    """Train, test, record."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    images, labels = read("train")
    network: nn.Module = load_pretrained("efficientnet-lite0").network
    network.reset_classifier(int(labels.max()) + 1)  # type: ignore[operator]
    network.train()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 0.01
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.02)
    begin, timed, step, steps, order = process_time(), 0.0, 0, 10**6, np.empty(0, int)
    while step < steps:
        if len(order) < BATCH:
            order = np.concatenate([order, rng.permutation(len(images))])
        rows, order = order[:BATCH], order[BATCH:]
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM) * 0.5 * (1 + math.cos(math.pi * step / steps))
        loss = F.cross_entropy(network(varied(images[rows], size, rng)), labels[rows], label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        step += 1
        if step == TIMED[0]:
            timed = process_time()
        if step == TIMED[1]:
            pace = (process_time() - timed) / (TIMED[1] - TIMED[0])
            steps = step + int((60 * minutes - (process_time() - begin) - AFTER_S) / pace)
    images, labels = read("test")
    with torch.no_grad():
        answers = [network.eval()((resized(part, size) - 127) / 128).argmax(1) for part in torch.split(images, 64)]
    accuracy = float((torch.cat(answers) == labels).float().mean())
    ends = [round(100 * end, 1) for end in wilson(accuracy, len(labels))]
    spent = round((process_time() - begin) / 60, 1)
    ours = tomllib.loads((HERE / "transfer_plantdoc.toml").read_text())
    Record(
        name="transfer_plain",
        claim="`transfer` fine-tunes Lite0 on PlantDoc better than a plain loop of PyTorch does",
        source="ours",
        expected=f"surely less than the {ours['obtained']['transfer']} % of experiments/transfer_plantdoc.toml",
        obtained={"accuracy": round(100 * accuracy, 1), "steps": steps},
        n=len(labels),
        held=ends[1] < ours["obtained"]["transfer"],  # shown, not only measured
        sentence=f"{100 * accuracy:.1f} % of {len(labels)} test images right after {steps} steps at {size} pixels, "
        f"{spent} CPU-minutes; `transfer` has {ours['obtained']['transfer']} % after "
        f"{ours['obtained']['cpu_minutes']['transfer']}.",
        interval=ends,
        seeds=[0],
        scale=f"{minutes:g} processor-minutes of one thread, one seed",
        cpu_minutes=spent,
    ).write()


if __name__ == "__main__":
    match sys.argv[1:]:
        case [minutes, *size]:
            main(float(minutes), int(size[0]) if size else 96)
        case _:
            sys.exit(__doc__)
