"""`transfer`: fine-tune a pretrained network on other data, and hand it over as a model."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from ...datasets import DataLike, Dataset, source_of
from ...datasets.augment import parse
from ...datasets.augment_names import augment_names
from ...datasets.loading import outline, read
from ...errors import InputError
from ...hardware import Hardware, settle_hardware
from ...networks.heads import chosen_rows, extract_features, fit_heads, read_head, seconds_per_image
from ...networks.pool import dataset_of
from ...nn.timm_package import PREFIX as TIMM
from ...parallel.workers import kept_workers
from ...pretrained import Pretrained, fitting_resolution, load_pretrained
from ...progress import Event, OnEvent
from ...reports.transfer import write_transfer
from ...runs.directory import Run, write_atomically
from ...runs.files import (
    EXPORTED,
    FEATURES,
    HEAD,
    NETWORKS,
    QUANTISED,
    RATES,
    TARGETS,
    TRANSFER,
    TRANSFER_TABLE,
)
from ...runs.trust import opens_runs, require_name
from ..compare.comparison import EXPORT, QUANTISE, TEST, NetworkTrainings
from ..compare.int8 import require_mode
from ..job import Job, Step, run_job
from ..time_plan import EXPORT_S, HEAD_S, PLANNED_SHARE, REPORT_S
from ..train.prepare import full_source
from .finish import export, quantise, test
from .plan import FEATURE_SHARE, TransferPlan, divide_time, share_trials
from .recipes import DEFAULT, transfer_recipe
from .request import TransferRequest
from .result import TransferResult, TransferTable, read_transfer
from .train import Trainings

if TYPE_CHECKING:
    from torch import Tensor

    from ...training.recipe import Recipe

HELD_OUT = 0.2  # of the training images, as in AttentiveNAS
TEACHER_SHARE = 0.5  # that a teacher counts beside the labels
TIMED_S = 0.4  # for which training steps are timed: one, mostly; the trials tell more


@opens_runs
def transfer(
    model: str | Path | Sequence[str | Path],
    data: DataLike | Sequence[str] = "embedded",
    *,
    minutes: float | None = None,
    steps: int | None = None,
    trials: int | None = None,
    recipe: str | Path | None = None,
    layers: str = "all",
    teacher: str | Path | None = None,
    image_size: int | None = None,
    limit: int | None = None,
    int8: str = "auto",
    seed: int = 0,
    workers: int | None = None,
    device: str = "auto",
    precision: str = "no",
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> TransferResult | TransferTable:
    """Fine-tune a pretrained network on other data: a new head on its features first, then all layers.

        supernetic.transfer("efficientnet-lite0", "photos/", minutes=20)

    Learning rate and weight decay are chosen on a fifth of the training images that is held out; the final training
    takes all of them. The test split is read once, at the end. The same call continues a run that was interrupted.

    Args:
        model: A model directory, `efficientnet-lite0`, `-lite1`, `-lite2` (extra `pretrained`), or `timm:NAME` (extra
            `timm`). Several models, or several data sets, give a table: each pair is a run in the folder `out`.
        data: Images: a name, a folder, an `.npz` or an archive; arrays `(images, labels)`, or a torch `Dataset`. A list
            of names or folders is several data sets.
        minutes: The time for everything, shared out over the pairs. By default the recipe says how long.
        steps: Updates of the final training, in place of minutes.
        trials: Learning rates and weight decays to try, at most; 0 takes the recipe's. By default as many as the time
            allows for, without a time 4.
        recipe: `short`, `attentive`, `scalenet`, `scarlet`, or a TOML file; its length is fitted to the time.
        layers: `all`, `gradual` (layers are freed from the end, in three parts), or `head`.
        teacher: A model directory with the same classes, whose answers count as much as the labels.
        image_size: Pixels that the network sees. By default the data's, at least 96 and at most what the network was
            trained with.
        limit: Take a subset of this many images.
        int8: `auto`, or `no` for no quantised file.
        seed: Of all randomness.
        workers: Trials at a time; by default as many as processors, or one per GPU.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        out: The run directory, or the folder of several.
        dry_run: Check everything, return the plan, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives progress.

    Returns:
        What came of it, or a table of several.
    """
    models = [str(model)] if isinstance(model, str | Path) else [str(m) for m in model]
    several = isinstance(data, list | tuple) and bool(data) and all(isinstance(d, str | Path) for d in data)
    sources: list[Any] = list(data) if several else [data]  # type: ignore[arg-type]
    if not models:
        raise InputError("a transfer needs a model, got none")
    pairs = len(models) * len(sources)
    each = None if minutes is None else minutes / pairs
    requests = [
        TransferRequest(
            m, source_of(d), each, steps, trials, recipe, layers, None if teacher is None else str(teacher), image_size,
            limit, int8, seed, workers, device, precision,
        )
        for d in sources
        for m in models
    ]  # fmt: skip
    if pairs == 1:
        return transfer_by(requests[0], out=out, dry_run=dry_run, on_event=on_event)
    return _table(requests, Path("runs/transfer" if out is None else out), dry_run, on_event)


def transfer_by(
    request: TransferRequest,
    *,
    out: str | Path | None = None,
    dry_run: bool = False,
    on_event: OnEvent | None = None,
) -> TransferResult:
    """Do what a request says: one model on one data set.

    Args:
        request: The settings.
        out: The run directory.
        dry_run: Whether to stop after planning.
        on_event: Receives progress.

    Returns:
        What came of it.
    """
    with kept_workers():
        return run_job(partial(TransferJob.prepare, request), out=out, dry_run=dry_run, on_event=on_event)


def _table(requests: Sequence[TransferRequest], folder: Path, dry_run: bool, on_event: OnEvent | None) -> TransferTable:
    for model in dict.fromkeys(r.model for r in requests):  # hours before its turn would come
        load_pretrained(model)
    for data in dict.fromkeys(str(r.data) for r in requests):
        outline(full_source(data))
    results = []
    for request in requests:
        name = f"{_short(request.model)}-on-{_short(str(request.data))}"
        results.append(transfer_by(request, out=folder / name, dry_run=dry_run, on_event=on_event))
    table = TransferTable(str(folder), tuple(results))
    if not dry_run:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(table.rows())
        write_atomically(folder / TRANSFER_TABLE, text.getvalue().encode())
    return table


def _short(text: str) -> str:
    plain = text.partition("@")[0] if text.startswith(TIMM) else Path(text).stem
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in plain).strip("-")
    return require_name(name or "data")


@dataclass(frozen=True)
class TransferJob(Job[TransferPlan, TransferResult]):
    """A transfer that is prepared: the network and the data loaded, the recipe read."""

    kind: ClassVar[str] = "transfer"
    uncompared: ClassVar[tuple[str, ...]] = ("request.workers", "plan.workers")

    request: TransferRequest
    pretrained: Pretrained
    held_out: NetworkTrainings
    whole: NetworkTrainings
    workers: int
    notes: tuple[str, ...]

    @classmethod
    def prepare(cls, request: TransferRequest, send: OnEvent) -> TransferJob:
        """Load and check everything, before anything is written."""
        int8 = require_mode(request.int8)
        recipe = transfer_recipe(request.recipe)
        hardware = settle_hardware(request.device, request.precision).of_networks
        own = load_pretrained(request.model)
        source = full_source(request.data)
        pixels = outline(source).resolution
        resolution = request.image_size or fitting_resolution(pixels, own.network.blueprint.resolution)
        pretrained = own.at(resolution)
        options = _options(source, request, pretrained, min(resolution, pixels))
        has_valid = "valid" in read(source).given
        shares = {"held_out": HELD_OUT, "whole": 0}
        made = {}
        for name, share in shares.items():
            loading = {**options, **({} if has_valid else {"valid": share})}
            dataset = dataset_of(loading)
            made[name] = NetworkTrainings(
                dataset=dataset, loading=loading, recipe=_batch(recipe, dataset), seed=request.seed,
                hardware=hardware, int8=int8,
            )  # fmt: skip
        given = (
            "the data have validation images of their own: these are held out, and the final training leaves them out"
        )
        if request.teacher is not None:
            _check_teacher(request.teacher, made["whole"].dataset)
        send(Event("prepare", f"{request.model} at {resolution} pixels"))
        return cls(
            request, pretrained, made["held_out"], made["whole"], hardware.workers(request.workers),
            (given,) if has_valid else (),
        )  # fmt: skip

    @property
    def title(self) -> str:
        """The model's name and the data's."""
        return f"transfer-{_short(self.request.model)}-{self.dataset.name}"

    @property
    def hardware(self) -> Hardware:
        """As requested."""
        return self.whole.hardware

    @property
    def dataset(self) -> Dataset:
        """All images, those of the held-out fifth for training too."""
        return self.whole.dataset

    @property
    def resolution(self) -> int:
        """Of the images that the network sees."""
        return self.pretrained.network.blueprint.resolution

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> TransferPlan:
        """The plan of a run that exists, or a new one by the recipe, by steps or by the clock."""
        if earlier is not None:
            return replace(TransferPlan.from_settings(earlier["plan"]), workers=self.workers)
        request, images = self.request, len(self.dataset.splits["train"])
        model, head_only = _short(request.model), request.layers == "head"
        if request.minutes is not None:
            return self._by_time(model, images, 60 * request.minutes, spent)
        length = request.steps or self.whole.schedule.steps
        trials = 4 if request.trials is None else request.trials
        rates, decays = (0, 0) if head_only else share_trials(trials)
        return TransferPlan(
            model, request.layers, images, rates, decays, length if rates else 0, 0 if head_only else length,
            self.workers,
        )  # fmt: skip

    def _by_time(self, model: str, images: int, limit: float, spent: float) -> TransferPlan:
        from ..speed import step_seconds

        begin = perf_counter()
        per_image = seconds_per_image(self.pretrained.network, self.dataset, self.hardware.device)
        test = len(self.dataset.splits["test"]) * per_image / 2 * (2 if self.whole.int8 else 1)
        after = test + EXPORT_S + REPORT_S
        left = PLANNED_SHARE * limit - spent - after - HEAD_S
        fitted = max(min(images, 2 * len(self.dataset.classes)), min(images, int(FEATURE_SHARE * left / per_image)))
        if self.request.layers == "head":
            return TransferPlan(model, "head", fitted, 0, 0, 0, 0, self.workers, limit)
        pace = step_seconds([self.blueprint], self.whole.recipe, 1, TIMED_S, hardware=self.hardware)[0]
        left -= fitted * per_image + perf_counter() - begin
        rates, decays, trial_steps, steps = divide_time(left / pace, self.workers, self.request.trials)
        return TransferPlan(
            model, self.request.layers, fitted, rates, decays, trial_steps, steps, self.workers, limit, after
        )  # fmt: skip

    @property
    def blueprint(self) -> Any:
        """The network with a classifier for the classes of the data."""
        from ...nn.network import with_classes

        return with_classes(self.pretrained.network.blueprint, len(self.dataset.classes))

    def settings(self, plan: TransferPlan) -> dict[str, Any]:
        """Everything that the result depends on."""
        from ...training.checkpoint import checksum

        return {
            "model": self.request.model,
            "start": checksum({n: t.cpu() for n, t in self.pretrained.network.state_dict().items()}),
            "resolution": self.resolution,
            "data": self.dataset.summary(),
            "load": dict(self.whole.loading),
            "held_out": self.held_out.dataset.fingerprint,
            "retrain_recipe": self.whole.recipe.settings(),
            "space": {"name": "pretrained", "text": self.request.model},
            "seed": self.request.seed,
            "licence": self.pretrained.licence,
            "notes": list(self.notes),
            **self.hardware.settings(),
            "plan": plan.to_settings(),
        }

    def steps(self, plan: TransferPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Features, head, learning rates, training, int8, test, export."""
        rows = chosen_rows(self.dataset, plan.images, self.request.seed, with_valid=True)
        network, device = self.pretrained.network, self.hardware.device

        def trainings(run: Run) -> Trainings:
            file = run.path / TARGETS if self.request.teacher is not None else None
            held_out, whole = (self._as_mirrored(t, run) for t in (self.held_out, self.whole))
            return Trainings(self.blueprint, held_out, whole, plan, file, send)

        def heads(run: Run) -> None:
            # a recipe that the user chose says itself whether images are mirrored
            mirrored = None if self.request.recipe in (None, DEFAULT) else parse(self.whole.recipe.augment).flip
            fit_heads(
                network, self.held_out.dataset, self.dataset, self._targets(run), self.request.seed, run,
                mirrored=mirrored,
            )  # fmt: skip

        teach = Step("teacher", TARGETS, self._ask_teacher)
        return [
            *([teach] if self.request.teacher is not None else []),
            Step("features", FEATURES, lambda run: extract_features(network, self.dataset, rows, run, send, device)),
            Step("head", HEAD, heads),
            Step("rates", RATES, lambda run: trainings(run).choose(run)),
            Step("train", TRANSFER, lambda run: trainings(run).train(run)),
            *([Step(QUANTISE, QUANTISED, lambda run: quantise(self.whole, self.blueprint, run, send))]
              if self.whole.int8 else []),
            Step(TEST, NETWORKS, lambda run: test(self.whole, self.blueprint, plan.model, run)),
            Step(EXPORT, EXPORTED, lambda run: export(self.blueprint, run)),
        ]  # fmt: skip

    def _as_mirrored(self, trainings: NetworkTrainings, run: Run) -> NetworkTrainings:
        """The same without mirrored images where these would mean something else."""
        if read_head(run)["mirrored"]:
            return trainings
        names = augment_names(trainings.recipe.augment)
        return replace(trainings, recipe=replace(trainings.recipe, augment="+".join(n for n in names if n != "flip")))

    def _ask_teacher(self, run: Run) -> None:
        from ...networks.taught import mixed_targets, write_targets
        from ...networks.training import logits_of, one_thread

        teacher = load_pretrained(str(self.request.teacher))
        data = replace(self.dataset, normalisation=(teacher.mean, teacher.std))
        with one_thread():
            logits = logits_of(teacher.network.eval(), teacher.network.blueprint.resolution, data, "train")
        write_targets(run.path / TARGETS, mixed_targets(self.dataset, logits, TEACHER_SHARE))

    def _targets(self, run: Run) -> Tensor:
        import torch
        import torch.nn.functional as F

        from ...networks.taught import read_targets

        if self.request.teacher is not None:
            return read_targets(run.path / TARGETS)
        return F.one_hot(torch.from_numpy(self.dataset.labels), len(self.dataset.classes)).float()

    def planned(self, plan: TransferPlan) -> TransferResult:
        """What would be done."""
        return TransferResult("", self.request.model, self.dataset.name, self.resolution, planned=plan)

    def read(self, path: Path) -> TransferResult:
        """The result, from the run's files."""
        return read_transfer(path)

    def write_page(self, path: Path) -> None:
        """The report, once there is something to report."""
        if (path / NETWORKS).exists():
            write_transfer(path)


def _options(source: str, request: TransferRequest, pretrained: Pretrained, resolution: int) -> dict[str, Any]:
    """Arguments of `datasets.load`, but for the held-out part; all that the headers of images say is said here."""
    gray = pretrained.network.blueprint.in_channels == 1
    limit = {} if request.limit is None else {"limit": request.limit}
    normalisation = [list(pretrained.mean), list(pretrained.std)]
    return {
        "source": source, "gray": gray, "resolution": resolution, **limit, "calibrate": 0, "seed": request.seed,
        "normalisation": normalisation,
    }  # fmt: skip


def _batch(recipe: Recipe, dataset: Dataset) -> Recipe:
    """Batches of at most a quarter of the images."""
    return replace(recipe, batch_size=min(recipe.batch_size, max(2, len(dataset.splits["train"]) // 4)))


def _check_teacher(teacher: str, dataset: Dataset) -> None:
    from ...exporters.model import read_card

    classes = read_card(teacher).classes
    if classes != dataset.classes:
        raise InputError(f"the teacher {teacher} must have the classes of the data, got {', '.join(classes[:5])}, ...")
