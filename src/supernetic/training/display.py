"""TensorBoard: a wrapper around the steps that `fit` yields. What people see is drawn from events, by `cli.display`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError
from .loop import Progress


def tensorboard(steps: Iterable[Progress], directory: str | Path) -> Iterator[Progress]:
    """Write loss, learning rate and images per second for TensorBoard, which is the extra `tracking`.

    What an interrupted training wrote about the steps that are taken again is hidden.

    Args:
        steps: The steps of a training.
        directory: Where TensorBoard finds the events.

    Yields:
        The steps, as they come.
    """
    make = tensorboard_writer()
    writer = None
    try:
        for p in steps:
            writer = writer or make(str(directory), purge_step=p.step)
            for name, value in (("loss", p.loss), ("lr", p.lr), ("images_per_s", p.images_per_s)):
                writer.add_scalar(name, value, p.step)
            yield p
    finally:
        if writer:
            writer.close()


def tensorboard_writer() -> Callable[..., Any]:
    """TensorBoard's writer, if it is installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("TensorBoard is not installed: pip install 'supernetic[tracking]'") from None
    return SummaryWriter
