"""What a reader of some format returns: labels at once, pixels when it is known which are wanted and how large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .dataset import Images, Indices, Labels
from .image_files import ImageFiles
from .images import fit, recolour


class Pixels(Protocol):
    """The images of some rows, at one `resolution` and gray or colour; None leaves either as it is."""

    def __call__(self, rows: Indices, resolution: int | None, gray: bool | None) -> tuple[Images, list[str]]:
        """The images, and notes on what had to be changed."""


class Select(Protocol):
    """The files of some rows, and what they become when they are read; nothing is decoded."""

    def __call__(self, rows: Indices, resolution: int | None, gray: bool | None) -> ImageFiles:
        """The files; None for either takes what their headers say."""


@dataclass(frozen=True)
class Source:
    """Labelled images that were found but not yet decoded."""

    name: str
    path: str
    labels: Labels
    classes: tuple[str, ...]
    given: Mapping[str, Indices]  # rows by split, `train` at least: whatever is not given is cut from it
    pixels: Pixels
    licence: str = ""
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    select: Select | None = None  # where each image has a file of its own, which may be read later
    resolution: int | None = None  # that is customary for these images; None: as they are
    gray: bool | None = None  # the same for colours


def from_arrays(images: Images) -> Pixels:
    """Pixels of images that are in memory already.

    Args:
        images: N x H x W x C.

    Returns:
        A function of rows.
    """

    def pixels(rows: Indices, resolution: int | None, gray: bool | None) -> tuple[Images, list[str]]:
        chosen = images if np.array_equal(rows, np.arange(len(images))) else images[rows]
        notes = []
        height, width = images.shape[1:3]
        if resolution is None and height != width:
            resolution = min(height, width)
            notes.append(f"images are {height}x{width}: cut to the centre, {resolution}x{resolution}")
        chosen = fit(chosen, resolution) if resolution is not None else chosen
        return recolour(chosen, gray), notes

    return pixels
