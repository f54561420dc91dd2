from __future__ import annotations

from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.errors import RunError
from supernetic.jobs.train.job import train
from supernetic.lab.measures.single import Single

SPACE = "macro:channels=4,resolution=8,head=16"


def test_the_network_that_was_trained_is_scored(tmp_path: Path) -> None:
    space = catalog.space(SPACE)
    sampler = {"name": "single", "arch": "smallest"}
    train(SPACE, limit=300, steps=2, sampler=sampler, stabiliser="skip", out=tmp_path / "one")
    measured = Single(valid=20)(tmp_path / "one", space, lambda *_: None)
    assert measured.details["network"] == "00000000"
    assert set(measured.values) == set(Single().shown)
    assert 0 <= measured.values["score"] <= 100
    train(SPACE, limit=300, steps=1, out=tmp_path / "many")
    with pytest.raises(RunError, match="trained more than one network"):
        Single(valid=20)(tmp_path / "many", space, lambda *_: None)
