"""BN over the batches of several processes that train together, as if one process had the whole batch.

Paper: AttentiveNAS trains so ("SyncBN"); the first published description is Peng et al., "MegDet", arXiv 1711.07240.
Differences: torch's own `SyncBatchNorm` needs CUDA and whole BN layers. This one takes the slices that a path of a
supernet uses, and any backend of torch.distributed, gloo on CPUs among them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed


def shared_batch_norm(
    x: Tensor,
    mean: Tensor | None,
    var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
) -> Tensor:
    """What `F.batch_norm` does in training, with the statistics of all processes.

    Every process must call it at the same point, with as many channels.

    Args:
        x: This process's part of the batch, N x C x H x W.
        mean: Running mean, moved in place; None: none is kept.
        var: Running variance.
        weight: Of each channel; None for 1.
        bias: The same; None for 0.
        momentum: How far the running statistics are moved.
        eps: Added to the variance.

    Returns:
        The output.
    """
    scale = x.new_ones(x.shape[1]) if weight is None else weight
    shift = x.new_zeros(x.shape[1]) if bias is None else bias
    output, batch_mean, batch_var, count = _SharedNorm.apply(x, scale, shift, eps)  # type: ignore[no-untyped-call]
    if mean is not None and var is not None:
        with torch.no_grad():
            mean.lerp_(batch_mean.to(mean.dtype), momentum)
            var.lerp_((batch_var * (count / (count - 1))).to(var.dtype), momentum)
    result: Tensor = output
    return result


class _SharedNorm(torch.autograd.Function):
    """Means, variances and the sums of the backward pass are brought together; everything else is local."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, ...]:
        values = x.float()
        own_var, own_mean = torch.var_mean(values, (0, 2, 3), correction=0)
        own_count = values.new_full((1,), values.numel() // values.shape[1])
        means, variances, counts = _gathered(torch.cat([own_mean, own_var, own_count])).tensor_split(
            (len(own_mean), 2 * len(own_mean)), dim=1
        )
        count = counts.sum()
        share = counts / count
        mean = (share * means).sum(0)
        var = (share * (variances + (means - mean) ** 2)).sum(0)  # within the processes and between them
        inverse = (var + eps).rsqrt()
        ctx.save_for_backward(x, weight, mean, inverse, count)
        output = torch.addcmul(_wide(bias - mean * inverse * weight), values, _wide(inverse * weight)).to(x.dtype)
        ctx.mark_non_differentiable(mean, var, count)
        return output, mean, var, count

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, inverse, count = ctx.saved_tensors
        grad = grads[0].float()
        normal = (x.float() - _wide(mean)) * _wide(inverse)
        grad_bias, grad_weight = grad.sum((0, 2, 3)), (grad * normal).sum((0, 2, 3))
        sum_bias, sum_weight = _gathered(torch.stack([grad_bias, grad_weight])).sum(0)
        grad_x = _wide(weight * inverse) * (grad - (_wide(sum_bias) + normal * _wide(sum_weight)) / count)
        return grad_x.to(x.dtype), grad_weight.to(weight.dtype), grad_bias.to(weight.dtype), None


def _wide(channels: Tensor) -> Tensor:
    return channels.view(1, -1, 1, 1)


def _gathered(own: Tensor) -> Tensor:
    """Processes x values, the same in all processes; of one process its own."""
    if not distributed.is_initialized():
        return own[None]
    every = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(every, own.contiguous())
    return torch.stack(every)
