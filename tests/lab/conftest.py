from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.lab.job import study

TINY = """
title = "Tiny <study>"
source = "ours"
seeds = [0, 1]
[base]
space = "macro:channels=4,resolution=8,head=16"
limit = 300
recipe = { length = "6 steps", batch_size = 16, lr = 0.1 }
[measure]
kind = "ranking"
truth = "mean_acc"
valid = 20
random = 20
sizes = [5, 10]
points = 20
[grid.stabiliser]
none = {}
identity = { stabiliser = "skip:identity" }
[[claims]]
text = "a stabiliser helps"
metric = "tau@random"
variant = "identity"
above = "none"
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The file of a tiny study."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of that study, done without interruption; not to be changed."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "tiny.toml").write_text(TINY)
    study(folder / "tiny.toml", out=folder / "tiny")
    return folder / "tiny"
