from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.datasets import load
from supernetic.evaluators.subset_training import SUBSET_TRAINING, SubsetTrainingEvaluator
from supernetic.jobs.search import score as scoring
from supernetic.jobs.search.job import search
from supernetic.jobs.select.trainings import RECIPE, recipe_for
from supernetic.ranking.ensemble import RANK, RankEnsemble, quality
from supernetic.runs.directory import read_records
from supernetic.runs.files import ENSEMBLE
from supernetic.spaces.macro import Macro


def test_few_images_score_many_networks() -> None:
    dataset = load()
    small = scoring.scoring_images(dataset, 0)
    assert small is dataset  # 800 are few enough
    many = load(valid=3000)
    cut = scoring.scoring_images(many, 0)
    assert len(cut.splits["valid"]) == scoring.MAX_SCORING_IMAGES
    assert np.isin(cut.splits["valid"], many.splits["valid"]).all()
    assert np.array_equal(cut.splits["test"], many.splits["test"])


def test_the_score_is_the_vote_of_what_was_recorded(run: Path) -> None:
    ensemble = RankEnsemble.from_json(json.loads((run / ENSEMBLE).read_text()))
    assert tuple(ensemble.answers) == scoring.PROXIES
    trials = [t["metrics"] for t in read_records(run / "trials.jsonl") if t["status"] == "ok"]
    assert trials
    for metrics in trials:
        assert metrics[RANK] == pytest.approx(ensemble.rank(metrics))
    networks = [r for r in json.loads((run / "networks.json").read_text()) if r["arch"] is not None]
    for record in networks:
        assert record["score"][RANK] == pytest.approx(ensemble.rank(record["score"]))
    assert json.loads((run / "trust.json").read_text())["tau"]["score"] == RANK


def objectives(small: dict[str, Any], **changed: Any) -> tuple[str, ...]:
    planned = search(**{**small, **changed}, dry_run=True)
    assert planned.planned is not None
    return planned.planned.objectives


def test_the_default_follows_from_the_sharing(small: dict[str, Any]) -> None:
    assert objectives(small)[0] == "max proxy/rank_ensemble"
    elastic = {"space": "attentive:resolutions=12+16,width=0.1", "where": []}
    assert objectives(small, **elastic)[0] == "min valid/cross_entropy"


def test_other_votes_can_be_asked_for(small: dict[str, Any]) -> None:
    assert objectives(small, objectives=["max naswot", "min macs"]) == ("max proxy/naswot", "min cost/macs")


def test_trainings_on_a_subset_can_be_asked_for(small: dict[str, Any]) -> None:
    assert objectives(small, objectives=["min subset_training", "min macs"]) == (
        f"min {scoring.SUBSET_TRAINING}",
        "min cost/macs",
    )


def test_a_training_on_a_subset_is_a_score_beside_the_supernets() -> None:
    space, data = Macro(channels=2, resolution=8, classes=10, in_channels=1, head=8), load(limit=100, resolution=8)
    score = scoring.Scoring(space, data, (SUBSET_TRAINING,), 2, {})
    size = len(data.splits["train"]) + len(data.splits["calibrate"])
    alone = SubsetTrainingEvaluator(space, data, recipe_for(RECIPE, size), size, seed=2)
    found = score._subset_training()([(0,) * 8])
    assert found == [{scoring.SUBSET_TRAINING: alone([(0,) * 8])[0]["valid/calibrated_cross_entropy"]}]
    assert (scoring.SUBSET_TRAINING, quality(SUBSET_TRAINING, found[0])) == (
        SUBSET_TRAINING,
        -found[0][SUBSET_TRAINING],
    )
