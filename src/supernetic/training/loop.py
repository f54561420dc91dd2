"""The training loop, for supernets and networks alike. The caller iterates; every step is one update.

A step depends on the weights before it and on (seed, step, rank), nothing else: killed at any moment and resumed, a
training ends with the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from statistics import stdev
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import DivergedError, InputError
from ..nn.run import NO_REGULARISATION, Regularisation
from ..nn.strided import in_layout, layout_of
from ..nn.unit import share_statistics
from ..parallel.allocator import give_back_excess, keep_freed_memory
from ..runs.directory import TIMINGS, Run, jsonable
from ..samplers.step import Draw, SampledPath, Sampler, Step, batches_per_step
from ..space import Arch
from .checkpoint import Checkpoints, State, save_snapshot
from .optim import Average, optimisers, set_lr
from .recipe import Recipe
from .schedule import Plan, plan_of
from .step import Hooks, accumulate, batch_losses, passes_of

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped]

METRICS = "metrics.jsonl"
Validate = Callable[[nn.Module], Mapping[str, float]]  # a network in evaluation mode to its metrics
NETWORK_STEP = Step((SampledPath((), regularise=True),))  # a network has one path, and no choice


class Source(Protocol):
    """Batches by number, such as `datasets.Batches`: the same number is always the same batch."""

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch."""

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Images N x C x H x W and labels, this process's part."""


@dataclass(frozen=True)
class Progress:
    """Where a training stands after a step; `loss` is the mean over the step's paths."""

    step: int  # steps done
    steps: int  # in all
    loss: float
    lr: float
    images_per_s: float
    seconds_left: float


def fit(
    model: nn.Module,
    batches: Source,
    sampler: Sampler | None,
    recipe: Recipe,
    run: Run | None = None,
    *,
    seed: int = 0,
    name: str = "training",
    checkpoint_every: int = 1000,
    log_every: int = 50,
    snapshots: Collection[int] = (),
    validate: tuple[Collection[int], Validate] | None = None,
    accelerator: Accelerator | None = None,
) -> Iterator[Progress]:
    """Train a supernet along the sampler's paths, or a network, and yield after every step.

    At the end the model holds the averaged weights, if the recipe averages. Torch's own generator is seeded anew at
    every step. For a loop, an optimiser or data of one's own see `training.step.backward`.

    Args:
        model: The supernet or network.
        batches: The training images.
        sampler: Chooses the paths of a supernet; None for a network.
        recipe: How to train.
        run: Where the training is recorded (`metrics.jsonl`) and resumed from (`checkpoints/<name>`).
        seed: Of everything random.
        name: Of the training within the run.
        checkpoint_every: Steps between checkpoints, rounded to a multiple of `log_every`.
        log_every: Steps whose mean loss makes one record.
        snapshots: Steps after which the weights are kept in the run.
        validate: Steps after which a network is validated, and how: the metrics are recorded beside the losses. The
            training goes on as if nothing had happened.
        accelerator: Mixed precision and several processes (see `training.devices`), of which only the main one has the
            run. Another device needs none: move the model there, and let the batches be there.

    Yields:
        Where the training stands.
    """
    keep_freed_memory()
    plan = plan_for(model, batches, sampler, recipe)
    checkpoint_every = max(1, round(checkpoint_every / log_every)) * log_every  # so that no interval is cut in two
    worker = _Worker(model, batches, sampler, plan, seed, accelerator)
    store = Checkpoints(run.path / "checkpoints" / name) if run else None
    start = worker.resume(store)
    if run:
        forget_later(run, name, start)
    losses: list[float] = []
    began = lap = perf_counter()
    images = 0
    for step in range(start, plan.steps):
        loss, seen = worker.update(step)
        give_back_excess()
        done, lr = step + 1, plan.lr(step)
        losses.append(loss)
        images += seen * worker.world
        last = done == plan.steps
        if run and (last or done % log_every == 0):
            spread = {"loss_sd": stdev(losses)} if len(losses) > 1 else {}
            run.append(METRICS, [{"task": name, "step": done, "loss": sum(losses) / len(losses), "lr": lr, **spread}])
            losses.clear()
        if run and validate and done in validate[0]:
            metrics = {k: jsonable(v) for k, v in worker.validated(validate[1]).items()}
            run.append(METRICS, [{"task": name, "step": done, **metrics}])
        if run and done in snapshots:  # before the checkpoint: from there on it would be missed
            save_snapshot(run.path, done, worker.state.weights())
        if run and store and (last or done % checkpoint_every == 0):
            store.save(done, worker.state.tensors())
            lap, before = perf_counter(), lap
            run.append(TIMINGS, [{"task": name, "step": done, "seconds": round(lap - before, 3)}])
        seconds = perf_counter() - began
        left = seconds / (done - start) * (plan.steps - done)
        yield Progress(done, plan.steps, loss, lr, images / seconds, left)
    if worker.state.average is not None:
        model.load_state_dict(worker.state.average.tensors)
    if accelerator:
        accelerator.unwrap_model(worker.net, keep_fp32_wrapper=False)  # else it stays in mixed precision


def plan_for(model: nn.Module, batches: Source, sampler: Sampler | None, recipe: Recipe) -> Plan:
    """The recipe's durations in steps.

    Args:
        model: The supernet or network.
        batches: The training images.
        sampler: Of a supernet; it says how many batches a step takes.
        recipe: How to train.

    Returns:
        The plan.
    """
    taken = batches_per_step(sampler, _space(model)) if sampler else 1
    return plan_of(recipe, batches.steps_per_epoch, taken)


def _space(model: nn.Module) -> Any:
    """What a supernet samples from while it is trained."""
    space = getattr(model, "space", None)
    if space is None:
        raise InputError(f"a sampler needs a supernet, got {type(model).__name__}")
    return space


class _Worker:
    """One process's part of the training."""

    def __init__(
        self,
        model: nn.Module,
        batches: Source,
        sampler: Sampler | None,
        plan: Plan,
        seed: int,
        accelerator: Accelerator | None,
    ) -> None:
        recipe = plan.recipe
        self.model, self.batches, self.sampler, self.plan, self.recipe = model, batches, sampler, plan, recipe
        self.seed, self.accelerator = seed, accelerator
        self.rank: int = accelerator.process_index if accelerator else 0
        self.world: int = accelerator.num_processes if accelerator else 1
        self.slice_sides: tuple[str, ...] = getattr(model, "slice_sides", ("",))
        self.regularisation = Regularisation(recipe.dropout, recipe.drop_connect)
        self.class_weights = _class_weights(batches) if recipe.balance == "weights" else None
        if accelerator:
            model.to(accelerator.device)
        if recipe.sync_bn and self.world > 1:
            share_statistics(model)
        self.layout = layout_of(model)
        model.to(memory_format=self.layout)  # type: ignore[call-overload]
        self.parameters = dict(model.named_parameters())
        optimiser_sets = optimisers(model, recipe)
        self.state = State(
            model, (*optimiser_sets.path, *optimiser_sets.step), Average(model, recipe.ema) if recipe.ema else None
        )
        self.net, self.per_path, self.per_step = model, list(optimiser_sets.path), list(optimiser_sets.step)
        if accelerator:
            self.net = accelerator.prepare(model)
            self.per_path, self.per_step = ([accelerator.prepare(o) for o in os] for os in optimiser_sets)
        self.hooks = Hooks(around=self._synchronisation, after=partial(self._step, self.per_path))
        if accelerator:
            self.hooks = replace(self.hooks, backward=accelerator.backward)

    def resume(self, store: Checkpoints | None) -> int:
        """Take over the latest checkpoint, if there is one; the number of steps that it has behind it."""
        latest = store.latest() if store else (0, {})
        if self.accelerator and self.accelerator.num_processes > 1:
            from accelerate.utils import broadcast_object_list  # type: ignore[import-untyped]

            latest = broadcast_object_list([latest])[0]  # only the main process has a store
        step, tensors = latest
        if tensors:
            self.state.load(tensors)
        return step

    def update(self, step: int) -> tuple[float, int]:
        """(mean loss, images seen) of one update."""
        torch.manual_seed(int(np.random.SeedSequence([self.seed, step, self.rank]).generate_state(1)[0]))
        self.model.train()
        set_lr(self.state.optimisers, self.plan.lr(step))
        for optimiser in (*self.per_path, *self.per_step):
            optimiser.zero_grad(set_to_none=True)  # unused weights must not move by momentum or decay
        first = self._batch(step, 0)
        drawn = self._draw(step, first)
        passes = passes_of(drawn, self.slice_sides, self.recipe.slice_sides, step)
        done = accumulate(
            drawn,
            passes,
            partial(self._forward, self.net),
            lambda k: self._batch(step, k) if k else first,
            self.parameters.values(),
            label_smoothing=self.recipe.label_smoothing,
            class_weights=self.class_weights,
            hooks=self.hooks,
        )
        self._step(self.per_step)
        if self.state.average is not None:
            self.state.average.update(self.model)
        return self._finite(done.loss, step), done.images

    @torch.no_grad()
    def validated(self, validate: Validate) -> Mapping[str, float]:
        """Metrics of the weights as they would be if the training ended now; nothing of the training is changed.

        The next step sets training mode and torch's generator anew.
        """
        average = self.state.average
        if average is None:
            return validate(self.model.eval())
        kept = {n: t.clone() for n, t in self.model.state_dict().items()}
        self.model.load_state_dict(average.tensors)
        try:
            return validate(self.model.eval())
        finally:
            self.model.load_state_dict(kept)

    def _batch(self, step: int, k: int) -> tuple[Tensor, Tensor]:
        x, labels = self.batches.batch(step * self.plan.batches + k)
        return in_layout(x, self.layout), labels

    def _draw(self, step: int, batch: tuple[Tensor, Tensor]) -> Step:
        if self.sampler is None:
            return NETWORK_STEP
        rng = np.random.default_rng([self.seed, step])  # the same in all processes
        return self.sampler(_space(self.model), Draw(rng, step, partial(self._score, batch)))

    def _score(self, batch: tuple[Tensor, Tensor], archs: Sequence[Arch]) -> list[float]:
        """Minus the loss of each architecture on a batch."""
        losses = batch_losses(self.model, archs, batch, self.slice_sides[0], self.recipe.label_smoothing)
        scores: list[float] = (-self._over_processes(losses)).tolist()
        return scores

    def _forward(self, net: nn.Module, x: Tensor, path: SampledPath, slice_side: str) -> Tensor:
        regularisation = self.regularisation if path.regularise else NO_REGULARISATION
        logits: Tensor = (
            net(x, regularisation) if self.sampler is None else net(x, path.arch, regularisation, slice_side)
        )
        return logits

    def _synchronisation(self, last: bool) -> AbstractContextManager[Any]:
        """Within, processes keep their gradients to themselves; the last path of a step brings them together."""
        apart = self.accelerator and not last and not self.per_path
        return self.accelerator.no_sync(self.net) if self.accelerator and apart else nullcontext()

    def _step(self, optimisers: list[Any], share: int = 1) -> None:
        """Clip and update; gradients of a single path count in full, not as their `share` of the step."""
        for optimiser in optimisers:
            grads = [p for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
            if share > 1:
                for p in grads:
                    p.grad.mul_(share)
            clip: Any = self.accelerator or nn.utils
            if self.recipe.clip_norm:
                clip.clip_grad_norm_(grads, self.recipe.clip_norm)
            if self.recipe.clip_value:
                clip.clip_grad_value_(grads, self.recipe.clip_value)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    def _finite(self, mean: Tensor, step: int) -> float:
        """The mean loss over all processes; a training whose loss is not finite ends here."""
        loss = float(self._over_processes(mean))
        if not isfinite(loss):
            raise DivergedError(
                f"training diverged: the loss of step {step + 1} is {loss}; "
                "a lower learning rate, a warm-up or clipping may help"
            )
        return loss

    def _over_processes(self, tensor: Tensor) -> Tensor:
        """The mean over all processes."""
        if self.accelerator is None or self.accelerator.num_processes == 1:
            return tensor
        reduced: Tensor = self.accelerator.reduce(tensor, "mean")
        return reduced


def _class_weights(batches: Source) -> Tensor:
    weights: Tensor | None = getattr(batches, "class_weights", None)
    if weights is None:
        raise InputError(f"recipe: balance = 'weights' needs batches that know the class weights, got {batches!r}")
    return weights


def forget_later(run: Run, name: str, step: int) -> None:
    """Drop what was recorded after the checkpoint: those steps are taken again."""
    lines = (run.path / METRICS).read_text().splitlines(keepends=True) if (run.path / METRICS).exists() else []
    later = [r.get("task") == name and r["step"] > step for r in map(json.loads, lines)]
    if any(later):
        run.write(METRICS, "".join(line for line, gone in zip(lines, later, strict=True) if not gone))
