"""The data set that comes with the package: a stratified subset of Fashion-MNIST, for demonstrations and tests.

Paper: Xiao, Rasul and Vollgraf, "Fashion-MNIST", 2017, arXiv 1708.07747. Licence: MIT, Zalando SE.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np

from ..errors import DataError
from .known import EMBEDDED, FASHION_MNIST_CLASSES
from .sheets import tiles, whole
from .source import Source, from_arrays

DATA_FOLDER = Path(__file__).with_name("data")
SHEET_FILE = ("fashion_mnist.png", "7043f8b51b388dc20ba803b2c70839a1c7575d4b83d70da083cd3832532a240a")
LABELS_FILE = ("fashion_mnist_labels.npz", "a2ca11b252dac8fe22951f9f0eec86eaf18705fa581e146464f9ef39af716860")
RESOLUTION_PIXELS = 28


def read() -> Source:
    """8,000 training and 2,000 test images, checked against their SHA-256."""
    with np.load(io.BytesIO(_bundled(*LABELS_FILE)), allow_pickle=False) as file:
        labels = {split: file[split].astype(np.int64) for split in ("train", "test")}
    count = sum(map(len, labels.values()))
    images = tiles(SHEET_FILE[0], _bundled(*SHEET_FILE), count, RESOLUTION_PIXELS)
    return whole(EMBEDDED, EMBEDDED, from_arrays(images), labels, FASHION_MNIST_CLASSES, licence="MIT")


def _bundled(name: str, digest: str) -> bytes:
    try:
        data = (DATA_FOLDER / name).read_bytes()
    except OSError as error:
        raise DataError(f"the bundled file {name} cannot be read: {error.strerror}; reinstall supernetic") from None
    actual = hashlib.sha256(data).hexdigest()
    if actual != digest:
        raise DataError(f"the bundled file {name} is damaged: SHA-256 {actual}, not {digest}; reinstall supernetic")
    return data
