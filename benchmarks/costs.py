"""Costs from the automaton's table against walking the blueprint of each architecture.

Run: python benchmarks/costs.py. Ratios of process time, medians of interleaved repeats in one run.
"""

from statistics import median
from time import process_time

import numpy as np

from supernetic import catalog
from supernetic.costs import cost, costs_of, table_of
from supernetic.costs.macs import macs_and_params
from supernetic.space import SequentialSpace

REPEATS = 7


def main() -> None:
    for name in ("nasbench201", "macro", "scarlet-s1", "attentive", "scalenet"):
        space = catalog.space(name)
        assert isinstance(space, SequentialSpace)
        begin = process_time()
        table_of(space)
        build = process_time() - begin
        archs = space.sample(np.random.default_rng(0), 200_000)
        few = [tuple(a) for a in archs[:100].tolist()]
        by_table, by_walk = [], []
        for _ in range(REPEATS):
            begin = process_time()
            costs_of(space, archs)
            by_table.append((process_time() - begin) / len(archs))
            macs_and_params.cache_clear()
            begin = process_time()
            for arch in few:
                cost(space.blueprint(arch))
            by_walk.append((process_time() - begin) / len(few))
        fast, slow = median(by_table), median(by_walk)
        rate = f"{1 / fast:>12,.0f} archs/s, {slow / fast:>8,.0f} x faster than blueprints"
        print(f"{name:<12} table {rate}; build {build:.2f} s")


if __name__ == "__main__":
    main()
