"""A network that was trained further elsewhere, saved as a model directory again."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from ..costs.macs import cost
from ..datasets import DataLike
from ..datasets.loading import read
from ..datasets.source import Source
from ..errors import InputError
from ..nn.network import Network
from ..ranking.trust import wilson
from .card import Card
from .model import read_card, read_record, save_model
from .onnx import have_onnx

BATCH_IMAGES = 256  # that are tested at a time

Labels = npt.NDArray[np.int64]


def save(
    network: Network,
    directory: str | Path,
    *,
    like: str | PathLike[str],
    classes: Sequence[str] | None = None,
    test: DataLike | None = None,
) -> Path:
    """Save a network as a model directory, for `predict`, `export` and `load`.

    The preprocessing is that of the model it comes from. What was measured with the old weights is left out.

    Args:
        network: A network from `load` or `extract`, trained further.
        directory: Where to save it. Its last part becomes the model's name.
        like: The model directory that the network was loaded from.
        classes: Names of the classes, in the order of the logits; by default those of `like`.
        test: Images with labels on which the accuracy on the model card is measured: a folder with one folder per
            class, an `.npz`, a name, or `(images, labels)`. The test split if there is one, else all of them: images
            that the network was not trained on.

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
    save_model(path, network, card if test is None else _tested(network, card, test), onnx=have_onnx())
    return path


def _tested(network: Network, card: Card, data: DataLike) -> Card:
    """The card with what the network reaches on test images."""
    source = read(data)
    rows = source.given["test"] if "test" in source.given else np.sort(np.concatenate(list(source.given.values())))
    labels = _labels(source, card)[rows]
    logits = _logits(network, card, source, rows)
    if not np.isfinite(logits).all():
        raise InputError(f"the network's logits are not finite on the images of {source.path}")
    right = logits.argmax(axis=1) == labels
    shares = logits - logits.max(axis=1, keepdims=True)
    entropies = np.log(np.exp(shares).sum(axis=1)) - shares[np.arange(len(labels)), labels]
    accuracy, (low, high) = float(right.mean()), wilson(float(right.mean()), len(right))
    measured = f"The accuracy was measured on {len(right):,} images of {source.name}"
    return replace(
        card,
        metrics={"test/accuracy": 100 * accuracy, "test/cross_entropy": float(entropies.mean())},
        notes=(*card.notes, f"{measured}; its 95 % interval is {100 * low:.1f} to {100 * high:.1f} %."),
    )


def _labels(source: Source, card: Card) -> Labels:
    """The labels as places among the model's classes: by name, or by number where there are no names."""
    places = {name: i for i, name in enumerate(card.classes)}
    if set(source.classes) <= places.keys():
        return np.array([places[name] for name in source.classes], dtype=np.int64)[source.labels]
    numbered = source.classes == tuple(map(str, range(len(source.classes))))
    if numbered and len(source.classes) <= len(places):
        return source.labels
    unknown = next(name for name in source.classes if name not in places)
    raise InputError(f"{source.path} has images of the class {unknown!r}, the model has {', '.join(card.classes)}")


def _logits(network: Network, card: Card, source: Source, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Of the images in these rows, prepared as `predict` prepares them."""
    tested = copy.deepcopy(network).cpu().eval()  # the user's own may be on a GPU, and in training mode
    resolution, gray = card.data_resolution or card.resolution, card.channels == 1
    parts = []
    with torch.inference_mode():
        for part in np.array_split(rows, max(1, -(-len(rows) // BATCH_IMAGES))):
            images, _ = source.pixels(part, resolution, gray)
            parts.append(tested(card.prepare(images)).double().numpy())
    return np.concatenate(parts)
