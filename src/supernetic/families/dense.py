"""Logistic regression and multi-layer perceptrons: networks that see an image as a row of numbers.

Paper: Bornschein, Visin and Osindero, "Small Data, Big Decisions", arXiv 2009.12583; the full size of three hidden
layers of 2048 units is as reported by others who repeated its experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..blueprint import Blueprint, Layer


@dataclass(frozen=True)
class Logistic:
    """Logistic regression: one linear map from pixels to logits. It has only one size."""

    cpu: ClassVar[Mapping[str, Any]] = {}

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Flatten, classifier."""
        return _dense((), classes, in_channels, resolution)


@dataclass(frozen=True)
class MLP:
    """A multi-layer perceptron: hidden layers of equal width with ReLU, without BN."""

    width: int = 2048  # units of a hidden layer
    depth: int = 3  # hidden layers

    cpu: ClassVar[Mapping[str, Any]] = {"width": 256, "depth": 3}

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Flatten, hidden layers, classifier."""
        return _dense((self.width,) * self.depth, classes, in_channels, resolution)


def _dense(widths: tuple[int, ...], classes: int, in_channels: int, resolution: int) -> Blueprint:
    c = in_channels * resolution**2
    layers = [Layer("flatten", "flatten", in_channels, c, resolution, 1)]
    for i, width in enumerate(widths):
        layers.append(Layer(f"hidden{i}", "linear", c, width, 1, 1, act="relu", stage=1))
        c = width
    return Blueprint((*layers, Layer("classifier", "linear", c, classes, 1, 1)))
