"""The suppression of overlapping boxes, and torchvision beside a torch without CUDA."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from supernetic.nn.torchvision_package import nms, torchvision

needs_packages = pytest.mark.skipif(find_spec("torchvision") is None, reason="needs torchvision")


def boxes_of(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=generator) * 50
    sides = torch.rand(count, 2, generator=generator) * 30 + 1
    return torch.cat([corners, corners + sides], 1), torch.rand(count, generator=generator)


def by_pairs(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> list[int]:
    """The definition, pair by pair."""
    kept: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: -float(scores[i])):
        for j in kept:
            (a, b, c, d), (e, f, g, h) = boxes[i].tolist(), boxes[j].tolist()
            shared = max(0.0, min(c, g) - max(a, e)) * max(0.0, min(d, h) - max(b, f))
            if shared / ((c - a) * (d - b) + (g - e) * (h - f) - shared) > threshold:
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.9])
def test_boxes_that_overlap_a_better_one_go(seed: int, threshold: float) -> None:
    boxes, scores = boxes_of(60, seed)
    kept = nms(boxes, scores, threshold).tolist()
    assert kept == by_pairs(boxes, scores, threshold)
    assert len(kept) < 60 or threshold == 0.9


def test_no_boxes() -> None:
    found = nms(torch.zeros(0, 4), torch.zeros(0), 0.5)
    assert found.shape == (0,)
    assert found.dtype == torch.int64


@needs_packages
def test_torchvision_suppresses_as_we_do() -> None:
    torchvision()
    from torchvision.ops import batched_nms
    from torchvision.ops import nms as theirs

    boxes, scores = boxes_of(60, 7)
    assert theirs(boxes, scores, 0.5).tolist() == nms(boxes, scores, 0.5).tolist()
    classes = torch.arange(60) % 2
    kept = batched_nms(boxes, scores, classes, 0.5)
    rows = [(classes == k).nonzero()[:, 0] for k in (0, 1)]
    expected = [int(i) for of_class in rows for i in of_class[nms(boxes[of_class], scores[of_class], 0.5)]]
    assert sorted(kept.tolist()) == sorted(expected)


@needs_packages
def test_it_is_imported_in_a_fresh_process() -> None:
    code = "from supernetic.nn.torchvision_package import torchvision; print(torchvision().models.detection.RetinaNet)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "RetinaNet" in done.stdout
