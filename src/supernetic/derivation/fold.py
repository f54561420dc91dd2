"""Folding: a network without its stabilisers, computing the same where that is possible.

Paper: Chu et al., "SCARLET-NAS", arXiv 1908.06022, lemma 4.1.
Differences: the lemma leaves out shortcuts. A block y + g(y) behind a stabiliser y = Ex passes E on by its shortcut, so
folding E into g alone is wrong; where it can be done, the features are turned by E from where the shortcuts begin.

How a stabiliser goes, by what reads it:

    forward       a dense convolution or the classifier, W' = WE; pooling and other stabilisers may come between
    conjugation   anything else, above all a block with an identity shortcut, if what E reads is made by blocks that end
                  without activation. E moves to where the shortcuts come from: the block that opens the stage gets
                  W' = EW in its last convolution; those between it and E the same, and V' = V E^-1 in their first.
                  E must be square, and invertible if there are any between
    dropped       where neither can be done, or E ends with a ReLU: a plain skip takes its place, and outputs change
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..blueprint import SHORTCUT_KINDS, Blueprint, Layer
from ..errors import InputError
from ..nn.network import Network
from ..nn.unit import Unit
from ..stabiliser import is_stabiliser

PROBE_IMAGES = 8  # random ones to measure with, if none are given
FIRST_ROLES = ("conv", "conv1", "linear", "expand", "shortcut")  # of the dense convolutions that read a layer's input
MAX_RELATIVE_ERROR = 1e-3  # by rounding, that an inversion may cause


@dataclass(frozen=True)
class Removal:
    """What became of one stabiliser."""

    layer: str
    how: str  # forward, conjugation, dropped
    condition: float | None = None  # of the matrix, if it was inverted: digits lost are its logarithm


@dataclass(frozen=True)
class FoldReport:
    """What became of each stabiliser, and how far the logits moved on the probe images in evaluation mode."""

    removals: tuple[Removal, ...]
    deviation: float  # the largest difference of logits
    relative: float  # the same by the largest logit

    @property
    def exact(self) -> bool:
        """Whether the network computes the same as before, up to rounding."""
        return all(r.how != "dropped" for r in self.removals)

    def to_json(self) -> dict[str, Any]:
        """For a run's records."""
        return {**asdict(self), "exact": self.exact}

    def lines(self) -> list[str]:
        """For reading: a line for each stabiliser, and one for the whole."""
        removals = [
            f"{r.layer}: {r.how}" + (f", condition {r.condition:.3g}" if r.condition is not None else "")
            for r in self.removals
        ]
        what = "the same network" if self.exact else "not the same network"
        return [*removals, f"{what}: logits differ by {self.deviation:.2g}, {self.relative:.2g} of the largest"]


@torch.no_grad()
def fold(network: Network, finished: Blueprint, *, probe: Tensor | None = None) -> tuple[Network, FoldReport]:
    """A network without its stabilisers.

    Exact for running BN statistics, so recalibrate before. Recalibrating afterwards is exact only without conjugations.

        fold(supernet.extract(arch), supernet.space.blueprint(arch))

    Args:
        network: The network with stabilisers.
        finished: The same network with skips in their place.
        probe: Images on which the logits of both are compared; random ones by default.

    Returns:
        The folded network, and what became of each stabiliser.
    """
    like = next(network.parameters())
    work = _Folding(network, Network(finished).to(like.dtype))
    work.load()
    work.fold()
    before, after = deepcopy(network).eval(), work.new.to(like.device).eval()
    if probe is None:
        shape = (PROBE_IMAGES, finished.in_channels, finished.resolution, finished.resolution)
        probe = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    expected = before(probe.to(like))
    deviation = float((after(probe.to(like)) - expected).abs().max())
    report = FoldReport(tuple(work.removals.values()), deviation, deviation / (float(expected.abs().max()) or 1.0))
    return after.train(network.training), report


class _Map(NamedTuple):
    """How a layer's output in the old network follows from that in the new one."""

    matrix: Tensor | None = None  # old channels x new channels; nothing if they are the same
    pending: tuple[str, ...] = ()  # the stabilisers in that matrix
    behind: tuple[Layer, ...] = ()  # the block that opened the line of shortcuts, and those added since


@dataclass
class _Folding:
    old: Network
    new: Network
    removals: dict[str, Removal] = field(default_factory=dict)

    def load(self) -> None:
        """All weights as they are; where the finished network is narrower, those of the first channels."""
        olds = {layer.name: layer for layer in self.old.blueprint}
        for new in self.new.blueprint:
            old = olds.get(new.name, new._replace(kind=""))
            units = self.new.units(new)
            if units and (old.kind != new.kind or units.keys() - self.old.units(old).keys() or is_stabiliser(new)):
                was = old.label or "nothing"
                raise InputError(f"layer {new.name}: {new.label} of the finished network can't come from {was}")
            for role, unit in units.items():
                theirs = self.old.units(old)[role].state_dict()
                for name, tensor in unit.state_dict().items():
                    part = theirs[name][tuple(slice(n) for n in tensor.shape)]
                    if part.shape != tensor.shape:
                        raise InputError(f"layer {new.name}: {role} of the finished network is larger than before")
                    tensor.copy_(part)

    def fold(self) -> None:
        """Follow the old network and keep account of what is pending."""
        layers, wiring = self.old.blueprint.layers, self.old.blueprint.wiring()
        readers = Counter(s for sources in wiring for s in sources)
        finished = {layer.name: layer for layer in self.new.blueprint}
        maps = {-1: _Map()}
        for i, layer in enumerate(layers):
            new = finished.get(layer.name, layer)  # a pool with a stabiliser behind it has no counterpart
            out = self.layer(layer, new, [maps[s] for s in wiring[i]])
            maps[i] = out if readers[i] == 1 else out._replace(behind=())

    def layer(self, old: Layer, new: Layer, inputs: list[_Map]) -> _Map:
        """What follows for a layer's output. Its own weights, and those of layers before it, are changed as needed."""
        x = inputs[0]
        if is_stabiliser(old):
            return self.stabiliser(old, x)
        if old.kind in ("skip", "avgpool", "gap"):  # these treat all channels alike, so the matrix may pass
            return x
        if old.kind in ("conv", "linear") and old.groups == 1:
            self.absorb(old, new, x)
            return _Map(behind=() if old.act else (new,))
        if old.kind in SHORTCUT_KINDS:
            return self.block(old, new, x)
        for x in inputs:
            self.move_back(x)
        return _Map(None if old.c_out == new.c_out else _eye(old.c_out, new.c_out))

    def stabiliser(self, layer: Layer, x: _Map) -> _Map:
        """Its matrix is pending from here on."""
        self.mark((layer.name,), "dropped" if layer.act else "forward")
        weight = _eye(layer.c_out, layer.c_in) if layer.act else _weight(self.old.units(layer)["conv"]).flatten(1)
        if not weight.isfinite().all():
            raise InputError(f"stabiliser {layer.name}: weights must be finite to be folded; the training diverged")
        matrix = weight if x.matrix is None else weight @ x.matrix
        if matrix.shape[0] == matrix.shape[1] and torch.equal(matrix, _eye(*matrix.shape)):
            return _Map(behind=x.behind)
        return _Map(matrix, (*x.pending, layer.name), x.behind)

    def block(self, old: Layer, new: Layer, x: _Map) -> _Map:
        """An mbconv or residual block.

        An mbconv's last convolution may be turned later on, its first one too unless it is depthwise. Behind a residual
        block stands an activation, so nothing moves back into it.
        """
        units = self.new.units(new)
        passes_on = bool(new.shortcut) and "shortcut" not in units
        dense = "expand" in units or "conv1" in units  # whether its first convolution reads all channels
        if dense and not passes_on and old.shortcut == new.shortcut:
            self.absorb(old, new, x)
        else:
            self.move_back(x)
        if new.kind == "residual":
            return _Map()
        if not passes_on:
            return _Map(behind=(new,))
        return _Map(behind=(*x.behind, new) if x.behind and "expand" in units else ())

    def absorb(self, old: Layer, new: Layer, x: _Map) -> None:
        """Forward: into the convolutions that read the layer's input."""
        for role, unit in self.new.units(new).items():
            if x.matrix is not None and role in FIRST_ROLES:
                _read_through(unit, _weight(self.old.units(old)[role]), x.matrix)

    def move_back(self, x: _Map) -> None:
        """Conjugation: to where the shortcuts come from, so that the layer at hand can stay as it is; or dropped."""
        if x.matrix is None:
            return
        condition, square = None, x.matrix.shape[0] == x.matrix.shape[1]
        if square and len(x.behind) > 1:
            condition = float(torch.linalg.cond(x.matrix))
        if not x.behind or not square or (condition or 1) > self.max_condition:
            self.mark(x.pending, "dropped")
            return
        opens, *blocks = (self.new.units(layer) for layer in x.behind)
        for units in blocks:
            _read_through(units["expand"], _weight(units["expand"]), torch.linalg.inv(x.matrix))
            _turn(units["project"], x.matrix)
        _turn(opens["project"] if "project" in opens else opens["conv"], x.matrix)
        self.mark(x.pending, "conjugation", condition)

    def mark(self, names: tuple[str, ...], how: str, condition: float | None = None) -> None:
        """Note what becomes of stabilisers; once dropped for one reader, dropped."""
        for name in names:
            if name not in self.removals or self.removals[name].how != "dropped":
                self.removals[name] = Removal(name, how, condition)

    @property
    def max_condition(self) -> float:
        """Beyond it the inverse is not exact any more, in the precision that the weights are kept in."""
        return MAX_RELATIVE_ERROR / torch.finfo(next(self.old.parameters()).dtype).eps


def _read_through(unit: Unit, weight: Tensor, matrix: Tensor) -> None:
    """Give the unit the weight that does to x what `weight` does to the matrix times x."""
    _set(unit, torch.einsum("om...,mc->oc...", weight, matrix))


def _turn(unit: Unit, matrix: Tensor) -> None:
    """Let the matrix act on the output of a convolution and its BN.

    The BN ends up with the mean that its new inputs have, and the variance that they have if they are uncorrelated.
    """
    norm, weight = unit.norm, _weight(unit)
    if norm is not None:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        mean, var, bias = norm.running_mean.double(), norm.running_var.double(), norm.bias.double()
        scale = norm.weight.double() / (var + norm.eps).sqrt()
        norm.running_mean.copy_(matrix @ (scale * mean))
        norm.running_var.copy_(matrix**2 @ (scale**2 * var))
        norm.weight.copy_((norm.running_var.double() + norm.eps).sqrt())
        norm.bias.copy_(matrix @ bias)
        matrix = matrix * scale
    _set(unit, torch.einsum("no,oc...->nc...", matrix, weight))


def _eye(rows: int, columns: int) -> Tensor:
    return torch.eye(rows, columns, dtype=torch.float64)


def _weight(unit: Unit) -> Tensor:
    assert unit.op is not None
    return unit.op.weight.double().cpu()


def _set(unit: Unit, weight: Tensor) -> None:
    assert unit.op is not None
    unit.op.weight.copy_(weight)
