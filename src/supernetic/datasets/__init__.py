"""Images to learn from: readers of the common formats, one `Dataset`, and batches by step number.

`load` and `Dataset` need no torch; `datasets.batches` and `datasets.augment` do.
"""

from .dataset import SPLITS, Dataset
from .loading import load

__all__ = ["SPLITS", "Dataset", "load"]
