"""The search itself: every trial in one plot, and how it went on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...runs.view import RunView
from .. import svg as plots
from ..drawing import Atlas
from ..front import front_plot
from ..rendering import script_json
from ..summary_text import capital, count, ensemble_text, listed, of_score, score_label
from .section import legend


def front(run: RunView) -> dict[str, Any]:
    """The plot of all trials, and what its script needs."""
    atlas = Atlas()
    plot = front_plot(run, atlas)
    if plot is None:
        return {}
    return {
        "front": plot,
        "legend": legend(plot.styles),
        "trials": _trials_text(run, plot.left_out),
        "score": of_score(run, run.score.name),
        "ensemble": ensemble_text(run),
        "data_json": script_json({**plot.data, "pieces": atlas.pieces}),
    }


def _trials_text(run: RunView, left_out: int) -> str:
    """How many there are of each kind."""
    s = run.statuses
    counts = [f"{s['ok']:,} architectures within the limits"]
    counts += [f"{s['infeasible']:,} outside them"] if s["infeasible"] else []
    counts += [f"{s['failed']:,} that failed"] if s["failed"] else []
    more = f" To keep the plot light, {left_out:,} of those behind the front are not drawn." if left_out else ""
    return capital(listed(counts)) + "." + more


def progress(run: RunView) -> dict[str, Any]:
    """How the search went on, and how random networks score."""
    generations, histogram = list(_generations(run)), _histogram(run)
    if not generations and not histogram:
        return {}
    return {"generations": generations, "histogram": histogram, "histogram_text": _histogram_text(run)}


def _generations(run: RunView) -> Iterator[tuple[str, str]]:
    """(what, plot) of small plots beside one another."""
    generations = run.generations
    if len(generations) < 2:
        return
    what = {
        "best": f"best {score_label(run, run.objectives[0].name)}" if run.objectives else "best",
        "hypervolume": "hypervolume",
        "front": "networks on the front",
        "skips": "share of skipped layers",
    }
    for key, name in what.items():
        known = [g for g in generations if g.get(key) is not None]
        if len(known) > 1 and (key != "skips" or any(g[key] for g in known)):  # most spaces have no skips
            series = plots.Line("", [g["evaluations"] for g in known], [float(g[key]) for g in known], "first")
            yield (
                name,
                plots.lines([series], "evaluations", name, f"{name} over evaluations", width=420, height=240, n=4),
            )


def _histogram(run: RunView) -> str:
    """Scores of networks that were drawn at random, and where the chosen ones lie."""
    name = run.score.name
    values = [t.metrics[name] for t in run.sampled if name in t.metrics]
    if len(values) < 5:
        return ""
    marks = [(m.score[name], m.name) for m in run.chosen if name in m.score]
    label, descending = f"{score_label(run, name)} (better to the right)", not run.score.maximise
    return plots.histogram(values, label, f"{label} of {len(values)} random networks", marks, descending=descending)


def _histogram_text(run: RunView) -> str:
    drawn = f"{count(len(run.sampled), 'network')} drawn at random within the limits, with which the search began"
    return f"Scores of {drawn}{'; the chosen ones are marked' if run.chosen else ''}."
