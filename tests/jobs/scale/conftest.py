"""A scaling job so small that it takes seconds, run once for all tests that only read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.commands.resume import resume
from supernetic.jobs.scale.job import scale
from supernetic.jobs.scale.result import Family
from supernetic.progress import Event

SMALL: dict[str, Any] = {
    "space": "macro:channels=4,resolution=8,head=16",
    "stages": 1,
    "extrapolate": 0,
    "steps": 3,
    "network_steps": 2,
    "bases": 1,
    "rounds": 1,
    "population": 2,
    "generations": 2,
    "order": 4,
    "limit": 300,
    "workers": 1,
    "threads": 1,
}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Family:
    """A finished run, which was interrupted in its search and resumed."""
    path = tmp_path_factory.mktemp("scale") / "run"

    def interrupt(event: Event) -> None:
        if "networks evaluated" in event.text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scale(**SMALL, out=path, on_event=interrupt)
    found = resume(path)
    assert isinstance(found, Family)
    return found


@pytest.fixture
def run(finished: Family) -> Path:
    """Its directory."""
    return Path(finished.run)


@pytest.fixture
def small() -> dict[str, Any]:
    """Its settings."""
    return SMALL
