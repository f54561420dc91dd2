"""`read_request`: the arguments of a job from a TOML file, as `--dry-run --save FILE` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UnknownNameError
from ..jobs.request import Request
from ..jobs.request_file import read_request_file
from ..jobs.scale.request import ScaleRequest
from ..jobs.search.request import SearchRequest
from ..jobs.search.table_search import TableSearchRequest

JOBS: Mapping[str, Mapping[str, type[Request]]] = {
    "search": {"": SearchRequest, "table": TableSearchRequest},
    "scale": {"": ScaleRequest},
}


def read_request(file: str | Path, job: str = "search", *, trust_code: bool = False) -> dict[str, Any]:
    """Read the request of a search, or of another job, from a TOML file.

        supernetic.search(**supernetic.read_request("mine.toml"), out="runs/mine")

    Args:
        file: The file; docs/search.md says what it holds.
        job: The job that it is for: `search` or `scale`. A file with a `table` is for `search_table`.
        trust_code: Whether a file that lies in a run directory may name Python code (docs/received-runs.md).

    Returns:
        Arguments for the job's function; files that it names are relative to it.
    """
    if job not in JOBS:
        raise UnknownNameError("job of a file", job, JOBS)
    return read_request_file(file, job, JOBS[job], trust_code=trust_code)
