"""The networks themselves: drawings, layers, and what became of stabilisers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runs.view import Model, RunView
from ..drawing import draw, layer_rows
from ..summary_text import percent, show
from .section import Fact


def drawings(run: RunView) -> dict[str, Any]:
    """The models as blocks."""
    drawn = [(m, _card(m), draw(m.blueprint)) for m in run.chosen if m.blueprint is not None]
    return {"drawings": drawn} if drawn else {}


def _card(model: Model) -> str:
    """A line under a drawing's name."""
    facts = [f"{show('cost/macs', model.macs)} MACs", f"{show('cost/params', model.params)} parameters"]
    facts += [show("latency/ms", model.latency)] if model.latency is not None else []
    facts += [f"{percent(model.accuracy)} on test images"] if model.accuracy is not None else []
    return ", ".join(facts)


def folds(run: RunView) -> dict[str, Any]:
    """How stabilisers were folded into their neighbours."""
    found = [(m.name, m.fold, _removals(m.fold)) for m in run.models if m.fold]
    return {"folds": found} if found else {}


def _removals(fold: Mapping[str, Any]) -> list[Fact]:
    """(stabiliser, what became of it)."""
    return [
        (
            str(r["layer"]),
            str(r["how"]) + (f", condition {r['condition']:.3g}" if r.get("condition") is not None else ""),
        )
        for r in fold.get("removals", ())
    ]


def layers(run: RunView) -> dict[str, Any]:
    """Every network layer by layer."""
    found = [(m, layer_rows(m.blueprint)) for m in run.models if m.blueprint is not None]
    return {"layers": found} if found else {}
