"""How much a transfer does: images for the head, trials of learning rates and weight decays, steps of all layers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ...text import duration
from ..time_plan import TimePlan
from .recipes import DECAYS, RATES

TRIAL_SHARE = 0.25  # of the time for training
TRIAL_LENGTH = 0.12  # of the final training's steps, in a trial by the clock
MIN_TRIAL_STEPS = 16  # below which a trial says nothing
FEATURE_SHARE = 0.35  # of the time, at most
MIN_STEPS = 8  # of all layers; with less time only the head is trained


@dataclass(frozen=True)
class TransferPlan(TimePlan):
    """What a transfer will do."""

    model: str
    layers: str
    images: int  # training images whose features the head is fitted to
    rates: int  # learning rates that are tried
    decays: int  # weight decays that are tried at the best of them
    trial_steps: int
    steps: int  # of the final training; 0: only the head is trained
    workers: int
    seconds: float = 0.0  # of everything, as far as it is known; 0: no time was given
    after: float = 0.0  # seconds of it for what comes after the final training

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        return {**dataclasses.asdict(self), "seconds": round(self.seconds, 2), "after": round(self.after, 2)}

    def lines(self) -> list[str]:
        """What is done, in order."""
        time = f", in about {duration(self.seconds)}" if self.seconds else ""
        tried = self.rates + self.decays
        return [
            f"fit a new head of {self.model} to features of {self.images:,} images{time}",
            *([f"try {tried} learning rates and weight decays, {self.trial_steps} steps each"] if tried else []),
            *([f"train {_what(self.layers)} for {self.steps:,} steps"] if self.steps else []),
        ]


def _what(layers: str) -> str:
    return "layer after layer, from the end" if layers == "gradual" else "all layers"


def divide_time(steps: float, workers: int, most_trials: int | None) -> tuple[int, int, int, int]:
    """Share training steps out over trials and the final training.

    Args:
        steps: That one process can take in the time.
        workers: Trials at a time.
        most_trials: That are wanted; None: as many as fit.

    Returns:
        Rates and decays to try, steps of a trial, steps of the final training.
    """
    if steps < MIN_STEPS:
        return 0, 0, 0, 0
    length = max(MIN_TRIAL_STEPS, int(TRIAL_LENGTH * steps))
    trials = int(TRIAL_SHARE * steps / length) * workers
    rates, decays = share_trials(trials if most_trials is None else min(trials, most_trials))
    spent = length * -(-(rates + decays) // workers)
    return rates, decays, length if rates else 0, max(MIN_STEPS, int(steps - spent))


def share_trials(trials: int) -> tuple[int, int]:
    """Trials of rates first, then of decays; a single one still tells whether the head alone is better."""
    rates = min(len(RATES), trials if trials <= 4 else max(3, trials // 2))
    return rates, min(len(DECAYS), trials - rates)
