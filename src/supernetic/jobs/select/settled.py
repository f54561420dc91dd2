"""How models are trained on all subsets: the recipe, the learning rates that are tried, the size of batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...families import CandidateModel
from ...reading import read_toml
from ...reports.summary_text import listed
from ...training.recipe import Recipe, read_recipe
from .trainings import (
    MIN_BATCHES,
    MIN_IMAGES,
    PRETRAINED_RATES,
    RATES,
    RECIPE,
    recipe_for,
    start_of,
    trained_images,
)


@dataclass(frozen=True)
class SettledRecipe:
    """A recipe with all that a subset's training needs besides."""

    recipe: Recipe = RECIPE
    rates: tuple[float, ...] = RATES  # learning rates that are tried; one is taken as it is
    min_batches: int = MIN_BATCHES  # of an epoch: smaller subsets have smaller batches; 1 keeps the recipe's batch
    processes: int = 1  # that share each batch
    pretrained_rates: tuple[float, ...] = PRETRAINED_RATES  # the same for models that begin with pretrained weights

    def __post_init__(self) -> None:
        batch, processes = self.recipe.batch_size, self.processes
        if processes > 1 and (batch % processes or batch < MIN_IMAGES * processes):
            raise InputError(
                f"a batch must divide over {processes} processes, with {MIN_IMAGES} images or more for each, "
                f"got {batch} images"
            )

    def rates_of(self, model: CandidateModel) -> tuple[float, ...]:
        """The learning rates that are tried for a model."""
        return self.pretrained_rates if start_of(model) else self.rates

    def check(self, sizes: Sequence[int]) -> None:
        """Refuse subsets that are too small for the processes."""
        least = trained_images(min(sizes))
        if least < MIN_IMAGES * self.processes:
            raise InputError(
                f"a subset of {min(sizes)} images has {least} to train on, too few for {self.processes} processes"
            )

    def fitted(self, size: int, rate: float | None = None) -> Recipe:
        """The recipe of a subset of `size` images."""
        return recipe_for(self.recipe, size, rate, min_batches=self.min_batches, processes=self.processes)

    def batches(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Images in a batch, for each size."""
        return tuple(self.fitted(size).batch_size for size in sizes)

    def notes(self, sizes: Sequence[int]) -> list[str]:
        """Where a batch that should be kept had to be cut."""
        asked = self.recipe.batch_size
        cut = {n: b for n, b in zip(sizes, self.batches(sizes), strict=True) if b < asked}
        if self.min_batches > 1 or not cut:
            return []
        shown = [f"{b:,}" for b in cut.values()], [f"{n:,}" for n in cut]
        return [f"the recipe's batch of {asked:,} is cut to {listed(shown[0])} on subsets of {listed(shown[1])} images"]

    def starts(self, models: Sequence[CandidateModel]) -> list[str]:
        """Which models begin with pretrained weights, and what is done otherwise for them."""
        origins = {m.name: start_of(m) for m in models if start_of(m)}
        if not origins:
            return []
        others = "the other models begin with random weights" if len(origins) < len(models) else "so do all models"
        tried = listed([f"{rate:g}" for rate in self.pretrained_rates])
        slower = f", for which learning rates of {tried} are tried" if self.pretrained_rates != self.rates else ""
        return [f"{listed(list(origins))} begins with weights learned from other images{slower}; {others}"]

    def settings(self) -> dict[str, Any]:
        """All fields for a run's record; those that select decided itself need no word."""
        kept = {"min_batches": self.min_batches} if self.min_batches != MIN_BATCHES else {}
        several = {"processes": self.processes} if self.processes > 1 else {}
        return {"recipe": self.recipe.settings(), "rates": list(self.rates), **kept, **several}


def settle(file: str | Path | None, rates: Sequence[float] | None, processes: int = 1) -> SettledRecipe:
    """A recipe with its learning rates and batches.

    The rate and the batch that a file names are kept. What it does not name is decided as without a file, because a
    file that only asks for more epochs says nothing about them.

    Args:
        file: The recipe, a TOML file; None for the usual one.
        rates: Learning rates to try; None for the file's own, or the usual ones.
        processes: That share each batch.

    Returns:
        The recipe, checked.
    """
    recipe = RECIPE if file is None else read_recipe(file)
    if recipe.sampler is not None:
        raise InputError(f"{file}: a model has no paths to sample: the recipe must have no sampler")
    named: Mapping[str, Any] = {} if file is None else read_toml(file)
    own = (recipe.lr,) if "lr" in named else RATES
    tried = own if rates is None else tuple(dict.fromkeys(rates))
    smaller = PRETRAINED_RATES if rates is None and "lr" not in named else tried
    return SettledRecipe(recipe, tried, 1 if "batch_size" in named else MIN_BATCHES, processes, smaller)


def describe(rates: Mapping[str, float], tried: Sequence[float], batches: Sequence[int], processes: int) -> str:
    """Learning rates and batches in words.

    Args:
        rates: The learning rate of each model, once it is known.
        tried: All that are tried.
        batches: Images in a batch, by size of the subset.
        processes: That share each batch.

    Returns:
        A line without full stop.
    """
    if len(set(rates.values())) == 1:
        rate = f"learning rate {next(iter(rates.values())):g}"
    elif rates:
        rate = "learning rates: " + ", ".join(f"{m} {r:g}" for m, r in rates.items())
    else:
        rate = f"learning rate: for each model the best of {listed([f'{r:g}' for r in tried])}"
    shared = f", each shared by {processes} processes" if processes > 1 else ""
    sizes = [f"{b:,}" for b in (batches if len(set(batches)) > 1 else batches[:1])]
    return f"{rate}; batches of {listed(sizes)} images{shared}"
