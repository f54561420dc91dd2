from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks import Table, nasbench201
from supernetic.commands.rank.subset_training import (
    RATE,
    Asked,
    is_subset_training,
    parse_subset_training,
    scored_by_subset_training,
)
from supernetic.datasets import load
from supernetic.errors import InputError, UnknownNameError
from supernetic.evaluators.subset_training import SubsetTrainingEvaluator
from supernetic.jobs.select.trainings import RATES, RECIPE, recipe_for
from supernetic.spaces.nasbench201 import NASBench201

SPACE = NASBench201(cells=1, channels=2, resolution=8)


@pytest.fixture(scope="module")
def table() -> Table:
    return replace(nasbench201.load(), space=SPACE)


def test_settings_are_read_from_text() -> None:
    assert is_subset_training("ladder")
    assert not is_subset_training("ladders")
    assert parse_subset_training("ladder") == Asked(1000, 1, int(RECIPE.length.split()[0]), RATES[1])
    assert parse_subset_training("ladder:size=500,seeds=2,metric=accuracy") == Asked(500, 2, metric="accuracy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ladder:sise=3", "unknown setting of ladder 'sise'"),
        ("ladder:size=many", "size must be a number"),
        ("ladder:seeds=0", "seeds must be positive"),
        ("ladder:metric=error", "unknown metric of ladder 'error'"),
    ],
)
def test_bad_settings_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_subset_training(text)


def test_rows_get_what_their_trainings_say(table: Table) -> None:
    rows = np.array([7, 5000])
    seen: list[tuple[int, int]] = []
    asked = {"1": "ladder:size=40,epochs=1"}
    found, remarks = scored_by_subset_training(table, rows, asked, "embedded", 3, progress=lambda *n: seen.append(n))
    assert seen == [(1, 2), (2, 2)]
    recipe = recipe_for(replace(RECIPE, length="1 epoch"), 40, RATE)
    data = load("embedded", resolution=8, gray=False)
    want = SubsetTrainingEvaluator(SPACE, data, recipe, 40, seed=3)(list(table.take(rows)))
    assert found["1"].values[rows] == pytest.approx([-m["valid/calibrated_cross_entropy"] for m in want])
    assert np.isfinite(found["1"].values).sum() == len(rows)
    assert found["1"].split == "valid"
    assert remarks == ["ladder:size=40,epochs=1 is valid/calibrated_cross_entropy, less is better: its sign is turned"]
    best, _ = scored_by_subset_training(
        table, rows[:1], {"1": "ladder:size=40,epochs=1,metric=accuracy"}, "embedded", 3
    )
    assert best["1"].values[7] == pytest.approx(want[0]["valid/accuracy"])


def test_data_that_do_not_fit_are_refused(table: Table, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"20 to \d+ images, got 10"):
        scored_by_subset_training(table, np.array([7]), {"1": "ladder:size=10"}, "embedded", 0)
    few = replace(table, space=NASBench201(cells=1, channels=2, resolution=8, classes=3))
    with pytest.raises(InputError, match="embedded has 10 classes, networks of nasbench201 have 3"):
        scored_by_subset_training(few, np.array([7]), {"1": "ladder"}, "embedded", 0)
    with pytest.raises(UnknownNameError, match="unknown data set 'nowhere'"):
        scored_by_subset_training(table, np.array([7]), {"1": "ladder"}, "nowhere", 0)
