"""The base classes of measures that score networks with a supernet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Floats
from ...errors import InputError, UnknownNameError
from ...jobs.train.score import RECALIBRATION_IMAGES, SUBSET_METRICS, score
from ...metrics import quality
from ...ranking.robustness import subnets
from ...space import Arch, Archs, Space
from .measure import Measure, Report, Scoring, archs_of, plain_space, trained_space

BN_MODES = ("recalibrate", "batch", "running")


@dataclass(frozen=True)
class BySupernet(Measure):
    """Base class of measures that need scores: by what they are scored, and on which images."""

    score: str = "valid/accuracy"
    bn: str = "batch"  # one of BN_MODES
    images: int = RECALIBRATION_IMAGES  # training images that recalibrate BN
    valid: int = 0  # validation images that networks are scored on; 0: all

    def __post_init__(self) -> None:
        if self.score not in SUBSET_METRICS:
            raise UnknownNameError("score of networks", self.score, SUBSET_METRICS)
        if self.bn not in BN_MODES:
            raise UnknownNameError("BN mode", self.bn, BN_MODES)
        if self.valid < 0:
            raise InputError(f"valid must be at least 0 images, got {self.valid}")

    def how(self, step: int | None = None) -> dict[str, Any]:
        """Arguments of `score`, for the supernet after a step or at the end."""
        return {"bn": self.bn, "images": self.images, "valid": self.valid or None, "step": step}

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
        answers = score(run, trained_space(run), archs_of(archs), **self.how(step), progress=report)
        return np.array([quality(self.score, a[self.score]) for a in answers])


@dataclass(frozen=True)
class Scored(BySupernet):
    """Base class of measures that score the same `n` networks with every supernet."""

    n: int = 1024  # random networks

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 2:
            raise InputError(f"n must be at least 2 networks, got {self.n}")

    def networks(self, space: Space) -> Archs:
        """The architectures that are scored, of a space without stabilisers."""
        return subnets(space, n=self.n)

    def scorings(self, space: Space, run: Path | None = None) -> list[Scoring]:
        """All of them, by the supernet at the end."""
        plain = plain_space(space) if run is None else trained_space(run)
        archs: Sequence[Arch] = archs_of(self.networks(plain))
        return [Scoring(plain, archs, self.how())]
