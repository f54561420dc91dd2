from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.errors import InputError
from supernetic.jobs.train.score import score
from supernetic.lab.measures.histogram import Histogram
from supernetic.lab.measures.measure import trained_space
from supernetic.spaces.macro import Macro


def test_scores_are_the_runs_more_for_better(run: Path) -> None:
    archs = Macro().sample(np.random.default_rng(0), 4)
    known = score(run, Macro(), [tuple(a) for a in archs.tolist()], bn="batch", valid=20)
    for metric, sign in (("valid/accuracy", 1), ("valid/cross_entropy", -1)):
        found = Histogram(score=metric, valid=20).scores(run, archs, lambda *_: None)
        assert found.tolist() == [sign * a[metric] for a in known]
    assert trained_space(run).choices == Macro().choices


def test_bad_settings_are_refused() -> None:
    bad: dict[str, Any]
    for bad in ({"n": 1}, {"valid": -1}, {"bn": "x"}, {"score": "accuracy"}):
        with pytest.raises(InputError):
            Histogram(**bad)
