"""A detector: torchvision's RetinaNet with a feature pyramid on a network from a blueprint.

Paper: Lin et al., "Focal loss for dense object detection", arXiv 1708.02002; Lin et al., "Feature pyramid networks",
arXiv 1612.03144.
Differences: group normalisation in the heads, as their first weights of .01 would pass on little of the signal in a
short training; narrower heads; as many levels as the boxes need.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..blueprint import Blueprint
from ..nn.initialise import initialise
from ..nn.network import Network
from ..nn.norm import norms_of
from .anchors import Anchors
from .packages import torchvision
from .taps import find_taps, strides_of

FROZEN_STRIDE = 4  # layers up to this stride keep weights that were learnt on other images
GROUP = 8  # channels that are normalised together
SCORE, OVERLAP, MOST_BOXES, CANDIDATES = 0.05, 0.5, 100, 1000  # of detections: as torchvision's and COCO's


@dataclass(frozen=True)
class DetectorSpec:
    """Everything that a detector is built from, as plain data.

    Args:
        blueprint: The body of the backbone, up to its last tap.
        classes: Number of classes.
        image_size: The longer side that images are resized to.
        channels: Of the pyramid and the heads.
        anchors: What boxes start from.
        mean: Of the pixels in 0..1, per channel, which is subtracted.
        std: What is divided by.
        pretrained: Whether the weights of the body were learnt before: its BN and first layers then stay as they are.
    """

    blueprint: Blueprint
    classes: int
    image_size: int
    channels: int
    anchors: Anchors
    mean: tuple[float, ...]
    std: tuple[float, ...]
    pretrained: bool

    def to_json(self) -> dict[str, Any]:
        """For the record of a run or a detector."""
        return {
            "classes": self.classes,
            "image_size": self.image_size,
            "channels": self.channels,
            "anchors": {"sizes": [list(s) for s in self.anchors.sizes], "ratios": list(self.anchors.ratios)},
            "mean": list(self.mean),
            "std": list(self.std),
            "pretrained": self.pretrained,
            "blueprint": self.blueprint.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """What `to_json` wrote."""
        anchors = record["anchors"]
        return cls(
            Blueprint.from_json(record["blueprint"]), int(record["classes"]), int(record["image_size"]),
            int(record["channels"]),
            Anchors(tuple(map(tuple, anchors["sizes"])), tuple(anchors["ratios"])),
            tuple(record["mean"]), tuple(record["std"]), bool(record["pretrained"]),
        )  # fmt: skip


class Pyramid(nn.Module):
    """The body of a network with a feature pyramid on its taps: `pyramid(images) -> maps by level`."""

    def __init__(self, spec: DetectorSpec) -> None:
        super().__init__()
        torchvision()
        from torchvision.ops import FeaturePyramidNetwork

        self.taps = find_taps(spec.blueprint)
        self.body = Network(spec.blueprint)
        initialise(self.body)
        widths = {layer.name: layer.c_out for layer in spec.blueprint}
        self.fpn = FeaturePyramidNetwork([widths[name] for name in self.taps.values()], spec.channels)
        further = len(spec.anchors.sizes) - len(self.taps)
        self.further = nn.ModuleList(nn.Conv2d(spec.channels, spec.channels, 3, 2, 1) for _ in range(further))
        self.out_channels = spec.channels  # torchvision asks for it
        self.keeps_norms = spec.pretrained
        if spec.pretrained:
            self._freeze(spec.blueprint)

    def _freeze(self, blueprint: Blueprint) -> None:
        for layer, stride in zip(blueprint, strides_of(blueprint), strict=True):
            if stride <= FROZEN_STRIDE:
                for unit in self.body.units(layer).values():
                    unit.requires_grad_(False)
        for norm in norms_of(self.body):
            norm.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Training mode; BN that was learnt before goes on with its statistics, as batches here are small."""
        super().train(mode)
        if self.keeps_norms:
            for norm in norms_of(self.body):
                norm.eval()
        return self

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        """The maps of all levels, the finest first."""
        names = {name: stride for stride, name in self.taps.items()}
        maps = OrderedDict((str(names[layer.name]), y) for layer, y in self.body.trace(x) if layer.name in names)
        levels: OrderedDict[str, Tensor] = self.fpn(maps)
        last = next(reversed(levels.values()))
        for i, convolution in enumerate(self.further):
            last = convolution(F.relu(last) if i else last)
            levels[f"further{i}"] = last
        return levels


def build_detector(spec: DetectorSpec, weights: Mapping[str, Tensor] | None = None, *, seed: int = 0) -> Any:
    """A detector with fresh heads.

    Args:
        spec: What it is built from.
        weights: Of the backbone, by the names of its network; what the body lacks is left out. Fresh by default.
        seed: Of all weights that are fresh.

    Returns:
        torchvision's `RetinaNet`: with boxes it returns losses in training mode, and detections otherwise.
    """
    torchvision()
    from torchvision.models.detection import RetinaNet
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.retinanet import RetinaNetHead

    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        pyramid = Pyramid(spec)
        count = len(spec.anchors.sizes[0]) * len(spec.anchors.ratios)
        norm = partial(nn.GroupNorm, max(1, spec.channels // GROUP))
        detector = RetinaNet(
            pyramid,
            spec.classes,
            min_size=spec.image_size,
            max_size=spec.image_size,
            image_mean=list(spec.mean),
            image_std=list(spec.std),
            anchor_generator=AnchorGenerator(spec.anchors.sizes, (spec.anchors.ratios,) * len(spec.anchors.sizes)),
            head=RetinaNetHead(spec.channels, count, spec.classes, norm_layer=norm),
            score_thresh=SCORE,
            nms_thresh=OVERLAP,
            detections_per_img=MOST_BOXES,
            topk_candidates=CANDIDATES,
        )
    if weights is not None:
        own = pyramid.body.state_dict()
        pyramid.body.load_state_dict({name: weights[name] for name in own})
    return detector
