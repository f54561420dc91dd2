"""A detector learns, and an interrupted training ends with the same bytes."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from supernetic.detection.batches import DetectionBatches
from supernetic.detection.detector import DetectorSpec, build_detector
from supernetic.detection.training import BACKBONE_RATE, fit_detector, optimiser_of
from supernetic.errors import DivergedError, InputError
from supernetic.runs.directory import open_run
from supernetic.training.recipe import Recipe

RECIPE = Recipe(length="60 steps", batch_size=2, optimiser="adam", lr=3e-3, smoothing=0.999, ema=0.9)


def test_the_loss_falls(detector: Any, items: Any) -> None:
    batches = DetectionBatches(items["train"], 4, 64)
    losses = [p.loss for p in islice(fit_detector(detector, batches, RECIPE), 24)]
    assert sum(losses[-4:]) < 0.8 * sum(losses[:4])


def test_interrupted_anywhere_it_ends_with_the_same_bytes(
    detector: Any, spec: DetectorSpec, items: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from supernetic.detection import training

    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 2)
    monkeypatch.setattr(training, "LOG_EVERY", 2)
    batches, recipe = DetectionBatches(items["train"], 2, 64), Recipe(**{**vars(RECIPE), "length": "5 steps"})
    with open_run(tmp_path / "whole", {}) as run:
        whole = detector
        list(fit_detector(whole, batches, recipe, run))
    for stop in (1, 3, 4):
        with open_run(tmp_path / "parts", {}) as run:
            list(islice(fit_detector(build_detector(spec), batches, recipe, run), max(1, stop - 2)))
    with open_run(tmp_path / "parts", {}) as run:
        parts = build_detector(spec)
        list(fit_detector(parts, batches, recipe, run))
    assert all(torch.equal(a, parts.state_dict()[n]) for n, a in whole.state_dict().items())
    assert (tmp_path / "whole/metrics.jsonl").read_bytes() == (tmp_path / "parts/metrics.jsonl").read_bytes()


def test_a_body_that_was_learnt_before_moves_slower(detector: Any) -> None:
    detector.backbone.keeps_norms = True
    groups = optimiser_of(detector, RECIPE).param_groups
    assert {g["factor"] for g in groups} == {BACKBONE_RATE, 1.0}
    with pytest.raises(InputError, match="trained with sgd or adam, got optimiser = 'rmsprop'"):
        optimiser_of(detector, Recipe(optimiser="rmsprop"))


def test_a_training_that_diverges_says_so(detector: Any, items: Any) -> None:
    recipe = Recipe(length="20 steps", batch_size=2, lr=1e6)
    with pytest.raises(DivergedError, match="the loss of step"):
        list(fit_detector(detector, DetectionBatches(items["train"], 2, 64), recipe))
