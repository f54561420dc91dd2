"""How long a finish trains."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ...text import duration
from ..time_plan import PLANNED_SHARE, TimePlan

MIN_TRAINING_S = 1.0  # that is planned, however short the time is


@dataclass(frozen=True)
class FinishPlan(TimePlan):
    """What a finish will do."""

    model: str
    workers: int
    steps: int = 0  # 0: as many as the time allows
    limit: float = 0.0  # seconds for everything; 0: steps were given
    spent: float = 0.0  # seconds until the training begins
    after: float = 0.0  # seconds from its end: validation, test, export, report

    @property
    def seconds(self) -> float:
        """Of the training, as far as the plan knows."""
        return self.left(0.0)

    def left(self, passed: float) -> float:
        """Seconds for training, when so many have passed since it began."""
        return max(MIN_TRAINING_S, PLANNED_SHARE * self.limit - self.spent - passed - self.after)

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        return {**dataclasses.asdict(self), "spent": round(self.spent, 2), "after": round(self.after, 2)}

    def lines(self) -> list[str]:
        """What is done, in order."""
        length = f"{self.steps:,} steps" if self.steps else f"about {duration(self.seconds)}"
        return [f"train {self.model} further for {length}", "test and export it if validation images say it is better"]
