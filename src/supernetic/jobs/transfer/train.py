"""The steps `rates` and `train`: learning rate and weight decay by a held-out fifth, then a training on all images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...blueprint import Blueprint
from ...networks.heads import read_head
from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import NETWORK_TRAININGS, RATES, STARTS, TIMINGS, TRANSFER, WEIGHTS
from ..compare.comparison import NetworkTrainings
from ..compare.last_training import decided
from ..time_plan import PLANNED_SHARE
from .plan import MIN_STEPS, TransferPlan
from .recipes import DECAYS, rates_of

if TYPE_CHECKING:
    from ...networks.pool import Trained, Training

ACCURACY = "valid/accuracy"
WORSE = 1.0  # points below the head alone at which no learning rate counts as a success
GRADUAL_PARTS = 3  # of a training that frees layer after layer


@dataclass(frozen=True)
class Trainings:
    """How the network is trained, on all images and with a fifth of them held out.

    Args:
        blueprint: The network with its new head.
        held_out: With the held-out fifth as validation images.
        whole: With all of them.
        plan: How long.
        targets: A teacher's answers; None: there is no teacher.
        send: Receives progress.
    """

    blueprint: Blueprint
    held_out: NetworkTrainings
    whole: NetworkTrainings
    plan: TransferPlan
    targets: Path | None
    send: OnEvent

    def choose(self, run: Run) -> None:
        """Take the step `rates`: try learning rates, then weight decays at the best of them."""
        recipe, plan = self.held_out.recipe, self.plan
        tried = self._try(run, [(rate, recipe.weight_decay) for rate in rates_of(recipe)[: plan.rates]])
        if tried and plan.decays:
            rate = max(tried, key=_accuracy)["lr"]
            tried += self._try(run, [(rate, decay) for decay in DECAYS[: plan.decays]])
        best = max(tried, key=_accuracy, default={"lr": recipe.lr, "weight_decay": recipe.weight_decay})
        head = read_head(run)["best"][ACCURACY]
        fails = bool(tried) and _accuracy(best) < head - WORSE
        run.write(RATES, json.dumps({"tried": tried, "best": best, "head": head, "fails": fails}, indent=1) + "\n")

    def _try(self, run: Run, settings: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
        from ...networks.pool import train_all

        start = run.path / STARTS / read_head(run)["starts"]["held_out"]
        tasks = [self._training(self.held_out, self.plan.trial_steps, start, *s) for s in settings]
        names = [f"lr {rate:g}, decay {decay:g}" for rate, decay in settings]
        done = train_all(
            tasks,
            run.path / NETWORK_TRAININGS,
            workers=self.plan.workers,
            progress=lambda i, at, total: self.send(Event("rates", item=names[i], done=at, total=total)),
        )
        return [
            {"lr": rate, "weight_decay": decay, ACCURACY: _number(t.metrics.get(ACCURACY)), "key": t.key}
            for (rate, decay), t in zip(settings, done, strict=True)
        ]

    def train(self, run: Run) -> None:
        """Take the step `train`: on all training images, in one go or with more and more layers."""
        found = json.loads((run.path / RATES).read_text())
        start = run.path / STARTS / read_head(run)["starts"]["all"]
        record: dict[str, Any] = {"weights": str(start.relative_to(run.path)), "kept": "head", "steps": 0, "reason": ""}
        if self.plan.steps and not found["fails"]:
            best, parts, length = found["best"], self._parts(), self._length(run, found["tried"])
            shares = [length * (i + 1) // len(parts) - length * i // len(parts) for i in range(len(parts))]
            keys: list[str] = []
            for number, (frozen, steps) in enumerate(zip(parts, shares, strict=True)):
                if not steps:
                    continue
                task = self._training(self.whole, steps, start, best["lr"], best["weight_decay"], frozen)
                # with the same seed, every part would begin with the same batches, and a short one see no others
                trained = self._train_one(run, replace(task, seed=task.seed + number))
                if trained.reason:
                    record["reason"] = trained.reason
                    break
                start = trained.path / WEIGHTS
                keys.append(trained.key)
                record |= {
                    "weights": str(start.relative_to(run.path)), "kept": self.plan.layers, "keys": keys,
                    "steps": record["steps"] + steps, "lr": best["lr"], "weight_decay": best["weight_decay"],
                }  # fmt: skip
        elif found["fails"]:
            record["reason"] = "no learning rate was better than the head alone on the held-out images"
        run.write(TRANSFER, json.dumps(record, indent=1) + "\n")

    def _length(self, run: Run, tried: Sequence[dict[str, Any]]) -> int:
        """Steps: those of the plan, or as many as fit into what is left of the time, at the pace of the trials."""
        if not self.plan.seconds or not tried:
            return self.plan.steps

        def lengths() -> dict[str, int]:
            from ...networks.pool import training_seconds

            spent = sum(float(r["seconds"]) for r in run.read(TIMINGS) if "task" in r and "step" not in r)
            left = PLANNED_SHARE * self.plan.seconds - spent - self.plan.after
            paces = [training_seconds(run.path / NETWORK_TRAININGS / t["key"]) for t in tried]
            seconds, steps = sum(s for s, _ in paces), sum(n for _, n in paces)
            return {"steps": max(MIN_STEPS, int(left * steps / seconds)) if seconds else self.plan.steps}

        return decided(run, "train", lengths)["steps"]

    def _train_one(self, run: Run, task: Training) -> Trained:
        from ...networks.pool import train_all

        (trained,) = train_all(
            [task],
            run.path / NETWORK_TRAININGS,
            workers=1,
            progress=lambda _, at, total: self.send(Event("train", item=self.plan.model, done=at, total=total)),
        )
        return trained

    def _training(
        self, of: NetworkTrainings, steps: int, start: Path, rate: float, decay: float, frozen: Sequence[str] = ()
    ) -> Training:
        factor = rate / of.recipe.lr
        recipe = replace(of.recipe, lr=rate, lr_end=of.recipe.lr_end * factor, weight_decay=decay)
        task = replace(of, recipe=recipe).training(self.blueprint, steps, start)
        return replace(task, frozen=tuple(frozen), targets=self.targets)

    def _parts(self) -> list[tuple[str, ...]]:
        """The layers that are frozen in each part of the final training."""
        if self.plan.layers != "gradual":
            return [()]
        names = [layer.name for layer in self.blueprint if layer.kind not in ("gap", "flatten")]
        return [tuple(names[: len(names) * (GRADUAL_PARTS - 1 - i) // GRADUAL_PARTS]) for i in range(GRADUAL_PARTS)]


def _number(value: float | None) -> float | None:
    return None if value is None or value != value else value


def _accuracy(trial: dict[str, Any]) -> float:
    value = trial.get(ACCURACY)
    return -inf if value is None else float(value)
