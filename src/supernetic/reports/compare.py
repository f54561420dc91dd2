"""Runs side by side: their fronts in one plot, what they found, and the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..runs.records import Record, read_run
from . import svg as plots
from .page import fill, flat, model_table, write_page
from .summary_text import UNKNOWN, budgets, duration, listed, metric_name, percent, show, status, tau_told, title

MOST = 6  # runs that can be told apart by colour
NOT_SETTINGS = ("asked.", "versions.", "data.classes", "data.mean", "data.std")


def compare_report(runs: Sequence[str | Path], out: str | Path) -> Path:
    """Write a page that compares runs, from their files alone."""
    if not 2 <= len(runs) <= MOST:
        raise InputError(f"a comparison takes 2 to {MOST} runs, got {len(runs)}")
    records = [read_run(run) for run in runs]
    file = Path(out)
    write_page(file, fill("compare.html.j2", comparison(records)))
    return file


def comparison(runs: Sequence[Record]) -> dict[str, Any]:
    """All that the page shows."""
    names = run_names(runs)
    return {
        "title": " and ".join(names) if len(names) == 2 else listed(names),
        "place": listed(names),
        "runs": [(name, f"run{i}", title(r), status(r)) for i, (name, r) in enumerate(zip(names, runs, strict=True))],
        "rows": _rows(runs),
        "front": _fronts(names, runs),
        "models": [(name, f"run{i}", *model_table(r)) for i, (name, r) in enumerate(zip(names, runs, strict=True))],
        "differences": _differences(runs),
        "data_json": "{}",
    }


def run_names(runs: Sequence[Record]) -> list[str]:
    """Directories' names, with their parents' where those are the same."""
    names = [r.path.resolve().name for r in runs]
    if len(set(names)) == len(names):
        return names
    return [f"{r.path.resolve().parent.name}/{r.path.resolve().name}" for r in runs]


def _rows(runs: Sequence[Record]) -> list[tuple[str, list[str]]]:
    """(what, a value for each run); what no run knows is left out."""
    rows: dict[str, list[str]] = {
        "within": [budgets(r) or "no limits" for r in runs],
        "architectures scored": [f"{n:,}" if (n := sum(r.statuses.values())) else UNKNOWN for r in runs],
        "on the front": [f"{n:,}" if (n := sum(t.level > 0 for t in r.trials)) else UNKNOWN for r in runs],
        "best score": [_best(r) for r in runs],
        "hypervolume": [_volume(r, runs) for r in runs],
        "best test accuracy": [_tested(r) for r in runs],
        "trust": [tau_told(t) if (t := r.trust.get("tau") or {}).get("value") is not None else UNKNOWN for r in runs],
        "loss at the end of training": [f"{r.curves[0].losses[-1]:.4g}" if r.curves else UNKNOWN for r in runs],
        "wall time": [duration(sum(r.seconds.values())) if r.seconds else UNKNOWN for r in runs],
    }
    return [(name, values) for name, values in rows.items() if any(v not in (UNKNOWN, "no limits") for v in values)]


def _best(run: Record) -> str:
    name = run.score.name
    values = [t.metrics[name] for t in run.trials if name in t.metrics]
    return f"{metric_name(name)} {show(name, (max if run.score.maximise else min)(values))}" if values else UNKNOWN


def _volume(run: Record, runs: Sequence[Record]) -> str:
    """Volumes are comparable only if they are measured from the same reference."""
    volume = run.search.get("hypervolume")
    if volume is None or any(r.search.get("reference") != run.search.get("reference") for r in runs):
        return UNKNOWN
    return f"{volume:.6g}"


def _tested(run: Record) -> str:
    tested = [(m.accuracy, m) for m in run.chosen if m.accuracy is not None]
    if not tested:
        return UNKNOWN
    value, model = max(tested, key=lambda pair: pair[0])
    return f"{percent(value)} by {model.name} ({show('cost/macs', model.macs)} MACs)"


def _fronts(names: Sequence[str], runs: Sequence[Record]) -> str:
    """The fronts of runs with the same axes; nothing if they have not."""
    cost, score = runs[0].cost, runs[0].score
    if any((r.cost, r.score) != (cost, score) for r in runs):
        return ""
    fronts = [
        sorted(
            (t.metrics[cost.name], t.metrics[score.name], t.name)
            for t in r.trials
            if t.level and cost.name in t.metrics and score.name in t.metrics
        )
        for r in runs
    ]
    known = [p for front in fronts for p in front]
    if not known:
        return ""
    frame = plots.Frame(
        plots.axis((p[0] for p in known), f"{metric_name(cost.name)} (better to the left)", n=6),
        plots.axis((p[1] for p in known), f"{metric_name(score.name)} (better up)", descending=not score.maximise),
    )
    body = ""
    for i, (name, front) in enumerate(zip(names, fronts, strict=True)):
        body += plots.stairs(frame, [(x, y) for x, y, _ in front], f"run{i}")
        tips = [f"{name}\n{arch}\n{show(cost.name, x)}, {show(score.name, y)}" for x, y, arch in front]
        body += plots.dots(frame, [plots.Dot(x, y, tip, f"run{i}") for (x, y, _), tip in zip(front, tips, strict=True)])
    return frame.svg(body, f"fronts of {listed(list(names))}")


def _differences(runs: Sequence[Record]) -> list[tuple[str, list[str]]]:
    """Settings that are not the same everywhere."""
    tables: list[Mapping[str, str]] = [dict(flat(r.settings)) for r in runs]
    names = dict.fromkeys(k for t in tables for k in t if not k.startswith(NOT_SETTINGS))
    rows = [(k, [t.get(k, UNKNOWN) for t in tables]) for k in names]
    return [(k, values) for k, values in rows if len(set(values)) > 1]
