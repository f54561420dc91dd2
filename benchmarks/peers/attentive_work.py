"""AttentiveNAS's own supernet: `python attentive_work.py REPOSITORY < TASK.json`, where torch and PyYAML are.

The task is `sampling` (their rejection within a window of MACs), `costs` (their counts of given networks) or `step`
(the sandwich rule on given networks). Prints one line of JSON.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from time import process_time
from typing import Any

import torch
import yaml
from attentive_space import their_settings


def supernet(repository: Path, resolutions: list[int] | None) -> Any:
    sys.path.insert(0, str(repository))
    from models.attentive_nas_dynamic_model import AttentiveNasDynamicModel
    from utils.config import AttrDict

    settings = yaml.safe_load((repository / "configs/train_attentive_nas_models.yml").read_text())["supernet_config"]
    if resolutions:
        settings["resolutions"] = resolutions
    return AttentiveNasDynamicModel(AttrDict(settings), n_classes=1000, bn_param=(0.0, 1e-5))


def sampling(model: Any, low: float, high: float, n: int, seed: int) -> dict[str, Any]:
    random.seed(seed)
    counted = model.compute_active_subnet_flops
    calls = [0]

    def count() -> float:
        calls[0] += 1
        return float(counted())

    model.compute_active_subnet_flops = count
    begin = process_time()
    for _ in range(n):
        model.sample_active_subnet_within_range(low / 1e6, high / 1e6)
    seconds = process_time() - begin
    model.compute_active_subnet_flops = counted
    return {"seconds": seconds, "n": n, "trials": calls[0]}


def costs(model: Any, archs: list[list[int]]) -> dict[str, Any]:
    begin = process_time()
    found = []
    for options in archs:
        model.set_active_subnet(**their_settings(options))
        found.append(1e6 * model.compute_active_subnet_flops())
    return {"seconds": process_time() - begin, "n": len(archs), "macs": found}


def step(repository: Path, model: Any, archs: list[list[int]], batch: int, side: int, steps: int) -> dict[str, Any]:
    from utils.loss_ops import CrossEntropyLossSmooth, KLLossSoft

    hard, soft = CrossEntropyLossSmooth(0.1), KLLossSoft()
    torch.manual_seed(0)
    images, labels = torch.randn(batch, 3, side, side), torch.randint(1000, (batch,))
    optimiser = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, nesterov=True, weight_decay=1e-5)
    model.train()
    times = []
    for _ in range(steps + 1):
        begin = process_time()
        optimiser.zero_grad()
        teacher = None
        for options in archs:  # the largest first, as in their training loop
            model.set_active_subnet(**their_settings(options))
            output = model(images)
            loss = hard(output, labels) if teacher is None else soft(output, teacher)
            loss.backward()
            teacher = output.clone().detach() if teacher is None else teacher
        torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimiser.step()
        times.append(process_time() - begin)
    return {"seconds": times[1:], "parameters": sum(p.numel() for p in model.parameters())}


def main() -> None:
    torch.set_num_threads(1)
    repository, task = Path(sys.argv[1]), json.load(sys.stdin)
    kind = task.pop("kind")
    model = supernet(repository, task.pop("resolutions", None))
    if kind == "step":
        print(json.dumps(step(repository, model, **task)))
    else:
        do: Any = {"sampling": sampling, "costs": costs}[kind]
        print(json.dumps(do(model, **task)))


if __name__ == "__main__":
    main()
