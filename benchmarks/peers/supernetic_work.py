"""Our side of the comparisons, in a process of its own like theirs: `python supernetic_work.py < TASK.json`."""

from __future__ import annotations

import json
import sys
from time import process_time
from typing import Any

import numpy as np


def sampling(low: float, high: float, n: int, seed: int) -> dict[str, Any]:
    from supernetic import catalog
    from supernetic.costs.budget import budget_sampler
    from supernetic.objective import Constraint

    begin = process_time()
    sampler = budget_sampler(catalog.space("attentive"), [Constraint("macs", low, high)])
    build = process_time() - begin
    begin = process_time()
    _, trials = sampler.sample(np.random.default_rng(seed), n)
    return {"seconds": process_time() - begin, "n": n, "trials": trials, "build": build}


def costs(archs: list[list[int]]) -> dict[str, Any]:
    from supernetic import catalog
    from supernetic.costs import costs_of

    space = catalog.space("attentive")
    genes = np.array([[c.options.index(v) for c, v in zip(space.choices, a, strict=True)] for a in archs], np.int8)
    costs_of(space, genes[:1])  # the table is made once
    begin = process_time()
    found = costs_of(space, genes)
    return {"seconds": process_time() - begin, "n": len(archs), "macs": found.tolist()}


def step(archs: list[list[int]], resolutions: list[int], batch: int, side: int, steps: int) -> dict[str, Any]:
    import torch

    from supernetic import SampledPath, Step, Supernet, backward, catalog

    torch.set_num_threads(1)
    space: Any = catalog.space("attentive:resolutions=" + "+".join(map(str, resolutions)))
    supernet: Any = Supernet(space, seed=0, zero_residual=True)
    supernet.to(memory_format=torch.channels_last)
    genes = [tuple(c.options.index(v) for c, v in zip(space.choices, a, strict=True)) for a in archs]
    first, *others = genes
    one = Step((SampledPath(first), *(SampledPath(g, "teacher") for g in others)), reduction="sum")
    torch.manual_seed(0)
    images, labels = torch.randn(batch, 3, side, side), torch.randint(1000, (batch,))
    images = images.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(supernet.parameters(), 0.01, momentum=0.9, nesterov=True, weight_decay=1e-5)
    times = []
    for _ in range(steps + 1):
        begin = process_time()
        optimiser.zero_grad()
        backward(supernet, (images, labels), one, label_smoothing=0.1)
        torch.nn.utils.clip_grad_value_(supernet.parameters(), 1.0)
        optimiser.step()
        times.append(process_time() - begin)
    return {"seconds": times[1:], "parameters": sum(p.numel() for p in supernet.parameters())}


def cells(archs: list[list[int]], batch: int, steps: int) -> dict[str, Any]:
    """A single-path step on NAS-Bench-201, one given cell after the other."""
    import torch

    from supernetic import SampledPath, Step, Supernet, backward, catalog

    torch.set_num_threads(1)
    supernet: Any = Supernet(catalog.space("nasbench201"), seed=0)
    supernet.to(memory_format=torch.channels_last)
    torch.manual_seed(0)
    images, labels = torch.randn(batch, 3, 32, 32), torch.randint(10, (batch,))
    images = images.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(supernet.parameters(), 0.01, momentum=0.9)
    times = []
    for number in range(-1, steps):
        begin = process_time()
        optimiser.zero_grad()
        backward(supernet, (images, labels), Step((SampledPath(tuple(archs[number % len(archs)])),)))
        optimiser.step()
        times.append(process_time() - begin)
    return {"seconds": times[1:], "parameters": sum(p.numel() for p in supernet.parameters())}


def main() -> None:
    task = json.load(sys.stdin)
    kind = task.pop("kind")
    do: Any = {"sampling": sampling, "costs": costs, "step": step, "cells": cells}[kind]
    print(json.dumps(do(**task)))


if __name__ == "__main__":
    main()
