"""A search so small that it takes seconds, run once; every test has a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from supernetic.jobs.search.job import search

SMALL: dict[str, Any] = {
    "space": "mixed:channels=4,resolution=8", "where": ["macs<=100K"], "supernet": "no", "network_steps": 8,
    "population": 4, "generations": 2, "keep": 1, "limit": 400, "workers": 1, "threads": 1,
}  # fmt: skip


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a network of the user's own among the controls."""
    folder = tmp_path_factory.mktemp("finish")
    mine = folder / "mine.py"
    mine.write_text(
        "from torch import nn\n\n\ndef build(classes, in_channels, resolution):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(in_channels * resolution**2, classes))\n"
    )
    return Path(search(**SMALL, baselines=[mine], out=folder / "run").run)


@pytest.fixture
def run(searched: Path, tmp_path: Path) -> Path:
    """A copy."""
    shutil.copytree(searched, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def no_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that are not about exports: an ONNX file takes seconds."""
    monkeypatch.setattr("supernetic.exporters.onnx.have_onnx", lambda: False)
