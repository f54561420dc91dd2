"""How much of everything a search does.

Without a time limit the recipes decide: the supernet is trained for its recipe's length, and so is every network.

With a time limit nearly all of the time goes into the model that is handed over. Networks race first: all of them are
trained alike for a short time, the better ones go on, and the winner is trained to the end of the time. What earlier
rounds taught a network is kept. docs/decisions/0013-the-hour-must-pay.md says what the shares rest on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapreplace
from math import ceil, sqrt
from typing import Any

from ...text import duration
from ..speed import Speed
from ..time_plan import (
    COMPARE,
    EXPORT,
    EXPORT_S,
    FINISH,
    PLANNED_SHARE,
    REPORT_S,
    SEARCH,
    TEACH,
    TEST,
    TRAIN,
    TimePlan,
)
from .score import MAX_REFERENCES

POPULATION, GENERATIONS = 50, 20
SUPERNET_SHARE = 0.3  # of the time, where there is a supernet
SEARCH_SHARE = 0.01
UNTRAINED_SEARCH_SHARE = 0.15  # where the models keep the supernet's weights
RACE_SHARE, RACE_SHARE_S, RACE_GROWTH = 0.2, 300.0, 0.8  # of the time; beyond so many seconds it grows by this power
CHEAPER_SHARE = 0.04  # for each model that is handed over beside the recommended one
ROUND_SHARES = ((1.0,), (0.6, 0.4), (0.5, 0.3, 0.2))  # of the race, by the number of its rounds
ROUND_FACTOR = 3  # one network in so many goes on to the next round
NETWORKS_PER_ROOT_SECOND = 0.6  # networks in a race, for the root of its processor-seconds
MAX_NETWORKS = 18  # in a race
MIN_RACE_S = 24.0  # processor-seconds: below this the time is better spent on a single network
MIN_FINISH_S = 5.0
TEACHER_SHARE = 0.4  # of the time that is left after the race, where there is a teacher
MIN_EVALUATIONS, FEWEST_EVALUATIONS = 12, 4  # of a search before a race; where there is none
MIN_SUPERNET_STEPS = 100


@dataclass(frozen=True)
class SearchPlan(TimePlan):
    """What a search will do, and the seconds that each part should take."""

    supernet_steps: int  # 0: there is no supernet
    population: int
    generations: int
    networks: int  # that are trained alike in the first round: candidates and controls
    network_steps: int  # of each of them, where steps were given; 0: as many as the round's time allows
    workers: int
    models: int  # that are handed over at most
    rounds: tuple[float, ...] = ()  # processor-seconds of each network, round by round
    sizes: tuple[int, ...] = ()  # networks of each round
    cheaper: float = 0.0  # processor-seconds for each model beside the recommended one, once the race is over
    finish: float = 0.0  # seconds in which the recommended model is trained to the end
    teacher: float = 0.0  # seconds for a teacher that it learns from; 0: there is none
    limit: float = 0.0  # seconds for everything; 0: no limit
    start: float = 0.0  # seconds until a training is at work in another process
    augment: str = ""  # how training images vary
    augment_reason: str = ""
    head_images: int = 0  # that the head of a pretrained network is fitted to; 0: there is none
    seconds: Mapping[str, float] = field(default_factory=dict)  # empty if nothing was measured

    @property
    def evaluations(self) -> int:
        """Architectures that the search may evaluate."""
        return self.population * self.generations

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        rounded = {
            "rounds": [round(s, 2) for s in self.rounds],
            "sizes": list(self.sizes),
            "cheaper": round(self.cheaper, 2),
            "finish": round(self.finish, 1),
            "teacher": round(self.teacher, 1),
            "seconds": {k: round(s, 1) for k, s in self.seconds.items()},
        }
        table = {**dataclasses.asdict(self), **rounded}
        absent = [name for name in ("head_images", "teacher") if not table[name]]
        for name in absent:  # recorded where there is one: plans from before it was there stay valid
            del table[name]
        return table

    def lines(self) -> list[str]:
        """One line per part."""
        texts = {
            TRAIN: f"train the supernet: {self.supernet_steps:,} steps",
            SEARCH: f"search: {self.evaluations:,} networks, {self.population} a generation",
            COMPARE: self._race_line(),
            TEACH: "train a larger network as a teacher",
            FINISH: f"train the recommended model to the end{', taught by it' if self.teacher else ''}",
            TEST: "test every network",
            EXPORT: f"export {_count(self.models, 'model')} and report",
        }
        told = [f"training images vary by {self.augment}. {self.augment_reason}"] if self.augment else []
        if self.head_images:
            told.append(f"fit a new head to features of {self.head_images:,} images")
        left_out = {
            TRAIN: not self.supernet_steps,
            SEARCH: not self.evaluations,
            COMPARE: not self.networks or (bool(self.rounds) and self.networks == 1),
            TEACH: not self.teacher,
            FINISH: not self.finish,
        }
        texts = {k: text for k, text in texts.items() if not left_out.get(k)}
        if not self.seconds:
            return [*told, *texts.values()]
        parts = [f"{text}, about {duration(self.seconds[k])}" for k, text in texts.items()]
        return [*told, *parts, f"in all about {duration(sum(self.seconds.values()))}"]

    def _race_line(self) -> str:
        at_once = f", {self.workers} at a time" if self.workers > 1 and self.networks > 1 else ""
        if not self.rounds:
            return f"train {self.networks} networks for {self.network_steps:,} steps each{at_once}"
        rounds = [f"{n} for {s:.3g} s each" for n, s in zip(self.sizes, self.rounds, strict=True)]
        further = f", then {', '.join(rounds[1:])}" if rounds[1:] else ""
        return f"train networks alike{at_once}: {rounds[0]}{further}"


def plan_by_recipes(
    speed: Speed,
    *,
    supernet_steps: int,
    network_steps: int,
    networks: int,
    models: int,
    workers: int,
    room: int | None = None,
    sizes: tuple[int, int] = (POPULATION, GENERATIONS),
    requested: Mapping[str, int | None] | None = None,
) -> SearchPlan:
    """Plan a search without a time limit.

    Args:
        speed: Seconds of each kind of work.
        supernet_steps: The length of the supernet's recipe.
        network_steps: The length of the recipe of finished networks.
        networks: How many are trained on their own, the largest network among them.
        models: How many are exported.
        workers: Trainings at a time.
        room: How many different networks satisfy the limits, if that is known.
        sizes: Population and generations of the searcher.
        requested: Steps, or evaluations, that the user set, by part (`train`, `search`, `compare`).

    Returns:
        The plan, with the seconds that it should take.
    """
    given = {k: n for k, n in (requested or {}).items() if n is not None}
    product = sizes[0] * sizes[1]
    evaluations = min(product, room or product, given.pop(SEARCH, product))
    population, generations = sizes if evaluations == product else _generations(evaluations)
    steps = {TRAIN: supernet_steps, COMPARE: network_steps if networks else 0} | given
    seconds = {
        TRAIN: steps[TRAIN] * speed.supernet_step,
        SEARCH: (population * generations + min(MAX_REFERENCES, population * generations)) * speed.evaluation,
        COMPARE: steps[COMPARE] * _span(speed, networks, workers) + (speed.start if networks else 0.0),
        TEST: (networks + 2 * models) * speed.test,  # models are quantised too
        EXPORT: models * EXPORT_S + REPORT_S,
    }
    return SearchPlan(
        supernet_steps=steps[TRAIN],
        population=population,
        generations=generations,
        networks=networks,
        network_steps=steps[COMPARE],
        workers=workers,
        models=models,
        seconds=seconds,
    )


def plan_by_time(
    speed: Speed,
    minutes: float,
    *,
    models: int,
    workers: int,
    supernet: bool = False,
    least_steps: int = MIN_SUPERNET_STEPS,
    controls: int = 0,
    room: int | None = None,
    most: int = POPULATION * GENERATIONS,
    spent: float = 0.0,
    teacher: bool = False,
    searcher: tuple[int | None, int | None] = (None, None),
    requested: Mapping[str, int | None] | None = None,
) -> SearchPlan:
    """Plan a search that ends in a given time. However short that is, a network is trained in it.

    Args:
        speed: Seconds of each kind of work.
        minutes: The time.
        models: How many are handed over at most.
        workers: Trainings at a time.
        supernet: Whether a supernet is trained.
        least_steps: Of it, below which it says nothing.
        controls: Networks of the race that are no candidates, at most.
        room: How many different networks satisfy the limits, if that is known.
        most: Evaluations beyond which more do not help.
        spent: Seconds of the time that are over already.
        teacher: Whether the winner has one, if there is a race.
        searcher: Population and generations, if the user set them.
        requested: Steps of the supernet, evaluations, or steps of each network in the first round, that the user set
            (`train`, `search`, `compare`).

    Returns:
        The plan.
    """
    given = {k: n for k, n in (requested or {}).items() if n is not None}
    export = models * EXPORT_S + REPORT_S
    limit = 60 * minutes
    left = PLANNED_SHARE * limit - spent - speed.measuring - export
    seconds = {TRAIN: 0.0, SEARCH: 0.0, COMPARE: 0.0, FINISH: 0.0, TEST: 0.0, EXPORT: export}
    supernet_steps = 0
    if supernet:
        supernet_steps = given.get(TRAIN) or max(least_steps, int(SUPERNET_SHARE * left / speed.supernet_step))
        seconds[TRAIN] = supernet_steps * speed.supernet_step
    race = _race_seconds(left - seconds[TRAIN]) * workers
    sizes = race_sizes(race, workers, room, controls)
    races = sizes[0] > 1
    scored = max(0, int(SEARCH_SHARE * left / speed.evaluation))
    scored = max(scored // 2, scored - MAX_REFERENCES)  # the others are references among which networks are ranked
    allowed = min(max(MIN_EVALUATIONS if races else FEWEST_EVALUATIONS, scored), most, room or most)
    population, generations = _generations(given.get(SEARCH) or allowed, *searcher)
    seconds[SEARCH] = _scoring_seconds(population * generations, speed)
    seconds[TEST] = (sizes[0] + 2 * models) * speed.test  # models are quantised too
    rounds: tuple[float, ...] = (0.0,)
    cheaper = 0.0
    if races:
        rounds = tuple(share * race / n for share, n in zip(ROUND_SHARES[len(sizes) - 1], sizes, strict=True))
        seconds[COMPARE] = race / workers + len(sizes) * speed.start
        cheaper = max(0.0, CHEAPER_SHARE * left)
    extra = ceil((models - 1) / workers) * cheaper
    seconds[FINISH] = max(MIN_FINISH_S, left - sum(v for k, v in seconds.items() if k != EXPORT))
    finish = max(MIN_FINISH_S, seconds[FINISH] - extra)
    taught = TEACHER_SHARE * finish if teacher and races else 0.0
    if taught:
        seconds |= {TEACH: taught, FINISH: seconds[FINISH] - taught}
    return SearchPlan(
        supernet_steps=supernet_steps,
        population=population,
        generations=generations,
        networks=sizes[0],
        network_steps=given.get(COMPARE, 0),
        workers=workers,
        models=models if races else 1,
        rounds=rounds,
        sizes=sizes,
        cheaper=cheaper,
        finish=finish - taught,
        teacher=taught,
        limit=limit,
        start=round(speed.start, 1),
        seconds=seconds,
    )


def plan_untrained(
    speed: Speed,
    minutes: float,
    *,
    models: int,
    workers: int,
    room: int | None = None,
    spent: float = 0.0,
    searcher: tuple[int | None, int | None] = (None, None),
    requested: Mapping[str, int | None] | None = None,
) -> SearchPlan:
    """Plan a search in a given time whose models keep the supernet's weights: nearly all of it trains the supernet.

    Args:
        speed: Seconds of each kind of work.
        minutes: The time.
        models: How many are handed over.
        workers: Of the machine.
        room: How many different networks satisfy the limits, if that is known.
        spent: Seconds of the time that are over already.
        searcher: Population and generations, if the user set them.
        requested: Steps of the supernet, or evaluations, that the user set (`train`, `search`).

    Returns:
        The plan.
    """
    given = {k: n for k, n in (requested or {}).items() if n is not None}
    most = min(POPULATION * GENERATIONS, room or POPULATION * GENERATIONS)
    export, test = models * EXPORT_S + REPORT_S, 2 * models * speed.test
    left = max(0.0, PLANNED_SHARE * 60 * minutes - spent - speed.measuring - export - test)
    scored = int(UNTRAINED_SEARCH_SHARE * left / speed.evaluation) // 2  # references are scored too
    sizes = _generations(given.get(SEARCH) or min(most, max(FEWEST_EVALUATIONS, scored)), *searcher)
    scoring = _scoring_seconds(sizes[0] * sizes[1], speed)
    steps = given.get(TRAIN) or max(1, int((left - scoring) / speed.supernet_step))
    seconds = {TRAIN: steps * speed.supernet_step, SEARCH: scoring, TEST: test, EXPORT: export}
    return SearchPlan(
        supernet_steps=steps, population=sizes[0], generations=sizes[1], networks=0, network_steps=0, workers=workers,
        models=models, limit=60 * minutes, seconds=seconds,
    )  # fmt: skip


def _race_seconds(left: float) -> float:
    """Of the time that is left, those of the race: the more there is, the smaller a share tells who is best."""
    if left <= RACE_SHARE_S:
        return RACE_SHARE * max(0.0, left)
    return RACE_SHARE * RACE_SHARE_S * float((left / RACE_SHARE_S) ** RACE_GROWTH)


def race_sizes(seconds: float, workers: int, room: int | None = None, controls: int = 0) -> tuple[int, ...]:
    """How many networks run in each round of a race.

    Args:
        seconds: Processor-seconds of the race.
        workers: Trainings at a time; rounds are multiples of it, so that nobody waits.
        room: How many different networks satisfy the limits, if that is known.
        controls: Networks that are no candidates; they do not count towards `room`.

    Returns:
        The sizes, from the first round to the last. A single network if there is no time for a race.
    """
    if seconds < MIN_RACE_S:
        return (1,)
    most = min(MAX_NETWORKS, MAX_NETWORKS if room is None else room + controls)
    first = min(most, max(2, int(NETWORKS_PER_ROOT_SECOND * sqrt(seconds))))
    if first > workers:
        first -= first % workers
    sizes = [first]
    while len(sizes) < len(ROUND_SHARES) and sizes[-1] >= 2 * max(2, workers):
        sizes.append(max(2, workers, sizes[-1] // ROUND_FACTOR // workers * workers))
    return tuple(sizes)


def _scoring_seconds(evaluations: int, speed: Speed) -> float:
    """Of a search; the references among which its networks are ranked are scored too."""
    return (evaluations + min(evaluations, MAX_REFERENCES)) * speed.evaluation


def _span(speed: Speed, networks: int, workers: int) -> float:
    """Seconds for one step of all trainings, the largest network's first, dealt to whichever worker is free."""
    if not networks:
        return 0.0
    busy = [0.0] * workers
    for seconds in (speed.largest_step, *[speed.network_step] * (networks - 1)):
        heapreplace(busy, busy[0] + seconds)
    return max(busy)


def _generations(evaluations: int, population: int | None = None, generations: int | None = None) -> tuple[int, int]:
    """Population and generations that need at most this many evaluations, in the proportions of the default.

    What is given is kept, whatever it takes.
    """
    if population is not None:
        return population, generations or max(1, evaluations // population)
    if generations is not None:
        return max(2, evaluations // generations), generations
    ideal = min(sqrt(evaluations * POPULATION / GENERATIONS), evaluations / 3)
    near = range(max(1, ceil(0.7 * ideal)), max(1, min(POPULATION, int(1.2 * ideal))) + 1)
    population = max(near, key=lambda p: (evaluations // p * p, p), default=1)
    return population, max(1, evaluations // population)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")
