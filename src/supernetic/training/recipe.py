"""Training settings, one TOML file per recipe. Durations are text with a unit: "250 epochs", "3750 steps"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any, Literal

from ..datasets.augment_names import augment_names
from ..errors import InputError
from ..reading import read_toml, reason
from ..samplers.named import sampler, settings_of
from ..samplers.settings import read_fields
from ..samplers.step import Sampler

LARGEST_BATCH = 10**7
LONGEST_TRAINING = 10**10  # steps or epochs
LONGEST_DURATION = 60  # characters of a duration


@dataclass(frozen=True)
class Recipe:
    """How to train. A step is one update of the weights, however many paths it takes."""

    title: str = ""
    source: str = ""  # where the settings come from, and which of them are ours

    length: str = "100 epochs"
    batch_size: int = 256
    augment: str = ""  # as `datasets.augment` reads it: "shift+flip"

    optimiser: Literal["sgd", "rmsprop", "adam"] = "sgd"
    lr: float = 0.1
    momentum: float = 0.9  # of SGD and RMSProp; Adam's first moment
    nesterov: bool = False
    smoothing: float = 0.9  # of squared gradients: RMSProp's and Adam's (for Adam .999 is usual)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decay_all: bool = False  # decay BN weights and biases too

    schedule: Literal["cosine", "linear", "step", "constant"] = "cosine"
    lr_end: float = 0.0  # where cosine and linear schedules end
    warmup: str = "0 steps"  # linear from zero
    decay_factor: float = 0.1  # of a step schedule,
    decay_every: str = ""  # again and again,
    decay_at: tuple[str, ...] = ()  # or at given times

    label_smoothing: float = 0.0
    balance: Literal["none", "weights", "sampling"] = "none"  # of classes: by weights of the loss, or in the batches
    dropout: float = 0.0
    drop_connect: float = 0.0
    clip_norm: float = 0.0  # 0: gradients are not clipped
    clip_value: float = 0.0
    ema: float = 0.0  # decay of the averaged weights, which replace the trained ones at the end; 0: none

    sync_bn: bool = False  # BN over the batches of all processes that train together, not over each one's part

    fixed_bn: bool = False  # of a network: BN keeps the statistics that it began with, in place of each batch's

    initial_weights: Literal["he", "torch", "alike"] = "he"  # of a supernet; see `nn.initialise`
    sampler: Sampler | None = None  # of a supernet's paths; none for a network
    shared_lr: float = 1.0  # factor on the learning rate of stem and head, which every path trains
    shared_update: Literal["step", "path"] = "step"  # update stem and head once per step, or after every path
    slice_sides: Literal["alternate", "both"] = (
        "alternate"  # of BCNet's supernet: one after the other, or both every time
    )

    def __post_init__(self) -> None:
        for name in ("length", "warmup", *(["decay_every"] if self.decay_every else [])):
            parse_duration(name, getattr(self, name))
        if not parse_duration("length", self.length)[0]:
            raise InputError(f"recipe: length must be at least one step, got {self.length!r}")
        for text in self.decay_at:
            parse_duration("decay_at", text)
        augment_names(self.augment)
        for name in ("lr", "batch_size", "shared_lr", "eps", "decay_factor"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"recipe: {name} must be positive and finite, got {getattr(self, name)}")
        if self.batch_size > LARGEST_BATCH:
            raise InputError(f"recipe: batch_size must be at most {LARGEST_BATCH:,}, got {self.batch_size}")
        for name in ("weight_decay", "lr_end", "clip_norm", "clip_value"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"recipe: {name} must be finite and not negative, got {getattr(self, name)}")
        for name in ("momentum", "smoothing", "label_smoothing", "dropout", "drop_connect", "ema"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"recipe: {name} must lie in 0..1 (without 1), got {getattr(self, name)}")
        if self.nesterov and (self.optimiser != "sgd" or not self.momentum):
            raise InputError("recipe: nesterov needs sgd with a momentum")
        if self.schedule == "step" and not (self.decay_every or self.decay_at):
            raise InputError("recipe: a step schedule needs decay_every or decay_at")

    def settings(self) -> dict[str, Any]:
        """All fields as TOML can hold them, for a run's record."""
        table = {f.name: getattr(self, f.name) for f in fields(self)}
        table["sampler"] = settings_of(self.sampler) if self.sampler else None
        table["sync_bn"] = (
            self.sync_bn or None
        )  # recorded where it is used: records from before it was there stay valid
        table["fixed_bn"] = self.fixed_bn or None  # likewise
        table["balance"] = None if self.balance == "none" else self.balance  # likewise
        table["initial_weights"] = None if self.initial_weights == "he" else self.initial_weights
        return {k: list(v) if isinstance(v, tuple) else v for k, v in table.items() if v is not None}


def recipe(settings: Mapping[str, Any]) -> Recipe:
    """A recipe from the table of a TOML file.

    Args:
        settings: The fields of `Recipe`; the sampler is a name or a table.

    Returns:
        The recipe.
    """
    return Recipe(**read_fields("recipe", Recipe, settings, Sampler, sampler))


def read_recipe(path: str | Path) -> Recipe:
    """A recipe from a TOML file.

    Args:
        path: The file.

    Returns:
        The recipe.
    """
    try:
        return recipe(read_toml(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as TOML: {reason(error)}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_duration(what: str, text: str) -> tuple[float, Literal["steps", "epochs"]]:
    """(number, unit) of `250 epochs` or `1 step`."""
    match = re.fullmatch(r"\s*([0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?)\s*(step|epoch)s?\s*", text[:LONGEST_DURATION])
    if not match or len(text) > LONGEST_DURATION:
        raise InputError(f"recipe: {what} must be a number of steps or epochs, such as '5 epochs', got {text[:80]!r}")
    number = float(match[1].replace("_", ""))
    if number > LONGEST_TRAINING:
        raise InputError(f"recipe: {what} must be at most {LONGEST_TRAINING:,} steps or epochs, got {text!r}")
    return number, "steps" if match[2] == "step" else "epochs"
