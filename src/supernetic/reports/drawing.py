"""Architectures as drawings, from their blueprints.

A chain of layers is a row of blocks, as the papers draw them: the taller the larger the kernel, the wider the larger
the expansion (residual blocks, of two convolutions, are wider than one), coloured by kind, grouped by stage with the
size of the map behind it. Cells that repeat are drawn once, as a graph of their layers, under the row of what the
network consists of.

A drawing of a chain is a list of codes into an `Atlas` of pieces of HTML, so that a thousand of them stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby, pairwise

from ..blueprint import Blueprint, Layer
from ..costs.macs import macs_and_params
from ..objective import show_quantity

HEIGHTS = {1: 70, 3: 84, 5: 98}  # pixels by kernel; those of larger kernels are as tall as a kernel of 7
TALLEST = 112
NARROWEST = 22
BOX, GAP, ROW = 74, 30, 34  # of the graph of a cell: width of a layer, between columns, between rows
WIDEST_SHRUNK = 460  # pixels of a graph that a narrow screen shows smaller; a wider one scrolls there

Place = tuple[float, float]


class Atlas:
    """Pieces of drawings by number; each distinct piece is kept once."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, piece: str) -> int:
        """The number of a piece."""
        if piece not in self._codes:
            self._codes[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self._codes[piece]

    @property
    def size(self) -> int:
        """Characters of all pieces."""
        return sum(map(len, self.pieces))

    def html(self, codes: Sequence[int]) -> str:
        """A drawing."""
        return "".join(self.pieces[c] for c in codes)

    def draw(self, blueprint: Blueprint) -> list[int]:
        """A drawing as codes."""
        if is_chain(blueprint):
            return [self.code(piece) for piece in _chain(blueprint)]
        return [self.code(_cells(blueprint))]


def draw(blueprint: Blueprint) -> str:
    """One drawing as HTML."""
    atlas = Atlas()
    return atlas.html(atlas.draw(blueprint))


def is_chain(blueprint: Blueprint) -> bool:
    """Whether every layer reads the one before it, and no other."""
    return all(sources == (i - 1,) for i, sources in enumerate(blueprint.wiring()))


# --- chains -----------------------------------------------------------------------------------------------------------


def _chain(blueprint: Blueprint) -> list[str]:
    pieces = []
    for stage, group in groupby(blueprint, lambda layer: layer.stage):
        layers = [layer for layer in group if layer.kind not in ("gap", "flatten")]
        if layers:
            pieces += [f'<div class="stage{"" if stage else " ends"}"><div class="blocks">']
            pieces += [_block(layer) for layer in layers]
            pieces += ["</div>" + _size(layers[-1]) + "</div>"]
    return pieces


def _size(layer: Layer) -> str:
    """The map behind a stage."""
    return f'<div class="size">{_map(layer)}</div>'


def _map(layer: Layer) -> str:
    if layer.kind == "linear":
        return f"{layer.c_out} {'units' if layer.act else 'classes'}"
    return f"{layer.resolution_out}² × {layer.c_out}"


def style_of(layer: Layer) -> str:
    """The class of the page's style that colours a layer."""
    if layer.kind == "mbconv":
        return "mb se" if layer.se else "mb"
    if layer.kind in ("conv", "preconv", "reduce", "residual"):
        return "conv"
    if layer.kind in ("avgpool", "maxpool"):
        return "pool"
    return layer.kind if layer.kind in ("skip", "zero", "join", "linear") else "other"


def _block(layer: Layer) -> str:
    height = HEIGHTS.get(layer.kernel, TALLEST)
    width = NARROWEST if layer.kind != "residual" else 3 * NARROWEST // 2
    if layer.kind == "mbconv":
        width = round(NARROWEST + 2.4 * min(layer.expansion - 1, 7))
    stride = f", stride {layer.stride}" if layer.stride > 1 else ""
    tip = f"{layer.label}: {layer.c_in} to {layer.c_out} channels at {layer.resolution}²{stride}"
    strided = " strided" if layer.stride > 1 else ""
    return (
        f'<span class="block {style_of(layer)}{strided}" style="height:{height}px;width:{width}px" '
        f'data-tip="{escape(tip)}"><b>{escape(layer.label)}</b></span>'
    )


# --- cells ------------------------------------------------------------------------------------------------------------


def _cells(blueprint: Blueprint) -> str:
    """What the network consists of, and each distinct cell as a graph."""
    groups = [(name, list(layers)) for name, layers in groupby(blueprint, lambda x: x.name.partition(".")[0])]
    cells: dict[tuple[object, ...], str] = {}
    row = []
    for (letter, size), same in groupby(groups, lambda g: _kind(g[1], cells)):
        members = list(same)
        last = members[-1][1][-1]
        times = f'<span class="times">{len(members)} ×</span> ' if len(members) > 1 else ""
        text = f"cell {letter}" if letter else last.label if len(members[0][1]) == 1 else members[0][0]
        style = "cell" if letter else style_of(last)
        row.append(
            f'<div class="stage"><div class="blocks"><span class="flat {style}">{times}{escape(text)}</span></div>'
            f'<div class="size">{escape(size)}</div></div>'
        )
    graphs = []
    for shape, letter in cells.items():
        layers = next(layers for _, layers in groups if _shape(layers) == shape)
        head = f"cell {letter}, {len(layers)} layers"
        graphs.append(f"<figure><figcaption>{head}</figcaption>{_graph(layers)}</figure>")
    return f'<div class="row">{"".join(row)}</div><div class="graphs">{"".join(graphs)}</div>'


def _kind(layers: Sequence[Layer], cells: dict[tuple[object, ...], str]) -> tuple[str, str]:
    """(the letter of a cell or nothing, the map behind it)."""
    size = _map(layers[-1])
    if not any(layer.kind == "join" for layer in layers):
        return "", size
    shape = _shape(layers)
    return cells.setdefault(shape, chr(ord("A") + len(cells) % 26)), size


def _shape(layers: Sequence[Layer]) -> tuple[object, ...]:
    """What two equal cells have in common: labels and wiring, not widths."""
    place = {layer.name: i for i, layer in enumerate(layers)}
    return tuple((x.kind, x.kernel, tuple(place.get(n, -1) for n in x.inputs)) for x in layers)


def _graph(layers: Sequence[Layer]) -> str:
    """Layers in columns by their distance from the input; an edge keeps a row of its own where it passes columns."""
    reads = _live(layers)
    at, ways, columns = _places(reads)
    boxes = [_node(*at[-1], "input", "other")]
    for i in reads:
        x = layers[i]
        text = {"sum": "+", "mean": "mean", "concat": "concat"}[x.join] if x.kind == "join" else x.label
        boxes.append(_node(*at[i], text, style_of(x)))
    width = 2 + columns * (BOX + GAP) - GAP
    height = max(y for way in ways for _, y in way) + ROW / 2 if ways else ROW
    scrolls = ' data-wide="yes"' if width > WIDEST_SHRUNK else ""
    return (
        f'<svg class="graph" viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}" role="img"{scrolls} '
        f'aria-label="graph of the cell"><g class="edges">{"".join(map(_edge, ways))}</g>{"".join(boxes)}</svg>'
    )


def _places(reads: Mapping[int, Sequence[int]]) -> tuple[dict[int, Place], list[list[Place]], int]:
    """(left edge and middle of each layer's box, the places that each edge passes, number of columns)."""
    column = {-1: 0}
    for i, sources in reads.items():
        column[i] = 1 + max(column[s] for s in sources)
    columns: list[list[tuple[int, int]]] = [[] for _ in range(max(column.values()) + 1)]  # (from, to); (i, i) is a box
    for i, c in column.items():
        columns[c].append((i, i))
    for i, sources in reads.items():
        for s in sources:
            for c in range(column[s] + 1, column[i]):
                columns[c].append((s, i))
    tall = max(map(len, columns))
    row: dict[tuple[int, int, int], float] = {}
    for c, seats in enumerate(columns):
        seats.sort(key=lambda seat: _height(seat, c, reads, column, row))
        for r, seat in enumerate(seats):
            row[c, *seat] = ROW * (r + 0.5 + (tall - len(seats)) / 2)
    at = {i: (1.0 + c * (BOX + GAP), row[c, i, i]) for i, c in column.items()}
    ways = [
        [at[s], *((1.0 + c * (BOX + GAP), row[c, s, i]) for c in range(column[s] + 1, column[i])), at[i]]
        for i, sources in reads.items()
        for s in sources
    ]
    return at, ways, len(columns)


def _height(
    seat: tuple[int, int],
    c: int,
    reads: Mapping[int, Sequence[int]],
    column: Mapping[int, int],
    row: Mapping[tuple[int, int, int], float],
) -> float:
    """The mean height of what a seat is fed by, in the column before."""
    i = seat[1]
    sources = reads.get(i, ()) if seat[0] == i else [seat[0]]
    rows = [row.get((c - 1, s, i), row.get((column[s], s, s), 0.0)) for s in sources]
    return sum(rows) / len(rows) if rows else 0.0


def _edge(way: Sequence[Place]) -> str:
    """A curve from box to box, straight where it passes a column."""
    path = f"M{way[0][0] + BOX:g} {way[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(way):
        bend = x0 + BOX + GAP / 2
        path += f"C{bend:g} {y0:g} {bend:g} {y1:g} {x1:g} {y1:g}"
        path += f"H{x1 + BOX:g}" if (x1, y1) != way[-1] else ""
    return f'<path d="{path}"/>'


def _live(layers: Sequence[Layer]) -> dict[int, list[int]]:
    """What each layer reads (-1 is the input), without zeros, what nobody reads, and joins of one input."""
    place = {layer.name: i for i, layer in enumerate(layers)}
    reads: dict[int, list[int]] = {}
    alias = {-1: -1}  # for joins of one input: that input
    for i, layer in enumerate(layers):
        sources = [place.get(n, -1) for n in layer.inputs] or [i - 1]
        live = list(dict.fromkeys(alias[s] for s in sources if s in alias))
        if layer.kind == "zero" or not live:
            continue
        alone = layer.kind == "join" and len(live) == 1 and i < len(layers) - 1
        alias[i] = live[0] if alone else i
        if not alone:
            reads[i] = live
    wanted = {len(layers) - 1}
    for i in reversed(reads):
        if i in wanted:
            wanted.update(reads[i])
    return {i: sources for i, sources in reads.items() if i in wanted}


def _node(x: float, y: float, text: str, style: str) -> str:
    return (
        f'<g class="node {style}"><rect x="{x:g}" y="{y - 12:g}" width="{BOX}" height="24" rx="5"/>'
        f'<text x="{x + BOX / 2:g}" y="{y + 4:g}">{escape(text)}</text></g>'
    )


# --- the legend, the layers -------------------------------------------------------------------------------------------


def layer_rows(blueprint: Blueprint) -> list[tuple[str, str, str, str, str, str]]:
    """For each layer: name, label, map before, map behind, MACs, parameters."""
    rows = []
    for x in blueprint:
        macs, params = macs_and_params(x)
        before, behind = f"{x.c_in} × {x.resolution}²", f"{x.c_out} × {x.resolution_out}²"
        rows.append((x.name, x.label, before, behind, show_quantity(macs), show_quantity(params)))
    return rows
