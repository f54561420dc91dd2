"""A detector is built from plain data, and learns."""

from dataclasses import replace

import pytest
import torch

from supernetic.detection.anchors import Anchors
from supernetic.detection.detector import DetectorSpec, build_detector
from supernetic.detection.packages import PACKAGES, have_detection
from supernetic.detection.taps import body_of
from supernetic.networks.controls import mobilenet_v2
from supernetic.nn.network import build

pytestmark = pytest.mark.skipif(not have_detection(), reason=f"needs {' and '.join(PACKAGES)}")

ANCHORS = Anchors(((16.0,), (32.0,), (64.0,), (128.0,)), (1.0,))
WHOLE = mobilenet_v2(0.25, 64, 10)
SPEC = DetectorSpec(body_of(WHOLE), 2, 64, 16, ANCHORS, (0.5,) * 3, (0.25,) * 3, pretrained=False)


def test_the_record_says_all() -> None:
    assert DetectorSpec.from_json(SPEC.to_json()) == SPEC


def test_losses_and_detections() -> None:
    detector = build_detector(SPEC)
    images = [torch.rand(3, 48, 64), torch.rand(3, 64, 64)]
    targets = [{"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]]), "labels": torch.tensor([1])} for _ in images]
    targets[1] = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}
    losses = detector(images, targets)
    assert set(losses) == {"classification", "bbox_regression"}
    assert all(torch.isfinite(v) for v in losses.values())
    found = detector.eval()(images)
    assert len(found) == 2
    assert set(found[0]) == {"boxes", "scores", "labels"}


def test_levels_behind_the_last_tap_are_added() -> None:
    maps = build_detector(SPEC).eval().backbone(torch.zeros(1, 3, 64, 96))
    assert [tuple(m.shape[2:]) for m in maps.values()] == [(8, 12), (4, 6), (2, 3), (1, 2)]


def test_weights_of_the_backbone_are_taken_over_and_its_norms_stay() -> None:
    network = build(WHOLE, seed=3)
    detector = build_detector(replace(SPEC, pretrained=True), network.state_dict())
    body = detector.backbone.body
    assert torch.equal(body.state_dict()["stem.conv.op.weight"], network.state_dict()["stem.conv.op.weight"])
    detector.train()
    before = {n: b.clone() for n, b in body.named_buffers()}
    detector([torch.rand(3, 64, 64)], [{"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]]), "labels": torch.tensor([0])}])
    assert all(torch.equal(b, before[n]) for n, b in body.named_buffers())
    frozen = {n for n, p in body.named_parameters() if not p.requires_grad}
    assert "stem.conv.op.weight" in frozen
    assert any(n.endswith("op.weight") and n not in frozen for n, _ in body.named_parameters())


def test_fresh_weights_depend_on_the_seed_alone() -> None:
    a, b, c = (build_detector(SPEC, seed=s).state_dict() for s in (0, 0, 1))
    assert all(torch.equal(a[n], b[n]) for n in a)
    assert not all(torch.equal(a[n], c[n]) for n in a)
