from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.errors import InputError
from supernetic.jobs.select.settled import SettledRecipe, describe, settle
from supernetic.jobs.select.trainings import MIN_BATCHES, PRETRAINED_RATES, RATES, RECIPE

SMALL_DATA = Path(__file__).parents[3] / "recipes/small-data-adam.toml"


def test_without_a_file_select_decides() -> None:
    assert settle(None, None) == SettledRecipe(RECIPE, RATES, MIN_BATCHES)
    assert settle(None, None).batches((20, 250, 4000, 8000)) == (2, 14, 225, 256)
    assert settle(None, None).notes((20, 250)) == []
    assert settle(None, (0.5, 0.5)).rates == (0.5,)


def test_a_file_decides_what_it_names(tmp_path: Path) -> None:
    settled = settle(SMALL_DATA, None)
    assert (settled.rates, settled.batches((250, 1000))) == ((3e-4,), (225, 256))
    assert settled.notes((250, 1000)) == ["the recipe's batch of 256 is cut to 225 on subsets of 250 images"]
    assert settled.notes((1000, 2000)) == []
    assert settle(SMALL_DATA, (1e-3, 3e-3)).rates == (1e-3, 3e-3)
    longer = tmp_path / "longer.toml"
    longer.write_text('length = "30 epochs"\n')
    assert settle(longer, None).rates == RATES
    assert settle(longer, None).min_batches == MIN_BATCHES


def test_a_record_says_what_select_did_not_decide_itself() -> None:
    """The others are as they were, so that runs from before go on."""
    assert set(settle(None, None).settings()) == {"recipe", "rates"}
    kept = settle(SMALL_DATA, None, 2).settings()
    assert (kept["rates"], kept["min_batches"], kept["processes"]) == ([3e-4], 1, 2)


def test_pretrained_models_try_smaller_rates_unless_the_user_says_which(tmp_path: Path) -> None:
    assert settle(None, None).pretrained_rates == PRETRAINED_RATES
    assert max(PRETRAINED_RATES) <= min(RATES)
    assert settle(None, RATES).pretrained_rates == RATES
    assert settle(SMALL_DATA, None).pretrained_rates == (3e-4,)


def test_a_supernets_recipe_is_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "supernet.toml"
    recipe.write_text('sampler = "uniform"\n')
    with pytest.raises(InputError, match="the recipe must have no sampler"):
        settle(recipe, None)


def test_rates_and_batches_are_told() -> None:
    assert describe({}, (0.1, 0.2), (4, 8), 1) == (
        "learning rate: for each model the best of 0.1 and 0.2; batches of 4 and 8 images"
    )
    assert describe({"a": 0.1, "b": 0.2}, (0.1, 0.2), (8, 8), 1) == "learning rates: a 0.1, b 0.2; batches of 8 images"
    assert describe({"a": 0.1}, (0.1,), (8,), 2) == (
        "learning rate 0.1; batches of 8 images, each shared by 2 processes"
    )
