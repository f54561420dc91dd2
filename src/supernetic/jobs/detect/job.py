"""`detect`: train a detector of objects on a backbone, test it once, and hand it over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from ...blueprint import Blueprint
from ...errors import RunError
from ...hardware import Hardware, settle_hardware
from ...progress import Event, OnEvent
from ...reports.detect import write_detect
from ...runs.directory import Run
from ...runs.files import (
    AUGMENT,
    BACKBONE,
    DECISIONS,
    DETECT,
    DETECTOR,
    DETECTOR_WEIGHTS,
    EXPORTED,
    SHOWN_IMAGES,
    TIMINGS,
    VALIDATED,
)
from ...runs.records import AugmentRecord, read_json
from ...runs.trust import opens_runs
from ..job import Job, Step, run_job
from ..time_plan import EXPORT, EXPORT_S, PLANNED_SHARE, REPORT_S, TEST, TRAIN, rescale_recipe
from .backbone import Backbone, read_backbone
from .mirroring import AUTO, FLIP, decide_mirroring
from .request import DetectRequest
from .result import DetectPlan, DetectResult, read_result

# What learns fast on few images: docs/findings/detection.md.
DETECTION_RECIPE = {
    "title": "default for detectors",
    "source": "ours: for short trainings from weights that were learnt before",
    "length": "24 epochs",
    "batch_size": 4,
    "augment": "flip",
    "optimiser": "adam",
    "lr": 0.001,
    "smoothing": 0.999,
    "schedule": "cosine",
    "warmup": "1 epochs",
    "clip_norm": 10.0,
}
SHRINK, MIRROR, VALIDATE = "shrink", "mirror", "validate"
LARGEST_SIDE = 640  # pixels, to which images are resized at most unless the user says otherwise
SHRINK_IMAGES = 16  # on which cuts are measured
TIMED_STEPS = 3  # behind one that is not timed
TEST_SHARE = 0.4  # of a training step's time per image: detecting in it
LEAST_STEPS = 10


@opens_runs
def detect(
    backbone: str | Path,
    data: str | Path,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    recipe: str | Path | None = None,
    image_size: int | None = None,
    channels: int = 64,
    shrink: float | None = None,
    augment: str = AUTO,
    limit: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    dry_run: bool = False,
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> DetectResult:
    """Train a detector of objects: RetinaNet with a feature pyramid on a backbone.

        supernetic.detect("efficientnet-lite0", "cells/", minutes=15)

    Needs the extra `detection`. Runs on the CPU. An interrupted run goes on where it stands.

    Args:
        backbone: A model directory, a pretrained network such as `efficientnet-lite0`, or the name of a network, which
            then has fresh weights: `mobilenetv2`, `scarlet-a`, and all others of `supernetic.model_names`.
        data: A directory of annotated images in the format of VOC or COCO, or a COCO file.
        minutes: The time for everything.
        steps: Updates, in place of minutes. By default the recipe's.
        recipe: Training settings, a TOML file. By default our own, for short trainings.
        image_size: Longer side of images as the detector sees them. By default the median of the training images', at
            most 640.
        channels: Of the pyramid and the heads.
        shrink: Share of the backbone's MACs to keep: blocks are left out or narrowed where its maps change least.
        augment: `flip` mirrors half of the training images, `none` does not; `auto` mirrors them only if a measurement
            says that it keeps the meaning of the objects. A recipe of your own decides by itself.
        limit: Take a random subset of this many training images, and others in proportion.
        seed: Of all randomness.
        out: The run directory.
        dry_run: Check everything, return the plan, and write nothing.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives progress.

    Returns:
        COCO's metrics on test images, and where the detector is; after a dry run, the plan.
    """
    request = DetectRequest(backbone, data, minutes, steps, recipe, image_size, channels, shrink, limit, seed, augment)
    return run_job(partial(DetectJob.prepare, request), out=out, dry_run=dry_run, on_event=on_event)


@dataclass(frozen=True)
class DetectJob(Job[DetectPlan, DetectResult]):
    """A detection job that is prepared: data read and checked, backbone found, recipe read."""

    kind: ClassVar[str] = "detect"

    request: DetectRequest
    dataset: Any  # DetectionData
    backbone: Backbone
    recipe: Any  # Recipe
    image_size: int
    runs_on: Hardware

    @classmethod
    def prepare(cls, request: DetectRequest, send: OnEvent) -> DetectJob:
        """Read and check everything, before anything is written."""
        from ...detection.packages import require_detection
        from ...detection.reading import read_detection
        from ...training.recipe import read_recipe, recipe

        require_detection()
        dataset = read_detection(request.data, limit=request.limit, seed=request.seed)
        for note in dataset.notes:
            send(Event("plan", f"note: {note}"))
        longer = [max(i.width, i.height) for i in dataset.splits["train"]]
        size = request.image_size or min(LARGEST_SIDE, round(float(np.median(longer))))
        settings = read_recipe(request.recipe) if request.recipe is not None else recipe(DETECTION_RECIPE)
        backbone = read_backbone(request.backbone, size)
        return cls(request, dataset, backbone, settings, size, settle_hardware("cpu"))

    @property
    def hardware(self) -> Hardware:
        """The CPU."""
        return self.runs_on

    @property
    def title(self) -> str:
        """The job's name and the data's."""
        return f"detect-{self.dataset.name}"

    @cached_property
    def batches(self) -> Any:
        """The training images."""
        from ...detection.batches import DetectionBatches

        items = self.dataset.splits["train"]
        return DetectionBatches(items, self.recipe.batch_size, self.image_size, self.request.seed, self._may_flip)

    @property
    def _may_flip(self) -> bool:
        """Whether images may be mirrored, if that is not measured."""
        if self.request.augment == AUTO:
            return FLIP in self.recipe.augment.split("+")
        return self.request.augment == FLIP

    @property
    def _measures_mirroring(self) -> bool:
        return self.request.augment == AUTO and self.request.recipe is None

    def plan(self, earlier: Mapping[str, Any] | None, spent: float) -> DetectPlan:
        """How long it trains; with minutes, that is settled when the training begins."""
        from ...training.schedule import plan_of

        counts = {s: len(items) for s, items in self.dataset.splits.items()}
        macs = self.backbone.summary()["macs"]
        kind = "with weights that were learnt before" if self.backbone.weights is not None else "with fresh weights"
        head = (
            f"{len(self.dataset.classes)} classes in {self.dataset.name}: {', '.join(self.dataset.classes)}; "
            f"{counts['train']:,} images train, {counts['valid']:,} validate, {counts['test']:,} test",
            f"{self.backbone.name} {kind}, {macs / 1e6:,.0f}M MACs for {self.image_size} x {self.image_size} pixels"
            + (f", shrunk to {self.request.shrink:.0%}" if self.request.shrink is not None else ""),
            *(["whether images may be mirrored is measured before the training"] if self._measures_mirroring else []),
        )
        if earlier is not None:
            return DetectPlan(head, **earlier["plan"])
        if self.request.minutes is not None:
            return DetectPlan(head, 0, 60 * self.request.minutes, spent)
        steps = self.request.steps or plan_of(self.recipe, self.batches.steps_per_epoch).steps
        return DetectPlan(head, steps)

    def settings(self, plan: DetectPlan) -> dict[str, Any]:
        """Everything that the result depends on."""
        return {
            "data": self.dataset.summary(),
            "backbone": self.backbone.summary(),
            "image_size": self.image_size,
            "channels": self.request.channels,
            "augment": self.request.augment,
            "recipe": self.recipe.settings(),
            "seed": self.request.seed,
            "plan": plan.to_settings(),
            **self.hardware.settings(),
        }

    def steps(self, plan: DetectPlan, settings: Mapping[str, Any], send: OnEvent) -> Sequence[Step]:
        """Shrink the backbone if asked to, see whether images may be mirrored, train, validate, test, export."""
        import torch

        torch.set_num_threads(self.hardware.threads)
        shrunk = [Step(SHRINK, BACKBONE, self._shrink)] if self.request.shrink is not None else []
        measured = [Step(MIRROR, AUGMENT, self._measure_mirroring)] if self._measures_mirroring else []
        return [
            *shrunk,
            *measured,
            Step(TRAIN, DETECTOR_WEIGHTS, partial(self._train, plan, send)),
            Step(VALIDATE, VALIDATED, partial(self._validate, send)),
            Step(TEST, DETECT, partial(self._test, send)),
            Step(EXPORT, EXPORTED, self._export),
        ]

    # --- the steps ----------------------------------------------------------------------------------------------------

    def _shrink(self, run: Run) -> None:
        """Cut the backbone where its maps change least."""
        from ...costs.macs import add_up
        from ...derivation.shrink import shrink
        from ...detection.taps import find_taps
        from ...nn.network import build, with_weights
        from ...training.checkpoint import write

        base = self.backbone
        network = (
            build(base.blueprint, seed=self.request.seed).eval()
            if base.weights is None
            else with_weights(base.blueprint, base.weights)
        )
        few = replace(self.batches, batch_size=SHRINK_IMAGES, flip=False)
        images = self._prepared(few.batch(0)[0])
        before, _ = add_up(base.blueprint)
        smaller, cuts = shrink(
            network, images, (self.request.shrink or 1) * before, list(find_taps(base.blueprint).values())
        )
        weights = {n: t.detach().contiguous() for n, t in smaller.state_dict().items()}
        notes = {"blueprint": json.dumps(smaller.blueprint.to_json()), "cuts": json.dumps([str(c) for c in cuts])}
        write(run.path / BACKBONE, weights, notes)

    def _measure_mirroring(self, run: Run) -> None:
        """Whether training images are mirrored, and a preview of their objects."""
        from ...detection.crops import crops_of
        from ...networks.augment_preview import write_preview

        request, objects = self.request, crops_of(self.dataset, self.request.seed)
        decision = decide_mirroring(objects, seed=request.seed, minutes=request.minutes, steps=request.steps)
        write_preview(run, objects, decision, request.seed)

    def _mirroring(self, run: Run) -> AugmentRecord | None:
        """What was measured, if it was."""
        return AugmentRecord.from_json(read_json(run.path / AUGMENT)) if self._measures_mirroring else None

    def _prepared(self, images: Sequence[Any]) -> Any:
        """Images as the backbone reads them, in one batch."""
        from ...detection.packages import torchvision

        torchvision()  # before anything else of it is imported
        from torchvision.models.detection.transform import GeneralizedRCNNTransform

        size, base = self.image_size, self.backbone
        return GeneralizedRCNNTransform(size, size, list(base.mean), list(base.std))(list(images))[0].tensors

    def _used_backbone(self, run: Run) -> tuple[Backbone, list[str]]:
        """The backbone that is trained, and what was cut of the one that was asked for."""
        from ...training.checkpoint import read

        if self.request.shrink is None:
            return self.backbone, []
        tensors, notes = read(run.path / BACKBONE)
        try:
            blueprint = Blueprint.from_json(json.loads(str(notes["blueprint"])))
            cuts = json.loads(str(notes["cuts"]))
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{run.path / BACKBONE} holds no backbone: {error}") from None
        return replace(self.backbone, blueprint=blueprint, weights=tensors if self.backbone.weights else None), cuts

    def _spec(self, run: Run) -> Any:
        from ...detection.anchors import fit_anchors
        from ...detection.detector import DetectorSpec

        base, _ = self._used_backbone(run)
        items = self.dataset.splits["train"]
        sides = [(i.boxes[:, 2:] - i.boxes[:, :2]) * (self.image_size / max(i.width, i.height)) for i in items]
        labels = np.concatenate([i.labels for i in items])
        anchors = fit_anchors(np.concatenate(sides).astype(np.float64), labels)
        pretrained = base.weights is not None
        classes, channels = len(self.dataset.classes), self.request.channels
        return DetectorSpec(
            base.blueprint, classes, self.image_size, channels, anchors, base.mean, base.std, pretrained
        )

    def _train(self, plan: DetectPlan, send: OnEvent, run: Run) -> None:
        from ...detection.detector import build_detector
        from ...detection.training import fit_detector
        from ...training.checkpoint import write
        from ...training.schedule import plan_of

        spec, (base, _) = self._spec(run), self._used_backbone(run)
        begin = perf_counter()
        build = partial(build_detector, spec, base.weights, seed=self.request.seed)
        steps = plan.steps or self._settled_steps(run, plan, build, begin)
        recipe = rescale_recipe(self.recipe, plan_of(self.recipe, self.batches.steps_per_epoch), steps)
        measured, detector = self._mirroring(run), build()
        flip = self._may_flip if measured is None else measured.augment == FLIP
        for progress in fit_detector(detector, replace(self.batches, flip=flip), recipe, run, seed=self.request.seed):
            send(Event(TRAIN, f"loss {progress.loss:.3f}", done=progress.step, total=progress.steps))
        write(run.path / DETECTOR_WEIGHTS, detector.state_dict(), {"steps": steps})

    def _settled_steps(self, run: Run, plan: DetectPlan, build: Any, begin: float) -> int:
        """Steps that fit into the minutes, from some that are timed now; a resumed run keeps to what it settled."""
        from ...detection.training import fit_detector

        for record in run.read(DECISIONS):
            if isinstance(record.get("steps"), int) and record["steps"] > 0:
                return int(record["steps"])
        times = [perf_counter()]
        for progress in fit_detector(
            build(), self.batches, replace(self.recipe, length="1000 steps", warmup="0 steps")
        ):
            times.append(perf_counter())
            if progress.step > TIMED_STEPS:
                break
        pace = float(np.median(np.diff(times)[1:]))
        judged = sum(len(self.dataset.splits[s]) for s in ("valid", "test"))
        after = EXPORT_S * 5 + REPORT_S + TEST_SHARE * pace / self.recipe.batch_size * judged
        passed = sum(r["seconds"] for r in run.read(TIMINGS) if r["task"] in (SHRINK, MIRROR))
        left = PLANNED_SHARE * plan.limit - plan.spent - passed - (perf_counter() - begin) - after
        steps = max(LEAST_STEPS, int(left / pace))
        run.append(DECISIONS, [{"decision": TRAIN, "steps": steps}], sync=True)
        return steps

    def _detector(self, run: Run) -> tuple[Any, Any, int]:
        """The trained detector, what it is built from, and for how many steps it was trained."""
        from ...detection.detector import build_detector
        from ...training.checkpoint import read

        spec = self._spec(run)
        detector = build_detector(spec)
        tensors, notes = read(run.path / DETECTOR_WEIGHTS)
        detector.load_state_dict(tensors)
        return detector.eval(), spec, int(notes["steps"])

    def _found(self, detector: Any, split: str, task: str, send: OnEvent) -> list[Any]:
        from ...detection.evaluation import detect_all

        items = self.dataset.splits[split]
        progress = lambda done: send(Event(task, done=done, total=len(items)))  # noqa: E731
        return list(detect_all(detector, items, self.image_size, progress))

    def _validate(self, send: OnEvent, run: Run) -> None:
        from ...detection.evaluation import best_threshold, score

        detector, _, _ = self._detector(run)
        items = self.dataset.splits["valid"]
        found = self._found(detector, "valid", VALIDATE, send)
        scores = score(items, found, self.dataset.classes)
        record = {"threshold": best_threshold(items, found), "metrics": scores.metrics}
        run.write(VALIDATED, json.dumps(record, indent=1) + "\n")

    def _test(self, send: OnEvent, run: Run) -> None:
        from ...detection.costs import detector_macs
        from ...detection.evaluation import score
        from ...detection.pictures import shown_images

        detector, spec, steps = self._detector(run)
        validated = json.loads((run.path / VALIDATED).read_text())
        items = self.dataset.splits["test"]
        found = self._found(detector, "test", TEST, send)
        scores = score(items, found, self.dataset.classes)
        (base, cuts), measured = self._used_backbone(run), self._mirroring(run)
        run.write(SHOWN_IMAGES, json.dumps(shown_images(items, found, validated["threshold"])) + "\n")
        record = {
            "data": self.dataset.summary(),
            "notes": [*self.dataset.notes, *([] if measured is None else [measured.reason.removesuffix(".")])],
            "backbone": {**base.summary(), "cuts": cuts, "asked_macs": self.backbone.summary()["macs"]},
            "image_size": self.image_size,
            "channels": self.request.channels,
            "anchors": spec.to_json()["anchors"],
            "recipe": self.recipe.settings(),
            "seed": self.request.seed,
            "steps": steps,
            "threshold": validated["threshold"],
            "valid": validated["metrics"],
            "test": scores.metrics,
            "by_class": scores.by_class,
            "macs": detector_macs(detector, *self._sides()),
            "params": sum(p.numel() for p in detector.parameters()),
        }
        run.write(DETECT, json.dumps(record, indent=1, allow_nan=False) + "\n")

    def _sides(self) -> tuple[int, int]:
        """Height and width of the input for most images."""
        from ...detection.onnx import input_sides

        items = self.dataset.splits["train"]
        return input_sides(self.image_size, float(np.median([i.height / i.width for i in items])))

    def _export(self, run: Run) -> None:
        from ...detection.directory import DetectorCard, save_detector

        detector, spec, _ = self._detector(run)
        record = json.loads((run.path / DETECT).read_text())
        card = DetectorCard(
            f"{self.backbone.name}-{self.dataset.name}", self.backbone.name, self.dataset.name, self.dataset.classes,
            record["threshold"], record["test"], record["macs"]["all"], record["params"], self._sides(),
            self.recipe.title,
        )  # fmt: skip
        written = save_detector(run.path / DETECTOR, detector, spec, card)
        run.write(EXPORTED, json.dumps({"models": [DETECTOR], "onnx": written["onnx"]}) + "\n")

    def planned(self, plan: DetectPlan) -> DetectResult:
        """What would be done."""
        return DetectResult(
            self.dataset.name, self.backbone.name, None, None, None, self.dataset.classes, plan.steps, None, {}, {}, {},
            {}, 0, "", 0.0, self.dataset.notes, tuple(plan.lines()),
        )  # fmt: skip

    def read(self, path: Path) -> DetectResult:
        """The result of a run that came to its end."""
        return read_result(path)

    def write_page(self, path: Path) -> None:
        """The report."""
        write_detect(path)
