from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from supernetic.benchmarks import Table, nasbench201
from supernetic.commands.rank.network_scores import (
    LEARNING_RATE,
    PROXY_CHUNK,
    ImageOptions,
    ProxyBatch,
    SubsetSettings,
    SubsetTrainingScore,
    is_proxy,
    is_subset_training,
    missing_last,
    parse_subset,
)
from supernetic.datasets import load
from supernetic.errors import InputError, UnknownNameError
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.subset_training import SubsetTrainingEvaluator
from supernetic.jobs.select.trainings import RATES, RECIPE, recipe_for
from supernetic.progress import Event, ignore
from supernetic.spaces.nasbench201 import NASBench201

SPACE = NASBench201(cells=1, channels=2, resolution=8)


@pytest.fixture(scope="module")
def table() -> Table:
    return replace(nasbench201.load(), space=SPACE)


def test_settings_are_read_from_text() -> None:
    assert is_subset_training("subset")
    assert not is_subset_training("subsets")
    assert parse_subset("subset") == SubsetSettings(1000, 1, int(RECIPE.length.split()[0]), RATES[1])
    assert parse_subset("subset:size=500,seeds=2,metric=accuracy") == SubsetSettings(500, 2, metric="accuracy")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("subset:sise=3", "unknown setting of subset 'sise'"),
        ("subset:size=many", "size must be a whole number"),
        ("subset:seeds=0", "seeds must be positive"),
        ("subset:metric=error", "unknown metric of subset 'error'"),
    ],
)
def test_bad_settings_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_subset(text)


def subset_score(text: str, data: str = "embedded", seed: int = 0) -> SubsetTrainingScore:
    return SubsetTrainingScore(text, parse_subset(text), ImageOptions(data), seed)


def test_rows_get_what_their_trainings_say(table: Table) -> None:
    rows = np.array([7, 5000])
    events: list[Event] = []
    name = "subset:size=40,epochs=1"
    column, remarks = subset_score(name, seed=3).ask(table, rows, events.append)
    assert events == [Event("score", item=name, done=n, total=2) for n in (1, 2)]
    recipe = recipe_for(replace(RECIPE, length="1 epoch"), 40, LEARNING_RATE)
    data = load("embedded", resolution=8, gray=False)
    want = SubsetTrainingEvaluator(SPACE, data, recipe, 40, seed=3)(list(table.take(rows)))
    assert column.values == pytest.approx([-m["valid/calibrated_cross_entropy"] for m in want])
    assert column.split == "valid"
    assert remarks == [f"{name} is valid/calibrated_cross_entropy; lower is better, so its sign is reversed"]
    best, _ = subset_score("subset:size=40,epochs=1,metric=accuracy", seed=3).ask(table, rows[:1])
    assert best.values == pytest.approx([want[0]["valid/accuracy"]])


def test_data_that_do_not_fit_are_refused(table: Table) -> None:
    rows = np.array([7])
    with pytest.raises(InputError, match=r"20 to \d+ images, got 10"):
        subset_score("subset:size=10").ask(table, rows)
    few = replace(table, space=NASBench201(cells=1, channels=2, resolution=8, classes=3))
    with pytest.raises(InputError, match="embedded has 10 classes, networks of nasbench201 have 3"):
        subset_score("subset").ask(few, rows)
    with pytest.raises(UnknownNameError, match="unknown data set 'nowhere'"):
        subset_score("subset", "nowhere").ask(table, rows)


# --- zero-cost proxies ------------------------------------------------------------------------------------------------


def test_names_of_proxies() -> None:
    assert is_proxy("jacov")
    assert is_proxy("proxy/layers")
    assert not is_proxy("macs")


def test_rows_get_their_proxies_and_those_without_a_number_are_last() -> None:
    space = NASBench201(cells=1, channels=4, resolution=8)
    table = replace(nasbench201.load(), space=space)
    rows = np.sort(np.random.default_rng(0).permutation(len(table))[: PROXY_CHUNK + 2])
    rows = np.union1d(rows, table.find(np.zeros((1, 6), np.int8)))  # nothing but `none`
    events: list[Event] = []
    batch = ProxyBatch()
    naswot, layers = batch.add("naswot"), batch.add("proxy/layers")
    answers = [score.ask(table, rows, events.append) for score in (naswot, layers)]
    together = "naswot + proxy/layers"  # the passes of one are those of the other: nothing is measured twice
    assert events == [Event("score", item=together, done=n, total=len(rows)) for n in (PROXY_CHUNK, len(rows))]
    values = answers[0].column.values
    evaluate = ProxyEvaluator(space, load("embedded", resolution=8, gray=False), ("naswot",))
    some = [e["proxy/naswot"] for e in evaluate(list(table.take(rows[:4])))]
    assert values[:4] == pytest.approx([values.min() if isnan(v) else v for v in some])
    assert len(values) == len(rows)
    assert np.isfinite(values).all()
    lost = values == values.min()
    assert 1 <= lost.sum() < 10
    assert answers[1].column.values[lost].tolist() == [0] * lost.sum()
    assert answers[0].remarks == [f"{lost.sum()} of {len(rows)} networks get no number from naswot and are ranked last"]
    assert answers[1].remarks == []


def test_missing_numbers_are_the_least() -> None:
    values, remarks = missing_last([2.0, nan, -3.0], "mine")
    assert values[1] < values[2] == -3 < values[0]
    assert remarks == ["1 of 3 networks get no number from mine and are ranked last"]
    assert missing_last([nan, nan], "mine")[0].tolist() == [0, 0]
    assert missing_last([1.0], "mine")[1] == []


def test_images_are_read_as_the_networks_take_them_unless_something_else_is_asked_for() -> None:
    blueprint = SPACE.blueprint((0,) * len(SPACE.choices))
    data = ImageOptions().load(blueprint, ignore, limit=300)
    assert (data.resolution, data.channels, len(data.splits["valid"])) == (8, 3, 20)
    larger = ImageOptions(image_size=20, valid=50).load(blueprint, ignore, limit=300)
    assert (larger.resolution, larger.channels, len(larger.splits["valid"])) == (20, 3, 50)
