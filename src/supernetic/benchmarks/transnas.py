"""TransNAS-Bench-101, micro: 2,128 of its cells, those without dead operations, trained for object classification.

Paper: Duan et al., "TransNAS-Bench-101", arXiv 2105.11871; by way of the tables of Kadlecova et al., "Surprisingly
Strong Performance Prediction with Neural Graph Features", arXiv 2404.16551, which leave out the other cells.
"""

from __future__ import annotations

from functools import lru_cache

from ..spaces.transnas import TransNASMicro
from .files import archs_of, read_bundled, restored
from .table import Column, Table

TABLE_FILE = "transnas_micro.npz", "6cd9dbf951aca3ca592eb722608038e5056415e1d92a61b98e8a5aa6ca6a6837"


@lru_cache(maxsize=1)
def load() -> Table:
    """Load the bundled table; `valid_acc` is the validation accuracy in percent."""
    arrays = read_bundled(*TABLE_FILE)
    space = TransNASMicro()
    accuracy = Column(restored(arrays["valid_acc"]), "Taskonomy, objects", "valid", 25, "one", "%")
    return Table(space, archs_of(space, arrays["index"]), {"valid_acc": accuracy})
