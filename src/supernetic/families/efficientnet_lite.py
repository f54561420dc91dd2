"""EfficientNet-Lite0 ... Lite4: EfficientNets for phones, with weights from ImageNet within reach (`pretrained`).

Paper: Tan & Le, "EfficientNet", arXiv 1905.11946; the Lite variants are Google's (tensorflow/tpu, 2020): no
squeeze-excite, ReLU6 for swish, and stem, head and the depth of the first and last stage are not scaled.
Differences: none in the networks. Google prints 407, 631, 899, 1440 and 2640 M MAdds; counted as everywhere here they
are 385, 600, 860, 1383 and 2553 M. The names stand for the networks in the data's resolution; their own are 224, 240,
260, 280 and 300 pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, ClassVar

from ..blueprint import TENSORFLOW_PADDING, Blueprint, Layer, halved, make_divisible
from ..spaces.efficientnet import B0_STAGES, HEAD_WIDTH, STEM_WIDTH

EPS = 1e-3  # of BN
SCALES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8))  # width and depth of each version
RESOLUTIONS = (224, 240, 260, 280, 300)  # pixels that each version was trained with


@dataclass(frozen=True)
class EfficientNetLite:
    """One of the five networks, or one between them."""

    width: float = 1.0  # factor of the channels of all blocks
    depth: float = 1.0  # factor of the blocks of all stages but the first and the last

    cpu: ClassVar[Mapping[str, Any]] = {}  # weights from ImageNet fit the full size alone

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Stem, seven stages of inverted bottlenecks, head, classifier."""
        return Blueprint(tuple(self._layers(classes, in_channels, resolution)))

    def _layers(self, classes: int, in_channels: int, resolution: int) -> Iterator[Layer]:
        every: dict[str, Any] = {"act": "relu6", "padding": TENSORFLOW_PADDING, "eps": EPS}
        c_in, out = STEM_WIDTH, halved(resolution, 2)
        yield Layer("stem", "conv", in_channels, c_in, resolution, out, 3, 2, **every)
        for stage, (e, k, first_stride, channels, blocks) in enumerate(B0_STAGES, 1):
            c = make_divisible(channels * self.width)
            scaled = 1 < stage < len(B0_STAGES)
            for block in range(ceil(round(blocks * self.depth, 6)) if scaled else blocks):
                stride, resolution = (1 if block else first_stride), out
                out = halved(resolution, stride)
                yield Layer(
                    f"stage{stage}.{block}", "mbconv", c_in, c, resolution, out, k, stride, e, c_in * e,
                    shortcut="identity" if stride == 1 and c_in == c else "", stage=stage, **every,
                )  # fmt: skip
                c_in = c
        yield Layer("head.conv", "conv", c_in, HEAD_WIDTH, out, out, **every)
        yield Layer("head.pool", "gap", HEAD_WIDTH, HEAD_WIDTH, out, 1)
        yield Layer("classifier", "linear", HEAD_WIDTH, classes, 1, 1)


Lite0, Lite1, Lite2, Lite3, Lite4 = (partial(EfficientNetLite, width, depth) for width, depth in SCALES)
