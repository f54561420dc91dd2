"""What an evaluator is, and several evaluators as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..objective import Metrics
from ..space import Arch


class Evaluator(Protocol):
    """Many at a time, so that work can be shared; the answer for an architecture never depends on its company."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Full names of what an answer holds."""

    @property
    def test(self) -> frozenset[str]:
        """Those among `metrics` that come from test data and must not steer a search."""

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture, in the same order; what cannot be known is NaN."""


@dataclass(frozen=True)
class CombinedEvaluator:
    """The metrics of several evaluators in one record."""

    parts: tuple[Evaluator, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """All names, in the order of the parts."""
        return tuple(name for part in self.parts for name in part.metrics)

    @property
    def test(self) -> frozenset[str]:
        """Test metrics of all parts."""
        return frozenset[str]().union(*(part.test for part in self.parts))

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """Merge the parts' records."""
        answers = [part(archs) for part in self.parts]
        return [{k: v for record in records for k, v in record.items()} for records in zip(*answers, strict=True)]
