"""`train`: a supernet of a space on a data set, in a run directory that survives any interruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...datasets import DataLike, source_of
from ...errors import InputError, RunError
from ...hardware import Hardware, settle_hardware
from ...objective import parse_quantity
from ...progress import OnEvent
from ...reading import read_json
from ...result import Result
from ...runs.directory import Run, read_records
from ...runs.files import METRICS, RESULT, SUPERNET
from ...runs.trust import opens_runs
from ...samplers.named import settings_of
from ...samplers.step import Draw, Sampler
from ...space import Space
from ...tracking import Track
from ..job import Job, Step, run_job
from .prepare import TRAIN, PreparedTraining, loading_of, prepare_training, pretrained_options
from .request import TrainRequest
from .supernet_run import TASK

if TYPE_CHECKING:
    from ...training.recipe import Recipe


@opens_runs
def train(
    space: str | Space,
    data: DataLike = "embedded",
    *,
    sampler: str | Mapping[str, Any] | Sampler | None = None,
    recipe: str | Path | Recipe | None = None,
    steps: int | None = None,
    stabiliser: str = "",
    limit: int | None = None,
    threads: int | None = None,
    device: str = "auto",
    precision: str = "no",
    processes: int = 1,
    snapshots: str | Sequence[str] = (),
    latency: str | Path | None = None,
    start: str | Path | None = None,
    seed: int = 0,
    image_size: int | None = None,
    valid: float | None = None,
    skip_bad: bool = False,
    calibrate: float | None = None,
    split_seed: int | None = None,
    balance: str = "auto",
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    track: Track = (),
    on_event: OnEvent | None = None,
) -> TrainResult:
    """Train a supernet; a run that exists with the same settings is resumed, or read if it is finished.

    Args:
        space: A space, its text such as `macro:channels=8`, or a file. The data complete a text: what it leaves open
            of classes, in_channels and resolution follows from them.
        data: Images: a name, a folder, an `.npz` or an archive; arrays `(images, labels)`, or a torch `Dataset`.
        sampler: How paths are drawn: a name, settings or a sampler; by default the recipe's, else the one that goes
            with the space's sharing.
        recipe: Training settings: a TOML file or a recipe.
        steps: Updates, in place of the recipe's length.
        stabiliser: `KIND` or `KIND:identity`, which starts as the skip that it replaces.
        limit: Take a subset of this many images.
        threads: Processor threads; half the processors by default. More wait for each other on a busy machine.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        processes: Processes that share each batch, on a CPU with `threads` each, or one per GPU.
        snapshots: Steps, or shares of them such as `10%,50%`, whose weights are kept for `robustness`.
        latency: A run or file with measured latencies, for samplers with budgets in milliseconds.
        start: A finished run of the same space to take the weights from; or `efficientnet-lite0`, `-lite1`, `-lite2`,
            for the space `lite` around it.
        seed: Of all randomness.
        image_size: Pixels of the side that networks are trained and tested at. By default the space's or the data's.
        valid: Validation images: their number or, below 1, their share of the training images, which they are cut
            from. A tenth by default.
        skip_bad: Leave out images that cannot be read; without it, they are refused. The report lists them.
        calibrate: The same for the images that temperatures are fitted on. A twentieth by default; without any, the
            calibrated cross-entropy cannot be measured.
        split_seed: Of the draw of these images; by default the seed, so that other seeds validate on other images.
        balance: Of unequal classes: `none`, `weights` (in the loss), `sampling` (equally many images of each in an
            epoch), or `auto`: none, with a word about it.
        out: The run directory.
        dry_run: Check everything, return what would be done, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        track: Trackers that show the job as it runs: `tensorboard`, `wandb`, `mlflow`, or one of your own
            (docs/tracking.md).
        on_event: Receives progress.

    Returns:
        What was trained; the loss is None after a dry run.
    """
    snapshots = [t.strip() for t in snapshots.split(",") if t.strip()] if isinstance(snapshots, str) else snapshots
    request = TrainRequest(
        space, source_of(data), sampler, recipe, steps, stabiliser, limit, threads, device, precision, processes,
        snapshots, latency, start, seed, image_size, valid, skip_bad, calibrate, split_seed, balance,
    )  # fmt: skip
    return run_job(partial(TrainJob.prepare, request), out=out, dry_run=dry_run, on_event=on_event, track=track)


@dataclass(frozen=True)
class TrainResult(Result):
    """What was trained, or would be: a dry run has neither directory nor loss."""

    run: str | None
    space: str
    data: str
    stabiliser: str
    sampler: dict[str, Any]
    recipe: str
    seed: int
    steps: int
    paths: int  # per step
    batch_size: int
    parameters: int
    memory: int  # bytes of weights, gradients and what the optimiser keeps; activations come on top
    loss: float | None  # mean of the last recorded steps
    notes: tuple[str, ...]  # what was filled in

    def lines(self) -> list[str]:
        """A summary for people."""
        done = "dry run: nothing was written" if self.loss is None else f"loss {self.loss:.4f}; all is in {self.run}"
        return [*self.plan().lines(), done]

    def plan(self) -> TrainPlan:
        """What is trained, without what became of it."""
        return TrainPlan(self)


@dataclass(frozen=True)
class TrainPlan(Result):
    """What will be trained."""

    training: TrainResult

    def lines(self) -> list[str]:
        """A summary for people."""
        t = self.training
        stabilised = f", stabiliser {t.stabiliser}" if t.stabiliser else ""
        return [
            f"{t.space} on {t.data}{stabilised}",
            f"{t.steps:,} steps of {t.paths} {'path' if t.paths == 1 else 'paths'} "
            f"by {t.sampler['name']}, {t.batch_size} images each ({t.recipe})",
            f"{t.parameters:,} parameters, {t.memory / 2**20:,.0f} MiB with gradients and optimiser",
            *(f"note: {n}" for n in t.notes),
        ]


@dataclass(frozen=True)
class TrainJob(Job[TrainPlan, TrainResult]):
    """A training that is prepared."""

    kind: ClassVar[str] = "train"
    uncompared: ClassVar[tuple[str, ...]] = ("request",)  # its outcome is compared, not its wording

    request: TrainRequest
    training: PreparedTraining

    @classmethod
    def prepare(cls, request: TrainRequest, send: OnEvent) -> TrainJob:
        """Data, space and recipe, checked."""
        request.check_texts()
        training = prepare_training(
            request.space,
            {
                **loading_of(
                    request.data,
                    request.limit,
                    request.seed if request.split_seed is None else request.split_seed,
                    request.image_size,
                    request.valid,
                    request.skip_bad,
                    request.calibrate,
                ),
                **pretrained_options(request.start),
            },
            seed=request.seed,
            hardware=settle_hardware(request.device, request.precision, request.processes, request.threads),
            sampler=request.sampler,
            recipe=request.recipe,
            steps=request.steps,
            stabiliser=request.stabiliser,
            latency=request.latency,
            start=request.start,
            balance=request.balance,
            on_event=send,
        )
        if kept := snapshot_steps(request.snapshots, training.settings["steps"]):
            training = replace(training, settings={**training.settings, "snapshots": kept})
        return cls(request, training)

    @property
    def title(self) -> str:
        """The space's name."""
        return self.training.space.name

    @property
    def hardware(self) -> Hardware:
        """As requested."""
        return self.training.hardware

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> TrainPlan:
        """The recipe's length; nothing need be measured."""
        return _result(self.training, None, None).plan()

    def settings(self, plan: TrainPlan) -> dict[str, Any]:
        """The training's own."""
        return self.training.settings

    def steps(self, plan: TrainPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """One: train."""

        def work(run: Run) -> None:
            self.training.fit(run, send)

        return [Step(TRAIN, SUPERNET, work)]

    def planned(self, plan: TrainPlan) -> TrainResult:
        """The result without a loss."""
        return plan.training

    def read(self, path: Path) -> TrainResult:
        """The result with the last loss that was recorded."""
        losses = [r["loss"] for r in read_records(path / METRICS) if r["task"] == TASK]
        return _result(self.training, str(path), losses[-1])


def read_result(path: Path) -> TrainResult:
    """The result of a training that came to its end."""
    try:
        record = read_json(path / RESULT)
        return TrainResult(**{**record, "notes": tuple(record["notes"]), "run": str(path)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is not finished: {error}; `supernetic resume {path}` goes on") from None


def _result(training: PreparedTraining, run: str | None, loss: float | None) -> TrainResult:
    recipe, settings = training.recipe, training.settings
    assert recipe.sampler is not None
    step = training.sampler(training.supernet.space, Draw(np.random.default_rng(0)))
    return TrainResult(
        run=run,
        space=training.space.name,
        data=training.dataset.name,
        stabiliser=getattr(training.space, "stabiliser", ""),
        sampler=settings_of(recipe.sampler),
        recipe=recipe.title,
        seed=training.seed,
        steps=settings["steps"],
        paths=len(step.paths),
        batch_size=recipe.batch_size,
        parameters=sum(p.numel() for p in training.supernet.parameters()),
        memory=training_memory(training),
        loss=loss,
        notes=training.notes,
    )


def training_memory(training: PreparedTraining) -> int:
    """Bytes of weights, gradients and what the optimiser keeps; activations come on top."""
    recipe = training.recipe
    moments = {"sgd": bool(recipe.momentum), "rmsprop": 2, "adam": 2}[recipe.optimiser]
    return 4 * sum(p.numel() for p in training.supernet.parameters()) * (2 + moments + bool(recipe.ema))


def snapshot_steps(texts: Sequence[str], steps: int) -> list[int]:
    """Steps from texts such as `500` or `10%`."""
    kept = set()
    for text in texts:
        step = parse_quantity(text) * (steps / 100 if text.endswith("%") else 1)
        if not 1 <= round(step) < steps:
            raise InputError(f"a snapshot is taken after one step or more and before the last of {steps}, got {text!r}")
        kept.add(round(step))
    return sorted(kept)
