"""Plots that studies need beside those of `plots`: points over named places, matrices, scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

from . import svg as plots
from .summary_text import signed

COLOURS = 8  # variants that can be told apart in one plot; more begin again, dashed
WIDTH, HEIGHT = 420, 260


@dataclass(frozen=True)
class Series:
    """Means and standard deviations at named places; NaN where nothing is known."""

    name: str
    style: str
    means: Sequence[float]
    sds: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """A plot and the words under it."""

    caption: str
    svg: str


def style_of(number: int) -> str:
    """The colour of a variant, by its number in the figure."""
    return f"v{number % COLOURS}" + (" dashed" if number >= COLOURS else "")


def categories(series: Sequence[Series], places: Sequence[str], label: str, *, zero: bool, joined: bool = True) -> str:
    """Points over named places, each with the spread over seeds; joined by lines where places have an order."""
    across = plots.Axis("", -0.4, len(places) - 0.6, tuple(range(len(places))), lambda v: places[round(v)])
    reach = [b for s in series for m, d in zip(s.means, s.sds, strict=True) for b in _ends(m, d)]
    frame = plots.Frame(across, plots.axis([*reach, *([0.0] if zero else [])], label, n=5), WIDTH, HEIGHT)
    body = ""
    if zero and frame.y.low < 0 < frame.y.high:
        y = frame.py(0)
        body += f'<line class="zero" x1="{frame.left}" x2="{frame.width - plots.RIGHT}" y1="{y:g}" y2="{y:g}"/>'
    shift = 0.36 / max(1, len(series) - 1) if len(series) > 1 else 0.0  # so that spreads do not cover one another
    for i, s in enumerate(series):
        body += _line(frame, s, places, shift * i - (0.18 if shift else 0), label, joined)
    return frame.svg(body, f"{label} of {', '.join(s.name for s in series)}")


def matrix(values: Sequence[Sequence[float]], labels: Sequence[str]) -> str:
    """Numbers from 0 to 1 as squares, the darker the larger; rows and columns have the same labels."""
    n, resolution = len(labels), WIDTH
    left, cell = 90, (resolution - 100) / max(1, len(labels))
    out = []
    for i, row in enumerate(values):
        y = 8 + i * cell
        out.append(f'<text class="tick end" x="{left - 6}" y="{y + cell / 2 + 3:.1f}">{escape(labels[i])}</text>')
        for j, v in enumerate(row):
            x = left + j * cell
            tip = f"{labels[i]} and {labels[j]}\n{v:.3f}"
            out.append(
                f'<rect class="heat" x="{x:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" height="{cell - 1:.1f}" '
                f'fill-opacity="{max(0.0, min(1.0, v)):.3f}" data-tip="{escape(tip)}"/>'
            )
            if n <= 7:
                style, at = "inside dark" if v > 0.55 else "inside", (x + cell / 2, y + cell / 2 + 3)
                text = signed(f"{round(v, 2) + 0.0:.2f}")  # no minus before a zero
                out.append(f'<text class="{style}" x="{at[0]:.1f}" y="{at[1]:.1f}">{text}</text>')
    bottom = 8 + n * cell
    for j, label in enumerate(labels):
        x = left + (j + 0.5) * cell
        out.append(f'<text class="tick mid" x="{x:.1f}" y="{bottom + 14:.1f}">{escape(label)}</text>')
    return (
        f'<svg class="plot" viewBox="0 0 {resolution} {bottom + 20:.0f}" role="img" '
        f'aria-label="similarity of {escape(", ".join(labels))}">{"".join(out)}</svg>'
    )


def _ends(mean: float, sd: float) -> tuple[float, float]:
    reach = sd if isfinite(sd) else 0.0
    return mean - reach, mean + reach


def _line(frame: plots.Frame, s: Series, places: Sequence[str], shift: float, label: str, joined: bool) -> str:
    known = [(i, m, d) for i, (m, d) in enumerate(zip(s.means, s.sds, strict=True)) if isfinite(m)]
    at = [(frame.px(i + shift), frame.py(m)) for i, m, _ in known]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in at) if at else ""
    out = [f'<path class="way" d="{path}"/>'] if joined else []
    for (x, y), (i, m, d) in zip(at, known, strict=True):
        low, high = _ends(m, d)
        tip = f"{s.name}, {places[i]}\n{label} {signed(f'{m:.3f}')}" + (f" ± {d:.3f}" if isfinite(d) and d else "")
        out.append(
            f'<path d="M{x:g} {frame.py(low):g}V{frame.py(high):g}"/>'
            f'<circle cx="{x:g}" cy="{y:g}" r="3.2" tabindex="0" data-tip="{escape(tip)}"/>'
        )
    return f'<g class="series {escape(s.style)}">{"".join(out)}</g>'


def scatter(points: Sequence[Sequence[float]], score: str, style: str) -> str:
    """Truth over prediction."""
    return clouds([(style, [(p[1], p[0]) for p in points])], f"predicted {score}", "truth, %")


def clouds(groups: Sequence[tuple[str, Sequence[tuple[float, float]]]], x: str, y: str) -> str:
    """Points (x, y) of several series, each with its style."""
    every = [p for _, points in groups for p in points]
    across, up = plots.axis((p[0] for p in every), x, n=5), plots.axis((p[1] for p in every), y, n=5)
    frame = plots.Frame(across, up, WIDTH, HEIGHT)
    body = "".join(f'<g class="series {style}">{plots.cloud(frame, list(points))}</g>' for style, points in groups)
    return frame.svg(body, f"{y.partition(',')[0]} against {x} of {len(every)} networks")
