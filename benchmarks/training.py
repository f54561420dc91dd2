"""Training steps of a supernet against those of the same network on its own, and costs from tables against counters.

Run: python benchmarks/training.py. Process time of one thread, medians of interleaved pairs.
"""

from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD
from torch.utils.flop_counter import FlopCounterMode

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.costs.macs import cost
from supernetic.nn.network import build
from supernetic.space import Arch
from supernetic.supernets.supernet import Supernet

PAIRS = 15
SPACES = {
    "single path": ("macro:channels=16,resolution=32,head=320", 64),
    "cell": ("nasbench201:channels=16,cells=1,resolution=32", 64),
    "elastic": ("attentive:resolutions=32,width=0.5,classes=10", 32),
}


def stepper(model: nn.Module, x: Tensor, labels: Tensor, *arguments: Any) -> Callable[[], None]:
    """One update along a path, as in training: unused weights have no gradients."""
    optimiser = SGD(model.parameters(), lr=1e-3, momentum=0.9)
    model.train()

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(x, *arguments), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def timed(step: Callable[[], object]) -> float:
    begin = process_time()
    step()
    return process_time() - begin


def steps(title: str, text: str, batch: int) -> None:
    """The ratio for several networks, each beside its own static twin."""
    space = catalog.space(text)
    supernet = Supernet(space, seed=0).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    ratios = []
    rng = np.random.default_rng(0)
    for row in space.sample(rng, 6).tolist():
        arch: Arch = tuple(row)
        network = build(space.blueprint(arch), seed=0).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        resolution, channels = network.blueprint.resolution, network.blueprint.in_channels
        x = torch.randn(batch, channels, resolution, resolution).contiguous(memory_format=torch.channels_last)
        labels = torch.randint(0, 10, (batch,))
        shared, static = stepper(supernet, x, labels, arch), stepper(network, x, labels)
        timed(shared), timed(static)
        pairs = [(timed(shared), timed(static)) for _ in range(PAIRS)]
        ratios.append(median(a / b for a, b in pairs))
    shown = " ".join(f"{r:.2f}" for r in sorted(ratios))
    print(f"{title:<12}{text:<52} supernet / static step: median {median(ratios):.2f}  ({shown})", flush=True)


def counters() -> dict[str, Callable[[nn.Module, Tensor], float]]:
    """Tools that count multiply-accumulates by running a module; those that are installed."""

    def by_torch(model: nn.Module, x: Tensor) -> float:
        with FlopCounterMode(display=False) as counted, torch.no_grad():
            model(x)
        return float(counted.get_total_flops() / 2)

    found: dict[str, Callable[[nn.Module, Tensor], float]] = {"FlopCounterMode / 2": by_torch}
    for name, count in (
        ("fvcore", lambda m, x: import_module("fvcore.nn").FlopCountAnalysis(m, x).total()),
        ("ptflops", lambda m, x: _ptflops(m, x)),
    ):
        try:
            import_module(name)
        except ImportError:
            print(f"{name} is not installed")
        else:
            found[name] = count
    return found


def _ptflops(model: nn.Module, x: Tensor) -> float:
    count = import_module("ptflops").get_model_complexity_info
    quiet = {"as_strings": False, "print_per_layer_stat": False, "verbose": False}
    return float(count(model, tuple(x.shape[1:]), backend="aten", **quiet)[0])  # its other backend misses subclasses


def costs() -> None:
    """Time per architecture of counting on the built network, over that of the table."""
    space = catalog.space("scarlet-s2")
    archs = space.sample(np.random.default_rng(0), 200_000)
    costs_of(space, archs[:10])
    table = median(timed(lambda: costs_of(space, archs)) for _ in range(5)) / len(archs)
    print(f"costs of {space.name} from its table: {1 / table:,.0f} architectures/s")
    network = build(space.blueprint(tuple(archs[0].tolist())), seed=0).eval()
    macs = cost(network.blueprint).macs
    x = torch.randn(1, 3, 224, 224)
    for name, count in counters().items():
        read = count(network, x)
        took = median(timed(lambda count=count: count(network, x)) for _ in range(5))  # type: ignore[misc]
        print(f"  {name:<20} {took * 1e3:7.1f} ms each: {took / table:>12,.0f} x; reads {read / macs:.4f} of ours")


if __name__ == "__main__":
    torch.set_num_threads(1)
    costs()
    for title, (text, batch) in SPACES.items():
        steps(title, text, batch)
