"""How training went: the supernet's loss, and that of the networks together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...runs.view import SUPERNET_CURVE, Curve, RunView
from .. import svg as plots
from ..summary_text import capital, count, missing
from .section import some_went_on

CURVE_POINTS = 400  # points of a curve that are drawn, at most


def training(run: RunView) -> dict[str, Any]:
    """The curves."""
    curves = list(_curves(run))
    return {"curves": curves} if curves else {}


def _curves(run: RunView) -> Iterator[tuple[str, str]]:
    """(caption, plot): the supernet's loss, and that of the networks together."""
    own = [c for c in run.curves if c.name == SUPERNET_CURVE]
    rest = [c for c in run.curves if c.name != SUPERNET_CURVE]
    if own:
        svg = plots.lines([_line(own[0], "first")], "step", "training loss", "training loss of the supernet")
        so_far = " so far" if "train" in missing(run) else ""
        yield f"The supernet: {own[0].steps[-1]:,} steps{so_far}, loss {own[0].losses[-1]:.4g}.", svg
    if rest:
        series = [_line(c, "first" if (m := run.model(c.name)) and m.chosen else "second") for c in rest]
        svg = plots.lines(series[::-1], "step", "training loss", "training loss of the networks")
        last = " Of those that went on after the first round, it is the last training." if some_went_on(run) else ""
        yield (
            f"{capital(count(len(rest), 'network'))} by the same recipe: models in colour, all others in grey.{last}",
            svg,
        )


def _line(curve: Curve, style: str) -> plots.Line:
    every = -(-len(curve.steps) // CURVE_POINTS)
    return plots.Line(curve.name, curve.steps[::every], curve.losses[::every], style)
