"""Names beside the marks of a plot, placed so that none lies on another or on a mark.

The page shows text in a plot larger on a narrow screen, so names are placed twice, once for each size, and the page's
style shows one set. A name that finds no room is left out: the mark's tip and the table have it. Only names that must
be shown are put where they disturb least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import NamedTuple

TEXT_SIZES = {"wide": 9.0, "narrow": 16.5}  # of the page's style, in units of the view box
CHARACTER = 0.58  # width of an average character of bold text, as a share of its size
ASCENT, DESCENT = 0.78, 0.22  # of text above and below its base line, as shares of its size
SHIFTS = {"start": 0.7, "mid": 0.0, "end": -0.7}  # of names above and below, in gaps: clear of an interval
CLEARANCE = 1.5  # between a name and what it must not touch


class Box(NamedTuple):
    """A part of a plot."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """The area that both have in common."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0

    def wider(self, by: float) -> Box:
        """The same with some room around it."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def inside(self, other: Box) -> bool:
        """Whether the other one contains it."""
        left, top, right, bottom = other
        return self.left >= left and self.top >= top and self.right <= right and self.bottom <= bottom


@dataclass(frozen=True)
class Name:
    """A name and the mark that it belongs to.

    Args:
        x: Where the mark is.
        y: The same, downwards.
        text: The name.
        short: What is shown where that has no room, and always on a narrow screen; by default there is nothing shorter.
        must: Whether it is shown even where there is no room.
        top: How far above the mark its interval ends: there a name may stand, too.
        bottom: The same below.
    """

    x: float
    y: float
    text: str
    short: str = ""
    must: bool = False
    top: float = 0.0
    bottom: float = 0.0


class Place(NamedTuple):
    """Where a name stands: the start, middle or end of its base line."""

    text: str
    x: float
    y: float
    anchor: str  # start, mid, end
    box: Box


def mark_box(x: float, y: float, reach: float = 5.5) -> Box:
    """The room that a mark takes."""
    return Box(x - reach, y - reach, x + reach, y + reach)


def names(wanted: Sequence[Name], taken: Sequence[Box], bounds: Box) -> str:
    """Place names for both sizes of text.

    Args:
        wanted: The names, the most important first.
        taken: What they must not cover: marks, intervals, lines with text.
        bounds: The plot.

    Returns:
        Two groups of text, of which the page shows one.
    """
    groups = []
    for width, size in TEXT_SIZES.items():
        sized = [replace(n, text=n.short, short="") if width == "narrow" and n.short else n for n in wanted]
        texts = "".join(_text(p) for p in place(sized, taken, bounds, size) if p)
        groups.append(f'<g class="names {width}">{texts}</g>')
    return "".join(groups)


def _text(place: Place) -> str:
    anchor = "" if place.anchor == "start" else f" {place.anchor}"
    return f'<text class="name{anchor}" x="{place.x:g}" y="{place.y:g}">{escape(place.text)}</text>'


def place(wanted: Sequence[Name], taken: Sequence[Box], bounds: Box, size: float) -> list[Place | None]:
    """A place for each name, in their order: the first around its mark that is free; None if there is none."""
    occupied = list(taken)
    places: list[Place | None] = []
    for name in wanted:
        found = _find(name, occupied, bounds, size) if name.text else None
        places.append(found)
        if found:
            occupied.append(found.box)
    return places


def _find(name: Name, occupied: Sequence[Box], bounds: Box, size: float) -> Place | None:
    """The first free place for the name, else for the shorter one; if it must be shown, where it covers least."""
    texts = dict.fromkeys((name.text, name.short or name.text))
    around = [p for text in texts for p in _around(name, text, size) if p.box.inside(bounds)]
    covered = [(sum(p.box.overlap(b) for b in occupied), i) for i, p in enumerate(around)]
    least, best = min(covered, default=(0.0, -1))
    return around[best] if best >= 0 and (least == 0 or name.must) else None


def _around(name: Name, text: str, size: float) -> Iterator[Place]:
    """Places around a mark: at its sides first, then above and below, then at the ends of its interval."""
    width, gap = len(text) * CHARACTER * size, 8.0
    middle = (ASCENT - DESCENT) / 2 * size
    above, below = -gap - DESCENT * size, gap + ASCENT * size
    top, bottom = above - max(name.top, size), below + max(name.bottom, size)
    sides = [(gap, middle, "start"), (-gap, middle, "end")]
    rows = [(y, anchor) for y in (above, below, top, bottom) for anchor in ("mid", "start", "end")]
    for x, y, anchor in [*sides, *((SHIFTS[anchor] * gap, y, anchor) for y, anchor in rows)]:
        at, base = round(name.x + x, 1), round(name.y + y, 1)
        left = at - {"start": 0.0, "mid": width / 2, "end": width}[anchor]
        box = Box(left, base - ASCENT * size, left + width, base + DESCENT * size)
        yield Place(text, at, base, anchor, box.wider(CLEARANCE))
