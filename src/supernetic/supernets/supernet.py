"""A supernet: one set of weights for all networks of a space. The path is passed, never set.

Law: with the same BN statistics `supernet(x, arch)` equals `supernet.extract(arch)(x)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from ..blueprint import Blueprint, Layer, Part, parts
from ..capacity import require_weights
from ..errors import UnknownNameError
from ..nn.initialise import ALIKE, INITIAL_WEIGHTS, initialise, start_alike
from ..nn.network import Network, add_submodule, build
from ..nn.run import NO_REGULARISATION, Parts, Program, Regularisation
from ..nn.unit import WHOLE, Unit, View
from ..space import Arch, Space
from .sharing import layers_of, shared_parts, sharing_of, view_of

MAX_CACHED_LAYERS, MAX_CACHED_PROGRAMS = 20_000, 2_000
STARTS = (*INITIAL_WEIGHTS, ALIKE)


class Supernet(nn.Module):
    """All networks of a space, sharing weights as the space says.

    `blueprint(arch)` is what runs here, stabilisers included. `space.blueprint(arch)` is the finished network without
    them.

    Args:
        space: The space. Its networks share weights as `space.sharing` says.
        seed: Of the weights; torch's own generator by default.
        zero_residual: Whether blocks with a shortcut start as their shortcut.
        stabiliser: How stabilisers start: `random` or `identity`.
        weights: How all other weights start: `he`, `torch`, or `alike`: as `he`, but blocks start as their shortcuts,
            and options of a layer that differ in the kernel alone as the one with the smallest kernel.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int | None = None,
        zero_residual: bool = False,
        stabiliser: str = "random",
        weights: str = "he",
    ) -> None:
        super().__init__()
        if weights not in STARTS:
            raise UnknownNameError("initial weights", weights, STARTS)
        self.stabilised = space
        self.space = finished(space)
        self.rule = sharing_of(space)
        self._full: dict[str, tuple[Unit, Part]] = {}
        shared = shared_parts(space)
        require_weights(f"the supernet of {space.name}", sum(part.params for _, part in shared.values()))
        for path, (layer, part) in shared.items():
            unit = Unit(layer, part)
            if unit.norm is not None:
                unit.norm.track_running_stats = self.rule.tracks
            add_submodule(self, path, unit)
            self._full[path] = (unit, part)
        self.in_channels, self.resolutions, self.classes = _images_and_classes(space)
        self._programs: dict[Arch, Program] = {}
        self._used: dict[tuple[Layer, str], dict[str, tuple[Unit, View | None]]] = {}
        alike = weights == ALIKE
        initialise(
            self,
            seed=seed,
            zero_residual=zero_residual or alike,
            stabiliser=stabiliser,
            weights="he" if alike else weights,
        )
        if alike:
            start_alike(
                (f"{self.rule.key(layer._replace(kernel=1))}.{part.role}", self._full[path][0])
                for path, (layer, part) in shared.items()
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_programs": {}, "_used": {}}

    @property
    def slice_sides(self) -> tuple[str, ...]:
        """From where widths are counted: only `left`, or `left` and `right` (BCNet)."""
        return self.rule.slice_sides

    # --- networks -----------------------------------------------------------------------------------------------------

    def blueprint(self, arch: Arch) -> Blueprint:
        """What the supernet runs for `arch`, stabilisers included."""
        return self.program(arch).blueprint

    def program(self, arch: Arch) -> Program:
        """The same, ready to run."""
        if arch not in self._programs:
            if len(self._programs) >= MAX_CACHED_PROGRAMS:
                self._programs.clear()
            self._programs[arch] = Program(self.stabilised.blueprint(arch))
        return self._programs[arch]

    def build(self, arch: Arch, *, seed: int | None = None, zero_residual: bool = False) -> Network:
        """The finished network with fresh weights.

        Args:
            arch: The architecture.
            seed: Of the weights; torch's own generator by default.
            zero_residual: Whether blocks with a shortcut start as their shortcut.

        Returns:
            The network.
        """
        return build(self.space.blueprint(arch), seed=seed, zero_residual=zero_residual)

    def extract(self, arch: Arch, slice_side: str = "left") -> Network:
        """What the supernet runs for an architecture, as a network of its own.

        Args:
            arch: The architecture.
            slice_side: `left` or `right`, where the supernet has both.

        Returns:
            A network with copies of the shared weights and BN statistics.
        """
        like = next(self.parameters())
        network = Network(self.blueprint(arch)).to(like.device, like.dtype)
        for layer in network.blueprint:
            mine = network.units(layer)
            for role, (unit, view) in self.units(layer, slice_side).items():
                mine[role].load(unit, view or WHOLE)
        return network.train(self.training)

    def units(self, layer: Layer, slice_side: str = "left") -> dict[str, tuple[Unit, View | None]]:
        """By role: the shared unit that a layer uses, and which part of it (all, if none is given)."""
        if (layer, slice_side) not in self._used:
            if slice_side not in self.slice_sides:
                raise UnknownNameError(f"slice side of a supernet of {self.space.name}", slice_side, self.slice_sides)
            if len(self._used) >= MAX_CACHED_LAYERS:
                self._used.clear()
            key = self.rule.key(layer)
            used = {}
            for part in parts(layer):
                unit, full = self._full[f"{key}.{part.role}"]
                view = view_of(part, full, slice_side)
                used[part.role] = (unit, None if view == WHOLE else view)
            self._used[layer, slice_side] = used
        return self._used[layer, slice_side]

    # --- running ------------------------------------------------------------------------------------------------------

    def forward(
        self, x: Tensor, arch: Arch, regularisation: Regularisation = NO_REGULARISATION, slice_side: str = "left"
    ) -> Tensor:
        """Run one network.

        Args:
            x: Images N x C x H x W; they are resized where the resolution is a choice of the space.
            arch: The network.
            regularisation: Dropout and drop-connect for this pass.
            slice_side: `left` or `right`, where the supernet has both; `both` adds up the logits of both.

        Returns:
            Logits N x classes.
        """
        if slice_side == "both":
            left, right = (self(x, arch, regularisation, s) for s in ("left", "right"))
            total: Tensor = left + right
            return total
        program = self.program(arch)
        return program(
            self.resize(x, program.blueprint.resolution), partial(self._parts, slice_side=slice_side), regularisation
        )

    def trace(self, x: Tensor, arch: Arch, slice_side: str = "left") -> Iterator[tuple[Layer, Tensor]]:
        """Each layer of the network and its output."""
        program = self.program(arch)
        return program.trace(self.resize(x, program.blueprint.resolution), partial(self._parts, slice_side=slice_side))

    def resize(self, x: Tensor, resolution: int) -> Tensor:
        """Images as large as a network wants them, where the resolution is a choice of the space."""
        if len(self.resolutions) == 1 or x.shape[-1] == resolution:
            return x
        return F.interpolate(x, (resolution, resolution), mode="bicubic", align_corners=False)

    def _parts(self, layer: Layer, slice_side: str) -> Parts:
        used = self.units(layer, slice_side)
        return {role: unit if view is None else partial(unit, view=view) for role, (unit, view) in used.items()}


def finished(space: Space) -> Space:
    """The space without stabilisers."""
    plain: Any = space
    return replace(plain, stabiliser="") if getattr(space, "stabiliser", "") else space


def _images_and_classes(space: Space) -> tuple[int, frozenset[int], int]:
    """Of the networks of a space: channels of their images, possible resolutions in pixels, number of classes."""
    arch = space.sample(np.random.default_rng(0), 1)[0].tolist()
    blueprint = space.blueprint(tuple(arch))
    first = blueprint.layers[0].name
    resolutions = frozenset(layer.resolution for layer in layers_of(space) if layer.name == first)
    return blueprint.in_channels, resolutions, blueprint.classes
