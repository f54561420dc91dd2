"""Draw the pictures of the concept pages: `python docs/drawings.py` writes docs/pictures/*.svg.

The numbers in them are computed: the networks of the example of the exact sampler are counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import product
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
INK, SOFT, LINE = "#1f2933", "#5b6770", "#9aa5b1"
TEAL, AMBER, ROSE, BLUE, GREY = "#8fd3c8", "#f6cf8b", "#f2b0a7", "#a9c8ef", "#e4e7eb"
FONT = "font-family='system-ui, sans-serif'"

OPTIONS = (("3x3", 3), ("5x5", 5), ("skip", 0))  # of each of three layers in the example, with its cost
LAYERS, WINDOW = 3, (6, 8)


class Picture:
    """An SVG that is put together piece by piece."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size, self.title = (width, height), title
        self.pieces: list[str] = []

    def box(self, x: float, y: float, w: float, h: float, fill: str = GREY, *, dashed: bool = False) -> None:
        """A rectangle."""
        dash = " stroke-dasharray='4 3'" if dashed else ""
        self.pieces.append(
            f"<rect x='{x:g}' y='{y:g}' width='{w:g}' height='{h:g}' rx='4' fill='{fill}' stroke='{SOFT}'{dash}/>"
        )

    def text(self, x: float, y: float, words: str, size: int = 13, colour: str = INK, *, middle: bool = True) -> None:
        """A line of text."""
        anchor = "middle" if middle else "start"
        self.pieces.append(
            f"<text x='{x:g}' y='{y:g}' font-size='{size}' fill='{colour}' "
            f"text-anchor='{anchor}'>{escape(words)}</text>"
        )

    def label(self, x: float, y: float, w: float, h: float, words: str, fill: str = GREY, note: str = "") -> None:
        """A box with a name and, below it, a few smaller words."""
        self.box(x, y, w, h, fill)
        self.text(x + w / 2, y + h / 2 + (-2 if note else 5), words, 14)
        if note:
            self.text(x + w / 2, y + h / 2 + 15, note, 11, SOFT)

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = SOFT, width: float = 1.5) -> None:
        """A line with a head."""
        self.pieces.append(
            f"<line x1='{x1:g}' y1='{y1:g}' x2='{x2:g}' y2='{y2:g}' stroke='{colour}' stroke-width='{width:g}' "
            "marker-end='url(#head)'/>"
        )

    def svg(self) -> str:
        """The file."""
        width, height = self.size
        head = (
            "<defs><marker id='head' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' "
            f"orient='auto'><path d='M0 0 L8 4 L0 8 z' fill='{SOFT}'/></marker></defs>"
        )
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' {FONT} role='img'>"
            f"<title>{escape(self.title)}</title>{head}\n" + "\n".join(self.pieces) + "\n</svg>\n"
        )


def nouns() -> Picture:
    """How the nouns hang together."""
    p = Picture(760, 330, "Space, architecture, blueprint, costs, supernet, evaluator, searcher and run")
    p.label(20, 30, 140, 54, "space", TEAL, "choices and rules")
    p.label(220, 30, 140, 54, "architecture", TEAL, "(2, 0, 1, ...)")
    p.label(420, 30, 140, 54, "blueprint", TEAL, "one record a layer")
    p.label(610, 30, 130, 54, "costs", GREY, "MACs, params, ms")
    p.arrow(160, 57, 216, 57)
    p.arrow(360, 57, 416, 57)
    p.arrow(560, 57, 606, 57)
    p.label(20, 138, 140, 54, "supernet", AMBER, "one set of weights")
    p.label(420, 138, 140, 54, "network", AMBER, "a torch module")
    p.label(220, 138, 140, 54, "sampler", BLUE, "paths of a step")
    p.arrow(90, 84, 90, 134)
    p.arrow(490, 84, 490, 134)
    p.arrow(220, 165, 164, 165)
    p.label(220, 246, 140, 54, "searcher", BLUE, "what to ask next")
    p.label(420, 246, 140, 54, "evaluator", BLUE, "arch in, metrics out")
    p.label(20, 246, 140, 54, "run", GREY, "every file of a job")
    p.label(610, 246, 130, 54, "model", AMBER, "weights, ONNX, card")
    p.arrow(360, 264, 416, 264)
    p.arrow(420, 284, 364, 284)
    p.arrow(220, 273, 164, 273)
    p.arrow(490, 192, 490, 242)
    p.arrow(560, 165, 640, 242)
    p.text(388, 258, "archs", 10, SOFT)
    p.text(392, 298, "trials", 10, SOFT)
    return p


def _kernel(p: Picture, x: float, y: float, inner: int, outer: int, step: float = 13) -> None:
    for i, j in product(range(outer), range(outer)):
        edge = (outer - inner) / 2
        used = edge <= i < outer - edge and edge <= j < outer - edge
        p.box(x + i * step, y + j * step, step, step, TEAL if used else GREY)


def _channels(p: Picture, x: float, y: float, n: int, used: range, fill: str = TEAL) -> None:
    for c in range(n):
        p.box(x + c * 22, y, 18, 46, fill if c in used else GREY)


def choice() -> Picture:
    """Weights by choice."""
    p = Picture(720, 210, "Sharing by choice: every option of a layer has weights of its own")
    for i in range(3):
        x = 130 + i * 200
        p.text(x + 60, 22, f"layer {i + 1}", 13, SOFT)
        for j, (name, fill) in enumerate((("3x3", TEAL), ("5x5", AMBER), ("skip", "#fff"))):
            p.label(x, 36 + j * 54, 120, 40, name, fill)
    p.text(60, 110, "image", 13)
    for x1, y1, x2, y2 in ((86, 106, 126, 60), (250, 60, 326, 110), (450, 110, 526, 60), (650, 60, 700, 60)):
        p.arrow(x1, y1, x2, y2, "#0f766e", 2.5)
    p.text(360, 204, "path (3x3, 5x5, 3x3): a step trains the weights on it, and no others", 13)
    return p


def cell() -> Picture:
    """Weights by edge of a cell."""
    p = Picture(720, 250, "Sharing by cell: the same operation on the same edge of the same cell")
    places = {0: (70, 120), 1: (270, 50), 2: (270, 195), 3: (470, 120)}
    names = {(0, 1): "3x3", (0, 2): "1x1", (1, 2): "none", (0, 3): "skip", (1, 3): "3x3", (2, 3): "pool"}
    for (a, b), name in names.items():
        (x1, y1), (x2, y2) = places[a], places[b]
        colour = {"3x3": "#0f766e", "1x1": "#b45309"}.get(name, LINE)
        across = (x2 - x1) / max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
        p.arrow(x1 + 20 * across, y1, x2 - 22 * across, y2 - (22 if a == 1 and b == 2 else 0), colour, 2)
        aside = {(1, 2): 24, (0, 3): -100}.get((a, b), 0)
        p.text((x1 + x2) / 2 + aside, (y1 + y2) / 2 - (30 if a == 1 and b == 2 else 6), name, 12)
    for n, (x, y) in places.items():
        p.box(x - 18, y - 18, 36, 36, TEAL if n else GREY)
        p.text(x, y + 5, str(n), 14)
    p.text(610, 80, "edge 0-1 of this cell:", 12, SOFT)
    for j, (name, fill) in enumerate((("3x3 weights", TEAL), ("1x1 weights", AMBER), ("others: no weights", "#fff"))):
        p.label(520, 92 + j * 42, 190, 34, name, fill)
    p.text(300, 244, "cells of the same stage have weights of their own", 12, SOFT)
    return p


def elastic() -> Picture:
    """Slices of the largest."""
    p = Picture(720, 230, "Elastic sharing: every option is a slice of the largest one")
    p.text(110, 24, "width: the first channels", 13, SOFT)
    _channels(p, 30, 40, 8, range(5))
    p.text(110, 108, "5 of 8 channels", 12)
    p.text(330, 24, "kernel: the centre", 13, SOFT)
    _kernel(p, 288, 36, 3, 7)
    p.text(333, 146, "3x3 inside 7x7", 12)
    p.text(560, 24, "depth: the first blocks", 13, SOFT)
    for i in range(4):
        p.label(440 + i * 66, 40, 54, 46, f"block {i + 1}", TEAL if i < 2 else GREY)
    p.text(565, 108, "2 of 4 blocks", 12)
    p.text(360, 196, "coloured: weights that the small network uses, and shares with every larger one", 13)
    return p


def scaled() -> Picture:
    """Slices from both ends."""
    p = Picture(720, 230, "Scaled sharing: widths count from the left or from the right")
    for row, (words, used, fill) in enumerate((("left", range(5), TEAL), ("right", range(3, 8), AMBER))):
        y = 36 + row * 72
        p.text(110, y + 28, f"width 5 from the {words}", 13)
        _channels(p, 210, y, 8, used, fill)
    p.text(560, 60, "each channel is used", 13)
    p.text(560, 78, "by as many widths", 13)
    p.text(560, 96, "as any other, if both", 13)
    p.text(560, 114, "sides take part", 13)
    p.text(360, 206, "copies of a block (depth) share by place in their stage: stage1.2.0, stage1.2.1, ...", 13)
    return p


def _completions(layer: int, low: int, high: int) -> int:
    """Ways to spend between low and high from a layer on."""
    if layer == LAYERS:
        return int(low <= 0 <= high)
    return sum(_completions(layer + 1, low - cost, high - cost) for _, cost in OPTIONS)


def exact() -> Picture:
    """Counts of completions along the layers."""
    low, high = WINDOW
    p = Picture(760, 330, "Completions within the budget, counted from every reachable sum")
    sums: list[Sequence[int]] = [(0,)]
    for _ in range(LAYERS):
        sums.append(sorted({s + cost for s in sums[-1] for _, cost in OPTIONS}))
    place = {}
    for layer, reached in enumerate(sums):
        top = 40 + (10 - len(reached)) * 13
        for i, s in enumerate(reached):
            place[layer, s] = (60 + layer * 200, top + i * 26)
    for layer, reached in enumerate(sums[:-1]):
        for s in reached:
            for _, cost in OPTIONS:
                ways = _completions(layer + 1, low - s - cost, high - s - cost)
                (x1, y1), (x2, y2) = place[layer, s], place[layer + 1, s + cost]
                if ways:
                    p.arrow(x1 + 44, y1 + 11, x2 - 6, y2 + 11, "#0f766e", 0.8 + 0.35 * ways)
    for layer, reached in enumerate(sums):
        p.text(80 + layer * 200, 22, "start" if not layer else f"after layer {layer}", 12, SOFT)
        for s in reached:
            ways = _completions(layer, low - s, high - s)
            x, y = place[layer, s]
            p.box(x, y, 44, 22, TEAL if ways else GREY)
            p.text(x + 22, y + 15, f"{s}: {ways}", 11)
    p.text(380, 322, f"sum so far: number of ways to end within {low}..{high}", 12, SOFT)
    return p


def significance() -> Picture:
    """Three intervals."""
    p = Picture(720, 236, "Three differences with their 95 % intervals")
    zero, unit = 330, 75
    p.pieces.append(f"<line x1='{zero}' y1='26' x2='{zero}' y2='190' stroke='{SOFT}' stroke-dasharray='4 3'/>")
    p.text(zero, 206, "0: no difference", 12, SOFT)
    rows = (("significant: better", 0.6, 2.8, TEAL), ("not significant: small, and known well", -0.3, 0.5, GREY),
            ("not significant: hardly measured", -2.6, 3.2, GREY))  # fmt: skip
    for i, (words, low, high, fill) in enumerate(rows):
        y = 34 + i * 52
        p.box(zero + low * unit, y, (high - low) * unit, 18, fill)
        p.box(zero + (low + high) / 2 * unit - 2, y - 4, 4, 26, INK)
        p.text(zero + (low + high) / 2 * unit, y + 34, words, 12)
    p.text(360, 226, "bars: the 95 % interval of a difference; the mark is the estimate", 12, SOFT)
    return p


PICTURES_BY_NAME = {
    "nouns": nouns, "sharing-choice": choice, "sharing-cell": cell, "sharing-elastic": elastic,
    "sharing-scaled": scaled, "exact-sampler": exact, "significance": significance,
}  # fmt: skip

if __name__ == "__main__":
    for name, draw in PICTURES_BY_NAME.items():
        (PICTURES / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
