"""Scoring with a supernet: networks that share their first layers run together, against one network at a time.

Run: python benchmarks/walk.py [--whole]. Process time of one thread. Both ways score the same networks on the same
images, and their answers are compared bit for bit. All 6,561 networks of NAS-Bench-Macro are run fully both ways with
--whole (some minutes); otherwise, and with BN recalibration, medians of interleaved pairs on samples.
"""

import sys
from itertools import product
from statistics import median
from time import process_time

import numpy as np
import torch

from supernetic.datasets import load
from supernetic.datasets.dataset import Dataset
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.supernets.supernet import Supernet

RESOLUTION = 16
PAIRS = 3
SCORE = ["valid/cross_entropy"]


def timed(evaluate: SupernetEvaluator, groups: list[list[Arch]]) -> tuple[float, list[dict[str, float]]]:
    begin = process_time()
    answers = [a for group in groups for a in evaluate(group)]
    return process_time() - begin, answers


def compare(title: str, evaluate: SupernetEvaluator, archs: list[Arch], pairs: int) -> None:
    ratios, together, alone = [], [], []
    timed(evaluate, [archs[:2]])
    for _ in range(pairs):
        a, first = timed(evaluate, [archs])
        b, second = timed(evaluate, [[arch] for arch in archs])
        assert first == second, "a walk must not change any bit"
        ratios.append(b / a)
        together.append(a)
        alone.append(b)
    per = 1e3 / len(archs)
    print(
        f"{title:<56}{len(archs):>6} networks  together {median(together) * per:6.2f} ms each, "
        f"alone {median(alone) * per:6.2f} ms each: {median(ratios):5.2f} x",
        flush=True,
    )


def evaluator(space: Space, data: Dataset, bn: str) -> SupernetEvaluator:
    net = Supernet(space, seed=0).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return SupernetEvaluator(net, data, SCORE, bn=bn, images=256, batch_size=128)


def main() -> None:
    torch.set_num_threads(1)
    data = load("embedded", resolution=RESOLUTION, limit=1_300)  # 100 or so to validate
    print(f"{len(data.splits['valid'])} images to validate, 256 to recalibrate, {RESOLUTION}x{RESOLUTION}")
    macro = Macro(channels=8, resolution=RESOLUTION, in_channels=1, head=64)
    every: list[Arch] = list(product(range(3), repeat=8))
    if "--whole" in sys.argv:
        for bn in ("running", "batch"):
            compare(f"macro, all, BN {bn}", evaluator(macro, data, bn), every, 1)
    for first in (0, 1, 2):  # the more the common beginning costs, the more is saved
        last = [(first, first, *a) for a in product(range(3), repeat=6)]
        compare(
            f"macro, all that begin {first}{first}, BN recalibrated", evaluator(macro, data, "recalibrate"), last, PAIRS
        )
    rng = np.random.default_rng(0)
    for space, n in ((macro, 729), (NASBench201(channels=8, resolution=RESOLUTION, cells=1, in_channels=1), 300)):
        archs: list[Arch] = [tuple(a) for a in space.sample(rng, n).tolist()]
        compare(f"{space.name}, random, BN recalibrated", evaluator(space, data, "recalibrate"), archs, 1)


if __name__ == "__main__":
    main()
