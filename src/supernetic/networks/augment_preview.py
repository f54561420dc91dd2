"""Training images before and after augmentation, for the report of a run."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..datasets.augment import as_floats, parse, resize
from ..datasets.dataset import Dataset, Images, Indices
from ..runs.directory import Run
from ..runs.files import AUGMENT
from ..runs.records import AugmentRecord
from .augmentation import AugmentDecision

COLUMNS = 8  # training images
VERSIONS = 2  # of each image, below it
LARGEST_PICTURE = 40  # pixels: larger images are made smaller, so that a page stays light
COLOURS = 256  # of the whole preview: it takes a third of the bytes, and none of them is missed


def write_preview(run: Run, dataset: Dataset, decision: AugmentDecision, seed: int = 0) -> None:
    """Write how training images are changed, and why, into a run; its page then shows it.

    Args:
        run: The run.
        dataset: The images.
        decision: The augmentation and its reason.
        seed: Of the images and of the changes.
    """
    record = preview_of(dataset, decision, seed)
    run.write(AUGMENT, json.dumps(record.to_json(), indent=1) + "\n")


def preview_of(dataset: Dataset, decision: AugmentDecision, seed: int = 0) -> AugmentRecord:
    """A row of training images above rows of augmented versions.

    Args:
        dataset: The images.
        decision: The augmentation and its reason.
        seed: Of the images and of the changes.

    Returns:
        The record with the sheet of pictures.
    """
    rows = _some_of_each_class(dataset, seed)
    originals = torch.from_numpy(dataset.images[rows])
    resolution = min(dataset.resolution, LARGEST_PICTURE)
    generator = torch.Generator().manual_seed(seed)
    augment = parse(decision.augment)
    pictures = [resize(as_floats(originals), resolution)]
    pictures += [augment(originals, resolution, generator) for _ in range(VERSIONS)]
    sheet = np.concatenate([_side_by_side(x) for x in pictures])
    return AugmentRecord(decision.augment, decision.reason, len(rows), len(pictures), resolution, _png(sheet))


def _some_of_each_class(dataset: Dataset, seed: int) -> Indices:
    """Training images, as many classes among them as possible."""
    rows = np.random.default_rng(seed).permutation(dataset.splits["train"])
    _, first = np.unique(dataset.labels[rows], return_index=True)
    return np.array(list(dict.fromkeys([*rows[np.sort(first)], *rows]))[:COLUMNS])


def _side_by_side(x: Tensor) -> Images:
    """One image H x (N W) x C from a batch N x C x H x W in 0..1."""
    row: Images = torch.cat(list(x), dim=2).permute(1, 2, 0).mul(255).round().byte().numpy()
    return row


def _png(sheet: Images) -> str:
    gray = sheet.shape[2] == 1
    image = (
        Image.fromarray(sheet[..., 0]) if gray else Image.fromarray(sheet).quantize(COLOURS, dither=Image.Dither.NONE)
    )
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()
