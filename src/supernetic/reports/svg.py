"""Plots as SVG text: axes with round ticks, points, lines, bars, intervals. Colours come from the page's style.

Coordinates are in units of the view box. The page scales a plot to its width and sets the size of its text, which on a
narrow screen is nearly twice as large against the plot: margins and distances are made for that. Texts are escaped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10

from ..objective import show_quantity
from .labels import Box, Name, mark_box, names

LEFT, RIGHT, TOP, BOTTOM = 44, 10, 24, 42
HOVER = 40  # points of a line that answer to a pointer, at most

Show = Callable[[float], str]


@dataclass(frozen=True)
class Axis:
    """A linear axis that covers some values, with round ticks."""

    label: str
    low: float
    high: float
    ticks: tuple[float, ...]
    show: Show
    descending: bool = False  # runs from high to low, so that what is better lies up or to the right

    def share(self, value: float) -> float:
        """Where a value lies: 0 where the axis begins, 1 where it ends."""
        share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.descending else share


def axis(
    values: Iterable[float],
    label: str = "",
    show: Show | None = None,
    *,
    n: int = 5,
    pad: float = 0.04,
    descending: bool = False,
) -> Axis:
    """An axis for these values, a little wider than they are."""
    known = [v for v in values if isfinite(v)] or [0.0, 1.0]
    low, high = min(known), max(known)
    spread = (high - low) or abs(high) * 0.1 or 1.0
    low, high = low - pad * spread, high + pad * spread
    if low == high:
        low, high = low - spread / 2, high + spread / 2
    at = ticks(low, high, n)
    return Axis(label, low, high, at, show or _alike(at), descending)


def ticks(low: float, high: float, n: int = 5) -> tuple[float, ...]:
    """About `n` multiples of 1, 2 or 5 times a power of ten within the range."""
    raw = (high - low) / max(n, 1)
    power = 10.0 ** floor(log10(raw))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(log10(s / raw)))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return tuple(round(i * step, 12) for i in range(first, last + 1))


def _alike(at: Sequence[float]) -> Show:
    """Ticks below 1,000 with as many decimals as the finest of them needs."""
    digits = max((len(f"{v:.6g}".partition(".")[2]) for v in at if "e" not in f"{v:.6g}"), default=0)

    def shown(value: float) -> str:
        return plain(value) if abs(value) >= 1000 else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")

    return shown


def plain(value: float) -> str:
    """A tick: 12.5M, 0.25, -3."""
    return show_quantity(round(value, 10)).replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class Frame:
    """A plot's axes and size."""

    x: Axis
    y: Axis
    width: int = 560
    height: int = 340
    left: int = LEFT

    def px(self, value: float) -> float:
        """Horizontal place of a value."""
        return round(self.left + self.x.share(value) * (self.width - self.left - RIGHT), 1)

    def py(self, value: float) -> float:
        """Vertical place of a value."""
        return round(self.height - BOTTOM - self.y.share(value) * (self.height - TOP - BOTTOM), 1)

    @property
    def inside(self) -> Box:
        """Where names may stand: between the axes, and a little beyond on the right, where no tick is."""
        return Box(self.left + 2, TOP - 6, self.width, self.height - BOTTOM - 1)

    def axes(self) -> str:
        """Grid, ticks and labels."""
        bottom, right = self.height - BOTTOM, self.width - RIGHT
        rows = [
            f'<line class="grid" x1="{self.left}" x2="{right}" y1="{self.py(v):g}" y2="{self.py(v):g}"/>'
            f'<text class="tick end" x="{self.left - 6}" y="{self.py(v) + 3:g}">{escape(self.y.show(v))}</text>'
            for v in self.y.ticks
        ]
        columns = [
            f'<text class="tick mid{" odd" if i % 2 else ""}" x="{self.px(v):g}" y="{bottom + 16}">'
            f"{escape(self.x.show(v))}</text>"
            for i, v in enumerate(self.x.ticks)
        ]
        labels = [
            f'<line class="axis" x1="{self.left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>',
            f'<text class="label end" x="{right}" y="{self.height - 6}">{escape(self.x.label)}</text>',
            f'<text class="label" x="0" y="12">{escape(self.y.label)}</text>',
        ]
        return "".join([*rows, *columns, *labels])

    def svg(self, body: str, title: str, name: str = "", *, role: str = "img") -> str:
        """The whole plot; `title` says in words what it shows."""
        known = f' id="{escape(name)}"' if name else ""
        return (
            f'<svg class="plot"{known} viewBox="0 0 {self.width} {self.height}" role="{role}" '
            f'aria-label="{escape(title)}">{self.axes()}{body}</svg>'
        )


@dataclass(frozen=True)
class Dot:
    """A point that says something; `style` is a class of the page's style, which also gives its shape."""

    x: float
    y: float
    tip: str
    style: str = ""
    label: str = ""


SHAPES = {  # around 0, 0
    "random": '<circle r="4"/>',
    "largest": '<rect x="-4" y="-4" width="8" height="8"/>',
    "mobilenet": '<path d="M0-5 5 4H-5Z"/>',
    "plain": '<path d="M-5-3H5V3H-5Z"/>',
    "resnet": '<path d="M-3-5H3V5H-3Z"/>',
    "baseline": '<path d="M0-5.5 5.5 0 0 5.5-5.5 0Z"/>',
    "timm": '<path d="M0 5 5-4H-5Z"/>',
}
DOT = '<circle r="4.5"/>'


def mark(style: str) -> str:
    """The shape of a role, also for legends."""
    return SHAPES.get(style, DOT)


def dots(frame: Frame, points: Sequence[Dot]) -> str:
    """Points with their names beside them, where there is room."""
    places = [(frame.px(p.x), frame.py(p.y)) for p in points]
    marks = [
        f'<g class="dot {escape(p.style)}" tabindex="0" data-tip="{escape(p.tip)}" '
        f'transform="translate({x:g} {y:g})">{mark(p.style)}</g>'
        for p, (x, y) in zip(points, places, strict=True)
    ]
    wanted = [Name(x, y, p.label, must=True) for p, (x, y) in zip(points, places, strict=True) if p.label]
    return "".join(marks) + (names(wanted, [mark_box(x, y) for x, y in places], frame.inside) if wanted else "")


def cloud(frame: Frame, points: Sequence[tuple[float, float]]) -> str:
    """Many points as one path, at a dozen bytes each."""
    path = "".join(f"M{frame.px(x):g} {frame.py(y):g}h0" for x, y in points)
    return f'<path class="cloud" d="{path}"/>'


def stairs(frame: Frame, points: Sequence[tuple[float, float]], style: str = "") -> str:
    """The border of what a front dominates, from its points in the order of their cost."""
    if not points:
        return ""
    path = f"M{frame.px(points[0][0]):g} {frame.py(points[0][1]):g}"
    path += "".join(f"H{frame.px(x):g}V{frame.py(y):g}" for x, y in points[1:])
    return f'<path class="stairs {escape(style)}" d="{path}"/>'


@dataclass(frozen=True)
class Line:
    """A named series."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    style: str = ""


def lines(
    series: Sequence[Line], x_label: str, y_label: str, title: str, *, width: int = 560, height: int = 230, n: int = 5
) -> str:
    """Lines over a common horizontal axis, each named at its end if there are several."""
    frame = Frame(
        axis((x for s in series for x in s.xs), x_label, n=n, pad=0.02),
        axis((y for s in series for y in s.ys), y_label, n=3, pad=0.06),
        width,
        height,
    )
    return frame.svg("".join(line(frame, s, x_label, y_label) for s in series), title)


def line(frame: Frame, series: Line, x_label: str = "", y_label: str = "") -> str:
    """A line and some points on it that answer to a pointer."""
    places = [(frame.px(x), frame.py(y)) for x, y in zip(series.xs, series.ys, strict=True) if isfinite(y)]
    known = [(x, y) for x, y in zip(series.xs, series.ys, strict=True) if isfinite(y)]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in places) if places else ""
    every = max(1, ceil(len(places) / HOVER))
    told = sorted({*range(0, len(places), every), len(places) - 1} if places else ())
    spots = "".join(
        f'<circle class="spot" cx="{places[i][0]:g}" cy="{places[i][1]:g}" r="5" '
        f'data-tip="{escape(_tip(series.name, known[i], x_label, y_label))}"/>'
        for i in told
    )
    style = escape(series.style)
    return f'<g class="line {style}"><path d="{path}"/>{spots}</g>'


def _tip(name: str, point: tuple[float, float], x_label: str, y_label: str) -> str:
    x, y = point
    head = f"{name}\n" if name else ""
    return f"{head}{x_label} {x:,.6g}\n{y_label} {y:.5g}"


def histogram(
    values: Sequence[float],
    label: str,
    title: str,
    marks: Sequence[tuple[float, str]] = (),
    *,
    descending: bool = False,
    reach: Sequence[float] = (),
    height: int = 230,
    width: int = 560,
    style: str = "",
) -> str:
    """How often values occur; marks are vertical lines with names. The axis covers `reach` too, if it is given."""
    span = axis([*values, *reach, *(m for m, _ in marks)], label, n=6, descending=descending)
    edges = _edges(values, span)
    counts = [0] * (len(edges) - 1)
    for v in values:
        counts[min(len(counts) - 1, bisect_right(edges, v) - 1)] += 1
    frame = Frame(span, axis([0, max(counts, default=1) * 1.12], "networks", n=3, pad=0), width, height)
    bars = []
    for (low, high), c in zip(pairwise(edges), counts, strict=True):
        x0, x1 = sorted((frame.px(max(low, span.low)), frame.px(min(high, span.high))))
        if c:
            tip = f"{c} {'network' if c == 1 else 'networks'}\n{plain_range(low)} to {plain_range(high)}"
            bars.append(
                f'<rect class="bar" x="{x0 + 0.5:g}" width="{max(1.0, x1 - x0 - 1):g}" y="{frame.py(c):g}" '
                f'height="{frame.py(0) - frame.py(c):g}" data-tip="{escape(tip)}"/>'
            )
    bars = [f'<g class="series {escape(style)}">{"".join(bars)}</g>'] if style else bars
    for i, (value, name) in enumerate(marks):
        x, far = frame.px(value), frame.px(value) > frame.width - 90
        bars.append(
            f'<line class="mark" x1="{x:g}" x2="{x:g}" y1="{TOP}" y2="{frame.py(0):g}"/>'
            f'<text class="name{" end" if far else ""}" x="{x + (-4 if far else 4):g}" y="{TOP + 9 + 18 * i}">'
            f"{escape(name)}</text>"
        )
    return frame.svg("".join(bars), title)


def _edges(values: Sequence[float], span: Axis) -> list[float]:
    """Edges of the bars of a histogram, over all of an axis.

    Where values are multiples of something, as accuracies on few images are, every bar has room for as many of them:
    else some bars would stand out that mean nothing.
    """
    n = max(5, min(40, round(len(values) ** 0.5 * 1.6)))
    low, step = span.low, (span.high - span.low) / n
    known = sorted({round(v, 6) for v in values})
    grain = min((b - a for a, b in pairwise(known)), default=0.0)
    if grain and all(abs((v - known[0]) / grain - round((v - known[0]) / grain)) < 0.01 for v in known):
        step = grain * max(1, round(step / grain))
        first = known[0] - grain / 2
        low = first - step * ceil((first - low) / step)
    return [low + i * step for i in range(ceil((span.high - low) / step) + 1)]


def plain_range(value: float) -> str:
    """An edge of a bar."""
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class Difference:
    """A value with its interval; `verdict` is won, lost or open."""

    group: str
    name: str
    value: float
    low: float
    high: float
    verdict: str
    tip: str


def intervals(rows: Sequence[Difference], label: str, title: str, *, row: int = 22, left: int = 130) -> str:
    """Differences and their intervals, one below the other in named groups, around a line at 0."""
    groups = list(dict.fromkeys(r.group for r in rows))
    frame = Frame(
        axis([0.0, *(v for r in rows for v in (r.low, r.high, r.value))], label, _signed, n=5),
        Axis("", 0, 1, (), plain),
        height=BOTTOM + row * (len(rows) + len(groups)),
        left=left,
    )
    zero, bottom = frame.px(0), frame.height - BOTTOM
    out = [f'<line class="zero" x1="{zero:g}" x2="{zero:g}" y1="0" y2="{bottom}"/>']
    y = 0.0
    for group in groups:
        out.append(f'<text class="name" x="0" y="{y + row * 0.75:g}">{escape(group)}</text>')
        y += row
        for r in (r for r in rows if r.group == group):
            out.append(_interval(frame, r, y, row))
            y += row
    return frame.svg("".join(out), title)


def _interval(frame: Frame, r: Difference, top: float, row: int) -> str:
    y = top + row / 2
    a, b, at = frame.px(r.low), frame.px(r.high), frame.px(r.value)
    return (
        f'<g class="interval {escape(r.verdict)}" tabindex="0" data-tip="{escape(r.tip)}">'
        f'<rect class="hit" x="0" y="{top:g}" width="{frame.width}" height="{row}"/>'
        f'<text class="tick" x="10" y="{y + 4:g}">{escape(r.name)}</text>'
        f'<path d="M{a:g} {y:g}H{b:g}M{a:g} {y - 3:g}v6M{b:g} {y - 3:g}v6"/>'
        f'<circle cx="{at:g}" cy="{y:g}" r="3.6"/></g>'
    )


def _signed(value: float) -> str:
    return plain(value) if value <= 0 else "+" + plain(value)
