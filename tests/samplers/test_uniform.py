from collections import Counter

import numpy as np

from supernetic.catalog import space
from supernetic.samplers.step import Draw, SampledPath
from supernetic.samplers.uniform import Uniform
from supernetic.spaces.macro import Macro


def draws(sampler: Uniform, name: str, n: int) -> list[SampledPath]:
    made = space(name)
    return [sampler(made, Draw(np.random.default_rng([0, s]), s)).paths[0] for s in range(n)]


def test_one_regularised_path() -> None:
    step = Uniform()(Macro(), Draw(np.random.default_rng(0)))
    assert len(step.paths) == 1
    assert step.paths[0].target == "label"
    assert step.paths[0].regularise


def test_options_are_equally_likely() -> None:
    n = 3000
    archs = np.array([p.arch for p in draws(Uniform(), "macro", n)])
    share = np.array([[(archs[:, i] == o).mean() for o in range(3)] for i in range(8)])
    assert abs(share - 1 / 3).max() < 4 * (2 / 9 / n) ** 0.5


def test_depth_uniform() -> None:
    """With four block genes of twelve options, nearly all encodings are deep; choice by choice depths are alike."""
    name, gene, n = "scalenet-base", 1, 800
    plain = Counter(p.arch[gene] for p in draws(Uniform(), name, n))
    average_by_use = Counter(p.arch[gene] for p in draws(Uniform(depth_uniform=True), name, n))
    assert plain[3] > 0.85 * n
    assert min(average_by_use.values()) > 0.19 * n
