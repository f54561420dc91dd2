from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.pipeline.train import train


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny supernet of NAS-Bench-Macro."""
    path = tmp_path_factory.mktemp("runs") / "macro"
    train("macro:channels=4,side=8,head=16", steps=3, limit=300, out=path)
    return path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it without scores, so that tests do not see one another's."""
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(trained, copy)
    return copy
