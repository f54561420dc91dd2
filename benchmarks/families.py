"""Every family of models at its CPU size: parameters, MACs, and the time of 100 training steps with batches of 64.

Run: OMP_NUM_THREADS=1 python benchmarks/families.py [NAMES]. Process time of one thread, from
the fastest of twelve steps: others on the machine only make steps slower.
"""

import sys
from time import process_time

import torch
import torch.nn.functional as F

from supernetic.model_names import MODEL_NAMES, parse_models

SHAPES = ((1, 28), (3, 32))
BATCH = 64
STEPS = 12
OTHERS = ("nasbench201/all-conv3x3", "macro-best", "scarlet-a", "attentive-a0")


def seconds(network: torch.nn.Module, channels: int, resolution: int) -> float:
    """Per step: forward, backward, update."""
    network.train().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.Adam(network.parameters(), foreach=True)
    x = torch.randn(BATCH, channels, resolution, resolution).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(10, (BATCH,))
    times = []
    for _ in range(STEPS):
        begin = process_time()
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(network(x), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        times.append(process_time() - begin)
    return min(times)


def main() -> None:
    torch.set_num_threads(1)
    print("| model | params | MACs | s per 100 steps | params | MACs | s per 100 steps |")
    print("|---|---|---|---|---|---|---|")
    for text in sys.argv[1:] or (*MODEL_NAMES, *OTHERS):
        for sizes in zip(*(parse_models(text, 10, c, resolution) for c, resolution in SHAPES), strict=True):
            cells = [sizes[0].name]
            for made, (channels, resolution) in zip(sizes, SHAPES, strict=True):
                macs, params = made.costs()
                took = 100 * seconds(made.build(), channels, resolution)
                cells += [f"{params:,}", f"{macs / 1e6:.2f} M", f"{took:.1f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
