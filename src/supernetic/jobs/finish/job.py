"""`finish`: go on training a network of a finished run, and write it back whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

from ...errors import InputError
from ...hardware import Hardware, settle_hardware
from ...parallel.workers import kept_workers
from ...progress import OnEvent
from ...reports.runs import renew_index
from ...runs.directory import Run, open_run
from ...runs.files import BEFORE, FINISH, MODELS, NETWORK_TRAININGS, SETTINGS, TRAINED_NETWORKS
from ...runs.records import networks_text
from ...runs.trust import opens_runs
from ...tracking import Track
from ..compare.comparison import NetworkTrainings
from ..compare.steps import network_recipe
from ..job import Job, Step, run_job
from ..time_plan import EXPORT, EXPORT_S, REPORT_S, TEST, TRAIN
from .outcome import read_outcome, settle
from .place import place_of, run_of
from .plan import FinishPlan
from .request import FinishRequest
from .result import FinishResult, read_finish
from .subject import Subject, read_subject, require_finished
from .train import FurtherTraining
from .write_back import require_readable, write_back


@opens_runs
def finish(
    run: str | Path,
    model: str,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    recipe: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    device: str = "auto",
    precision: str = "no",
    dry_run: bool = False,
    trust_code: bool = False,
    track: Track = (),
    on_event: OnEvent | None = None,
) -> FinishResult:
    """Go on training a network of a finished run of `search` or `scale`; write back its weights, ONNX, card and report.

        supernetic.finish("runs/photos", "model-1", minutes=30)

    The data, their splits, the augmentation and the recipe are the run's own. The new weights are kept if validation
    accuracy has not got worse; only then the test split is read, once. One finish after the other goes on from the
    last. The same call continues a finish that was interrupted.

    Args:
        run: The run directory.
        model: A network of the run that has weights, such as `model-1` or `plain`.
        minutes: The time for everything. The learning rate falls to its end in that time.
        steps: Updates, in place of minutes. The result is then the same on every call.
        recipe: Training settings, a TOML file; its length is fitted. By default the run's own for finished networks,
            at the learning rate that one long training would have by now.
        seed: Of the order of images and their augmentation, which differ in every finish.
        workers: Processes. With minutes, they train the network together if that is measured to be faster; by default
            there are as many as processors, or one per GPU. With steps, they do in any case; one by default.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        dry_run: Check everything, return the plan, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md), for drawings in the report.
        track: Trackers that show the job as it runs: `tensorboard`, `wandb`, `mlflow`, or one of your own
            (docs/tracking.md).
        on_event: Receives progress.

    Returns:
        What came of it: whether the weights were replaced, accuracy before and after, the record of the network. After
        a dry run it has `planned`.
    """
    request = FinishRequest(model, minutes, steps, recipe, seed, workers, device, precision)
    return _finish(Path(run), request, on_event, dry_run=dry_run, track=track)


def finish_by(request: FinishRequest, *, out: Path, on_event: OnEvent | None = None, track: Track = ()) -> FinishResult:
    """Continue a finish that was interrupted.

    Args:
        request: As it was recorded.
        out: Its directory, `RUN/finishes/1`.
        on_event: Receives progress.
        track: Trackers.

    Returns:
        What came of it.
    """
    run, place = run_of(out)
    return _finish(run, request, on_event, place, track=track)


def _finish(
    run: Path,
    request: FinishRequest,
    on_event: OnEvent | None,
    place: Path | None = None,
    *,
    dry_run: bool = False,
    track: Track = (),
) -> FinishResult:
    settings = require_finished(run)
    with open_run(run, settings) as opened, kept_workers():
        place = place or place_of(run, request)
        prepare = partial(FinishJob.prepare, request, opened, place)
        result = run_job(prepare, out=place, dry_run=dry_run, on_event=on_event, track=track)
    renew_index(run.absolute().parent)  # a page over all runs tells the accuracy
    return result


@dataclass(frozen=True)
class FinishJob(Job[FinishPlan, FinishResult]):
    """A finish that is prepared: the network found, its data loaded and compared, the recipe read."""

    kind: ClassVar[str] = "finish"

    request: FinishRequest
    run: Run  # the one that the network is of, held by this process
    place: Path  # where this finish is kept
    subject: Subject
    trainings: NetworkTrainings
    workers: int

    @classmethod
    def prepare(cls, request: FinishRequest, run: Run, place: Path, send: OnEvent) -> FinishJob:
        """Load and check everything, before anything is written."""
        subject = read_subject(run.path, run.settings, request.model, place)
        require_readable(run)
        recipe = network_recipe(request.recipe) if request.recipe is not None else subject.recipe()
        hardware = settle_hardware(request.device, request.precision)
        workers = hardware.workers(request.workers) if request.steps is None else request.workers or 1
        if request.steps is not None and (recipe.batch_size % workers or not hardware.can_share(workers)):
            raise InputError(
                f"{workers} processes cannot share batches of {recipe.batch_size} images on {hardware.device}: give "
                "other workers"
            )
        trainings = NetworkTrainings(
            dataset=subject.load(send), loading=run.settings["load"], recipe=recipe, seed=request.seed,
            hardware=hardware.of_networks, decides=subject.decides, int8=subject.int8,
        )  # fmt: skip
        return cls(request, run, place, subject, trainings, workers)

    @property
    def title(self) -> str:
        """Not needed: the directory is known."""
        return "finish"

    @property
    def hardware(self) -> Hardware:
        """As requested."""
        return self.trainings.hardware

    @property
    def number(self) -> int:
        """Of the finish, among all of the run."""
        return int(self.place.name)

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> FinishPlan:
        """The plan of a finish that was interrupted, or a new one."""
        if earlier is not None:
            return FinishPlan.from_settings(earlier["plan"])
        request = self.request
        if request.minutes is None:
            return FinishPlan(request.model, self.workers, steps=request.steps or 0)
        begin = perf_counter()
        after = self._evaluation_seconds() + EXPORT_S + REPORT_S
        return FinishPlan(
            request.model, self.workers, limit=60 * request.minutes, spent=spent + perf_counter() - begin, after=after
        )

    def _evaluation_seconds(self) -> float:
        """About how long validation and test take."""
        import torch

        from ...datasets.batches import Batches
        from ...networks.training import VALIDATION_BATCH_IMAGES, one_thread

        dataset, network = self.trainings.dataset, self.subject.network.to(self.hardware.device)
        resolution = network.blueprint.resolution
        batches = Batches(dataset, "valid", VALIDATION_BATCH_IMAGES, device=self.hardware.device, resolution=resolution)
        begin = perf_counter()
        with one_thread(), torch.inference_mode():
            x, _ = next(iter(batches.evaluate()))
            network(x)
        images = len(dataset.splits["valid"]) + len(dataset.splits["test"])
        return (perf_counter() - begin) / len(x) * images

    def settings(self, plan: FinishPlan) -> dict[str, Any]:
        """Everything that the result depends on."""
        from ...training.checkpoint import read

        return {
            "model": self.request.model,
            "number": self.number,
            "start": str(read(self.subject.weights)[1]["sha256"]),
            "data": self.trainings.dataset.fingerprint,
            "recipe": self.trainings.recipe.settings(),
            "seed": self.request.seed,
            "workers": self.workers,
            **self.hardware.settings(),
            "plan": plan.to_settings(),
        }

    def steps(self, plan: FinishPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Note the network as it is, train it, test it, write it back."""
        recipe = self.trainings.recipe.title or "of yours" if self.request.recipe is not None else ""
        entropy = (int(self.run.settings["seed"]), self.request.seed, self.number)

        def train(run: Run) -> None:
            FurtherTraining(self.subject, self.trainings, plan, entropy, self.request.recipe is None, send).run(run)

        return [
            Step("begin", BEFORE, lambda run: run.write(BEFORE, networks_text([self.subject.record]))),
            Step(TRAIN, TRAINED_NETWORKS, train),
            Step(TEST, FINISH, lambda run: settle(self.subject, self.trainings, run, self.number, recipe)),
            Step(EXPORT, "", lambda run: write_back(self.run, run.path, read_outcome(run.path), send)),
        ]

    def training_folders(self, path: Path) -> Mapping[str, Path]:
        """Among all trainings of the run, those that were begun after this finish was."""
        began = (path / SETTINGS).stat().st_mtime
        begun = (self.run.path / NETWORK_TRAININGS).glob(f"*/{SETTINGS}")
        new = [file.parent for file in begun if file.stat().st_mtime >= began]
        return {f"{NETWORK_TRAININGS}/{folder.name}": folder for folder in new}

    def planned(self, plan: FinishPlan) -> FinishResult:
        """What would be done."""
        record, run = self.subject.record, self.run.path
        before = {**(record.trained or {}), **(record.exported_test or {})}
        return FinishResult(
            str(run), record.name, str(run / MODELS / record.name), False, 0, before, {}, record,
            decides=self.trainings.decides, planned=plan,
        )  # fmt: skip

    def read(self, path: Path) -> FinishResult:
        """The result, from the files of the finish and of the run."""
        return read_finish(path)
