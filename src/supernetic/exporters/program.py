"""torch.export: a network as a file that torch runs without us; it is read back and compared before it counts."""

from __future__ import annotations

import copy
import io

import torch
from torch import nn

from ..errors import SupernetError
from .onnx import TOLERANCE, largest_difference, quiet_export


def program_of(network: nn.Module, *, channels: int, resolution: int) -> bytes:
    """A network as `torch.export.save` writes it, for batches of any size.

    `torch.export.load(file).module()` is the network again. One whose logits differ is refused.

    Args:
        network: The network.
        channels: Channels of the images.
        resolution: Their height and width in pixels.

    Returns:
        The bytes of the file.
    """
    network = copy.deepcopy(network).cpu().eval()
    example = torch.zeros(2, channels, resolution, resolution)
    with quiet_export(), torch.no_grad():
        program = torch.export.export(network, (example,), dynamic_shapes=({0: torch.export.Dim("batch")},))
        stored = io.BytesIO()
        torch.export.save(program, stored)
        stored.seek(0)
        again = torch.export.load(stored).module()
        deviation = largest_difference(network, lambda images: again(images).numpy(), channels, resolution)
    if not deviation <= TOLERANCE:
        raise SupernetError(f"torch.export's file was not written: its logits differ by {deviation:.2g}")
    return stored.getvalue()
