"""The skeleton that all jobs share: request, preparation, time plan, steps, result.

    request   a frozen record of the settings that the user gave, kept in `run.toml`
    prepare   data loaded, space and recipes known, everything checked; nothing is written
    plan      how much of everything is done, from what this machine can do; a run that exists keeps its plan
    steps     each is done when its file is there, and reads what the steps before it left
    result    read from the run's files, so that a finished run answers at once

Killed at any moment and started again, a job goes on at the first step whose file is missing.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, ClassVar, Generic, Self, TypeVar

from ..errors import RunError, SupernetError
from ..hardware import Hardware
from ..progress import STEPS, Event, OnEvent, ignore
from ..reports.runs import renew_index
from ..result import Result
from ..runs.directory import Run, read_settings
from ..runs.files import NETWORK_TRAININGS, RESULT, SETTINGS, SUBSET_TRAININGS, TIMINGS
from ..runs.location import open_or_resume, require_place, resolve_directory
from ..tracking import Follower, Track, open_trackers, require_trackers
from .request import Request

PAGE_INTERVAL_S = 15.0  # between two renewals of the report within a step
INDEX_PAUSE = 50  # times what renewing the page over runs took: a folder of thousands must not slow a job down

Plan = TypeVar("Plan", bound=Result)
Outcome = TypeVar("Outcome", bound=Result)


@dataclass(frozen=True)
class Step:
    """A part of a job.

    Args:
        name: What progress and timings call it.
        file: The file in the run directory that says it is done; a step without one runs every time.
        work: Does it, given the open run.
    """

    name: str
    file: str
    work: Callable[[Run], None]


class Job(ABC, Generic[Plan, Outcome]):
    """A prepared job: everything that is known before its time plan. Subclasses are frozen dataclasses.

    `uncompared` names settings that a run keeps but that do not make it another run, such as `request.workers`.
    """

    kind: ClassVar[str]
    uncompared: ClassVar[tuple[str, ...]] = ()
    request: Request

    @property
    @abstractmethod
    def title(self) -> str:
        """The default directory's name, after the date."""

    @property
    def hardware(self) -> Hardware | None:
        """Where all steps run; None if a job does not compute with networks. It is printed with the plan."""
        return None

    def goes_on_with(self, settings: Mapping[str, Any]) -> bool:
        """Whether a run with these settings has the same request."""
        return settings.get("job") == self.kind and settings.get("request") == self.request.record()

    @abstractmethod
    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> Plan:
        """How much of everything will be done.

        Args:
            earlier: The settings of a run that this one goes on with, whose plan holds; None for a new run.
            spent: Seconds that preparing took.

        Returns:
            The plan.
        """

    def sketched(self) -> Self:
        """The same job for a dry run, which need not measure all that a run does."""
        return self

    @abstractmethod
    def settings(self, plan: Plan) -> dict[str, Any]:
        """Everything that the result depends on, for `run.toml`."""

    @abstractmethod
    def steps(self, plan: Plan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """The steps in their order."""

    @abstractmethod
    def planned(self, plan: Plan) -> Outcome:
        """The result of a dry run."""

    @abstractmethod
    def read(self, path: Path) -> Outcome:
        """The result, from the files of a run that came to its end."""

    def training_folders(self, path: Path) -> Mapping[str, Path]:
        """The directories of the trainings of a run by what trackers call them, as far as they are there."""
        return {f"{f}/{p.name}": p for f in (NETWORK_TRAININGS, SUBSET_TRAININGS) for p in (path / f).glob("*")}

    def write_page(self, path: Path) -> None:
        """Write the report of a run, finished or not; a job without one writes nothing."""


def run_job(
    prepare: Callable[[OnEvent], Job[Plan, Outcome]],
    *,
    out: str | Path | None = None,
    dry_run: bool = False,
    on_plan: Callable[[Job[Plan, Outcome], Plan], None] | None = None,
    on_event: OnEvent | None = None,
    track: Track = (),
) -> Outcome:
    """Prepare a job, plan it and take its steps; a run with the same request goes on where it stands.

    Args:
        prepare: Makes the job, given the callback for what it has to say on the way.
        out: The run directory; by default one of today's under `runs/`.
        dry_run: Stop after planning and write nothing.
        on_plan: Receives the job and its plan at the end of a dry run.
        on_event: Receives progress.
        track: Trackers that receive what is recorded.

    Returns:
        The job's result, or its plan if this is a dry run.
    """
    send, begin = on_event or ignore, perf_counter()
    require_trackers(track)  # says now if one is missing, before anything is written
    if out is not None:
        require_place(out)
    job = prepare(send)
    if dry_run:
        job = job.sketched()
    record = job.request.record()
    path = resolve_directory(out, job.title, job.goes_on_with)
    earlier = read_settings(path) if (path / SETTINGS).exists() else {}
    plan = _plan(job, path, earlier, perf_counter() - begin)
    for line in (*plan.lines(), *([job.hardware.line()] if job.hardware else [])):
        send(Event("plan", line))
    if dry_run:
        if on_plan is not None:
            on_plan(job, plan)
        return job.planned(plan)
    settings = {**job.settings(plan), "job": job.kind, "request": record}
    try:
        with (
            open_or_resume(path, job.title, settings, uncompared=job.uncompared) as run,
            _followed(job, run, track, send) as follower,
        ):
            _take_steps(job, plan, settings, run, _both(send, follower), perf_counter() - begin)
            result = job.read(run.path)
            if not (run.path / RESULT).exists():
                run.write(RESULT, json.dumps(result.to_json(), indent=1) + "\n")
            if follower:
                follower.finish(result.to_json())
    finally:
        renew_index(path.absolute().parent)  # now that the run is finished or interrupted
    return result


@contextmanager
def _followed(job: Job[Any, Any], run: Run, track: Track, send: OnEvent) -> Iterator[Follower | None]:
    """Trackers that follow the run; None if there are none."""
    trackers = open_trackers(track)
    if not trackers:
        yield None
        return
    follower = Follower(trackers, run, lambda: job.training_folders(run.path), lambda line: send(Event("track", line)))
    follower.begin(run.settings)
    try:
        yield follower
    finally:
        follower.look()
        follower.close()


def _both(send: OnEvent, follower: Follower | None) -> OnEvent:
    """Events go on as they come; now and then, trackers receive what is new."""
    if follower is None:
        return send

    def both(event: Event) -> None:
        send(event)
        follower.look(now=False)

    return both


def _plan(job: Job[Plan, Any], path: Path, earlier: Mapping[str, Any], spent: float) -> Plan:
    """The plan of the run that goes on, or a new one."""
    if not job.goes_on_with(earlier):
        return job.plan(None, spent)
    try:
        plan = job.plan(earlier, spent)
        plan.lines()  # a plan that cannot be told cannot be followed either
        return plan
    except SupernetError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise RunError(f"{path / SETTINGS} holds no plan that can be followed: {why}") from None


def _take_steps(
    job: Job[Plan, Any], plan: Plan, settings: Mapping[str, Any], run: Run, send: OnEvent, spent: float
) -> None:
    page = _Page(job, run.path)
    steps = job.steps(plan, settings, page.renewed_on(send))
    missing = [s for s in steps if not s.file or not (run.path / s.file).exists()]
    if any(s.file for s in missing):
        run.append(TIMINGS, [{"task": "plan", "seconds": round(spent, 3)}])
        page.renew()
        send(Event("plan", ", ".join(s.name for s in missing), item=STEPS))
    for step in missing:
        with run.timed(step.name):
            step.work(run)
        page.renew()


class _Page:
    """The report, renewed after every step and now and then within one."""

    def __init__(self, job: Job[Any, Any], path: Path) -> None:
        self.job, self.path, self.last = job, path, monotonic()
        self.index_due = 0.0  # when the page over all runs of the folder may be renewed again

    def renew(self) -> None:
        with suppress(Exception):  # a page must not end a job of hours; `supernetic report` says what is wrong
            self.job.write_page(self.path)
        self.last = monotonic()
        if self.last >= self.index_due:
            renew_index(self.path.absolute().parent)
            self.index_due = monotonic() + INDEX_PAUSE * (monotonic() - self.last)

    def renewed_on(self, send: OnEvent) -> OnEvent:
        def both(event: Event) -> None:
            send(event)
            if monotonic() - self.last > PAGE_INTERVAL_S:
                self.renew()

        return both
