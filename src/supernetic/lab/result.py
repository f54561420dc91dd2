"""What a study found: the result that is told, and the files that it writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from ..reports.page import REPORT
from ..result import Result
from ..runs.directory import Run
from ..text import duration
from .claims import Verdict, judge
from .csv_tables import claims_csv, measures_csv, summary_csv
from .measures.measure import Measure, Measured
from .seed_spread import Spread, Values, spread
from .study_file import Study
from .study_page import RECORD, write_study
from .trainings import Cell, Training

ALL, JOINT = "all", -1  # all seeds together, in place of one: in files, and among numbers
SHOWN = 5  # metrics in a summary for people; the page has more

Numbers = dict[str, float | None]


@dataclass(frozen=True)
class StudyResult(Result):
    """What a study found, or would do: a dry run has no directory."""

    title: str
    run: str | None
    page: str | None
    trainings: int  # of this study
    done: int  # of them, before it began
    seconds: float | None  # that the others may take, of a dry run
    cpu_minutes: float  # of all trainings, with their scores
    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    table: dict[str, dict[str, Numbers]]  # by variant and metric: n, mean, sd, low, high
    claims: tuple[dict[str, Any], ...]
    failed: dict[str, str]  # by variant and seed: why
    shown: tuple[str, ...]  # the metrics that matter most

    def lines(self) -> list[str]:
        """A summary for people."""
        counted = f"{self.trainings} trainings, {self.done} of them done before" if self.trainings else "no training"
        head = f"{_count(len(self.variants), 'variant')}, {_count(len(self.seeds), 'seed')}: {counted}"
        if self.run is None:
            rest = f"; training the others may take {duration(self.seconds)}" if self.seconds else ""
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
        shown = [*self.shown[:2], *self.shown[2:][2 - SHOWN :]]
        if not shown:
            return []
        width = max(len(v) for v in self.variants)
        columns = [max(16, len(m) + 2) for m in shown]
        head = "".join(f"{m:>{w}}" for m, w in zip(shown, columns, strict=True))
        rows = [
            f"  {variant:<{width}}" + "".join(f"{_cell(ms.get(m)):>{w}}" for m, w in zip(shown, columns, strict=True))
            for variant, ms in self.table.items()
        ]
        return ["", f"  {'':<{width}}{head}", *rows]


def planned(plan: Study, trainings: Sequence[Training], done: int, seconds: float | None) -> StudyResult:
    """The result of a dry run."""
    return _result(plan, None, trainings, done, {}, (), {}, (), seconds)


def write(
    run: Run,
    plan: Study,
    measure: Measure,
    items: Mapping[Cell, Training],
    found: Mapping[Cell, Measured],
    failed: dict[str, str],
    done: int,
) -> StudyResult:
    """Tables, record and page into the run."""
    by_variant = {v.name: {s: m for (n, s), m in found.items() if n == v.name} for v in plan.variants}
    pooled = {name: measure.pooled(seeds) for name, seeds in by_variant.items() if seeds}
    values = _values(by_variant, pooled)
    verdicts = tuple(judge(c, values.get(c.metric, {}), exact=not measure.trains) for c in plan.claims)
    summary = {v: {m: spread(known, v) for m, known in values.items() if known.get(v)} for v in by_variant}
    rows: list[tuple[str, int | str, Mapping[str, float]]] = [
        (v, s, m.values) for v, seeds in by_variant.items() for s, m in seeds.items()
    ]
    rows += [(v, ALL, numbers) for v, numbers in pooled.items() if numbers]
    run.write("measures.csv", measures_csv(rows))
    run.write("summary.csv", summary_csv(summary))
    run.write("claims.csv", claims_csv(verdicts))
    trainings = [*{t.path: t for t in items.values()}.values()] if measure.trains else []
    result = _result(plan, run, trainings, done, summary, verdicts, failed, measure.shown, None)
    record = {
        **result.to_json(),
        "source": plan.source,
        "scale": plan.scale,
        "data": plan.data if measure.trains else "",
        "measure": plan.measure,
        "settings": {v.name: v.training for v in plan.variants},
        "figures": [asdict(f) for f in plan.figures],
        "measured": [
            {"variant": v, "seed": s, "values": numbers(m.values), "details": m.details}
            for v, seeds in by_variant.items()
            for s, m in seeds.items()
        ],
        "pooled": {v: numbers(n) for v, n in pooled.items()},
        "runs": {f"{v}, seed {s}": str(t.path) for (v, s), t in items.items()} if measure.trains else {},
    }
    run.write(RECORD, json.dumps(record, allow_nan=False) + "\n")
    write_study(run.path)
    return result


def _values(
    by_variant: Mapping[str, Mapping[int, Measured]], pooled: Mapping[str, Mapping[str, float]]
) -> dict[str, Values]:
    """By metric, variant and seed."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for variant, seeds in by_variant.items():
        for seed, m in seeds.items():
            for metric, value in m.values.items():
                values.setdefault(metric, {}).setdefault(variant, {})[seed] = value
    for variant, joint in pooled.items():
        for metric, value in joint.items():
            values.setdefault(metric, {})[variant] = {JOINT: value}
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
        cpu_minutes=round(sum(t.cpu_seconds for t in trainings) / 60, 2),
        variants=tuple(v.name for v in plan.variants),
        seeds=plan.seeds,
        table={v: {m: numbers(asdict(s)) for m, s in metrics.items()} for v, metrics in summary.items()},
        claims=tuple(v.to_json() for v in verdicts),
        failed=failed,
        shown=tuple(m for m in shown if any(m in metrics for metrics in summary.values())),
    )


def numbers(values: Mapping[str, float]) -> Numbers:
    """For a record: what is undefined is null."""
    return {k: v if isfinite(v) else None for k, v in values.items()}


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _cell(known: Numbers | None) -> str:
    mean, sd = (known or {}).get("mean"), (known or {}).get("sd")
    return "-" if mean is None else f"{mean:.3f}" + (f" ±{sd:.3f}" if sd is not None else "")
