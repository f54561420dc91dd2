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
from ..search.choose_space import AUTO, MIN_RESOLUTION, SMALL_RESOLUTION
from ..train.fit_space import fit_space, given_settings

if TYPE_CHECKING:
    from ...datasets import Dataset

SMALL_IMAGE_SPACE = "macro:channels=4,head=160"  # scalenet's five strides would leave nothing of small images
DEFAULT_WIDTH = 0.25  # of the channels in Table 1
LARGEST_STAGE_RATIO = 1.5  # resolution of the largest searched stage over the base's, about; it should be the data's
SMOOTH_RESOLUTION = 112  # pixels: above, every resolution scales smoothly
MAX_RESOLUTION_RATIO = 1.3  # over the data's resolution, within which a smoother one is looked for
MEASURED_BASES = 3  # base models by which the growth of costs is measured


def scaled_space(
    text: str, dataset: Dataset, stages: int, budget: float | None, seed: int = 0
) -> tuple[str | Space, Budgets, list[str]]:
    """The space of a family, and its budgets.

    Args:
        text: The space of base models, or `auto`.
        dataset: The images.
        stages: Searched stages beyond the base.
        budget: MACs of the base; None: near the mean of random base models.
        seed: Of the random base models.

    Returns:
        The space or its text, its budgets, and notes on settings that were filled in.
    """
    notes = []
    if text == AUTO:
        resolution = max(MIN_RESOLUTION, ceil(dataset.resolution / LARGEST_STAGE_RATIO))
        text = f"{SMALL_IMAGE_SPACE},resolution={resolution}" if dataset.resolution <= SMALL_RESOLUTION else "scalenet"
        notes.append(f"{text}, for images of {dataset.resolution} pixels; --space takes another")
    if isinstance(catalog.space(text), ScaleNet):
        text, more = _scalenet(text, dataset, stages)
        scalenet, _ = fit_space(text, dataset)
        assert isinstance(scalenet, ScaleNet)
        budgets = budgets_for(scalenet.base, scalenet.stages, budget, seed=seed)
        return text, budgets, [*notes, *more, str(budgets)]
    base, more = fit_space(text, dataset)
    budgets = budgets_for(base, stages, budget, seed=seed)
    lists = lists_for(base, budgets, seed=seed)
    return base * lists.strategies, budgets, [*notes, *more, str(budgets), *str(lists).splitlines()]


def _scalenet(text: str, dataset: Dataset, stages: int) -> tuple[str, list[str]]:
    """ScaleNet's text, completed by width, resolution and stages; and notes."""
    given = given_settings(text)
    notes, settings = [], [item for item in text.partition(":")[2].split(",") if item]
    if "stages" not in given:
        settings.append(f"stages={stages}")
    if "width" not in given:
        settings.append(f"width={DEFAULT_WIDTH}")
        notes.append(f"channels are {DEFAULT_WIDTH:g} of the paper's; --space scalenet:width=1 has all")
    if "resolution" not in given:
        resolution, why = _resolution(catalog.space(f"scalenet:{','.join(settings)}"), dataset.resolution)
        settings.append(f"resolution={resolution}")
        notes += why
    return f"scalenet:{','.join(settings)}", notes


def _resolution(space: Space, resolution: int) -> tuple[int, list[str]]:
    """The resolution near the data's at which the costs of the stages are nearest to 2^j: small maps grow by pixels."""
    assert isinstance(space, ScaleNet)
    if resolution >= SMOOTH_RESOLUTION:
        return resolution, []
    growths = {s: _growth(space, s) for s in range(resolution, ceil(MAX_RESOLUTION_RATIO * resolution) + 1)}
    best = min(growths, key=lambda s: (round(_off(growths[s]), 2), s))
    shown = ", ".join(f"{g:.1f}" for g in growths[best][1:])
    return best, [f"base models see images of {best} pixels; the stages' networks cost {shown} times their base"]


def _growth(space: ScaleNet, resolution: int) -> tuple[float, ...]:
    fitted = replace(space, resolution=resolution, classes=10)
    archs = fitted.base.sample(np.random.default_rng(0), MEASURED_BASES, depth_uniform=True)
    return growth_of(blueprints_of(fitted.base, archs), fitted.strategies)


def _off(growth: tuple[float, ...]) -> float:
    return max(abs(g / 2.0**j - 1) for j, g in enumerate(growth))
