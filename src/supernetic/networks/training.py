"""One finished network: its training by a recipe, and its scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..datasets.augment import parse
from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..errors import InputError
from ..hardware import CPU, Hardware
from ..nn.network import Network
from ..objective import Metrics
from ..runs.directory import Run
from ..training.devices import accelerator_for
from ..training.loop import Progress, fit, plan_for
from ..training.recipe import Recipe
from .curve import validation
from .scores import Logits, scores, splits_of
from .taught import Taught

VALIDATION_BATCH_IMAGES = 256  # images that are validated at a time
TASK = "network"  # its name in metrics.jsonl and among the checkpoints
MIN_RECORDS = 10  # times in a training that progress is recorded, at least


def training(
    network: nn.Module,
    resolution: int,
    dataset: Dataset,
    recipe: Recipe,
    seed: int,
    run: Run | None = None,
    hardware: Hardware = CPU,
    *,
    paths: bool = False,
    curve: bool = False,
    targets: Tensor | None = None,
) -> Iterator[Progress]:
    """Train a network, step by step.

    Args:
        network: The network.
        resolution: Of its images.
        dataset: The images.
        recipe: Training settings.
        seed: Of the batches.
        run: Records the training, which is resumed from there.
        hardware: Where it runs. Of several processes that share each batch, each calls this.
        paths: Whether a step may leave weights out; several processes must know.
        curve: Whether the network is validated now and then, which changes nothing about its training.
        targets: A distribution over the classes for every image of the data set, in place of labels.

    Yields:
        The progress after each step.
    """
    if recipe.fixed_bn:
        if not isinstance(network, Network):
            raise InputError("recipe: fixed_bn needs a network with a blueprint")
        network.fix_statistics()
    augment = parse(recipe.augment) if recipe.augment else None
    together = accelerator_for(hardware, paths=paths)
    device = together.device if together else hardware.device
    rank, world = (together.process_index, together.num_processes) if together else (0, 1)
    network.to(device)
    balanced = recipe.balance == "sampling"
    batches = Batches(dataset, "train", recipe.batch_size, seed, augment, device, resolution, rank, world, balanced)
    steps = plan_for(network, batches, None, recipe).steps
    every = max(1, min(50, steps // MIN_RECORDS))
    checkpoint = min(1000, max(every, steps // MIN_RECORDS))
    validate = validation(batches, steps) if curve and run else None
    source = batches if targets is None else Taught(batches, targets)
    return fit(
        network, source, None, recipe, run,
        seed=seed, name=TASK, log_every=every, checkpoint_every=checkpoint, validate=validate, accelerator=together,
    )  # fmt: skip


def measure(network: nn.Module, resolution: int, dataset: Dataset, metrics: Sequence[str]) -> Metrics:
    """Metrics of a trained network, in evaluation mode; NaN if its logits are not finite."""
    splits = splits_of(metrics)
    logits = {split: logits_of(network, resolution, dataset, split) for split in splits}
    return scores(metrics, logits, {split: dataset.labels[dataset.splits[split]] for split in splits})


@torch.inference_mode()
def logits_of(network: nn.Module, resolution: int, dataset: Dataset, split: str, *, mirrored: bool = False) -> Logits:
    """Logits of a split's images, computed where the network is.

    Args:
        network: In evaluation mode.
        resolution: Of its images.
        dataset: The images.
        split: The split.
        mirrored: Whether it sees every image mirrored too; the mean of both logits counts.

    Returns:
        One row an image, in the order of the split.
    """
    batches = Batches(dataset, split, VALIDATION_BATCH_IMAGES, device=device_of(network), resolution=resolution)
    outputs: list[Tensor] = [
        (network(x) + network(x.flip(3))) / 2 if mirrored else network(x) for x, _ in batches.evaluate()
    ]
    logits: Logits = torch.cat(outputs).float().cpu().numpy()
    return logits


def device_of(network: nn.Module) -> torch.device:
    """Where a network is; one without weights can be anywhere, and is on the CPU."""
    first = next(network.parameters(), None)
    return torch.device("cpu") if first is None else first.device


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, torch computes with one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
