"""A pretrained network among models that are compared: its weights, and a new classifier for the data's classes.

It sees the images as it was trained to see them: enlarged if they are small, with its own normalisation, gray ones
repeated in all channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from torch import Tensor, nn

from ..blueprint import Blueprint
from ..costs.macs import add_up
from ..errors import InputError, RunError
from ..nn.network import Network, with_classes
from ..nn.run import NO_REGULARISATION, Regularisation
from ..training.checkpoint import checksum
from .load import fitting_resolution, load_pretrained


class OfGrayImages(nn.Module):
    """A network for colour images that is given gray ones."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Tensor:
        """Logits of a batch of images with one channel."""
        logits: Tensor = self.network(x.repeat(1, self.network.blueprint.in_channels, 1, 1), regularisation)
        return logits


@dataclass(frozen=True)
class PretrainedMember:
    """What is needed to build the network anywhere; it is plain data."""

    source: str  # as `load_pretrained` takes it
    sha256: str  # of the weights
    layers: Blueprint  # with the classes of the data
    in_channels: int  # of the data
    normalisation: tuple[tuple[float, ...], tuple[float, ...]]  # mean and deviation that images are normalised by

    @property
    def resolution(self) -> int:
        """Side of the images that the network sees, in pixels."""
        return self.layers.resolution

    def build(self, seed: int = 0) -> nn.Module:
        """The network with its weights; those of the new classifier depend on the seed."""
        network = load_pretrained(self.source, self.resolution).network
        if _checksum(network) != self.sha256:
            raise RunError(f"the weights of {self.source} are others than when the comparison began")
        network.reset_classifier(self.layers.classes, seed=seed)
        network.train()
        return network if self.in_channels == network.blueprint.in_channels else OfGrayImages(network)

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters)."""
        return add_up(self.layers)


def pretrained_member(source: str, classes: int, in_channels: int, resolution: int) -> PretrainedMember:
    """Load a pretrained network once, so that a bad one is refused at once.

    Args:
        source: As `load_pretrained` takes it.
        classes: The number of classes of the data.
        in_channels: Channels of the images.
        resolution: Of the images; small ones are enlarged.

    Returns:
        The member.
    """
    given = load_pretrained(source)
    if not given.trained:
        raise InputError(f"{source} has random weights: name it without pretrained:")
    own = given.network.blueprint
    if in_channels > own.in_channels:
        raise InputError(f"{source} reads gray images, but the data have {in_channels} channels")
    found = given.at(fitting_resolution(resolution, own.resolution))
    several = in_channels == own.in_channels
    mean, std = (tuple(v) if several else (fmean(v),) for v in (found.mean, found.std))
    layers = with_classes(found.network.blueprint, classes)
    return PretrainedMember(source, _checksum(found.network), layers, in_channels, (mean, std))


def _checksum(network: Network) -> str:
    return checksum({n: t.detach().cpu() for n, t in network.state_dict().items()})
