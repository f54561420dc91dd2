from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.commands.rank.angles import angles
from supernetic.commands.rank.command import rank
from supernetic.errors import RunError
from supernetic.evaluators.angle import ANGLE, AngleEvaluator
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.space import Arch
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.supernets.supernet import Supernet

ARCHS: list[Arch] = [tuple(a) for a in Macro().sample(np.random.default_rng(0), 6).tolist()]


def test_angles_are_those_from_the_seeds_own_weights(run: Path) -> None:
    trained, _ = load_supernet(run)
    found = angles(str(run), Macro(), ARCHS)
    assert found == AngleEvaluator(Supernet(trained.space, seed=0), trained)(ARCHS)
    other = AngleEvaluator(Supernet(trained.space, seed=1), trained)(ARCHS)
    assert all(0 < a[ANGLE] < 0.5 < b[ANGLE] for a, b in zip(found, other, strict=True))  # 3 steps turn little


def test_rank_takes_it_by_name(run: Path) -> None:
    result = rank("macro", score=f"{run}:angle", truth="mean_acc", sample=20, sample_top=0)
    assert result.n == 20
    assert any("is vote/angle" in w for w in result.warnings)
    assert not (run / "scores.jsonl").exists()


def test_another_space_is_refused(run: Path) -> None:
    with pytest.raises(RunError, match="holds a supernet of macro, not of nasbench201"):
        angles(str(run), NASBench201(), [(0,) * 6])
