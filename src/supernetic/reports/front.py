"""The plot that one explores: all trials, the front, the chosen models and controls, each with its architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..metrics import label
from ..objective import Objective
from ..runs.view import Model, RunView, Trial
from ..space import Arch
from .drawing import Atlas, is_chain
from .labels import Name, mark_box, names
from .summary_text import UNKNOWN, score_label, show, signed
from .svg import Frame, axis, cloud, mark, stairs

DRAWN_TRIALS = 1000  # trials behind the front that are drawn, at most
DRAWING_CHARACTERS = 120_000  # of all drawings; beyond that only chains are drawn: a graph of cells takes thousands


@dataclass(frozen=True)
class Point:
    """Something in the plot that can be chosen."""

    x: float
    y: float
    style: str  # trial, front, chosen, or the role of a control
    title: str
    metrics: Mapping[str, float]
    drawing: Sequence[int] | None


@dataclass(frozen=True)
class FrontPlot:
    """The plot, what its script needs to know, and which roles it shows."""

    svg: str
    data: dict[str, Any]
    styles: tuple[str, ...]
    left_out: int


def front_plot(run: RunView, atlas: Atlas) -> FrontPlot | None:
    """Draw all trials, the front, the chosen models and the controls.

    Args:
        run: The run.
        atlas: Collects the drawings of architectures.

    Returns:
        The plot; nothing as long as there is no trial with both a cost and a score.
    """
    scored = [t for t in run.trials if run.cost.name in t.metrics and run.score.name in t.metrics]
    if not scored:
        return None
    models = {_same(run, m.arch): m for m in run.chosen if m.arch is not None}
    model_of = {t.arch: models[arch] for t in scored if (arch := _same(run, t.arch)) in models}
    behind = [t for t in scored if t.level == 0 and t.arch not in model_of]
    drawn = behind[:: -(-len(behind) // DRAWN_TRIALS) or 1]
    trials = (*drawn, *(t for t in scored if t.level or t.arch in model_of))
    points = [*(_of_trial(run, t, model_of.get(t.arch), atlas) for t in trials), *_of_controls(run, atlas)]
    frame = _frame(run, points)
    title = f"{score_label(run, run.score.name)} against {label(run.cost.name)} of {len(scored):,} architectures"
    svg = frame.svg(_body(frame, points), title, "front", role="group")
    return FrontPlot(svg, _data(frame, points, run), _styles(points), len(behind) - len(drawn))


def _same(run: RunView, arch: Arch) -> Arch:
    """The form that all architectures of the same network share; models have it, trials may not."""
    return arch if run.space is None else run.space.canonical(arch)


def _frame(run: RunView, points: Sequence[Point]) -> Frame:
    cost, score = run.cost, run.score
    return Frame(
        axis((p.x for p in points), f"{label(cost.name)} (better to the left)", lambda v: show_axis(cost, v), n=6),
        axis((p.y for p in points), f"{score_label(run, score.name)} (better up)", descending=not score.maximise),
    )


def _body(frame: Frame, points: Sequence[Point]) -> str:
    """The cloud of trials, the front's border, the marks, and the ring around the one that is shown."""
    border = stairs(frame, sorted((p.x, p.y) for p in points if p.style in ("front", "chosen")))
    trials = cloud(frame, [(p.x, p.y) for p in points if p.style == "trial"])
    marks = "".join(_mark(frame, p, i) for i, p in enumerate(points) if p.style != "trial")
    return trials + border + marks + _names(frame, points) + '<circle class="ring" r="8.5"/>'


def _data(frame: Frame, points: Sequence[Point], run: RunView) -> dict[str, Any]:
    """What the script needs."""
    columns = list(dict.fromkeys(k for p in points for k in p.metrics))
    return {
        "columns": [score_label(run, c) for c in columns],
        "points": [_record(frame, p, columns) for p in points],
        "first": _first(points, run.recommended.name if run.recommended else ""),
    }


def _styles(points: Sequence[Point]) -> tuple[str, ...]:
    """The kinds of points in the plot, in the order of the legend."""
    styles = dict.fromkeys(p.style for p in points)
    return tuple(dict.fromkeys(s for s in ("chosen", "front", "trial", *styles) if s in styles))


def show_axis(o: Objective, value: float) -> str:
    """A tick, without the unit's blank."""
    return signed(show(o.name, value))


def _of_trial(run: RunView, trial: Trial, model: Model | None, atlas: Atlas) -> Point:
    """A trial; `model` is the chosen model that it became, whose blueprint is known without the space too."""
    blueprint = run.blueprint(trial.arch) or (model.blueprint if model else None)
    drawing = None
    if blueprint is not None and (is_chain(blueprint) or (trial.level and atlas.size < DRAWING_CHARACTERS)):
        drawing = atlas.draw(blueprint)
    name = trial.name or ",".join(map(str, trial.arch))
    title = f"{model.name}: {name}" if model else name
    x, y = trial.metrics[run.cost.name], trial.metrics[run.score.name]
    style = "chosen" if model else "front" if trial.level else "trial"
    return Point(x, y, style, title, trial.metrics, drawing)


def _of_controls(run: RunView, atlas: Atlas) -> Iterator[Point]:
    """Controls that the supernet has scored."""
    for m in run.controls:
        metrics = _all_metrics(m)
        if run.cost.name in metrics and run.score.name in metrics:
            drawing = atlas.draw(m.blueprint) if m.blueprint is not None else None
            yield Point(metrics[run.cost.name], metrics[run.score.name], m.role, m.name, metrics, drawing)


def _all_metrics(model: Model) -> dict[str, float]:
    costs = {"cost/macs": model.macs, "cost/params": model.params, "latency/ms": model.latency}
    return {**{k: float(v) for k, v in costs.items() if v is not None}, **model.score}


def _record(frame: Frame, p: Point, columns: Sequence[str]) -> list[Any]:
    values = [show(c, p.metrics[c]) if c in p.metrics else UNKNOWN for c in columns]
    return [frame.px(p.x), frame.py(p.y), p.style, p.title, values, p.drawing]


def _first(points: Sequence[Point], recommended: str) -> int:
    """What is shown before anything is clicked: the recommended model, else the dearest one or the end of the front."""
    models = [i for i, p in enumerate(points) if p.style == "chosen"]
    take = [i for i in models if points[i].title.partition(":")[0] == recommended]
    best = take or models or [i for i, p in enumerate(points) if p.style == "front"]
    return max(best, key=lambda i: points[i].x, default=0)


def _mark(frame: Frame, p: Point, i: int) -> str:
    spoken = f"{p.title.partition(':')[0]}, {p.style}"
    shape = '<circle r="3"/>' if p.style == "front" else mark(p.style)
    return (
        f'<g class="dot {escape(p.style)}" data-i="{i}" tabindex="-1" role="button" aria-label="{escape(spoken)}" '
        f'transform="translate({frame.px(p.x):g} {frame.py(p.y):g})">{shape}</g>'
    )


def _names(frame: Frame, points: Sequence[Point]) -> str:
    """Names of the chosen models; names of controls are in their tips and in the legend."""
    marks = [mark_box(frame.px(p.x), frame.py(p.y)) for p in points if p.style != "trial"]
    chosen = [p for p in points if p.style == "chosen"]
    wanted = [Name(frame.px(p.x), frame.py(p.y), p.title.partition(":")[0], must=True) for p in chosen]
    return names(wanted, marks, frame.inside)
