"""NAS-Bench-Macro: all 6,561 chains of its space trained on CIFAR-10 with three seeds.

Paper: Su et al., "Prioritized Architecture Sampling with Monto-Carlo Tree Search", arXiv 2103.11922.
"""

from __future__ import annotations

from functools import lru_cache

from ..spaces.macro import Macro
from .files import STORED_PER_POINT, archs_of, read_bundled, restored
from .table import Column, Table

TABLE_FILE = "macro.npz", "472466be85aec2b62eff0aef20b64e0b882aba497ed26c51291165119e52600c"
EPOCHS = 50


@lru_cache(maxsize=1)
def load() -> Table:
    """Load the test accuracies in percent: `acc_s0..2`, their mean `mean_acc` and population deviation `std`.

    All encodings of a network have the same numbers.
    """
    arrays = read_bundled(*TABLE_FILE)
    space = Macro()
    acc = restored(arrays["acc"])
    # Whole numbers are added first, or rounding would break ties.
    mean = arrays["acc"].sum(axis=1) / (STORED_PER_POINT * acc.shape[1])
    columns = {
        "mean_acc": Column(mean, "CIFAR-10", "test", EPOCHS, "mean", "%"),
        "std": Column(acc.std(axis=1), "CIFAR-10", "test", EPOCHS, "mean", "%"),
    }
    for seed in range(acc.shape[1]):
        columns[f"acc_s{seed}"] = Column(acc[:, seed], "CIFAR-10", "test", EPOCHS, str(seed), "%")
    return Table(space, archs_of(space, arrays["index"]), columns)
