"""The end of a search: the chosen networks and their controls are trained, quantised, tested, judged and exported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...progress import OnEvent
from ...runs.files import EXPORTED, NETWORKS, QUANTISED, TRAINED_NETWORKS, TRUST
from ..job import Step
from ..time_plan import NETWORK_RECIPE
from .comparison import COMPARE, EXPORT, JUDGE, QUANTISE, TEST, Comparison
from .export import export_models
from .quantise import quantise_models
from .test import judge, test_networks
from .train import train_networks

if TYPE_CHECKING:
    from ...training.recipe import Recipe


def comparison_steps(comparison: Comparison, send: OnEvent, finish: Step | None = None) -> list[Step]:
    """The end of a search: train, quantise, test, judge and export the networks.

    Args:
        comparison: The networks, and how they are trained.
        send: Receives progress.
        finish: A step between training and testing, in which some networks are trained further.

    Returns:
        The steps.
    """
    quantise = Step(QUANTISE, QUANTISED, lambda run: quantise_models(comparison, run, send))
    return [
        Step(COMPARE, TRAINED_NETWORKS, lambda run: train_networks(comparison, run, send)),
        *([] if finish is None else [finish]),
        *([quantise] if comparison.int8 else []),
        Step(TEST, NETWORKS, lambda run: test_networks(comparison, run, send)),
        Step(JUDGE, TRUST, lambda run: judge(comparison, run)),
        Step(EXPORT, EXPORTED, lambda run: export_models(run, send)),
    ]


def network_recipe(file: str | Path | Mapping[str, object] | None) -> Recipe:
    """The recipe of finished networks.

    Args:
        file: A TOML file, or what one would hold; None: the default recipe.

    Returns:
        The recipe. One with a sampler is refused.
    """
    from ...training.recipe import read_recipe, recipe

    table = NETWORK_RECIPE if file is None else file
    chosen = recipe(table) if isinstance(table, Mapping) else read_recipe(table)
    if chosen.sampler is not None:
        what = "retrain_recipe" if isinstance(file, Mapping) else str(file)
        raise InputError(f"{what}: a finished network has no paths, but the recipe has a sampler")
    return chosen
