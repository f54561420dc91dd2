"""How much of everything a search does in the time there is.

Of the time, the supernet gets 45 parts, the search 10 and the trainings of finished networks 40, once export and report
are paid for. What the search cannot use, because the budget has too few networks, goes to the other two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapreplace
from math import ceil, sqrt
from typing import Any

from ...result import Result
from ...text import duration
from ..speed import Speed
from ..time_plan import COMPARE, EXPORT, EXPORT_S, REPORT_S, SEARCH, TRAIN, fit_parts, require_time

TIME_SHARES = {TRAIN: 45, SEARCH: 10, COMPARE: 40}
MIN_STEPS = {TRAIN: 100, SEARCH: 40, COMPARE: 60}  # of the supernet, evaluations, of a network: below, all is noise
MAX_RECIPE_LENGTHS = 10  # longer trainings do not help
POPULATION, GENERATIONS = 50, 18
RANDOM_GENERATIONS = 2  # that are drawn before any is bred


@dataclass(frozen=True)
class SearchPlan(Result):
    """What a search will do, in steps, and the seconds that each part should take."""

    supernet_steps: int
    population: int
    generations: int
    networks: int  # that are trained from scratch: the chosen ones and the controls
    network_steps: int  # of each
    workers: int
    models: int  # that are exported
    seconds: Mapping[str, float] = field(default_factory=dict)  # empty if nothing was measured

    @property
    def evaluations(self) -> int:
        """Architectures that the search may evaluate."""
        return self.population * (RANDOM_GENERATIONS + self.generations)

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        return {**dataclasses.asdict(self), "seconds": {k: round(s, 1) for k, s in self.seconds.items()}}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> SearchPlan:
        """The plan that `to_settings` wrote."""
        return cls(**{**settings, "seconds": dict(settings["seconds"])})

    def lines(self) -> list[str]:
        """One line per part."""
        at_once = f", {self.workers} at a time" if self.workers > 1 and self.networks > 1 else ""
        texts = {
            TRAIN: f"train the supernet: {self.supernet_steps:,} steps",
            SEARCH: f"search: {self.evaluations:,} networks, {self.population} a generation",
            COMPARE: f"train {self.networks} networks for {self.network_steps:,} steps each{at_once}",
            EXPORT: f"export {self.models} models and report",
        }
        if not self.networks:
            del texts[COMPARE]
        if not self.seconds:
            return list(texts.values())
        parts = [f"{text}, about {duration(self.seconds[k])}" for k, text in texts.items()]
        return [*parts, f"in all about {duration(sum(self.seconds.values()))}"]


def make_plan(
    speed: Speed,
    minutes: float | None,
    *,
    supernet_steps: int,
    network_steps: int,
    networks: int,
    models: int,
    workers: int,
    room: int | None = None,
    spent: float = 0.0,
    requested: Mapping[str, int | None] | None = None,
) -> SearchPlan:
    """Fit a search into a time.

    Args:
        speed: Seconds of each kind of work.
        minutes: The time; None: the recipes' own lengths.
        supernet_steps: The length of the supernet's recipe.
        network_steps: The length of the recipe of finished networks.
        networks: How many are trained on their own, the largest network among them.
        models: How many are exported.
        workers: Trainings at a time.
        room: How many different networks satisfy the limits, if that is known.
        spent: Seconds of the time that are over already.
        requested: Steps or evaluations that the user set, by part (`train`, `search`, `compare`).

    Returns:
        The plan. Too little time is refused.
    """
    most = min(POPULATION * (RANDOM_GENERATIONS + GENERATIONS), room or POPULATION * (RANDOM_GENERATIONS + GENERATIONS))
    fixed = models * EXPORT_S + REPORT_S + (speed.start if networks else 0.0)
    pace = {TRAIN: speed.supernet_step, SEARCH: speed.evaluation, COMPARE: _span(speed, networks, workers)}
    given = {k: n for k, n in (requested or {}).items() if n is not None}
    if minutes is None:
        steps = {TRAIN: supernet_steps, SEARCH: most, COMPARE: network_steps} | given
    else:
        least = MIN_STEPS | {SEARCH: min(MIN_STEPS[SEARCH], most)} | given
        limits = {TRAIN: MAX_RECIPE_LENGTHS * supernet_steps, SEARCH: most, COMPARE: MAX_RECIPE_LENGTHS * network_steps}
        what = (
            f"{least[TRAIN]} steps of the supernet, {least[SEARCH]} evaluations and {networks} trainings of "
            f"{least[COMPARE]} steps"
        )
        left = require_time(minutes, fixed + spent + speed.measuring, pace, least, what)
        ceilings = {k: max(n, least[k]) for k, n in (limits | given).items()}
        steps = fit_parts(left, TIME_SHARES, pace, least, ceilings)
    population, generations = _generations(steps[SEARCH])
    plan = SearchPlan(
        supernet_steps=steps[TRAIN],
        population=population,
        generations=generations,
        networks=networks,
        network_steps=steps[COMPARE] if networks else 0,
        workers=workers,
        models=models,
    )
    used = {TRAIN: plan.supernet_steps, SEARCH: plan.evaluations, COMPARE: plan.network_steps}
    seconds = {k: used[k] * pace[k] for k in used}
    seconds[COMPARE] += speed.start if networks else 0.0
    return dataclasses.replace(plan, seconds={**seconds, EXPORT: models * EXPORT_S + REPORT_S})


def _span(speed: Speed, networks: int, workers: int) -> float:
    """Seconds for one step of all trainings, the largest network's first, dealt to whichever worker is free."""
    if not networks:
        return 0.0
    busy = [0.0] * workers
    for seconds in (speed.largest_step, *[speed.network_step] * (networks - 1)):
        heapreplace(busy, busy[0] + seconds)
    return max(busy)


def _generations(evaluations: int) -> tuple[int, int]:
    """Population and generations that need at most this many evaluations, in the proportions of the default."""
    ideal = min(
        sqrt(evaluations * POPULATION / (RANDOM_GENERATIONS + GENERATIONS)), evaluations / (RANDOM_GENERATIONS + 1)
    )
    near = range(max(1, ceil(0.7 * ideal)), max(1, min(POPULATION, int(1.2 * ideal))) + 1)
    population = max(near, key=lambda p: (evaluations // p * p, p), default=1)
    return population, max(0, evaluations // population - RANDOM_GENERATIONS)
