"""The transform prepares an image exactly as `predict` does."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader

import supernetic
from supernetic.commands import predict as command
from supernetic.errors import InputError
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.exporters.transform import Transform
from supernetic.nn.network import build
from supernetic.spaces.macro import Macro

CARDS = [
    Card("m", "", ("a",), 12, 3, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4), "", "", 0, 0),
    Card("m", "", ("a",), 12, 1, (0.5,), (0.2,), "", "", 0, 0, data_resolution=17),
    Card("m", "", ("a",), 16, 3, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4), "", "", 0, 0, data_resolution=10),
]


def images() -> list[Image.Image]:
    """Of several sizes and modes, one with a note that it lies on its side."""
    rng = np.random.default_rng(0)

    def noise(*shape: int) -> np.ndarray:
        return rng.integers(0, 256, shape, dtype=np.uint8)

    sideways = Image.fromarray(noise(20, 14, 3))
    sideways.getexif()[0x0112] = 6
    gray, colour = Image.fromarray(noise(12, 12)), Image.fromarray(noise(30, 21, 3))
    return [
        gray,
        colour,
        Image.fromarray(noise(9, 9, 4), "RGBA"),
        colour.convert("P"),
        colour.convert("CMYK"),
        sideways,
    ]


def as_predict_does(card: Card, files: list[Path]) -> Tensor:
    names, pixels = command._files(files, card)
    return card.prepare(pixels(range(len(names))))


@pytest.mark.parametrize("card", CARDS, ids=lambda c: f"{c.channels}x{c.data_resolution}to{c.resolution}")
def test_images_in_files(card: Card, tmp_path: Path) -> None:
    files = []
    for i, image in enumerate(images()):
        files.append(tmp_path / f"{i}{'.tif' if image.mode == 'CMYK' else '.png'}")
        image.save(files[-1], exif=image.getexif())
    expected = as_predict_does(card, files)
    for file, tensor in zip(files, expected, strict=True):
        with Image.open(file) as image:
            own = card.transform()(image)
        assert own.is_contiguous()
        assert torch.equal(own, tensor), file.name


@pytest.mark.parametrize("card", CARDS, ids=lambda c: f"{c.channels}x{c.data_resolution}to{c.resolution}")
@pytest.mark.parametrize("shape", [(15, 13), (15, 13, 1), (13, 15, 3)])
def test_arrays(card: Card, shape: tuple[int, ...], tmp_path: Path) -> None:
    arrays = np.random.default_rng(0).integers(0, 256, (5, *shape), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=arrays, labels=np.arange(5) % 2)
    names, pixels = command._data_set(str(tmp_path / "images.npz"), card)
    expected = card.prepare(pixels(range(len(names))))
    for array, tensor in zip(arrays, expected, strict=True):
        assert torch.equal(Transform(card)(array), tensor)


def test_of_a_model_directory_and_in_a_loader(tmp_path: Path) -> None:
    network = build(Macro(channels=4, resolution=12, head=8).blueprint((1,) * 8), seed=0).eval()
    save_model(tmp_path / "m", network, CARDS[0], onnx=False)
    transform = supernetic.transform(tmp_path / "m")
    assert transform == Transform(CARDS[0]) == pickle.loads(pickle.dumps(transform))
    assert repr(transform) == "Transform(3 x 12 x 12, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))"
    arrays = np.random.default_rng(0).integers(0, 256, (5, 12, 12, 3), dtype=np.uint8)
    (batch,) = DataLoader([transform(a) for a in arrays], batch_size=5)  # type: ignore[arg-type]
    assert network(batch).shape == (5, 10)


def test_refusals() -> None:
    transform = Transform(CARDS[0])
    with pytest.raises(InputError, match="must be a Pillow image or an array, got Tensor"):
        transform(torch.zeros(3, 12, 12))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be uint8 of H x W or H x W x 1 or 3, got float32 of 12 x 12 x 3"):
        transform(np.zeros((12, 12, 3), dtype=np.float32))
    with pytest.raises(InputError, match="got uint8 of 3 x 12 x 12"):
        transform(np.zeros((3, 12, 12), dtype=np.uint8))
