"""Searches with real supernets: what a floor on accuracy does, and what stabilisers do (SCARLET, sections 6.4, 6.5).

    python experiments/searching.py score none        scores of all macro networks by a supernet (random, identity too)
    python experiments/searching.py record            searches with them; writes searching_acc_min.toml and _els.toml

Supernets are those of `supernets.py`. A search sees the supernet's scores only; the front that it ends with is judged
by the benchmark's accuracies.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ranker import answers, ask, table_of
from record import Record
from search import summary

from supernetic import pareto
from supernetic.benchmarks import Table
from supernetic.costs import costs_of
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.objective import Constraint, Metrics, Objective
from supernetic.searchers import SearchProblem, Trial, run_search
from supernetic.searchers.nsga2 import NSGA2
from supernetic.space import Arch
from supernets import METRICS, STABILISERS, data, few_images, trained

Floats = npt.NDArray[np.float64]
SEEDS = list(range(1000, 1020))
IMAGES = 500
TWICE_CHANCE = 20.0  # per cent
ENGINE = NSGA2(population=20, generations=20)  # the first two are random
GOALS = (Objective("valid/accuracy", True), Objective("cost/macs", False))


@dataclass(frozen=True)
class Known:
    """Answers of a supernet that were computed before, for any encoding."""

    table: Table
    accuracy: Floats
    metrics: tuple[str, ...] = ("valid/accuracy", "cost/macs")
    test: frozenset[str] = frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """Accuracy and MACs."""
        rows = np.array([self.table.space.canonical(a) for a in archs], dtype=np.int8)
        found, macs = self.accuracy[self.table.find(rows)].tolist(), costs_of(self.table.space, rows).tolist()
        return [{"valid/accuracy": a, "cost/macs": float(m)} for a, m in zip(found, macs, strict=True)]


def search(known: Known, floor: float, seed: int) -> tuple[list[float], float, float]:
    """Share of skips by generation; the front's true hypervolume as a share of the best; its best true accuracy."""
    where = (Constraint("valid/accuracy", low=floor),) if floor else ()
    ends: list[int] = [0]
    trials = run_search(
        ENGINE, SearchProblem(known.table.space, GOALS, where), known, seed=seed, progress=lambda t: ends.append(len(t))
    )
    skips = [float(np.mean([np.mean(np.array(t.arch) == 0) for t in trials[a:b]])) for a, b in pairwise(ends) if b > a]
    return skips, *_judged(known.table, [t for t in trials if t.ok])


def _judged(table: Table, trials: Sequence[Trial]) -> tuple[float, float]:
    chosen = [trials[i] for i in pareto.front(pareto.points([t.metrics for t in trials], GOALS))]
    rows = table.find(np.array([table.space.canonical(t.arch) for t in chosen], dtype=np.int8))
    truth, macs = table["mean_acc"].values, costs_of(table.space, table.archs).astype(float)
    every = np.stack([-truth, macs], axis=1)
    reference = (-85.0, float(macs.max()))  # below 85 % no network is worth its MACs
    share = pareto.hypervolume(every[rows], reference) / pareto.hypervolume(every, reference)
    return share, float(truth[rows].max())


def many(stabiliser: str, floor: float) -> tuple[Floats, Floats, Floats]:
    """The same over seeds."""
    table = table_of("macro")
    accuracy = answers(f"macro-{stabiliser}.json", table)[0]["valid/accuracy"]
    found = [search(Known(table, accuracy), floor, seed) for seed in SEEDS]
    shortest = min(len(f[0]) for f in found)
    skips = np.array([f[0][:shortest] for f in found])
    return skips, np.array([f[1] for f in found]), np.array([f[2] for f in found])


def record() -> None:
    """Both claims."""
    begin = process_time()
    outcome = {s: {floor: many(s, floor) for floor in (0.0, TWICE_CHANCE)} for s in STABILISERS}
    minutes = round((process_time() - begin) / 60, 2)
    scale = (
        f"macro supernets of supernets.py scored on {IMAGES} images; NSGA-II, {ENGINE.population} a generation, "
        f"{ENGINE.generations - 2} generations; hypervolume of true accuracy above 85 % and MACs, "
        "share of the true front's"
    )
    obtained: dict[str, Any] = {}
    shown = []
    for s, both in outcome.items():
        free, floored = both[0.0], both[TWICE_CHANCE]
        gain, fewer = summary(floored[1] - free[1]), summary(free[0][:, -1] - floored[0][:, -1])
        obtained[s] = {
            "skips_last_generation": {"without": summary(free[0][:, -1]), "with": summary(floored[0][:, -1])},
            "hypervolume": {"without": summary(free[1]), "with": summary(floored[1])},
            "fewer_skips": fewer,
            "hypervolume_gained": gain,
        }
        shown.append(gain["interval"][0] > 0 and fewer["interval"][0] > 0)
    gains = ", ".join(f"{s} {obtained[s]['hypervolume_gained']['mean']:+.3f}" for s in outcome)
    fewer_told = ", ".join(f"{s} {obtained[s]['fewer_skips']['mean']:+.3f}" for s in outcome)
    Record(
        "searching_acc_min",
        "a floor on the supernet's accuracy at twice chance lowers the share of skips and improves the front",
        "SCARLET-NAS, section 6.4 and figure 9",
        "fewer skips and a better front, on a supernet",
        obtained,
        n=len(SEEDS),
        held=all(shown),
        sentence=f"The front's true hypervolume changes by {gains}; skips of the last generation fall by {fewer_told}.",
        spread="over seeds of the search, paired; intervals are bootstraps of the mean",
        seeds=SEEDS,
        scale=scale,
        cpu_minutes=minutes,
    ).write()
    fronts = {s: both[0.0][1] for s, both in outcome.items()}
    differences = {s: summary(fronts[s] - fronts["none"]) for s in ("random", "identity")}
    Record(
        "searching_els",
        "a search with a supernet that has stabilisers finds a better front than with one that has none",
        "SCARLET-NAS, section 6.5: 71.3 % against 76.9 % on ImageNet",
        "hypervolume with stabilisers above that without",
        {
            "hypervolume": {s: summary(v) for s, v in fronts.items()},
            "minus_none": differences,
            "best_true_accuracy": {s: summary(both[0.0][2]) for s, both in outcome.items()},
        },
        n=len(SEEDS),
        held=all(d["interval"][0] > 0 for d in differences.values()),
        sentence="True hypervolume of the front found, minus that without stabilisers: "
        + ", ".join(f"{s} {d['mean']:+.3f} {d['interval']}" for s, d in differences.items())
        + ". One training of each supernet: its own seed is not in the intervals.",
        spread="over seeds of the search; intervals are bootstraps of the mean",
        seeds=SEEDS,
        scale=scale,
        cpu_minutes=minutes,
    ).write()


def main() -> None:
    """Run one of the commands."""
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["score", stabiliser]:
            images = few_images(data(), IMAGES)
            supernet, _ = trained("macro", stabiliser, images)
            evaluate = SupernetEvaluator(supernet.eval(), images, METRICS, bn="batch")
            ask(f"macro-{stabiliser}.json", table_of("macro"), evaluate)
        case ["record"]:
            record()
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
