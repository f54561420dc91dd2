from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.calibration import accuracy
from supernetic.errors import RunError
from supernetic.jobs.select.trainings import RECIPE, SubsetTraining, read_outcome, recipe_for, train_subsets, work
from supernetic.model_names import parse_model
from supernetic.networks.pool import dataset_of
from supernetic.networks.training import logits_of, training
from supernetic.selection.scores import losses
from supernetic.selection.subsets import take_subset

LOADING: dict[str, Any] = {"source": "embedded", "limit": 400, "resolution": 8}


def asked(**changed: Any) -> SubsetTraining:
    data = dataset_of(LOADING)
    recipe = replace(recipe_for(RECIPE, 100), length="2 epochs")
    made = SubsetTraining(
        parse_model("convnet:width=2,depth=1", 10, 1, 8), recipe, 100, 1, "test", False, LOADING, data.fingerprint
    )
    return replace(made, **changed)


def test_scores_are_those_of_the_trained_network(tmp_path: Path) -> None:
    one = asked()
    steps: list[tuple[int, int, int]] = []
    (found,) = train_subsets([one], tmp_path, 1, lambda *at: steps.append(at))
    data = take_subset(dataset_of(LOADING), 100, 1)
    network = one.model.build(1)
    for _ in training(network, 8, data, one.recipe, 1):
        pass
    z, labels = logits_of(network.eval(), 8, data, "test"), data.labels[data.splits["test"]]
    np.testing.assert_allclose(found.images()[1], losses(z, labels), rtol=1e-5)
    np.testing.assert_allclose(found.images()[0], losses(z, labels, found.temperature), rtol=1e-5)
    assert found.metrics["error"] == pytest.approx(100 - accuracy(z, labels))
    assert steps[-1][1:] == (36, 36)
    assert not (found.path / "checkpoints").exists()
    before = {p: p.stat().st_mtime_ns for p in found.path.iterdir()}
    assert train_subsets([one], tmp_path, 1, lambda *_: None)[0] == found
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_everything_that_matters_is_in_the_key() -> None:
    other = parse_model("convnet:width=3,depth=1", 10, 1, 8)
    changes: list[dict[str, Any]] = [
        {}, {"seed": 2}, {"size": 90}, {"on": "valid"}, {"stratified": True}, {"data": "x"}, {"model": other},
        {"recipe": replace(asked().recipe, lr=0.5)}, {"processes": 2},
    ]  # fmt: skip
    keys = [asked(**c).key for c in changes]
    assert len(set(keys)) == len(keys)
    assert asked(recipe=replace(asked().recipe, title="another name")).key == keys[0]


def test_a_training_can_be_sent_to_a_worker() -> None:
    for one in (asked(), asked(model=parse_model("s3ta", 10, 1, 8))):
        assert pickle.loads(pickle.dumps((work, one))) == (work, one)


def test_small_subsets_have_small_batches() -> None:
    assert [recipe_for(RECIPE, n).batch_size for n in (20, 250, 4000, 8000)] == [2, 14, 225, 256]
    assert recipe_for(replace(RECIPE, batch_size=1), 250).batch_size == 1
    assert recipe_for(RECIPE, 250, 0.5).lr == 0.5
    assert recipe_for(RECIPE, 250).length == "15 epochs"


def test_the_batch_of_a_recipe_is_only_cut_to_what_there_is() -> None:
    kept = [recipe_for(RECIPE, n, min_batches=1).batch_size for n in (20, 250, 4000)]
    assert kept == [18, 225, 256]
    assert [recipe_for(RECIPE, n, min_batches=1, processes=2).batch_size for n in (250, 4000)] == [224, 256]
    assert recipe_for(RECIPE, 20, processes=2).batch_size == 4


@pytest.mark.slow
def test_two_processes_share_the_batches_of_a_training(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without BN the mean of both halves' gradients is the gradient of the whole batch."""
    recipe = replace(RECIPE, batch_size=30, length="3 epochs", lr=0.01, ema=0.5)
    one = asked(model=parse_model("mlp:width=8,depth=1", 10, 1, 8), recipe=recipe)
    wild = replace(one.recipe, lr=1e30, schedule="constant", optimiser="sgd")
    steps: list[tuple[int, int, int]] = []
    together = [replace(one, processes=2), replace(one, recipe=wild, processes=2)]
    two, diverged = train_subsets(together, tmp_path, 1, lambda *at: steps.append(at))
    (alone,) = train_subsets([one], tmp_path, 1, lambda *_: None)
    assert two.path != alone.path
    np.testing.assert_allclose(two.images(), alone.images(), rtol=1e-3, atol=1e-4)
    assert (0, 9, 9) in steps
    assert "diverged" in diverged.reason
    assert "Warning" not in capfd.readouterr().err  # torch has much to say about idle weights, of which there are none
    assert not (two.path / "checkpoints").exists()


def test_what_diverges_says_so_and_has_no_scores(tmp_path: Path) -> None:
    wild = asked(recipe=replace(asked().recipe, lr=1e30, schedule="constant", optimiser="sgd"))
    (found,) = train_subsets([wild], tmp_path, 1, lambda *_: None)
    assert "diverged" in found.reason or "not finite" in found.reason
    assert np.isnan(found.metrics["error"])


def test_other_data_and_torn_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is of other data than"):
        train_subsets([asked(data="other")], tmp_path, 1, lambda *_: None)
    (tmp_path / "result.json").write_text(json.dumps({"metrics": {}}))
    with pytest.raises(RunError, match="holds no finished training"):
        read_outcome(tmp_path)
