"""NAS-Bench-201: all of its 15,625 cells, trained on three data sets and timed on many devices.

Paper: Dong & Yang, "NAS-Bench-201", arXiv 2001.00326 (accuracies); Lee et al., "HELP", arXiv 2106.08630, and Li et al.,
"HW-NAS-Bench", arXiv 2103.10584 (latencies).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np

from ..space import Arch, Archs
from ..spaces.nasbench201 import EDGES, NASBench201
from .files import archs_of, read_bundled, restored
from .table import Column, Table

ACCURACY_FILE = "nasbench201.npz", "20368f98d5b7cc2ab9fdc8cdf580b32bec6436e8ae059b1860c8c9a666772446"
LATENCY_FILE = "nasbench201_latency.npz", "7b824b18acddd73bcba8c096e2aa279d8a4364564290ccdfc1231c474fbb6b4f"

DATASETS = {"c10": "CIFAR-10", "c100": "CIFAR-100", "in16": "ImageNet16-120"}
SPLITS = {"valid": "valid", "test": "test", "valtest": "valid+test"}  # valtest: both halves of the official test set

Term = tuple[str, "Value"]  # an operation and what it reads; ("input", ()) is the cell's input
Value = tuple[Term, ...]  # what a node sums, in sorted order


@lru_cache(maxsize=1)
def load() -> Table:
    """Load the bundled table, with rows in the official order.

    Columns are DATASET_SPLIT_EPOCHS[_sSEED] in percent, `lat_ms_*` and `train_time_s`. The 200-epoch columns are means
    over two or three seeds, `_s...` the single seeds; `*_12` is a short schedule of one seed, a cheap proxy and not the
    ground truth.
    """
    arrays = read_bundled(*ACCURACY_FILE)
    space = NASBench201()
    archs = archs_of(space, arrays.pop("index"))
    seconds = arrays.pop("train_time_s").astype(np.float64)
    columns = {}
    for name, numbers in arrays.items():
        match = re.fullmatch(r"([a-z]+\d+)_([a-z]+)_(\d+)(?:_s(\d+))?", name)
        assert match, name
        dataset, split, epochs, seed = match.groups()
        seed = seed or ("mean" if epochs == "200" else "one")
        columns[name] = Column(restored(numbers), DATASETS[dataset], SPLITS[split], int(epochs), seed, "%")
    columns["train_time_s"] = Column(seconds, "CIFAR-10", epochs=200, seed="mean", unit="s")
    for name, values in read_bundled(*LATENCY_FILE).items():
        columns[name] = Column(values.astype(np.float64), unit="ms")
    return Table(space, archs, columns, same=functions)


def functions(space: NASBench201, archs: Archs) -> Sequence[Hashable]:
    """Return what each cell computes, as `function_of` describes it."""
    return [function_of(space, tuple(a)) for a in archs.tolist()]


def function_of(space: NASBench201, arch: Arch) -> Hashable:
    """Return a description that is equal for cells that compute the same: 4,930 classes among the 15,625.

    A node is the sorted sum of its terms. `none` adds no term, nor does an operation on a node that sums nothing;
    `skip_connect` passes on the terms of the node that it reads. (Cells of a class still differ in MACs, because dead
    convolutions are built and counted, and in the table's accuracy, which was trained for each string.)
    """
    nodes: list[Value] = [(("input", ()),), (), (), ()]
    for gene, (i, j) in zip(arch, EDGES, strict=True):  # edges into a node come after those into its sources
        operation = space.operations[gene]
        if operation == "skip_connect":
            nodes[j] = tuple(sorted(nodes[j] + nodes[i]))
        elif operation != "none" and nodes[i]:
            nodes[j] = tuple(sorted((*nodes[j], (operation, nodes[i]))))
    return nodes[3]
