from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from supernetic.benchmarks import nasbench201
from supernetic.commands.rank.proxies import CHUNK, is_proxy, scored_by_proxies
from supernetic.datasets import load
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.spaces.nasbench201 import NASBench201

SPACE = NASBench201(cells=1, channels=4, resolution=8)


def test_names() -> None:
    assert is_proxy("jacov")
    assert is_proxy("vote/layers")
    assert not is_proxy("macs")


def test_rows_get_their_votes_and_those_without_a_number_are_last() -> None:
    table = replace(nasbench201.load(), space=SPACE)
    rows = np.sort(np.random.default_rng(0).permutation(len(table))[: CHUNK + 2])
    rows = np.union1d(rows, table.find(np.zeros((1, 6), np.int8)))  # nothing but `none`
    seen: list[tuple[int, int]] = []
    found, remarks = scored_by_proxies(
        table, rows, {"1": "naswot", "2": "vote/layers"}, "embedded", 0, lambda *n: seen.append(n)
    )
    assert seen == [(CHUNK, len(rows)), (len(rows), len(rows))]
    values = found["1"].values
    evaluate = ProxyEvaluator(SPACE, load("embedded", resolution=8, gray=False), ("naswot",))
    some = [e["vote/naswot"] for e in evaluate(list(table.take(rows[:4])))]
    assert values[rows[:4]] == pytest.approx([np.nanmin(values) if isnan(v) else v for v in some])
    assert np.isfinite(values[rows]).all()
    assert np.isnan(values).sum() == len(table) - len(rows)
    lost = values[rows] == np.nanmin(values)
    assert 1 <= lost.sum() < 10
    assert found["2"].values[rows][lost].tolist() == [0] * lost.sum()
    assert remarks == [f"{lost.sum()} of {len(rows)} networks get no number from naswot and are ranked last"]
