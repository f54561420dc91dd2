"""A linear head on features of a frozen network; tests/jobs/transfer/test_job.py has whole runs."""

import numpy as np
import torch
import torch.nn.functional as F

from supernetic.datasets import load
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.networks.heads import _Fits, chosen_rows, features_of, with_head
from supernetic.nn.network import build


def test_features_are_what_the_classifier_reads() -> None:
    network = build(EfficientNetLite(width=0.25).network(4, 3, 32), seed=0).eval()
    x = torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        features = features_of(network, x)
        new = with_head(network, torch.ones(2, 1280), torch.tensor([0.0, 1.0]))
        expected = features.sum(1)
        assert torch.allclose(new.eval()(x), torch.stack([expected, expected + 1], 1), rtol=1e-4)
        assert torch.equal(network(x), F.linear(features, *network.get_classifier().parameters()))


def test_some_images_are_chosen_at_random() -> None:
    dataset = load("embedded", limit=200)
    rows = chosen_rows(dataset, 20, seed=1)
    assert len(set(rows)) == 20
    assert set(rows) <= set(dataset.splits["train"])
    assert np.array_equal(rows, chosen_rows(dataset, 20, seed=1))
    assert len(chosen_rows(dataset, 10_000, seed=1)) == len(dataset.splits["train"])


def test_validation_images_of_the_data_are_what_is_held_out() -> None:
    dataset = load("embedded", limit=300, valid=0.2, calibrate=0)
    rows = chosen_rows(dataset, 40, seed=1, with_valid=True)
    assert np.isin(rows, dataset.splits["train"]).sum() == 40
    assert np.isin(rows, dataset.splits["valid"]).sum() == 10


def test_the_fitted_head_is_at_the_minimum() -> None:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(3, 2, (60, 5))).float()
    y = F.one_hot(torch.from_numpy(rng.integers(0, 3, 60)), 3).float()
    fits = _Fits(x, x, y)
    weight, bias = fits.fit(torch.ones(60, dtype=torch.bool), 0.1, mirrored=True)
    scaled = (weight * fits.std).requires_grad_()
    shift = (bias + weight @ fits.mean).requires_grad_()
    loss = F.cross_entropy(F.linear(fits.plain, scaled, shift), y) + 0.1 * scaled.square().sum() / 3
    loss.backward()  # type: ignore[no-untyped-call]
    assert scaled.grad is not None
    assert shift.grad is not None
    assert max(float(scaled.grad.abs().max()), float(shift.grad.abs().max())) < 1e-4
