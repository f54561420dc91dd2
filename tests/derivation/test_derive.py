from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from supernetic import catalog
from supernetic.datasets import load
from supernetic.datasets.dataset import Dataset
from supernetic.derivation.derive import derive
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.networks.training import measure
from supernetic.space import Arch, Space
from supernetic.supernets.supernet import Supernet

FITTED = "classes=10,in_channels=1"
SPACES = [
    f"macro:channels=4,resolution=14,head=16,{FITTED}",
    f"nasbench201:channels=4,resolution=14,cells=1,share_cells=false,{FITTED}",
    f"attentive:resolutions=14,width=0.1,{FITTED}",
    f"scalenet:resolution=14,width=0.1,released=true,{FITTED}",
    f"mixed:channels=4,resolution=14,{FITTED}",
]
METRICS = ("valid/cross_entropy", "valid/accuracy")


@cache
def data(resolution: int = 14) -> Dataset:
    return load("embedded", limit=400, resolution=resolution, valid=100)


def shaken(space: Space, stabiliser: str = "random") -> Supernet:
    """A supernet whose BNs have weights and statistics of their own."""
    net = Supernet(space, seed=1, stabiliser=stabiliser)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, tensor in net.state_dict().items():
            if "norm" in name and tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
            if "classifier" in name:
                tensor.mul_(50)  # otherwise all logits are alike
    return net.eval()


def some(space: Space, n: int = 2) -> list[Arch]:
    return [tuple(row) for row in space.sample(np.random.default_rng(3), n).tolist()]


@pytest.mark.parametrize("text", SPACES, ids=lambda t: t.partition(":")[0])
def test_the_derived_network_scores_as_the_evaluator_says(text: str) -> None:
    net = shaken(catalog.space(text))
    evaluate = SupernetEvaluator(net, data(), METRICS, images=100, slice_side="left")
    archs = [a for a in some(evaluate.space, 12) if net.blueprint(a).resolution == 14][:2]
    for arch, said in zip(archs, evaluate(archs), strict=True):
        network, report = derive(net, arch, data(), images=100)
        assert report is None
        assert network.blueprint == net.space.blueprint(arch)
        assert not network.training
        found = measure(network, network.blueprint.resolution, data(), METRICS)
        assert found["valid/accuracy"] == pytest.approx(said["valid/accuracy"], abs=1.01)  # an image on the edge
        assert found["valid/cross_entropy"] == pytest.approx(said["valid/cross_entropy"], rel=1e-4)
        raw = net.extract(arch).eval()
        before = measure(raw, raw.blueprint.resolution, data(), METRICS)
        assert before["valid/cross_entropy"] != pytest.approx(said["valid/cross_entropy"], rel=1e-2)


def test_the_supernet_is_not_changed() -> None:
    net = shaken(catalog.space(SPACES[0]))
    before = {k: v.clone() for k, v in net.state_dict().items()}
    derive(net, some(net.space)[0], data(), images=100)
    assert all(torch.equal(before[k], v) for k, v in net.state_dict().items())


def test_stabilisers_are_folded_and_reported() -> None:
    net = shaken(catalog.space(f"macro:channels=4,resolution=14,head=16,stabiliser=skip,{FITTED}"))
    arch = (1, 0, 1, 0, 2, 1, 1, 0)
    said = SupernetEvaluator(net, data(), METRICS, images=100)([arch])[0]
    network, report = derive(net, arch, data(), images=100)
    assert report is not None
    assert [r.layer for r in report.removals] == ["layer1", "layer3", "layer7"]
    assert report.exact
    assert network.blueprint == net.space.blueprint(arch)
    found = measure(network, 14, data(), METRICS)
    assert found["valid/cross_entropy"] == pytest.approx(said["valid/cross_entropy"], rel=1e-3)


def test_a_network_takes_its_own_resolution() -> None:
    net = shaken(catalog.space(f"attentive:resolutions=10+14,width=0.1,{FITTED}"))
    for gene, resolution in ((0, 10), (1, 14)):
        arch = (gene, *some(net.space)[0][1:])
        network, _ = derive(net, arch, data(), images=100)
        assert network.blueprint.resolution == resolution
        said = SupernetEvaluator(net, data(), METRICS, images=100)([arch])[0]
        found = measure(network, resolution, data(), METRICS)
        near = 1e-4 if resolution == data().resolution else 0.2  # smaller images are resized with antialiasing here
        assert found["valid/cross_entropy"] == pytest.approx(said["valid/cross_entropy"], rel=near)
