"""What proxies see: an untrained network and one mini-batch. Passes run when first needed, and all proxies share them.

Paper: Abdelfattah et al., "Zero-Cost Proxies for Lightweight NAS", arXiv 2101.08134: one mini-batch, fresh weights, BN
with the batch's own statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..blueprint import Blueprint, Layer
from ..costs.live_layers import live
from ..nn.network import Network, build
from ..nn.norm import batch_statistics
from ..nn.unit import Unit
from .blocks import block_ends

RECTIFIERS = {torch.relu_, F.relu, Tensor.clamp_, F.hardswish, F.silu}  # as `nn.run` calls them


@dataclass(eq=False)
class Probe:
    """An untrained network with one mini-batch. Neither its weights nor its BN statistics change.

    Args:
        blueprint: The network.
        images: One mini-batch, prepared as for training.
        labels: Its labels.
        seed: Seed of the weights, and of whatever a proxy draws itself.
    """

    blueprint: Blueprint
    images: Tensor
    labels: Tensor
    seed: int = 0

    @cached_property
    def live(self) -> tuple[Layer, ...]:
        """The layers on a path from the image to the logits."""
        return live(self.blueprint)

    @cached_property
    def network(self) -> Network:
        """The network with fresh weights, where the images are. Weights are drawn on the CPU: the same everywhere."""
        return build(self.blueprint, seed=self.seed).to(self.images.device)

    @cached_property
    def weights(self) -> list[Tensor]:
        """The weights of all convolutions and linear maps, without biases and BN."""
        units = [m for m in self.network.modules() if isinstance(m, Unit)]
        return [u.op.weight for u in units if u.op is not None]

    @property
    def signs(self) -> list[Tensor]:
        """For each rectifier in a live layer, which of its inputs are positive: images x inputs."""
        return self._forward.signs

    @property
    def features(self) -> list[Tensor]:
        """The output of each block, the stem's first."""
        return self._forward.features

    @property
    def first_maps(self) -> list[Tensor]:
        """For the first image, the output of each convolution of a live layer, behind its BN: channels x h x w."""
        return self._forward.first_maps

    @cached_property
    def entropies(self) -> list[float]:
        """For each block, the entropy of the shares of variance that its principal components explain."""
        return [_entropy(features.detach()) for features in self.features]

    @cached_property
    def jacobian(self) -> Tensor:
        """The gradient of the sum of all logits with respect to the images: images x pixels."""
        images, logits = self._forward.images, self._forward.logits
        return torch.autograd.grad(logits.sum(), images, retain_graph=True, materialize_grads=True)[0].flatten(1)

    @cached_property
    def gradients(self) -> list[Tensor]:
        """The gradients of the mean cross-entropy for `weights`; zero where the loss does not depend on them."""
        loss = F.cross_entropy(self._forward.logits, self.labels)
        return list(torch.autograd.grad(loss, self.weights, retain_graph=True, materialize_grads=True))

    @cached_property
    def _forward(self) -> _Pass:
        """The one pass from which the rest follows."""
        seen = _Pass(self.images.detach().requires_grad_())
        names = {layer.name for layer in self.live}
        ends = {self.blueprint.layers[i].name for i in block_ends(self.blueprint)}

        def keep(unit: Unit, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            if output.ndim == 4:
                seen.first_maps.append(output[0].detach().clone())  # activations may overwrite it

        units = [u for layer in self.live for u in self.network.units(layer).values() if u.op is not None]
        hooks = [u.register_forward_hook(keep) for u in units]
        try:
            with batch_statistics(self.network), torch.enable_grad(), _Rectifiers() as rectifiers:
                for layer, output in self.network.trace(seen.images):
                    seen.signs += rectifiers.signs if layer.name in names else []
                    seen.features += [output] if layer.name in ends else []
                    rectifiers.signs, seen.logits = [], output
        finally:
            for hook in hooks:
                hook.remove()
        return seen


@dataclass(eq=False)
class _Pass:
    """What a forward pass leaves behind."""

    images: Tensor
    logits: Tensor = field(default_factory=lambda: torch.empty(0))
    signs: list[Tensor] = field(default_factory=list)
    features: list[Tensor] = field(default_factory=list)
    first_maps: list[Tensor] = field(default_factory=list)


def _entropy(maps: Tensor) -> float:
    """Of the shares of the eigenvalues of the channels' covariance, over all images and pixels."""
    rows = maps.transpose(0, 1).flatten(1)
    values = torch.linalg.eigvalsh(torch.cov(rows, correction=0).cpu().double().reshape(len(rows), -1)).clamp(min=0)
    total = float(values.sum())
    return float(torch.special.entr(values / total).sum()) if total > 0 else nan


class _Rectifiers(TorchFunctionMode):
    """A context that records the signs of everything that is rectified in it."""

    def __init__(self) -> None:
        super().__init__()
        self.signs: list[Tensor] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in RECTIFIERS:
            self.signs.append((args[0].detach() > 0).flatten(1))
        return func(*args, **(kwargs or {}))


def apply_changed(op: nn.Module, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply a convolution or linear map with changed weights.

    Args:
        op: The module, which stays as it is.
        x: Its input.
        change: Gives the weights to use in place of its own.

    Returns:
        The output.
    """
    changed = {name: change(value) for name, value in op.named_parameters()}
    output: Tensor = torch.func.functional_call(op, changed, (x,))
    return output
