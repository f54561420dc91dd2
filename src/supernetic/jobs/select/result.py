"""The result of a choice, and the files that it writes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Floats
from ...datasets import Dataset
from ...errors import RunError, SupernetError
from ...families import CandidateModel
from ...objective import show_quantity
from ...reading import read_json
from ...result import Result
from ...runs.directory import Run, jsonable
from ...runs.files import AGREEMENT_CSV, DESCRIPTION_LENGTHS_CSV, PROFILES_CSV, REPORT, SELECT
from ...selection.agreement import agreements, contests
from ...selection.decision import decide
from ...selection.profiles import Profiles, interval
from ...selection.scores import METRICS
from ...selection.subsets import SubsetSchedule
from ...selection.summary_text import sentences
from ...text import duration
from .settled import SettledRecipe, describe
from .tables import agreement_csv, mdl_csv, profiles_csv
from .trainings import Outcome, SubsetTraining, start_of


@dataclass(frozen=True)
class SelectResult(Result):
    """The decision with its evidence, or what would be done: a dry run has no directory."""

    data: str
    run: str | None
    page: str | None
    on: str  # the split that scores were taken on
    models: tuple[str, ...]
    costs: dict[str, tuple[int, int]]  # MACs and parameters
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    trainings: int
    seconds: float  # that all may take, as estimated, or took
    notes: tuple[str, ...]  # what had to be given up, whether time ran over, and what went wrong
    contests: tuple[dict[str, Any], ...]
    decision: dict[str, Any] | None
    table: dict[str, dict[str, list[float]]]  # means by metric and model, one per size
    rates: dict[str, float]  # the learning rate of each model, once it is known
    tried: tuple[float, ...] = ()  # all learning rates that are tried
    batches: tuple[int, ...] = ()  # images in a batch, one per size; older runs do not say
    processes: int = 1  # that share each batch
    starts: dict[str, str] = dataclasses.field(default_factory=dict)  # by model: whose weights it begins with, if any

    @property
    def sentences(self) -> list[str]:
        """A summary for people."""
        return sentences(self.to_json())

    def lines(self) -> list[str]:
        """A summary for people."""
        sizes, seeds = ", ".join(f"{n:,}" for n in self.sizes), ", ".join(map(str, self.seeds))
        head = [
            f"{len(self.models)} models on {self.data}: {', '.join(map(self._priced, self.models))}",
            f"{sizes} images with {seeds} seeds, scored on {self.on}: {self.trainings} trainings",
            *([describe(self.rates, self.tried, self.batches, self.processes)] if self.batches else []),
            *(f"note: {n}" for n in self.notes),
        ]
        if self.run is None:
            return [*head, f"this may take {duration(self.seconds)}"]
        return [
            *head,
            *self._rows(),
            "",
            *self.sentences,
            "",
            f"it took {duration(self.seconds)}; the page is {self.page}",
        ]

    def _priced(self, model: str) -> str:
        macs, params = map(show_quantity, self.costs[model])
        return f"{model} ({macs} MACs, {params} parameters)"

    def _rows(self) -> list[str]:
        width = max(map(len, self.models))
        rows = []
        for metric, unit in zip(METRICS, ("nats", "nats", "%"), strict=True):
            name = f"{metric.replace('_', ' ')}, {unit}"
            digits = 1 if unit == "%" else 3
            heads = "".join(f"{n:>9,}" for n in self.sizes)
            rows += ["", f"  {name}", f"  {'':{width}}{heads}"]
            for model, values in self.table[metric].items():
                rows.append(f"  {model:{width}}" + "".join(f"{v:>9.{digits}f}" for v in values))
        return rows


def planned(
    dataset: Dataset,
    models: Sequence[CandidateModel],
    subsets: SubsetSchedule,
    settled: SettledRecipe,
    seconds: float,
    notes: Sequence[str],
) -> SelectResult:
    """What would be done."""
    known = {m.name: settled.rates[0] for m in models} if len(settled.rates) == 1 else {}
    return SelectResult(
        dataset.name, None, None, subsets.on, tuple(m.name for m in models), _costs(models), subsets.sizes,
        subsets.seeds, len(models) * sum(subsets.seeds), seconds, tuple(notes), (), None, {},
        known, settled.rates, settled.batches(subsets.sizes), settled.processes, _starts(models),
    )  # fmt: skip


def _starts(models: Sequence[CandidateModel]) -> dict[str, str]:
    return {m.name: start_of(m) for m in models if start_of(m)}


def _costs(models: Sequence[CandidateModel]) -> dict[str, tuple[int, int]]:
    return {m.name: m.costs() for m in models}


def write(
    run: Run,
    dataset: Dataset,
    models: Sequence[CandidateModel],
    subsets: SubsetSchedule,
    settled: SettledRecipe,
    rates: Mapping[str, float],
    subset_trainings: Sequence[SubsetTraining],
    outcomes: Sequence[Outcome],
    notes: Sequence[str],
    seconds: float,
) -> None:
    """Write the tables and the record of a choice into its run.

    Args:
        run: The run.
        dataset: The images.
        models: All models; those with a failed training are left out, with a note.
        subsets: Sizes and seeds.
        settled: How they were trained.
        rates: The learning rate of each model.
        subset_trainings: All trainings.
        outcomes: Their results, in the same order.
        notes: What a reader should know besides.
        seconds: That the job took.
    """
    failed = {
        r.model.name: f"{r.name}: {o.reason}" for r, o in zip(subset_trainings, outcomes, strict=True) if o.reason
    }
    if len(failed) == len(models):
        raise SupernetError(f"every model failed: {next(iter(failed.values()))}")
    profiles = profiles_of(
        dataset, [m.name for m in models if m.name not in failed], subsets, subset_trainings, outcomes
    )
    decision, agreement, contest = decide(profiles), agreements(profiles), contests(profiles)
    bound = [r.name for r, o in zip(subset_trainings, outcomes, strict=True) if o.bound]
    every = [*notes, *(f"{why}; the model is left out" for why in failed.values())]
    if bound:
        every.append(f"too few images to calibrate with in {len(bound)} trainings, such as {bound[0]}")
    run.write(PROFILES_CSV, profiles_csv(profiles))
    run.write(AGREEMENT_CSV, agreement_csv(agreement))
    run.write(DESCRIPTION_LENGTHS_CSV, mdl_csv(decision.lengths))
    result = SelectResult(
        data=dataset.name,
        run=str(run.path),
        page=str(run.path / REPORT),
        on=subsets.on,
        models=profiles.models,
        costs=_costs(models),
        sizes=subsets.sizes,
        seeds=subsets.seeds,
        trainings=len(subset_trainings),
        seconds=seconds,
        notes=tuple(every),
        contests=tuple(asdict(c) for c in contest),
        decision=asdict(decision),
        table={
            metric: {m: profiles.means[i, k].tolist() for k, m in enumerate(profiles.models)}
            for i, metric in enumerate(METRICS)
        },
        rates=dict(rates),
        tried=settled.rates,
        batches=settled.batches(subsets.sizes),
        processes=settled.processes,
        starts=_starts(models),
    )
    record = {
        **result.to_json(),
        "scored": len(dataset.splits[subsets.on]),
        "profiles": {m: _profile(profiles, k) for k, m in enumerate(profiles.models)},
        "agreements": [asdict(a) for a in agreement],
        "stable": {"open": decision.open, "checks_held": sum(c.held for c in decision.checks)},
        "recipe": subset_trainings[0].recipe.settings(),
    }
    run.write(SELECT, json.dumps(record, allow_nan=False) + "\n")


def read_result(path: Path) -> SelectResult:
    """Read the result of a finished run; one that is not finished is refused."""
    try:
        record = read_json(path / SELECT)
        known = [f for f in dataclasses.fields(SelectResult) if f.default is dataclasses.MISSING or f.name in record]
        fields = {f.name: record[f.name] for f in known}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is not finished: {error}; `supernetic resume {path}` goes on") from None
    for name in ("models", "sizes", "seeds", "notes", "contests", "tried", "batches"):
        fields[name] = tuple(fields.get(name, ()))
    costs = {m: (c[0], c[1]) for m, c in fields["costs"].items()}
    return SelectResult(**{**fields, "costs": costs, "run": str(path), "page": str(path / REPORT)})


def profiles_of(
    dataset: Dataset,
    models: Sequence[str],
    subsets: SubsetSchedule,
    subset_trainings: Sequence[SubsetTraining],
    outcomes: Sequence[Outcome],
) -> Profiles:
    """Scores of the models whose trainings all succeeded."""
    by = {(r.model.name, r.size, r.seed): o for r, o in zip(subset_trainings, outcomes, strict=True)}
    cells = {
        (m, n): np.stack([by[m, n, s].images() for s in range(seeds)], axis=1)
        for m in models
        for n, seeds in zip(subsets.sizes, subsets.seeds, strict=True)
    }
    return Profiles(tuple(models), subsets.sizes, len(dataset.classes), cells)


def _profile(profiles: Profiles, m: int) -> dict[str, dict[str, list[float | None]]]:
    """Of one model, by metric: means, standard deviations between seeds, ends of intervals; one number per size."""

    def plain(values: Floats) -> list[float | None]:
        return [jsonable(float(v)) for v in values]

    profile = {}
    for i, metric in enumerate(METRICS):
        ends = np.array([interval(profiles.draws[:, i, m, k]) for k in range(len(profiles.sizes))])
        profile[metric] = {
            "mean": plain(profiles.means[i, m]),
            "sd": plain(profiles.deviations[i, m]),
            "low": plain(ends[:, 0]),
            "high": plain(ends[:, 1]),
        }
    return profile
