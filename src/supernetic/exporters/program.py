"""torch.export: a network as a file that torch runs without us; it is read back and compared before it counts."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import torch
from torch import nn

from ..errors import SupernetError
from .onnx import TOLERANCE, quiet_export


def write_program(network: nn.Module, path: Path, *, channels: int, resolution: int) -> float:
    """Write a network as `torch.export.save` does, for batches of any size.

    `torch.export.load(path).module()` is the network again. A file whose logits differ is not kept.

    Args:
        network: The network.
        path: The file.
        channels: Channels of the images.
        resolution: Their height and width in pixels.

    Returns:
        The largest difference between the logits of both, as a share of the largest logit.
    """
    network = copy.deepcopy(network).cpu().eval()
    example = torch.zeros(2, channels, resolution, resolution)
    with quiet_export(), torch.no_grad():
        program = torch.export.export(network, (example,), dynamic_shapes=({0: torch.export.Dim("batch")},))
        stored = io.BytesIO()
        torch.export.save(program, stored)
        deviation = _difference(network, stored, channels, resolution)
    if not deviation <= TOLERANCE:
        raise SupernetError(f"{path} was not written: its logits differ from the network's by {deviation:.2g}")
    path.write_bytes(stored.getvalue())
    return deviation


def _difference(network: nn.Module, stored: io.BytesIO, channels: int, resolution: int) -> float:
    stored.seek(0)
    again = torch.export.load(stored).module()
    generator, worst = torch.Generator().manual_seed(0), 0.0
    for batch in (1, 3):
        images = torch.randn(batch, channels, resolution, resolution, generator=generator)
        ours, theirs = network(images), again(images)
        worst = max(worst, float((ours - theirs).abs().max() / ours.abs().max().clamp_min(1e-12)))
    return worst
