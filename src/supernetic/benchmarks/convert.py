"""Make the bundled tables from the published ones: `python -m supernetic.benchmarks.convert FOLDER`.

Whatever can be computed is left out: costs, strings, and means and deviations over seeds if all seeds are there.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np

from ..spaces.macro import Macro
from ..spaces.nasbench201 import EDGES, NASBench201
from ..spaces.transnas import TransNASMicro
from .files import DATA_DIR, Arrays, index_of, stored


def nasbench201(source: Path) -> dict[str, Arrays]:
    """Return accuracies and training times; latencies are a separate file."""
    with np.load(source / "nasbench201.npz") as old:
        genes = np.stack([old[f"op_{i}_{j}"] for i, j in EDGES], axis=1)
        arrays = {"index": index_of(NASBench201(), genes), "train_time_s": old["train_time_s_c10_valid_200"]}
        arrays |= {n: stored(old[n]) for n in old.files if n.split("_")[0] in ("c10", "c100", "in16")}
    with np.load(source / "nasbench201_latency.npz") as old:
        latencies = {n: old[n] for n in old.files}
    return {"nasbench201": arrays, "nasbench201_latency": latencies}


def macro(source: Path) -> dict[str, Arrays]:
    """Return the accuracies of the three seeds."""
    with np.load(source / "nasbench_macro.npz") as old:
        return {"macro": {"index": index_of(Macro(), old["ops"]), "acc": stored(old["test_acc"])}}


def transnas(source: Path) -> dict[str, Arrays]:
    """Return the validation accuracies; the published scores in that file are left out."""
    with np.load(source / "tnb101_micro_scores.npz") as old:
        index = index_of(TransNASMicro(), old["ops"])
        return {"transnas_micro": {"index": index, "valid_acc": stored(old["valid_acc"])}}


def main(source: Path, target: Path = DATA_DIR) -> dict[str, str]:
    """Write the files and return the SHA-256 of each, for the importers and the README beside them."""
    digests = {}
    for name, arrays in {**nasbench201(source), **macro(source), **transnas(source)}.items():
        path = target / f"{name}.npz"
        temporary = path.with_suffix(".tmp.npz")
        np.savez_compressed(temporary, **arrays)  # type: ignore[arg-type]
        os.replace(temporary, path)
        digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


if __name__ == "__main__":
    for name, digest in main(Path(sys.argv[1])).items():
        print(digest, name)
