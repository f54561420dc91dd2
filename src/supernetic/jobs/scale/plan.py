"""How long each step of a scaling job may take; fixed in steps ever after.

Of the time there is, the super-supernet gets 30 parts, the search 15 and the trainings of finished networks 55: there
are three for each member of the family, and they are the evidence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from ...text import duration
from ..speed import Speed
from ..time_plan import COMPARE, EXPORT, EXPORT_S, REPORT_S, SEARCH, TRAIN, TimePlan, fit_parts, require_time

TIME_SHARES = {TRAIN: 30, SEARCH: 15, COMPARE: 55}
MIN_STEPS = {TRAIN: 60, SEARCH: 60, COMPARE: 40}  # steps, evaluations, steps: below, all is noise
UNLIMITED_STEPS = 1 << 40
STRATEGIES_PER_STAGE = 12  # distinct strategies of a stage that fit a base model, about
PAPER_SIZES = {"bases": 20, "rounds": 8, "population": 50, "generations": 40}
TEST_S = 2.0  # seconds per network: test and latency


@dataclass(frozen=True)
class ScalePlan(TimePlan):
    """What a scaling job will do, and the seconds that each part should take."""

    supernet_steps: int
    bases: int
    rounds: int
    population: int
    generations: int
    network_steps: int
    networks: int
    models: int
    workers: int
    stages: int
    seconds: Mapping[str, float] = field(default_factory=dict)  # empty if nothing was measured

    @property
    def evaluations(self) -> int:
        """About how many networks the search asks for."""
        return evaluations(self.stages, self.bases, self.rounds, self.population, self.generations)

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        return {**dataclasses.asdict(self), "seconds": {k: round(s, 1) for k, s in self.seconds.items()}}

    def lines(self) -> list[str]:
        """One line per part."""
        texts = {
            TRAIN: f"train the super-supernet: {self.supernet_steps:,} steps",
            SEARCH: f"search: strategies for {self.bases} base models, then {self.rounds} rounds of "
            f"{self.generations} generations of {self.population}: at most about {self.evaluations:,} networks",
            COMPARE: f"train {self.networks} networks for {self.network_steps:,} steps each",
            EXPORT: f"export {self.models} models and report",
        }
        if not self.seconds:
            return list(texts.values())
        parts = [f"{text}, about {duration(self.seconds[k])}" for k, text in texts.items()]
        return [*parts, f"in all about {duration(sum(self.seconds.values()))}"]


def evaluations(stages: int, bases: int, rounds: int, population: int, generations: int) -> int:
    """Networks that a search asks for, at most about."""
    return stages * (bases * STRATEGIES_PER_STAGE + rounds * (population * generations + STRATEGIES_PER_STAGE))


def search_of(stages: int, most: int) -> dict[str, int]:
    """Sizes of a search of at most `most` evaluations, in about the paper's proportions."""
    if evaluations(stages, **PAPER_SIZES) <= most:
        return dict(PAPER_SIZES)
    bases = max(1, min(PAPER_SIZES["bases"], round(0.25 * most / (stages * STRATEGIES_PER_STAGE))))
    rounds = 1 if most < 300 else 2 if most < 2000 else 4
    per_round = (most / stages - bases * STRATEGIES_PER_STAGE) / rounds - STRATEGIES_PER_STAGE
    members = max(4.0, per_round)  # population times generations
    population = max(
        2, min(PAPER_SIZES["population"], round(sqrt(members * PAPER_SIZES["population"] / PAPER_SIZES["generations"])))
    )
    return {
        "bases": bases,
        "rounds": rounds,
        "population": population,
        "generations": max(1, min(PAPER_SIZES["generations"], int(members / population))),
    }


def make_plan(
    speed: Speed,
    minutes: float | None,
    costs: Sequence[float],
    typical: tuple[float, float],
    *,
    stages: int,
    supernet_steps: int,
    network_steps: int,
    models: int,
    workers: int,
    spent: float = 0.0,
) -> ScalePlan:
    """Fit a scaling job into a time.

    Args:
        speed: Seconds of each kind of work.
        minutes: The time; None: the lengths of the recipes, and the search of the paper.
        costs: MACs of the networks to be trained.
        typical: MACs of the two networks that `speed` was measured on; the time of others follows in proportion.
        stages: Searched stages beyond the base.
        supernet_steps: The length of the super-supernet's recipe.
        network_steps: The length of the recipe of finished networks.
        models: How many are exported.
        workers: Trainings at a time.
        spent: Seconds of the time that are over already.

    Returns:
        The plan. Too little time is refused.
    """
    slope = max(0.0, (speed.largest_step - speed.network_step) / max(1.0, typical[1] - typical[0]))
    each = [max(speed.network_step / 2, speed.network_step + slope * (c - typical[0])) for c in costs]
    pace = {
        TRAIN: speed.supernet_step,
        SEARCH: speed.evaluation,
        COMPARE: max(sum(each) / workers, max(each)),
    }
    fixed = models * EXPORT_S + REPORT_S + TEST_S * len(costs) + speed.start
    if minutes is None:
        steps = {TRAIN: supernet_steps, SEARCH: evaluations(stages, **PAPER_SIZES), COMPARE: network_steps}
    else:
        what = (
            f"{MIN_STEPS[TRAIN]} steps of the super-supernet, {MIN_STEPS[SEARCH]} evaluations and "
            f"{len(costs)} trainings of {MIN_STEPS[COMPARE]} steps"
        )
        instead = "search fewer --stages, a smaller --base-budget or a smaller --space"
        left = require_time(minutes, fixed + spent + speed.measuring, pace, MIN_STEPS, what, instead)
        most = {
            TRAIN: UNLIMITED_STEPS,
            SEARCH: max(MIN_STEPS[SEARCH], evaluations(stages, **PAPER_SIZES)),
            COMPARE: UNLIMITED_STEPS,
        }
        steps = fit_parts(left, TIME_SHARES, pace, MIN_STEPS, most)
    sizes = search_of(stages, steps[SEARCH])
    seconds = {k: steps[k] * pace[k] for k in pace} | {EXPORT: fixed}
    seconds[SEARCH] = min(steps[SEARCH], evaluations(stages, **sizes)) * pace[SEARCH]
    return ScalePlan(
        steps[TRAIN], **sizes, network_steps=steps[COMPARE], networks=len(costs), models=models, workers=workers,
        stages=stages, seconds=seconds,
    )  # fmt: skip
