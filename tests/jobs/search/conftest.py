"""A search so small that it takes seconds, run once for all tests that only read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from supernetic.jobs.search.job import search
from supernetic.jobs.search.result import SearchResult

SMALL: dict[str, Any] = {
    "space": "macro:channels=4,resolution=8,head=16",
    "where": ["macs<=60K"],
    "steps": 12,
    "network_steps": 8,
    "population": 6,
    "generations": 4,
    "keep": 3,
    "limit": 400,
    "workers": 1,
    "threads": 1,
}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    """A finished run."""
    found = search(**SMALL, out=tmp_path_factory.mktemp("search") / "run")
    assert isinstance(found, SearchResult)
    return found


@pytest.fixture
def run(finished: SearchResult) -> Path:
    """Its directory."""
    return Path(finished.run)


@pytest.fixture
def small() -> dict[str, Any]:
    """Its settings."""
    return SMALL
