from __future__ import annotations

import numpy as np
import pytest

from supernetic.selection.profiles import DRAW_COUNT, Profiles, interval

from .conftest import SIZES, Make

MODELS = {"a": (0.3, 4.0), "b": (0.5, 4.0), "c": (0.7, 2.0)}


def test_means_and_deviations_are_over_seeds(make: Make) -> None:
    p = make(MODELS)
    cell = p.cells["b", 200].astype(np.float64)
    np.testing.assert_allclose(p.means[:, 1, 1], cell.mean(axis=(1, 2)))
    np.testing.assert_allclose(p.deviations[:, 1, 1], cell.mean(axis=2).std(axis=1, ddof=1))
    assert p.seeds == (3, 3, 2, 2)


def test_the_noise_of_images_is_that_of_a_mean(make: Make) -> None:
    """Without noise of seeds, draws scatter as the mean over images does; what is hard for all moves all alike."""
    p = make(MODELS, seeds=(1, 1, 1, 1), noise=0)
    assert not p.repeated
    own = p.cells["a", 800][0, 0]
    assert p.draws[:, 0, 0, 3].std() == pytest.approx(own.std() / np.sqrt(len(own)), rel=0.06)
    pair = p.cells["a", 800][0, 0] - p.cells["b", 800][0, 0]
    apart = p.draws[:, 0, 0, 3] - p.draws[:, 0, 1, 3]
    assert apart.std() == pytest.approx(pair.std() / np.sqrt(len(pair)), rel=0.06)
    assert apart.std() < 0.6 * p.draws[:, 0, 0, 3].std()


def test_the_noise_of_seeds_is_found_again(make: Make) -> None:
    many = {f"m{i}": (0.3 + i / 10, 4.0) for i in range(12)}
    p = make(many, seeds=(6, 6, 6, 6), noise=0.05, spread=1e-4)
    apart = p.draws[:, 0, 0] - p.draws[:, 0, 1]
    np.testing.assert_allclose(apart.std(axis=0), 0.05 * np.sqrt(2 / 6), rtol=0.25)
    assert p.draws.shape == (DRAW_COUNT, 3, 12, len(SIZES))


def test_one_seed_borrows_from_a_smaller_subset(make: Make) -> None:
    p = make(MODELS, seeds=(4, 4, 1, 1), noise=0.05, spread=1e-4)
    apart = (p.draws[:, 0, 0] - p.draws[:, 0, 1]).std(axis=0)
    assert apart[3] == pytest.approx(2 * apart[1], rel=0.15)


def test_intervals_hold_the_truth_as_often_as_they_say(make: Make) -> None:
    low, high = interval(np.random.default_rng(0).standard_normal(100_000))
    assert (low, high) == pytest.approx((-1.96, 1.96), abs=0.03)
    assert isinstance(make(MODELS), Profiles)
