"""How much faster several processes train one network than one does, and what threads in one process gain.

    python benchmarks/together.py [PROCESSES]

Ratios of images per second, measured one after the other in one run: alone, with so many threads, and by so many
processes that share each batch. Nothing else should run on the machine: both ways of sharing collapse on a busy one.
"""

from __future__ import annotations

import sys
from time import perf_counter

import torch

from supernetic.blueprint import Blueprint
from supernetic.hardware import Hardware
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.speed import step_seconds, together_seconds
from supernetic.networks.controls import mobilenet, plain_network, resnet
from supernetic.nn.network import build

MACS, RESOLUTION, CLASSES = 3e6, 32, 10
SECONDS, WARM_UP_STEPS = 4.0, 5


def threaded_seconds(blueprint: Blueprint, batch: int, threads: int) -> float:
    """Of one bare step, forward and backward, in this process."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    network = build(blueprint, seed=0)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images = torch.randn(batch, 3, RESOLUTION, RESOLUTION).contiguous(memory_format=torch.channels_last)
    steps, begin = 0, perf_counter()
    while steps < WARM_UP_STEPS or perf_counter() - begin < SECONDS:
        if steps == WARM_UP_STEPS:
            begin = perf_counter()
        network(images).logsumexp(1).mean().backward()
        steps += 1
    torch.set_num_threads(before)
    return (perf_counter() - begin) / (steps - WARM_UP_STEPS)


def main() -> None:
    """Print a line per network."""
    processes = int(sys.argv[1]) if sys.argv[1:] else 2
    recipe = network_recipe(None)
    for name, make in (("plain", plain_network), ("resnet", resnet), ("mobilenetv2", mobilenet)):
        network = make(MACS, RESOLUTION, CLASSES, 3)
        alone = step_seconds([network], recipe, 1, SECONDS)[0]
        together = together_seconds(network, recipe, Hardware(processes=processes), SECONDS)
        single, threaded = (threaded_seconds(network, recipe.batch_size, n) for n in (1, processes))
        print(
            f"{name:12} {recipe.batch_size / alone:6.0f} images/s alone; {processes} processes {alone / together:.2f} "
            f"times as many, {processes} threads {single / threaded:.2f} times",
            flush=True,
        )


if __name__ == "__main__":
    main()
