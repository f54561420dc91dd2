"""What proxies see: an untrained network and one mini-batch. Passes run when first needed, and all proxies share them.

Paper: Abdelfattah et al., "Zero-Cost Proxies for Lightweight NAS", arXiv 2101.08134: one mini-batch, fresh weights, BN
with the batch's own statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
        return self._forward[2]

    @cached_property
    def jacobian(self) -> Tensor:
        """The gradient of the sum of all logits with respect to the images: images x pixels."""
        images, logits, _ = self._forward
        return torch.autograd.grad(logits.sum(), images, retain_graph=True, materialize_grads=True)[0].flatten(1)

    @cached_property
    def gradients(self) -> list[Tensor]:
        """The gradients of the mean cross-entropy for `weights`; zero where the loss does not depend on them."""
        loss = F.cross_entropy(self._forward[1], self.labels)
        return list(torch.autograd.grad(loss, self.weights, retain_graph=True, materialize_grads=True))

    @cached_property
    def _forward(self) -> tuple[Tensor, Tensor, list[Tensor]]:
        """(images, logits, signs) of the one pass from which the rest follows."""
        images = self.images.detach().requires_grad_()
        names = {layer.name for layer in self.live}
        signs: list[Tensor] = []
        logits = images
        with batch_statistics(self.network), torch.enable_grad(), _Rectifiers() as seen:
            for layer, output in self.network.trace(images):
                signs += seen.signs if layer.name in names else []
                seen.signs, logits = [], output
        return images, logits, signs


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
