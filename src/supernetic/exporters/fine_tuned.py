"""A network that was trained further elsewhere, saved as a model directory again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..costs.macs import cost
from ..errors import InputError
from ..nn.network import Network
from .model import read_card, read_record, save_model
from .onnx import have_onnx


def save(network: Network, directory: str | Path, *, like: str | Path, classes: Sequence[str] | None = None) -> Path:
    """Save a network as a model directory, for `predict`, `export` and `load`.

    The preprocessing is that of the model it comes from. What was measured with the old weights is left out.

    Args:
        network: A network from `load` or `extract`, trained further.
        directory: Where to save it. Its last part becomes the model's name.
        like: The model directory that the network was loaded from.
        classes: Names of the classes, in the order of the logits; by default those of `like`.

    Returns:
        The directory.
    """
    origin = read_card(like)
    names = origin.classes if classes is None else tuple(classes)
    logits = (
        read_record(like)["blueprint"][-1]["c_out"] if classes is None else len(names)
    )  # a model may have spare ones
    if network.blueprint.classes != logits:
        raise InputError(
            f"the network has {network.blueprint.classes} logits, got names of {len(names)} classes: pass classes="
        )
    costs, path = cost(network.blueprint), Path(directory)
    card = replace(
        origin,
        name=path.resolve().name,
        task=f"Image classification: {len(names)} classes.",
        classes=names,
        macs=costs.macs,
        params=costs.params,
        metrics={},
        seeds=(),
        recipe="",
        notes=(f"Trained further from {origin.name}; how, and on which images, is not recorded.",),
    )
    save_model(path, network, card, onnx=have_onnx())
    return path
