"""What measures of random networks share: how many, and how a supernet scores them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...arrays import Floats
from ...errors import InputError, UnknownNameError
from ...jobs.train.score import FEWER, IMAGES, score
from ...space import Archs
from .measure import Measure, Report, archs_of, trained_space
from .ranking import MODES


@dataclass(frozen=True)
class Scored(Measure):
    """Base of measures that score `n` networks with every supernet, the same in all."""

    n: int = 1024
    score: str = "valid/accuracy"
    bn: str = "batch"
    images: int = IMAGES  # that recalibrate BN
    valid: int = 0  # validation images that networks are scored on; 0: all

    def __post_init__(self) -> None:
        if self.score not in FEWER:
            raise UnknownNameError("score of networks", self.score, FEWER)
        if self.bn not in MODES:
            raise UnknownNameError("BN mode", self.bn, MODES)
        if self.n < 2 or self.valid < 0:
            raise InputError(
                f"two networks or more are scored, on no less than no image, got {self.n} and {self.valid}"
            )

    def scores(self, run: Path, archs: Archs, report: Report, step: int | None = None) -> Floats:
        """Scores of networks, more for better; NaN where logits are not finite."""
        answers = score(
            run, trained_space(run), archs_of(archs),
            bn=self.bn, images=self.images, valid=self.valid or None, step=step, progress=report,
        )  # fmt: skip
        sign = -1 if self.score.endswith("cross_entropy") else 1
        return np.array([sign * a[self.score] for a in answers])
