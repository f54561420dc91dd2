"""torchvision, imported on use, and made to work beside a torch without CUDA.

The compiled part of torchvision's usual wheels links CUDA. Beside a CPU build of torch it does not load, and then even
`import torchvision` fails, because the operator `torchvision::nms` that it wants to describe does not exist. Detection
and timm need nothing else of that part, so where the plain import fails, the operator is declared here with a kernel in
torch.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError

MISSING_OPERATOR = "torchvision::nms"  # in torchvision's own message
SCHEMA = "{}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
NMS, QUANTISED_NMS = "nms", "qnms"  # torchvision describes both when it is imported


@lru_cache(maxsize=1)
def torchvision() -> Any:
    """torchvision, with its own operators if they load; else with the one that is needed here."""
    try:
        return import_module("torchvision")
    except RuntimeError as error:
        if MISSING_OPERATOR not in str(error):
            raise InputError(
                f"torchvision does not fit torch {torch.__version__}: {' '.join(str(error).split())}"
            ) from None
    for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # what was half imported
    _declare_nms()
    package = import_module("torchvision")
    # Functions ask first whether the compiled part is there; the one that is called here has its operator now.
    setattr(import_module("torchvision.ops.boxes"), "_assert_has_ops", lambda: None)  # noqa: B010 - not in its stubs
    return package


@lru_cache(maxsize=1)
def _declare_nms() -> torch.library.Library:
    """Declare the operator. The result must be kept: with it, the declaration goes."""
    library: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in (NMS, QUANTISED_NMS):
        library.define(SCHEMA.format(name))
    library.impl(NMS, nms, "CPU")
    kept: torch.library.Library = library
    return kept


def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Non-maximum suppression: the best box stays, those that overlap it too much go, and so on.

    Args:
        boxes: N x 4: left, top, right, bottom.
        scores: N.
        threshold: Intersection over union above which the worse of two boxes goes.

    Returns:
        Positions of those that stay, the best first; equal scores in the order given.
    """
    order = scores.argsort(descending=True, stable=True)
    left_top, right_bottom = boxes[order, :2], boxes[order, 2:]
    area = (right_bottom - left_top).prod(1)
    alive = torch.ones(len(order), dtype=torch.bool, device=boxes.device)
    kept = []
    for i in range(len(order)):
        if not alive[i]:
            continue
        kept.append(i)
        rest = slice(i + 1, None)
        sides = torch.minimum(right_bottom[i], right_bottom[rest]) - torch.maximum(left_top[i], left_top[rest])
        shared = sides.clamp_(min=0).prod(1)
        alive[rest] &= ~(shared > threshold * (area[i] + area[rest] - shared))
    return order[torch.tensor(kept, dtype=torch.long, device=boxes.device)]
