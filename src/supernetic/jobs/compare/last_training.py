"""Networks that are trained until a time is over, and decisions by the clock that are made once.

The training is done in parts, so that one that got slower can be made shorter; its learning rate falls steadily over
all of them. All processes train one network together if that is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...errors import RunError
from ...hardware import Hardware
from ...parallel.workers import on_cluster
from ...runs.directory import Run
from ...runs.files import DECISIONS

MIN_ROUND_STEPS = 20  # below this a training says nothing
MAX_PARTS = 4  # of the last training
PART_S, TOGETHER_PART_S = 20.0, 120.0  # the least seconds of each; where processes train together
PROCESSES = "processes"  # in the decision on the last trainings: how many train the network together
TOGETHER_GAIN = 1.2  # several processes train one network together if that is so much faster than one process
WORTH_TIMING_S = 40.0  # of training, for which it is worth while to time several processes together


@dataclass(frozen=True)
class LastTraining:
    """A training for all the time that is left.

    Args:
        workers: Processes.
        seconds: About how long it takes; the number of parts follows from it.
        start: Seconds until processes that train together are at work.
        linear: Whether the learning rate falls linearly: other schedules are not cut into parts.
        left: Seconds until it must end, by the clock.
        pace: Seconds per step of a network, by its name.
        train: Trains networks for so many steps each, by so many processes, as a part of the schedule (from 0 to 1).
        name: Of its decisions.
    """

    workers: int
    seconds: float
    start: float
    linear: bool
    left: Callable[[], float]
    pace: Callable[[str], float]
    train: Callable[[Mapping[str, int], int, tuple[float, float]], None]
    name: str = "finish"

    def run(self, run: Run, names: Sequence[str], together: Callable[[], float]) -> list[str]:
        """Train networks to the end of the time.

        Args:
            run: Keeps the decisions.
            names: The networks, each trained by a process of its own, unless all processes train the first of them.
            together: Measures seconds per step of the first if all processes train it; infinite if they must not.

        Returns:
            The names of those that were trained.
        """

        def first_lengths() -> dict[str, int]:
            pace, left = together(), self.left()
            if pace * TOGETHER_GAIN < self.pace(names[0]):
                share = (left - self.start) / self._parts(self.workers)
                return {names[0]: steps_in(share, pace), PROCESSES: self.workers}
            share = left / self._parts(1) * min(1.0, self.workers / len(names))
            return {n: steps_in(share, self.pace(n)) for n in names}

        def further_lengths(done: int, names: Sequence[str], at_once: float) -> dict[str, int]:
            start = self.start if processes > 1 else 0.0
            share = (self.left() - start) / (parts - done) * at_once
            return {n: steps_in(share, self.pace(n)) for n in names}

        steps = decided(run, f"{self.name}-1", first_lengths)
        processes = steps.pop(PROCESSES, 1)
        self._check(run, steps, names, processes)
        parts = self._parts(processes)
        self.train(steps, processes, (0.0, 1 / parts))
        at_once = min(1.0, self.workers / processes / len(steps))
        for done in range(1, parts):
            steps = decided(run, f"{self.name}-{done + 1}", partial(further_lengths, done, list(steps), at_once))
            self._check(run, steps, names, processes)
            self.train(steps, processes, (done / parts, (done + 1) / parts))
        return list(steps)

    def _check(self, run: Run, steps: Mapping[str, int], names: Sequence[str], processes: int) -> None:
        """Refuse a decision about other networks or processes: the run may have come from elsewhere."""
        unknown = next((n for n in steps if n not in names), None)
        if not steps or unknown is not None or processes not in (1, self.workers):
            named = "no network" if not steps else f"{processes} processes"
            named = named if unknown is None else f"the unknown network {unknown!r}"
            raise RunError(f"{run.path / DECISIONS}: {self.name} names {named}: it is not of this run")

    def _parts(self, processes: int) -> int:
        """In how many parts the training is done. Before each the clock is looked at: the pace may have changed.

        Processes that train together are started anew for each part.
        """
        shortest = TOGETHER_PART_S if processes > 1 else PART_S
        return min(MAX_PARTS, max(1, int(self.seconds / shortest))) if self.linear else 1


def may_train_together(workers: int, seconds: float, batch_size: int, hardware: Hardware) -> bool:
    """Whether it is worth while to time several processes that train one network together.

    Args:
        workers: The processes.
        seconds: How long the training is.
        batch_size: Images of a batch, of which each process gets its part.
        hardware: Where they run.

    Returns:
        Whether they could do so on this machine, and the training is long enough.
    """
    if on_cluster():  # whose workers are not processes of this machine
        return False
    return workers > 1 and seconds >= WORTH_TIMING_S and not batch_size % workers and hardware.can_share(workers)


def decided(run: Run, what: str, decide: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    """A decision that may look at the clock: made once, then read from the run.

    Args:
        run: Keeps it.
        what: What is decided.
        decide: Makes the decision.

    Returns:
        The decision.
    """
    for record in run.read(DECISIONS):
        if record.get("decision") == what:
            return _checked(run, what, record.get("steps"))
    steps = dict(decide())
    run.append(DECISIONS, [{"decision": what, "steps": steps}], sync=True)
    return steps


def _checked(run: Run, what: str, steps: Any) -> dict[str, int]:
    """The steps of a decision that a run holds; the file may have come from elsewhere."""
    numbers = isinstance(steps, dict) and all(type(n) is int and n > 0 for n in steps.values())
    if not steps or not numbers:
        raise RunError(
            f"{run.path / DECISIONS}: the steps of {what} must be positive whole numbers by name, got {steps!r}"
        )
    return dict(steps)


def steps_in(seconds: float, pace: float) -> int:
    """Steps that fit into a time, at so many seconds each; never so few that they say nothing."""
    return max(MIN_ROUND_STEPS, int(seconds / pace))
