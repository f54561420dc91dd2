"""Ways to watch a training: wrappers around the iterator that `fit` returns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from ..errors import InputError
from .loop import Progress


def bar(steps: Iterable[Progress], title: str = "training", file: IO[str] | None = None) -> Iterator[Progress]:
    """A progress bar on stderr: loss, learning rate, images per second and time left.

    Args:
        steps: What `fit` yields.
        title: A word before the bar.
        file: Where to draw it, if not on stderr.

    Yields:
        The same steps.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    with Bar(*columns, console=Console(file=file or sys.stderr)) as shown:
        task = shown.add_task("starting", total=None)
        for p in steps:
            text = f"loss {p.loss:.3f}  lr {p.lr:.2g}  {p.images_per_s:,.0f} images/s  {time_left(p.seconds_left)}"
            shown.update(task, total=p.steps, completed=p.step, description=text)
            yield p


def time_left(seconds: float) -> str:
    """`1h02 left`, `3m05 left`, `12s left`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02d} left"
    return f"{whole // 60}m{whole % 60:02d} left" if whole >= 60 else f"{whole}s left"


def tensorboard(steps: Iterable[Progress], directory: str | Path) -> Iterator[Progress]:
    """Write loss, learning rate and images per second for TensorBoard, which is the extra `tracking`.

    What an interrupted training wrote about the steps that are taken again is hidden.

    Args:
        steps: What `fit` yields.
        directory: Where the events go.

    Yields:
        The same steps.
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
