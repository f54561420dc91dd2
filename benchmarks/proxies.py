"""Zero-cost proxies: what each costs, against one training step of the same network on as many images.

Run: python benchmarks/proxies.py. Process time of one thread, medians over networks; each proxy's time includes making
the network, which proxies that are measured together share.
"""

from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim import SGD

from supernetic import catalog
from supernetic.datasets import load
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.nn.network import build
from supernetic.proxies import BLUEPRINT_PROXIES, PROXIES
from supernetic.space import Arch, Space

IMAGES, NETWORKS = 32, 12
SPACES = ("macro:channels=8,resolution=16,head=160", "nasbench201:channels=8,resolution=16,cells=1")
TOGETHER = (("jacov", "naswot"), ("snip", "grad_norm"), ("jacov", "naswot", "snip", "grad_norm"), tuple(PROXIES))


def timed(step: Callable[..., object], *arguments: object) -> float:
    begin = process_time()
    step(*arguments)
    return process_time() - begin


def training_step(space: Space, arch: Arch) -> float:
    """Seconds of one update, after one to warm up."""
    network = build(space.blueprint(arch), seed=0).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = SGD(network.parameters(), lr=1e-3, momentum=0.9)
    resolution = network.blueprint.resolution
    x = torch.randn(IMAGES, 3, resolution, resolution).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (IMAGES,))

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(network(x), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    step()
    return min(timed(step) for _ in range(3))


def main() -> None:
    torch.set_num_threads(1)
    data = load("embedded", resolution=16, gray=False)
    for text in SPACES:
        space = catalog.space(text)
        archs: list[Arch] = [tuple(a) for a in space.sample(np.random.default_rng(0), NETWORKS).tolist()]
        steps = [training_step(space, arch) for arch in archs]
        made = median(timed(build, space.blueprint(arch)) for arch in archs)
        print(f"{text}, {IMAGES} images: training step {median(steps) * 1e3:.1f} ms, making {made * 1e3:.1f} ms")
        print(f"  {'proxies':<34}{'training steps':>15}{'networks/s':>12}")
        for names in (*((name,) for name in PROXIES if name not in BLUEPRINT_PROXIES), BLUEPRINT_PROXIES, *TOGETHER):
            evaluate = ProxyEvaluator(space, data, names, images=IMAGES)
            evaluate(archs[:1])
            seconds = [timed(evaluate, [arch]) for arch in archs]
            ratio = median(a / b for a, b in zip(seconds, steps, strict=True))
            name = "all" if names == tuple(PROXIES) else "+".join(names)
            print(f"  {name:<34}{ratio:>15.2f}{1 / median(seconds):>12.0f}", flush=True)


if __name__ == "__main__":
    main()
