"""Drawing architectures at a budget: exact sampling against AttentiveNAS's proposal, rejection and plain drawing.

Run: python benchmarks/sampling.py. Ratios of process time, medians of interleaved repeats in one run.
"""

from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np

from supernetic import catalog
from supernetic.costs.budget import budget_sampler
from supernetic.objective import parse_where

REPEATS = 7
WINDOW = "macs in 275M..325M"


def per_arch(draw: Callable[[np.random.Generator, int], object], n: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    begin = process_time()
    draw(rng, n)
    return (process_time() - begin) / n


def compare(name: str, sizes: dict[str, int]) -> None:
    space = catalog.space(name)
    draws: dict[str, Callable[[np.random.Generator, int], object]] = {
        "plain rng.integers": lambda rng, n: rng.integers(space.radices, size=(n, len(space.radices)), dtype=np.int8),
        "space.sample": space.sample,
    }
    trials = {"plain rng.integers": 0.0, "space.sample": 0.0}
    for method in ("exact", "proposal", "naive"):
        begin = process_time()
        sampler = budget_sampler(space, [parse_where(WINDOW)], method=method)
        print(f"{name} {method}: build {process_time() - begin:.2f} s ({sampler.how})")
        draws[method] = sampler.sample
        trials[method] = sampler.sample(np.random.default_rng(0), 1000)[1] / 1000
    times: dict[str, list[float]] = {k: [] for k in draws}
    for seed in range(REPEATS):
        for kind, draw in draws.items():
            times[kind].append(per_arch(draw, sizes[kind], seed))
    exact = median(times["exact"])
    for kind, values in times.items():
        t = median(values)
        note = f", {trials[kind]:.3g} trials per sample" if trials[kind] else ""
        print(f"  {kind:<19}{1 / t:>12,.0f} archs/s   {t / exact:>8.2f} x the time of exact{note}")


if __name__ == "__main__":
    many = {"plain rng.integers": 200_000, "space.sample": 200_000, "exact": 200_000, "proposal": 50_000, "naive": 1000}
    compare("attentive", many)
    compare("scarlet-s1", {**many, "exact": 50_000, "naive": 20_000})
