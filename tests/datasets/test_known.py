from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.datasets.known import KNOWN, find, locate
from supernetic.errors import DataError

CIFAR = next(k for k in KNOWN if k.name == "cifar10")


def test_places_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUPERNETIC_DATA", raising=False)
    assert find(CIFAR) is None
    with pytest.raises(DataError, match=r"cifar10 is not in data/cifar10, .*: fetch it with: supernetic data get"):
        locate(CIFAR)
    (tmp_path / "data" / "cifar-10").mkdir(parents=True)
    assert locate(CIFAR) == Path("data/cifar-10")
    (tmp_path / "own" / "cifar10").mkdir(parents=True)
    monkeypatch.setenv("SUPERNETIC_DATA", f"nowhere:{tmp_path / 'own'}")
    assert locate(CIFAR) == tmp_path / "own" / "cifar10"
