"""The space that a family is searched in and its budgets, fitted to the data.

`scalenet` brings the paper's own lists of strategies (Table 2); for every other space of chains lists are made as in
the paper's appendix E (`scaling.lists`).
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ... import catalog
from ...scaling.budgets import Budgets, budgets_for
from ...scaling.lists import growth_of, lists_for
from ...scaling.macs import blueprints_of
from ...space import Space
from ...spaces.scalenet import ScaleNet
from ..search.choose_space import AUTO, MIN_RESOLUTION, SMALL
from ..train.fit_space import fit_space, said_in

if TYPE_CHECKING:
    from ...datasets import Dataset

MACRO = "macro:channels=4,head=160"  # for small images, which scalenet's five strides would leave nothing of
WIDTH = 0.25  # of Table 1's channels, unless said otherwise
FINER = 1.5  # times the base's side that the largest searched stage has, about: there it should be the data's own
LARGE = 112  # sides from which on every resolution scales smoothly
MORE = 1.3  # times the data's side, at most, that a smoother one is looked for
BASES = 3


def scaled_space(
    text: str, dataset: Dataset, stages: int, budget: float | None, seed: int = 0
) -> tuple[str | Space, Budgets, list[str]]:
    """The space or its text, its budgets, and notes on what was left open."""
    notes = []
    if text == AUTO:
        resolution = max(MIN_RESOLUTION, ceil(dataset.resolution / FINER))
        text = f"{MACRO},resolution={resolution}" if dataset.resolution <= SMALL else "scalenet"
        notes.append(f"{text}, for images of {dataset.resolution} pixels; say --space for another")
    if isinstance(catalog.space(text), ScaleNet):
        text, more = _scalenet(text, dataset, stages)
        made, _ = fit_space(text, dataset)
        assert isinstance(made, ScaleNet)
        budgets = budgets_for(made.base, made.stages, budget, seed=seed)
        return text, budgets, [*notes, *more, str(budgets)]
    base, more = fit_space(text, dataset)
    budgets = budgets_for(base, stages, budget, seed=seed)
    lists = lists_for(base, budgets, seed=seed)
    return base * lists.strategies, budgets, [*notes, *more, str(budgets), *str(lists).splitlines()]


def _scalenet(text: str, dataset: Dataset, stages: int) -> tuple[str, list[str]]:
    """ScaleNet's text with what it leaves open of width, side and stages; and notes."""
    said = said_in(text)
    notes, settings = [], [item for item in text.partition(":")[2].split(",") if item]
    if "stages" not in said:
        settings.append(f"stages={stages}")
    if "width" not in said:
        settings.append(f"width={WIDTH}")
        notes.append(f"channels are {WIDTH:g} of the paper's; say --space scalenet:width=1 for all")
    if "resolution" not in said:
        resolution, why = _resolution(catalog.space(f"scalenet:{','.join(settings)}"), dataset.resolution)
        settings.append(f"resolution={resolution}")
        notes += why
    return f"scalenet:{','.join(settings)}", notes


def _resolution(space: Space, resolution: int) -> tuple[int, list[str]]:
    """Small maps grow by whole pixels: of the sides near the data's, the one whose stages cost most nearly 2^j."""
    assert isinstance(space, ScaleNet)
    if resolution >= LARGE:
        return resolution, []
    growths = {s: _growth(space, s) for s in range(resolution, ceil(MORE * resolution) + 1)}
    best = min(growths, key=lambda s: (round(_off(growths[s]), 2), s))
    shown = ", ".join(f"{g:.1f}" for g in growths[best][1:])
    return best, [f"base models see images of {best} pixels; the stages' networks cost {shown} times their base"]


def _growth(space: ScaleNet, resolution: int) -> tuple[float, ...]:
    fitted = replace(space, resolution=resolution, classes=10)
    archs = fitted.base.sample(np.random.default_rng(0), BASES, depth_uniform=True)
    return growth_of(blueprints_of(fitted.base, archs), fitted.strategies)


def _off(growth: tuple[float, ...]) -> float:
    return max(abs(g / 2.0**j - 1) for j, g in enumerate(growth))
