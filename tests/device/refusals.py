"""What the pretend device refuses and what it lets pass, printed as JSON by a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import numpy as np
import pretend
import torch
from torch import nn

cpu = torch.arange(6.0).view(2, 3)
mask = torch.tensor([True, False])


def passed(action: Callable[[], Any]) -> str:
    """Empty if the action went through, else the error's name and text."""
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def loss_on(there: str) -> float:
    """The loss of a small network on a device, after a step of training."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
    x, labels = torch.randn(5, 3, 6, 6), torch.tensor([0, 1, 0, 1, 0])
    network.to(there)
    optimiser = torch.optim.SGD(network.parameters(), 0.1, 0.9)
    for _ in range(2):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(network(x.to(there)), labels.to(there))
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return float(loss.detach())


def run_network(network: nn.Module, images: torch.Tensor) -> None:
    """What a module of ours might do."""
    network(images)


with pretend.PretendDevice():
    gpu = cpu.to("pretend")
    refused = {
        "mixed": passed(lambda: cpu + gpu),
        "mixed weights": passed(lambda: nn.Linear(3, 2)(gpu)),
        "cpu batch": passed(lambda: nn.Linear(3, 2).to("pretend")(cpu)),
        "generator": passed(lambda: torch.randn(3, generator=torch.Generator(), device="pretend")),
        "index": passed(lambda: cpu[torch.tensor([0, 1]).to("pretend")]),
        "index_select": passed(lambda: gpu.index_select(0, torch.tensor([0, 1]))),
        "numpy": passed(lambda: gpu.numpy()),
        "asarray": passed(lambda: np.asarray(gpu)),
    }
    allowed = {
        "number": passed(lambda: gpu * torch.tensor(2.0)),
        "cpu index": passed(lambda: gpu[torch.tensor([0, 1])]),
        "copy back": passed(lambda: gpu.cpu().numpy()),
        "copy into": passed(lambda: torch.empty(2, 3).copy_(gpu)),
        "new": passed(lambda: gpu + gpu.new_tensor([1.0, 2.0, 3.0]) + torch.tensor([1.0, 2.0, 3.0], device="pretend")),
    }
    with pretend.counted_waits() as waits:
        for action in (lambda: gpu + 1, gpu.sum().item, gpu.tolist, lambda: gpu[mask.to("pretend")], gpu.clone):
            action()
    losses = [loss_on(there) for there in ("cpu", "pretend")]
    where = [str(gpu.device), str((gpu + 1).device), str(gpu.cpu().device)]
    ours = FunctionType(  # as if a module of ours had run a network on the CPU
        run_network.__code__.replace(co_filename="calibration.py"), {"__name__": "supernetic.calibration"}
    )
    ours(nn.Conv2d(3, 4, 3), torch.randn(1, 3, 6, 6))
    left = sorted(pretend.left_behind)
pretend.print_and_leave(
    {"left behind": left, "refused": refused, "allowed": allowed, "waits": waits, "losses": losses, "where": where}
)
