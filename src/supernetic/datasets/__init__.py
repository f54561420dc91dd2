"""Images to learn from: readers of the common formats, one `Dataset`, and batches by step number.

`load` and `Dataset` need no torch; `datasets.batches` and `datasets.augment` do.
"""

from .dataset import SPLITS, Dataset
from .in_memory import Data, DataLike, source_of
from .loading import load, outline

__all__ = ["SPLITS", "Data", "DataLike", "Dataset", "load", "outline", "source_of"]
