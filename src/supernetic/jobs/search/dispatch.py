"""`search`: from images and budgets to finished models; or the same search on a benchmark table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...runs.trust import opens_runs
from .table_search import search_table

if TYPE_CHECKING:
    from ...benchmarks import Table
    from ..train.prepare import Watch


@opens_runs
def search(
    data: str | Path | None = None,
    *,
    table: str | Path | Table | None = None,
    out: str | Path | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] | None = None,
    watch: Watch | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    trust_code: bool = False,
    **settings: Any,
) -> Any:
    """From images and limits to finished models; `settings` are those of `images.request.Request`.

        supernetic.search("photos/", where=["macs<=20M"], minutes=60)

    With a `table`, the same search on measurements: `settings` are those of `tabular.search_table`.
    """
    if table is None:
        from .job import search_images
        from .request import Request

        request = Request("embedded" if data is None else data, **settings)
        return search_images(request, out=out, dry_run=dry_run, tell=tell, watch=watch, progress=progress)
    if data is not None:
        raise InputError(f"a search is on images or on a table, got data={str(data)!r} and table={str(table)!r}")
    if dry_run:
        raise InputError("a search on a table takes seconds: it has no dry run")
    lines = (lambda generation: tell(str(generation))) if tell else None
    return search_table(table, out=out, progress=lines, **settings)
