"""`train`: a supernet of a space on a data set, in a run directory that survives any interruption."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...objective import parse_quantity
from ...runs.location import open_or_resume
from ...runs.request import save_request
from ...runs.trust import opens_runs
from ...samplers.step import Sampler
from ...space import Space
from .prepare import TrainResult, Watch, hardware_of, prepare_training
from .supernet_run import RESULT, TASK, WEIGHTS

if TYPE_CHECKING:
    from ...training.loop import Progress
    from ...training.recipe import Recipe

TENSORBOARD = "tensorboard"  # its events; like timings, no part of what is reproduced


@opens_runs
def train(
    space: str | Space,
    data: str | Path = "embedded",
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
    out: str | Path | None = None,
    dry_run: bool = False,
    tensorboard: bool = False,
    progress: Watch | None = None,
    trust_code: bool = False,
) -> TrainResult:
    """Train a supernet; a run that exists with the same settings is resumed, or returned if it is finished.

    What a space given as text leaves open of classes, in_channels and resolution follows from the data. The sampler is
    the recipe's, else the one that goes with the space's sharing.
    `stabiliser` is `KIND` or `KIND:identity` (how it starts;
    at random otherwise). `steps` shortens or lengthens the recipe, `limit` takes a subset of the images. `threads`
    are half the processors unless said: more of them wait for each other, badly so on a busy machine; they are
    recorded, since another number gives other roundings. `device` is `cpu`, `cuda` or `auto`, `precision` is `no`
    (mixed), `fp16` or `bf16`. Several `processes` share each batch: on a CPU with `threads` each, or one per GPU.
    `snapshots` are steps, or shares of them such as `10%,50%`, whose weights are kept for `robustness` and for
    `load_supernet(run, step)`. `start` is a finished run of
    the same space whose weights are taken in place of random ones. With `tensorboard` every
    step is written for TensorBoard too, into the run's `tensorboard/`. `progress` wraps the steps, such as
    `training.show.bar`. A run to start from whose space is code needs `trust_code`, unless `space` is that very code.
    """
    asked = dict(locals())
    for name, value in (("steps", steps), ("limit", limit), ("threads", threads), ("processes", processes)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    if tensorboard:
        from ...training.display import tensorboard_writer

        tensorboard_writer()  # says now if it is missing, before anything is written
    threads = threads or max(1, (os.cpu_count() or 1) // 2 // processes)
    hardware = {"threads": threads, **hardware_of(device, precision, processes)}
    job = prepare_training(space, data, sampler, recipe, steps, stabiliser, limit, hardware, seed, latency, start)
    if kept := snapshot_steps(snapshots, job.settings["steps"]):
        job = dataclasses.replace(job, settings={**job.settings, "snapshots": kept})
    if dry_run:
        return job.result(None, None)
    with open_or_resume(out, job.space.name, job.settings) as run:
        save_request(run, asked)
        if not (run.path / WEIGHTS).exists():
            job.fit(run, _with_tensorboard(run.path, progress) if tensorboard else progress)
        losses = [r["loss"] for r in run.read("metrics.jsonl") if r["task"] == TASK]
        result = job.result(str(run.path), losses[-1])
        run.write(RESULT, json.dumps(result.to_json(), indent=1) + "\n")
    return result


def snapshot_steps(asked: str | Sequence[str], steps: int) -> list[int]:
    """Steps from texts such as `500` or `10%`, or from several of them joined by commas."""
    texts = [t.strip() for t in asked.split(",") if t.strip()] if isinstance(asked, str) else asked
    kept = set()
    for text in texts:
        step = parse_quantity(text) * (steps / 100 if text.endswith("%") else 1)
        if not 1 <= round(step) < steps:
            raise InputError(f"a snapshot is taken after one step or more and before the last of {steps}, got {text!r}")
        kept.add(round(step))
    return sorted(kept)


def _with_tensorboard(path: Path, progress: Watch | None) -> Watch:
    from ...training.display import tensorboard

    def watch(steps: Iterable[Progress]) -> Iterator[Progress]:
        written = tensorboard(steps, path / TENSORBOARD)
        return progress(written) if progress else written

    return watch
