"""`predict`: the classes of images, by an exported model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, InputError, SupernetError, UnknownNameError
from ..result import Result

if TYPE_CHECKING:
    from ..datasets.dataset import Images
    from ..exporters.card import Card

ENGINES = ("torch", "onnx", "int8")
TOP = 3  # classes that are named

Logits = npt.NDArray[np.floating[Any]]
Lot = tuple[list[str], Callable[[Sequence[int]], "Images"]]  # names of images, and the pixels of some of them


@dataclass(frozen=True)
class Prediction:
    """The likeliest classes of one image, the best first, and their probabilities."""

    image: str
    classes: tuple[str, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Predictions(Result):
    """What a model says about images, in the order given."""

    model: str
    engine: str
    predictions: tuple[Prediction, ...]
    skipped: tuple[str, ...] = ()  # images that could not be read, and why

    def lines(self) -> list[str]:
        """One line per image: where it is, its class, the probability; then the classes that come next."""
        shown = [f"{_shown(p.image)}  {_guesses(p)}" for p in self.predictions]
        return [*shown, *(f"left out: {_shown(fault)}" for fault in self.skipped)]


def predict(
    model: str | PathLike[str],
    images: Sequence[str | Path],
    *,
    top: int = TOP,
    batch: int = 64,
    engine: str = "torch",
    skip_bad: bool = False,
) -> Predictions:
    """Classify images; they are prepared as the training images were.

    Args:
        model: The directory of an exported model.
        images: Files, folders (with all folders inside), `.npz` files, or data sets by name.
        top: The number of classes to name per image.
        batch: The number of images at a time.
        engine: `torch`, or `onnx` for the model's ONNX file, or `int8` for the quantised one.
        skip_bad: Go on without images that cannot be read; without it, they are refused.

    Returns:
        The likeliest classes of each image, in the order given.
    """
    for name, value in (("top", top), ("batch", batch)):
        if value < 1:
            raise InputError(f"{name} must be 1 or more, got {value}")
    if engine not in ENGINES:
        raise UnknownNameError("engine", engine, ENGINES)
    from ..exporters.model import read_card  # here: it imports torch

    card = read_card(model)
    lots = [_find(str(item), card) for item in images]
    if not lots:
        raise InputError("predict needs an image, a folder of images or a data set")
    network = _network(Path(model), engine)
    skipped: list[str] = []
    faults = skipped if skip_bad else None
    predictions = [p for lot in lots for p in _classify(lot, card, network, top, batch, faults)]
    return Predictions(card.name, engine, tuple(predictions), tuple(skipped))


def _classify(
    lot: Lot, card: Card, network: Callable[[Any], Logits], top: int, batch: int, faults: list[str] | None
) -> Iterator[Prediction]:
    """The classes of some images; what cannot be read is added to `faults`, or refused if there is no such list."""
    names, pixels = lot
    for start in range(0, len(names), batch):
        rows: Sequence[int] = range(start, min(start + batch, len(names)))
        read = pixels(rows) if faults is None else None
        if faults is not None:
            rows, read = _readable(rows, pixels, faults)
        if read is None:
            continue
        logits = network(card.prepare(read)).astype(np.float64)
        for row, values in zip(rows, logits, strict=True):
            if not np.isfinite(values).all():
                raise SupernetError(f"{names[row]}: the network's logits are not finite")
            shares = np.exp(values - values.max())
            shares = (shares / shares.sum())[: len(card.classes)]
            best = np.argsort(-shares, kind="stable")[:top]
            yield Prediction(names[row], tuple(card.classes[i] for i in best), tuple(float(shares[i]) for i in best))


def _readable(
    rows: Sequence[int], pixels: Callable[[Sequence[int]], Images], faults: list[str]
) -> tuple[list[int], Images | None]:
    """Those of the images that can be read, one by one; None if there is none."""
    kept, found = [], []
    for row in rows:
        try:
            found.append(pixels([row]))
            kept.append(row)
        except DataError as error:
            faults.append(str(error))
    return kept, np.concatenate(found) if found else None


def _network(model: Path, engine: str) -> Callable[[Any], Logits]:
    """From prepared images to logits."""
    import torch

    from ..exporters import onnx
    from ..exporters.model import INT8, ONNX, load_model, verify

    threads = max(1, (os.cpu_count() or 1) // 2)
    if engine != "torch":
        file = ONNX if engine == "onnx" else INT8
        if file not in verify(model)["sha256"]:
            hint = f"add it with: supernetic export {model}" if file == ONNX else "export the run of the model again"
            raise InputError(f"{model} has no {file}: {hint}")
        reader = onnx.session(model / file, threads)
        return lambda x: onnx.run(reader, x.numpy())
    network = load_model(model)

    def logits(x: torch.Tensor) -> Logits:
        before = torch.get_num_threads()
        torch.set_num_threads(min(before, threads))
        try:
            with torch.inference_mode():
                array: Logits = network(x).numpy()
        finally:
            torch.set_num_threads(before)
        return array

    return logits


def _find(item: str, card: Card) -> Lot:
    """The images behind an argument."""
    from ..datasets.images import SUFFIXES
    from ..datasets.known import KNOWN
    from ..datasets.loading import ARCHIVES

    path = Path(item)
    if (path / "labels.npz").is_file() or item.endswith((".npz", *ARCHIVES)):
        return _data_set(item, card)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in SUFFIXES)
        if files:
            return _files(files, card)
        try:
            return _data_set(item, card)
        except DataError:
            raise DataError(f"{path} holds no image") from None
    if not path.exists() and item in {k.name for k in KNOWN}:
        return _data_set(item, card)
    if not path.exists():
        raise DataError(f"{path} does not exist")
    return _files([path], card)


def _files(files: list[Path], card: Card) -> Lot:
    from ..datasets.images import as_array, open_image, square

    resolution = card.data_resolution or card.resolution

    def pixels(rows: Sequence[int]) -> Images:
        return as_array([square(open_image(files[i])[0], resolution) for i in rows], resolution, card.channels == 1)

    return [str(f) for f in files], pixels


def _data_set(item: str, card: Card) -> Lot:
    from ..datasets.loading import read

    source = read(item)
    names = list(source.files) or [f"{item}[{i}]" for i in range(len(source.labels))]

    def pixels(rows: Sequence[int]) -> Images:
        return source.pixels(np.array(rows), card.data_resolution or card.resolution, card.channels == 1)[0]

    return names, pixels


def _guesses(p: Prediction) -> str:
    return ", ".join(f"{_shown(name)} {share:.1%}" for name, share in zip(p.classes, p.probabilities, strict=True))


def _shown(text: str) -> str:
    """Text from outside that cannot break a line."""
    return "".join(c if c.isprintable() else "?" for c in text)
