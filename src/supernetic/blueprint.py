"""The network an architecture stands for, as plain data: one blueprint, many readers.

Costs, the module builder, drawings and the papers' labels all read the same records, so a number in a table and the
network that runs cannot disagree. What a layer is made of (its convolutions) is defined once, in `parts`.

Kinds of layer, and what each computes:

    conv       convolution, then BN if `norm`, then `act`
    mbconv     1x1 expand (absent when `expansion` is 1), depthwise, squeeze-excite if `se`, 1x1 project; `shortcut`
    preconv    ReLU, convolution, BN (NAS-Bench-201); without `norm` the BN has no weights and the convolution a bias
    reduce     NAS-Bench-201's residual block: two preconvs (the first strided) beside average pool and 1x1 convolution
    residual   ResNet's basic block: convolution (strided), BN, `act`, convolution, BN; `shortcut`; `act` behind the sum
    avgpool, maxpool   pooling; no parameters
    skip       passes its input on; sub-samples it when strided
    zero       zeros of the output's shape
    join       its inputs summed (each cut to the first `c_out` channels), averaged or concatenated, then `act` if any
    norm       BN, then `act`
    gap        global average pool
    flatten    all values of the map as channels of a single pixel
    linear     fully connected with bias, then `act`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, NamedTuple, get_type_hints

from .errors import InputError

KINDS = (
    "conv", "mbconv", "preconv", "reduce", "residual", "avgpool", "maxpool", "skip", "zero", "join", "norm", "gap",
    "flatten", "linear",
)  # fmt: skip
WORDS = {
    "act": ("", "relu", "relu6", "hswish", "swish"), "shortcut": ("", "identity", "project"),
    "join": ("sum", "mean", "concat"), "padding": ("", "tensorflow"),
}  # fmt: skip
LEAST_NUMBER = {"hidden": 0, "se": 0, "stage": 0, "eps": 0}  # of a layer in a file; all others are at least 1
LARGEST_NUMBER = 10_000_000  # of a layer in a file: beyond it nothing could be computed
SHORTCUT_KINDS = ("mbconv", "residual")  # kinds of layer that may have a `shortcut`
TENSORFLOW_PADDING = "tensorflow"  # a `padding` of convolutions
BN_EPS = 1e-5  # as in torch


class Layer(NamedTuple):
    """One block of a network. Feature maps are square; resolutions are in pixels, widths in channels.

    Six of the fields are integers in a row, so pass them by keyword from `resolution` on:

        Layer("layer1", "conv", 16, 32, resolution=8, resolution_out=4, kernel=3, stride=2, act="relu")

    Args:
        name: Unique within a network. Supernets share weights between layers of the same name (see `Space`).
        kind: One of the kinds that the head of this module lists.
        c_in: Channels of the input.
        c_out: Channels of the output; of a `linear` layer at the end, the number of classes.
        resolution: Height and width of the input.
        resolution_out: Height and width of the output: `halved(resolution, stride)` for most layers, 1 behind `gap`.
        kernel: Height and width of the (depthwise) convolution or pooling window.
        stride: Stride of the (depthwise) convolution, the pooling or a sub-sampling skip.
        expansion: mbconv: the paper's expansion ratio; 1 means that there is no expand convolution.
        hidden: mbconv: channels of the depthwise convolution.
        se: mbconv: channels inside squeeze-excite; 0 for none.
        groups: conv: groups of the convolution.
        norm: Whether BN follows.
        act: Activation: relu, relu6, hswish, swish; "" for none.
        shortcut: mbconv, residual: "" for none, "identity", or "project" (average pool if strided, bare 1x1 convolution
            if the widths differ).
        inputs: Names of the layers it reads; empty for the layer before it.
        join: How several inputs become one: sum, mean, concat.
        stage: 1, 2, ... for the body of the network; 0 for stem, head and classifier.
        padding: Of convolutions: "" for half the kernel on every side, or "tensorflow": as `same` means it there, which
            differs where a stride meets an even map. Shapes and costs are the same.
        eps: What BN adds to variances.
    """

    name: str
    kind: str
    c_in: int
    c_out: int
    resolution: int
    resolution_out: int
    kernel: int = 1
    stride: int = 1
    expansion: float = 1
    hidden: int = 0
    se: int = 0
    groups: int = 1
    norm: bool = True
    act: str = ""
    shortcut: str = ""
    inputs: tuple[str, ...] = ()
    join: str = "sum"
    stage: int = 0
    padding: str = ""
    eps: float = BN_EPS

    @property
    def label(self) -> str:
        """The name of the block in the papers, such as `MB6_K7_SE`."""
        if self.kind == "mbconv":
            return f"MB{self.expansion:g}_K{self.kernel}" + ("_SE" if self.se else "")
        if self.kind == "residual":
            return f"RES_K{self.kernel}"
        if self.kind in ("conv", "preconv"):
            return ("DW" if self.groups > 1 else "CONV") + f"_K{self.kernel}"
        return self.kind.upper()


class Part(NamedTuple):
    """One convolution or linear map inside a layer: all that costs multiply-accumulates."""

    role: str
    c_in: int
    c_out: int
    kernel: int
    resolution_out: int
    groups: int = 1
    bias: bool = False
    norm: bool = True  # followed by a BN with weight and bias

    @property
    def macs(self) -> int:
        """Multiply-accumulates for one image."""
        return self.c_in // self.groups * self.c_out * self.kernel**2 * self.resolution_out**2

    @property
    def params(self) -> int:
        """Number of trainable parameters, including those of the BN behind it."""
        weight = self.c_in // self.groups * self.c_out * self.kernel**2
        return weight + self.bias * self.c_out + 2 * self.norm * self.c_out


def parts(layer: Layer) -> tuple[Part, ...]:
    """Return the convolutions and linear maps that a layer consists of, in the order they run."""
    a, b, k, out = layer.c_in, layer.c_out, layer.kernel, layer.resolution_out
    match layer.kind:
        case "conv":
            return (Part("conv", a, b, k, out, layer.groups, norm=layer.norm),)
        case "preconv":
            return (Part("conv", a, b, k, out, layer.groups, norm=layer.norm, bias=not layer.norm),)
        case "mbconv":
            return tuple(_mbconv(layer))
        case "reduce":
            return (
                Part("conv1", a, b, k, out),
                Part("conv2", b, b, k, out),
                Part("shortcut", a, b, 1, out, norm=False),
            )
        case "residual":
            return (Part("conv1", a, b, k, out), Part("conv2", b, b, k, out), *_shortcut(layer))
        case "linear":
            return (Part("linear", a, b, 1, 1, bias=True, norm=False),)
        case "norm":
            return (Part("norm", a, b, 0, out),)  # kernel 0: nothing but the BN
        case "avgpool" | "maxpool" | "skip" | "zero" | "join" | "gap" | "flatten":
            return ()
        case kind:
            raise ValueError(f"layer {layer.name!r} has the unknown kind {kind!r}")


def _mbconv(layer: Layer) -> Iterator[Part]:
    hidden, out = layer.hidden, layer.resolution_out
    if layer.expansion != 1:
        yield Part("expand", layer.c_in, hidden, 1, layer.resolution)
    yield Part("depthwise", hidden, hidden, layer.kernel, out, groups=hidden)
    if layer.se:
        yield Part("squeeze", hidden, layer.se, 1, 1, bias=True, norm=False)
        yield Part("excite", layer.se, hidden, 1, 1, bias=True, norm=False)
    yield Part("project", hidden, layer.c_out, 1, out)
    yield from _shortcut(layer)


def _shortcut(layer: Layer) -> Iterator[Part]:
    if layer.shortcut == "project" and layer.c_in != layer.c_out:
        yield Part("shortcut", layer.c_in, layer.c_out, 1, layer.resolution_out, norm=False)


@dataclass(frozen=True)
class Blueprint:
    """A network as a sequence of layers, in the order they run.

    The first layer reads the image, the last is `linear` and gives the logits. A layer reads the one before it unless
    its `inputs` name others, which must come before it. Names of layers are distinct.
    """

    layers: tuple[Layer, ...]

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def resolution(self) -> int:
        """Height and width of the input image in pixels."""
        return self.layers[0].resolution

    @property
    def in_channels(self) -> int:
        """Channels of the input image."""
        return self.layers[0].c_in

    @property
    def classes(self) -> int:
        """Number of logits."""
        return self.layers[-1].c_out

    def wiring(self) -> list[tuple[int, ...]]:
        """Return for each layer the positions of the layers it reads; -1 is the image."""
        position = {layer.name: i for i, layer in enumerate(self.layers)}
        return [tuple(position[n] for n in layer.inputs) or (i - 1,) for i, layer in enumerate(self.layers)]

    def to_json(self) -> list[dict[str, Any]]:
        """Return one record per layer, without the fields that have their default value."""
        defaults = Layer._field_defaults
        return [{k: v for k, v in x._asdict().items() if k not in defaults or v != defaults[k]} for x in self.layers]

    @classmethod
    def from_json(cls, records: Iterable[dict[str, Any]]) -> Blueprint:
        """Read the records that `to_json` wrote; a `ValueError` says what in them cannot be."""
        layers = read_layers(records)
        seen: set[str] = set()
        for layer in layers:
            if layer.name in seen or not seen.issuperset(layer.inputs):
                raise ValueError(f"the layer {layer.name[:40]!r} must have a name of its own and read earlier layers")
            seen.add(layer.name)
        if not layers:
            raise ValueError("a network needs a layer")
        return cls(layers)


def read_layers(records: Iterable[dict[str, Any]]) -> tuple[Layer, ...]:
    """Read layers on their own, from the records that `Blueprint.to_json` writes."""
    return tuple(_checked(Layer(**{**r, "inputs": tuple(r.get("inputs", ()))})) for r in records)


@cache
def _field_types() -> dict[str, Any]:
    return get_type_hints(Layer)


def _checked(layer: Layer) -> Layer:
    """A layer from a file, whose values may be anything."""
    for name, kind in _field_types().items():
        value = getattr(layer, name)
        if kind in (str, bool) and type(value) is not kind:
            raise ValueError(f"{name} of a layer must be {kind.__name__}, got {str(value)[:40]!r}")
        if kind in (int, float):
            known = type(value) is int or type(value) is kind
            if not known or not LEAST_NUMBER.get(name, 1) <= value <= LARGEST_NUMBER:
                raise ValueError(f"{name} of a layer must be a number up to {LARGEST_NUMBER:,}, got {str(value)[:40]}")
    if layer.kind not in KINDS:
        raise ValueError(f"a layer must be one of {', '.join(KINDS)}, got {layer.kind[:40]!r}")
    for name, known_words in WORDS.items():
        if getattr(layer, name) not in known_words:
            raise ValueError(f"{name} of a layer must be one of {known_words}, got {getattr(layer, name)[:40]!r}")
    if not all(isinstance(name, str) for name in layer.inputs):
        raise ValueError("inputs of a layer must be names")
    return layer


def make_divisible(width: float, divisor: int = 8) -> int:
    """Return the multiple of `divisor` nearest to `width`, but never below 90 % of it (MobileNet's rule)."""
    rounded = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * width else rounded


def halved(resolution: int, stride: int, spatial: str = "ceil") -> int:
    """Return the resolution behind a padded convolution of this stride.

    Args:
        resolution: Height and width of the input in pixels.
        stride: Stride of the convolution.
        spatial: "ceil", as networks run, or "floor", the convention of ScaleNet's MAC counter.
    """
    return resolution // stride if spatial == "floor" else ceil(resolution / stride)


def pads_of(padding: str, resolution: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the pixels that a convolution's input is padded by before and behind, in both directions.

    Args:
        padding: That of the layer.
        resolution: Height and width of the input in pixels.
        kernel: Of the convolution.
        stride: Of the convolution.
    """
    if padding != TENSORFLOW_PADDING:
        return kernel // 2, kernel // 2
    total = max(0, (halved(resolution, stride) - 1) * stride + kernel - resolution)
    return total // 2, total - total // 2


def at_resolution(blueprint: Blueprint, resolution: int) -> Blueprint:
    """Return the same network for images of another resolution; one that flattens its maps has only its own.

    Args:
        blueprint: The network.
        resolution: Height and width of the images in pixels.
    """
    sizes, layers = {-1: resolution}, []
    for i, (layer, sources) in enumerate(zip(blueprint, blueprint.wiring(), strict=True)):
        size = sizes[sources[0]]
        if layer.kind == "flatten" and size != layer.resolution:
            rule = f"layer {layer.name} flattens a map of {layer.resolution} pixels, so images keep their resolution"
            raise InputError(f"{rule}, {blueprint.resolution}: got {resolution}")
        sizes[i] = 1 if layer.kind in ("gap", "flatten", "linear") else halved(size, layer.stride)
        layers.append(layer._replace(resolution=size, resolution_out=sizes[i]))
    return Blueprint(tuple(layers))
