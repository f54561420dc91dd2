"""EfficientNet-Lite0 ... Lite4: EfficientNets for phones, with weights from ImageNet within reach (`pretrained`).

Paper: Tan & Le, "EfficientNet", arXiv 1905.11946; the Lite variants are Google's (tensorflow/tpu, 2020): no
squeeze-excite, ReLU6 for swish, and stem, head and the depth of the first and last stage are not scaled.
Differences: none in the networks. Google prints 407, 631, 899, 1440 and 2640 M MAdds; counted as everywhere here they
are 385, 600, 860, 1383 and 2553 M. The names stand for the networks in the data's resolution; their own are 224, 240,
260, 280 and 300 pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ..blueprint import Blueprint
from ..spaces.lite import Lite

SCALES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8))  # width and depth of each version
PRETRAINED = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")  # have a package of weights
RESOLUTIONS = (224, 240, 260, 280, 300)  # pixels that each version was trained with


@dataclass(frozen=True)
class EfficientNetLite:
    """One of the five networks, or one between them."""

    width: float = 1.0  # factor of the channels of all blocks
    depth: float = 1.0  # factor of the blocks of all stages but the first and the last

    cpu: ClassVar[Mapping[str, Any]] = {}  # weights from ImageNet fit the full size alone

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Stem, seven stages of inverted bottlenecks, head, classifier."""
        space = Lite(self.width, self.depth, resolution, classes, in_channels)
        return space.blueprint(space.largest)


Lite0, Lite1, Lite2, Lite3, Lite4 = (partial(EfficientNetLite, width, depth) for width, depth in SCALES)
