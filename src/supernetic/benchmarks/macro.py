"""NAS-Bench-Macro: all 6,561 chains of its space trained on CIFAR-10 with three seeds.

Paper: Su et al., "Prioritized Architecture Sampling with Monto-Carlo Tree Search", arXiv 2103.11922.
"""

from __future__ import annotations

from functools import lru_cache

from ..spaces.macro import Macro
from .files import SCALE, archs_of, read_bundled, restored
from .table import Column, Table

FILE = "macro.npz", "472466be85aec2b62eff0aef20b64e0b882aba497ed26c51291165119e52600c"
EPOCHS = 50


@lru_cache(maxsize=1)
def load() -> Table:
    """Test accuracies in percent: `acc_s0..2`, their `mean_acc` and (population) `std`.

    All encodings of one network repeat the same numbers.
    """
    arrays = read_bundled(*FILE)
    space = Macro()
    acc = restored(arrays["acc"])
    mean = arrays["acc"].sum(axis=1) / (SCALE * acc.shape[1])  # whole numbers first, or rounding would break ties
    columns = {
        "mean_acc": Column(mean, "CIFAR-10", "test", EPOCHS, "mean", "%"),
        "std": Column(acc.std(axis=1), "CIFAR-10", "test", EPOCHS, "mean", "%"),
    }
    for seed in range(acc.shape[1]):
        columns[f"acc_s{seed}"] = Column(acc[:, seed], "CIFAR-10", "test", EPOCHS, str(seed), "%")
    return Table(space, archs_of(space, arrays["index"]), columns)
