from __future__ import annotations

import os
from pathlib import Path

import pytest

from supernetic.datasets.known import KNOWN, find, locate, places
from supernetic.errors import DataError

CIFAR = next(k for k in KNOWN if k.name == "cifar10")


def test_places_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUPERNETIC_DATA", raising=False)
    assert find(CIFAR) is None
    with pytest.raises(DataError, match=r"cifar10 is not in data/cifar10: fetch it with: supernetic data get"):
        locate(CIFAR)
    (tmp_path / "data" / "cifar-10").mkdir(parents=True)
    assert locate(CIFAR) == Path("data/cifar-10")
    (tmp_path / "own" / "cifar10").mkdir(parents=True)
    monkeypatch.setenv("SUPERNETIC_DATA", f"nowhere{os.pathsep}{tmp_path / 'own'}")
    assert locate(CIFAR) == tmp_path / "own" / "cifar10"
    assert places() == [Path("nowhere"), tmp_path / "own", Path("data")]


def test_no_folder_beside_the_own_one_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "shared" / "data" / "cifar10").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("SUPERNETIC_DATA", raising=False)
    assert places() == [Path("data")]
    assert find(CIFAR) is None
