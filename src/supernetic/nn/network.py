"""A network with weights of its own, from its blueprint. Nothing here knows of supernets."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from ..blueprint import Blueprint, Layer, parts
from .initialise import initialise
from .run import NO_REGULARISATION, Parts, Program, Regularisation
from .unit import Unit


class Network(nn.Module):
    """`network(images) -> logits`. Weights are not set: see `build`, `Supernet.extract` and `load_state_dict`.

    The unit of layer `stage2.0` and role `expand` is the submodule `stage2.0.expand`.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__()
        self.program = Program(blueprint)
        self._units: dict[str, dict[str, Unit]] = {}
        for layer in blueprint:
            self._units[layer.name] = {p.role: Unit(layer, p) for p in parts(layer)}
            for role, unit in self._units[layer.name].items():
                add_submodule(self, f"{layer.name}.{role}", unit)

    @property
    def blueprint(self) -> Blueprint:
        """What the network is made from."""
        return self.program.blueprint

    def units(self, layer: Layer) -> dict[str, Unit]:
        """The layer's units by role."""
        return self._units[layer.name]

    def forward(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Tensor:
        """Logits of a batch of images."""
        return self.program(x, self._parts, regularisation)

    def trace(self, x: Tensor) -> Iterator[tuple[Layer, Tensor]]:
        """Each layer and its output."""
        return self.program.trace(x, self._parts)

    def _parts(self, layer: Layer) -> Parts:
        return self._units[layer.name]


def build(blueprint: Blueprint, *, seed: int | None = None, zero_residual: bool = False) -> Network:
    """A network with fresh weights."""
    network = Network(blueprint)
    initialise(network, seed=seed, zero_residual=zero_residual)
    return network


def add_submodule(root: nn.Module, path: str, module: nn.Module) -> None:
    """Make `module` a submodule of `root` under a dotted path."""
    *parents, name = path.split(".")
    for parent in parents:
        if parent not in root._modules:
            root.add_module(parent, nn.Module())
        root = root.get_submodule(parent)
    root.add_module(name, module)
