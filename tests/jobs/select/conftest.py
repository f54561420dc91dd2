from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.jobs.select.job import select

RECIPE = 'length = "1 epoch"\nbatch_size = 64\noptimiser = "adam"\nsmoothing = 0.999\n'


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A tiny choice among three models."""
    recipe = tmp_path_factory.mktemp("recipes") / "short.toml"
    recipe.write_text(RECIPE)
    return {
        "models": "logistic,mlp:width=8,depth=1,convnet:width=2,depth=1",
        "sizes": "40,80,160,320",
        "seeds": 1,
        "recipe": recipe,
        "limit": 600,
    }


@pytest.fixture(scope="session")
def finished(asked: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its run."""
    out = tmp_path_factory.mktemp("select") / "run"
    select(**asked, workers=1, out=out)
    return out
