"""`robustness`: do supernets of other seeds, and earlier stages of one training, rank networks in the same order?

Paper: AttentiveNAS, appendix B.
Differences: networks are ordered by cross-entropy unless another metric is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, RunError
from ..hardware import require_names, settle_hardware
from ..jobs.train.score import RECALIBRATION_IMAGES, score
from ..jobs.train.supernet_run import require_supernet
from ..metrics import better
from ..objective import resolve
from ..progress import Event, OnEvent, ignore
from ..ranking.robustness import SUBNET_COUNT, Agreement, When, comparisons, subnets
from ..ranking.robustness import robustness as compare
from ..result import Result
from ..runs.directory import read_settings
from ..runs.trust import opens_runs
from ..space import Arch


@dataclass(frozen=True)
class Measurement:
    """The scores of all networks by one supernet after some step, in short."""

    run: str
    seed: int
    step: int  # steps of training behind it
    mean: float
    best: float


@dataclass(frozen=True)
class RobustnessResult(Result):
    """Kendall's tau between orders of the same `n` random networks."""

    space: str
    metric: str
    bn: str
    n: int
    measurements: tuple[Measurement, ...]
    between_seeds: tuple[Agreement, ...]  # after as many steps
    early_and_late: tuple[Agreement, ...]  # of one training
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain records."""
        pairs = {k: [a.to_json() for a in getattr(self, k)] for k in ("between_seeds", "early_and_late")}
        return {**asdict(self), **pairs, "measurements": [asdict(m) for m in self.measurements], "notes": [*self.notes]}

    def lines(self) -> list[str]:
        """A summary for people."""
        return [
            f"{self.n:,} random networks of {self.space} by {self.metric}, BN {self.bn}",
            "",
            f"  {'seed':>4}{'step':>10}{'mean':>10}{'best':>10}  run",
            *(f"  {m.seed:>4}{m.step:>10,}{m.mean:>10.4g}{m.best:>10.4g}  {m.run}" for m in self.measurements),
            *_table("between seeds", self.between_seeds),
            *_table("early and late", self.early_and_late),
            *(f"  note: {n}" for n in self.notes),
        ]


@opens_runs
def robustness(
    runs: str | Path | Sequence[str | Path],
    *,
    n: int = SUBNET_COUNT,
    metric: str = "",
    bn: str = "recalibrate",
    images: int = RECALIBRATION_IMAGES,
    device: str = "auto",
    precision: str = "no",
    seed: int = 0,
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> RobustnessResult:
    """Compare trainings of one space that differ in their seed, and each of them with its own snapshots.

    All supernets, at the end and at every snapshot, score the same networks, each on the validation images of its own
    run. Scores are kept in the runs.

    Args:
        runs: Runs of `train`; one is enough if it has snapshots.
        n: The number of random networks.
        metric: What orders the networks; cross-entropy by default.
        bn: Where BN statistics come from: `recalibrate`, `batch` or `running`.
        images: The number of images that recalibrate BN.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        seed: The seed by which networks are drawn.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives the networks scored, as counts of the task `score` with one item per supernet.

    Returns:
        Kendall's tau between seeds after as many steps, and between steps of one seed.
    """
    if n < 2:
        raise InputError(f"an order needs two networks or more, got {n}")
    if images < 1:
        raise InputError(f"images must be at least 1, got {images}")
    require_names(device, precision)
    paths = [Path(runs)] if isinstance(runs, str | Path) else [Path(run) for run in runs]
    trainings = {path: read_settings(path) for path in paths}
    for path, settings in trainings.items():
        require_supernet(path, settings)
    from ..evaluators.supernet import shared_cells
    from ..runs.space_record import space_of
    from ..training.checkpoint import snapshots

    hardware = settle_hardware(device, precision)
    notes = _compared(trainings)
    space = shared_cells(space_of(paths[0], trainings[paths[0]]))
    archs: list[Arch] = [tuple(a) for a in subnets(space, seed, n).tolist()]
    send = on_event or ignore
    supernets = {
        When(settings["seed"], step or settings["steps"]): (path, step)
        for path, settings in trainings.items()
        for step in (*snapshots(path), None)
    }
    comparisons(supernets)
    scores = {}
    for when, (path, step) in supernets.items():
        count = _count_networks(str(when), send)
        metrics = score(path, space, archs, bn=bn, images=images, step=step, hardware=hardware, progress=count)
        metric = resolve(metric, metrics[0]) if metric else next(iter(metrics[0]))
        scores[when] = path, np.array([m[metric] for m in metrics])
    usable = np.isfinite([values for _, values in scores.values()]).all(axis=0)
    if usable.sum() < 2:
        raise RunError(f"fewer than two of {n} networks have a finite {metric} everywhere: a training diverged")
    if not usable.all():
        notes.append(f"{n - usable.sum()} networks are left out: not all of their scores are finite")
    notes += [f"{when} gives all networks the same score" for when, (_, v) in scores.items() if np.ptp(v[usable]) == 0]
    best = np.min if better(metric) == "lower" else np.max
    taus = compare({when: values[usable] for when, (_, values) in scores.items()})
    return RobustnessResult(
        space=space.name,
        metric=metric,
        bn=bn,
        n=int(usable.sum()),
        measurements=tuple(
            Measurement(str(path), *when, float(values[usable].mean()), float(best(values[usable])))
            for when, (path, values) in scores.items()
        ),
        between_seeds=taus.between_seeds,
        early_and_late=taus.early_and_late,
        notes=tuple(notes),
    )


def _count_networks(supernet: str, on_event: OnEvent) -> Callable[[int, int], None]:
    return lambda done, total: on_event(Event("score", item=supernet, done=done, total=total))


def _compared(trainings: dict[Path, dict[str, Any]]) -> list[str]:
    """Refuse what cannot be compared; other differences than the seed are noted."""
    (first, one), *others = trainings.items()
    seeds = {one.get("seed"): first}
    notes = []
    for path, other in others:
        if other.get("space", {}).get("fingerprint") != one.get("space", {}).get("fingerprint"):
            raise RunError(f"{first} and {path} hold supernets of different spaces: their networks cannot be compared")
        if (same := seeds.setdefault(other.get("seed"), path)) != path:
            raise RunError(f"{same} and {path} have the same seed {other.get('seed')}: train one with another --seed")
        differ = [k for k in ("recipe", "stabiliser", "precision", "load") if _plain(one, k) != _plain(other, k)]
        if differ:
            notes.append(f"{path} differs from {first} in more than its seed: {', '.join(differ)}")
    return notes


def _plain(settings: dict[str, Any], key: str) -> Any:
    value = settings.get(key)
    return {k: v for k, v in value.items() if k != "seed"} if isinstance(value, dict) else value


def _table(title: str, agreements: Sequence[Agreement]) -> list[str]:
    rows = [(f"{a.first} and {a.second}", a) for a in agreements]
    width = max((len(text) for text, _ in rows), default=0)
    shown = (f"  {text:<{width}}  {a.tau:+.3f}  [{a.interval[0]:+.3f}, {a.interval[1]:+.3f}]" for text, a in rows)
    return ["", f"{title}: tau, 95 % interval", *shown] if rows else []
