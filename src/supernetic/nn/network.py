"""A network with weights of its own, from its blueprint. Nothing here knows of supernets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import torch
from torch import Tensor, nn

from ..blueprint import Blueprint, Layer, parts
from ..capacity import require_weights
from ..errors import InputError, UnknownNameError
from .initialise import initialise
from .norm import norms_of
from .run import NO_REGULARISATION, Parts, Program, Regularisation
from .unit import Unit


class Network(nn.Module):
    """`network(images) -> logits`. Weights are not set: see `build`, `Supernet.extract` and `load_state_dict`.

    The unit of layer `stage2.0` and role `expand` is the submodule `stage2.0.expand`.

    Args:
        blueprint: The layers.
    """

    _frozen: frozenset[str] = frozenset()  # names of layers that training leaves as they are
    _fixed_statistics = False  # whether BN keeps its statistics in training

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__()
        self.program = Program(blueprint)
        self._units: dict[str, dict[str, Unit]] = {}
        require_weights("the network", sum(part.params for layer in blueprint for part in parts(layer)))
        for layer in blueprint:
            self._add(layer)

    @property
    def blueprint(self) -> Blueprint:
        """What the network is made from."""
        return self.program.blueprint

    @property
    def num_features(self) -> int:
        """Channels of the map that `forward_features` returns."""
        place = _feature_layer(self.blueprint)
        return self.blueprint.in_channels if place < 0 else self.blueprint.layers[place].c_out

    def units(self, layer: Layer) -> dict[str, Unit]:
        """The layer's units by role."""
        return self._units[layer.name]

    def forward(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Tensor:
        """Run the network.

        Args:
            x: Images N x C x H x W, prepared as for training: see `supernetic.transform`.
            regularisation: Dropout and drop-connect for this pass.

        Returns:
            Logits N x classes.
        """
        return self.program(x, self._parts, regularisation)

    def forward_features(self, x: Tensor) -> Tensor:
        """Run the network up to its global pooling.

        Args:
            x: Images N x C x H x W, prepared as for training.

        Returns:
            The map that the global pooling reads, N x `num_features` x h x w; in a network without global pooling, what
            its classifier reads.
        """
        place = _feature_layer(self.blueprint)
        return x if place < 0 else next(y for i, (_, y) in enumerate(self.trace(x)) if i == place)

    def get_classifier(self) -> nn.Module:
        """The linear map at the end, as timm's models have it."""
        (unit,) = self.units(self.blueprint.layers[-1]).values()
        assert unit.op is not None
        return unit.op

    def freeze(self, layers: Iterable[str]) -> None:
        """Let layers be as they are in training: their weights get no gradients, their BN keeps its statistics.

        Args:
            layers: Names; those of an earlier call are free again.
        """
        self._frozen = frozenset(layers)
        known = {layer.name for layer in self.blueprint}
        if self._frozen - known:
            raise UnknownNameError("layer", min(self._frozen - known), known)
        for name, units in self._units.items():
            for unit in units.values():
                unit.requires_grad_(name not in self._frozen)
        self.train(self.training)

    def fix_statistics(self) -> None:
        """Let BN normalise by the statistics that it has, in training too; its weights are trained."""
        self._fixed_statistics = True
        self.train(self.training)

    def train(self, mode: bool = True) -> Self:
        """Set training mode; frozen layers, and BN whose statistics are fixed, stay in evaluation mode."""
        super().train(mode)
        for norm in norms_of(self) if self._fixed_statistics else ():
            norm.eval()
        for name in self._frozen:
            for unit in self._units[name].values():
                unit.eval()
        return self

    def reset_classifier(self, classes: int, *, seed: int | None = None) -> None:
        """Replace the classifier by a new one with random weights, for other classes.

        Blueprint, costs and exports follow. Make the optimiser afterwards: the parameters of the old classifier are
        gone.

        Args:
            classes: The new number of classes.
            seed: Of the random weights; torch's own generator by default.
        """
        blueprint = with_classes(self.blueprint, classes)
        like = next(self.parameters())
        layer = blueprint.layers[-1]
        self.program = Program(blueprint)
        self._add(layer)
        for unit in self.units(layer).values():
            initialise(unit, seed=seed)
            unit.to(like.device, like.dtype).train(self.training)

    def trace(self, x: Tensor) -> Iterator[tuple[Layer, Tensor]]:
        """Each layer and its output."""
        return self.program.trace(x, self._parts)

    def _add(self, layer: Layer) -> None:
        self._units[layer.name] = {p.role: Unit(layer, p) for p in parts(layer)}
        for role, unit in self._units[layer.name].items():
            add_submodule(self, f"{layer.name}.{role}", unit)

    def _parts(self, layer: Layer) -> Parts:
        return self._units[layer.name]


def build(blueprint: Blueprint, *, seed: int | None = None, zero_residual: bool = False) -> Network:
    """A network with fresh weights.

    Args:
        blueprint: The layers.
        seed: Of the weights; torch's own generator by default.
        zero_residual: Whether blocks with a shortcut start as their shortcut.

    Returns:
        The network, in training mode.
    """
    network = Network(blueprint)
    initialise(network, seed=seed, zero_residual=zero_residual)
    return network


def with_classes(blueprint: Blueprint, classes: int) -> Blueprint:
    """The blueprint with a classifier for another number of classes.

    Args:
        blueprint: Layers that end with a linear classifier.
        classes: The new number of classes.

    Returns:
        The blueprint; all layers but the last are the same.
    """
    last = blueprint.layers[-1]
    if classes < 1:
        raise InputError(f"classes must be at least 1, got {classes}")
    if last.kind != "linear":
        raise InputError(f"a network without a linear classifier cannot get other classes: it ends with {last.name}")
    return Blueprint((*blueprint.layers[:-1], last._replace(c_out=classes)))


def _feature_layer(blueprint: Blueprint) -> int:
    """Position of the layer whose output the last global pooling reads, else the classifier; -1 is the image."""
    pools = [i for i, layer in enumerate(blueprint) if layer.kind == "gap"]
    return blueprint.wiring()[pools[-1] if pools else -1][0]


def with_weights(blueprint: Blueprint, weights: Mapping[str, Tensor]) -> Network:
    """A network with given weights, ready for evaluation.

    It takes no more memory than the weights: a received blueprint may name any size.

    Args:
        blueprint: What the network is made from.
        weights: All of its tensors; a `RuntimeError` if they do not fit.
    """
    with torch.device("meta"):
        network = Network(blueprint)
    network.load_state_dict(weights, assign=True)
    return network.eval()


def add_submodule(root: nn.Module, path: str, module: nn.Module) -> None:
    """Make `module` a submodule of `root`.

    Args:
        root: The module that gets it.
        path: Dotted; modules on the way are made.
        module: The new submodule; it replaces one of the same path.
    """
    *parents, name = path.split(".")
    for parent in parents:
        if parent not in root._modules:
            root.add_module(parent, nn.Module())
        root = root.get_submodule(parent)
    root.add_module(name, module)
