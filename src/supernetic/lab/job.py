"""`study`: train a grid of supernets over several seeds, measure them, judge the claims, write tables and a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from .. import catalog
from ..errors import InputError, SupernetError, UnknownNameError
from ..hardware import AUTO, Hardware
from ..jobs.job import Job, Step, run_job
from ..progress import Event, OnEvent
from ..result import Result
from ..runs.directory import Run, refuse_link, same_settings
from ..runs.files import RESULT
from ..runs.trust import current_policy, opens_runs
from ..space import Space
from ..tracking import Track
from .measures.measure import Measure, Measured, read_measure
from .request import StudyRequest
from .result import StudyResult, planned_result, read_study_result, write_result
from .study_file import Study, read_study
from .trainings import Cell, Training, cell_name, prepare, train_and_measure, trainings

STUDIES_FOLDER = Path("runs/studies")
TRAININGS_FOLDER = "trainings"  # beside the directory of a study


@opens_runs
def study(
    file: str | Path,
    *,
    data: str | Path | None = None,
    workers: int = 1,
    device: str = "auto",
    precision: str = "no",
    image_size: int | None = None,
    valid: float | None = None,
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    track: Track = (),
    on_event: OnEvent | None = None,
) -> StudyResult:
    """Run the study of a TOML file.

    Trainings are kept beside the study, each under a digest of everything that matters to it, so that studies share
    them. An interrupted study continues where it stopped; a changed file trains only what is new.

    Args:
        file: The TOML file (docs/studies.md).
        data: Images, in place of those that the file names.
        workers: Processes; each trains one supernet at a time, with one thread; on several GPUs, each on its own. All
            of them score.
        device: Of variants that name none: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the
            CPU.
        precision: Of variants that name none: `no` (mixed precision), `fp16` or `bf16`.
        image_size: Pixels of the side of images, in place of what the file says.
        valid: Number or share of validation images, in place of what the file says.
        out: Directory of the page, the tables and `study.json`; by default `runs/studies/NAME`.
        dry_run: Check everything but the images, estimate the time of training and scoring, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        track: Trackers that show the trainings as they run: `tensorboard`, `wandb`, `mlflow`, or one of your own
            (docs/tracking.md).
        on_event: Receives events of the tasks `train` and `measure`: how far each variant and seed is, how many are
            done, and remarks on trainings that failed.

    Returns:
        What the study found; of a dry run, what it would do.
    """
    request = StudyRequest(file, data, workers, device, precision, image_size, valid)
    return study_by(request, out=out, dry_run=dry_run, on_event=on_event, track=track)


def study_by(
    request: StudyRequest,
    *,
    out: str | Path | None = None,
    dry_run: bool = False,
    on_event: OnEvent | None = None,
    track: Track = (),
) -> StudyResult:
    """Do what a request says."""
    given = {name: value for name in ("image_size", "valid") if (value := getattr(request, name)) is not None}
    plan = read_study(request.file, None if request.data is None else str(request.data), given)
    path = Path(out) if out is not None else _own_directory(plan.name, _identity(plan))
    prepare = partial(StudyJob.prepare, request, plan, path, dry_run)
    return run_job(prepare, out=path, dry_run=dry_run, on_event=on_event, track=track)


@dataclass(frozen=True)
class StudyPlan(Result):
    """What is trained already, and what is not."""

    dry: StudyResult  # the same as the result of a dry run

    def lines(self) -> list[str]:
        """Nothing beforehand: variants are named as they are trained."""
        return []


@dataclass(frozen=True)
class StudyJob(Job[StudyPlan, StudyResult]):
    """A study that is prepared: its file read, its spaces, recipes and claims checked."""

    kind: ClassVar[str] = "study"
    uncompared: ClassVar[tuple[str, ...]] = ("request",)  # a changed file trains only what is new

    request: StudyRequest
    study: Study
    measure: Measure
    cells: Mapping[Cell, Training]
    spaces: Mapping[str, Space]
    dry_run: bool

    @classmethod
    def prepare(cls, request: StudyRequest, study: Study, path: Path, dry_run: bool, send: OnEvent) -> StudyJob:
        """Everything that can be known and refused before the first step."""
        measure = read_measure(study.measure)
        folder = path.parent / TRAININGS_FOLDER
        if current_policy().received is not None:  # a folder of the user's own may be a link, to a larger disk
            refuse_link(folder)
        cells, spaces = check_study(study, measure, folder, request.device, request.precision)
        return cls(request, study, measure, cells, spaces, dry_run)

    @property
    def title(self) -> str:
        """The study's name."""
        return self.study.name

    @property
    def hardware(self) -> Hardware | None:
        """Of the trainings, if they all have the same."""
        found = {Hardware.from_settings(t.arguments) for t in self.trainings}
        return found.pop() if len(found) == 1 else None

    @property
    def trainings(self) -> list[Training]:
        """Each once: variants may share them."""
        return list({t.path: t for t in self.cells.values()}.values()) if self.measure.trains else []

    def training_folders(self, path: Path) -> Mapping[str, Path]:
        """Those of the trainings, by variant and seed."""
        cells = self.cells.items() if self.measure.trains else ()
        return {cell_name(cell).replace("/", " "): training.path for cell, training in cells}

    def goes_on_with(self, settings: Mapping[str, Any]) -> bool:
        """A study of the same name and title goes on, whatever its file says now."""
        return all(settings.get(k) == v for k, v in _identity(self.study).items())

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> StudyPlan:
        """What is left to train; bad data are found now, before anything is written."""
        todo = [t for t in self.trainings if not t.done]
        if todo and not self.dry_run:  # which decodes all images
            prepare(todo[0])
        return StudyPlan(planned_result(self.study, self.trainings, len(self.trainings) - len(todo), None))

    def settings(self, plan: StudyPlan) -> dict[str, Any]:
        """What makes two studies one."""
        return _identity(self.study)

    def steps(self, plan: StudyPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """One that runs every time: each training is done when its own file is there, and so is each measure."""

        def work(run: Run) -> None:
            answers = train_and_measure(self.cells, self.spaces, self.measure, self.request.workers, send)
            failed = {cell_name(cell): a for cell, a in answers.items() if isinstance(a, str)}
            for name, reason in failed.items():
                send(Event("train", text=f"{name} failed: {reason}"))
            if len(failed) == len(answers):
                raise SupernetError(f"every training failed: {next(iter(failed.values()))}")
            measured = {cell: a for cell in self.cells if isinstance(a := answers[cell], Measured)}
            result = write_result(run, self.study, self.measure, self.cells, measured, failed, plan.dry.done)
            run.write(RESULT, json.dumps(result.to_json(), indent=1) + "\n")

        return [Step("train", "", work)]

    def planned(self, plan: StudyPlan) -> StudyResult:
        """What would be done, with the time that it may take; what is scored already is not looked at."""
        from .estimate import estimate_seconds

        once = {t.path: (t, self.spaces[variant]) for (variant, _), t in self.cells.items()}
        todo = [(t, space) for t, space in once.values() if not t.done] if self.measure.trains else []
        if not todo:
            return plan.dry
        trained, scored = estimate_seconds(todo, todo, self.measure)
        workers = self.request.workers
        return replace(plan.dry, seconds=trained / min(workers, len(todo)), scoring_seconds=scored / workers)

    def read(self, path: Path) -> StudyResult:
        """The result that the last run of the step wrote."""
        return read_study_result(path)


def _identity(study: Study) -> dict[str, Any]:
    return {"job": "study", "name": study.name, "title": study.title, "scale": study.scale}


def _own_directory(name: str, identity: Mapping[str, Any]) -> Path:
    """The default directory of a study; another study of the same name gets a number."""
    paths = (STUDIES_FOLDER / (name if i == 1 else f"{name}-{i}") for i in count(1))
    return next(p for p in paths if not p.exists() or same_settings(p, identity, ("request",)))


def check_study(
    plan: Study, measure: Measure, folder: Path, device: str = AUTO, precision: str = "no"
) -> tuple[dict[Cell, Training], dict[str, Space]]:
    """Check everything that can be checked before the first training.

    Args:
        plan: The study.
        measure: Its measure.
        folder: Where its trainings are, or will be.
        device: Of variants that name none.
        precision: The same.

    Returns:
        The trainings by variant and seed, and the spaces by variant.
    """
    spaces = {}
    for variant in plan.variants:
        try:
            spaces[variant.name] = catalog.space(variant.training["space"])
            metrics = measure.check(spaces[variant.name])
        except InputError as error:
            raise InputError(f"variant {variant.name!r}: {error}") from None
        if plan.condition and variant.name == plan.condition.variant and plan.condition.metric not in metrics:
            raise UnknownNameError("metric in the condition", plan.condition.metric, metrics)
        for c in plan.claims:
            if variant.name in (c.variant, c.other) and c.metric not in metrics:
                raise UnknownNameError(f"metric in the claim {c.text!r}:", c.metric, metrics)
    if not measure.trains:
        return {(name, 0): Training({}, folder) for name in spaces}, spaces
    return trainings(plan, folder, device, precision), spaces
