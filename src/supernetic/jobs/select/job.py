"""`select`: train models on subsets of the data, from small to large, and say which to take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ...datasets import DataLike, Dataset, load, source_of
from ...families import CandidateModel
from ...hardware import Hardware, settle_hardware
from ...networks.pool import dataset_of
from ...progress import OnEvent
from ...reports.select import write_select
from ...runs.directory import Run
from ...runs.files import RATES as RATES_FILE
from ...runs.files import SELECT, SUBSET_TRAININGS, TIMINGS, TRAININGS_CSV
from ...runs.records import read_json
from ...runs.trust import opens_runs
from ...selection.budget import fit_schedule
from ...selection.subsets import AUTO, SubsetSchedule, make_schedule
from ...tracking import Track
from ..job import Job, Step, run_job
from ..train.prepare import full_source, image_options, skipped_files
from .models import read_models
from .plan import Pace, SelectPlan, estimate, time_steps
from .queue import Queue, with_sizes
from .request import SelectRequest, parse_rates
from .result import SelectResult, planned, read_result, write
from .settled import SettledRecipe, settle
from .tables import trainings_csv

DEFAULT_MINUTES = 8.0  # that automatic sizes are fitted into


@opens_runs
def select(
    data: DataLike = "embedded",
    *,
    models: str | Sequence[str] | None = None,
    sizes: str = AUTO,
    seeds: int = 2,
    minutes: float | None = None,
    on: str = "test",
    stratified: bool = False,
    size: str = "cpu",
    recipe: str | Path | None = None,
    rates: str | float | Sequence[float] | None = None,
    limit: int | None = None,
    workers: int | None = None,
    processes: int = 1,
    device: str = "auto",
    precision: str = "no",
    image_size: int | None = None,
    valid: float | None = None,
    skip_bad: bool = False,
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    track: Track = (),
    on_event: OnEvent | None = None,
) -> SelectResult:
    """Which model suits the data: train all on nested subsets, compare them by calibrated cross-entropy, decide.

    An interrupted run goes on with the trainings that are not finished.

    Args:
        data: Images: a name, a folder, an `.npz` or an archive; arrays `(images, labels)`, or a torch `Dataset`.
        models: Names as `supernetic.model_names` has them, or a `.txt` file with one per line; six for a CPU by
            default.
        sizes: `auto`, or numbers of images such as `250,500,1000`. Nine tenths train and one tenth calibrates.
        seeds: At the larger sizes; the smaller half gets twice as many.
        minutes: Fit everything into this time, by giving up seeds and then the largest sizes. Automatic sizes have 8
            minutes by default, given ones no limit.
        on: The split that scores are taken on: `test` or `valid`.
        stratified: Subsets with all classes in proportion.
        size: Of models that name none: `cpu` or `full`.
        recipe: Training settings, a TOML file. Its learning rate and batch are kept if it names them.
        rates: Learning rates to try for each model; one is taken as it is. By default the recipe's, else three.
        limit: Take a subset of this many images.
        workers: Trainings at a time; by default as many as processors, or one per GPU.
        processes: Processes that share each batch of a training.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        image_size: Pixels of the side that models are trained and tested at. By default the data's.
        valid: Validation images: their number or, below 1, their share of the training images, which they are cut
            from. A tenth by default.
        skip_bad: Leave out images that cannot be read; without it, they are refused. The report lists them.
        out: The run directory.
        dry_run: Check everything, return the plan, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        track: Trackers that show the job as it runs: `tensorboard`, `wandb`, `mlflow`, or one of your own
            (docs/tracking.md).
        on_event: Receives progress.

    Returns:
        The decision with its evidence, or the plan after a dry run.
    """
    request = SelectRequest(
        source_of(data), models, sizes, seeds, minutes, on, stratified, size, recipe, limit, workers, rates, processes,
        device, precision, image_size, valid, skip_bad,
    )  # fmt: skip
    return run_job(partial(SelectJob.prepare, request), out=out, dry_run=dry_run, on_event=on_event, track=track)


@dataclass(frozen=True)
class SelectJob(Job[SelectPlan, SelectResult]):
    """A choice that is prepared: data loaded, models parsed, recipe read."""

    kind: ClassVar[str] = "select"
    uncompared: ClassVar[tuple[str, ...]] = ("request",)  # what it came to is compared; workers may change

    request: SelectRequest
    dataset: Dataset
    loading: Mapping[str, Any]
    models: tuple[CandidateModel, ...]
    settled: SettledRecipe
    subsets: SubsetSchedule  # as requested, before anything is given up
    workers: int
    runs_on: Hardware

    @classmethod
    def prepare(cls, request: SelectRequest, send: OnEvent) -> SelectJob:
        """Load and check everything, before anything is written."""
        request.check_texts()
        hardware = settle_hardware(request.device, request.precision, request.processes, 1)
        options = image_options(request.image_size, request.valid)
        options |= skipped_files(request.data) if request.skip_bad else {}
        given = {} if request.limit is None else {"limit": request.limit}
        loading = {"source": full_source(request.data), **given, **options}
        first = load(**loading, on_event=send)  # says what is done with images that do not fit into memory
        dataset = dataset_of(loading)  # what trainings in this process use; images of a folder are those of `first`
        del first
        models = read_models(request.models, dataset, request.size)
        settled = settle(request.recipe, parse_rates(request.rates), request.processes)
        subsets = make_schedule(request.sizes, request.seeds, dataset, request.on, stratified=request.stratified)
        settled.check(subsets.sizes)
        workers = hardware.workers(request.workers)
        return cls(request, dataset, loading, tuple(models), settled, subsets, workers, hardware)

    @property
    def hardware(self) -> Hardware:
        """As requested."""
        return self.runs_on

    @property
    def title(self) -> str:
        """The job's name and the data's."""
        return f"select-{self.dataset.name}"

    @property
    def minutes(self) -> float | None:
        """That everything is fitted into."""
        given, automatic = self.request.minutes, self.request.sizes == AUTO
        return given if given is not None or not automatic else DEFAULT_MINUTES

    @property
    def identity(self) -> dict[str, Any]:
        """What two equal runs have in common: the request, but neither the time it took nor what had to be given up."""
        return {
            "data": self.dataset.summary(),
            "models": {m.name: m.fingerprint for m in self.models},
            **self.settled.settings(),
            **self.hardware.differences(),
            "asked": {**asdict(self.subsets), "minutes": self.minutes},
        }

    def goes_on_with(self, settings: Mapping[str, Any]) -> bool:
        """Whether a run came from the same data, models and recipe, however they were written."""
        fitted = settings.get("fitted", {})
        return settings.get("job") == self.kind and fitted.get("identity") == _digest(self.identity)

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> SelectPlan:
        """Sizes and seeds that fit the time; those of a run that exists hold, however long things take now."""
        if earlier is not None:
            fitted = earlier["fitted"]
            subsets = with_sizes(self.subsets, fitted["sizes"], fitted["seeds"])
            paces, notes = {m: Pace(*p) for m, p in earlier["paces"].items()}, fitted["given_up"]
        else:
            subsets, notes = self.subsets, []
            paces = time_steps(self.models, self.dataset, self.settled.recipe, self.subsets, self.hardware.of_networks)
            if self.minutes is not None:
                subsets, notes = fit_schedule(subsets, lambda s: self._seconds(s, paces), 60 * self.minutes)
        every = [*notes, *self.settled.notes(subsets.sizes), *self.settled.starts(self.models)]
        dry = planned(self.dataset, self.models, subsets, self.settled, self._seconds(subsets, paces), every)
        return SelectPlan(subsets, paces, tuple(notes), dry)

    def _seconds(self, subsets: SubsetSchedule, paces: Mapping[str, Pace]) -> float:
        scored = len(self.dataset.splits[self.request.on])
        return estimate(subsets, paces, self.settled, scored, self.workers)

    def settings(self, plan: SelectPlan) -> dict[str, Any]:
        """The request, and what was fitted into the time."""
        fitted = {"sizes": plan.subsets.sizes, "seeds": plan.subsets.seeds, "given_up": plan.notes}
        return {
            **self.identity,
            "fitted": {**fitted, "identity": _digest(self.identity)},
            "paces": {name: [p.step, p.image] for name, p in plan.paces.items()},
        }

    def steps(self, plan: SelectPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Choose learning rates, train, decide."""
        queue = Queue(
            self.models, self.settled, plan.subsets, self.loading, self.dataset.fingerprint, self.workers, send,
            self.hardware,
        )  # fmt: skip

        def choose_rates(run: Run) -> None:
            run.write(RATES_FILE, json.dumps(queue.choose_rates(run.path / SUBSET_TRAININGS)) + "\n")

        def train(run: Run) -> None:
            outcomes = queue.train(_rates(run), run.path / SUBSET_TRAININGS)
            run.write(TRAININGS_CSV, trainings_csv(queue.trainings(_rates(run)), outcomes))

        def decide(run: Run) -> None:
            rates = _rates(run)
            trainings, outcomes = queue.trainings(rates), queue.outcomes(rates, run.path / SUBSET_TRAININGS)
            seconds = sum(r["seconds"] for r in run.read(TIMINGS))
            settled = [*self.settled.notes(plan.subsets.sizes), *self.settled.starts(self.models)]
            notes = [*plan.notes, *settled, *self._overtime(seconds)]
            write(
                run, self.dataset, self.models, plan.subsets, self.settled, rates, trainings, outcomes, notes, seconds
            )

        return [
            Step("rates", RATES_FILE, choose_rates),
            Step("train", TRAININGS_CSV, train),
            Step("decide", SELECT, decide),
        ]

    def _overtime(self, seconds: float) -> list[str]:
        limit = self.minutes
        if limit is None or seconds <= 60 * limit:
            return []
        return [f"it took {seconds / 60:.1f} minutes, more than the {limit:g} that it was fitted into"]

    def planned(self, plan: SelectPlan) -> SelectResult:
        """What would be done, and where."""
        return replace(plan.dry, notes=(*plan.dry.notes, self.hardware.line()))

    def read(self, path: Path) -> SelectResult:
        """The result, from the run's record."""
        return read_result(path)

    def write_page(self, path: Path) -> None:
        """The report, once there is something to report."""
        if (path / SELECT).exists():
            write_select(path)


def _rates(run: Run) -> dict[str, float]:
    rates: dict[str, float] = read_json(run.path / RATES_FILE)
    return rates


def _digest(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
