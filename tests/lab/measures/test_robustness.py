from __future__ import annotations

import shutil
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from supernetic.commands.robustness import robustness
from supernetic.jobs.train.job import train
from supernetic.lab.measures.measure import Measured
from supernetic.lab.measures.robustness import Robustness
from supernetic.spaces.macro import Macro


def test_it_agrees_with_the_job_of_that_name(tmp_path: Path) -> None:
    measure = Robustness(n=10, score="valid/cross_entropy")
    seeds = {}
    for seed in (0, 1):
        out = tmp_path / str(seed)
        train("macro:channels=4,resolution=8,head=16", steps=4, limit=300, snapshots="2", seed=seed, out=out)
        seeds[seed] = measure(out, Macro(), lambda *_: None)
    job = robustness([tmp_path / "0", tmp_path / "1"], n=10, bn="batch")
    assert [seeds[s].values["early and late"] for s in (0, 1)] == pytest.approx([a.tau for a in job.early_and_late])
    pooled = measure.pooled(seeds)
    at = {a.first.step: a.tau for a in job.between_seeds}
    assert pooled == pytest.approx({"between seeds, early": at[2], "between seeds, late": at[4]})
    assert {*pooled, "early and late"} == set(measure.check(Macro()))
    shutil.rmtree(tmp_path / "0")


def test_what_is_not_there_is_undefined(run: Path) -> None:
    measure = Robustness(n=5, valid=20)
    found = measure(run, Macro(), lambda *_: None)  # without a snapshot
    assert isnan(found.values["early and late"])
    assert all(map(isnan, measure.pooled({0: found}).values()))


def test_seeds_are_compared_in_pairs() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 9))
    seeds = {s: Measured({}, {"scores": {"1": [*row, None]}}) for s, row in enumerate(scores.tolist())}
    taus = [stats.kendalltau(scores[a], scores[b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))]
    assert Robustness().pooled(seeds)["between seeds, late"] == pytest.approx(np.mean(taus))
