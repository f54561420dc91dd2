"""Networks of other people as blueprints: the same logits, or a refusal."""

import pytest
import torch
from torch import Tensor, nn

from supernetic.costs.macs import cost
from supernetic.errors import InputError
from supernetic.pretrained.translate import translate


class Block(nn.Module):
    """ResNet's, with a convolution in the shortcut."""

    def __init__(self, c_in: int, c_out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.BatchNorm2d(c_out)
        self.conv2, self.bn2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False), nn.BatchNorm2d(c_out)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.shortcut(x)
        result: Tensor = self.relu(y)
        return result


class Branches(nn.Module):
    """A bias before BN, an activation of something that is read twice, a concatenation, a pooling that is odd."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8, eps=1e-3), nn.Hardswish())
        self.pool, self.norm = nn.MaxPool2d(3, 2, 1), nn.BatchNorm2d(8)
        self.left, self.right = nn.Conv2d(8, 8, 3, 1, 1, bias=False), nn.Conv2d(8, 8, 1, groups=2, bias=False)
        self.block = Block(16, 12, 2)
        self.hidden, self.classifier = nn.Linear(12, 10), nn.Linear(10, 5, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.pool(self.stem(x)))
        x = torch.cat([self.left(torch.relu(x)), self.right(x)], dim=1)
        x = self.block(x).mean((2, 3))
        result: Tensor = self.classifier(torch.relu(self.hidden(torch.flatten(x, 1))))
        return result


def with_statistics(module: nn.Module) -> nn.Module:
    """Statistics and weights of BN that are not 0 and 1."""
    generator = torch.Generator().manual_seed(1)
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
                assert tensor is not None
                tensor.data = torch.rand(tensor.shape, generator=generator) + 0.5
    return module


@pytest.mark.parametrize("resolution", [32, 45])
def test_the_logits_are_the_same(resolution: int) -> None:
    torch.manual_seed(0)
    module = with_statistics(Branches())
    network = translate("branches", module, 3, resolution)
    x = torch.randn(3, 3, resolution, resolution)
    with torch.no_grad():
        expected, found = module(x), network(x)
    assert expected.abs().max() > 0.05
    assert (expected - found).abs().max() < 1e-5
    trained = sum(p.numel() for p in module.parameters()) - 8  # the bias before BN is part of its statistics
    assert cost(network.blueprint).params == trained + 5  # the classifier has got one, of zeros
    assert {layer.stage for layer in network.blueprint} == {0, 2, 3}


def test_gradients_reach_every_weight() -> None:
    network = translate("branches", with_statistics(Branches()), 3, 32).train()
    network(torch.randn(4, 3, 32, 32)).square().sum().backward()
    assert all(p.grad is not None for p in network.parameters())


class Gated(nn.Module):
    """A sigmoid, which our layers lack."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.fc(torch.sigmoid(self.conv(x)).mean((2, 3)))
        return result


def one_of(layer: nn.Module) -> nn.Module:
    return nn.Sequential(layer, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Gated(), "gated: the network has an operation that our layers cannot compute .sigmoid, sigmoid"),
        (one_of(nn.Conv2d(3, 4, 3, padding=1)), "0 is a convolution with a bias and no BN"),
        (one_of(nn.Conv2d(3, 4, 3, bias=False)), r"cannot compute .0, Conv2d"),  # no padding
        (one_of(nn.Conv2d(3, 4, 3, padding=1, dilation=2, bias=False)), r"cannot compute .0, Conv2d"),
        (nn.Sequential(nn.Conv2d(3, 4, 1, bias=False)), "must end with a linear classifier"),
        (nn.Sequential(nn.Linear(8, 2)), "cannot compute"),  # of a map
    ],
)
def test_what_our_layers_lack_is_named(module: nn.Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate("gated", module, 3, 8)


def test_maps_that_are_flattened() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
    blueprint = translate("flat", module, 3, 8).blueprint
    assert [(layer.kind, layer.c_in, layer.resolution) for layer in blueprint][1:] == [
        ("flatten", 4, 4),
        ("linear", 64, 1),
    ]
    assert blueprint.resolution == 8


class Random(nn.Module):
    """Computes something that its layers do not say."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = one_of(nn.Conv2d(3, 4, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.inner(x)
        traced = type(x) is not Tensor
        return result if traced else result + 1


def test_a_translation_that_computes_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="our layers compute other logits than the network itself"):
        translate("random", Random(), 3, 8)
