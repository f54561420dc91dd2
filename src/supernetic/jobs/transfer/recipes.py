"""How pretrained networks are fine-tuned: recipes by name, and the learning rates and weight decays that are tried.

Papers: "AttentiveNAS", appendix G, which follows Kornblith et al., "Do better ImageNet models transfer better?", CVPR
2019; "ScaleNet", appendix A; "SCARLET-NAS", section 5.3.
Differences: the grid of Kornblith et al. (seven rates, and seven decays and none, evenly spaced in logarithms) is not
searched as a whole. Rates are tried first, then decays at the best rate; a time limit cuts both lists. `short` is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, UnknownNameError
from ..time_plan import FINE_TUNING

if TYPE_CHECKING:
    from ...training.recipe import Recipe

RECIPES: Mapping[str, Mapping[str, Any]] = {
    "short": {
        **FINE_TUNING,
        "source": "ours: a few epochs on a CPU (docs/findings/transfer.md)",
        "augment": "zoom+flip",
        "optimiser": "adam",
        "smoothing": 0.999,
        "nesterov": False,
        "lr": 3.16e-4,
    },
    "attentive": {
        "title": "AttentiveNAS, transfer to other data",
        "source": "AttentiveNAS, appendix G: learning rate and weight decay are searched",
        "length": "150 epochs",
        "batch_size": 64,
        "augment": "crop+flip",
        "lr": 0.01,
        "weight_decay": 1e-5,
        "label_smoothing": 0.1,
        "dropout": 0.5,
    },
    "scalenet": {
        "title": "ScaleNet, fine-tuning",
        "source": "ScaleNet: as retraining without averaged weights",
        "length": "300 epochs",
        "batch_size": 256,
        "augment": "crop+flip+randaugment",
        "optimiser": "rmsprop",
        "lr": 0.08,
        "eps": 1e-3,
        "weight_decay": 1e-5,
        "schedule": "step",
        "warmup": "3 epochs",
        "decay_factor": 0.97,
        "decay_every": "2.4 epochs",
    },
    "scarlet": {
        "title": "SCARLET-NAS, transfer to CIFAR-10",
        "source": "SCARLET-NAS, section 5.3; the optimiser is ours",
        "length": "200 epochs",
        "batch_size": 128,
        "augment": "shift+flip+autoaugment-cifar10",
        "lr": 0.025,
        "dropout": 0.3,
    },
}
DEFAULT = "short"
RATES = (1e-3, 3.16e-3, 3.16e-4, 1e-2, 1e-4, 3.16e-2, 1e-1)  # the most promising first
ADAM_RATES = (3.16e-4, 1e-4, 1e-3, 3.16e-5, 3.16e-3, 1e-5, 1e-2)  # likewise: Adam's steps are longer
DECAYS = (1e-4, 0.0, 1e-3, 3.16e-5, 3.16e-4, 1e-6, 3.16e-6)  # beside the recipe's own


def rates_of(recipe: Recipe) -> tuple[float, ...]:
    """Learning rates to try, the most promising first."""
    return ADAM_RATES if recipe.optimiser == "adam" else RATES


def transfer_recipe(name: str | Path | None) -> Recipe:
    """A recipe by name, or from a TOML file.

    Args:
        name: One of `RECIPES`, or a file; None for the default.

    Returns:
        The recipe. One with a sampler is refused.
    """
    from ...training.recipe import read_recipe, recipe

    text = DEFAULT if name is None else str(name)
    if text in RECIPES:
        return recipe(RECIPES[text])
    if not Path(text).exists():
        raise UnknownNameError("recipe", text, RECIPES)
    chosen = read_recipe(text)
    if chosen.sampler is not None:
        raise InputError(f"{text}: a network has no paths, but the recipe has a sampler")
    return chosen
