"""A network as an ONNX graph, written straight from its blueprint.

Exported models go through torch's exporter, which takes seconds per network. Timing needs the graphs of hundreds of
layers, so they are written here, in milliseconds and without torch. onnxruntime turns both into the same operations,
except for `zero` layers (NAS-Bench-201), where this graph keeps a few more. Weights may be given; random ones take
equally long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..blueprint import Blueprint, Layer, Part, pads_of, parts

Array = npt.NDArray[Any]
Weights = Mapping[str, Array]  # by the names of a network's state: `stage1.0.expand.op.weight`

INPUT_NAME, OUTPUT_NAME = "images", "logits"
OPSET_VERSION = 20
STRIDED_ROLES = ("conv", "conv1", "depthwise")  # the roles that carry the layer's stride


def graph(blueprint: Blueprint, weights: Weights | None = None) -> bytes:
    """Write a network as an ONNX file.

    Values of layer i are called `i/...`, and onnxruntime keeps these names: its profile says which layer took how long.

    Args:
        blueprint: The network.
        weights: Its weights by name; missing ones are random.

    Returns:
        The bytes of the file, for batches of any size.
    """
    from onnx import TensorProto, helper

    writer = _Writer(weights)
    values = {-1: INPUT_NAME}
    for i, (layer, sources) in enumerate(zip(blueprint, blueprint.wiring(), strict=True)):
        writer.prefix = str(i)
        widths = [blueprint.in_channels if s < 0 else blueprint.layers[s].c_out for s in sources]
        values[i] = _layer(writer, layer, [values[s] for s in sources], widths)
    writer.nodes.append(helper.make_node("Identity", [values[len(blueprint) - 1]], [OUTPUT_NAME]))
    resolution = blueprint.resolution
    ends = [
        helper.make_tensor_value_info(
            INPUT_NAME, TensorProto.FLOAT, ["batch", blueprint.in_channels, resolution, resolution]
        ),
        helper.make_tensor_value_info(OUTPUT_NAME, TensorProto.FLOAT, None),
    ]
    network = helper.make_graph(writer.nodes, "network", ends[:1], ends[1:], writer.constants)
    model = helper.make_model(network, opset_imports=[helper.make_opsetid("", OPSET_VERSION)], ir_version=10)
    data: bytes = model.SerializeToString()
    return data


class _Writer:
    """Collects nodes and constants; the names of new values begin with `prefix`."""

    def __init__(self, weights: Weights | None) -> None:
        self.weights = weights
        self.rng = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.prefix = ""

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; its output has its name."""
        from onnx import helper

        name = f"{self.prefix}/{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, value: Array) -> str:
        """Add a constant."""
        from onnx import numpy_helper

        name = f"{self.prefix}/c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, name: str, shape: tuple[int, ...], fill: float | None = None) -> str:
        """Add a weight: the given one, else all `fill`, else random values of about unit gain."""
        if self.weights is not None and name in self.weights:
            value = np.asarray(self.weights[name])
        elif fill is not None:
            value = np.full(shape, fill, np.float32)
        else:
            value = self.rng.standard_normal(shape, np.float32) * np.float32(np.prod(shape[1:]) ** -0.5)
        return self.constant(value)

    def integers(self, *values: int) -> str:
        """Add a constant of whole numbers."""
        return self.constant(np.array(values, np.int64))


def _layer(w: _Writer, layer: Layer, xs: Sequence[str], widths: Sequence[int]) -> str:
    """The computation of a layer, as in `nn.run`, in operations of ONNX."""
    x = xs[0]
    units = {p.role: p for p in parts(layer)}
    match layer.kind:
        case "conv":
            return _act(w, layer.act, _unit(w, layer, units["conv"], x))
        case "preconv":
            return _unit(w, layer, units["conv"], w.add("Relu", x))
        case "mbconv":
            return _mbconv(w, layer, units, x)
        case "reduce":
            y = _unit(w, layer, units["conv1"], w.add("Relu", x))
            y = _unit(w, layer, units["conv2"], w.add("Relu", y))
            return w.add("Add", y, _unit(w, layer, units["shortcut"], _halved(w, layer, x)))
        case "residual":
            y = _act(w, layer.act, _unit(w, layer, units["conv1"], x))
            return _act(w, layer.act, _add_shortcut(w, layer, units, x, _unit(w, layer, units["conv2"], y)))
        case "avgpool" | "maxpool":
            return _pool(w, layer, x)
        case "skip":
            if layer.stride == 1:
                return x
            end = np.iinfo(np.int64).max
            return w.add("Slice", x, *(w.integers(*v) for v in ((0, 0), (end, end), (2, 3), (layer.stride,) * 2)))
        case "zero":
            batch = w.add("Shape", x, start=0, end=1)
            shape = w.add("Concat", batch, w.integers(layer.c_out, layer.resolution_out, layer.resolution_out), axis=0)
            return w.add("ConstantOfShape", shape)
        case "join":
            return _act(w, layer.act, _join(w, layer, xs, widths))
        case "norm":
            return _act(w, layer.act, _unit(w, layer, units["norm"], x))
        case "gap":
            return _mean(w, x)
        case "flatten":
            return w.add("Reshape", x, w.integers(0, -1, 1, 1))
        case "linear":
            return _act(w, layer.act, _unit(w, layer, units["linear"], w.add("Flatten", x)))
        case kind:
            raise ValueError(f"layer {layer.name!r} has the unknown kind {kind!r}")


def _unit(w: _Writer, layer: Layer, part: Part, x: str) -> str:
    """A convolution or linear map, and the BN after it."""
    name, c = f"{layer.name}.{part.role}", part.c_out
    bias = [w.weight(f"{name}.op.bias", (c,), 0.0)] if part.bias else []
    if layer.kind == "linear":
        return w.add("Gemm", x, w.weight(f"{name}.op.weight", (c, part.c_in)), *bias, transB=1)
    k = part.kernel
    if k:
        kernel = w.weight(f"{name}.op.weight", (c, part.c_in // part.groups, k, k))
        stride = layer.stride if part.role in STRIDED_ROLES else 1
        first, last = pads_of(layer.padding, _resolution(layer, part), k, stride)
        pads = [first, first, last, last]
        x = w.add("Conv", x, kernel, *bias, group=part.groups, strides=[stride] * 2, pads=pads)
    if part.norm or layer.kind == "preconv":
        fills = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
        norm = [w.weight(f"{name}.norm.{n}", (c,), v) for n, v in fills.items()]
        x = w.add("BatchNormalization", x, *norm, epsilon=layer.eps)
    return x


def _resolution(layer: Layer, part: Part) -> int:
    """Of the map that a convolution reads."""
    return layer.resolution if part.role in STRIDED_ROLES else part.resolution_out


def _act(w: _Writer, act: str, x: str) -> str:
    match act:
        case "":
            return x
        case "relu":
            return w.add("Relu", x)
        case "relu6":
            return w.add("Clip", x, *(w.constant(np.array(v, np.float32)) for v in (0, 6)))
        case "hswish":
            return w.add("HardSwish", x)
        case "swish":
            return w.add("Mul", x, w.add("Sigmoid", x))
        case _:
            raise ValueError(f"unknown activation {act!r}")


def _mean(w: _Writer, x: str) -> str:
    return w.add("ReduceMean", x, w.integers(2, 3), keepdims=1)


def _mbconv(w: _Writer, layer: Layer, units: Mapping[str, Part], x: str) -> str:
    y = _act(w, layer.act, _unit(w, layer, units["expand"], x)) if "expand" in units else x
    y = _act(w, layer.act, _unit(w, layer, units["depthwise"], y))
    if layer.se:
        gate = w.add("Relu", _unit(w, layer, units["squeeze"], _mean(w, y)))
        y = w.add("Mul", y, w.add("HardSigmoid", _unit(w, layer, units["excite"], gate), alpha=1 / 6, beta=0.5))
    return _add_shortcut(w, layer, units, x, _unit(w, layer, units["project"], y))


def _add_shortcut(w: _Writer, layer: Layer, units: Mapping[str, Part], x: str, y: str) -> str:
    if not layer.shortcut:
        return y
    x = _halved(w, layer, x) if layer.stride > 1 else x
    return w.add("Add", y, _unit(w, layer, units["shortcut"], x) if "shortcut" in units else x)


def _halved(w: _Writer, layer: Layer, x: str) -> str:
    """Average pooling by the stride.

    Torch pads an odd side on both ends and drops what hangs over; in ONNX the padding is at the beginning only.
    """
    n, odd = layer.stride, layer.resolution % layer.stride > 0
    first = int(odd and n == 2)
    hang = int(odd and n != 2)
    shape = {"kernel_shape": [n] * 2, "strides": [n] * 2, "pads": [first, first, 0, 0]}
    return w.add("AveragePool", x, **shape, ceil_mode=hang, count_include_pad=1)


def _pool(w: _Writer, layer: Layer, x: str) -> str:
    k, n = layer.kernel, layer.stride
    shape = {"kernel_shape": [k] * 2, "strides": [n] * 2}
    if layer.kind == "avgpool":
        return w.add("AveragePool", x, **shape, pads=[k // 2] * 4, count_include_pad=0)
    if k % 2:
        return w.add("MaxPool", x, **shape, pads=[k // 2] * 4)
    return w.add("MaxPool", x, **shape, ceil_mode=int(layer.resolution % n > 0))


def _join(w: _Writer, layer: Layer, xs: Sequence[str], widths: Sequence[int]) -> str:
    if layer.join == "concat":
        return w.add("Concat", *xs, axis=1)
    first = [0], [layer.c_out], [1]
    cut = [w.add("Slice", x, *(w.integers(*v) for v in first)) if c > layer.c_out else x
           for x, c in zip(xs, widths, strict=True)]  # fmt: skip
    total = cut[0]
    for x in cut[1:]:
        total = w.add("Add", total, x)
    return w.add("Mul", total, w.constant(np.array(1 / len(xs), np.float32))) if layer.join == "mean" else total
