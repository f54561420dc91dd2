"""The figures of a study: what each kind of measure draws, from the study's record alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

from . import plots
from .words import signed

COLOURS = 8  # variants that can be told apart in one plot; more begin again, dashed
WIDTH, HEIGHT = 420, 260

Record = Mapping[str, Any]
NAMES = {
    "tau": "tau",
    "tau_b": "tau-b",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "score": "mean predicted",
    "usage": "share of networks",
    "share": "share of edges",
    "share5": "occurrences by operations",
}


@dataclass(frozen=True)
class Plot:
    """A plot and the words under it."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Series:
    """Means and standard deviations at named places; NaN where nothing is known."""

    name: str
    style: str
    means: Sequence[float]
    sds: Sequence[float]


def style_of(number: int) -> str:
    """The colour of a variant, by its number in the figure."""
    return f"v{number % COLOURS}" + (" dashed" if number >= COLOURS else "")


def figure_plots(record: Record, figure: Record) -> list[Plot]:
    """All plots of a figure."""
    draw: Callable[[Record, Record], Iterator[Plot]] = DRAW.get(record["measure"]["kind"], _ranking)
    return list(draw(record, figure))


# --- kinds ------------------------------------------------------------------------------------------------------------


def _ranking(record: Record, figure: Record) -> Iterator[Plot]:
    """Metrics over the sets of networks, and a scatter where points were kept."""
    places = _places(record)
    score = record["measure"].get("score", "valid/accuracy").partition("/")[2].replace("_", "-")
    for metric in figure["metrics"] or ("tau", "score"):
        label = f"{NAMES['score']} {score}" if metric == "score" else NAMES.get(metric, metric)
        series = _series(record, figure["variants"], [f"{metric}@{p}" for p in places])
        unit = ", minus" if metric == "score" and "cross" in score else ""
        yield Plot(f"{label}{unit} in the top N", categories(series, places, label, zero=metric != "score"))
    for number, variant in enumerate(figure["variants"]):
        points = [p for m in record["measured"] if m["variant"] == variant for p in m["details"].get("points", ())]
        if points:
            yield Plot(f"{variant}: every point is a network", _scatter(points, score, style_of(number)))


def _usage(record: Record, figure: Record) -> Iterator[Plot]:
    """Operations over N, for every variant."""
    for variant in figure["variants"]:
        values = _summary(record, variant)
        operations = next(m["details"]["operations"] for m in record["measured"] if m["variant"] == variant)
        for what in figure["metrics"] or ("usage", "share"):
            places = list(dict.fromkeys(k.rpartition("@")[2] for k in values if k.startswith(f"{what}/")))
            series = [
                Series(op, style_of(i), [_of(values, f"{what}/{op}@{p}") for p in places], [0.0] * len(places))
                for i, op in enumerate(operations)
            ]
            named = f"{variant}: " if len(figure["variants"]) > 1 else ""
            yield Plot(f"{named}{NAMES[what]} in the top N", categories(series, places, NAMES[what], zero=True))


DRAW: dict[str, Callable[[Record, Record], Iterator[Plot]]] = {"ranking": _ranking, "usage": _usage}


def legend(record: Record, figure: Record) -> list[tuple[str, str]]:
    """(style, name) of what a figure's colours mean."""
    names = figure["variants"]
    if record["measure"]["kind"] == "usage":
        names = list(dict.fromkeys(op for m in record["measured"] for op in m["details"]["operations"]))
    return [(style_of(i), name) for i, name in enumerate(names)]


# --- numbers ----------------------------------------------------------------------------------------------------------


def _summary(record: Record, variant: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = record["table"].get(variant, {})
    return found


def _of(values: Mapping[str, Any], metric: str, what: str = "mean") -> float:
    number = (values.get(metric) or {}).get(what)
    return float("nan") if number is None else float(number)


def _places(record: Record) -> list[str]:
    """The sets of networks, in the order of their sizes."""
    metrics = (k for values in record["table"].values() for k in values)
    found = dict.fromkeys(k.removeprefix("tau@") for k in metrics if k.startswith("tau@"))
    return list(found)


def _series(record: Record, variants: Sequence[str], metrics: Sequence[str]) -> list[Series]:
    return [
        Series(
            variant,
            style_of(i),
            [_of(_summary(record, variant), m) for m in metrics],
            [_of(_summary(record, variant), m, "sd") for m in metrics],
        )
        for i, variant in enumerate(variants)
    ]


# --- drawing ----------------------------------------------------------------------------------------------------------


def categories(series: Sequence[Series], places: Sequence[str], label: str, *, zero: bool) -> str:
    """Lines over named places, each point with the spread over seeds."""
    across = plots.Axis("", -0.4, len(places) - 0.6, tuple(range(len(places))), lambda v: places[round(v)])
    reach = [b for s in series for m, d in zip(s.means, s.sds, strict=True) for b in _ends(m, d)]
    frame = plots.Frame(across, plots.axis([*reach, *([0.0] if zero else [])], label, n=5), WIDTH, HEIGHT)
    body = ""
    if zero and frame.y.low < 0 < frame.y.high:
        y = frame.py(0)
        body += f'<line class="zero" x1="{frame.left}" x2="{frame.width - plots.RIGHT}" y1="{y:g}" y2="{y:g}"/>'
    shift = 0.36 / max(1, len(series) - 1) if len(series) > 1 else 0.0  # so that spreads do not cover one another
    for i, s in enumerate(series):
        body += _line(frame, s, places, shift * i - (0.18 if shift else 0), label)
    return frame.svg(body, f"{label} of {', '.join(s.name for s in series)}")


def _ends(mean: float, sd: float) -> tuple[float, float]:
    reach = sd if isfinite(sd) else 0.0
    return mean - reach, mean + reach


def _line(frame: plots.Frame, s: Series, places: Sequence[str], shift: float, label: str) -> str:
    known = [(i, m, d) for i, (m, d) in enumerate(zip(s.means, s.sds, strict=True)) if isfinite(m)]
    at = [(frame.px(i + shift), frame.py(m)) for i, m, _ in known]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in at) if at else ""
    out = [f'<path class="way" d="{path}"/>']
    for (x, y), (i, m, d) in zip(at, known, strict=True):
        low, high = _ends(m, d)
        tip = f"{s.name}, {places[i]}\n{label} {signed(f'{m:.3f}')}" + (f" ± {d:.3f}" if isfinite(d) and d else "")
        out.append(
            f'<path d="M{x:g} {frame.py(low):g}V{frame.py(high):g}"/>'
            f'<circle cx="{x:g}" cy="{y:g}" r="3.2" tabindex="0" data-tip="{escape(tip)}"/>'
        )
    return f'<g class="series {escape(s.style)}">{"".join(out)}</g>'


def _scatter(points: Sequence[Sequence[float]], score: str, style: str) -> str:
    frame = plots.Frame(
        plots.axis((p[1] for p in points), f"predicted {score}", n=5),
        plots.axis((p[0] for p in points), "truth, %", n=5),
        WIDTH,
        HEIGHT,
    )
    body = f'<g class="series {style}">{plots.cloud(frame, [(p[1], p[0]) for p in points])}</g>'
    return frame.svg(body, f"truth against predicted {score} of {len(points)} networks")
