"""`search`: from images and budgets to finished models; or the same search on a benchmark table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .front import SearchResult
from .tabular import search_table

if TYPE_CHECKING:
    from ..benchmarks import Table
    from .images.found import Found


def search(
    data: str | Path | None = None, *, table: str | Path | Table | None = None, **settings: Any
) -> Found | SearchResult:
    """Search on images: see `images.job.search_images`. With a `table`, on measurements: see `tabular.search_table`."""
    if table is not None:
        if data is not None:
            raise InputError(f"a search is on images or on a table, got data={str(data)!r} and table={str(table)!r}")
        return search_table(table, **settings)
    from .images.job import search_images

    return search_images("embedded" if data is None else data, **settings)
