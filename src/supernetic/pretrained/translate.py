"""Somebody else's torch module as a blueprint with weights: whatever is made of layers that we have.

The module is traced with torch.fx, its operations are read in the order in which they run, and the result is compared
with the module on random images: a translation that computes something else is refused. Blocks of timm's
EfficientNets and MobileNets become `mbconv`; all else is convolutions, BN, activations, poolings, sums, concatenations
and linear maps. Stochastic depth and dropout are left out: they belong to a recipe.
"""

from __future__ import annotations

import operator
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from io import StringIO
from math import log2
from typing import Any, cast

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp

from ..blueprint import TENSORFLOW_PADDING, Blueprint, Layer
from ..errors import InputError
from ..nn.network import Network, with_weights

ACTIVATIONS = {
    "Identity": "", "ReLU": "relu", "ReLU6": "relu6", "Hardswish": "hswish", "HardSwish": "hswish", "SiLU": "swish",
    "Swish": "swish",
}  # fmt: skip
PASSED_ON = ("Identity", "Dropout", "Dropout2d", "DropPath", "DropBlock2d")  # nothing in evaluation
GLOBAL_POOLS = ("AdaptiveAvgPool2d", "SelectAdaptivePool2d", "FastAdaptiveAvgPool")
SAME_PADDED = ("Conv2dSame", "Conv2dSameExport")
GATES = ("Hardsigmoid", "HardSigmoid", "HardSigmoidMe")
BLOCKS = ("InvertedResidual", "DepthwiseSeparableConv")  # timm's
SUMS = (operator.add, operator.iadd, torch.add)
IMAGES_TRIED = 2  # images that both networks are run on
TOLERANCE = 1e-4  # of logits, relative to the largest


def translate(name: str, module: nn.Module, channels: int, resolution: int) -> Network:
    """The same network as a blueprint with weights.

    Args:
        name: For messages.
        module: The network; it is put into evaluation mode.
        channels: Of its images.
        resolution: Of its images, in pixels.

    Returns:
        The network, in evaluation mode.
    """
    module = module.eval()
    images = torch.randn(
        IMAGES_TRIED, channels, resolution, resolution, generator=torch.Generator().manual_seed(0)
    )  # fmt: skip
    try:
        graph = fx.GraphModule(module, _Tracer(module).trace(module))
        with torch.no_grad(), redirect_stderr(StringIO()):  # ShapeProp prints what fails before it raises
            ShapeProp(graph).propagate(images)
    except Exception as error:  # whatever a stranger's module does when it is traced
        why = " ".join(str(error).split())[:120]
        raise InputError(f"{name}: the network cannot be traced ({why}), so it has no blueprint") from None
    reader = _Reader(name, graph)
    for node in graph.graph.nodes:
        reader.read(node)
    network = with_weights(reader.blueprint(), reader.weights)
    with torch.no_grad():
        theirs, ours = module(images), network(images)
    if theirs.shape != ours.shape or not (theirs - ours).abs().max() <= TOLERANCE * theirs.abs().max():
        raise InputError(f"{name}: our layers compute other logits than the network itself, so it cannot be used")
    return network


class _Tracer(fx.Tracer):
    """Looks into modules as far as they are made of others."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        # not found out while tracing, which would record it
        self.blocks = {n for n, m in module.named_modules() if type(m).__name__ in BLOCKS and _block(m) is not None}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        kind = type(m).__name__
        known = isinstance(m, nn.BatchNorm2d) or kind in (*GLOBAL_POOLS, *PASSED_ON, *SAME_PADDED)
        alone = not list(m.children())
        return known or alone or module_qualified_name in self.blocks


@dataclass
class _Block:
    """An inverted bottleneck of timm's."""

    parts: dict[str, tuple[nn.Conv2d, nn.BatchNorm2d | None]]  # by our role
    layer: dict[str, Any]  # fields of the layer


def _block(module: Any) -> _Block | None:
    """What a block of timm's is as an `mbconv`; None if it is something else, or has more than that."""
    inverted = type(module).__name__ == "InvertedResidual"
    if getattr(module, "conv_s2d", None) is not None or type(getattr(module, "aa", nn.Identity())) is not nn.Identity:
        return None
    depthwise, middle = module.conv_dw, module.bn2 if inverted else module.bn1
    project, last = (module.conv_pwl, module.bn3) if inverted else (module.conv_pw, module.bn2)
    pairs: dict[str, tuple[Any, Any]] = {"depthwise": (depthwise, middle), "project": (project, last)}
    if inverted:
        pairs = {"expand": (module.conv_pw, module.bn1), **pairs}
    norms = [norm for _, norm in pairs.values()]
    plain = all(_conv(conv) is not None and conv.bias is None and _norm(norm) for conv, norm in pairs.values())
    if not plain or len({norm.eps for norm in norms}) > 1 or not _is_depthwise(depthwise):
        return None
    acts = {_activation(getattr(norm, "act", nn.Identity())) for norm in norms[:-1]}
    pointwise = all(pairs[r][0].kernel_size == (1, 1) and pairs[r][0].groups == 1 for r in pairs if r != "depthwise")
    if len(acts) > 1 or None in acts or _activation(getattr(last, "act", nn.Identity())) != "" or not pointwise:
        return None
    hidden, c_in = depthwise.in_channels, (module.conv_pw.in_channels if inverted else depthwise.in_channels)
    if inverted and hidden == c_in:  # an mbconv without expansion has no such convolution
        return None
    squeezed = 0
    if type(module.se) is not nn.Identity:
        gate = type(getattr(module.se, "gate", None)).__name__
        if gate not in GATES or _activation(module.se.act1) != "relu":
            return None
        squeezed = module.se.conv_reduce.out_channels
        pairs |= {"squeeze": (module.se.conv_reduce, None), "excite": (module.se.conv_expand, None)}
    return _Block(
        pairs,
        {
            "c_in": c_in, "c_out": project.out_channels, "kernel": depthwise.kernel_size[0],
            "stride": depthwise.stride[0], "expansion": hidden / c_in, "hidden": hidden, "se": squeezed,
            "act": acts.pop(), "shortcut": "identity" if module.has_skip else "", "eps": norms[0].eps,
            "padding": _conv(depthwise),
        },
    )  # fmt: skip


def _conv(conv: Any) -> str | None:
    """How a convolution is padded, as a layer says it; None if ours cannot compute it."""
    if not isinstance(conv, nn.Conv2d) or type(conv).__name__ not in ("Conv2d", *SAME_PADDED):
        return None
    kernel, same = conv.kernel_size[0], type(conv).__name__ in SAME_PADDED
    square = len({*conv.kernel_size}) == len({*conv.stride}) == 1 and conv.dilation == (1, 1) and kernel % 2 == 1
    padded = same or conv.padding == (kernel // 2, kernel // 2)
    usual = conv.padding_mode == "zeros"
    return (TENSORFLOW_PADDING if same else "") if square and padded and usual else None


def _norm(norm: Any) -> bool:
    return isinstance(norm, nn.BatchNorm2d) and norm.weight is not None and norm.running_mean is not None


def _is_depthwise(conv: nn.Conv2d) -> bool:
    return conv.groups == conv.in_channels == conv.out_channels


def _activation(module: nn.Module) -> str | None:
    return ACTIVATIONS.get(type(module).__name__)


@dataclass
class _Reader:
    """Reads operations one by one, and puts BN and activations into the layers before them."""

    name: str
    graph: fx.GraphModule
    layers: list[Layer] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    places: dict[fx.Node, int] = field(default_factory=dict)  # of the layer that computes a node; -1: the image
    biases: dict[int, Tensor] = field(default_factory=dict)  # of convolutions that wait for their BN

    def read(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            self.places[node] = -1
        elif node.op == "output":
            self._require(node, isinstance(node.args[0], fx.Node) and node.args[0] in self.places)
            self._require(node, self.places[node.args[0]] == len(self.layers) - 1)  # type: ignore[index]
        elif node.op == "call_module":
            self._module(node, self.graph.get_submodule(str(node.target)))
        elif node.op in ("call_function", "call_method"):
            self._function(node)
        else:
            self._refuse(node)

    def blueprint(self) -> Blueprint:
        if self.biases:
            raise InputError(
                f"{self.name}: {self.layers[min(self.biases)].name} is a convolution with a bias and no BN, which our "
                "layers cannot compute"
            )
        last = self.layers[-1] if self.layers else None
        if last is None or last.kind != "linear" or last.act:
            raise InputError(f"{self.name}: the network must end with a linear classifier")
        return Blueprint(tuple(self._staged()))

    def _staged(self) -> list[Layer]:
        """With stages by how often the image was halved; the head, which only widens the last map, has none."""
        head = next((i for i, layer in enumerate(self.layers) if layer.kind == "gap"), len(self.layers))
        size, staged = self.layers[0].resolution, []
        while head and self.layers[head - 1].kind == "conv" and self.layers[head - 1].kernel == 1:
            head -= 1
        for i, layer in enumerate(self.layers):
            body = 0 < i < head
            staged.append(layer._replace(stage=max(1, round(log2(size / layer.resolution_out))) if body else 0))
        return staged

    def _module(self, node: fx.Node, module: nn.Module) -> None:
        kind = type(module).__name__
        if kind in BLOCKS:
            self._bottleneck(node, module)
        elif isinstance(module, nn.Conv2d):
            self._convolution(node, module)
        elif isinstance(module, nn.BatchNorm2d):
            self._batch_norm(node, module)
        elif isinstance(module, nn.Linear):
            self._linear(node, module.weight, module.bias)
        elif isinstance(module, nn.MaxPool2d | nn.AvgPool2d):
            self._pool(node, module)
        elif kind in GLOBAL_POOLS:
            averaged = getattr(module, "pool_type", "avg") in ("avg", "fast", "fastavg")
            self._require(node, averaged and getattr(module, "output_size", 1) in (1, (1, 1)))
            self._add(node, "gap")
        elif isinstance(module, nn.Flatten):
            self._flatten(node)
        elif kind in PASSED_ON:
            self.places[node] = self._input(node)
        elif _activation(module) is not None:
            self._activate(node, str(_activation(module)))
        else:
            self._refuse(node)

    def _function(self, node: fx.Node) -> None:
        called: Any = node.target
        inputs = [n for n in node.all_input_nodes if n in self.places]
        if called in SUMS or called in ("add", "add_"):
            self._require(node, len(inputs) == 2)
            self._join(node, "sum", inputs)
        elif called in (torch.cat, torch.concat):
            listed, *dimension = node.args
            self._require(node, [*dimension, *node.kwargs.values()] == [1])
            self._join(node, "concat", list(cast(Any, listed)))
        elif called in (torch.flatten, "flatten"):
            self._flatten(node)
        elif called in (torch.nn.functional.dropout, "contiguous"):
            self.places[node] = self._input(node)
        elif called in (torch.relu, torch.nn.functional.relu, "relu", "relu_"):
            self._activate(node, "relu")
        elif called in ("mean", torch.mean):
            self._require(node, list(node.args[1:]) in ([(2, 3)], [[2, 3]]))
            self._add(node, "gap")
        else:
            self._refuse(node)

    # --- layers -------------------------------------------------------------------------------------------------------

    def _convolution(self, node: fx.Node, conv: nn.Conv2d) -> None:
        if self._is_pooled(node):
            self._require(node, conv.groups == 1 and conv.kernel_size == (1, 1))
            self._linear(node, conv.weight.flatten(1), conv.bias)
            return
        padding = _conv(conv)
        self._require(node, padding is not None)
        self._add(
            node, "conv", kernel=conv.kernel_size[0], stride=conv.stride[0], groups=conv.groups, norm=False,
            padding=padding,
        )  # fmt: skip
        self._keep("conv", conv, None)
        if conv.bias is not None:
            self.biases[len(self.layers) - 1] = conv.bias.detach()

    def _batch_norm(self, node: fx.Node, norm: nn.BatchNorm2d) -> None:
        self._require(node, _norm(norm) and not self._is_pooled(node))
        act = _activation(getattr(norm, "act", nn.Identity()))
        self._require(node, act is not None)
        place = self._input(node)
        before = self.layers[place] if place >= 0 else None
        if before is not None and before.kind == "conv" and not before.norm and not before.act and self._only(node):
            self.layers[place] = before._replace(norm=True, eps=norm.eps, act=str(act))
            self._keep("conv", None, norm, place)
            self.places[node] = place
        else:
            self._add(node, "norm", eps=norm.eps, act=str(act))
            self._keep("norm", None, norm)

    def _bottleneck(self, node: fx.Node, module: nn.Module) -> None:
        block = _block(module)
        assert block is not None
        self._add(node, "mbconv", **{k: v for k, v in block.layer.items() if k not in ("c_in", "c_out")})
        for role, (conv, norm) in block.parts.items():
            self._keep(role, conv, norm)

    def _linear(self, node: fx.Node, weight: Tensor, bias: Tensor | None) -> None:
        self._require(node, self._is_pooled(node))
        self._add(node, "linear")
        place = f"{self.layers[-1].name}.linear.op"
        self.weights[f"{place}.weight"] = weight.detach().clone()
        self.weights[f"{place}.bias"] = torch.zeros(len(weight)) if bias is None else bias.detach().clone()

    def _flatten(self, node: fx.Node) -> None:
        if self._is_pooled(node):
            self.places[node] = self._input(node)
        else:
            self._require(node, len(node.meta["tensor_meta"].shape) == 2)
            self._add(node, "flatten")

    def _is_pooled(self, node: fx.Node) -> bool:
        """Whether what a node reads is a row of numbers, not a map."""
        place = self._input(node)
        return place >= 0 and self.layers[place].kind in ("gap", "flatten", "linear")

    def _pool(self, node: fx.Node, pool: nn.MaxPool2d | nn.AvgPool2d) -> None:
        def number(value: Any) -> Any:
            return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value

        kernel, stride, padding = (number(v) for v in (pool.kernel_size, pool.stride, pool.padding))
        usual = padding == (kernel // 2 if kernel % 2 else 0) and number(getattr(pool, "dilation", 1)) == 1
        if isinstance(pool, nn.AvgPool2d):
            usual = usual and kernel % 2 == 1 and not pool.count_include_pad
        self._require(node, usual)
        self._add(node, "maxpool" if isinstance(pool, nn.MaxPool2d) else "avgpool", kernel=kernel, stride=stride)

    def _activate(self, node: fx.Node, act: str) -> None:
        place = self._input(node)
        before = self.layers[place] if place >= 0 else None
        fits = before is not None and before.kind in ("conv", "norm", "join", "linear") and not before.act
        if fits and self._only(node) and before is not None:
            self.layers[place] = before._replace(act=act)
            self.places[node] = place
        else:
            self._join(node, "sum", [self._source(node)], act)

    def _join(self, node: fx.Node, how: str, inputs: list[fx.Node], act: str = "") -> None:
        self._require(node, all(n in self.places and self.places[n] >= 0 for n in inputs))
        names = tuple(self.layers[self.places[n]].name for n in inputs)
        sizes = {n: self._channels(n) for n in inputs}
        self._require(node, how == "concat" or len(set(sizes.values())) == 1)
        self._add(node, "join", inputs=names, join=how, act=act)

    # --- help ---------------------------------------------------------------------------------------------------------

    def _add(self, node: fx.Node, kind: str, **fields: Any) -> None:
        source = self._source(node)
        place = self.places[source]
        if "inputs" not in fields and place != len(self.layers) - 1:
            self._require(node, place >= 0)
            fields["inputs"] = (self.layers[place].name,)
        name = str(node.target) if node.op == "call_module" else node.name
        layer = Layer(
            self._free(name), kind, self._channels(source), self._channels(node), self._size(source), self._size(node),
            **fields,
        )  # fmt: skip
        self.places[node] = len(self.layers)
        self.layers.append(layer)

    def _free(self, name: str) -> str:
        """A name of its own; modules that run twice have several."""
        taken = {layer.name for layer in self.layers}
        return next(n for n in (name, *(f"{name}_{i}" for i in range(2, len(taken) + 3))) if n not in taken)

    def _keep(self, role: str, conv: nn.Conv2d | None, norm: nn.BatchNorm2d | None, place: int | None = None) -> None:
        where = len(self.layers) - 1 if place is None else place
        unit = f"{self.layers[where].name}.{role}"
        if conv is not None:
            self.weights[f"{unit}.op.weight"] = conv.weight.detach().clone()
            if conv.bias is not None and role in ("squeeze", "excite"):
                self.weights[f"{unit}.op.bias"] = conv.bias.detach().clone()
        if norm is not None:
            tensors = {k: v.detach().clone() for k, v in norm.state_dict().items()}
            bias = self.biases.pop(where, None)
            if bias is not None:  # BN subtracts the mean, of which the bias is a part
                tensors["running_mean"] -= bias
            self.weights |= {f"{unit}.norm.{k}": v for k, v in tensors.items()}

    def _source(self, node: fx.Node) -> fx.Node:
        found = [n for n in node.all_input_nodes if n in self.places]
        self._require(node, bool(found))
        return found[0]

    def _input(self, node: fx.Node) -> int:
        return self.places[self._source(node)]

    def _only(self, node: fx.Node) -> bool:
        """Whether nobody else reads what a node reads."""
        return len(self._source(node).users) == 1

    def _channels(self, node: fx.Node) -> int:
        return int(node.meta["tensor_meta"].shape[1])

    def _size(self, node: fx.Node) -> int:
        shape = node.meta["tensor_meta"].shape
        return int(shape[2]) if len(shape) == 4 else 1

    def _require(self, node: fx.Node, fits: bool) -> None:
        if not fits:
            self._refuse(node)

    def _refuse(self, node: fx.Node) -> None:
        what = str(node.target)
        if node.op == "call_module":
            what += f", {type(self.graph.get_submodule(what)).__name__}"
        elif callable(node.target):
            what = f"{node.name}, {getattr(node.target, '__name__', what)}"
        raise InputError(f"{self.name}: the network has an operation that our layers cannot compute ({what})")
