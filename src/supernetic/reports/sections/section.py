"""A section of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...runs.view import RunView
from .. import svg as plots
from ..rendering import render

LEGEND = {
    "chosen": "model",
    "front": "on the front",
    "trial": "other trials",
    "random": "random control",
    "largest": "largest that fits",
    "plain": "plain stack",
    "resnet": "ResNet",
    "mobilenet": "MobileNetV2",
    "candidate": "lost the race",
    "baseline": "your baseline",
    "timm": "pretrained",
}

Fact = tuple[str, str]


@dataclass(frozen=True)
class Section:
    """A part of the page about one question.

    Args:
        name: Its anchor is `section-NAME`, its template `section-NAME.html.j2`.
        link: What the contents call it.
        gather: The values of its template, from the run; nothing if there is nothing to say yet, and the section is
            left out.
    """

    name: str
    link: str
    gather: Callable[[RunView], Mapping[str, Any]]

    def html(self, run: RunView) -> str:
        """The section; nothing if it is left out."""
        values = self.gather(run)
        return render(f"section-{self.name}.html.j2", values) if values else ""


def legend(styles: Iterable[str]) -> list[tuple[str, str, str]]:
    """(style, mark, name) of each kind of point."""
    return [(s, plots.mark(s), LEGEND.get(s, s)) for s in styles]


def some_went_on(run: RunView) -> bool:
    """Whether networks were trained beyond the first round, so that not all were trained alike."""
    return any(m.went_on for m in run.models)
