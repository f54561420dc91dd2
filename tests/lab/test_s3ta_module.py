from math import exp, sqrt

import pytest
import torch
from torch import Tensor

from supernetic.blueprint import Blueprint, Layer
from supernetic.lab.s3ta_module import S3TA, build_s3ta, spatial_basis
from supernetic.nn.run import Regularisation

EXTRACTOR = Blueprint(
    (
        Layer("a", "conv", 2, 6, 10, 5, 3, 2, act="relu"),
        Layer("b", "conv", 6, 6, 5, 5, 3, act="relu"),
    )
)


def small(seed: int = 0) -> S3TA:
    return build_s3ta(EXTRACTOR, 4, steps=8, heads=3, state=7, seed=seed)


def images(n: int = 3) -> Tensor:
    return torch.randn(n, 2, 10, 10, generator=torch.Generator().manual_seed(0))


def test_masks_sum_to_one_and_steps_differ() -> None:
    steps = list(small().attend(images()))
    assert len(steps) == 8
    for step in steps:
        assert step.masks.shape == (3, 3, 5, 5)
        assert (step.masks >= 0).all()
        torch.testing.assert_close(step.masks.sum((2, 3)), torch.ones(3, 3))
    for i in range(8):
        for j in range(i):
            assert (steps[i].masks - steps[j].masks).abs().max() > 1e-6
            assert (steps[i].state - steps[j].state).abs().max() > 1e-6


def test_heads_and_images_see_different_things() -> None:
    masks = next(small().attend(images())).masks
    assert (masks[:, 0] - masks[:, 1]).abs().max() > 1e-5
    assert (masks[0] - masks[1]).abs().max() > 1e-5


def test_a_mask_is_the_softmax_of_keys_and_query() -> None:
    """One image and head, number by number."""
    network = small().eval()
    with torch.no_grad():
        found = network.extractor(images(1))[0].reshape(6, 25).tolist()
        query = network.ask(network.start[:1]).view(3, -1)[1].tolist()
        mask = next(network.attend(images(1))).masks[0, 1].flatten().tolist()
    basis = spatial_basis(5).tolist()
    keys = [[*(found[c][p] for c in range(3)), *(row[p] for row in basis)] for p in range(25)]
    scores = [exp(sum(q * k for q, k in zip(query, key, strict=True)) / sqrt(28)) for key in keys]
    assert mask == pytest.approx([s / sum(scores) for s in scores], rel=1e-4)


def test_gradients_reach_everything() -> None:
    network = small()
    network(images()).square().sum().backward()
    for name, p in network.named_parameters():
        assert p.grad is not None, name
        assert p.grad.abs().sum() > 0, name


def test_logits_depend_on_the_number_of_steps() -> None:
    network = small().eval()
    logits = []
    for steps in (1, 2, 8):
        network.steps = steps
        logits.append(network(images()))
    assert (logits[0] - logits[1]).abs().max() > 1e-5
    assert (logits[1] - logits[2]).abs().max() > 1e-5
    assert logits[0].shape == (3, 4)


def test_dropout_only_where_asked_for() -> None:
    network = small().eval()
    assert torch.equal(network(images()), network(images()))
    assert not torch.equal(network(images(), Regularisation(dropout=0.5)), network(images()))


def test_a_seed_gives_the_same_weights_and_leaves_torch_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two, other = small().state_dict(), small().state_dict(), small(1).state_dict()
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(t, two[n]) for n, t in one.items())
    assert not torch.equal(one["start"], other["start"])
    assert not torch.equal(one["extractor.a.conv.op.weight"], other["extractor.a.conv.op.weight"])


@pytest.mark.parametrize("resolution", [1, 3, 7, 12])
def test_the_basis_tells_places_apart(resolution: int) -> None:
    basis = spatial_basis(resolution)
    waves = min(resolution, 8)
    assert basis.shape == (waves**2, resolution**2)
    product = basis @ basis.T
    torch.testing.assert_close(product, torch.diag(product.diag()), atol=1e-4, rtol=0)
    assert len({tuple(column) for column in basis.T.tolist()}) == resolution**2
