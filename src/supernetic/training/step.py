"""One sampled step of a supernet's training: forward and backward along the paths that a sampler drew.

    for index, batch in enumerate(loader):
        optimiser.zero_grad()
        step = sampler(supernet.space, Draw(rng, index))
        loss = backward(supernet, batch, step, index=index)
        optimiser.step()

The optimiser, its schedule and the data are the caller's. `fit` runs the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

import torch
from torch import Tensor, nn

from ..errors import InputError, UnknownNameError
from ..nn.norm import batch_statistics
from ..nn.run import NO_REGULARISATION, Regularisation
from ..samplers.step import SampledPath, Score, Step
from ..space import Arch
from ..supernets.supernet import Supernet
from .loss import label_loss, teacher_loss

Batch = tuple[Tensor, Tensor]  # images N x C x H x W, labels
SideOrder = Literal["alternate", "both"]
Forward = Callable[[Tensor, SampledPath, str], Tensor]  # images, path and slice side to logits


def backward(
    supernet: Supernet,
    batch: Sequence[Tensor] | Sequence[Sequence[Tensor]],
    step: Step,
    *,
    label_smoothing: float = 0.0,
    dropout: float = 0.0,
    drop_connect: float = 0.0,
    slice_sides: SideOrder = "alternate",
    index: int | None = None,
) -> Tensor:
    """Add the gradients of one sampled step to the `.grad` of the supernet's parameters.

    Weights that no path uses get no gradient: clear gradients with `optimiser.zero_grad()`, which sets them to None, so
    that momentum and weight decay leave unused weights alone. The supernet is put into training mode.

    Args:
        supernet: The supernet to train.
        batch: `(images, labels)`, for example from a torch DataLoader. If `step.fresh_batch`, one such batch per path.
        step: The paths to train: `sampler(supernet.space, Draw(rng))`.
        label_smoothing: Share of the target that is spread over all classes; for paths that learn from labels.
        dropout: Rate before the classifier; for paths that may be regularised.
        drop_connect: Rate of the last block with a shortcut, less for earlier ones; for the same paths.
        slice_sides: How a supernet with two slice sides (BCNet) takes them: one after the other, or both every time.
        index: Number of the step, from 0. Only slice sides that alternate need it.

    Returns:
        The mean loss over the paths, detached.
    """
    passes = passes_of(step, supernet.slice_sides, slice_sides, _index(supernet, slice_sides, index))
    batches = _batches(supernet, batch, step)
    regularisation = Regularisation(dropout, drop_connect)
    supernet.train()

    def forward(images: Tensor, path: SampledPath, slice_side: str) -> Tensor:
        logits: Tensor = supernet(
            images, path.arch, regularisation if path.regularise else NO_REGULARISATION, slice_side
        )
        return logits

    with _set_aside(supernet.parameters() if step.average_by_use else ()):
        done = accumulate(
            step, passes, forward, lambda k: batches[k], supernet.parameters(), label_smoothing=label_smoothing
        )
    return done.loss


def batch_score(supernet: Supernet, batch: Sequence[Tensor], *, label_smoothing: float = 0.0) -> Score:
    """The score function of a batch, for samplers that compare candidates, such as AttentiveNAS's.

        sampler(supernet.space, Draw(rng, index, batch_score(supernet, batch)))

    Args:
        supernet: The supernet whose weights are used. It is not changed.
        batch: `(images, labels)` to score on. BN uses the statistics of these images.
        label_smoothing: Share of the target that is spread over all classes.

    Returns:
        A function from architectures to minus their losses: higher is better.
    """
    checked = check_batch(supernet, batch)

    def score(archs: Sequence[Arch]) -> list[float]:
        losses = batch_losses(supernet, archs, checked, supernet.slice_sides[0], label_smoothing)
        scores: list[float] = (-losses).tolist()
        return scores

    return score


def check_batch(supernet: Supernet, batch: Sequence[Tensor]) -> Batch:
    """A batch from outside, after a check that the supernet can run it.

    Args:
        supernet: The supernet that is to run the images.
        batch: `(images, labels)` as a tuple or a list.

    Returns:
        The same images and labels.
    """
    if not isinstance(batch, tuple | list) or len(batch) != 2 or not all(isinstance(t, Tensor) for t in batch):
        raise InputError(f"a batch must be (images, labels), two tensors, got {_described(batch)}")
    images, labels = batch
    if images.ndim != 4 or not images.is_floating_point():
        shape = " x ".join(map(str, images.shape))
        raise InputError(f"images must be floats of N x C x H x W, got {images.dtype} of {shape}")
    pixels, (only, *others) = tuple(images.shape[2:]), sorted(supernet.resolutions)
    if images.shape[1] != supernet.in_channels:
        raise InputError(
            f"{supernet.space.name} takes images of {supernet.in_channels} channels, got {images.shape[1]}"
        )
    if pixels[0] != pixels[1] or (not others and pixels[0] != only):
        raise InputError(
            f"{supernet.space.name} takes {'square images' if others else f'images of {only} x {only} pixels'}, "
            f"got {pixels[0]} x {pixels[1]}"
        )
    if len(labels) != len(images):
        raise InputError(
            f"a batch must have a label for every image, got {len(images)} images and {len(labels)} labels"
        )
    return images, labels


def _described(batch: object) -> str:
    if isinstance(batch, tuple | list):
        return f"a {type(batch).__name__} of {len(batch)}"
    return type(batch).__name__


def _index(supernet: Supernet, slice_sides: str, index: int | None) -> int:
    if slice_sides not in get_args(SideOrder):
        raise UnknownNameError("order of slice sides", slice_sides, get_args(SideOrder))
    if index is None and slice_sides == "alternate" and len(supernet.slice_sides) > 1:
        raise InputError(
            f"a supernet of {supernet.space.name} trains its slice sides in turn: "
            "pass index=, the number of the step, or slice_sides='both'"
        )
    return index or 0


def _batches(supernet: Supernet, batch: Sequence[Tensor] | Sequence[Sequence[Tensor]], step: Step) -> list[Batch]:
    """One batch for all paths, or one for each."""
    if not step.fresh_batch:
        return [check_batch(supernet, cast(Sequence[Tensor], batch))]
    batches = [] if len(batch) and isinstance(batch[0], Tensor) else [check_batch(supernet, b) for b in batch]  # type: ignore[arg-type]
    if len(batches) != len(step.paths):
        count = len(batches) or "a single one"
        raise InputError(f"this step takes {len(step.paths)} batches, one for each path, got {count}")
    return batches


# --- what `fit` runs too ----------------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """One forward and backward pass: a path, by one slice side of the supernet."""

    path: SampledPath
    slice_side: str


class StepLoss(NamedTuple):
    """What a step did: its mean loss over the passes, and how many images went through."""

    loss: Tensor
    images: int


def _backward(loss: Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def _no_context(last: bool) -> AbstractContextManager[object]:
    return nullcontext()


def _nothing(share: int) -> None:
    pass


@dataclass(frozen=True)
class Hooks:
    """What a caller may add to the passes of a step: other devices, several processes, updates between paths."""

    backward: Callable[[Tensor], None] = _backward
    around: Callable[[bool], AbstractContextManager[object]] = _no_context  # each pass; told whether it is the last
    after: Callable[[int], None] = _nothing  # each pass; told by how much its gradient was divided


PLAIN = Hooks()


def passes_of(step: Step, slice_sides: Sequence[str], order: SideOrder, index: int) -> list[Pass]:
    """The passes of a step.

    Args:
        step: The sampled paths.
        slice_sides: Those of the supernet.
        order: The slice sides in turn, or all paths by one side and then by the other.
        index: Number of the step: from one to the next, sides that alternate start with the other one.

    Returns:
        The passes in the order they run.
    """
    if order == "both":
        return [Pass(path, side) for side in slice_sides for path in step.paths]
    return [Pass(path, slice_sides[(index + k) % len(slice_sides)]) for k, path in enumerate(step.paths)]


def accumulate(
    step: Step,
    passes: Sequence[Pass],
    forward: Forward,
    batch_at: Callable[[int], Batch],
    parameters: Iterable[nn.Parameter],
    *,
    label_smoothing: float = 0.0,
    class_weights: Tensor | None = None,
    hooks: Hooks = PLAIN,
) -> StepLoss:
    """Add the gradients of all passes up, weighted as the step says.

    Args:
        step: The sampled paths.
        passes: The passes that they make: see `passes_of`.
        forward: Runs the model.
        batch_at: The k-th batch of the step.
        parameters: Those of the model; they must have no gradients yet if the step averages by use.
        label_smoothing: Of the losses against labels.
        class_weights: What each class counts in them; None: all images count alike.
        hooks: What the caller adds.

    Returns:
        The loss of the step.
    """
    share = len(passes) if step.reduction == "mean" else len(passes) // len(step.paths)
    losses: list[Tensor] = []
    teacher: Tensor | None = None
    images = 0
    batch = batch_at(0)
    with _counted(parameters if step.average_by_use else ()) as uses:
        for k, (path, slice_side) in enumerate(passes):
            if k and step.fresh_batch:
                batch = batch_at(k % len(step.paths))
            x, labels = batch
            with hooks.around(k == len(passes) - 1):
                logits = forward(x, path, slice_side)
                if path.target == "label":
                    loss, teacher = label_loss(logits, labels, label_smoothing, class_weights), logits.detach()
                elif teacher is None:
                    raise InputError("a path with the target 'teacher' must follow one that learns from labels")
                else:
                    loss = teacher_loss(logits, teacher)
                hooks.backward(loss * path.weight / share)
            losses.append(loss.detach())
            images += len(x)
            hooks.after(share)
    for p, n in uses.items():
        if n < len(passes) and p.grad is not None:
            p.grad.div_(n * len(step.paths) / len(passes))
    return StepLoss(torch.stack(losses).mean(), images)


@torch.no_grad()
def batch_losses(model: nn.Module, archs: Sequence[Arch], batch: Batch, slice_side: str, smoothing: float) -> Tensor:
    """The loss of each architecture on a batch, with the batch's own BN statistics; nothing is changed.

    Args:
        model: A supernet.
        archs: The architectures.
        batch: Images and labels.
        slice_side: The side of the supernet that is used.
        smoothing: Of the labels.

    Returns:
        One loss per architecture.
    """
    with batch_statistics(model):
        logits = [model(batch[0], arch, NO_REGULARISATION, slice_side) for arch in archs]
    return torch.stack([label_loss(z, batch[1], smoothing) for z in logits])


@contextmanager
def _counted(parameters: Iterable[nn.Parameter]) -> Iterator[dict[nn.Parameter, int]]:
    """Counts, within, how many backward passes reach each parameter."""
    uses: dict[nn.Parameter, int] = {}

    def used(parameter: Tensor) -> None:
        uses[parameter] = uses.get(parameter, 0) + 1  # type: ignore[index, call-overload]

    handles = [p.register_post_accumulate_grad_hook(used) for p in parameters]  # type: ignore[no-untyped-call]
    try:
        yield uses
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _set_aside(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Within, parameters have no gradients; those they had before are added afterwards (gradient accumulation)."""
    before = [(p, p.grad) for p in parameters if p.grad is not None]
    for p, _ in before:
        p.grad = None
    yield
    for p, grad in before:
        p.grad = grad if p.grad is None else p.grad.add_(grad)
