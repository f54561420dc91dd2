"""The training of a detector: one update per step, and the same bytes however often it is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer

from ..errors import DivergedError, InputError
from ..runs.directory import TIMINGS, Run
from ..training.checkpoint import Checkpoints, State
from ..training.loop import METRICS, Progress, forget_later
from ..training.optim import Average, set_lr
from ..training.recipe import Recipe
from ..training.schedule import plan_of
from .batches import DetectionBatches

NAME = "train"  # of the training within a run
BACKBONE_RATE = 0.25  # of the learning rate: for weights of the body that were learnt before
LOG_EVERY, CHECKPOINT_EVERY = 10, 20  # steps


def optimiser_of(detector: Any, recipe: Recipe) -> Optimizer:
    """The optimiser of a recipe, with a lower learning rate for a body that was learnt before."""
    body = {id(p) for p in detector.backbone.body.parameters()}
    factor = BACKBONE_RATE if detector.backbone.keeps_norms else 1.0
    groups: list[dict[str, Any]] = []
    for inside, rate in ((True, factor), (False, 1.0)):
        for decays in (True, False):
            params = [
                p for p in detector.parameters()
                if p.requires_grad and (id(p) in body) == inside and (p.ndim > 1 or recipe.decay_all) == decays
            ]  # fmt: skip
            if params:
                groups.append({"params": params, "weight_decay": recipe.weight_decay * decays, "factor": rate})
    if recipe.optimiser == "sgd":
        return SGD(groups, recipe.lr, recipe.momentum, nesterov=recipe.nesterov)
    if recipe.optimiser == "adam":
        return Adam(groups, recipe.lr, (recipe.momentum, recipe.smoothing), recipe.eps)
    raise InputError(f"recipe: a detector is trained with sgd or adam, got optimiser = {recipe.optimiser!r}")


def fit_detector(
    detector: Any, batches: DetectionBatches, recipe: Recipe, run: Run | None = None, *, seed: int = 0
) -> Iterator[Progress]:
    """Train a detector and yield after every step. At the end it holds the averaged weights, if the recipe averages.

    Args:
        detector: As `build_detector` made it.
        batches: The training images.
        recipe: How to train.
        run: Where the training is recorded (`metrics.jsonl`) and resumed from (`checkpoints/train`).
        seed: Of what is random in a step.

    Yields:
        Where the training stands.
    """
    plan = plan_of(recipe, batches.steps_per_epoch)
    detector.to(memory_format=torch.channels_last)
    optimiser = optimiser_of(detector, recipe)
    state = State(detector, (optimiser,), Average(detector, recipe.ema) if recipe.ema else None)
    store = Checkpoints(run.path / "checkpoints" / NAME) if run else None
    start, tensors = store.latest() if store else (0, {})
    if tensors:
        state.load(tensors)
    if run:
        forget_later(run, NAME, start)
    parts: list[dict[str, float]] = []
    began = lap = perf_counter()
    lap_cpu = process_time()
    for step in range(start, plan.steps):
        latest = _update(detector, optimiser, batches, recipe, plan.lr(step), seed, step)
        parts.append(latest)
        if state.average is not None:
            state.average.update(detector)
        done, last = step + 1, step + 1 == plan.steps
        if run and (last or done % LOG_EVERY == 0):
            means = {k: sum(p[k] for p in parts) / len(parts) for k in parts[0]}
            run.append(METRICS, [{"task": NAME, "step": done, **means, "lr": plan.lr(step)}])
            parts.clear()
        if run and store and (last or done % CHECKPOINT_EVERY == 0):
            store.save(done, state.tensors())
            times = {"seconds": round(perf_counter() - lap, 3), "cpu_seconds": round(process_time() - lap_cpu, 3)}
            lap, lap_cpu = perf_counter(), process_time()
            run.append(TIMINGS, [{"task": "updates", "step": done, **times}])
        seconds = perf_counter() - began
        pace = seconds / (done - start)
        yield Progress(
            done, plan.steps, latest["loss"], plan.lr(step), batches.batch_size / pace, pace * (plan.steps - done)
        )
    if state.average is not None:
        detector.load_state_dict(state.average.tensors)


def _update(
    detector: Any, optimiser: Optimizer, batches: DetectionBatches, recipe: Recipe, lr: float, seed: int, step: int
) -> dict[str, float]:
    """One step; its losses."""
    torch.manual_seed(int(np.random.SeedSequence([seed, step]).generate_state(1)[0]))
    detector.train()
    set_lr([optimiser], lr)
    optimiser.zero_grad(set_to_none=True)
    images, targets = batches.batch(step)
    losses = detector(images, targets)
    loss = sum(losses.values())
    loss.backward()
    if recipe.clip_norm:
        nn.utils.clip_grad_norm_(detector.parameters(), recipe.clip_norm)
    optimiser.step()
    values = {
        "loss": loss.item(),
        "classes": losses["classification"].item(),
        "boxes": losses["bbox_regression"].item(),
    }
    if not isfinite(values["loss"]):
        raise DivergedError(
            f"training diverged: the loss of step {step + 1} is {values['loss']}; a lower learning rate, a warm-up or "
            "clipping may help"
        )
    return values
