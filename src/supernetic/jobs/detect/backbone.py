"""The backbone of a detector by name: with its weights if it is trained, else with fresh ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...blueprint import Blueprint
from ...errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from ...nn.network import Network

MOBILENET = "mobilenetv2"
COLOURS = 3
CLASSES = 1000  # of a classifier that is left out
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's pixels, for fresh weights


@dataclass(frozen=True)
class Backbone:
    """A network that a detector reads maps of.

    Args:
        name: As it was asked for.
        blueprint: Its body, up to the last map that is read.
        weights: By the names of its network; None for fresh ones.
        mean: Of pixels in 0..1, per channel, which is subtracted.
        std: What is divided by.
    """

    name: str
    blueprint: Blueprint
    weights: Mapping[str, Tensor] | None
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def summary(self) -> dict[str, Any]:
        """For the record of a run."""
        from ...costs.macs import add_up

        macs, params = add_up(self.blueprint)
        return {"name": self.name, "macs": macs, "params": params, "pretrained": self.weights is not None}


def read_backbone(text: str | Path, image_size: int) -> Backbone:
    """Find a backbone.

    Args:
        text: A model directory, a pretrained network such as `efficientnet-lite0` or `timm:resnet18`, `mobilenetv2`, or
            a model as `supernetic.model_names` has it, such as `scarlet-a`; the last two have fresh weights.
        image_size: Side of the images in pixels.

    Returns:
        The backbone, for square images of that size.
    """
    from ...detection.taps import body_of
    from ...model_names import parse_model
    from ...networks.controls import mobilenet_v2
    from ...pretrained.load import is_pretrained, load_pretrained

    name = str(text)
    if is_pretrained(name):
        known = load_pretrained(name, image_size)
        network = known.network
        _require_colour(name, network.blueprint)
        body = body_of(network.blueprint)
        weights = weights_of(network, body) if known.trained else None
        return Backbone(_short(name), body, weights, known.mean, known.std)
    if name == MOBILENET:
        return Backbone(name, body_of(mobilenet_v2(1.0, image_size, CLASSES, COLOURS)), None, MEAN, STD)
    blueprint = parse_model(name, CLASSES, COLOURS, image_size, "full").blueprint
    if blueprint is None:
        raise InputError(f"{name} has no blueprint, from which a detector could read maps")
    return Backbone(name, body_of(blueprint), None, MEAN, STD)


def weights_of(network: Network, body: Blueprint) -> dict[str, Tensor]:
    """The tensors of a network that belong to its body.

    Args:
        network: The network, with its head and classifier.
        body: Its first layers.
    """
    layers = tuple(f"{layer.name}." for layer in body)
    return {name: tensor for name, tensor in network.state_dict().items() if name.startswith(layers)}


def _require_colour(name: str, blueprint: Blueprint) -> None:
    if blueprint.in_channels != COLOURS:
        raise InputError(f"{name}: a backbone must read colour images, got {blueprint.in_channels} channel")


def _short(name: str) -> str:
    """The name of a model directory, without where it lies."""
    return Path(name).resolve().name if Path(name).exists() else name
