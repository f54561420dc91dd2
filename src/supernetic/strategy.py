"""The scaling rules: a network made deeper, wider and finer, as a transformation of its blueprint.

Paper: "ScaleNet", equations 14-16; Tan & Le, "EfficientNet", arXiv 1905.11946; "SCARLET-NAS", Table 3. The three scale
differently:

    rule           blocks of a stage                    widths                    last convolution
    scalenet       ceil(n d), copies of the last one    ceil(c w)                 as it was
    efficientnet   ceil(n d), copies of the last one    nearest multiple of 8     scaled like the others
    repeat         each one ceil(d) times               nearest multiple of 8     scaled like the others

A copy keeps the width and has stride 1. A hidden width is the scaled input width times the expansion ratio.
Differences: ScaleNet's forward pass scales the hidden width itself; the two differ by less than 2 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from math import ceil, isfinite, nan

from .blueprint import SHORTCUT_KINDS, Blueprint, Layer, halved, make_divisible
from .errors import InputError, UnknownNameError
from .numerals import real_number, whole_number

RULES = ("scalenet", "efficientnet", "repeat")
SPATIAL_CONVENTIONS = ("ceil", "floor")
MAX_FACTOR = 16  # of depth, width or resolution
MAX_PIXELS = 10_000
BLOCK_KINDS = ("conv", *SHORTCUT_KINDS)  # that depth counts
CHAIN_KINDS = (*BLOCK_KINDS, "skip", "avgpool", "maxpool", "gap", "linear")

Squeeze = Callable[[Layer, int, int], int]  # (unscaled layer, input width, hidden width) -> channels inside its SE


@dataclass(frozen=True)
class Scaling:
    """How far to scale a network, and by which rule.

    Args:
        depth: Factor of the number of blocks, at least 1.
        width: Factor of the channels.
        resolution: An int is the image resolution in pixels, a float a factor of it; None leaves it as it is.
        rule: One of `RULES`; the head of this module says how they differ.
        spatial: How the resolution behind a strided convolution is rounded; "floor" is ScaleNet's own count.
    """

    depth: float = 1.0
    width: float = 1.0
    resolution: int | float | None = None
    rule: str = "scalenet"
    spatial: str = "ceil"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UnknownNameError("scaling rule", self.rule, RULES)
        if self.spatial not in SPATIAL_CONVENTIONS:
            raise UnknownNameError("spatial convention", self.spatial, SPATIAL_CONVENTIONS)
        if not 1 <= self.depth <= MAX_FACTOR:
            raise InputError(f"scaling: depth must lie in 1..{MAX_FACTOR}, got {self.depth:g}")
        if not 0 < self.width <= MAX_FACTOR:
            raise InputError(f"scaling: width must be positive and at most {MAX_FACTOR}, got {self.width:g}")
        r = self.resolution
        if isinstance(r, float) and not 0 < r <= MAX_FACTOR:
            rule = f"a resolution factor must be positive and at most {MAX_FACTOR} (pixels are written {r:g}px)"
            raise InputError(f"scaling: {rule}, got {r:g}")
        if isinstance(r, int) and not 1 <= r <= MAX_PIXELS:
            raise InputError(f"scaling: a resolution in pixels must lie in 1..{MAX_PIXELS}, got {r}")

    def channels(self, width: int) -> int:
        """Return a width of the base network, scaled."""
        if self.width == 1:
            return width
        return ceil_of(width * self.width) if self.rule == "scalenet" else make_divisible(width * self.width)

    def pixels(self, resolution: int) -> int:
        """Return the image resolution of the base network, scaled."""
        if self.resolution is None:
            return resolution
        return self.resolution if isinstance(self.resolution, int) else ceil_of(resolution * self.resolution)

    def repeats(self, blocks: int) -> tuple[int, ...]:
        """Return how often each block of a stage with that many blocks appears."""
        if self.rule == "repeat":
            return (ceil_of(self.depth),) * blocks
        return (1,) * (blocks - 1) + (1 + ceil_of(blocks * self.depth) - blocks,)

    def feed(
        self, state: tuple[int, int], layer: Layer, repeats: int, squeeze: Squeeze
    ) -> tuple[list[Layer], tuple[int, int]]:
        """Scale one layer of the base network, and repeat it.

        Args:
            state: (channels, resolution) of the feature map in front of the layer.
            layer: The layer of the base network.
            repeats: How often it appears.
            squeeze: The rule for the channels inside squeeze-excite.

        Returns:
            The scaled layers, and (channels, resolution) behind them.
        """
        channels, resolution = state
        scaled = []
        for copy in range(repeats):
            new = self._fit(_copy(layer, copy, squeeze) if copy else layer, channels, resolution, squeeze)
            scaled.append(new)
            channels, resolution = new.c_out, new.resolution_out
        return scaled, (channels, resolution)

    def _fit(self, layer: Layer, c_in: int, resolution: int, squeeze: Squeeze) -> Layer:
        if layer.kind in ("skip", "avgpool", "maxpool", "gap"):
            c_out = c_in
        elif layer.kind == "linear" or (self.rule == "scalenet" and layer.name.startswith("head")):
            c_out = layer.c_out
        else:
            c_out = self.channels(layer.c_out)
        out = 1 if layer.kind in ("gap", "linear") else halved(resolution, layer.stride, self.spatial)
        groups = c_in if layer.groups > 1 else 1
        layer, base = (
            layer._replace(c_in=c_in, c_out=c_out, resolution=resolution, resolution_out=out, groups=groups),
            layer,
        )
        if layer.kind in SHORTCUT_KINDS:
            otherwise = "project" if layer.shortcut == "project" else ""
            layer = layer._replace(shortcut="identity" if layer.stride == 1 and c_in == c_out else otherwise)
        if layer.kind != "mbconv":
            return layer
        hidden = c_in if layer.expansion == 1 else round(self.channels(_nominal(base)) * layer.expansion)
        return layer._replace(hidden=hidden, se=squeeze(base, c_in, hidden) if layer.se else 0)


def parse_scaling(text: str) -> Scaling:
    """Read a scaling such as `depth=2.0,width=1.4,resolution=380px,rule=repeat`; without `px` it is a factor."""
    values: dict[str, float | str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise InputError(f"a scaling is key=value,..., got {item!r}")
        keys = [f.name for f in fields(Scaling)]
        if key not in keys:
            raise UnknownNameError("key of a scaling", key, keys)
        values[key] = value if key in ("rule", "spatial") else _number(key, value)
    return Scaling(**values)  # type: ignore[arg-type]


def _number(key: str, text: str) -> float:
    pixels = key == "resolution" and text.endswith("px")
    try:
        number = whole_number(text.removesuffix("px")) if pixels else real_number(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        unit = " or a whole number of pixels such as 380px" if key == "resolution" else ""
        raise InputError(f"scaling: {key} must be a number{unit}, got {text!r}")
    return number


def scale(blueprint: Blueprint, scaling: Scaling) -> Blueprint:
    """Return the scaled network. Only chains of blocks can be scaled: copies have no place in a cell."""
    for layer in blueprint:
        if layer.kind not in CHAIN_KINDS or layer.inputs or layer.groups not in (1, layer.c_in):
            raise InputError(f"only chains of blocks can be scaled: layer {layer.name} ({layer.label}) is not one")
    squeeze = squeeze_of(blueprint)
    blocks = Counter(layer.stage for layer in blueprint if is_block(layer))
    waiting = {stage: iter(scaling.repeats(n)) for stage, n in blocks.items()}
    state = (blueprint.in_channels, scaling.pixels(blueprint.resolution))
    used = {layer.name for layer in blueprint}
    layers: list[Layer] = []
    for layer in blueprint:
        repeats = next(waiting[layer.stage]) if is_block(layer) else 1
        scaled, state = scaling.feed(state, layer, repeats, squeeze)
        layers += [scaled[0], *(_renamed(copy, used) for copy in scaled[1:])]
    return Blueprint(tuple(layers))


def _renamed(copy: Layer, used: set[str]) -> Layer:
    """Give a copy a name that is not `used` yet: a network that was scaled before already has copies."""
    name = copy.name
    while name in used:
        name += ".1"
    used.add(name)
    return copy._replace(name=name)


def is_block(layer: Layer) -> bool:
    """Return whether depth counts the layer: it belongs to the body and computes something."""
    return layer.stage > 0 and layer.kind in BLOCK_KINDS


def _copy(layer: Layer, number: int, squeeze: Squeeze) -> Layer:
    """Return copy `number` of a block, before it is scaled: it keeps resolution and width."""
    hidden = round(layer.c_out * layer.expansion) if layer.kind == "mbconv" else 0
    return layer._replace(
        name=f"{layer.name}.{number}",
        c_in=layer.c_out,
        stride=1,
        hidden=hidden,
        se=squeeze(layer, layer.c_out, hidden) if layer.se else 0,
    )


def _nominal(layer: Layer) -> int:
    """Return the width that the hidden width is a multiple of: the input's, unless skipped layers have narrowed it."""
    exact = round(layer.c_in * layer.expansion) == layer.hidden
    return layer.c_in if exact else round(layer.hidden / layer.expansion)


# --- squeeze-excite ---------------------------------------------------------------------------------------------------


def by_hidden(layer: Layer, c_in: int, hidden: int) -> int:
    """A quarter of the hidden width (SCARLET, ScaleNet)."""
    return max(1, hidden // 4)


def by_input(layer: Layer, c_in: int, hidden: int) -> int:
    """A quarter of the block's input width (EfficientNet)."""
    return max(1, c_in // 4)


def by_hidden_8(layer: Layer, c_in: int, hidden: int) -> int:
    """A quarter of the hidden width in multiples of 8 (AttentiveNAS)."""
    return make_divisible(hidden // 4)


def in_proportion(layer: Layer, c_in: int, hidden: int) -> int:
    """The same share of the hidden width as in the base network."""
    return max(1, round(hidden * layer.se / layer.hidden))


def squeeze_of(network: Iterable[Layer]) -> Squeeze:
    """Return the first rule that explains every squeeze-excite of a network."""
    layers = [layer for layer in network if layer.se]
    for rule in (by_hidden, by_input, by_hidden_8):
        if all(rule(layer, layer.c_in, layer.hidden) == layer.se for layer in layers):
            return rule
    return in_proportion


def ceil_of(x: float) -> int:
    """Return the ceiling of `x`, ignoring the rounding error of a product such as 25 * 1.12."""
    return ceil(x - 1e-9)
