"""Checkpoints: weights, optimiser, averaged weights and step in one safetensors file with its checksum inside.

A file appears whole or not at all, and the newest two are kept: should the newest be damaged, the one before is used.
The learning rate and all randomness are functions of the step, so nothing else has to be stored.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from ..errors import RunError
from ..reading import require_plain
from ..runs.directory import write_atomically
from .optim import Average

KEPT_CHECKPOINTS = 2
SNAPSHOTS = "snapshots"  # of a run: weights from earlier in its training, which are kept


@dataclass(frozen=True)
class State:
    """What training changes.

    Args:
        model: The supernet or network.
        optimisers: Those that update it.
        average: Its averaged weights, if there are any.
    """

    model: nn.Module
    optimisers: tuple[Optimizer, ...]
    average: Average | None

    def tensors(self) -> dict[str, Tensor]:
        """Everything by name, on the CPU."""
        tensors = {f"model.{n}": t for n, t in self.model.state_dict().items()}
        for name, p in self.model.named_parameters():
            for optimiser in self.optimisers:
                values = optimiser.state.get(p, {})
                tensors |= {f"optimiser.{name}:{k}": v for k, v in values.items() if v is not None}
        if self.average is not None:
            tensors |= {f"average.{n}": t for n, t in self.average.tensors.items()}
        return {n: t.detach().cpu().contiguous() for n, t in tensors.items()}

    def weights(self) -> dict[str, Tensor]:
        """The weights to evaluate with: the averaged ones, if there are any."""
        weights = self.model.state_dict() if self.average is None else self.average.tensors
        return {n: t.detach().cpu().contiguous() for n, t in weights.items()}

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` returned."""
        _fill(self.model.state_dict(), tensors, "model.")
        if self.average is not None:
            _fill(self.average.tensors, tensors, "average.")
        owners = {p: o for o in self.optimisers for group in o.param_groups for p in group["params"]}
        parameters = dict(self.model.named_parameters())
        for optimiser in self.optimisers:
            optimiser.state.clear()
        for key, value in tensors.items():
            kind, _, rest = key.partition(".")
            if kind == "optimiser":
                name, _, slot = rest.rpartition(":")
                p = parameters[name]
                # Buffers are laid out as their parameter; Adam's counters stay on the CPU.
                like = torch.empty_like(p).copy_(value) if value.shape == p.shape else value.clone()
                owners[p].state.setdefault(p, {})[slot] = like


def _fill(into: Mapping[str, Tensor], tensors: Mapping[str, Tensor], prefix: str) -> None:
    for name, tensor in into.items():
        value = tensors.get(prefix + name)
        if value is None or value.shape != tensor.shape:
            actual = "nothing" if value is None else f"a tensor of shape {tuple(value.shape)}"
            raise RunError(f"the checkpoint does not fit: {name} has shape {tuple(tensor.shape)}, got {actual}")
        tensor.copy_(value)


@dataclass(frozen=True)
class Checkpoints:
    """A directory of checkpoints, `step-00001000.safetensors`.

    Args:
        directory: Where they are; it is made when the first is saved.
    """

    directory: Path

    def save(self, step: int, tensors: Mapping[str, Tensor]) -> Path:
        """Write a checkpoint and remove all but the newest two.

        Args:
            step: Steps done.
            tensors: The content, by name.

        Returns:
            The file.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        path = _at(self.directory, step)
        write(path, tensors, {"step": step})
        for old in self._newest_first()[KEPT_CHECKPOINTS:]:
            old.unlink()
        return path

    def latest(self) -> tuple[int, dict[str, Tensor]]:
        """(step, tensors) of the newest checkpoint that is whole; (0, nothing) if there is none."""
        for path in self._newest_first():
            try:
                tensors, notes = read(path)
            except RunError as error:
                warnings.warn(f"{error}; going back to the checkpoint before it", stacklevel=3)
                continue
            return int(notes["step"]), tensors
        return 0, {}

    def _newest_first(self) -> list[Path]:
        return _steps(self.directory)[::-1]


def save_snapshot(run: Path, step: int, weights: Mapping[str, Tensor]) -> None:
    """Keep the weights of a step in a run directory.

    Args:
        run: The run directory.
        step: Steps done.
        weights: The weights, by name.
    """
    (run / SNAPSHOTS).mkdir(exist_ok=True)
    write(_at(run / SNAPSHOTS, step), weights, {"step": step})


def snapshots(run: Path) -> dict[int, Path]:
    """The snapshots of a run by step, the earliest first."""
    return {int(p.stem.removeprefix("step-")): p for p in _steps(run / SNAPSHOTS)}


def _at(directory: Path, step: int) -> Path:
    return directory / f"step-{step:08d}.safetensors"


def _steps(directory: Path) -> list[Path]:
    """The files of a directory that `_at` names, by step."""
    files = directory.iterdir() if directory.is_dir() else ()
    return sorted(p for p in files if re.fullmatch(r"step-\d+\.safetensors", p.name))


def write(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, int | str]) -> None:
    """Put a safetensors file in place at once, with a checksum over names, shapes and values."""
    note = json.dumps({**notes, "sha256": checksum(tensors)}, sort_keys=True)  # one entry: their order is not kept
    data = save({n: t.contiguous() for n, t in tensors.items()}, {"supernetic": note})
    try:
        write_atomically(path, data)
    except OSError as error:
        raise RunError(f"the checkpoint {path} cannot be written: {error.strerror or error}") from None


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, int | str]]:
    """(tensors, notes) of a file that `write` made; a `RunError` if it is not whole."""
    try:
        require_plain(path)
        with safe_open(path, "pt") as file:
            notes = json.loads(file.metadata()["supernetic"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"the checkpoint {path} is damaged: {error}") from None
    if not isinstance(notes, dict) or notes.get("sha256") != checksum(tensors):
        raise RunError(f"the checkpoint {path} is damaged: its checksum does not match")
    return tensors, notes


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
