"""What each layer computes, said once: networks and supernets differ only in where the weights come from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor

from ..blueprint import SHORTCUT_KINDS, Blueprint, Layer
from ..errors import InputError

Parts = Mapping[str, Callable[[Tensor], Tensor]]  # by role: the convolutions (with BN) that a layer consists of

# Some overwrite their argument, which saves memory and time: only for what a convolution, BN or sum has just made.
ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "": lambda x: x,
    "relu": torch.relu_,
    "relu6": lambda x: x.clamp_(0, 6),
    "hswish": F.hardswish,
    "swish": F.silu,
}


def run(layer: Layer, xs: Sequence[Tensor], part: Parts, drop: float = 0.0) -> Tensor:
    """The output of a layer.

    Args:
        layer: What to compute.
        xs: Its inputs.
        part: By role: its convolutions with their BN.
        drop: Share of values that a classifier, or of images that a block, leaves out.

    Returns:
        The output.
    """
    x, act = xs[0], ACTIVATIONS[layer.act]
    match layer.kind:
        case "conv":
            return act(part["conv"](x))
        case "preconv":
            return part["conv"](F.relu(x))
        case "mbconv":
            return _mbconv(layer, x, part, drop)
        case "reduce":
            y = part["conv2"](F.relu(part["conv1"](F.relu(x))))
            return y + part["shortcut"](_halve(x, layer.stride))
        case "residual":
            return act(_add_shortcut(layer, x, part["conv2"](act(part["conv1"](x))), part, drop))
        case "avgpool":
            return F.avg_pool2d(x, layer.kernel, layer.stride, layer.kernel // 2, count_include_pad=False)
        case "maxpool":
            padded = layer.kernel % 2  # an even kernel is as wide as its stride; it may hang over an odd map's edge
            padding, hang = (layer.kernel // 2, False) if padded else (0, x.shape[-1] % layer.stride > 0)
            return F.max_pool2d(x, layer.kernel, layer.stride, padding, ceil_mode=hang)
        case "skip":
            return x if layer.stride == 1 else x[:, :, :: layer.stride, :: layer.stride]
        case "zero":
            return x.new_zeros(x.shape[0], layer.c_out, *(ceil(n / layer.stride) for n in x.shape[2:]))
        case "join":
            return act(_join(layer, xs).clone()) if layer.act else _join(layer, xs)
        case "norm":
            return act(part["norm"](x))
        case "gap":
            return x.mean((2, 3), keepdim=True)
        case "flatten":
            return x.flatten(1)[:, :, None, None]
        case "linear":
            x = x.flatten(1)
            return act(part["linear"](F.dropout(x, drop) if drop else x))
        case kind:
            raise ValueError(f"layer {layer.name!r} has the unknown kind {kind!r}")


def _mbconv(layer: Layer, x: Tensor, part: Parts, drop: float) -> Tensor:
    act = ACTIVATIONS[layer.act]
    y = act(part["expand"](x)) if "expand" in part else x
    y = act(part["depthwise"](y))
    if layer.se:
        gate = torch.relu_(part["squeeze"](y.mean((2, 3), keepdim=True)))
        y = y * F.hardsigmoid(part["excite"](gate))
    return _add_shortcut(layer, x, part["project"](y), part, drop)


def _add_shortcut(layer: Layer, x: Tensor, y: Tensor, part: Parts, drop: float) -> Tensor:
    """What a block's convolutions have made of its input `x`, plus the shortcut if it has one."""
    if not layer.shortcut:
        return y
    if drop:
        y = y * (torch.rand(len(y), 1, 1, 1, device=y.device, dtype=y.dtype) >= drop) / (1 - drop)
    x = _halve(x, layer.stride) if layer.stride > 1 else x
    return y + (part["shortcut"](x) if "shortcut" in part else x)


def _halve(x: Tensor, stride: int) -> Tensor:
    """Average pooling for a shortcut; odd maps are padded, so that the result is as large as a convolution's."""
    odd = int(x.shape[-1]) % stride > 0  # while a network is traced (fvcore does), sides are tensors
    padded = odd and stride == 2  # not together with `ceil_mode`, of which ONNX has another notion
    return F.avg_pool2d(x, stride, stride, int(padded), ceil_mode=odd and not padded)


def _join(layer: Layer, xs: Sequence[Tensor]) -> Tensor:
    if layer.join == "concat":
        return torch.cat(list(xs), 1)
    total = xs[0][:, : layer.c_out]
    for x in xs[1:]:
        total = total + x[:, : layer.c_out]
    return total / len(xs) if layer.join == "mean" else total


@dataclass(frozen=True)
class Regularisation:
    """Regularisation for one forward pass. Nothing by default; evaluation passes none."""

    dropout: float = 0.0  # before the classifier
    drop_connect: float = 0.0  # of the last block; earlier ones have less

    def rates(self, blueprint: Blueprint) -> list[float]:
        """What each layer drops.

        Drop-connect grows with the block's number and acts on identity shortcuts of the last two stages
        (AttentiveNAS's training).
        """
        blocks = [layer for layer in blueprint if layer.kind in SHORTCUT_KINDS]
        number = {layer.name: i for i, layer in enumerate(blocks)}
        late = sorted({layer.stage for layer in blocks})[-2:]
        return [
            self.dropout if layer.kind == "linear" and not layer.act
            else self.drop_connect * number[layer.name] / len(blocks)
            if layer.name in number and layer.shortcut == "identity" and layer.stage in late
            else 0.0
            for layer in blueprint
        ]  # fmt: skip


NO_REGULARISATION = Regularisation()


class Program:
    """A blueprint in the order it runs: what each layer reads, and what nobody reads any more behind it."""

    def __init__(self, blueprint: Blueprint) -> None:
        require_runnable(blueprint)
        self.blueprint = blueprint
        self.sources = blueprint.wiring()
        last_use = {s: i for i, sources in enumerate(self.sources) for s in sources}
        self._spent: list[list[int]] = [[] for _ in self.sources]
        for s, i in last_use.items():
            self._spent[i].append(s)

    def trace(
        self, x: Tensor, parts: Callable[[Layer], Parts], regularisation: Regularisation = NO_REGULARISATION
    ) -> Iterator[tuple[Layer, Tensor]]:
        """Each layer and its output, the logits last."""
        rates = (
            [0.0] * len(self.blueprint) if regularisation == NO_REGULARISATION else regularisation.rates(self.blueprint)
        )
        alive = {-1: x}
        for i, layer in enumerate(self.blueprint.layers):
            alive[i] = run(layer, [alive[s] for s in self.sources[i]], parts(layer), rates[i])
            for s in self._spent[i]:
                del alive[s]
            yield layer, alive[i]

    def __call__(
        self, x: Tensor, parts: Callable[[Layer], Parts], regularisation: Regularisation = NO_REGULARISATION
    ) -> Tensor:
        """The logits."""
        return deque(self.trace(x, parts, regularisation), maxlen=1)[0][1]


def require_runnable(blueprint: Blueprint) -> None:
    """Refuse resolutions that no padded convolution gives."""
    for layer in blueprint:
        resolution = 1 if layer.kind in ("gap", "flatten", "linear") else ceil(layer.resolution / layer.stride)
        if layer.resolution_out != resolution:
            raise InputError(
                f"layer {layer.name}: a network that runs rounds up, {layer.resolution} / {layer.stride} to "
                f"{resolution}, got {layer.resolution_out}; spatial='floor' is for counting only"
            )
