from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest

from supernetic.datasets.dataset import Dataset
from supernetic.errors import ArchError, InputError, UnknownNameError
from supernetic.evaluators.standalone import StandaloneEvaluator
from supernetic.objective import Objective
from supernetic.runs.directory import open_run
from supernetic.samplers.uniform import Uniform
from supernetic.searchers import SearchProblem, run_search
from supernetic.searchers.random import RandomSearch
from supernetic.spaces.macro import Macro
from supernetic.testing import check_evaluator
from supernetic.training.recipe import Recipe

SPACE = Macro(channels=4, resolution=8, classes=4, in_channels=1, head=16)
RECIPE = Recipe(length="12 steps", batch_size=30, lr=0.2, augment="flip", dropout=0.1)
GOOD = (1, 0, 1, 0, 0, 1, 0, 0)


def evaluator(data: Dataset, **settings: object) -> StandaloneEvaluator:
    return StandaloneEvaluator(SPACE, data, **{"recipe": RECIPE, **settings})  # type: ignore[arg-type]


def test_answers_depend_on_seed_and_architecture_only(blobs: Dataset) -> None:
    check_evaluator(evaluator(blobs), SPACE, n=3)
    assert evaluator(blobs, seed=1)([GOOD]) != evaluator(blobs)([GOOD])


def test_it_learns(blobs: Dataset) -> None:
    short = evaluator(blobs, recipe=Recipe(length="1 step", batch_size=30, lr=1e-6))([GOOD])[0]
    long = evaluator(blobs, recipe=Recipe(length="60 steps", batch_size=30, lr=0.2))([GOOD])[0]
    assert long["valid/cross_entropy"] < short["valid/cross_entropy"] - 0.5
    assert long["valid/accuracy"] > 80


def test_workers_give_the_same_numbers(blobs: Dataset) -> None:
    archs = [GOOD, (2,) * 8, (0,) * 8]
    assert evaluator(blobs, workers=2)(archs) == evaluator(blobs)(archs)


def test_a_search_is_resumed_where_it_stopped(blobs: Dataset, tmp_path: Path) -> None:
    calls: list[int] = []

    class Counting(StandaloneEvaluator):
        def _measure(self, arch: tuple[int, ...]) -> dict[str, float]:
            calls.append(1)
            return super()._measure(arch)

    task = SearchProblem(SPACE, (Objective("valid/cross_entropy", False),), ())
    evaluate = Counting(SPACE, blobs, Recipe(length="2 steps", batch_size=30))
    with open_run(tmp_path / "run", {"job": "test"}) as run:
        first = run_search(RandomSearch(), task, evaluate, run, budget=3, chunk=1)
        again = run_search(RandomSearch(), task, evaluate, run, budget=5, chunk=1)
    assert len(calls) == 5
    assert [t.to_json() for t in again[:3]] == [t.to_json() for t in first]


def test_a_training_that_diverges_gives_no_number(blobs: Dataset) -> None:
    wild = Recipe(length="12 steps", batch_size=30, lr=1e30)
    assert all(isnan(v) for v in evaluator(blobs, recipe=wild)([GOOD])[0].values())


def test_metrics_and_what_is_test(blobs: Dataset) -> None:
    both = evaluator(blobs, metrics=("valid/accuracy", "test/accuracy"))
    assert both.test == {"test/accuracy"}
    assert set(both([GOOD])[0]) == {"valid/accuracy", "test/accuracy"}
    with pytest.raises(UnknownNameError, match="valid/loss"):
        evaluator(blobs, metrics=("valid/loss",))


def test_bad_input_is_named(blobs: Dataset) -> None:
    with pytest.raises(InputError, match="workers must be at least 1, got 0"):
        evaluator(blobs, workers=0)
    with pytest.raises(InputError, match="no sampler"):
        evaluator(blobs, recipe=Recipe(sampler=Uniform()))
    with pytest.raises(ArchError, match="got 3"):
        evaluator(blobs)([(0, 1, 2)])
