"""The result of a study: its summary for people, and the files that it writes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..reading import read_json
from ..result import Result
from ..runs.directory import Run
from ..runs.files import REPORT, RESULT
from ..text import duration
from .claims import UNDECIDED, Verdict, judge
from .csv_tables import claims_csv, measures_csv, summary_csv
from .measures.measure import Measure, Measured
from .seed_spread import Spread, Values, spread
from .study_file import Study
from .study_page import RECORD_FILE, write_study
from .trainings import Cell, Training, cell_name

ALL_SEEDS = "all"  # stands for a seed in files, for numbers of all seeds together
ALL_SEEDS_KEY = -1  # the same among values by seed
SUMMARY_METRICS = 5  # in the summary for people; the page has more

Numbers = dict[str, float | None]


@dataclass(frozen=True)
class StudyResult(Result):
    """What a study found; of a dry run, which has no directory, what it would do."""

    title: str
    run: str | None
    page: str | None
    trainings: int  # of this study
    done: int  # trainings that were done before
    seconds: float | None  # of a dry run: estimated time of training the others
    scoring_seconds: float | None  # and of scoring networks with them
    cpu_minutes: float  # of all trainings and their measurements
    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    table: dict[str, dict[str, Numbers]]  # by variant and metric: n, mean, sd, low, high
    claims: tuple[dict[str, Any], ...]
    failed: dict[str, str]  # the reason, by variant and seed
    shown: tuple[str, ...]  # the metrics in tables for people

    def lines(self) -> list[str]:
        """A summary for people."""
        counted = f"{self.trainings} trainings, {self.done} of them done before" if self.trainings else "no training"
        head = f"{_count(len(self.variants), 'variant')}, {_count(len(self.seeds), 'seed')}: {counted}"
        if self.run is None:
            scoring = f" and scoring {duration(self.scoring_seconds)}" if self.scoring_seconds else ""
            rest = f"; training the others may take {duration(self.seconds)}{scoring}" if self.seconds else ""
            return [self.title, head + rest, "dry run: nothing was trained or written"]
        claims = [line for c in self.claims for line in (f"  {c['text']}", f"    {c['sentence']}")]
        return [
            self.title,
            f"{head}; {self.cpu_minutes:.1f} CPU-minutes in all",
            *self._rows(),
            *(["", *claims] if claims else []),
            *(f"  failed: {what}: {why}" for what, why in self.failed.items()),
            "",
            f"the page is {self.page}",
        ]

    def _rows(self) -> list[str]:
        shown = [*self.shown[:2], *self.shown[2:][2 - SUMMARY_METRICS :]]
        if not shown:
            return []
        width = max(len(v) for v in self.variants)
        lines = [shown, *([_cell(metrics.get(m)) for m in shown] for metrics in self.table.values())]
        columns = [max(16, *(len(cell) + 2 for cell in column)) for column in zip(*lines, strict=True)]
        return [
            "",
            *(
                f"  {variant:<{width}}" + "".join(f"{cell:>{w}}" for cell, w in zip(cells, columns, strict=True))
                for variant, cells in zip(("", *self.table), lines, strict=True)
            ),
        ]


def planned_result(plan: Study, trainings: Sequence[Training], done: int, seconds: float | None) -> StudyResult:
    """The result of a dry run."""
    return _result(plan, None, trainings, done, {}, (), {}, (), seconds)


def write_result(
    run: Run,
    plan: Study,
    measure: Measure,
    cells: Mapping[Cell, Training],
    measured: Mapping[Cell, Measured],
    failed: dict[str, str],
    done: int,
) -> StudyResult:
    """Judge the claims, and write tables, record and page.

    Args:
        run: The directory of the study.
        plan: The study.
        measure: Its measure.
        cells: All trainings by variant and seed.
        measured: What was measured on those that did not fail.
        failed: Why the others failed, by variant and seed.
        done: Trainings that were done before.

    Returns:
        The result.
    """
    by_variant = {v.name: {s: m for (name, s), m in measured.items() if name == v.name} for v in plan.variants}
    pooled = {name: measure.pooled(seeds) for name, seeds in by_variant.items() if seeds}
    values = _values(by_variant, pooled)
    verdicts = tuple(judge(c, values.get(c.metric, {}), exact=not measure.trains) for c in plan.claims)
    unmet = plan.condition.unmet(values.get(plan.condition.metric, {})) if plan.condition else ""
    if unmet:
        verdicts = tuple(replace(v, verdict=UNDECIDED, reason=unmet) for v in verdicts)
    summary = {v: {metric: spread(of, v) for metric, of in values.items() if of.get(v)} for v in by_variant}
    run.write("measures.csv", measures_csv(_rows(by_variant, pooled)))
    run.write("summary.csv", summary_csv(summary))
    run.write("claims.csv", claims_csv(verdicts))
    trainings = [*{t.path: t for t in cells.values()}.values()] if measure.trains else []
    result = _result(plan, run, trainings, done, summary, verdicts, failed, measure.shown, None)
    runs = {cell_name(cell): str(t.path) for cell, t in cells.items()} if measure.trains else {}
    record = {
        **result.to_json(),
        **_plan_record(plan, measure),
        **_measured_record(by_variant, pooled),
        "runs": runs,
    }
    run.write(RECORD_FILE, json.dumps(record, allow_nan=False) + "\n")
    write_study(run.path)
    return result


ByVariant = Mapping[str, Mapping[int, Measured]]  # by variant and seed
Pooled = Mapping[str, Mapping[str, float]]  # numbers of all seeds together, by variant and metric


def _rows(by_variant: ByVariant, pooled: Pooled) -> Iterator[tuple[str, int | str, Mapping[str, float]]]:
    """(variant, seed, values by metric), first of single seeds, then of all seeds together."""
    yield from ((v, s, m.values) for v, seeds in by_variant.items() for s, m in seeds.items())
    yield from ((v, ALL_SEEDS, values) for v, values in pooled.items() if values)


def _plan_record(plan: Study, measure: Measure) -> dict[str, Any]:
    return {
        "source": plan.source,
        "scale": plan.scale,
        "data": plan.data if measure.trains else "",
        "measure": plan.measure,
        "settings": {v.name: v.training for v in plan.variants},
        "figures": [asdict(f) for f in plan.figures],
    }


def _measured_record(by_variant: ByVariant, pooled: Pooled) -> dict[str, Any]:
    measured = [
        {"variant": v, "seed": s, "values": numbers(m.values), "details": m.details}
        for v, seeds in by_variant.items()
        for s, m in seeds.items()
    ]
    return {"measured": measured, "pooled": {v: numbers(values) for v, values in pooled.items()}}


def _values(by_variant: ByVariant, pooled: Pooled) -> dict[str, Values]:
    """Values by metric, variant and seed."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for variant, seeds in by_variant.items():
        for seed, m in seeds.items():
            for metric, value in m.values.items():
                values.setdefault(metric, {}).setdefault(variant, {})[seed] = value
    for variant, joint in pooled.items():
        for metric, value in joint.items():
            values.setdefault(metric, {})[variant] = {ALL_SEEDS_KEY: value}
    return dict(values)


def _result(
    plan: Study,
    run: Run | None,
    trainings: Sequence[Training],
    done: int,
    summary: Mapping[str, Mapping[str, Spread]],
    verdicts: tuple[Verdict, ...],
    failed: dict[str, str],
    shown: tuple[str, ...],
    seconds: float | None,
) -> StudyResult:
    return StudyResult(
        title=plan.title,
        run=None if run is None else str(run.path),
        page=None if run is None else str(run.path / REPORT),
        trainings=len(trainings),
        done=done,
        seconds=seconds,
        scoring_seconds=None,
        cpu_minutes=round(sum(t.cpu_seconds for t in trainings) / 60, 2),
        variants=tuple(v.name for v in plan.variants),
        seeds=plan.seeds,
        table={v: {m: numbers(asdict(s)) for m, s in metrics.items()} for v, metrics in summary.items()},
        claims=tuple(v.to_json() for v in verdicts),
        failed=failed,
        shown=tuple(m for m in shown if any(m in metrics for metrics in summary.values())),
    )


def numbers(values: Mapping[str, float]) -> Numbers:
    """Values for a JSON record: what is undefined is None."""
    return {k: v if isfinite(v) else None for k, v in values.items()}


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _cell(spread: Numbers | None) -> str:
    mean, sd = (spread or {}).get("mean"), (spread or {}).get("sd")
    return "-" if mean is None else f"{mean:.3f}" + (f" ±{sd:.3f}" if sd is not None else "")


def read_study_result(run: Path) -> StudyResult:
    """The result of a study that came to its end."""
    try:
        record = read_json(run / RESULT)
        fields = {f.name: record[f.name] for f in dataclasses.fields(StudyResult)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{run} is not finished: {error}; `supernetic resume {run}` goes on") from None
    for name in ("variants", "seeds", "claims", "shown"):
        fields[name] = tuple(fields[name])
    return StudyResult(**fields)
