"""Trackers by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from ..errors import InputError, UnknownNameError
from .tracker import Track, Tracker


class _Home(NamedTuple):
    title: str
    package: str  # that must be installed
    extra: str  # of ours that installs it
    module: str
    factory: str


TRACKERS = {
    "tensorboard": _Home("TensorBoard", "torch.utils.tensorboard", "tracking", "tensorboard", "TensorBoard"),
    "wandb": _Home("Weights & Biases", "wandb", "wandb", "wandb", "WeightsAndBiases"),
    "mlflow": _Home("MLflow", "mlflow", "mlflow", "mlflow", "MLflow"),
}


def require_trackers(track: Track) -> list[str | Tracker]:
    """Refuse names of trackers that there are not, and trackers that are not installed.

    Args:
        track: One tracker or several, by name or as objects.

    Returns:
        All of them, each once.
    """
    given = [track] if isinstance(track, str) or not isinstance(track, Sequence) else list(track)
    for one in given:
        if isinstance(one, str):
            _require_installed(one)
    names = [one if isinstance(one, str) else one.name for one in given]
    if len(set(names)) < len(names):
        raise InputError(f"each tracker must have another name, got {', '.join(names)}")
    return given


def open_trackers(track: Track) -> list[Tracker]:
    """Trackers that have not begun yet.

    Args:
        track: One tracker or several, by name or as objects.

    Returns:
        All of them.
    """
    return [_make(one) if isinstance(one, str) else one for one in require_trackers(track)]


def _require_installed(name: str) -> None:
    if name not in TRACKERS:
        raise UnknownNameError("tracker", name, TRACKERS)
    home = TRACKERS[name]
    try:
        import_module(home.package)
    except ImportError:
        raise InputError(f"{home.title} is not installed: pip install 'supernetic[{home.extra}]'") from None


def _make(name: str) -> Tracker:
    home = TRACKERS[name]
    tracker: Tracker = getattr(import_module(f".{home.module}", __package__), home.factory)()
    return tracker
