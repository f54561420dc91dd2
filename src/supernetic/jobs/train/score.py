"""Scores of architectures by the supernet of a run, kept in the run: nothing is evaluated twice.

Several processes may score with one run at a time, each its own architectures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, RunError
from ...hardware import Hardware, recorded_hardware
from ...objective import Metrics
from ...parallel.workers import cluster_size
from ...runs.directory import jsonable, open_run, read_settings
from ...runs.files import SCORES, SETTINGS
from ...space import Arch, Space

if TYPE_CHECKING:
    from ...datasets import Dataset

PATIENCE_S = 10.0  # for other processes that record scores in the same run
ARCHS_PER_RECORD = 500  # architectures that are recorded together; a kill loses no more than these
RECALIBRATION_IMAGES = 1024  # that recalibrate BN
SUBSET_METRICS = ("valid/cross_entropy", "valid/accuracy")  # on a part of the validation images

Report = Callable[[int, int], None]  # (done, total)


def is_run(text: str) -> bool:
    """Whether there is a run at this path."""
    return (Path(text) / SETTINGS).is_file()


def score(
    run: str | Path,
    space: Space,
    archs: Sequence[Arch],
    *,
    bn: str = "recalibrate",
    images: int = RECALIBRATION_IMAGES,
    step: int | None = None,
    valid: int | None = None,
    hardware: Hardware | None = None,
    progress: Report | None = None,
) -> list[Metrics]:
    """Score architectures by the supernet of a run; scores are recorded there, and none is measured twice.

    Args:
        run: The run directory.
        space: The space of the architectures.
        archs: The architectures.
        bn: Where BN statistics come from: `recalibrate`, `batch` or `running`.
        images: That recalibrate BN.
        step: Take the snapshot after this step; by default the final weights.
        valid: Score on this many validation images, equally many of each class, and only by cross-entropy and
            accuracy, since no temperature is fitted; by default on all. Nor is one fitted where there are no images
            for it.
        hardware: Where they are scored; by default where the supernet was trained, if this machine has that.
        progress: Receives how many are scored, and how many there are to score.

    Returns:
        The metrics of each architecture.
    """
    import torch

    from ...evaluators.on_cluster import on_workers
    from ...evaluators.supernet import SupernetEvaluator, shared_cells
    from ...runs.space_record import space_of
    from ...training.devices import autocast
    from .supernet_run import load_supernet

    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    genes = translated(archs, space, shared_cells(space_of(Path(run), settings)), str(run))
    how: dict[str, Any] = {"bn": bn, "images": images if bn == "recalibrate" else 0}
    if step is not None:
        how["step"] = step
    if valid is not None:
        how["valid"] = valid
    hardware = hardware or recorded_hardware(settings)
    how |= hardware.differences()
    with open_run(run, settings, patience=PATIENCE_S) as opened:
        metrics_of = {_key(r): _metrics(r["metrics"]) for r in opened.read(SCORES) if _how(r) == how}
    missing = [a for a in dict.fromkeys(genes) if a not in metrics_of]
    if missing:
        torch.set_num_threads(settings["threads"])
        supernet, dataset = load_supernet(run, step, device=hardware.device)
        if valid is not None:
            dataset = _fewer(dataset, valid)
        calibrated = not valid and len(dataset.splits["calibrate"])
        metrics = None if calibrated else SUBSET_METRICS
        evaluate = on_workers(SupernetEvaluator(supernet, dataset, metrics, bn=bn, images=images), hardware)
    size = ARCHS_PER_RECORD * max(1, cluster_size() or 1)
    for start in range(0, len(missing), size):
        chunk = missing[start : start + size]
        with autocast(hardware):
            metrics_of.update(zip(chunk, evaluate(chunk), strict=True))
        with open_run(run, settings, patience=PATIENCE_S) as opened:  # only now: others may score with it too
            opened.append(SCORES, ({**how, "arch": a, "metrics": _record(metrics_of[a])} for a in chunk))
        if progress:
            progress(start + len(chunk), len(missing))
    return [metrics_of[a] for a in genes]


def translated(archs: Sequence[Arch], space: Space, to: Space, what: str) -> list[Arch]:
    """The same architectures, as another version of the space (with other operations masked) encodes them."""
    if space.choices == to.choices:
        return [to.check(a) for a in archs]
    if [c.name for c in space.choices] != [c.name for c in to.choices]:
        raise RunError(f"{what} holds a supernet of {to.name}, not of {space.name}")
    try:
        return [to.parse(space.format(a)) for a in archs]
    except InputError as error:
        raise RunError(f"the supernet of {what} lacks some of these architectures: {error}") from None


def _fewer(dataset: Dataset, n: int) -> Dataset:
    """The data with `n` validation images (all, if there are fewer); the others go where nobody looks here."""
    from dataclasses import replace

    from ...datasets.splits import subset

    if n < len(dataset.classes):
        raise InputError(f"scores need a validation image of each class, {len(dataset.classes)}, got {n}")
    rows = dataset.splits["valid"]
    kept = subset(dataset.labels, {"valid": rows}, n, 0)["valid"]
    spare = np.sort(np.concatenate([dataset.splits["calibrate"], np.setdiff1d(rows, kept)]))
    return replace(dataset, splits={**dataset.splits, "valid": kept, "calibrate": spare})


def _how(record: dict[str, Any]) -> dict[str, Any]:
    return {k: record[k] for k in ("bn", "images", "step", "valid", "device", "precision") if k in record}


def _key(record: dict[str, Any]) -> Arch:
    return tuple(record["arch"])


def _record(metrics: Metrics) -> dict[str, float | None]:
    return {name: jsonable(value) for name, value in metrics.items()}


def _metrics(record: dict[str, float | None]) -> Metrics:
    return {name: nan if value is None else value for name, value in record.items()}
