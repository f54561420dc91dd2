"""The base class of measures that score random networks with a supernet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...arrays import Floats
from ...errors import InputError, UnknownNameError
from ...jobs.train.score import RECALIBRATION_IMAGES, SUBSET_METRICS, score
from ...metrics import quality
from ...space import Archs
from .measure import Measure, Report, archs_of, trained_space
from .ranking import BN_MODES


@dataclass(frozen=True)
class Scored(Measure):
    """Base class of measures that score the same `n` networks with every supernet."""

    n: int = 1024  # random networks
    score: str = "valid/accuracy"
    bn: str = "batch"  # one of BN_MODES
    images: int = RECALIBRATION_IMAGES  # training images that recalibrate BN
    valid: int = 0  # validation images that networks are scored on; 0: all

    def __post_init__(self) -> None:
        if self.score not in SUBSET_METRICS:
            raise UnknownNameError("score of networks", self.score, SUBSET_METRICS)
        if self.bn not in BN_MODES:
            raise UnknownNameError("BN mode", self.bn, BN_MODES)
        if self.n < 2:
            raise InputError(f"n must be at least 2 networks, got {self.n}")
        if self.valid < 0:
            raise InputError(f"valid must be at least 0 images, got {self.valid}")

    def scores(self, run: Path, archs: Archs, report: Report, step: int | None = None) -> Floats:
        """Score networks with the supernet of a run.

        Args:
            run: The run.
            archs: The architectures.
            report: Called with the progress.
            step: The step of a snapshot; by default the end of the training.

        Returns:
            One score per network, more is better; NaN where logits are not finite.
        """
        answers = score(
            run, trained_space(run), archs_of(archs),
            bn=self.bn, images=self.images, valid=self.valid or None, step=step, progress=report,
        )  # fmt: skip
        return np.array([quality(self.score, a[self.score]) for a in answers])
