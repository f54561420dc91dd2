"""NNI's one-shot supernet of NAS-Bench-201: `python nni_work.py < TASK.json`, in an environment with torch and nni.

A single-path step: the given cell is set as the sampled one, as its strategy `RandomOneShot` would, and trained on one
batch, in torch's plain layout, in which NNI was faster here. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
from time import process_time
from typing import Any

import torch
from nni.nas.hub.pytorch import NasBench201
from nni.nas.oneshot.pytorch.supermodule.base import BaseSuperNetModule
from nni.nas.strategy import RandomOneShot

OPERATIONS = ("none", "skip_connect", "conv_1x1", "conv_3x3", "avg_pool_3x3")  # in the order of ours
EDGES = tuple((start, end) for end in range(1, 4) for start in range(end))


def cells(archs: list[list[int]], batch: int, steps: int) -> dict[str, Any]:
    supernet = RandomOneShot().mutate_model(NasBench201(16, 5, 10))
    choices = [m for m in supernet.modules() if isinstance(m, BaseSuperNetModule)]
    torch.manual_seed(0)
    images, labels = torch.randn(batch, 3, 32, 32), torch.randint(10, (batch,))
    optimiser = torch.optim.SGD(supernet.parameters(), 0.01, momentum=0.9)
    supernet.train()
    times = []
    for number in range(-1, steps):
        begin = process_time()
        arch = archs[number % len(archs)]
        chosen = {f"cell/{a}_{b}": OPERATIONS[gene] for (a, b), gene in zip(EDGES, arch, strict=True)}
        for module in choices:
            module.resample(chosen)
        optimiser.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(supernet(images), labels)
        loss.backward()
        optimiser.step()
        times.append(process_time() - begin)
    return {"seconds": times[1:], "parameters": sum(p.numel() for p in supernet.parameters())}


def main() -> None:
    torch.set_num_threads(1)
    task = json.load(sys.stdin)
    task.pop("kind")
    print(json.dumps(cells(**task)))


if __name__ == "__main__":
    main()
