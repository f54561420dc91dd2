"""The first plot: accuracy against cost of the finished networks, with intervals, and how long each was trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

from ... import metrics
from ...errors import InputError
from ...objective import parse_where
from ...ranking.sentences import show_epochs
from ...ranking.trust import wilson
from ...runs.records import INHERITED
from ...runs.view import Model, RunView
from .. import svg as plots
from ..labels import Box, Name, mark_box, names
from ..recommendation import epochs_of
from ..summary_text import capital, count, interval, limits, listed, number, percent, show
from .models import supernet_alone
from .section import LEGEND, some_went_on

TEST, VALID = "test/accuracy", "valid/accuracy"
COSTS = ("cost/macs", "latency/ms", "cost/params")
SHOWN_POINTS = 25.0  # of accuracy below the best network that are always shown; what is lower may be left out
INTERVAL_END = 6.0  # room that is kept free beyond the ends of an interval
MOST_NAMED = 4  # networks below the plot that are named
# How long a network was trained is how full its mark is.
FULL, PARTLY, EARLY = "full", "partly", "early"


@dataclass(frozen=True)
class Result:
    """A network of the plot."""

    model: Model
    cost: float
    accuracy: float
    low: float  # of its 95 % interval
    high: float
    length: str  # full, partly, early
    supernet: bool  # whether its weights are the supernet's


def results(run: RunView) -> dict[str, Any]:
    """Accuracy against cost; by validation images as long as nothing was tested."""
    truth = TEST if any(m.accuracy is not None for m in run.models) else VALID
    cost = limited_cost(run)
    found = found_results(run, truth, cost)
    if not found:
        return {}
    floor = _floor(found)
    shown, below = [r for r in found if r.accuracy >= floor], [r for r in found if r.accuracy < floor]
    return {
        "plot": _plot(run, truth, cost, shown, below),
        "about": _about(run, truth, cost, found, below),
        "marks": _marks(found),
        "lengths": _lengths(run, found),
    }


def limited_cost(run: RunView) -> str:
    """The cost on the horizontal axis: MACs, unless only milliseconds or parameters are limited."""
    limited = [name for name, _ in _limits(run)]
    return "cost/macs" if "cost/macs" in limited else next((name for name in COSTS if name in limited), "cost/macs")


def _limits(run: RunView) -> Iterator[tuple[str, float]]:
    """(cost, upper limit) of the limits that were asked for."""
    known = {name.rpartition("/")[2]: name for name in COSTS} | {"latency": "latency/ms"}
    for text in limits(run):
        try:
            limit = parse_where(text)
        except InputError:
            continue  # a column of a table, in words of its own
        name = known.get(limit.name.rpartition("/")[2])
        if name and isfinite(limit.high):
            yield name, limit.high


def found_results(run: RunView, truth: str, cost: str) -> list[Result]:
    """The networks whose accuracy and cost are known, the model to take last, so that it is drawn on top."""
    images = _images(run, truth)
    found = []
    for m in run.models:
        accuracy = _accuracy(m, truth)
        value = {"cost/macs": m.macs, "cost/params": m.params, "latency/ms": m.latency}[cost]
        if accuracy is None or value is None or not isfinite(accuracy) or m.failed:
            continue
        low, high = wilson(accuracy / 100, images) if images and 0 <= accuracy <= 100 else (accuracy / 100,) * 2
        found.append(Result(m, value, accuracy, 100 * low, 100 * high, _length(m, run), _by_supernet(m)))
    return sorted(found, key=lambda r: (r.model.recommended, r.model.chosen))


def _length(m: Model, run: RunView) -> str:
    """How long a network was trained, beside the one that is recommended."""
    if not some_went_on(run):
        return FULL
    if not m.went_on:
        return EARLY
    take = next((other.steps for other in run.models if other.recommended), None)
    return PARTLY if take is not None and m.steps is not None and m.steps < take / 2 else FULL


def _by_supernet(m: Model) -> bool:
    return m.exported_weights == INHERITED or supernet_alone(m)


def _floor(found: Sequence[Result]) -> float:
    """The lowest accuracy of the plot: networks that stopped early may lie far below, and would flatten the rest."""
    best = max(r.accuracy for r in found)
    important = [r.accuracy for r in found if r.model.chosen or r.length != EARLY]
    return min([best - SHOWN_POINTS, *important])


# --- the plot ---------------------------------------------------------------------------------------------------------


def _plot(run: RunView, truth: str, cost: str, shown: Sequence[Result], below: Sequence[Result]) -> str:
    limit, split = _near_limit(run, cost, [*shown, *below]), "test" if truth == TEST else "validation"
    costs = [r.cost for r in (*shown, *below)]
    accuracies = [v for r in shown for v in (r.low, r.high)]
    frame = plots.Frame(
        plots.axis([*costs, *limit], f"{metrics.label(cost)} (better to the left)", n=6, pad=0.07),
        plots.axis(accuracies, f"{split} accuracy, % (better up)", pad=0.12),  # room for names, and for arrows
        height=380,
    )
    parts = [
        *(_limit(frame, value) for value in limit),
        *(whisker(frame, r, _kind(r)) for r in shown),
        *(_mark(run, frame, r, truth) for r in shown),
        *(_arrow(run, frame, r, truth) for r in below),
        _names(run, frame, shown, below, limit),
    ]
    title = f"{split} accuracy against {metrics.label(cost)} of {len(costs)} networks"
    return frame.svg("".join(parts), title, "results")


def _near_limit(run: RunView, cost: str, found: Sequence[Result]) -> list[float]:
    """The limit on the cost, if it is near: one far away would push all marks to one side."""
    limits = [high for name, high in _limits(run) if name == cost]
    return [min(limits)] if limits and min(limits) <= 2 * max(r.cost for r in found) else []


def _limit(frame: plots.Frame, limit: float) -> str:
    x = frame.px(limit)
    return (
        f'<line class="limit" x1="{x:g}" x2="{x:g}" y1="{plots.TOP - 6}" y2="{frame.height - plots.BOTTOM}"/>'
        f'<text class="tick mid" x="{x:g}" y="12">limit</text>'
    )


def whisker(frame: plots.Frame, r: Result, style: str) -> str:
    """The 95 % interval of an accuracy."""
    x, top, bottom = frame.px(r.cost), frame.py(r.high), frame.py(r.low)
    return f'<path class="whisker {style}" d="M{x:g} {top:g}V{bottom:g}M{x - 3:g} {top:g}h6M{x - 3:g} {bottom:g}h6"/>'


def _kind(r: Result) -> str:
    return "chosen" if r.model.chosen else "candidate" if r.model.candidate else "other"


def _mark(run: RunView, frame: plots.Frame, r: Result, truth: str) -> str:
    return _dot(frame.px(r.cost), frame.py(r.accuracy), r, plots.mark(r.model.role), _tip(run, r, truth))


def _arrow(run: RunView, frame: plots.Frame, r: Result, truth: str) -> str:
    """A network below the plot."""
    return _dot(frame.px(r.cost), frame.height - plots.BOTTOM - 5, r, '<path d="M-4-3H4L0 4Z"/>', _tip(run, r, truth))


def _dot(x: float, y: float, r: Result, shape: str, tip: str) -> str:
    return (
        f'<g class="dot {_kind(r)} {r.length}" tabindex="0" data-tip="{escape(tip)}" '
        f'transform="translate({x:g} {y:g})">{shape}</g>'
    )


def _tip(run: RunView, r: Result, truth: str) -> str:
    m = r.model
    lines = [m.name + ("" if m.chosen else f", {LEGEND.get(m.role, m.role)}")]
    lines.append(f"{metrics.label(truth)} {percent(r.accuracy)} ({interval(r.low, r.high, 1)})")
    lines.append(", ".join(f"{show(name, v)} {what}".strip() for name, v, what in _costs(m) if v is not None))
    if r.supernet:
        lines.append("with the supernet's weights")
    elif m.steps is not None:
        epochs = epochs_of(m.steps, run.trust)
        lines.append(f"trained for {m.steps:,} steps" + (f" ({show_epochs(epochs)} epochs)" if epochs else ""))
    if r.length == EARLY:
        lines.append("stopped after the first round")
    return "\n".join(lines)


def _costs(m: Model) -> Iterator[tuple[str, float | None, str]]:
    yield "cost/macs", m.macs, "MACs"
    yield "cost/params", m.params, "parameters"
    yield "latency/ms", m.latency, ""


def _names(
    run: RunView, frame: plots.Frame, shown: Sequence[Result], below: Sequence[Result], limit: Sequence[float]
) -> str:
    """Names of networks, with their epochs where lengths differ: models first, then controls."""
    wanted = []
    for r in sorted(shown, key=lambda r: (not r.model.recommended, not r.model.chosen, r.model.candidate, -r.accuracy)):
        epochs = epochs_of(r.model.steps, run.trust) if some_went_on(run) and not r.supernet else None
        text = r.model.name + (f", {show_epochs(epochs)} epochs" if epochs else "")
        y, top, bottom = (frame.py(v) for v in (r.accuracy, r.high, r.low))
        wanted.append(Name(frame.px(r.cost), y, text, r.model.name, r.model.chosen, top=y - top, bottom=bottom - y))
    taken = [mark_box(frame.px(r.cost), frame.py(r.accuracy)) for r in shown]
    for r in shown:  # near the end of another's interval, a name would seem to be of that one
        x, top, bottom = frame.px(r.cost), frame.py(r.high) - INTERVAL_END, frame.py(r.low) + INTERVAL_END
        taken.append(Box(x - 3, top, x + 3, bottom))
    taken += [mark_box(frame.px(r.cost), frame.height - plots.BOTTOM - 5) for r in below]
    taken += [Box(frame.px(v) - 0.5, plots.TOP, frame.px(v) + 0.5, frame.height - plots.BOTTOM) for v in limit]
    return names(wanted, taken, frame.inside)


# --- words ------------------------------------------------------------------------------------------------------------


def _about(run: RunView, truth: str, cost: str, found: Sequence[Result], below: Sequence[Result]) -> list[str]:
    """What the plot shows, what to keep in mind, and what it leaves out."""
    split, images = ("test" if truth == TEST else "validation"), _images(run, truth)
    on, over = (f"{images:,} {split} images", "these images") if images else (f"{split} images", "images")
    cost_name = metrics.label(cost)
    said = [f"Accuracy of the finished networks on {on}, with 95 % intervals over {over}, against {cost_name}."]
    if truth == VALID:
        said.append("Nothing was tested yet. The best of many by validation images looks better than it is.")
    if some_went_on(run):
        said.append("Networks were not trained for equally long: compare only marks that are filled alike.")
    return [*said, *_supernets(found), *_below(below), *_left_out(run, truth, cost_name, found)]


def _supernets(found: Sequence[Result]) -> Iterator[str]:
    """Which of them have the supernet's weights."""
    by_supernet = [r.model.name for r in found if r.supernet]
    if by_supernet:
        one, every = len(by_supernet) == 1, len(by_supernet) == len(found)
        who = "All of them" if every and not one else capital(listed(by_supernet))
        have, own = ("has", "its") if one else ("have", "their")
        yield f"{who} {have} the supernet's weights, not weights of a training of {own} own."


def _below(below: Sequence[Result]) -> Iterator[str]:
    """Networks that are arrows."""
    told = listed([f"{r.model.name} ({percent(r.accuracy)})" for r in below])
    if len(below) > MOST_NAMED:
        told = f"{capital(number(len(below)))} networks that stopped early"
    if below:
        lie = "lies below the plot, at the arrow" if len(below) == 1 else "lie below the plot, at the arrows"
        yield f"{told} {lie}."


def _left_out(run: RunView, truth: str, cost_name: str, found: Sequence[Result]) -> Iterator[str]:
    """Networks without the cost of the plot."""
    drawn = {r.model.name for r in found}
    missing = [m.name for m in run.models if m.name not in drawn and not m.failed and _accuracy(m, truth) is not None]
    if missing:
        have, them = ("has", "it") if len(missing) == 1 else ("have", "them")
        who = listed(missing) if len(missing) <= MOST_NAMED else count(len(missing), "network")
        yield f"{capital(who)} {have} no measured {cost_name}, so the plot leaves {them} out."


def _images(run: RunView, truth: str) -> int | None:
    """How many images an accuracy is over."""
    tested = run.trust.get("test_images") if truth == TEST else None
    return tested or run.splits.get(truth.partition("/")[0])


def _accuracy(m: Model, truth: str) -> float | None:
    return m.accuracy if truth == TEST else m.trained.get(truth)


def _marks(found: Sequence[Result]) -> list[tuple[str, str, str]]:
    """(style, mark, name) of every role in the plot, models first."""
    roles: Mapping[str, str] = {r.model.role: _kind(r) for r in reversed(found)}
    return [(f"{kind} full", plots.mark(role), LEGEND.get(role, role)) for role, kind in roles.items()]


def _lengths(run: RunView, found: Sequence[Result]) -> list[tuple[str, str, str]]:
    """(style, mark, words) of how long networks were trained; nothing if all were trained alike."""
    if not some_went_on(run):
        return []
    take = next((r.model.name for r in found if r.model.recommended), "the longest")
    words = {
        FULL: f"trained for at least half as many steps as {take}",
        PARTLY: "trained for longer than the first round, but less than that",
        EARLY: "stopped after the first round",
    }
    there = {r.length for r in found}
    return [(f"other {length}", plots.DOT, text) for length, text in words.items() if length in there]
