"""Measure `single`: how good the one network became that a training took at every step.

Paper: SCARLET-NAS, Table 8 (the smallest and the largest network, trained in full) and figure 8 (a network trained with
its stabilisers, and with a ReLU behind each). The sampler `single` trains such a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...costs import costs_of
from ...errors import RunError
from ...jobs.train.supernet_run import TASK
from ...runs.directory import read_records, read_settings
from ...runs.files import METRICS
from ...samplers.named import sampler
from ...samplers.single import Single as SingleSampler
from ...space import Space
from .measure import Measured, Report, trained_space
from .scored import BySupernet


@dataclass(frozen=True)
class Single(BySupernet):
    """Its score, its MACs, and the training loss at the end."""

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return ("score", "loss", "macs")

    def check(self, space: Space) -> list[str]:
        """Any space can be measured."""
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Score the network that the sampler of the run took."""
        taken = sampler(read_settings(run)["recipe"]["sampler"])
        if not isinstance(taken, SingleSampler):
            raise RunError(f"{run} trained more than one network: the measure single goes with the sampler single")
        networks = trained_space(run)
        archs = np.array([taken.arch_of(networks)], dtype=np.int8)
        losses = [r["loss"] for r in read_records(run / METRICS) if r["task"] == TASK]
        numbers = (self.scores(run, archs, report)[0], losses[-1], costs_of(networks, archs)[0])
        values = {name: float(v) for name, v in zip(self.shown, numbers, strict=True)}
        return Measured(values, {"network": networks.format(taken.arch_of(networks))})
