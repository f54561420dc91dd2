from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic.datasets import Dataset, load


@pytest.fixture(scope="session")
def embedded() -> Dataset:
    return load("embedded")


@pytest.fixture
def folder(tmp_path: Path, embedded: Dataset) -> Path:
    """Two classes of twelve real images each, 28x28 gray PNG."""
    root = tmp_path / "clothes"
    for label, name in enumerate(("coat", "bag")):
        (root / name).mkdir(parents=True)
        for i, row in enumerate(np.flatnonzero(embedded.labels == (4, 8)[label])[:12]):
            Image.fromarray(embedded.images[row, ..., 0]).save(root / name / f"{i:02}.png")
    return root


@pytest.fixture
def sheets() -> Path:
    path = Path(__file__).parents[3] / "shared" / "data"
    if not path.is_dir():
        pytest.skip("../shared/data is not here")
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for the whole session, apart from the user's."""
    monkeypatch.setenv("SUPERNETIC_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
