"""What a search costs at the scale of the papers, on 8, 64 and 512 GPUs: `python experiments/scale_out.py`.

No such search was run. Device time follows from two printed costs, which give what a V100 sustains; the coordinator's
share from `cluster.toml`, which `benchmarks/cluster.py` measured. Writes `scale_out.toml`.
"""

from __future__ import annotations

import tomllib
from math import ceil
from typing import Any

import numpy as np
from record import HERE, Record, write_all

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.lab.accounting import BUDGETS_M_MACS

GPUS = (8, 64, 512)
IMAGES, IMAGE_BYTES = 1_281_167, 110_000  # ImageNet: training images, and the mean size of a file
EPOCHS = 360  # of the supernet of AttentiveNAS, which takes four paths a step: largest, smallest, two between
SCORED, VALIDATION, RECALIBRATION = 1_000_000, 10_000, 1_024  # architectures; images that each is scored on
BUDGETS = 100  # models that are handed over, with the supernet's own weights
PIECE = 100  # architectures of a piece
TRAINING = 3  # passes: forward, and backward for inputs and for weights
DAY_S, HOUR_S = 86_400, 3_600
SUPERNET_BYTES = 200e6  # of the weights of AttentiveNAS's supernet in 32 bits, about


def rates() -> tuple[float, float]:
    """MACs a second that a V100 sustained: lower by OFA's training, higher by ScaleNet's retraining."""
    ofa = 590 * IMAGES * TRAINING * 600e6 / (1200 * HOUR_S)
    scalenet = 300 * IMAGES * TRAINING * sum(BUDGETS_M_MACS) * 1e6 / (280 * DAY_S)
    return ofa, scalenet


def macs_of_space() -> tuple[float, float, float]:
    """Smallest, mean and largest network of the AttentiveNAS space, from 10,000 random ones and the extremes."""
    space = catalog.space("attentive")
    drawn = costs_of(space, space.sample(np.random.default_rng(0), 10_000))
    ends = [[0] * len(space.choices), [len(c.options) - 1 for c in space.choices]]
    small, large = (float(costs_of(space, np.array([end], dtype=np.int8))[0]) for end in ends)
    return small, float(np.mean(drawn)), large


def scale_out() -> Record:
    """One row for each number of GPUs."""
    measured: dict[str, Any] = tomllib.loads((HERE / "cluster.toml").read_text())
    small, mean, large = macs_of_space()
    low, high = rates()
    step = small + large + 2 * mean
    supernet = EPOCHS * IMAGES * TRAINING * step
    each = (VALIDATION + RECALIBRATION) * mean
    final = BUDGETS * (50_000 + RECALIBRATION) * mean
    carries = 1000 / measured["overhead"]["milliseconds a piece"]  # pieces a second that one coordinator carries
    rows = {}
    for gpus in GPUS:
        row: dict[str, Any] = {}
        for name, work in (("supernet", supernet), ("scores", SCORED * each), ("models", final)):
            row[f"{name}, days"] = [round(work / rate / gpus / DAY_S, 2) for rate in (high, low)]
        pieces = [gpus * rate / (PIECE * each) for rate in (high, low)]
        row["pieces a second"] = [round(p, 4) for p in pieces]
        row["share of what the coordinator carries"] = round(max(pieces) / carries, 5)
        row["GB a second of images"] = [
            round(gpus * rate / (TRAINING * step) * IMAGE_BYTES / 1e9, 3) for rate in (high, low)
        ]
        row["seconds to send the supernet at 1 GB a second"] = ceil(gpus * SUPERNET_BYTES / 1e9)
        rows[str(gpus)] = row
    shares = {gpus: row["share of what the coordinator carries"] for gpus, row in rows.items()}
    held = max(shares.values()) < 0.5
    obtained = {
        "V100, T MACs a second": [round(high / 1e12, 2), round(low / 1e12, 2)],
        "M MACs: smallest, mean, largest": [round(m / 1e6) for m in (small, mean, large)],
        "seconds of one score on a V100": [round(each / rate, 1) for rate in (high, low)],
        "GPU-days: supernet": [round(supernet / rate / DAY_S) for rate in (high, low)],
        "GPU-days: scores": [round(SCORED * each / rate / DAY_S) for rate in (high, low)],
        "pieces a second that a coordinator carries": round(carries),
        "by GPUs": rows,
    }
    sentence = (
        f"At 512 GPUs, pieces of {PIECE} scores use {100 * shares['512']:.2f} % of what one coordinator carries; "
        "reading images is the first limit."
    )
    return Record(
        name="scale_out", claim="One coordinator carries a search at the papers' scale on 512 GPUs.",
        source="ours; device time from OFA's and ScaleNet's printed costs", expected="less than half of its capacity",
        obtained=obtained, n=len(GPUS), held=held, sentence=sentence, scale="arithmetic; no such search was run",
    )  # fmt: skip


if __name__ == "__main__":
    write_all({"scale_out": scale_out})
