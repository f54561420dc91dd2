"""What each network gets right and wrong on test images."""

from __future__ import annotations

from typing import Any

from ...runs.view import RunView
from ..diagnostics import network_pages


def diagnostics(run: RunView) -> dict[str, Any]:
    """The pages of all networks whose predictions are kept."""
    pages = network_pages(run.path, run.settings, run.networks)
    return {"diagnosed": pages} if pages else {}
