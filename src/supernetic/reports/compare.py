"""Runs side by side: their fronts in one plot, what they found, and the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..metrics import label
from ..runs.view import RunView, read_run
from . import svg as plots
from .rendering import fill, flat, write_page
from .sections.models import model_table
from .sections.results import TEST, found_results, limited_cost, whisker
from .summary_text import (
    UNKNOWN,
    budgets,
    data_name,
    duration,
    interval,
    listed,
    percent,
    score_label,
    show,
    status,
    tau_text,
    title,
)

MAX_RUNS = 6  # runs that can be told apart by colour
NO_LIMITS = "no limits"
NOT_SETTINGS = ("asked.", "versions.", "data.classes", "data.mean", "data.std")


def compare_report(runs: Sequence[str | Path], out: str | Path) -> Path:
    """Write a page that compares runs, from their files alone."""
    if not 2 <= len(runs) <= MAX_RUNS:
        raise InputError(f"a comparison takes 2 to {MAX_RUNS} runs, got {len(runs)}")
    records = [read_run(run) for run in runs]
    file = Path(out)
    write_page(file, fill("compare.html.j2", comparison(records)))
    return file


def comparison(runs: Sequence[RunView]) -> dict[str, Any]:
    """All that the page shows."""
    names = run_names(runs)
    return {
        "note": _different_data(names, runs),
        "title": " and ".join(names) if len(names) == 2 else listed(names),
        "place": listed(names),
        "runs": [(name, f"run{i}", title(r), status(r)) for i, (name, r) in enumerate(zip(names, runs, strict=True))],
        "rows": _rows(runs),
        "results": _results(names, runs),
        "front": _fronts(names, runs),
        "models": [(name, f"run{i}", *model_table(r)) for i, (name, r) in enumerate(zip(names, runs, strict=True))],
        "differences": _differences(runs),
    }


def run_names(runs: Sequence[RunView]) -> list[str]:
    """Directories' names, with their parents' where those are the same."""
    names = [r.path.resolve().name for r in runs]
    if len(set(names)) == len(names):
        return names
    return [f"{r.path.resolve().parent.name}/{r.path.resolve().name}" for r in runs]


def _rows(runs: Sequence[RunView]) -> list[tuple[str, list[str]]]:
    """(what, a value for each run); what no run knows is left out."""
    columns = [_facts(run, runs) for run in runs]
    rows = {what: [column[what] for column in columns] for what in columns[0]}
    return [(what, values) for what, values in rows.items() if any(v not in (UNKNOWN, NO_LIMITS) for v in values)]


def _facts(run: RunView, runs: Sequence[RunView]) -> dict[str, str]:
    """What is compared, of one of the runs."""
    tau = run.trust.get("tau") or {}
    return {
        "data": data_name(run) or UNKNOWN,
        "within": budgets(run) or NO_LIMITS,
        "architectures scored": _counted(sum(run.statuses.values())),
        "on the front": _counted(sum(t.level > 0 for t in run.trials)),
        "best score": _best(run),
        "hypervolume": _volume(run, runs),
        "best test accuracy": _tested(run),
        "trust": tau_text(tau) if tau.get("value") is not None else UNKNOWN,
        "final training loss": f"{run.curves[0].losses[-1]:.4g}" if run.curves else UNKNOWN,
        "wall time": duration(sum(run.seconds.values())) if run.seconds else UNKNOWN,
    }


def _counted(n: int) -> str:
    return f"{n:,}" if n else UNKNOWN


def _best(run: RunView) -> str:
    name = run.score.name
    values = [t.metrics[name] for t in run.trials if name in t.metrics]
    return f"{score_label(run, name)} {show(name, (max if run.score.maximise else min)(values))}" if values else UNKNOWN


def _volume(run: RunView, runs: Sequence[RunView]) -> str:
    """Volumes are comparable only if they are measured from the same reference."""
    volume = run.search.hypervolume
    if volume is None or any(r.search.reference != run.search.reference for r in runs):
        return UNKNOWN
    return f"{volume:.6g}"


def _tested(run: RunView) -> str:
    tested = [(m.accuracy, m) for m in run.chosen if m.accuracy is not None]
    if not tested:
        return UNKNOWN
    value, model = max(tested, key=lambda pair: pair[0])
    return f"{percent(value)} by {model.name} ({show('cost/macs', model.macs)} MACs)"


def _same_data(runs: Sequence[RunView]) -> bool:
    """Whether all runs saw the same images, as far as they say."""
    return len({_identity(run) for run in runs}) <= 1


def _identity(run: RunView) -> tuple[str, str]:
    data = run.settings.get("data", {})
    known = data if isinstance(data, Mapping) else {}
    return str(known.get("name", "")), str(known.get("fingerprint", ""))


def _different_data(names: Sequence[str], runs: Sequence[RunView]) -> str:
    """A warning where accuracies of different images would stand side by side."""
    if _same_data(runs):
        return ""
    each = listed([f"{name}: {data_name(run) or 'unknown'}" for name, run in zip(names, runs, strict=True)])
    alike = len({data_name(run) for run in runs}) == 1
    why = "The data have the same name, but their fingerprints differ. " if alike else ""
    return (
        f"These runs are of different data ({each}). {why}Their accuracies and scores cannot be compared, and are not "
        "drawn in one plot."
    )


def _results(names: Sequence[str], runs: Sequence[RunView]) -> str:
    """Test accuracy against cost of the models of all runs; nothing if their images or their limited costs differ."""
    cost = limited_cost(runs[0])
    if not _same_data(runs) or any(limited_cost(run) != cost for run in runs):
        return ""
    found = [[r for r in found_results(run, TEST, cost) if r.model.chosen] for run in runs]
    every = [r for results in found for r in results]
    if not every:
        return ""
    frame = plots.Frame(
        plots.axis((r.cost for r in every), f"{label(cost)} (better to the left)", n=6),
        plots.axis((v for r in every for v in (r.low, r.high)), "test accuracy, % (better up)", pad=0.08),
    )
    body = ""
    for i, (name, results) in enumerate(zip(names, found, strict=True)):
        body += "".join(whisker(frame, r, f"run{i}") for r in results)
        tips = [f"{name}\n{r.model.name}\n{percent(r.accuracy)} ({interval(r.low, r.high, 1)})" for r in results]
        body += plots.dots(
            frame,
            [plots.Dot(r.cost, r.accuracy, tip, f"run{i}", r.model.name) for r, tip in zip(results, tips, strict=True)],
        )
    return frame.svg(body, f"test accuracy against {label(cost)} of the models of {listed(list(names))}")


def _fronts(names: Sequence[str], runs: Sequence[RunView]) -> str:
    """The fronts of runs with the same images and the same axes; nothing if they have not."""
    cost, score = runs[0].cost, runs[0].score
    if not _same_data(runs) or any((r.cost, r.score) != (cost, score) for r in runs):
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
        plots.axis((p[0] for p in known), f"{label(cost.name)} (better to the left)", n=6),
        plots.axis(
            (p[1] for p in known), f"{score_label(runs[0], score.name)} (better up)", descending=not score.maximise
        ),
    )
    body = ""
    for i, (name, front) in enumerate(zip(names, fronts, strict=True)):
        body += plots.stairs(frame, [(x, y) for x, y, _ in front], f"run{i}")
        tips = [f"{name}\n{arch}\n{show(cost.name, x)}, {show(score.name, y)}" for x, y, arch in front]
        body += plots.dots(frame, [plots.Dot(x, y, tip, f"run{i}") for (x, y, _), tip in zip(front, tips, strict=True)])
    return frame.svg(body, f"fronts of {listed(list(names))}")


def _differences(runs: Sequence[RunView]) -> list[tuple[str, list[str]]]:
    """Settings that are not the same everywhere."""
    tables: list[Mapping[str, str]] = [dict(flat(r.settings)) for r in runs]
    names = dict.fromkeys(k for t in tables for k in t if not k.startswith(NOT_SETTINGS))
    rows = [(k, [t.get(k, UNKNOWN) for t in tables]) for k in names]
    return [(k, values) for k, values in rows if len(set(values)) > 1]
