"""A pretrained network by name: EfficientNet-Lite from its package, one of timm's, or a model directory of ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from ..blueprint import at_resolution
from ..errors import UnknownNameError
from ..exporters.model import is_model, load_model, read_card
from ..nn.network import Network, with_weights
from ..nn.timm_package import PREFIX as TIMM
from ..nn.timm_package import is_fresh
from . import efficientnet_lite
from .timm_models import read_timm

SMALLEST = 96  # pixels: smaller images are enlarged, because pretrained networks halve them five times


@dataclass(frozen=True)
class Pretrained:
    """A trained network, and what its images must look like.

    Args:
        name: As it was asked for.
        network: In evaluation mode; its blueprint has the resolution that it was asked for.
        mean: Of pixels in 0..1, per channel: what is subtracted first.
        std: By which is divided then.
        classes: Names of its classes; none, if they are not known.
        licence: Of the weights, or of the images that they were learned from.
        trained: False for random weights, which `timm:NAME@fresh` asks for.
    """

    name: str
    network: Network
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: tuple[str, ...] = ()
    licence: str = ""
    trained: bool = True

    def at(self, resolution: int) -> Pretrained:
        """The same network, with the same weights, for images of so many pixels."""
        if resolution == self.network.blueprint.resolution:
            return self
        blueprint = at_resolution(self.network.blueprint, resolution)
        return replace(self, network=with_weights(blueprint, self.network.state_dict()))


def is_pretrained(name: str | PathLike[str]) -> bool:
    """Whether a text names a pretrained network that `load_pretrained` knows, installed or not."""
    return str(name) in efficientnet_lite.NAMES or str(name).startswith(TIMM) or is_model(name)


def fitting_resolution(data: int, own: int) -> int:
    """The data's resolution, but not too small for a pretrained network, nor larger than what it knows.

    Args:
        data: Of the images, in pixels.
        own: What the network was trained with.
    """
    return min(max(data, SMALLEST), max(own, SMALLEST))


def load_pretrained(name: str | PathLike[str], resolution: int | None = None) -> Pretrained:
    """A pretrained network.

        load_pretrained("efficientnet-lite0", 160)

    Args:
        name: `efficientnet-lite0`, `-lite1` or `-lite2`, whose package must be installed; `timm:NAME`, where timm is;
            or a model directory.
        resolution: Height and width of the images in pixels; by default those it was trained with.

    Returns:
        The network with its preprocessing.
    """
    text = str(name)
    if text in efficientnet_lite.NAMES:
        version = efficientnet_lite.NAMES.index(text)
        network = with_weights(efficientnet_lite.blueprint_of(version), efficientnet_lite.read_weights(version))
        found = Pretrained(text, network, efficientnet_lite.MEAN, efficientnet_lite.STD, (), efficientnet_lite.LICENCE)
    elif text.startswith(TIMM):
        network, mean, std, licence = read_timm(text, resolution)
        found = Pretrained(text, network, mean, std, (), licence, trained=not is_fresh(text))
    else:
        if not is_model(text) and not Path(text).exists():
            raise UnknownNameError("pretrained model", text, efficientnet_lite.NAMES)
        card = read_card(text)
        found = Pretrained(text, load_model(text), card.mean, card.std, card.classes, card.licence)
    return found if resolution is None else found.at(resolution)
